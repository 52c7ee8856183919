"""Split a Python file into blocks: the module, and the body of each function.

As pytest-testmon does it (its `process_code.py`): who never ran a function's body is not affected
by a change of it. A block is compared by its syntax tree, so comments and layout do not count.
What is evaluated where a function is defined (decorators, defaults, annotations, and its docstring,
which others read) belongs to the block around it; so do class bodies and lambdas.

Line numbers as compact ranges: `1-5,9`.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from runner.languages.registry import is_written_in
from runner.text.python_syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.impact.change import Changed


Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
_MODULE = ("", 0)
_YIELDS = (ast.Yield, ast.YieldFrom)


class CodeBlock(Struct, frozen=True):
    """One block: the lines it spans, those of blocks inside it among them, and what it says."""

    first: int
    last: int
    text: str
    """Its syntax tree without positions and without the bodies of nested functions."""


Key: TypeAlias = "tuple[str, int]"
"""Name of a block with its enclosing names, and its index among blocks of that name."""


def is_quiet(change: Changed) -> bool:
    """Return whether a change of a Python file only affects comments and layout."""
    if not change.is_edited or not is_written_in(change.path, "python"):
        return False
    return find_changed_blocks(change.before or b"", change.after or b"") == ()


def parse_python(content: bytes) -> ast.Module | None:
    """Parse a Python file; return None if the syntax is not supported."""
    return python_tree(content)


@lru_cache(maxsize=64)
def blocks_of(content: bytes) -> dict[Key, CodeBlock] | None:
    """Return the blocks of a Python file by name; None if it cannot be parsed."""
    tree = parse_python(content)
    if tree is None:
        return None
    found: dict[Key, CodeBlock] = {}
    try:
        _take_apart(tree, found)
    except RecursionError:
        return None
    return found


def find_changed_blocks(before: bytes, after: bytes) -> tuple[CodeBlock, ...] | None:
    """Return the blocks of `before` that `after` changes or removes; None if undecidable.

    An empty tuple: whatever runs the file does not see the difference.
    """
    old, new = blocks_of(before), blocks_of(after)
    if old is None or new is None:
        return None
    return tuple(
        block for key, block in old.items() if key not in new or new[key].text != block.text
    )


def runs(block: CodeBlock, spans: Sequence[tuple[int, int]], others: Sequence[CodeBlock]) -> bool:
    """Return whether executed lines are in a block itself, not only in its inner blocks.

    `others` are all the file's blocks. The first block, the module, is run by all that run any.
    """
    if block.first == 0:
        return True
    inner = [one for one in others if _inside(one, block)]
    return any(
        max(start, block.first) <= min(end, block.last) and not _is_hidden(start, end, block, inner)
        for start, end in spans
    )


def _inside(one: CodeBlock, block: CodeBlock) -> bool:
    """Return whether a block is nested in another one and starts on a later line."""
    return one is not block and one.first > block.first and one.last <= block.last


def _is_hidden(start: int, end: int, block: CodeBlock, inner: Sequence[CodeBlock]) -> bool:
    """Return whether all executed lines of a range belong to inner blocks."""
    lines = range(max(start, block.first), min(end, block.last) + 1)
    return all(any(one.first <= line <= one.last for one in inner) for line in lines)


# --- taking apart -------------------------------------------------------------------------


def _take_apart(tree: ast.Module, found: dict[Key, CodeBlock]) -> None:
    """Fill in all blocks; the tree's functions lose their bodies on the way."""
    for (name, number), function in list_functions(tree):
        body = body_of(function)
        # visible to a caller without running it: whether it has a body, whether it is a generator
        outside = f"{name} {number} {bool(body)} {is_generator(body)}"
        if body:
            dump = _dump(ast.Module(body, []))
            found[name, number] = CodeBlock(_first_line(body[0]), function.end_lineno or 0, dump)
        function.body = function.body[: len(function.body) - len(body)]
        function.body.append(ast.Expr(ast.Constant(outside)))
    found[_MODULE] = CodeBlock(0, 0, _dump(tree))


def list_functions(tree: ast.Module) -> list[tuple[Key, Function]]:
    """Return every function with the key of its block, the inner ones first."""
    counts: Counter[str] = Counter()
    found = []
    for name, function in _functions(tree, ""):
        found.append(((name, counts[name]), function))
        counts[name] += 1
    return found


def _functions(node: ast.AST, name: str) -> Iterator[tuple[str, Function]]:
    """Yield every function below a node, the inner ones first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = f"{name}.{child.name}"
            yield from _functions(child, inside)
            yield inside, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{name}.{child.name}")
        else:
            yield from _functions(child, name)


def body_of(function: Function) -> list[ast.stmt]:
    """Return the statements of a function without its docstring."""
    first = function.body[0]
    match first:
        case ast.Expr(ast.Constant(str())):
            return function.body[1:]
        case _:
            return function.body


def _first_line(statement: ast.stmt) -> int:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return min([statement.lineno, *(one.lineno for one in statement.decorator_list)])
    return statement.lineno


def is_generator(body: Sequence[ast.stmt]) -> bool:
    """Return whether a function body has a `yield`, so that a call does not run it yet."""
    left: list[ast.AST] = list(body)
    while left:
        node = left.pop()
        if isinstance(node, _YIELDS):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            left.extend(ast.iter_child_nodes(node))
    return False


def _dump(tree: ast.Module) -> str:
    return ast.dump(tree, include_attributes=False)


# --- ranges ---------------------------------------------------------------------------


def ranges_of(lines: Iterable[int]) -> str:
    """Format lines as ranges: `{1, 2, 3, 9}` as `1-3,9`."""
    spans: list[list[int]] = []
    for line in sorted(set(lines)):
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ",".join(f"{start}-{end}" if end > start else f"{start}" for start, end in spans)


def spans_in(ranges: str) -> tuple[tuple[int, int], ...]:
    """Parse ranges to pairs of first and last line. Raises ValueError for an invalid range."""
    found = []
    for part in filter(None, ranges.split(",")):
        start, _, end = part.partition("-")
        found.append((int(start), int(end or start)))
    return tuple(found)
