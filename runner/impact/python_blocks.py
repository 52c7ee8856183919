"""A Python file cut into blocks: the module, and the body of each function.

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

from runner.languages.registry import is_written_in
from runner.lazy_dataclass import dataclass
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.impact.change import Changed


Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
_MODULE = ("", 0)
_YIELDS = (ast.Yield, ast.YieldFrom)


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One block: the lines it spans, those of blocks inside it among them, and what it says."""

    first: int
    last: int
    text: str
    """Its syntax tree without positions and without the bodies of functions in it."""


Key: TypeAlias = "tuple[str, int]"
"""Name of a block with the names around it, and which one of that name it is."""


def is_quiet(change: Changed) -> bool:
    """Whether nothing changes for who runs a Python file: comments and layout alone."""
    if not change.is_edited or not is_written_in(change.path, "python"):
        return False
    return find_changed_blocks(change.before or b"", change.after or b"") == ()


def parse_python(content: bytes) -> ast.Module | None:
    """The syntax tree of a Python file; None for what this Python cannot read."""
    return python_tree(content)


@lru_cache(maxsize=64)
def blocks_of(content: bytes) -> dict[Key, CodeBlock] | None:
    """The blocks of a Python file by their names; None for what cannot be parsed."""
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
    """The blocks of `before` that `after` has otherwise or not at all; None for not decidable.

    An empty tuple: whatever runs the file does not see the difference.
    """
    old, new = blocks_of(before), blocks_of(after)
    if old is None or new is None:
        return None
    return tuple(
        block for key, block in old.items() if key not in new or new[key].text != block.text
    )


def runs(block: CodeBlock, spans: Sequence[tuple[int, int]], others: Sequence[CodeBlock]) -> bool:
    """Whether executed lines lie in a block of a file and not only in blocks inside of it.

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
    """Whether a block stands on lines of its own inside another one."""
    return one is not block and one.first > block.first and one.last <= block.last


def _is_hidden(start: int, end: int, block: CodeBlock, inner: Sequence[CodeBlock]) -> bool:
    """Whether every executed line here belongs to a block inside."""
    lines = range(max(start, block.first), min(end, block.last) + 1)
    return all(any(one.first <= line <= one.last for one in inner) for line in lines)


# --- taking apart -------------------------------------------------------------------------


def _take_apart(tree: ast.Module, found: dict[Key, CodeBlock]) -> None:
    """Fill in all blocks; the tree's functions lose their bodies on the way."""
    for (name, number), function in list_functions(tree):
        body = body_of(function)
        # what a caller sees without running a line of it: whether there is any, whether it waits
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
    """Every function below a node, the inner ones first."""
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
    """The statements of a function without its docstring."""
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
    """Whether calling the function runs nothing of it yet."""
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
    """`{1, 2, 3, 9}` as `1-3,9`."""
    spans: list[list[int]] = []
    for line in sorted(set(lines)):
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ",".join(f"{start}-{end}" if end > start else f"{start}" for start, end in spans)


def spans_in(ranges: str) -> tuple[tuple[int, int], ...]:
    """First and last line of each range. Raises ValueError for what is none."""
    found = []
    for part in filter(None, ranges.split(",")):
        start, _, end = part.partition("-")
        found.append((int(start), int(end or start)))
    return tuple(found)
