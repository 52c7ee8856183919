"""The functions that a task wrote, with the text of each: those of a size that says something."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.gates.mutation.brace_functions import functions
from runner.gates.mutation.languages import language_of
from runner.languages.c_like_lexer import line_of, mask_literals
from runner.languages.registry import code_language
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Written:
    """A function as it stands in a file."""

    path: str
    name: str
    line: int
    last: int
    body: str
    """Without its head, and in Python without what documents it."""


def functions_in(path: str, content: bytes) -> Iterator[Written]:
    """Every function of a file with a body, in languages that are read here."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return
    language = code_language(path)
    if language is None:
        return
    if language.literals is None:
        yield from _of_python(path, text)
    else:
        mask = mask_literals(text, language.literals)
        for one in functions(mask, language_of(path)):
            first, last = line_of(text, one.start), line_of(text, max(one.start, one.end - 1))
            yield Written(path, one.name, first, last, text[one.start : one.end + 1])


def _of_python(path: str, text: str) -> Iterator[Written]:
    tree = python_tree(text)
    lines = text.split("\n")
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node, clean=False) else node.body
            if body and node.end_lineno:
                inside = "\n".join(lines[body[0].lineno - 1 : node.end_lineno])
                yield Written(path, node.name, node.lineno, node.end_lineno, inside)
