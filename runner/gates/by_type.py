"""Extra checks by task type: a refactoring keeps the tests, a migration reads old data.

A family of the registry; it runs no command. A bugfix's failing test first is `red_first`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.base import Proved
from runner.gates.integrity import is_excused
from runner.gates.test_paths import is_test_path
from runner.lazy_pattern import regex
from runner.model import Action, Finding, Severity
from runner.plan.task_types import Extra, classify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.base import Check, GateContext
    from runner.model import Task
    from runner.plan.task_types import TypeReading

CHECK = "task-type"
_OLD = regex(
    r"(?:\b|_)(?:old|older|existing|legacy|previous|before|upgrad\w*|backwards?|migrat\w*|compat\w*"
    r"|downgrad\w*|v\d+)(?:\b|_)",
    re.IGNORECASE,
)
"""Words of a test that reads old data."""
_TEST_NAME = regex(r"\b(?:def|func|fn|test|it|describe)\b[\s(\"'`]*([^\n]{0,200})")
_LARGEST = 2_000_000


def prove(check: Check, context: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Find changes that the task's type does not allow, and missing tests that it requires."""
    work = classify(context.task)
    found = [*_find_changed_tests(context, work.kind)] if work.wants(Extra.TESTS_STAY) else []
    if work.wants(Extra.OLD_DATA) and context.changes and not _reads_old_data(context):
        found.append(_lacks_old_data(context.task))
    return Proved(None, tuple(found))


# --- refactor -------------------------------------------------------------------------


def _find_changed_tests(context: GateContext, kind: TypeReading) -> Iterator[Finding]:
    """Yield a finding for each existing test file that a refactor task changes or deletes.

    One that the task lists exactly only warns where a person wrote the change or will see it; one
    that the plan says to change, by its path, is what was asked for.
    """
    refusal = Severity.ERROR if context.origin.by_person else Severity.QUESTION
    for change in context.changes:
        if change.action is Action.CREATE or not is_test_path(change.path):
            continue
        lenient = context.origin.reviewed and is_excused(change.path, context.task)
        lenient = lenient or change.path in context.task.changes_tests
        verb = "deletes" if change.action is Action.DELETE else "changes"
        yield Finding(
            check=CHECK,
            message=f"a refactor task {verb} the existing test {change.path}",
            path=change.path,
            severity=Severity.WARNING if lenient else refusal,
            hint=(
                f"leave the test unchanged; if the behaviour must change, "
                f"give the task another Type (its {kind.by} says {kind.word}, so it is a refactor)"
            ),
        )


# --- migration ------------------------------------------------------------------------


def _reads_old_data(context: GateContext) -> bool:
    """Return whether a test contract or a test of the change mentions old data."""
    lines = [f"{one.id} {one.command}" for one in context.task.test_contracts]
    if any(map(_OLD.search, lines)):
        return True
    for change in context.changes:
        content = change.content or b""
        if is_test_path(change.path) and len(content) <= _LARGEST:
            if _OLD.search(change.path):
                return True
            names = _TEST_NAME.findall(content.decode("utf-8", "replace"))
            if any(map(_OLD.search, names)):
                return True
    return False


def _lacks_old_data(task: Task) -> Finding:
    return Finding(
        check=CHECK,
        message=f"no test of {task.id} checks that old data is readable after the migration",
        severity=Severity.WARNING,
        hint=(
            "add a test that reads data stored before the change, for example "
            "TC-NNN (integration): `python -m pytest -q tests/test_old_rows_still_read.py`"
        ),
    )
