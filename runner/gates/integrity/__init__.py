"""Frozen tests: a test that has landed may not be deleted, nor hooks change how tests end.

A family of the registry; it runs no command. Skipped, deselected and failing tests of the base are
found by their ids (`base_tests`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from runner.gates.base import INTEGRITY, Check, Proved
from runner.gates.integrity.compare_tests import findings
from runner.lazy_module import lazy_module
from runner.model import Proof, Verdict, digest_of
from runner.process.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.config.settings import Settings
    from runner.gates import meant_tests
    from runner.gates.base import GateContext
    from runner.model import Task
else:
    meant_tests = lazy_module("runner.gates.meant_tests")


def integrity_proof(note: str, count: int) -> Proof:
    """What stays of expectations that were changed on purpose: named wherever proofs are shown."""
    return Proof(
        id=INTEGRITY,
        kind=INTEGRITY,
        command="",
        verdict=Verdict.PASS,
        exit=0,
        seconds=0.0,
        output=digest_of(note.encode("utf-8", "surrogateescape")),
        counts=(("changed", count),),
        note=note,
    )


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at all that the task changed."""
    return (Check(id=INTEGRITY, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, context: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """What the proposal takes away from tests, and what its new tests lack.

    A listing excuses a test that says less only where a person wrote it or will have seen it.
    """
    return Proved(
        None,
        findings(
            context.changes,
            context.before,
            context.task,
            reviewed=context.reviewed,
            by_person=context.by_person,
            is_test=context.is_test,
            meant=_meaning(context),
        ),
    )


def _meaning(context: GateContext) -> Callable[[str, str], str]:
    """What of the plan asks for the deletion of a test; read at the first that is gone."""

    @cache
    def known() -> meant_tests.Meaning:
        return meant_tests.Meaning.of(context)

    return lambda path, test: known().of_test(test, path)
