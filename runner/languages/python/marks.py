"""Marks of Python tests that keep them from running or from counting: skip, xfail and their kin."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeAlias

from runner.lazy_pattern import regex
from runner.text.syntax import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_MARK = regex(
    r"(?:\A|\.)(?:skip|skipif|skipIf|skipUnless|skipTest|xfail|expectedFailure|importorskip|flaky"
    r"|SkipTest)\Z"
)
_LISTS = frozenset({"collect_ignore", "collect_ignore_glob"})


def name_of(node: ast.expr) -> str:
    """The dotted name of a call or an attribute; empty for what has none."""
    if isinstance(node, ast.Call):
        return name_of(node.func)
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}".lstrip(".")
    return node.id if isinstance(node, ast.Name) else ""


def marks_of_body(node: Function | ast.ClassDef) -> Iterator[tuple[str, int]]:
    """Marks on a test or a class of tests, and calls in a test that end it early."""
    for decorator in node.decorator_list:
        if _MARK.search(name_of(decorator)):
            yield f"@{ast.unparse(decorator)}", decorator.lineno
        yield from _in_parameters(decorator)
    if isinstance(node, ast.ClassDef):
        yield from _find_assigned(node.body)
        return
    for inner in ast.walk(node):
        marks = isinstance(inner, ast.Call) and bool(_MARK.search(name_of(inner)))
        if marks and isinstance(inner, ast.Call) and not _is_of_decorators(inner, node):
            yield ast.unparse(inner), inner.lineno


def _is_of_decorators(call: ast.Call, node: Function) -> bool:
    return any(call in ast.walk(decorator) for decorator in node.decorator_list)


def _in_parameters(decorator: ast.expr) -> Iterator[tuple[str, int]]:
    """Marks of single cases: `pytest.param(1, marks=pytest.mark.skip)`."""
    for inner in ast.walk(decorator):
        if isinstance(inner, ast.keyword) and inner.arg == "marks":
            for one in ast.walk(inner.value):
                if isinstance(one, ast.Attribute) and _MARK.search(one.attr):
                    yield ast.unparse(one), one.lineno


def marks_of_file(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Marks on all tests of a file: `pytestmark`, a skip at module level, `__test__ = False`."""
    run = [*_at_import(tree.body)]
    yield from _find_assigned(run)
    for statement in run:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            if _MARK.search(name_of(statement.value)):
                yield ast.unparse(statement), statement.lineno
        elif isinstance(statement, ast.Raise) and statement.exc is not None:
            if _MARK.search(name_of(statement.exc)):
                yield ast.unparse(statement), statement.lineno
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                if name_of(target).startswith(("test", "Test")):
                    yield ast.unparse(statement), statement.lineno


def _at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the file is imported, those below a condition too."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for block in blocks_of(statement):
                yield from _at_import(block)


def _find_assigned(body: list[ast.stmt]) -> Iterator[tuple[str, int]]:
    for statement in body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = {name_of(target) for target in targets}
        if "pytestmark" in names:
            for inner in ast.walk(statement.value):
                if isinstance(inner, ast.Attribute) and _MARK.search(inner.attr):
                    yield ast.unparse(statement), statement.lineno
        elif names & _LISTS or ("__test__" in names and _is_false(statement.value)):
            yield ast.unparse(statement), statement.lineno


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def cases_of(node: Function | ast.ClassDef) -> Iterator[str]:
    """The cases of a parametrized test, each as it is written."""
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call) or not name_of(decorator).endswith("parametrize"):
            continue
        values = decorator.args[1:2] or [
            k.value for k in decorator.keywords if k.arg == "argvalues"
        ]
        for value in values:
            if isinstance(value, ast.List | ast.Tuple | ast.Set):
                yield from (ast.unparse(_bare(case)) for case in value.elts)
            else:
                yield ast.unparse(value)


def rows_of(node: Function) -> list[dict[str, ast.expr]] | None:
    """What each case puts in the place of which name; None where that cannot be read.

    A test without cases has one row, of nothing.
    """
    if not node.decorator_list:
        return [{}]
    match node.decorator_list:
        case [ast.Call(args=[names, ast.List(elts=cases) | ast.Tuple(elts=cases)]) as call]:
            named = _names_of(names)
            rows = [_values(_bare(case), len(named)) for case in cases]
            if name_of(call).endswith("parametrize") and all(len(r) == len(named) for r in rows):
                return [dict(zip(named, row, strict=True)) for row in rows]
    return None


def _names_of(node: ast.expr) -> list[str]:
    match node:
        case ast.Constant(value=str(text)):
            return [name.strip() for name in text.split(",") if name.strip()]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [str(one.value) for one in parts if isinstance(one, ast.Constant)]
    return []


def _values(case: ast.expr, count: int) -> list[ast.expr]:
    if count == 1:
        return [case]
    return case.elts if isinstance(case, ast.Tuple | ast.List) else []


def _bare(case: ast.expr) -> ast.expr:
    """A case without its name and marks."""
    if isinstance(case, ast.Call) and name_of(case).endswith("param"):
        return ast.Tuple(case.args, ast.Load()) if len(case.args) > 1 else case.args[0]
    return case
