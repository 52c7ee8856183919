"""Assertions that failed in a test that passed: somebody caught them, or nobody asked.

A family of the registry; it runs no command. What pytest and unittest wrote down of each failure
(`lost_hook`) needs no list of ways: a decorator, a context manager, a thread, a pool and a `return`
in a `finally` look the same from here. Told are assertions that the change writes, in tests that
passed, where neither the code around them waits for the failure nor they held when asked again.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.base import INTEGRITY, Check, Proved, gravest
from runner.languages.python.claims import is_asserting_name
from runner.languages.python.marks import name_of
from runner.languages.registry import is_written_in
from runner.model import Finding, Severity
from runner.process.limits import Limits
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.gates.junit import Lost
    from runner.model import Task

CHECK = "lost-assertions"
_LARGEST = 2_000_000
_SHOWN = 80
_MOST = 10
_FAILS = frozenset({"fail", "exit", "unreachable"})


class _Handling(NamedTuple):
    """What stands around a line of a test file."""

    meant: bool
    """Whether somebody waits for the failure there."""
    kept: bool
    """Whether a handler keeps the error for something that may look at it."""
    retried: bool
    """Whether it is in a loop that is left when it holds."""


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at what the test contracts of a task wrote down."""
    if not (task.writes_anything and task.test_contracts):
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each new assertion whose failure no report was told of: a question, or a warning.

    A warning where a person wrote it, or where a handler keeps the error.
    """
    found: dict[tuple[str, int], Finding] = {}
    trees = _Trees(bench)
    for trial in bench.ran.values():
        passed = {one.id for one in trial.results.passing} if trial.passed and trial.results else ()
        for lost in trial.told.lost:
            path, line = lost.stack[0] if lost.stack else ("", 0)
            if lost.test not in passed or (path, line) in found:
                continue
            said = _told(lost, trees, bench)
            if said is not None:
                found[path, line] = said
    return Proved(None, gravest(found.values(), _MOST))


class _Trees:
    """The syntax trees of the Python files that the change writes."""

    def __init__(self, bench: GateContext) -> None:
        self._known: dict[str, tuple[ast.Module | None, frozenset[int]]] = {}
        for one in bench.changes:
            content = one.content
            fits = content is not None and len(content) <= _LARGEST
            if content is not None and fits and is_written_in(one.path, "python"):
                tree = python_tree(content)
                fresh = _fresh_lines(tree, bench.before(one.path)) if tree else frozenset()
                self._known[one.path] = tree, fresh

    def of(self, path: str) -> ast.Module | None:
        return self._known.get(path, (None, frozenset()))[0]

    def is_fresh(self, path: str, line: int) -> bool:
        return line in self._known.get(path, (None, frozenset[int]()))[1]


def _fresh_lines(tree: ast.Module, former: bytes | None) -> frozenset[int]:
    """The lines of assertions that were not there before."""
    before = python_tree(former) if former else None
    known = Counter(ast.unparse(one) for one in _assertions(before)) if before else Counter[str]()
    lines: set[int] = set()
    for one in _assertions(tree):
        code = ast.unparse(one)
        known[code] -= 1
        if known[code] < 0:
            lines |= {*range(one.lineno, (one.end_lineno or one.lineno) + 1)}
    return frozenset(lines)


def _assertions(tree: ast.Module) -> Iterator[ast.stmt]:
    """Assertions that can hold: none that says "not to be reached"."""
    for node in ast.walk(tree):
        match node:
            case ast.Assert(test=test):
                if any(isinstance(one, ast.Name | ast.Attribute) for one in ast.walk(test)):
                    yield node
            case (
                ast.Expr(value=ast.Call() as call)
                | ast.Expr(value=ast.Await(value=ast.Call() as call))
            ):
                name = name_of(call).rpartition(".")[2]
                if call.args and name not in _FAILS and is_asserting_name(name):
                    yield node


def _told(lost: Lost, trees: _Trees, bench: GateContext) -> Finding | None:
    path, line = lost.stack[0]
    tree = trees.of(path)
    if tree is None or not bench.is_test(path) or not trees.is_fresh(path, line):
        return None
    around = [
        _handling(inner, at)
        for file, at in lost.stack
        if (inner := trees.of(file)) is not None and bench.is_test(file)
    ]
    # deeper calls that are made again are known by what they did (`lost_hook`)
    if any(one.meant for one in around) or (around and around[0].retried):
        return None
    asks = not bench.by_person and not any(one.kept for one in around)
    shown = next((ast.unparse(one) for one in _assertions(tree) if _is_at(one, line)), "")
    return Finding(
        check=INTEGRITY,
        message=f"`{shown.splitlines()[0][:_SHOWN]}` failed, and {lost.test} passed:"
        " nobody was told of it",
        path=path,
        line=line,
        severity=Severity.QUESTION if asks else Severity.WARNING,
        hint="let the failure come to the test itself, or say what is expected to fail",
    )


def _is_at(node: ast.stmt | ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


# --- what stands around it ------------------------------------------------------------------


def _handling(tree: ast.Module, line: int) -> _Handling:
    """What the statements around a line do with a failure that comes from it."""
    around = [one for one in ast.walk(tree) if isinstance(one, ast.stmt) and _is_at(one, line)]
    functions = [one for one in around if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = max(functions, key=lambda one: one.lineno, default=None)
    own = [one for one in around if inner is None or one.lineno > inner.lineno]
    meant = kept = retried = False
    for one in own:
        if isinstance(one, ast.With | ast.AsyncWith):
            meant = meant or any(_waits(item.context_expr) for item in one.items)
        elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
            meant = meant or _waits(one.value)
        elif isinstance(one, ast.Try | ast.TryStar) and any(
            _is_at(part, line) for part in one.body
        ):
            meant = meant or _speaks(one)
            kept = kept or any(_keeps(handler) for handler in one.handlers)
            retried = retried or any(_is_left(loop, one) for loop in own)
    return _Handling(meant, kept, retried)


def _waits(call: ast.expr) -> bool:
    """Whether a call says that an assertion is to fail: `raises(AssertionError)`."""
    name = name_of(call).rpartition(".")[2].lower() if isinstance(call, ast.Call) else ""
    return "raises" in name and "AssertionError" in ast.unparse(call)


def _speaks(node: ast.Try | ast.TryStar) -> bool:
    """Whether a handler asserts or raises itself, or it is a failure where nothing is caught."""
    parts = [*(one for handler in node.handlers for one in handler.body), *node.orelse]
    return any(_fails(one) for one in parts) or any(_fails_always(one) for one in node.body)


def _fails(node: ast.stmt) -> bool:
    for one in ast.walk(node):
        if isinstance(one, ast.Raise | ast.Assert):
            return True
        if isinstance(one, ast.Call):
            name = name_of(one).rpartition(".")[2]
            if name in _FAILS or is_asserting_name(name):
                return True
    return False


def _fails_always(node: ast.stmt) -> bool:
    """`pytest.fail(…)` or `raise` as a statement of the body: what stands before must raise."""
    if isinstance(node, ast.Raise):
        return True
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and name_of(call).rpartition(".")[2] in _FAILS


def _keeps(handler: ast.ExceptHandler) -> bool:
    """Whether the error goes anywhere but into words for people."""
    if handler.name is None:
        return False
    told = [
        one
        for part in handler.body
        if not (isinstance(part, ast.Expr) and _only_tells(part.value))
        for one in ast.walk(part)
    ]
    return any(isinstance(one, ast.Name) and one.id == handler.name for one in told)


def _only_tells(value: ast.expr) -> bool:
    name = name_of(value) if isinstance(value, ast.Call) else ""
    return name == "print" or name.startswith(("log", "warnings.", "sys.std"))


def _is_left(loop: ast.stmt, attempt: ast.Try | ast.TryStar) -> bool:
    """Whether a loop around an attempt ends when it succeeds: it is made until it holds."""
    if not isinstance(loop, ast.While | ast.For | ast.AsyncFor) or attempt not in [*ast.walk(loop)]:
        return False
    own = [one for part in (*attempt.body, *attempt.orelse) for one in ast.walk(part)]
    return any(isinstance(one, ast.Break | ast.Return) for one in own)
