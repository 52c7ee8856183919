"""Have pytest run only the tests of some names."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.gates.mutation.function_bodies import find_changed_functions
from runner.impact.python_blocks import spans_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.gates.base import Check, GateContext
    from runner.model import Change

_MOST_NAMED = 40
"""Tests that are named to pytest; where there are more, all run."""
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


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
        if not row.lines or _overlap(spans_in(row.lines), bodies[row.path])
    }
    return () if "" in tests else tuple(sorted(tests))


def _changed_bodies(change: Change, context: GateContext) -> Iterator[tuple[int, int]]:
    """First and last line of the body of each changed function of the product."""
    content = change.content or b""
    if not context.is_test(change.path):
        before = context.before_own_work(change.path)
        for one in find_changed_functions(change.path, before, content):
            ends = min(part.at for part in one.stub), one.end
            yield content.count(b"\n", 0, ends[0]) + 1, content.count(b"\n", 0, ends[1]) + 1


def _overlap(some: Iterable[tuple[int, int]], others: tuple[tuple[int, int], ...]) -> bool:
    return any(a <= d and c <= b for a, b in some for c, d in others)


def _name_of(test: str) -> str:
    """Return the function's own name of a test id."""
    return re.split(r"::|\.", test.partition("[")[0])[-1]
