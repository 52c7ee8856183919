"""Functions of a file: what they are given, what they look at, and the expressions they give."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from runner.gates.mutation.brace_functions import functions
from runner.gates.mutation.languages import language_of
from runner.languages.c_like_lexer import find_closing, line_of, mask_literals, statement_end
from runner.languages.registry import read_code
from runner.lazy_dataclass import dataclass
from runner.text.syntax import blocks_of, python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

_RETURN = re.compile(r"\breturn\b")
_REFUSES = re.compile(r"\bif\s*\([^{};]*\)\s*\{?\s*throw\b[^;}]*;?\s*\}?|\bif\b[^{};]*\{\s*panic\(")
_ALONE = re.compile(
    r"(?:\bfunction\s*\*?\s*[\w$]*|\bfunc\s+\w+(?:\s*\[[^()\n]*\])?|\bfn\s+\w+|=\s*(?:async\s*)?)\s*\Z"
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_FIRST = re.compile(r"\s*(?:\.\.\.)?(?P<name>[A-Za-z_$][\w$]*)")


@dataclass(frozen=True, slots=True)
class Head:
    """A function with a body, and all that can be said of it without running it."""

    name: str
    line: int
    last: int
    parameters: frozenset[str]
    """What it must be given; without the object that a method belongs to."""
    used: frozenset[str]
    """Every word of its body, but for what only decides whether it refuses."""
    refused: frozenset[str]
    """The words of what decides only that."""
    gives: tuple[str, ...]
    """The expressions that it gives; none where one of its ends gives nothing."""
    body: str
    """Without what documents it in Python."""
    is_alone: bool
    """Whether it is no method, which another class may have to write."""


def heads(path: str, content: bytes) -> Iterator[Head]:
    """The functions of a file that nobody else decides the shape of: no handler, no override."""
    code = read_code(path, content)
    if code is None:
        return
    text, literals = code
    if literals is None:
        tree = python_tree(text)
        yield from _of_python(tree.body if tree else [], alone=True)
    else:
        yield from _of_braces(text, _mask(text, literals), language_of(path))


def _mask(text: str, literals: re.Pattern[str]) -> str:
    """The text with words where strings were, so that `=> "…"` has a body, and no comments."""
    kept = literals.sub(lambda match: _fill(match[0]), text)
    return mask_literals(kept, literals)


def _fill(literal: str) -> str:
    return literal if literal.startswith("/") else re.sub(r"[^\n]", "x", literal)


def _of_python(body: list[ast.stmt], *, alone: bool) -> Iterator[Head]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not (node.bases or node.decorator_list):
            yield from _of_python(node.body, alone=False)
        elif isinstance(node, ast.FunctionDef) and not node.decorator_list:
            arguments = node.args
            every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            names = frozenset(one.arg for one in every if not one.arg.startswith("_"))
            used = [*_used(node.body)]
            gives = [one.value for one in _returns(node.body)]
            yield Head(
                node.name,
                node.lineno,
                node.end_lineno or node.lineno,
                names - {"self", "cls"},
                frozenset(used),
                frozenset(_names(node.body)) - frozenset(used),
                tuple(ast.unparse(one) for one in gives if one) if all(gives) else (),
                "\n".join(ast.unparse(one) for one in _undocumented(node)),
                alone,
            )


def _undocumented(node: ast.FunctionDef) -> list[ast.stmt]:
    return node.body[1:] if ast.get_docstring(node, clean=False) else node.body


def _returns(body: list[ast.stmt]) -> Iterator[ast.Return]:
    for node in body:
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for block in blocks_of(node):
                yield from _returns(block)


def _used(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Raise | ast.Assert) or _only_refuses(node):
            continue
        yield from _names([node])


def _names(body: list[ast.stmt]) -> Iterator[str]:
    return (one.id for node in body for one in ast.walk(node) if isinstance(one, ast.Name))


def _only_refuses(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise) and not node.orelse


def _of_braces(text: str, mask: str, language: str) -> Iterator[Head]:
    for one in functions(mask, language):
        name = one.name.rpartition(".")[2]
        head = re.compile(rf"\b{re.escape(name)}\b[^\n()]*?\(")
        opened = [
            match.end() - 1 for match in head.finditer(mask, max(one.start - 400, 0), one.start)
        ]
        if not opened or "{" in mask[opened[-1] : find_closing(mask, opened[-1])]:
            continue  # it takes its values out of an object
        body = text[one.start : one.end + 1]
        used = frozenset(_WORD.findall(_REFUSES.sub(" ", body)))
        given = (
            (body.rstrip("; }\n"),) if one.is_expression else _given(text, mask, one.start, one.end)
        )
        yield Head(
            name,
            line_of(text, opened[-1]),
            line_of(text, max(one.start, one.end - 1)),
            frozenset(_parameters(mask[opened[-1] + 1 : find_closing(mask, opened[-1])])),
            used,
            frozenset(_WORD.findall(body)) - used,
            tuple(given),
            body,
            bool(_ALONE.search(mask[max(opened[-1] - 200, 0) : opened[-1]])),
        )


def _parameters(listed: str) -> Iterator[str]:
    for part in listed.split(","):
        match = _FIRST.match(part)
        if match and not match["name"].startswith("_"):
            yield match["name"]


def _given(text: str, mask: str, start: int, end: int) -> Iterator[str]:
    for match in _RETURN.finditer(mask, start, end):
        yield text[match.end() : statement_end(mask, match.end())].strip()
