"""Parse names: the acceptance items of a test, and held-out files that a change mentions."""

from __future__ import annotations

import ast
import re
from posixpath import basename
from typing import TYPE_CHECKING

from runner.model import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from runner.gates.junit import TestResult
    from runner.model import Change

_PARAMETERS = re.compile(r"\[.*\]\Z", re.DOTALL)
_COMMENT = ("#", "//", "/*", "*", "--", '"""')
_MARK = "@"
"""Start of a decorator or an attribute; the comment is above it."""


def find_items(
    test: TestResult, files: Mapping[str, bytes], ids: Collection[str]
) -> tuple[str, ...]:
    """Return the acceptance ids that a test names by a word in its id, docstring or comment.

    `files` are the held-out files by path, `ids` the acceptance ids of the task.
    """
    text = "\n".join((test.id, *_texts_of(test, files)))
    return tuple(one for one in ids if re.search(rf"(?<![A-Za-z0-9]){one}(?![A-Za-z0-9])", text))


def _texts_of(test: TestResult, files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield docstring and comment of a test from the held-out files that define it."""
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


# --- names of held-out files ----------------------------------------------------------


def find_names(
    changes: Sequence[Change],
    before: Callable[[str], bytes | None],
    held: Collection[str],
    files: Collection[str],
) -> Iterator[Finding]:
    """Return a finding for each change whose added lines name a held-out file.

    Such code could treat these tests in a special way.
    `held` are the paths of held-out files, `files` all other paths of the proposal. A base name
    counts only where no other file has it.
    """
    taken = {basename(path) for path in files}
    words = {path: path for path in held}
    words |= {basename(path): path for path in held if basename(path) not in taken}
    for change in changes:
        added = _added_lines(before(change.path), change.content)
        found = next((path for word, path in words.items() if _has_word(added, word)), "")
        if found:
            yield Finding(
                check="scope",
                message=f"an added line names the held-out file {found}",
                path=change.path,
                hint="remove the name; the work must not depend on a particular test file",
            )


def _added_lines(before: bytes | None, after: bytes | None) -> str:
    known = set((before or b"").splitlines())
    added = (line for line in (after or b"").splitlines() if line not in known)
    return b"\n".join(added).decode("utf-8", "replace")


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None
