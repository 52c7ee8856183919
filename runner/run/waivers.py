"""Read waivers: a person's word that a command was typed, or that no proof is needed.

A command of a run, a hook, an agent or CI is nobody's word. A waiver is a person's, for a task as
it is asked for and as it is: whether it still holds.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from runner.journal.session_events import TaskWaived
from runner.lazy_module import lazy_module
from runner.model import digest_of
from runner.plan.globs import is_glob, matches
from runner.process.platform import environment, process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.journal.task_state import Waived
    from runner.model.task import PlannedTask
    from runner.repo import landed_commits
    from runner.repo.read import Repository
    from runner.run.proof import unverified_bytes
else:
    landed_commits = lazy_module("runner.repo.landed_commits")
    unverified_bytes = lazy_module("runner.run.proof.unverified_bytes")


_OF_A_RUN = ("RUNNER_TASK", "RUNNER_ATTEMPT", "RUNNER_BRIEF", "RUNNER_SLOT")
"""Variables set for commands of a run."""
_OF_A_HOOK = ("GIT_INDEX_FILE", "GIT_QUARANTINE_PATH", "GIT_PUSH_OPTION_COUNT")
"""Variables that git sets for hooks (githooks(5)) and that no terminal has."""
_OF_AN_AGENT = ("CLAUDECODE", "CLAUDE_PROJECT_DIR", "CODEX_SANDBOX", "GEMINI_CLI", "CURSOR_AGENT")
"""Variables that agent programs set for their children."""
_DEEPEST = 64
"""Ancestor processes that are checked."""


class WaiverRefusal(NamedTuple):
    """The reason why no person can have typed the waiver."""

    text: str
    ci: bool = False


def why_no_person(environ: Mapping[str, str]) -> WaiverRefusal | None:
    """Return what shows that a program runs this command, or None.

    A command can take a variable out of its own environment, but not out of the processes that
    started it: their first one is read from the kernel, where it tells.
    """
    if _has(environ, _OF_A_RUN) or any(map(_is_of_a_run, _ancestors())):
        return WaiverRefusal("a task's command in the sandbox ran this command")
    if _has(environ, _OF_A_HOOK):
        return WaiverRefusal("a git hook ran this command")
    if _has(environ, _OF_AN_AGENT):
        return WaiverRefusal("an agent program ran this command")
    if environ.get("CI", "").casefold() == "true":
        return WaiverRefusal("CI=true, so nobody can confirm", ci=True)
    return None


def _has(environ: Mapping[str, str], names: tuple[str, ...]) -> bool:
    return any(environ.get(name) for name in names)


def _ancestors() -> Iterator[int]:
    """Yield the IDs of the parent processes, nearest first."""
    pid = os.getppid()
    for _ in range(_DEEPEST):
        if pid <= 1:
            return
        yield pid
        found = process(pid)
        if found is None:
            return
        pid = found.parent


def _is_of_a_run(pid: int) -> bool:
    given = environment(pid).split(b"\0")  # nothing of another user's process
    names = {entry.partition(b"=")[0].decode("utf-8", "replace") for entry in given}
    return "RUNNER_TASK" in names and "RUNNER_SLOT" in names


def files_now(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return the digests of a task's files by path; a missing file has an empty digest."""
    return {path: _digest(root / path) for path in sorted(set(paths))}


def stands(root: Path, waived: Waived) -> bool:
    """Return whether the files have not changed since the waiver."""
    return files_now(root, waived.files) == waived.files


def files_of(
    repository: Repository, outputs: Sequence[str], landed: str, at: str | None
) -> tuple[str, ...]:
    """Return a task's files: its outputs, and those that its commit wrote."""
    globs = [path for path in outputs if is_glob(path)]
    named = [path for path in outputs if path not in globs and path != "any"]
    tracked = repository.list_tree(at) if globs and at else ()
    before = repository.resolve(f"{landed}^") if landed else None
    written = repository.diff_trees(before, landed) if landed else ()
    found = (path for path in tracked if any(matches(one, path) for one in globs))
    return (*named, *(change.path for change in written), *found)


def is_committed(repository: Repository, files: Mapping[str, str]) -> bool:
    """Return whether these digests match the files in HEAD."""
    head = repository.head().commit
    return head is not None and _files_at(repository, head, files) == files


def _files_at(repository: Repository, commit: str, paths: Iterable[str]) -> dict[str, str]:
    blobs = ((path, repository.blob(commit, path)) for path in sorted(set(paths)))
    return {path: "" if blob is None else digest_of(blob) for path, blob in blobs}


def read_waivers(
    repository: Repository,
    tips: tuple[str, ...],
    tasks: Iterable[PlannedTask],
    landed: Callable[[str], str],
) -> dict[str, TaskWaived]:
    """Return the newest waiver of each task from commits; `landed` gives the task's commit.

    `tips` are commits, or `^COMMIT` for what is left out.

    A commit that was rewritten since is ignored: its waiver was given for other bytes.
    """
    planned = {task.id: task for task in tasks}
    found: dict[str, TaskWaived] = {}
    for one in landed_commits.find_waivers(repository.git, repository.prefix, tips):
        task = planned.get(one.task)
        if task is None or one.task in found or one.what != task.spec.what:
            continue
        if unverified_bytes.filter_truthful_messages(repository, (one.commit,)):
            paths = files_of(repository, task.outputs, landed(one.task), one.commit)
            files = _files_at(repository, one.commit, paths)
            found[one.task] = TaskWaived(one.reason, "trailers", one.what, files)
    return found


def _digest(file: Path) -> str:
    try:
        # A link has no bytes of its own: its target may change while the link stays the same.
        return "" if file.is_symlink() else digest_of(file.read_bytes())
    except OSError:
        return ""
