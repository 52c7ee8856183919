"""Assertions of new tests that never ran, though a test contract ran their file.

A family of the registry; it runs no command. What the contracts executed is known line by line
(`bench.observed`), so it needs no list of ways: a class that is not collected, a loop over
nothing, a condition that is never so and a function that nobody calls look the same from here.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.base import INTEGRITY, Check, Proved, gravest
from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.plan.shell.selection import selection_of
from runner.process.limits import Limits
from runner.text.syntax import blocks_of, name_of, python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.model import Task

CHECK = "silent-assertions"
_SKIPS = regex(r"\b(?:skip|skipTest|importorskip|SkipTest)\(")
_ELSEWHERE = regex(
    r"platform|version|\bos\.name\b|maxsize|HAS_|HAVE_|\bPY\d|implementation|windows|win32|darwin"
    r"|linux|__name__|TYPE_CHECKING",
    re.IGNORECASE,
)
"""Conditions that hold on other machines, or where a person starts the file."""
_ASSERTING = regex(r"_?(?:assert|expect)(?:_|[A-Z]|\Z)")
"""Names of functions that assert."""
_LARGEST = 2_000_000
_SHOWN = 80
_MOST = 10


class _Assertion(NamedTuple):
    code: str
    first: int
    last: int
    function: int
    """The line of the innermost function that it stands in; 0 for a whole file."""
    may_skip: bool = False
    """Whether that function may end by skipping: then the test itself is told as skipped."""


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at the tests of what a task writes."""
    if not task.writes_anything:
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each new assertion that no test contract came to: a warning, or a question.

    A question where nothing else of its function spoke either, and no person wrote it. Nothing
    where a contract selects tests, or where nobody measured the file.
    """
    lines = [one.command for one in bench.task.test_contracts]
    if any("::" in line or selection_of(line) for line in lines):
        return Proved(None, ())
    found: list[Finding] = []
    for change in bench.changes:
        content = change.content
        if content is None or len(content) > _LARGEST or not is_written_in(change.path, "python"):
            continue
        if bench.is_test(change.path) and (ran := lines_run(change.path, bench)):
            every = [*_assertions(content)]
            spoke = {one.function for one in every if _has_run(one, ran)}
            found += [
                _finding(one, change.path, bench, hollow=one.function not in spoke)
                for one in _silent(every, bench.before(change.path), ran)
            ]
    return Proved(None, gravest(found, _MOST))


def lines_run(path: str, bench: GateContext) -> frozenset[int]:
    """The lines of a file that the task's test contracts ran; none where nobody measured it."""
    return frozenset(
        number
        for row in bench.observed
        if row.path == path
        for part in row.lines.split(",")
        if part
        for number in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)
    )


def _has_run(one: _Assertion, ran: frozenset[int]) -> bool:
    return not ran.isdisjoint(range(one.first, one.last + 1))


def _silent(
    every: Iterable[_Assertion], former: bytes | None, ran: frozenset[int]
) -> Iterator[_Assertion]:
    known = Counter(one.code for one in _assertions(former or b""))
    for one in every:
        if known[one.code]:
            known[one.code] -= 1
        elif not _has_run(one, ran):
            yield one


def _assertions(content: bytes) -> Iterator[_Assertion]:
    tree = python_tree(content)
    if tree is not None:
        yield from _in_block(tree.body, 0, may_skip=False)


def _in_block(body: list[ast.stmt], function: int, *, may_skip: bool) -> Iterator[_Assertion]:
    for node in body:
        if _is_left_out(node):
            continue
        inner, skips = function, may_skip
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner, skips = node.lineno, bool(_SKIPS.search(ast.unparse(node)))
        if _asserts(node):
            items = getattr(node, "items", [])  # of a `with`, of which the head is the assertion
            last = items[-1].context_expr.end_lineno if items else None
            line = node.lineno
            yield _Assertion(
                ast.unparse(node).splitlines()[0],
                line,
                last or node.end_lineno or line,
                function,
                may_skip,
            )
        for block in blocks_of(node):
            yield from _in_block(block, inner, may_skip=skips)


def _is_left_out(node: ast.stmt) -> bool:
    """Whether it runs on another machine, or is marked as not to run: that is told elsewhere."""
    if isinstance(node, ast.If):
        return bool(_ELSEWHERE.search(ast.unparse(node.test)))
    marks = getattr(node, "decorator_list", ())
    return any(re.search(r"skip|xfail|expectedFailure", ast.unparse(one)) for one in marks)


def _asserts(node: ast.stmt) -> bool:
    """Whether a statement is an assertion that can hold: none that says "not to be reached"."""
    match node:
        case ast.Assert(test=test):
            return any(isinstance(one, ast.Name | ast.Attribute) for one in ast.walk(test))
        case ast.Expr(value=ast.Call() as call):
            return bool(call.args) and bool(_ASSERTING.match(name_of(call).rpartition(".")[2]))
        case ast.With(items=items) | ast.AsyncWith(items=items):
            names = (name_of(one.context_expr).rpartition(".")[2] for one in items)
            return any(one in ("raises", "assertRaises", "assertRaisesRegex") for one in names)
    return False


def _finding(one: _Assertion, path: str, bench: GateContext, *, hollow: bool) -> Finding:
    asks = hollow and not one.may_skip and not bench.by_person
    return Finding(
        check=INTEGRITY,
        message=f"`{one.code[:_SHOWN]}` never ran: no test contract comes to it",
        path=path,
        line=one.first,
        severity=Severity.QUESTION if asks else Severity.WARNING,
        hint="have a test come to it, or take it out",
    )
