"""Refusals of a function that the plan names: one of everything, and one by another error.

A test that goes on where there was an error, or is content with an error and with none, passes
both: it shows nothing of what comes out, or nothing of the error that the plan names.
"""

from __future__ import annotations

import ast
import re
from textwrap import indent
from typing import TYPE_CHECKING

from runner.gates.mutation.mutants import Mutant
from runner.languages.c_like_lexer import find_closing, line_of, mask_literals
from runner.languages.registry import is_written_in, read_code
from runner.lazy_pattern import regex
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.function_heads import Head

_GO_GUARD = regex(
    r"^\t(?=if\b)if\b(?P<head>[^{}\n]*)\{\s*return\b[^{}]*,\s*(?:err\w*|Err\w*|(?:fmt|errors)\.\w+\([^{}]*)\s*\}",
    re.MULTILINE,
)
_SCRIPT_GUARD = regex(r"^[ \t]*if\s*(?=\()", re.MULTILINE)
_THROWS = regex(r"\s*\{?\s*throw\b")

_ANOTHER_ERROR = """def __erring(f):
    import functools
    def other(g):
        @functools.wraps(g)
        def asked(*a, **k):
            try:
                result = g(*a, **k)
            except Exception as error:
                if "KIND" in [one.__name__ for one in type(error).__mro__]:
                    raise AssertionError("another error comes out") from None
                raise
            return other(result) if type(result).__name__ == "function" else result
        return asked
    return other(f)
@__erring
"""


def another_error(path: str, content: bytes, head: Head, line: int, kind: str) -> Mutant | None:
    """The function, also what it gives to be called, with another error in the place of one."""
    if not is_written_in(path, "python"):
        return None
    lines = content.split(b"\n")
    start = sum(len(one) + 1 for one in lines[: head.line - 1])
    text = _ANOTHER_ERROR.replace("KIND", kind).encode()
    return Mutant(path, head.name, "wrapped", line, start, start, text)


def erring_methods(
    path: str, content: bytes, names: frozenset[str], lines: frozenset[int], kind: str
) -> Iterator[tuple[str, Mutant]]:
    """Methods of these classes that raise one error in these lines, with another one in its place.

    With the name of the class. Where a method only hands on what another one raises is not known.
    """
    tree = python_tree(content) if is_written_in(path, "python") else None
    texts = content.split(b"\n")
    for owner in tree.body if tree else ():
        if not isinstance(owner, ast.ClassDef) or owner.name not in names:
            continue
        for node in owner.body:
            if not isinstance(node, ast.FunctionDef) or node.decorator_list:
                continue
            if raised := [line for line in _raised(node, kind) if line in lines]:
                start = sum(len(one) + 1 for one in texts[: node.lineno - 1])
                text = indent(_ANOTHER_ERROR.replace("KIND", kind), " " * node.col_offset).encode()
                name = f"{owner.name}.{node.name}"
                yield owner.name, Mutant(path, name, "wrapped", raised[0], start, start, text)


def _raised(function: ast.FunctionDef, kind: str) -> Iterator[int]:
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if ast.unparse(raised).rpartition(".")[2] == kind:
                yield node.lineno


def refusing_all(path: str, content: bytes, head: Head) -> Iterator[Mutant]:
    """The function with one of its first guards true of whatever it is given.

    Of guards on the way of every call alone: what no test comes to by a branch may be no fault.
    """
    if is_written_in(path, "python"):
        yield from _in_python(path, content, head)
        return
    text, literals = read_code(path, content) or ("", None)
    if literals is None:
        return
    mask = mask_literals(text, literals)
    guards = _of_go(mask) if is_written_in(path, "go") else _of_script(mask)
    for start, end in guards:
        line = line_of(text, start)
        if head.line < line <= head.last and text[start:end].strip():
            first = len(text[:start].encode())
            last = first + len(text[start:end].encode())
            new = f" true || ({text[start:end].strip()}) ".encode()
            yield Mutant(path, head.name, "refusal", line, first, last, new)


def _in_python(path: str, content: bytes, head: Head) -> Iterator[Mutant]:
    tree = python_tree(content)
    starts = [0]
    for line in content.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    for node in tree.body if tree else ():
        if not isinstance(node, ast.FunctionDef) or node.lineno != head.line:
            continue
        for one in node.body:
            if isinstance(one, ast.If) and isinstance(one.body[-1], ast.Raise) and not one.orelse:
                test = one.test
                start = starts[test.lineno - 1] + test.col_offset
                end = starts[(test.end_lineno or test.lineno) - 1] + (test.end_col_offset or 0)
                new = b"True or (" + content[start:end] + b")"
                yield Mutant(path, head.name, "refusal", test.lineno, start, end, new)


def _of_go(mask: str) -> Iterator[tuple[int, int]]:
    for match in _GO_GUARD.finditer(mask):
        start, end = match.span("head")
        semicolon = mask.rfind(";", start, end)
        yield (start if semicolon < 0 else semicolon + 1), end


def _of_script(mask: str) -> Iterator[tuple[int, int]]:
    for match in _SCRIPT_GUARD.finditer(mask):
        end = find_closing(mask, match.end())
        if _THROWS.match(mask, end + 1) and not _is_inside(mask, match.start()):
            yield match.end() + 1, end


def _is_inside(mask: str, at: int) -> bool:
    """Whether a place stands deeper than in the body of a function of the file."""
    return mask.count("{", 0, at) - mask.count("}", 0, at) > 1
