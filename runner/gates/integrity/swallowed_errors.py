"""New code that catches every exception and does nothing about it: a person is told."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

from runner.gates.integrity.assertions import Weakness
from runner.gates.integrity.c_like_lexer import JAVASCRIPT, line_of, mask_literals
from runner.gates.integrity.python_marks import name_of
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

_BROAD = frozenset({"", "Exception", "BaseException"})
_EMPTY_CATCH = re.compile(r"\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}")
_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts")
_LARGEST = 2_000_000


def weaknesses(path: str, old: bytes | None, new: bytes) -> Iterator[Weakness]:
    """Handlers that swallow everything, more of them than there were before."""
    if len(new) > _LARGEST or not path.endswith((".py", *_SCRIPTS)):
        return
    find = _python if path.endswith(".py") else _script
    before = Counter(code for code, _ in find((old or b"").decode("utf-8", "replace")))
    for code, line in find(new.decode("utf-8", "replace")):
        if before[code]:
            before[code] -= 1
        else:
            yield Weakness(line, f"`{code}` hides every failure", grave=False)


def _python(source: str) -> list[tuple[str, int]]:
    tree = python_tree(source)
    if tree is None:
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and _does_nothing(node.body):
            types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if any((name_of(one) if one else "") in _BROAD for one in types):
                caught = f" {ast.unparse(node.type)}" if node.type else ""
                found.append((f"except{caught}: pass", node.lineno))
    return found


def _does_nothing(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(one, ast.Pass)
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        for one in body
    )


def _script(source: str) -> list[tuple[str, int]]:
    mask = mask_literals(source, JAVASCRIPT)
    return [("catch {}", line_of(source, match.start())) for match in _EMPTY_CATCH.finditer(mask)]
