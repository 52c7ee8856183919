"""Find product code that checks whether it is being tested: a fact for the reviewer.

A family of the registry; it runs no command and refuses nothing. Code that does something else
while a test tool runs it makes every proof one of another program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.base import Proved
from runner.languages.registry import language_of
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.base import Check, GateContext
    from runner.model import Change

CHECK = "knows-tests"
_LARGEST = 2_000_000
_MOST = 5
_NAMES = regex(
    rb"\b(?:PYTEST_CURRENT_TEST|PYTEST_VERSION|PYTEST_XDIST_WORKER|COVERAGE_RUN|TOX_ENV_NAME"
    rb"|JEST_WORKER_ID|VITEST|NODE_TEST_CONTEXT|MOCHA_COLORS|NEXTEST|RUNNER_TASK|gettrace)\b"
    rb"|['\"](?:_?pytest|unittest)['\"]\s+(?:not\s+)?in\s+sys\.modules"
    rb"|\btesting\.Testing\(|\bflag\.Lookup\(\s*\"test\."
)
"""Variables that test tools set for their tests, and code that detects the tools."""


def prove(check: Check, context: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Return a note for each file whose new lines name a sign of a test tool."""
    found = [one for change in context.changes for one in _find_names(change, context)]
    return Proved(None, tuple(found[:_MOST]))


def _find_names(change: Change, context: GateContext) -> Iterator[Finding]:
    content = change.content
    if content is None or len(content) > _LARGEST or language_of(change.path) is None:
        return
    if context.is_test(change.path):
        return
    known = set((context.before(change.path) or b"").splitlines())
    for number, line in enumerate(content.splitlines(), start=1):
        named = None if line in known else _NAMES.search(line)
        if named:
            yield Finding(
                check=CHECK,
                message=f"the code checks whether a test runs it: {display(named[0].decode())}",
                path=change.path,
                line=number,
                severity=Severity.NOTE,
            )
            return
