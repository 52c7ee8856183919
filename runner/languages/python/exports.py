"""List a Python file's public names and signatures as comparable text."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from runner.text.foreign_documents import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator


def exports_of(path: str, content: bytes) -> list[str] | None:
    """Return the exports of each top-level statement; None for a file that Python cannot parse."""
    tree = python_tree(content)
    if tree is None:
        return None
    listed = _names_in_all(tree)
    names_all = path.endswith("__init__.py")
    return [
        line for one in tree.body for line in _find_declarations(one, listed, imports=names_all)
    ]


def _names_in_all(tree: ast.Module) -> frozenset[str] | None:
    """Return the names in `__all__`; None if it is missing or computed."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            try:
                return frozenset(map(str, ast.literal_eval(node.value)))
            except (ValueError, TypeError):
                return None
    return None


def _find_declarations(
    node: ast.stmt, listed: frozenset[str] | None, *, imports: bool
) -> Iterator[str]:
    """Yield the exports of one statement; those under a condition include the condition."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            if _is_public(name, listed):
                yield from _definition(node, "")
        case ast.Import(names) | ast.ImportFrom(names=names):
            source = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for alias in names:
                name = alias.asname or alias.name
                again = imports or alias.asname == alias.name or name == "*"
                if (again and _is_public(name, listed)) or (listed and name in listed):
                    yield f"import {source} {alias.name} as {name}"
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            if any(_is_public(name, listed) for name in _targets(node)):
                yield ast.unparse(node)
        case ast.Expr(ast.Constant(str())):
            return
        case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While() | ast.Match():
            yield _without_bodies(node)
        case _:
            yield ast.unparse(node)


def _is_public(name: str, listed: frozenset[str] | None) -> bool:
    if listed is not None and name in listed:
        return True
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        for one in ast.walk(target):
            if isinstance(one, ast.Name):
                yield one.id
            elif isinstance(one, ast.Attribute):
                yield one.attr


def _definition(node: ast.stmt, inside: str) -> Iterator[str]:
    """Yield the signature of a function or of a class and its public members."""
    if isinstance(node, ast.ClassDef):
        name = f"{inside}{node.name}"
        decorators = " ".join(f"@{ast.unparse(one)}" for one in node.decorator_list)
        bases = ", ".join(map(ast.unparse, (*node.bases, *node.keywords)))
        yield f"{decorators} class {name}({bases})"
        for member in node.body:
            yield from _member(member, f"{name}.")
    else:
        yield inside + _without_bodies(node)


def _member(node: ast.stmt, inside: str) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            if _is_public(name, None):
                yield from _definition(node, inside)
        case ast.Assign() | ast.AnnAssign():
            if any(_is_public(name, None) for name in _targets(node)):
                yield inside + ast.unparse(node)
        case ast.Expr(ast.Constant()) | ast.Pass():
            return
        case _:
            yield inside + ast.unparse(node)


class _Headers(ast.NodeTransformer):
    """Leaves of every function the line that declares it."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [ast.Expr(ast.Constant(...))]
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.body = [ast.Expr(ast.Constant(...))]
        return node


def _without_bodies(node: ast.stmt) -> str:
    visited = _Headers().visit(node)
    assert isinstance(visited, ast.stmt)
    return ast.unparse(visited)
