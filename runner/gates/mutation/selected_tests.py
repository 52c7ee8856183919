"""Have pytest run only the tests of some names, and stop at the first failure."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.gates.mutation.function_bodies import find_changed_functions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.gates.base import Check, GateContext

_MOST_NAMED = 40
"""Tests that are named to pytest; where there are more, all run."""
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def select_tests(tests: Iterable[str], context: GateContext) -> GateContext:
    """Return a context in which pytest runs these tests alone and stops at the first failure.

    A word of `-k` also selects tests whose names contain it: more may run, never fewer.
    """
    names = {_name_of(test) for test in tests}
    plain = all(_IDENTIFIER.fullmatch(name) for name in names)
    words = "-x"
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


def _name_of(test: str) -> str:
    """Return the function's own name of a test id."""
    return re.split(r"::|\.", test.partition("[")[0])[-1]
