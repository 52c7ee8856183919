"""Find new tests, and assertions in new Python tests, that no test contract ran.

A family of the registry. Of Python the lines that ran are known, of others the ids that the tools
named. A test none of whose assertions ran shows nothing, whatever kept it from them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from runner.gates.base import INTEGRITY, Check, Proved, command_limits
from runner.gates.base_tests.rerun import make_verbose_command
from runner.gates.check_run import try_check
from runner.gates.test_paths import find_tests, is_benchmark
from runner.impact.python_blocks import spans_in
from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.plan.shell.selection import selection_of
from runner.text.python_syntax import name_of, python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.base import GateContext
    from runner.gates.junit import TestResult
    from runner.model import Change

CHECK = "unrun-tests"
_ASSERTING = regex(r"_?(?:assert|expect)(?:_|[A-Z]|\Z)")
_SKIPS = regex(r"\b(?:skip\w*|xfail|expectedFailure|importorskip|SkipTest)\b")
_NAMED = regex(r"\A(?:Test|Fuzz|Example)\w")
_PARTS = regex(r"[/.:# >]+")
_LARGEST = 2_000_000
_MOST = 10


class _Unrun(NamedTuple):
    path: str
    line: int
    what: str
    """`TestSum`, or `the tests of this file`."""
    asks: bool = True


def prove(check: Check, context: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Return a question for each new test that no contract ran.

    Nothing where a contract selects tests or failed, or where its tool names none.
    """
    lines = [one.command for one in context.task.test_contracts]
    failed = any(not one.passed for one in context.ran.values())
    if failed or any("::" in line or selection_of(line) for line in lines):
        return Proved(None, ())
    tests = [one for one in context.changes if one.content and context.is_test(one.path)]
    found = [silent for one in tests for silent in _find_silent(one, context)]
    named = [(one, _new_names(one, context)) for one in tests if not _is_python(one)]
    ran = [*_ran(context)] if any(names for _, names in named) else []
    found += [one for change, names in named if names and ran for one in _unrun(change, names, ran)]
    return Proved(None, tuple(_finding(one, context) for one in found[:_MOST]))


def _is_python(change: Change) -> bool:
    return is_written_in(change.path, "python")


# --- by lines -----------------------------------------------------------------------------


def _find_silent(change: Change, context: GateContext) -> Iterator[_Unrun]:
    """Yield the functions with new assertions of which not one ran, where lines were measured."""
    ran = _lines_run(change.path, context) if _is_python(change) else frozenset()
    if not ran or len(change.content or b"") > _LARGEST:
        return
    before = {code for one in _functions(context.before(change.path)) for code, _ in _asserts(one)}
    for function in _functions(change.content):
        every = [*_asserts(function)]
        spoke = any(not ran.isdisjoint(lines) for _, lines in every)
        fresh = [lines for code, lines in every if code not in before]
        if fresh and not spoke and not _SKIPS.search(ast.unparse(function)):
            yield _Unrun(change.path, fresh[0][0], f"the assertions of `{function.name}`")


def _lines_run(path: str, context: GateContext) -> frozenset[int]:
    rows = (row for row in context.observed if row.path == path)
    spans = (span for row in rows for span in spans_in(row.lines))
    return frozenset(number for first, last in spans for number in range(first, last + 1))


def _functions(content: bytes | None) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = python_tree(content or b"")
    nodes = ast.walk(tree) if tree else ()
    return [one for one in nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]


def _asserts(function: ast.AST) -> Iterator[tuple[str, range]]:
    """Yield code and lines of the assertions of a function, without those of inner functions."""
    for node in ast.iter_child_nodes(function):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                continue
            case ast.Assert(test=test) if not isinstance(test, ast.Constant):
                yield ast.unparse(node), range(node.lineno, (node.end_lineno or node.lineno) + 1)
            case ast.Expr(value=ast.Call() as call) if _ASSERTING.match(
                name_of(call).rpartition(".")[2]
            ):
                yield ast.unparse(node), range(node.lineno, (node.end_lineno or node.lineno) + 1)
            case _:
                yield from _asserts(node)


# --- by ids -------------------------------------------------------------------------------


def _new_names(change: Change, context: GateContext) -> dict[str, int]:
    """Return the tests that a file did not contain before, by name with their lines."""
    path, before = change.path, context.before(change.path) or b""
    known = {one.code for one in find_tests(path, before) or ()}
    return {
        one.name: one.line
        for one in find_tests(path, change.content) or ()
        if not (is_benchmark(one.name, path) or one.code in known)
    }


def _ran(context: GateContext) -> Iterator[TestResult]:
    """Yield the tests that the contracts ran; rerun verbosely if a tool did not name them."""
    for contract in context.task.test_contracts:
        trial = context.ran.get(contract.id)
        if trial is None:
            continue
        if trial.results is None and trial.unnamed:
            check = Check(
                id=f"{CHECK}-{contract.id}",
                kind="test",
                command=make_verbose_command(contract.command),
                limits=command_limits(context.task, context.settings),
                named=True,
            )
            trial = try_check(check, replace(context, tell=lambda _line: None))
        yield from trial.results.tests if trial.results else ()


def _unrun(change: Change, names: dict[str, int], ran: list[TestResult]) -> Iterator[_Unrun]:
    if all(one.file for one in ran):
        if change.path not in {one.file for one in ran}:
            yield _Unrun(change.path, min(names.values()), "the tests of this file")
        return
    heard = {part for one in ran for part in _PARTS.split(one.id)}
    missing = [name for name in names if _NAMED.match(name) and name not in heard]
    for name in missing:
        yield _Unrun(change.path, names[name], name, asks=len(missing) == len(names))


def _finding(one: _Unrun, context: GateContext) -> Finding:
    return Finding(
        check=INTEGRITY,
        message=f"no test contract runs {one.what}",
        path=one.path,
        line=one.line,
        severity=context.origin.question if one.asks else Severity.WARNING,
        hint="run it in a test contract, or remove it",
    )
