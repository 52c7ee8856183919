"""Generate mutants: small code changes, by `ast` for Python and by tree-sitter otherwise."""

from __future__ import annotations

import ast
import re
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from runner.gates.coverage.lines import find_added_lines
from runner.gates.mutation.function_bodies import find_changed_functions, line_starts
from runner.model import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node

    from runner.gates.mutation.function_bodies import FunctionBody
    from runner.model import Change

_PAIRS = "< <= <= < > >= >= > == != != == === !== !== === + - - + * / / * // * % * && || || &&"
_SWAPPED = f"{_PAIRS} and or or and".split()
OPERATORS = dict(zip(_SWAPPED[::2], _SWAPPED[1::2], strict=True))
_CONDITIONS = frozenset(
    {"if_statement", "while_statement", "ternary_expression", "if_expression", "while_expression"}
)
_NUMBERS = frozenset({"number", "int_literal", "integer_literal", "float_literal"})
_FLIPPED = {"true": "false", "false": "true", "True": "False", "False": "True"}
_NUMBER = re.compile(r"\d[\d_]*(?:\.\d+)?")
_CALLS = frozenset({"call_expression", "macro_invocation"})
_NO_CODE = frozenset({"type_annotation", "type_arguments", "attribute_item", "let_condition"})

_TELLING = re.compile(
    r"(?:\A|\.)_?(?:log|logs|logger|logging|LOG|LOGGER|warnings|console|slog|tracing|glog|klog)\."
    r"|\A(?:print|pprint|warn|println!?|eprintln!?|debug!|info!|warn!|error!|trace!|fmt\.Print\w*)\Z"
    r"|\Asys\.std(?:out|err)\.|\Aos\.Std(?:out|err)\."
)

Place: TypeAlias = "tuple[int, int, str]"
"""Byte range of a file and the replacement text."""


class SmallChange(Struct, frozen=True):
    """One change to one place of a function."""

    path: str
    function: str
    line: int
    start: int
    end: int
    """End of the replaced bytes (exclusive); `start` is the first."""
    text: bytes

    def apply_to(self, content: bytes) -> bytes:
        """Return the file with the mutation applied."""
        return content[: self.start] + self.text + content[self.end :]

    def apply_to_all(self, changes: Iterable[Change]) -> tuple[Change, ...]:
        """Return the task's changes with the mutation applied to its file."""
        return tuple(
            replace(one, content=(new := self.apply_to(one.content or b"")), after=digest_of(new))
            if one.path == self.path
            else one
            for one in changes
        )


def find_small_changes(path: str, before: bytes | None, after: bytes) -> Iterator[SmallChange]:
    """Yield mutations of the changed functions, alternating between the functions.

    Those of the lines that it added come first: the others may be older than the task.
    """
    found = find_changed_functions(path, before, after)
    added = find_added_lines(before, after)
    made = (
        sorted(_of_function(path, one, after), key=lambda change: change.line not in added)
        for one in found
    )
    rows = zip_longest(*made)
    seen: set[int] = set()  # functions may stand in each other
    for one in chain.from_iterable(rows):
        if one is not None and one.start not in seen:
            seen.add(one.start)
            yield one


def _of_function(path: str, function: FunctionBody, content: bytes) -> Iterator[SmallChange]:
    seen: set[int] = set()
    if isinstance(function.syntax, ast.AST):
        places = _of_python(function.syntax, content)
    else:
        places = _of_nodes(function.syntax)
    for start, end, text in places:
        line = content.count(b"\n", 0, start) + 1
        if line in seen or content[start:end] == text.encode():
            continue  # one of a line
        seen.add(line)
        yield SmallChange(path, function.name, line, start, end, text.encode())


# --- tree-sitter ----------------------------------------------------------------------


def _of_nodes(root: Node) -> Iterator[Place]:
    left = [root]
    while left:
        node = left.pop()
        if node.type in _NO_CODE or (node.type in _CALLS and _tells(node)):
            continue
        yield from _of_node(node)
        left += reversed(node.children)


def is_logging_call(name: str) -> bool:
    """Return whether a call of this dotted name only logs, prints or warns."""
    return bool(_TELLING.search(name))


def _tells(node: Node) -> bool:
    called = node.child_by_field_name("function") or node.child_by_field_name("macro")
    return called is not None and is_logging_call((called.text or b"").decode("utf-8", "replace"))


def _of_node(node: Node) -> Iterator[Place]:
    text = (node.text or b"").decode("utf-8", "replace")
    condition = node.child_by_field_name("condition") if node.type in _CONDITIONS else None
    if condition is not None and condition.type not in _NO_CODE:
        inner = (condition.text or b"").decode("utf-8", "replace")
        closed = condition.type == "parenthesized_expression"
        negated = f"(!{inner})" if closed else f"!({inner})"
        yield condition.start_byte, condition.end_byte, negated
    operator = node.child_by_field_name("operator") if node.type == "binary_expression" else None
    if operator is not None and operator.type in OPERATORS:
        yield operator.start_byte, operator.end_byte, OPERATORS[operator.type]
    if node.type in _NUMBERS and _NUMBER.fullmatch(text):
        yield node.start_byte, node.end_byte, f"({text} + 1)"
    if not node.named_children and text in _FLIPPED and "string" not in node.type:
        yield node.start_byte, node.end_byte, _FLIPPED[text]


# --- Python ---------------------------------------------------------------------------

_TYPES = ("Lt", "LtE", "Gt", "GtE", "Eq", "NotEq", "Add", "Sub", "Mult", "Div", "FloorDiv", "Mod")
_TEXTS = ("<", "<=", ">", ">=", "==", "!=", "+", "-", "*", "/", "//", "%")
_SIGNS = dict(zip(_TYPES, _TEXTS, strict=True)) | {"And": "and", "Or": "or"}


class _PythonFile(Struct, frozen=True):
    content: bytes
    starts: list[int]

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Return the byte range of an expression."""
        last, column = node.end_lineno or node.lineno, node.end_col_offset or 0
        first = self.starts[node.lineno - 1] + node.col_offset
        return first, self.starts[last - 1] + column

    def between(self, one: ast.expr, sign: ast.AST, other: ast.expr) -> Iterator[Place]:
        """Yield the place of the operator between two operands."""
        text = _SIGNS.get(type(sign).__name__, "")
        first, last = self.span(one)[1], self.span(other)[0]
        at = self.content.find(text.encode(), first, last) if text else -1
        if at >= 0 and b"#" not in self.content[first:last]:
            yield at, at + len(text), OPERATORS[text]


def _of_python(root: ast.AST, content: bytes) -> Iterator[Place]:
    file = _PythonFile(content, line_starts(content))
    left = [root]
    while left:
        node = left.pop()
        if isinstance(node, ast.Call) and is_logging_call(ast.unparse(node.func)):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.JoinedStr):  # before Python 3.12 its places are not those of bytes
            continue
        yield from _of_python_node(node, file)
        left += reversed(
            [
                child
                for field, value in ast.iter_fields(node)
                if field not in ("annotation", "returns", "decorator_list")
                for child in (value if isinstance(value, list) else [value])
                if isinstance(child, ast.AST)
            ]
        )


def _of_python_node(node: ast.AST, file: _PythonFile) -> Iterator[Place]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            start, end = file.span(test)
            yield start, end, f"(not ({file.content[start:end].decode()}))"
        case ast.Compare(left=one, ops=[sign], comparators=[other]):
            yield from file.between(one, sign, other)
        case ast.BinOp(left=one, op=sign, right=other):
            yield from file.between(one, sign, other)
        case ast.BoolOp(op=sign, values=[one, other, *_]):
            yield from file.between(one, sign, other)
        case ast.Constant(value=bool(value)):
            yield *file.span(node), str(not value)
        case ast.Constant(value=int() | float()):
            start, end = file.span(node)
            yield start, end, f"({file.content[start:end].decode()} + 1)"
        case ast.Constant(value=str(value)) if value and file.content[file.span(node)[0]] in b"'\"":
            yield *file.span(node), "''"
        case _:
            pass
