"""Compute the current status of every task from plan, journal and git, without writing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.app.prove.verified_tree import find_unverified_tasks, grades_in
from runner.journal.lock import RunLock
from runner.journal.snapshot import pause_collections
from runner.lazy_module import lazy_module
from runner.model import Grade, Status, digest_of
from runner.model.grades import is_grade
from runner.project import BUILD
from runner.run.journal_writer import rehearse
from runner.run.reconcile import Facts, readings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Self

    from runner.journal.events import Event
    from runner.journal.lock import Holder
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Graded, Task
    from runner.plan.outline import OutlineTask
    from runner.project import Project
    from runner.run import recovery
    from runner.run.proof.unverified_bytes import Unverified
else:
    recovery = lazy_module("runner.run.recovery")

_DONE = Status.DONE
_ANCESTRY = "ancestry"


class View(Struct, frozen=True):
    """Tasks in the order of the plan, and the state of each as the next run would read it."""

    title: str
    tasks: tuple[OutlineTask, ...]
    states: Mapping[str, TaskState]
    state: RunState
    """Complete state: the journal's, plus what the next run would read."""
    read_now: Mapping[str, Event]
    """Latest event of each task from plan or git that is not in the journal yet."""
    landing: str
    """Task whose commit was in progress when a run was killed; else empty."""
    live: Holder | None
    """The active run."""
    grades: Mapping[str, Graded]
    """Grade of each DONE task."""
    mistakes: int
    """Number of local mistakes in the plan; `validate` reports those of the whole plan."""
    unverified: Mapping[str, Unverified]
    """By ID, DONE tasks whose current files have no proof."""

    @classmethod
    def of(cls, project: Project) -> Self:
        """Read the project; imports no parser and no git where both were seen before."""
        with pause_collections():
            return cls._read(project)

    @classmethod
    def _read(cls, project: Project) -> Self:
        outline = project.outline()
        tasks = _first_of_each(outline.tasks)
        live = RunLock(project.root / BUILD).holder()
        state = known = project.state()
        quick = _look_up(state, tasks)
        read_now: dict[str, Event] = {}
        if not (live and state.run_open):  # a living run has read them, and is the one to write
            state, read_now = _read_together(project, tasks, state, quick)
        landing = state.landing.task if state.landing is not None and not live else ""
        quick = quick if state is known else _look_up(state, tasks)
        states = quick.tasks
        done = [task for task in tasks if states[task.id].status is _DONE]
        found = find_unverified_tasks(project, done, quick) if done and not live else {}
        grades = grades_in(project, done, quick, found=found)
        errors = outline.errors
        return cls(
            *(outline.title, tasks, states, state, read_now, landing, live, grades, errors, found)
        )

    def is_verified(self, id_: str) -> bool:
        """Return whether the proof of a DONE task covers the current files."""
        return self.states[id_].verified and id_ not in self.unverified

    def status(self, id_: str) -> Status:
        """Return the status of a task in the plan."""
        return self.states[id_].status

    def note(self, task: OutlineTask) -> str:
        """Return the journal's note on a task, or the plan's note if the status is unchanged."""
        known = self.states[task.id]
        if task.id in self.unverified:
            return self.unverified[task.id].why
        if known.note or not task.note:
            return known.note
        return task.note if task.status is known.status and not is_grade(task.note) else ""

    def remark(self, task: OutlineTask) -> str:
        """Return the note of a task, or why a DONE task is unproven if there is no manual note."""
        note, graded = self.note(task), self.grades.get(task.id)
        if graded is None or graded.is_proven:
            return note
        is_above = not note or graded.grade is Grade.WAIVED or self.is_verified(task.id)
        return graded.why if is_above else note

    def worth(self, id_: str) -> str:
        """Return `unproven`, `waived` or `tests, lines not measured` for a DONE task, else ""."""
        graded = self.grades.get(id_)
        if graded is None:
            return ""
        return graded.caveat if graded.is_proven else str(graded.grade)

    def find_unproven(self) -> tuple[str, ...]:
        """Return the DONE tasks that are neither proven nor waived, in plan order."""
        return tuple(id_ for id_, one in self.grades.items() if one.grade is Grade.UNPROVEN)

    def waits_for(self, task: OutlineTask) -> tuple[str, ...]:
        """Return the unfinished dependencies of a PENDING task, unknown ids included."""
        states = self.states
        if states[task.id].status is not Status.PENDING:
            return ()
        return tuple(
            [id_ for id_ in task.depends_on if id_ not in states or states[id_].status is not _DONE]
        )

    def is_ready(self, task: OutlineTask) -> bool:
        """Return whether a run would start the task immediately."""
        return self.status(task.id) is Status.PENDING and not self.waits_for(task)

    def ready(self) -> tuple[OutlineTask, ...]:
        """Return the tasks that can start, longest remaining path first, then in plan order."""
        done = {id_ for id_, known in self.states.items() if known.status is _DONE}
        found = [
            task
            for task in self.tasks
            if done.issuperset(task.depends_on) and self.status(task.id) is Status.PENDING
        ]
        if len(found) > 1:
            remaining = self._longest_remaining()
            found.sort(key=lambda task: -remaining.get(task.id, 0.0))
        return tuple(found)

    def counts(self) -> dict[Status, int]:
        """Return the number of tasks of each status; statuses without tasks are left out."""
        found: dict[Status, int] = {}
        for known in self.states.values():
            found[known.status] = found.get(known.status, 0) + 1
        return {status: found[status] for status in _ORDER if status in found}

    def _longest_remaining(self) -> dict[str, float]:
        """Return the seconds of the longest chain from each task; tasks in a cycle are left out.

        As the run's own graph does it, without importing networkx.
        """
        needs = {task.id: task.depends_on for task in self.tasks}
        behind: dict[str, float] = {}
        remaining: dict[str, float] = {}
        for id_ in _ends_first(needs):
            known = self.states[id_]
            own = known.typical_seconds if known.durations else 0.0
            remaining[id_] = longest = behind.get(id_, 0.0) + (own or 1.0)
            for one in needs[id_]:
                if behind.get(one, 0.0) < longest:
                    behind[one] = longest
        return remaining


def _ends_first(needs: Mapping[str, tuple[str, ...]]) -> Iterable[str]:
    """Return tasks in reverse dependency order, without cycles and their dependencies."""
    if _is_in_order(needs):
        return reversed(tuple(needs))
    open_ends = dict.fromkeys(needs, 0)
    for needed in needs.values():
        for one in filter(open_ends.__contains__, needed):
            open_ends[one] += 1
    done = [id_ for id_, count in open_ends.items() if not count]
    for id_ in done:  # Kahn's algorithm, from the ends
        for one in filter(open_ends.__contains__, needs[id_]):
            open_ends[one] -= 1
            if not open_ends[one]:
                done.append(one)
    return done


def _is_in_order(needs: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether each task comes after all of its dependencies."""
    seen: set[str] = set()
    for id_, needed in needs.items():
        seen.add(id_)
        if needed and any(one == id_ or (one in needs and one not in seen) for one in needed):
            return False
    return True


_ORDER = (Status.DONE, Status.IN_PROGRESS, Status.PENDING, Status.BLOCKED, Status.STALE)


def _first_of_each(tasks: tuple[OutlineTask, ...]) -> tuple[OutlineTask, ...]:
    """Return the tasks of a plan without later duplicates of an ID."""
    by_id = {task.id: task for task in reversed(tasks)}
    if len(by_id) == len(tasks):
        return tasks
    return tuple(task for task in tasks if by_id[task.id] is task)


def _look_up(state: RunState, tasks: tuple[OutlineTask, ...]) -> RunState:
    """Return the state with only these tasks, each built once because of repeated lookups."""
    return replace(state, tasks={task.id: state.task(task.id) for task in tasks})


def _read_together(
    project: Project, tasks: tuple[OutlineTask, ...], state: RunState, quick: RunState
) -> tuple[RunState, dict[str, Event]]:
    """Return the state after what the next run would read first, and the events by task."""
    journal = rehearse(state)
    if state.run_open:
        recovery.finish_landed(journal)
    landing = state.landing.task if state.landing is not None else ""
    # cast: the readings use only id, status, note and spec, which outline tasks have
    seen = cast("Iterable[Task]", [task for task in tasks if task.id != landing])
    read: dict[str, Event] = {}
    with _facts(project, state, tasks, otherwise=_has_foreign_status(tasks, quick)) as facts:
        now = quick if journal.state is state else journal.state
        for id_, attempt, event in tuple(readings(seen, now, facts)):
            journal.note(event, task=id_, attempt=attempt)
            read[id_] = event
    return journal.state, read


@contextmanager
def _facts(
    project: Project, state: RunState, tasks: tuple[OutlineTask, ...], *, otherwise: bool
) -> Iterator[Facts]:
    """Yield the facts from git, without running it if HEAD is already known.

    `otherwise`: whether the file has a status that was not written there.
    """
    head = project.head().commit
    known = (state.last_landing_head, state.published_head, state.ended_head)
    behind = _question(project, state, tasks, head)
    is_known = head in known or (behind != "" and _load_ancestry(project.cache) == behind)
    if head is None or (is_known and not otherwise):
        yield Facts(descends=True, landed={})
        return
    from runner.repo.read import Repository

    with Repository.open(project.root) as repository:
        seen = cast("Iterable[Task]", tasks)  # as above
        facts = recovery.gather_facts(repository, state, seen, project.plan_file)
        if facts.descends and behind and not (facts.waivers or facts.landed):
            _keep(project.cache, behind)
        yield facts


def _question(
    project: Project, state: RunState, tasks: tuple[OutlineTask, ...], head: str | None
) -> str:
    """Return the key under which git's answer is valid until HEAD moves; empty if there is none.

    Without a journal it is asked whether any of these tasks landed since the plan was committed.
    What was fetched later may lengthen a shallow history: there nothing is kept.
    """
    if state.seq:
        return f"{state.last_landing_head} {head}"
    if any(task.status is not Status.PENDING for task in tasks):
        return ""
    if (project.head().common_dir / "shallow").exists():
        return ""
    asked = "\0".join((str(project.plan_file.path), *(task.id for task in tasks)))
    return f"{digest_of(asked.encode(errors='surrogateescape'))} {head}"


def _has_foreign_status(tasks: tuple[OutlineTask, ...], state: RunState) -> bool:
    """Return whether the plan has a status that differs from the last written one."""
    for task in tasks:
        known = state.tasks[task.id]
        if known.published is not None and task.status not in (known.status, known.published):
            return True
    return False


def _load_ancestry(cache: Path) -> str:
    """Return the cached pair of commits whose ancestry was verified last, or an empty string."""
    try:
        return (cache / _ANCESTRY).read_text("ascii")
    except (OSError, ValueError):
        return ""


def _keep(cache: Path, pair: str) -> None:
    try:
        effects.make_folder(cache)
        effects.write_file(cache / _ANCESTRY, pair.encode("ascii"), mode=0o600)
    except OSError:
        return  # git is asked again next time; nothing else is lost
