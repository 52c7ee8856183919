"""Which acceptance items a test names: by a word such as `A1` in its id, docstring or comment."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from runner.gates.junit import TestResult

_PARAMETERS = re.compile(r"\[.*\]\Z", re.DOTALL)
_COMMENT = ("#", "//", "/*", "*", "--", '"""')
_MARK = "@"
"""A decorator or an attribute; the comment is above it."""


def find_items(
    test: TestResult, files: Mapping[str, bytes], ids: Collection[str]
) -> tuple[str, ...]:
    """Return the acceptance ids that a test names.

    `files` are the held-out files by path, `ids` the acceptance ids of the task.
    """
    text = "\n".join((test.id, *_texts_of(test, files)))
    return tuple(one for one in ids if re.search(rf"(?<![A-Za-z0-9]){one}(?![A-Za-z0-9])", text))


def _texts_of(test: TestResult, files: Mapping[str, bytes]) -> Iterator[str]:
    """Docstring and comment of a test, wherever a held-out file defines it."""
    name = _PARAMETERS.sub("", re.split(r"::| > |\.", test.id)[-1]).strip()
    where = test.id.partition("::")[0], test.file
    chosen = [path for path in files if any(one and one.endswith(path) for one in where)]
    for path in chosen or files if name else ():
        text = files[path].decode("utf-8", "replace")
        lines = text.splitlines()
        if path.endswith(".py"):
            yield from _python_texts(text, lines, name)
            continue
        defined = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        for number, line in enumerate(lines):
            if defined.search(line):
                yield _comment_above(lines, number)


def _python_texts(text: str, lines: Sequence[str], name: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            yield ast.get_docstring(node) or ""
            yield _comment_above(lines, first - 1)


def _comment_above(lines: Sequence[str], number: int) -> str:
    """Return the comment lines directly above a line."""
    found = []
    for line in reversed(lines[:number]):
        bare = line.strip()
        if not bare.startswith((*_COMMENT, _MARK)):
            break
        found.append(bare)
    return "\n".join(reversed(found))
