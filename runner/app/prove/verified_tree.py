"""Report whether the current tree was proven as a whole, and the grade of each DONE task."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

import runner
from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.model import digest_of
from runner.model.words import NOT_VERIFIED_HERE
from runner.text.display import display
from runner.text.wording import join_few, plural

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from runner.app.build import discovered_gates
    from runner.journal import grading
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Digest, Graded
    from runner.model.task import PlannedTask
    from runner.project import Project
    from runner.repo import read
    from runner.repo.read import Repository
    from runner.run import waivers
    from runner.run.journal_writer import JournalWriter
    from runner.run.proof import same_tree, unverified_bytes
    from runner.run.proof.unverified_bytes import Unverified
else:
    waivers = lazy_module("runner.run.waivers")
    grading = lazy_module("runner.journal.grading")
    discovered_gates = lazy_module("runner.app.build.discovered_gates")
    read = lazy_module("runner.repo.read")
    same_tree = lazy_module("runner.run.proof.same_tree")
    unverified_bytes = lazy_module("runner.run.proof.unverified_bytes")


_KEPT = "bytes-as-proven.json"


def find_unverified_tasks(
    project: Project,
    tasks: Iterable[PlannedTask],
    state: RunState,
    repository: read.Repository | None = None,
) -> Mapping[str, Unverified]:
    """Return by id the DONE tasks with files in HEAD or work tree that no proof covers.

    Where nothing was found and no file was touched since, git is not asked.
    """
    key = _key(project.head().commit or "", state.seq)
    if _load_known(project, key) is not None:
        return {}
    asked: dict[str, list[int]] = {}

    with nullcontext(repository) if repository else read.Repository.open(project.root) as opened:

        def dirty(blobs: Mapping[str, str]) -> Iterable[str]:
            # Before git reads: a file saved in between counts as changed next time.
            asked.update((path, _look(project, path)) for path in blobs)
            return [one.path for one in opened.state().dirty] if blobs else []

        found = unverified_bytes.find_unverified(
            opened, opened.head().commit or "", tasks, state, dirty
        )
    if not found:
        _keep(project, key, asked)
    return found


class Moment(NamedTuple):
    """When something was found: on which commit, after how many events, and whose they were."""

    head: str
    seq: int
    others: int = 0
    """Number of events that the asking journal writer did not write."""

    @classmethod
    def of(cls, head: str | None, journal: JournalWriter) -> Moment:
        """Create the moment of a run's current state."""
        return cls(head or "", journal.state.seq, journal.others)


def carry_known(project: Project, old: Moment, new: Moment) -> None:
    """Carry a result from one moment over to another, so that git need not run again.

    For what is the run's own between the two: a record commit, which writes its documents alone,
    and events that make no task DONE.
    """
    files = _load_known(project, _key(old.head, old.seq))
    if files is not None and old.others == new.others and old != new:
        _keep(project, _key(new.head, new.seq), files)


def grades_in(
    project: Project,
    tasks: Iterable[PlannedTask],
    state: RunState,
    repository: Repository | None = None,
    found: Mapping[str, Unverified] | None = None,
) -> dict[str, Graded]:
    """Return the current grade of each DONE task; all reports use this function.

    `found`: what is unverified, where that was looked for already.
    """
    tasks = tuple(tasks)
    if found is None:
        found = find_unverified_tasks(project, tasks, state, repository)
    whys = {id_: one.why for id_, one in found.items()}
    states = state.states_of(task.id for task in tasks)
    grades = grading.grades_of(tasks, states, partial(waivers.stands, project.root), whys)
    for id_, graded in grades.items():
        unrun = _find_unrun(project, states[id_])
        grades[id_] = replace(graded, gaps=(*graded.gaps, *unrun)) if unrun else graded
    return grades


def _find_unrun(project: Project, known: TaskState) -> Collection[str]:
    """Return the held-out contracts whose files neither landed nor are on this machine."""
    files = known.held_out
    missing = (one for one, path, digest in files if not _is_here(project, known.id, path, digest))
    return dict.fromkeys(f"{one} {NOT_VERIFIED_HERE}" for one in missing)


def _is_here(project: Project, task_id: str, path: str, digest: Digest) -> bool:
    if (project.root / path).exists():
        return True
    try:
        return project.held_out.store.digest_of(task_id, path) == digest
    except RunnerError:  # a commit's trailers may name anything as a path
        return False


def _look(project: Project, path: str) -> list[int]:
    """Return the stat fields that show whether a file is unchanged; empty if it is missing."""
    try:
        seen = (project.root / path).lstat()
    except OSError:
        return []
    # As in git's index: `touch -d` can reset mtime, but only the system sets ctime.
    return [seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino]


def _key(head: str, seq: int) -> str:
    return f"{head} {seq}"


def _load_known(project: Project, key: str) -> dict[str, list[int]] | None:
    """Return the scanned files if none has changed since a scan without findings, else None."""
    try:
        kept = json.loads((project.cache / _KEPT).read_bytes())
        files = cast("dict[str, list[int]]", kept["files"])
        same = kept["key"] == key and all(_look(project, path) == at for path, at in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return files if same else None


def _keep(project: Project, key: str, files: Mapping[str, list[int]]) -> None:
    try:
        effects.make_folder(project.cache)
        data = json.dumps({"key": key, "files": files}).encode("utf-8", "surrogateescape")
        effects.write_file(project.cache / _KEPT, data, mode=0o600, durable=False)
    except (OSError, UnicodeError):
        return  # git is asked again next time; nothing else is lost


def format_unverified(found: Mapping[str, Unverified]) -> str:
    """Return a note on unverified tasks with the command to verify them."""
    ids = display(join_few(list(found)))
    first = display(next(iter(found.values())).why)
    verb = "is" if len(found) == 1 else "are"
    return (
        f"note: {plural(len(found), 'DONE task')} {verb} unverified: {ids} ({first}); "
        "commit the intended changes, then: runner verify --all"
    )


_VERIFIED_KEPT = "trees-as-named.json"


class KnownTree(Struct, frozen=True):
    """The known facts about the current tree, for a run that builds nothing."""

    note: str = ""
    code: ExitCode = ExitCode.OK


def find_verification(
    project: Project, state: RunState, head: str, repository: Repository | None = None
) -> KnownTree:
    """Return whether everything that is DONE was proven together on `head`, with a note.

    Git is asked only where another commit was proven last: it may differ in the runner's own
    documents alone.
    """
    if project.settings.proof.verify_at_end == "never" or not head:
        return KnownTree()
    if state.whole_head == head:
        fell_short = bool(state.failed_tree)
    elif not (state.failed_tree or state.verified_tree):
        return KnownTree("note: the whole tree is not verified: runner verify --all")
    else:
        keys = _keys(project, state, head, repository)
        fell_short = state.failed_tree in keys
        if not fell_short and state.verified_tree not in keys:
            last = f" since {state.whole_head[:12]}" if state.whole_head else ""
            return KnownTree(f"note: the whole tree is not verified{last}: runner verify --all")
    if not fell_short:
        return KnownTree()
    note = "this tree failed its last verification: runner verify --all shows where"
    return KnownTree(note, ExitCode.FAILED)


def _keys(
    project: Project, state: RunState, head: str, repository: read.Repository | None
) -> frozenset[Digest]:
    """Return the cache keys of this tree, with and without tasks that a person marked DONE."""
    discovered_gates.apply_default_gates(project)
    tasks = project.outline().tasks
    some = [task for task in tasks if state.task(task.id).verified]
    documents, settings = project.documents, project.settings
    subjects = (tasks, some) if len(some) != len(tasks) else (tasks,)
    proofs = [(sorted(documents), same_tree.list_proofs(ones, settings)) for ones in subjects]
    asked = digest_of(repr((runner.__version__, head, proofs)).encode("utf-8", "surrogatepass"))
    known = _read_kept(project, asked)
    if known:
        return known
    with nullcontext(repository) if repository else read.Repository.open(project.root) as opened:
        keys = [same_tree.tree_key(opened, head, documents, ones, settings) for ones in subjects]
    with suppress(OSError):  # git is asked again next time; nothing else is lost
        effects.make_folder(project.cache)
        data = json.dumps({"asked": asked, "keys": keys}).encode()
        effects.write_file(project.cache / _VERIFIED_KEPT, data, mode=0o600, durable=False)
    return frozenset(keys)


def _read_kept(project: Project, asked: Digest) -> frozenset[Digest]:
    """Return git's cached answer to the same question; a commit's files never change."""
    try:
        kept = cast("dict[str, Any]", json.loads((project.cache / _VERIFIED_KEPT).read_bytes()))
        return frozenset(map(str, kept["keys"])) if kept["asked"] == asked else frozenset()
    except (OSError, ValueError, KeyError, TypeError):
        return frozenset()
