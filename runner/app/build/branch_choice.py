"""`run --branch NAME`: the branch a run builds on, made where it is not there yet.

A new branch begins at HEAD, so what is not committed stays as it is. With `publish` it begins in
the remote, too, and first there: never with commits that the remote has on no branch of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.journal.lock import RunLock
from runner.project import BUILD
from runner.repo.head import UNPUBLISHED
from runner.repo.read import Repository
from runner.text.display import display

if TYPE_CHECKING:
    from runner.project import Project

_HEADS = "refs/heads/"


def switch_to(project: Project, name: str) -> bool:
    """Be on that branch; whether that changed anything. Raises RunnerError where it cannot be."""
    _require_alone(project)
    with Repository.open(project.root) as repository:
        if repository.git.ask("check-ref-format", "--branch", name).exit or name.startswith("-"):
            raise RunnerError("no branch can be called so", where=display(name))
        ref = f"{_HEADS}{name}"
        if repository.find_head().ref == ref:
            return False
        is_there = repository.resolve(ref) is not None
        if not is_there and project.settings.publish:
            _begin_in_remote(project, repository, ref)
        new = () if is_there else ("--create",)
        # A switch would run post-checkout (githooks(5)), which nobody asked for.
        quiet = ("-c", "core.hooksPath=/dev/null", "switch", "--quiet", "--no-guess")
        answer = repository.git.ask(*quiet, *new, name)
        if answer.exit:
            raise RunnerError(
                f"git does not switch to {display(name)}",
                detail=display(answer.said.strip()[-1000:], lines=True),
                hint="commit or stash what is in its way, then run again",
                code=ExitCode.CONFLICT,
            )
    return True


def build_apart(project: Project, *, saved: bool) -> str:
    """Be on the branch that is published at the end, as far as the remote's; what is said of it.

    Raises RunnerError: a run goes on here, the remote is away, its commits do not fit.
    """
    from runner.run.landing.end_lease import go_apart

    if saved:
        raise RunnerError(
            'with publish_at = "end" another branch is built than the one that was looked at',
            hint="leave --apply out, or RUNNER_PUBLISH_AT=task",
        )
    _require_alone(project)
    with Repository.open(project.root) as repository:
        name = project.settings.publish
        branch = go_apart(repository, name, project.environ)
    whose = display(branch.removeprefix(UNPUBLISHED))
    return f"on branch {display(branch)}; {whose} follows once all is published"


def _require_alone(project: Project) -> None:
    holder = RunLock(project.root / BUILD).holder()
    if holder is not None:
        raise RunnerError(
            f"a run goes on in this folder: {holder}",
            hint="another branch is built beside it in a clone or a work tree of its own",
            code=ExitCode.CONFLICT,
        )


def _begin_in_remote(project: Project, repository: Repository, ref: str) -> None:
    from runner.repo.remote import Move, Remote, Swap

    head, origin = repository.find_head(), project.settings.publish
    shown, there = display(ref.removeprefix(_HEADS)), display(origin)
    with Remote(repository, origin, project.environ) as remote:
        seen = remote.read(ref, head.ref) if head.ref else remote.read(ref)
        if seen.get(ref) == head.commit:
            return  # a crash came between the two
        if ref in seen:
            raise RunnerError(
                f"{there} has a branch {shown} already, which is not here",
                hint=f"git fetch {there} {shown}:{shown}, then run again; or take another name",
                code=ExitCode.CONFLICT,
            )
        commit = head.commit or ""
        if seen.get(head.ref) != commit and not _was_there(repository, origin):
            raise RunnerError(
                f"HEAD has commits that {there} has not: a new branch would push them along",
                hint=f"git push {there} {display(head.ref.removeprefix(_HEADS))}, then run again",
                code=ExitCode.PERSON,
            )
        made = remote.swap(Move(ref, None, commit, is_branch=True))
        if made.swap is not Swap.DONE:
            raise RunnerError(
                f"{there} does not take the branch {shown}",
                detail=display(made.said.strip()[-1000:], lines=True),
                hint="it may be protected: take another name",
                code=ExitCode.CONFLICT,
            )


def _was_there(repository: Repository, origin: str) -> bool:
    """Whether the remote has all of HEAD, by what was last fetched from it or pushed to it."""
    words = ("rev-list", "--max-count=1", "HEAD", "--not", f"--remotes={origin}")
    answer = repository.git.ask(*words)
    return answer.exit == 0 and not answer.out.strip()
