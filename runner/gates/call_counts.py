"""Conditions of Python code on how often it ran: state of a module that they change themselves."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

_GROWS = frozenset({"append", "add", "appendleft", "extend", "insert", "update"})
_SHRINKS = frozenset({"clear", "pop", "popitem", "popleft", "remove", "discard"})
_LEAST = 2
"""A number from which on it is no "was it called at all"."""


class Counted(NamedTuple):
    """Such a condition."""

    code: str
    line: int


def conditions(content: bytes) -> Iterator[Counted]:
    """Comparisons of a number with what the module keeps and the same function lets grow alone."""
    tree = python_tree(content)
    kept = {
        name.id
        for node in (tree.body if tree else ())
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for name in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(name, ast.Name)
    }
    for function in ast.walk(tree) if tree and kept else ():
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            # What the same function also takes from is a queue or a bounded cache. (So narrowed,
            # none is told in 2,500 modules of the standard library and of installed packages.)
            grown = kept & {*_grown(function)} - {*_shrunk(function)}
            for node in ast.walk(function) if grown else ():
                if isinstance(node, ast.Compare) and _counts(node, grown):
                    yield Counted(ast.unparse(node), node.lineno)


def _grown(function: ast.AST) -> Iterator[str]:
    """The names whose values a function lets grow."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=way)) if way in _GROWS:
                yield name
            case ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=name)]):
                yield name
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add()):
                yield name
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name)), op=ast.Add()):
                yield name


def _shrunk(function: ast.AST) -> Iterator[str]:
    """The names whose values a function takes something from, or begins anew."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=way)):
                if way in _SHRINKS:
                    yield name
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case ast.Delete(targets=[ast.Subscript(value=ast.Name(id=name))]):
                yield name


def _counts(node: ast.Compare, grown: set[str]) -> bool:
    sides = [node.left, *node.comparators]
    numbers = [one.value for one in sides if isinstance(one, ast.Constant)]
    if not any(isinstance(one, int) and one >= _LEAST for one in numbers):
        return False
    return any(_count_of(one) in grown for one in sides)


def _count_of(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="len" | "next" | "sum"), args=[ast.Name(id=name)]):
            return name
        case ast.Subscript(value=ast.Name(id=name)):
            return name
    return ""
