"""Red first: tests that pass before the code exists prove nothing about it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from runner.gates.base_result import earlier
from runner.gates.test_bodies import tests_in
from runner.model import Action, Finding, Severity
from runner.plan.task_types import Extra, classify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.gates.base import Check, GateContext
    from runner.model import Change, Task

_WRITTEN_BY_PEOPLE = frozenset({"", "blocks", "command", "check"})
_NOTHING_NEW = frozenset({"test-gen", "doc-gen", "refactor"})
"""Types of tasks that add no behaviour which a test could lack before."""
_NAMES_SHOWN = 5


def wants_red_first(task: Task, settings: Settings, implementer: str, *, is_new_work: bool) -> bool:
    """Whether a task's test contracts must fail before it is implemented.

    The task's own word wins, then the setting; `auto` asks it of agents and models on new work,
    and of a `command` too where the task mends a bug.
    """
    if task.red_first is not None:
        return task.red_first
    if settings.red_first != "auto":
        return settings.red_first == "always"
    work = classify(task)
    by_a_machine = implementer not in _WRITTEN_BY_PEOPLE
    mends = implementer == "command" and work.wants(Extra.RED_FIRST)
    nothing_new = any(row.name in _NOTHING_NEW for row in work.rows)
    return (by_a_machine or mends) and is_new_work and not nothing_new


def findings(check: Check, bench: GateContext) -> tuple[Finding, ...]:
    """What is wrong with a contract that should fail without the implementation, and does not.

    Only the proposal's tests are put on the tree before. A contract that runs no test there, or
    cannot import what it tests, is as red as it should be.
    """
    if not bench.red_first or check.task:
        return ()
    tests = tuple(change for change in bench.changes if bench.is_test(change.path))
    seen = earlier(check, bench, tests)
    if seen is None:
        return ()
    if seen.passed:
        return (_green(check, check.id),)
    named = _find_single_tests(check.command)
    asked = [name for name, _ in seen.passing if any(_is_of(name, one) for one in named)]
    if asked:
        return tuple(_green(check, name) for name in asked[:_NAMES_SHOWN])
    return tuple(_already(check, [*_new(seen.passing, tests, bench)]))


def _green(check: Check, name: str) -> Finding:
    return Finding(
        check=check.id,
        message=f"{name} passes without the implementation, so it proves nothing",
        hint="have it test what the task adds: it must fail until that is there",
    )


def _already(check: Check, names: list[str]) -> Iterator[Finding]:
    for name in names[:_NAMES_SHOWN]:
        yield Finding(
            check=check.id,
            message=f"the new test {name} passes without the implementation",
            path=name.partition("::")[0] if "::" in name else "",
            severity=Severity.WARNING,
            hint="have it test what the task adds, or leave it out",
        )


def _find_single_tests(command: str) -> list[str]:
    """The single tests that a command names, as pytest does."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return [word.removeprefix("./") for word in words if "::" in word]


def _is_of(test: str, named: str) -> bool:
    return test == named or test.startswith((f"{named}[", f"{named}::"))


def _new(
    passing: tuple[tuple[str, str], ...], changes: tuple[Change, ...], bench: GateContext
) -> Iterator[str]:
    """The tests among `passing` that these changes add, where the tool says where each stands."""
    by_path = {change.path: change for change in changes}
    for name, file in passing:
        change = by_path.get(file)
        if change is None:
            continue
        if change.action is Action.CREATE or _inner(name) not in tests_in(
            file, bench.before(file) or b""
        ):
            yield name


def _inner(name: str) -> str:
    """`TestB.test_c` of `tests/test_a.py::TestB::test_c[1]`."""
    return ".".join(name.partition("[")[0].split("::")[1:])
