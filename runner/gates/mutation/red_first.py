"""Red first: check that a test fails without the change."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.gates.base_result import earlier
from runner.gates.mutation.function_bodies import code_of, find_changed_functions, functions_in
from runner.impact.python_blocks import spans_in
from runner.model import Action, Change, Finding, digest_of
from runner.model.grades import is_code
from runner.plan.task_types import classify

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.config.settings import Settings
    from runner.gates.base import Check, GateContext
    from runner.gates.base_result import BaseResult
    from runner.model import Task

CHECK = "red-first"
_WRITTEN_BY_PEOPLE = frozenset({"", "blocks", "check"})
_NOTHING_NEW = frozenset({"test-gen", "doc-gen", "refactor"})
"""Explicit task types that add no behaviour which a test could have missed before."""

_MOST_NAMED = 40
"""Maximum number of tests that pytest gets by name; with more, all run."""
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def wants_red_first(task: Task, settings: Settings, implementer: str, *, is_new_work: bool) -> bool:
    """Return whether a test must fail without the task's change.

    The task's own field wins, then the setting; `auto` asks it of new work by agents, models and
    commands, and of a written `Type: bugfix`. The task's words never decide.
    """
    if task.red_first is not None:
        return task.red_first
    if settings.proof.red_first != "auto":
        return settings.proof.red_first == "always"
    kind = classify(task).kind
    written = kind.type.name if kind.type and kind.by == "Type" else ""
    by_a_machine = implementer not in _WRITTEN_BY_PEOPLE and written not in _NOTHING_NEW
    return is_new_work and (by_a_machine or written == "bugfix")


def run_before(check: Check, context: GateContext) -> BaseResult | None:
    """Run a check on the base with the tests of the change; None if the result is unknown.

    What the task landed earlier is taken back: a task that is built again is not shown by it.
    The tests that the change adds or changes run first: where one of them fails, the check fails.
    """
    tests = [one for one in context.changes if context.is_test(one.path)]
    own = (path for path in context.former if not context.is_test(path))
    changes = (*tests, *(_take_back(path, context) for path in own))
    if changed := find_changed_tests(check, context):
        seen = earlier(check, select_tests(changed, context), changes)
        if seen is not None and not seen.passed and seen.failing:
            return seen
    return earlier(check, context, changes)


def _take_back(path: str, context: GateContext) -> Change:
    now, then = context.before(path), context.former[path]
    before = None if now is None else digest_of(now)
    if then is None:
        return Change(path, Action.DELETE, 0, before, None)
    return Change(path, Action.MODIFY, 0o100644, before, digest_of(then), then)


def findings(
    checks: Sequence[Check], context: GateContext, *, stub_noticed: bool
) -> tuple[Finding, ...]:
    """Return an error for each contract that passes without the change, if required.

    Else one question where none of them fails.
    """
    if not context.origin.red_first:
        return ()
    if context.task.red_first or context.settings.proof.red_first == "always":
        passing = [one for one in checks if _passes_before(one, context)]
        return tuple(_require(one.id) for one in passing)
    if not checks or _needs_no_test(context, stub_noticed=stub_noticed):
        return ()
    if not all(_passes_before(one, context) for one in checks):
        return ()
    message = "no test fails without this change"
    hint = "add a test of what the change adds: it must fail without the change"
    return (Finding(CHECK, message, severity=context.origin.question, hint=hint),)


def _passes_before(check: Check, context: GateContext) -> bool:
    seen = run_before(check, context)
    return seen is not None and seen.passed


def _require(id_: str) -> Finding:
    return Finding(
        check=id_,
        message=f"{id_} passes without the implementation, so it proves nothing",
        hint="add a test of what the task adds: it must fail without the implementation",
    )


def _needs_no_test(context: GateContext, *, stub_noticed: bool) -> bool:
    """Return whether the change adds no behaviour, or only functions that tests notice."""
    code = [one for one in context.changes if is_code(one.path) and not context.is_test(one.path)]
    if all(_has_same_code(one, context) for one in code):
        return True
    return stub_noticed and not any(_adds_function(one, context) for one in code)


def _has_same_code(change: Change, context: GateContext) -> bool:
    """Return whether a change affects only comments, docstrings, annotations or types."""
    before = code_of(change.path, context.before(change.path))
    return before is not None and before == code_of(change.path, change.content)


def _adds_function(change: Change, context: GateContext) -> bool:
    known = {one.name for one in functions_in(change.path, context.before(change.path))}
    return any(one.name not in known for one in functions_in(change.path, change.content))


# --- some tests of pytest alone -------------------------------------------------------


def select_tests(tests: Iterable[str], context: GateContext, *, stop: bool = True) -> GateContext:
    """Return a context in which pytest runs these tests alone; to `stop` is at the first failure.

    A word of `-k` also selects tests whose names contain it: more may run, never fewer.
    """
    names = {_name_of(test) for test in tests}
    plain = all(_IDENTIFIER.fullmatch(name) for name in names)
    words = "-x" if stop else ""
    if names and plain and len(names) <= _MOST_NAMED:
        words += f" -k {shlex.quote(' or '.join(sorted(names)))}"
    given = context.environment.get("PYTEST_ADDOPTS", "")
    environment = {**context.environment, "PYTEST_ADDOPTS": f"{given} {words}".strip()}
    return replace(context, environment=environment)


def find_changed_tests(check: Check, context: GateContext) -> tuple[str, ...]:
    """Return the ids of pytest that a check ran and that the change adds, or whose code changed.

    Empty where all tests of the check are among them, and where pytest did not name its tests.
    """
    ended = context.ran.get(check.id)
    tests = ended.results.tests if ended is not None and ended.results else ()
    changed: dict[str, set[str]] = {}
    for one in context.changes:
        if one.path.endswith(".py") and context.is_test(one.path):
            new = find_changed_functions(one.path, context.before(one.path), one.content)
            changed[one.path] = {_name_of(function.name) for function in new}
    found = [
        test.id
        for test in tests
        if "::" in test.id and _name_of(test.id) in changed.get(test.file, ())
    ]
    return tuple(found) if len(found) < len(tests) else ()


def find_tests_of_change(check: Check, context: GateContext) -> tuple[str, ...]:
    """Return the names of the tests that ran a function which the change adds or modifies.

    Empty where nothing is known of that, and where one ran outside of a named test as well, such
    as in a fixture or at an import: then every test may depend on it.
    """
    bodies = {one.path: tuple(_changed_bodies(one, context)) for one in context.changes}
    tests = {
        row.test
        for row in context.observed
        if row.contract == check.id and row.path in bodies
        if not row.lines
        or any(a <= d and c <= b for a, b in spans_in(row.lines) for c, d in bodies[row.path])
    }
    return () if "" in tests else tuple(sorted(tests))


def _changed_bodies(change: Change, context: GateContext) -> Iterator[tuple[int, int]]:
    """Yield first and last line of the body of each changed function outside of tests."""
    content = change.content or b""
    if not context.is_test(change.path):
        before = context.before_own_work(change.path)
        for one in find_changed_functions(change.path, before, content):
            ends = min(part.at for part in one.stub), one.end
            yield content.count(b"\n", 0, ends[0]) + 1, content.count(b"\n", 0, ends[1]) + 1


def _name_of(test: str) -> str:
    """Return the function's own name of a test id."""
    return re.split(r"::|\.", test.partition("[")[0])[-1]
