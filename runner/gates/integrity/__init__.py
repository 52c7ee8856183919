"""Frozen tests: a test that has landed may not be deleted, skipped or weakened unseen.

A family of the registry; it runs no command. Within a task, tests that existed at its base are
frozen. New tests are looked at too: one that can never fail proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.base import Check, Proved
from runner.process.limits import Limits

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.gates.base import Bench
    from runner.model import Task


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at all that the task changed."""
    return (Check(id="integrity", kind="integrity", command="", limits=Limits()),)


def prove(check: Check, bench: Bench) -> Proved:  # noqa: ARG001 - a family's shape
    """What the proposal takes away from tests, and what its new tests lack.

    A listing excuses a test that says less only where a person wrote it or will have seen it.
    """
    from runner.gates.integrity.verdict import findings

    return Proved(
        None,
        findings(
            bench.changes,
            bench.before,
            bench.task,
            reviewed=bench.reviewed,
            must_assert=bench.red_first,
        ),
    )
