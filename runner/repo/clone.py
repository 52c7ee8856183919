"""A clone of our own of somebody's repository, on a branch of its own, by their own login."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.repo.push import address_of, lay_apart
from runner.repo.remote import Move, OwnGit, Remote, Swap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.repo.read import Repository

ORIGIN = "origin"
"""What a clone calls where it came from."""
_SECONDS = 1800.0
_APART = "new-"
_BEGAN = "refs/runner/began"
"""Where the branch was as it was switched to, if everything there was the base's."""


def make_clone(source: Repository, remote: str, base: str, place: Path) -> None:
    """Clone the branch `base` of a remote of `source` into `place`, whole or not at all.

    Who commits there is who commits in `source`. Raises RunnerError with what git says.
    """
    address, who = address_of(source, remote), source.identity()
    effects.make_folder(place.parent)
    for left in place.parent.glob(f"{_APART}*"):  # of one that was killed
        shutil.rmtree(left, ignore_errors=True)
    new = place.parent / f"{_APART}{effects.new_id()}"
    with TemporaryDirectory(prefix="runner-clone-") as box:
        told = _tell(source, Path(box), os.environ)
        git = OwnGit(place.parent, told)
        answer = git.ask(
            # No template, which may bring hooks (git-init(1)), and no submodules, whose addresses
            # are the content's word (gitmodules(5)).
            *("-c", "core.hooksPath=/dev/null", "clone", "--quiet", "--template="),
            *("--no-recurse-submodules", "--upload-pack=git-upload-pack", "--origin", ORIGIN),
            *("--config", f"user.name={who.name}", "--config", f"user.email={who.email}"),
            *("--branch", base, "--", address, str(new)),
            seconds=_SECONDS,
        )
    if answer.exit:
        raise RunnerError(
            f"{base} of {remote} cannot be cloned",
            detail=answer.said.strip()[-2000:],
            hint=f"look at the address and your login: git ls-remote {remote}",
        )
    effects.step("replace", place)
    new.rename(place)


def switch_branch(
    repository: Repository, branch: str, base: str, environ: Mapping[str, str]
) -> None:
    """Be on a branch of the remote, which is made on the tip of `base` where it is not there.

    A branch that is checked out already stays as it is. Raises RunnerError, exit 6 where the
    remote refuses it.
    """
    ref = f"refs/heads/{branch}"
    if repository.find_head().ref == ref:
        return
    with Remote(repository, ORIGIN, environ) as remote:
        tip = remote.read(ref).get(ref)
        if tip is None:
            tip = repository.git.line("rev-parse", "--verify", f"refs/remotes/{ORIGIN}/{base}")
            made = remote.swap(Move(ref, None, tip, is_branch=True))
            if made.swap is Swap.REFUSED:
                raise RunnerError(
                    f"{ORIGIN} does not take the branch {branch}",
                    detail=made.said,
                    hint="whoever builds here needs to be able to push branches",
                    code=ExitCode.CONFLICT,
                )
            tip = made.seen.get(ref, tip)
    with TemporaryDirectory(prefix="runner-clone-") as box:
        git = OwnGit(repository.root, _tell(repository, Path(box), environ))
        quiet = ("-c", "core.hooksPath=/dev/null")
        words = ("--no-tags", "--no-recurse-submodules", "--upload-pack=git-upload-pack")
        git.run(*quiet, "fetch", "--quiet", *words, ORIGIN, tip, seconds=_SECONDS)
        began = f"refs/remotes/{ORIGIN}/{base}"
        if repository.git.ask("merge-base", "--is-ancestor", tip, began).exit == 0:
            repository.git.run("update-ref", _BEGAN, tip)
        git.run(*quiet, "checkout", "--quiet", "--no-track", "-B", branch, tip)


def take_branch_back(repository: Repository, branch: str, environ: Mapping[str, str]) -> str:
    """Delete a branch of the remote where all on it was made in this clone, and is here still.

    Why it stays; empty where it is gone. Raises RemoteAwayError.
    """
    ref = f"refs/heads/{branch}"
    with Remote(repository, ORIGIN, environ) as remote:
        tip = remote.read(ref).get(ref)
        if tip is None:
            return ""
        if repository.git.ask("rev-parse", "--verify", "--quiet", _BEGAN).exit:
            return "it had commits before it was worked on here"
        here = repository.git.ask("rev-parse", "--verify", "--quiet", ref).out.decode().strip()
        if here != tip:
            return "somebody pushed to it"
        swapped = remote.swap(Move(ref, tip, None))
    match swapped.swap:
        case Swap.DONE:
            return ""
        case Swap.MOVED:
            return "somebody pushed to it"
        case Swap.REFUSED:
            return "the remote does not let it be deleted"


def catch_up(repository: Repository, branch: str, environ: Mapping[str, str]) -> bool:
    """Have the branch that is checked out as far as the remote's, where that is ahead.

    False where it cannot go forward as it is here. Raises RemoteAwayError.
    """
    ref = f"refs/heads/{branch}"
    with Remote(repository, ORIGIN, environ) as remote:
        tip = remote.read(ref).get(ref)
    head = repository.find_head()
    if head.ref != ref or tip is None:
        return False
    with TemporaryDirectory(prefix="runner-clone-") as box:
        git = OwnGit(repository.root, _tell(repository, Path(box), environ))
        quiet = ("-c", "core.hooksPath=/dev/null")
        words = ("--no-tags", "--no-recurse-submodules", "--upload-pack=git-upload-pack")
        git.run(*quiet, "fetch", "--quiet", *words, ORIGIN, tip, seconds=_SECONDS)
        return git.ask(*quiet, "merge", "--quiet", "--ff-only", tip).exit == 0


def _tell(repository: Repository, box: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The person's own configuration and login, and nothing of the repository's."""
    _, told = lay_apart(repository, box, environ)
    return {**told, "GIT_TERMINAL_PROMPT": "0"}
