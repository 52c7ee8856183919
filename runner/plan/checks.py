"""Check the plan as a whole before anything runs, and report every problem together."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex
from runner.model import BlockKind, Severity, Status
from runner.model.grades import is_code
from runner.plan.field_names import fold_spelling
from runner.plan.globs import GLOB_HINT, Claims, glob_fault, is_glob, matches
from runner.plan.graph import TaskGraph
from runner.plan.held_out import find_problems
from runner.plan.near_misses import find_listed
from runner.plan.shell.exit_status import no_proof_in
from runner.plan.shell.shell_commands import executables, shell_operator, swallows_failure
from runner.text.wording import did_you_mean, join_few, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from runner.model import Task
    from runner.plan.source import Problem
    from runner.plan.spans import Spans

_WITH_CONTRACTS = {"api": "openapi", "data": "schema"}


class CheckedPlan(NamedTuple):
    """The input of every check."""

    tasks: Sequence[Task]
    by_id: dict[str, Task]
    graph: TaskGraph
    places: Spans


def check_plan(
    tasks: Iterable[Task],
    *,
    places: Spans,
    found: Callable[[str], bool],
    exists: Callable[[str], bool],
    strict_contracts: bool = False,
    is_agent: Callable[[Task], bool] = lambda _: False,
) -> tuple[Problem, ...]:
    """Check the plan as a whole; return errors and warnings in file order.

    `found` says whether an executable is on PATH, `exists` whether a path is in the project. With
    `strict_contracts` a task that is proven by nothing is an error, else a warning. `is_agent` says
    whether an agent or a model builds a task.
    """
    every = tuple(tasks)
    by_id = {task.id: task for task in reversed(every)}
    plan = CheckedPlan(every, by_id, TaskGraph.of(every), places)
    problems = [
        *_duplicates(plan),
        *_find_unknown_ids(plan),
        *_find_listed(plan),
        *_circles(plan),
        *_find_shared_outputs(plan),
        *_one_file_elsewhere(plan),
        *_bad_globs(plan),
        *_early_reads(plan, exists),
        *_stray_blocks(plan),
        *_written_twice(plan),
        *_find_unused_commands(plan),
        *_find_loose_examples(plan),
        *_commands(plan, found),
        *_held_out(plan, is_agent),
        *_find_unproven(plan, Severity.ERROR if strict_contracts else Severity.WARNING),
    ]
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))


def _duplicates(plan: CheckedPlan) -> Iterator[Problem]:
    for task in plan.tasks:
        first = plan.by_id[task.id]
        if first is not task:
            yield plan.places.problem(
                plan.places.heading(task),
                f"duplicate task ID {task.id} (first on line {first.line})",
                "give one of them an unused id",
            )


def _find_unknown_ids(plan: CheckedPlan) -> Iterator[Problem]:
    for task in plan.tasks:
        for need in task.depends_on:
            if need not in plan.by_id:
                at = plan.places.find(task, "depends_on", need)
                others = [id_ for id_ in plan.by_id if id_ != task.id]
                known = f"name another task: {join_few(others)}" if others else "write none"
                hint = did_you_mean(need, others) or f"add a section for {need}, or {known}"
                yield plan.places.problem(at, f"{task.id} depends on unknown task {need}", hint)


def _find_listed(plan: CheckedPlan) -> Iterator[Problem]:
    """Yield tasks that are only listed, and checkboxes that differ from the status."""
    for listed in find_listed(plan.places.text(), has_tasks=bool(plan.by_id)):
        id_, mark, task = listed.id, listed.mark, plan.by_id.get(listed.id)
        at = plan.places.at_line(listed.line, listed.written)
        if task is None and listed.is_entry:
            message = f"{id_} is only listed here: it has no section"
            hint = f"write ## {id_}: {listed.title}, with its fields below it"
            yield plan.places.problem(at, message, hint)
        elif task and mark is not None and (mark != " ") != (task.status is Status.DONE):
            state = "ticked" if mark != " " else "not ticked"
            yield plan.places.problem(
                at,
                f"{id_} is {state} here but {task.status} in its section; only the section counts",
                f"its section is on line {task.line}",
                Severity.WARNING,
            )


def _circles(plan: CheckedPlan) -> Iterator[Problem]:
    if _sorts(plan):
        return
    for circle in plan.graph.cycles():
        path = " → ".join((*circle, circle[0]))
        at = plan.places.find(plan.by_id[circle[0]], "depends_on", circle[1 % len(circle)])
        hint = "remove one of these ids from its Depends on"
        yield plan.places.problem(at, f"dependency cycle: {path}", hint)


def _sorts(plan: CheckedPlan) -> bool:
    """Return whether the tasks have no cycle (Kahn's algorithm, without networkx)."""
    waiting = {task_id: len(plan.graph.dependencies(task_id)) for task_id in plan.graph.ids}
    ready = [task_id for task_id, count in waiting.items() if not count]
    for task_id in ready:
        for after in plan.graph.dependents(task_id):
            waiting[after] -= 1
            if not waiting[after]:
                ready.append(after)
    return len(ready) == len(waiting)


class _Before:
    """Answers whether a task comes before another; the last task asked about is remembered."""

    def __init__(self, graph: TaskGraph) -> None:
        self._graph = graph
        self._of = ""
        self._all: set[str] = set()

    def __call__(self, early: str, late: str) -> bool:
        if early in self._graph.dependencies(late):
            return True
        if self._of != late:
            self._of, self._all = late, self._ancestors(late)
        return early in self._all

    def _ancestors(self, task_id: str) -> set[str]:
        found: set[str] = set()
        front = [task_id]
        while front:
            for need in self._graph.dependencies(front.pop()):
                if need not in found:
                    found.add(need)
                    front.append(need)
        return found


def _find_shared_outputs(plan: CheckedPlan) -> Iterator[Problem]:
    """Yield files that two tasks write without a dependency between them."""
    claims = Claims(
        (task.id, path) for task in plan.by_id.values() for path in task.outputs if path != "any"
    )
    before = _Before(plan.graph)
    place = {task_id: at for at, task_id in enumerate(plan.graph.ids)}
    reported: set[tuple[str, str]] = set()
    for path, owners in claims.find_shared():
        ordered = sorted(set(owners), key=place.__getitem__)
        for early, late in pairwise(ordered):
            if (early, late) in reported or before(early, late) or before(late, early):
                continue
            reported.add((early, late))
            yield plan.places.problem(
                plan.places.find(plan.by_id[late], "outputs", path),
                f'{early} and {late} both write "{path}", but neither depends on the other',
                f"they run one at a time; to set the order, add {early} to Depends on of {late}",
                Severity.WARNING,
            )


def _one_file_elsewhere(plan: CheckedPlan) -> Iterator[Problem]:
    """Yield output files whose names differ here but are the same on macOS and Windows."""
    first: dict[str, str] = {}
    for task in sorted(plan.by_id.values(), key=lambda one: one.line):
        for path in task.outputs:
            known = first.setdefault(fold_spelling(path), path)
            if known != path and not is_glob(path):
                yield plan.places.problem(
                    plan.places.find(task, "outputs", path),
                    f'"{path}" and "{known}" are the same file on macOS and Windows',
                    "use one spelling, or rename one of them",
                    Severity.WARNING,
                )


def _bad_globs(plan: CheckedPlan) -> Iterator[Problem]:
    """Yield globs that are invalid."""
    for task in plan.by_id.values():
        for key in ("outputs", "inputs"):
            for path in getattr(task, key):
                if is_glob(path) and (fault := glob_fault(path)):
                    at = plan.places.find(task, key, path)
                    yield plan.places.problem(at, f'bad glob "{path}": {fault}', GLOB_HINT)


def _early_reads(plan: CheckedPlan, exists: Callable[[str], bool]) -> Iterator[Problem]:
    """Yield inputs that are written by a task which does not come before."""
    claims = Claims((task.id, path) for task in plan.by_id.values() for path in task.outputs)
    before = _Before(plan.graph)
    for task in plan.by_id.values():
        for path in task.inputs:
            writers = [] if is_glob(path) else claims.of(path)
            if (
                not writers
                or task.id in writers
                or any(before(writer, task.id) for writer in writers)
            ):
                continue
            if not exists(path):
                yield plan.places.problem(
                    plan.places.find(task, "inputs", path),
                    f'{task.id} reads "{path}" before {writers[0]} writes it',
                    f"add {writers[0]} to Depends on of {task.id}",
                )


def _stray_blocks(plan: CheckedPlan) -> Iterator[Problem]:
    """Yield blocks for files that the task may not write."""
    for task in plan.tasks:
        for block in task.blocks:
            if block.path and not task.writes_everything and not _in_outputs(block.path, task):
                yield plan.places.problem(
                    plan.places.at_line(block.line, "file="),
                    f'{task.id} has a block for "{block.path}", which is not in its Output files',
                    f"add `{block.path}` to Output files of {task.id}",
                    Severity.WARNING,
                )


def _written_twice(plan: CheckedPlan) -> Iterator[Problem]:
    """Yield files that two blocks of a task write whole, of which only the later would remain."""
    for task in plan.tasks:
        first: dict[str, int] = {}
        for block in task.blocks:
            if block.kind is not BlockKind.FILE:
                continue
            if (line := first.setdefault(block.path, block.line)) != block.line:
                at = plan.places.at_line(block.line, "file=")
                message = f'{task.id} writes "{block.path}" in two blocks (first on line {line})'
                yield plan.places.problem(at, message, "keep one; to edit a file, use a diff block")


def _find_unused_commands(plan: CheckedPlan) -> Iterator[Problem]:
    """Yield a problem for each Command that never runs because its task has blocks."""
    for task in plan.tasks:
        if task.blocks and task.command and not task.implementer:
            yield plan.places.problem(
                plan.places.find(task, "command", task.command),
                f"{task.id} has blocks, so its Command would not run",
                "put the command into a ```sh run block: it runs after the files are written",
            )


_EXAMPLE = regex(
    r"^\s*>>> |`[^`\n]{0,99}\w\([^`\n]{0,99}\)(?:\s{0,9}(?:==|->)|`\s{0,9}(?:==|->|→|=>))"
)
"""Text that looks like an example: a doctest prompt, or a call and its result."""
_FENCED = regex(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1", re.DOTALL | re.MULTILINE)


def _find_loose_examples(plan: CheckedPlan) -> Iterator[Problem]:
    """Yield one note on all Python examples that nothing runs."""
    loose = [
        task
        for task in plan.tasks
        if any(is_written_in(one, "python") for one in task.outputs)
        for line in (*task.acceptance, *_FENCED.sub("", task.prose).splitlines())
        if _EXAMPLE.search(line)
    ]
    if loose:
        some = plural(len(loose), "Python example")
        message = f"no test runs {some} (first in {loose[0].id})"
        hint = "put each after `>>>` in a fenced block that begins with ```python examples"
        yield plan.places.problem(plan.places.heading(loose[0]), message, hint, Severity.NOTE)


def _in_outputs(path: str, task: Task) -> bool:
    return path in task.outputs or any(
        is_glob(output) and matches(output, path) for output in task.outputs
    )


def _held_out(plan: CheckedPlan, is_agent: Callable[[Task], bool]) -> Iterator[Problem]:
    for one in find_problems(plan.tasks, is_agent):
        at = plan.places.at_line(one.line) if one.line else plan.places.heading(one.task)
        yield plan.places.problem(at, one.message, one.hint, one.severity)


def _commands(plan: CheckedPlan, found: Callable[[str], bool]) -> Iterator[Problem]:
    """Yield missing executables and commands that cannot fail."""
    known: dict[str, bool] = {}
    for task in plan.tasks:
        for name, command, line in _lines(task):
            missing = next(
                (tool for tool in executables(command) if not _is(tool, known, found)), ""
            )
            at = plan.places.at_line(line, missing) if missing else None
            if at:
                yield plan.places.problem(
                    at,
                    f"{name} of {task.id} runs {missing}, which is not on PATH",
                    f"install {missing}; ignore this if an earlier task installs it",
                    Severity.WARNING,
                )
        yield from _no_proofs(plan, task)
        yield from _shell_lines(plan, task)


def _no_proofs(plan: CheckedPlan, task: Task) -> Iterator[Problem]:
    """Yield a problem for each command that cannot fail; an error for a test contract."""
    for test in task.test_contracts:
        if why := no_proof_in(test):
            at = plan.places.at_line(test.line, why.by)
            message = f"{test.id} of {task.id} {why.message}"
            yield replace(plan.places.problem(at, message, why.hint), task=task.id)
    for name, command, line in _other_lines(task):
        if swallowed := swallows_failure(command):
            yield plan.places.problem(
                plan.places.at_line(line, swallowed),
                f"{name} of {task.id} {_what_it_does(swallowed)}",
                f"remove `{swallowed}` from the command",
                Severity.WARNING,
            )


def _what_it_does(swallowed: str) -> str:
    if swallowed.startswith(("--no-verify", "SKIP=")):
        return f"skips checks: `{swallowed}`"
    return f"cannot fail: `{swallowed}` swallows its exit code"


def _other_lines(task: Task) -> Iterator[tuple[str, str, int]]:
    for gate in task.gates:
        yield f"gate {gate.name}", gate.command.removeprefix("sh:").strip(), gate.line
    for contract in task.contracts:
        if contract.kind == "command":
            yield "contract command", contract.value, contract.line


def _shell_lines(plan: CheckedPlan, task: Task) -> Iterator[Problem]:
    """Yield gates that join commands without `sh:`, which the run would reject."""
    for gate in task.gates:
        operator = "" if gate.command.startswith("sh:") else shell_operator(gate.command)
        if operator:
            yield plan.places.problem(
                plan.places.at_line(gate.line, operator),
                f"gate {gate.name} of {task.id} joins commands with `{operator}`",
                f"write it as one shell line, `sh: {gate.command}`, or as several gates",
            )


def _is(tool: str, known: dict[str, bool], found: Callable[[str], bool]) -> bool:
    if tool not in known:
        known[tool] = found(tool)
    return known[tool]


def _lines(task: Task) -> Iterator[tuple[str, str, int]]:
    for test in task.test_contracts:
        yield test.id, test.command, test.line
    for gate in task.gates:
        yield f"gate {gate.name}", gate.command.removeprefix("sh:").strip(), gate.line


def _find_unproven(plan: CheckedPlan, severity: Severity) -> Iterator[Problem]:
    """Yield tasks that write code without tests, or an interface without contracts."""
    for task in plan.tasks:
        if task.no_proof:
            continue
        if not task.test_contracts and any(map(is_code, task.outputs)):
            yield plan.places.problem(
                plan.places.heading(task),
                f"{task.id} writes code and has no test contracts",
                "add Test contracts with an entry such as TC-001 (unit): `command`",
                severity,
            )
        kind = _WITH_CONTRACTS.get(task.type)
        if kind and not task.contracts and not task.no_contracts:
            yield plan.places.problem(
                plan.places.find(task, "type"),
                f"{task.id} is of type {task.type} and has no contracts",
                f"add Contracts with an entry such as {kind}:, or write Contracts: none — reason",
                severity,
            )
