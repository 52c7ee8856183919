"""The plan a TASK-GRAPH.md holds, with all that is wrong in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.model import Severity
from runner.plan.diagnostic import Problem
from runner.plan.globs import literal_paths
from runner.plan.sections import PlanCommand, Section, read_sections
from runner.plan.status import StatusSpans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runner.model import Task
    from runner.plan import lost_tasks, unwritten_tasks
else:
    lost_tasks = lazy_module("runner.plan.lost_tasks")
    unwritten_tasks = lazy_module("runner.plan.unwritten_tasks")


@dataclass(frozen=True, slots=True)
class Plan:
    """Tasks in the order of the file; `problems` are about single places, not about the whole."""

    path: str
    title: str
    tasks: tuple[Task, ...]
    problems: tuple[Problem, ...]
    written_commands: tuple[PlanCommand, ...]
    spans: StatusSpans
    """Where each task's status stands, in the order of `tasks`."""


def read_plan(data: bytes, path: str, *, prefixes: tuple[str, ...] = ()) -> Plan:
    """The plan in the bytes of a TASK-GRAPH.md; `path` names it in messages.

    Format: TASK-GRAPH.md in the project's FORMATS; Markdown as CommonMark 0.31 with GFM tables.
    """
    return plan_of(data, path, read_sections(data, path, prefixes))


def plan_of(data: bytes, path: str, sections: Iterable[Section]) -> Plan:
    """A plan put together from its sections."""
    title = ""
    tasks: list[Task] = []
    spans = StatusSpans()
    problems = list(_encoding(data, path))
    written: list[PlanCommand] = []
    behind: lost_tasks.PreviousSection | None = None
    left_out: dict[str, Problem] = {}
    lists: list[unwritten_tasks.UnwrittenTasks] = []
    for section in sections:
        title = title or section.title
        if section.tasks:
            behind = lost_tasks.PreviousSection.of(section.tasks[-1].id, section.level)
        elif behind is not None and not section.problems:
            lost = lost_tasks.find_left_out(data, section.start, section.first_line, path, behind)
            if lost is not None:
                behind = behind.next()
                left_out[behind.id] = lost
        if not section.tasks:
            lists += unwritten_tasks.find_unwritten(data, section)
        tasks += section.tasks
        spans.extend(section.spans)
        problems += section.problems
        written += section.written
    known = {task.id for task in tasks} if left_out or lists else set()
    problems += [lost for id_, lost in left_out.items() if id_ not in known]
    if tasks:
        problems += unwritten_tasks.name_unwritten(lists, (*known, *left_out), path)
    else:
        problems.append(_no_task(data, path))
    problems.sort(key=lambda problem: (problem.line, problem.column))
    return Plan(path, title, tuple(tasks), tuple(problems), tuple(written), spans)


def with_literals(plan: Plan, is_file: Callable[[str], bool]) -> Plan:
    """The plan, with every path that is such a file taken as it stands."""
    tasks = tuple(_literal_task(task, is_file) for task in plan.tasks)
    same = all(new is old for new, old in zip(tasks, plan.tasks, strict=True))
    return plan if same else replace(plan, tasks=tasks)


def _literal_task(task: Task, is_file: Callable[[str], bool]) -> Task:
    if not (task.outputs or task.inputs):
        return task
    found = literal_paths({"outputs": task.outputs, "inputs": task.inputs}, is_file)
    return replace(task, literal=(*task.literal, *found)) if found else task


def _encoding(data: bytes, path: str) -> tuple[Problem, ...]:
    """A complaint about the first byte that is not UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        line = before.count(b"\n") + 1
        column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        message = "the file is not UTF-8 text"
        return (Problem(message, path, line, column, "save it as UTF-8"),)
    return ()


def _no_task(data: bytes, path: str) -> Problem:
    first = data.removeprefix(b"\xef\xbb\xbf").splitlines()[:1]
    return Problem(
        "no task found in the file",
        path,
        1,
        1,
        "add one with a heading such as ## TASK-001: Title; `runner init` writes an example",
        Severity.ERROR,
        first[0].decode("utf-8", "replace") if first else "",
    )
