"""Clone a repository to a folder and branch of the runner's own, with the person's login."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import ExitCode, RunnerError
from runner.repo.git import StoppedError
from runner.repo.push import address_of, lay_apart
from runner.repo.remote import Move, OwnGit, Remote, Swap
from runner.repo.remote_address import clone_address, find_branches, update_mirror
from runner.repo.tree_files import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runner.repo.read import Repository


ORIGIN = "origin"
"""Name of a clone's remote."""
_SECONDS = 1800.0
_APART = "new-"
_SWITCHING = "runner-switching"
"""File in git's folder during the first checkout of a branch: its commit."""
_LOCKS = ("index.lock", "HEAD.lock")
BEGAN = "refs/runner/began"
"""Branch position at the switch, if everything there belonged to the base."""


def make_clone(source: Repository, remote: str, base: str, place: Path) -> None:
    """Clone the branch `base` of a remote of `source` into `place` atomically.

    Who commits there is who commits in `source`. Raises RunnerError with what git says.
    """
    address, who = address_of(source, remote), source.identity()
    effects.make_folder(place.parent)
    for left in place.parent.glob(f"{_APART}*"):  # of one that was killed
        shutil.rmtree(left, ignore_errors=True)
    new = place.parent / f"{_APART}{effects.new_id()}"
    with TemporaryFolder("clone") as box:
        variables = _tell(source, Path(box), os.environ)
        git = OwnGit(place.parent, variables)
        answer = git.ask(
            # No template, which may contain hooks (git-init(1)), and no submodules, whose addresses
            # come from the content (gitmodules(5)).
            *("-c", "core.hooksPath=/dev/null", "clone", "--quiet", "--template="),
            *("--no-recurse-submodules", "--upload-pack=git-upload-pack", "--origin", ORIGIN),
            *("--config", f"user.name={who.name}", "--config", f"user.email={who.email}"),
            *("--branch", base, "--", address, str(new)),
            seconds=_SECONDS,
        )
    if answer.exit:
        raise RunnerError(
            f"branch {base} of {remote} cannot be cloned",
            detail=answer.stderr.strip()[-2000:],
            hint=f"check the address and your login: git ls-remote {remote}",
        )
    effects.step("replace", place)
    # In one step: a process killed before it leaves a folder with another name, which the next
    # clone removes.
    new.rename(place)


def switch_branch(
    repository: Repository, branch: str, base: str, environ: Mapping[str, str]
) -> None:
    """Switch to a branch of the remote, which is created at the tip of `base` if missing.

    A branch that is checked out already stays as it is. Where a kill cut this off, what it left is
    made whole first: nobody has worked in the clone before. Raises RunnerError, exit 6 where the
    remote refuses it.
    """
    ref = f"refs/heads/{branch}"
    if repository.find_head().ref == ref:
        return
    note = repository.folders.git / _SWITCHING
    with Remote(repository, ORIGIN, environ) as remote:
        tip = remote.read(ref).get(ref)
        if tip is None:
            tip = repository.git.line("rev-parse", "--verify", f"refs/remotes/{ORIGIN}/{base}")
            made = remote.swap(Move(ref, None, tip, is_branch=True))
            if made.swap is Swap.REFUSED:
                raise make_refusal(f"the branch {branch}", made.output)
            tip = made.seen.get(ref, tip)
    with TemporaryFolder("clone") as box:
        git = OwnGit(repository.root, _tell(repository, Path(box), environ))
        quiet = ("-c", "core.hooksPath=/dev/null")
        words = ("--no-tags", "--no-recurse-submodules", "--upload-pack=git-upload-pack")
        git.run(*quiet, "fetch", "--quiet", *words, ORIGIN, tip, seconds=_SECONDS)
        began = f"refs/remotes/{ORIGIN}/{base}"
        if repository.git.ask("merge-base", "--is-ancestor", tip, began).exit == 0:
            repository.git.run("update-ref", BEGAN, tip)
        checkout = (*quiet, "checkout", "--quiet", "--no-track")
        if note.exists():
            # It writes the files first and HEAD last, so conflicting files may be its own.
            for left in (*_LOCKS, f"{ref}.lock"):
                effects.unlink(repository.folders.git / left)
            for to in (note.read_text("ascii"), tip):
                if git.ask(*checkout, "--force", "-B", branch, to).exit == 0:
                    break
        effects.write_file(note, tip.encode())
        git.run(*checkout, "-B", branch, tip)
        effects.unlink(note)


def make_refusal(what: str, output: str) -> RunnerError:
    """Return the error for a push that the remote rejected, with the remote's output."""
    return RunnerError(
        f"{ORIGIN} rejected {what}",
        detail=output,
        hint="let the account that git uses here push branches to {ORIGIN}",
        code=ExitCode.CONFLICT,
    )


def delete_own_branch(repository: Repository, branch: str, environ: Mapping[str, str]) -> str:
    """Delete a branch of the remote where all on it was made in this clone, and is here still.

    Why it stays; empty where it is gone. Raises RemoteDownError.
    """
    ref = f"refs/heads/{branch}"
    with Remote(repository, ORIGIN, environ) as remote:
        tip = remote.read(ref).get(ref)
        if tip is None:
            return ""
        if repository.git.ask("rev-parse", "--verify", "--quiet", BEGAN).exit:
            return "it had commits before the work here began"
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
            return "the remote refuses to delete it"


def catch_up(repository: Repository, branch: str, environ: Mapping[str, str]) -> bool:
    """Fast-forward the checked-out branch to the remote's; False if that is not possible.

    False where it cannot go forward as it is here. Raises RemoteDownError.
    """
    ref = f"refs/heads/{branch}"
    with Remote(repository, ORIGIN, environ) as remote:
        tip = remote.read(ref).get(ref)
    head = repository.find_head()
    if head.ref != ref or tip is None:
        return False
    with TemporaryFolder("clone") as box:
        git = OwnGit(repository.root, _tell(repository, Path(box), environ))
        quiet = ("-c", "core.hooksPath=/dev/null")
        words = ("--no-tags", "--no-recurse-submodules", "--upload-pack=git-upload-pack")
        git.run(*quiet, "fetch", "--quiet", *words, ORIGIN, tip, seconds=_SECONDS)
        return git.ask(*quiet, "merge", "--quiet", "--ff-only", tip).exit == 0


def _tell(repository: Repository, box: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables for git with the user's configuration and login only."""
    _, variables = lay_apart(repository, box, environ)
    return {**variables, "GIT_TERMINAL_PROMPT": "0"}


_MIRROR = ".git"
_PAUSE = 0.2
_ROOM = 1 << 20
"""Free bytes required before cloning to a disk."""


class CloneCache(Struct, frozen=True):
    """The copies in one folder, shared by the processes of this machine."""

    folder: Path
    most: float
    """Maximum bytes of all of them."""

    def clone(
        self,
        address: str,
        base: str,
        place: Path,
        who: tuple[str, str],
        environ: Mapping[str, str],
        stopped: Callable[[], bool] | None = None,
    ) -> None:
        """Clone `base` into `place` atomically. Raises RunnerError with git's message.

        Raises StoppedError soon after `stopped` says so.
        """
        find_branches(address, environ, stopped)  # one that does not answer costs no copy
        effects.make_folder(self.folder, mode=0o700)
        mirror = self.place_of(address)

        def copy() -> None:
            update_mirror(address, mirror, environ, stopped)
            clone_address(address, base, place, who, environ, mirror, stopped=stopped)

        with _wait_for(mirror, stopped):
            try:
                copy()
            except StoppedError:
                raise
            except RunnerError:  # it answers, so it may be the copy
                shutil.rmtree(mirror, ignore_errors=True)
                copy()
            # Time of its last use, by which `trim` chooses.
            os.utime(mirror)
        self.trim()

    def place_of(self, address: str) -> Path:
        """Return the path of the mirror of an address, which need not exist."""
        digest = hashlib.sha256(address.encode("utf-8", "surrogateescape")).hexdigest()
        return self.folder / f"{digest[:32]}{_MIRROR}"

    def trim(self) -> None:
        """Remove the least recently used mirrors until the rest fits, except those in use."""
        found = sorted(self.folder.glob(f"*{_MIRROR}"), key=find_last_use)
        sizes = {one: measure_folder(one) for one in found}
        for one in found[:-1]:  # the newest one stays, however large
            if sum(sizes.values()) <= self.most:
                break
            # One in use is newer than its time: a cloning process updates that at the end.
            with suppress(BlockingIOError), _lock(one):
                shutil.rmtree(one, ignore_errors=True)
                del sizes[one]


@contextmanager
def _wait_for(mirror: Path, stopped: Callable[[], bool] | None) -> Iterator[None]:
    """Wait for the lock of a mirror and hold it. Raises StoppedError."""
    with ExitStack() as held:
        while True:
            with suppress(BlockingIOError):
                held.enter_context(_lock(mirror))
                break
            if stopped is not None and stopped():
                raise StoppedError
            time.sleep(_PAUSE)
        yield


@contextmanager
def _lock(mirror: Path) -> Iterator[None]:
    """Hold the lock of a mirror. Raises BlockingIOError if another process has it."""
    # Next to the copy and never deleted: a lock in the folder would be deleted with it, and two
    # processes could hold two files of one name.
    with effects.try_lock(mirror.with_suffix(".lock")) as is_ours:
        if not is_ours:
            raise BlockingIOError
        yield


def find_last_use(folder: Path) -> float:
    """When; 0 for one that another process takes away meanwhile."""
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def find_lack(*folders: Path, is_written: bool = False) -> OSError | None:
    """Return the error of a disk that is full or not writable, or None.

    With `is_written` that is tried: git says in many words that it could not, and not always why.
    """
    for folder in folders:
        probe = folder / f".room-{os.getpid()}"
        try:
            effects.make_folder(folder, mode=0o700)
            if shutil.disk_usage(folder).free < _ROOM:
                return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
            if is_written:
                effects.write_file(probe, bytes(_ROOM), mode=0o600)
                effects.unlink(probe)
        except OSError as error:
            return error
    return None


def measure_folder(folder: Path) -> int:
    """Return the total size of a folder's files in bytes; vanished files count as 0."""
    total = 0
    for at, _, names in walk(str(folder)):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(at, name)).st_size  # noqa: PTH118 - text
    return total
