"""Product code that knows it is tested: names of test tools, new, in a condition of tested code.

A family of the registry; it runs no command. Code that does something else while a test tool runs
it makes every proof one of another program. Whoever means it says so in the plan.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from runner.gates.base import Check, Proved
from runner.model import Finding, Severity
from runner.process.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.gates.tool_names import Named
    from runner.model import Change, Task

CHECK = "knows-tests"
_LARGEST = 2_000_000
_SUPPORT = re.compile(
    r"(?:\A|/)(?:conftest|pytest_\w+|\w+_pytest|testing|\w+_testing|test_?(?:utils?|support|helpers?"
    r"|tools?|kit)|setup-?tests?|(?:jest|vitest|mocha|playwright|karma|cypress)[.\w-]*)\.\w+\Z"
    r"|(?:\A|/)testing/",
    re.IGNORECASE,
)
"""Files that are there for tests, although they are none."""
_PLUGIN = re.compile(rb"^\s*def pytest_\w+\(|^\s*@pytest\.(?:fixture|hookimpl)", re.MULTILINE)
_MEANT = re.compile(
    r"plug-?in|\bunder\b|detect|\bmode\b|sys\.modules|environment|\bhook|variable|while .*\brun",
    re.IGNORECASE,
)
"""What a sentence says beside a tool's name, where it is about code that knows of the tool."""


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at what a task that may write adds."""
    if not task.writes_anything:
        return ()
    return (Check(id=CHECK, kind="integrity", command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each condition on a test tool that the change adds: a person's warning, else a question."""
    found = [
        _finding(one, change.path, bench)
        for change in bench.changes
        if change.content is not None and _is_product(change, bench)
        for one in _find_added_names(change, bench)
        if not _is_meant(one.name, bench.task)
    ]
    return Proved(None, tuple(found))


def _is_product(change: Change, bench: GateContext) -> bool:
    """Whether a file is no test's own and a test ran it; where nobody measured, any may have."""
    path = change.path
    if bench.is_test(path) or _SUPPORT.search(path) or len(change.content or b"") > _LARGEST:
        return False
    if _PLUGIN.search(bench.before(path) or b""):
        return False
    ending = path.rpartition(".")[2]
    seen = {row.path for row in bench.observed if row.path.rpartition(".")[2] == ending}
    return not seen or path in seen


def _find_added_names(change: Change, bench: GateContext) -> Iterator[Named]:
    from runner.gates.tool_names import names_of_tests

    known = Counter(one.code for one in names_of_tests(change.path, bench.before(change.path)))
    for one in names_of_tests(change.path, change.content):
        if known[one.code]:
            known[one.code] -= 1
        else:
            yield one


def _is_meant(name: str, task: Task) -> bool:
    """Whether the plan's own text, not its commands, is about code that knows of this."""
    text = "\n".join((task.title, *task.acceptance, task.prose))
    about = [part for part in re.split(r"[.!?]\s|\n", text) if name.casefold() in part.casefold()]
    if re.search(r"[A-Z]_|\W", name):  # a variable or a call: nobody names it by the way
        return bool(about)
    return any(_MEANT.search(part) for part in about)


def _finding(one: Named, path: str, bench: GateContext) -> Finding:
    return Finding(
        check=CHECK,
        message=f"product code that knows it is tested: `{one.code}` asks for {one.name}",
        path=path,
        line=one.line,
        severity=Severity.WARNING if bench.by_person else Severity.QUESTION,
        hint=f"have it do the same wherever it runs, or have the plan say why it needs {one.name}",
    )
