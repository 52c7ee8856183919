"""Mutants of Python code: places told by its syntax tree, changed in its bytes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeAlias

from runner.gates.mutation.mutants import Mutant, only_tells
from runner.gates.mutation.python_places import expressions, statements
from runner.lazy_dataclass import dataclass
from runner.text.syntax import blocks_of, python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.mutation.python_places import Edit

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_SHOWING = frozenset({"__repr__", "__str__", "__rich_repr__", "__format__", "__dir__", "__del__"})
"""Methods whose words are for people."""
_TYPING = frozenset({"overload", "abstractmethod"})
KINDS = (
    *("returned value", "condition", "arithmetic", "operand", "comparison", "constant"),
    *("call", "argument", "assigned value", "loop", "raise", "statement"),
    *("empty result", "no result"),
)
"""In the order of trying: what keeps types first, what makes code crash later, and last what
stands in where a function has too few places of other kinds."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file with its syntax tree."""

    path: str
    content: bytes
    tree: ast.Module
    starts: tuple[int, ...]
    """The offset of each line; the syntax tree counts columns in bytes."""

    def at(self, line: int, column: int) -> int:
        """The offset of a place."""
        return self.starts[line - 1] + column


def python_mutants(
    path: str, content: bytes, own: frozenset[int], ran: frozenset[int]
) -> tuple[Mutant, ...]:
    """Every mutant of lines that are the task's own and that a test ran; kinds in their order.

    None of code that is not UTF-8, of what stands outside of functions, of docstrings, types,
    plain text and of what logs or prints.
    """
    source = source_of(path, content)
    if source is None:
        return ()
    found: list[Mutant] = []
    for name, function in functions_of(source.tree.body, ""):
        for statement in statements_of(function.body):
            lines = _lines(statement)
            if lines & own and lines & ran:
                for edit in (*statements(statement), *expressions(statement)):
                    found += _make_mutant(edit, name, source, own)
    found.sort(key=lambda one: KINDS.index(one.kind))
    return tuple(found)


def source_of(path: str, content: bytes) -> SourceText | None:
    """A file with its tree; None where the tree's lines would not be those of the bytes."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    tree = python_tree(text)
    if tree is None or text.startswith("\ufeff") or "\f" in text or "\r" in text:
        return None
    return SourceText(path, content, tree, _starts(content))


def _starts(content: bytes) -> tuple[int, ...]:
    starts = [0]
    for line in content.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    return tuple(starts)


def _make_mutant(
    edit: Edit, name: str, source: SourceText, own: frozenset[int]
) -> Iterator[Mutant]:
    """The mutant of an edit, where it stands on an own line and what comes out is code."""
    if edit.node.lineno not in own:
        return
    start = source.at(*edit.begin)
    end = source.at(*edit.end)
    text = edit.text(source.content[start:end])
    if text is None or text == source.content[start:end]:
        return
    mutant = Mutant(source.path, name, edit.kind, edit.node.lineno, start, end, text)
    if python_tree(mutant.apply_to(source.content).decode("utf-8", "replace")) is not None:
        yield mutant


def functions_of(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Function]]:
    """Every function whose behaviour a test could notice, by its dotted name."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name not in _SHOWING and not _is_only_typed(node):
                yield prefix + node.name, node
                yield from functions_of(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.ClassDef):
            yield from functions_of(node.body, f"{prefix}{node.name}.")
        else:
            for inner in blocks_of(node):
                yield from functions_of(inner, prefix)


def _is_only_typed(node: Function) -> bool:
    names = (ast.unparse(one).rpartition(".")[2] for one in node.decorator_list)
    return any(name in _TYPING for name in names)


def statements_of(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one function, without those of functions and classes inside of it."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if not _only_tells(node):
            yield node
        for inner in blocks_of(node):
            yield from statements_of(inner)


def _only_tells(node: ast.stmt) -> bool:
    """Docstrings and text alone, logging, assertions and what is there for type checkers."""
    if isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Constant):
            return True
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        return isinstance(call, ast.Call) and only_tells(ast.unparse(call.func))
    if isinstance(node, ast.If):
        return ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING"
    left_out = (ast.Assert, ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)
    return isinstance(node, left_out)


def _lines(node: ast.stmt) -> frozenset[int]:
    """The lines of a statement; of one with a body those of its head alone."""
    last = node.end_lineno or node.lineno
    for inner in blocks_of(node):
        if inner:
            last = max(node.lineno, min(last, inner[0].lineno - 1))
    return frozenset(range(node.lineno, last + 1))
