"""Where code changes a test tool: puts something in the place of what the tool says or does."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.text.prose import IDENTIFIER

if TYPE_CHECKING:
    from collections.abc import Iterator

_REPLACED = frozenset({"pytest", "_pytest", "unittest", "nose", "nose2", "doctest", "hypothesis"})
_OF_SCRIPTS = (
    r"['\"`](?:node:)?(?:assert(?:/strict)?|test|chai|tape|ava|mocha|vitest|jest|expect|@jest/\w+"
    r"|@vitest/\w+)['\"`]"
)
_BOUND = regex(
    rf"(?:\b(?:const|let|var)\s+(?P<one>\w+|\{{[^}}\n]*\}})\s*=\s*(?:await\s+)?(?:require|import)\(\s*{_OF_SCRIPTS}"
    rf"|\bimport\s+(?P<two>[^;\n]*?)\s+from\s+{_OF_SCRIPTS})"
)
_DIRECT = regex(
    rf"\brequire\(\s*(?P<tool>{_OF_SCRIPTS})\s*\)(?:\.\w+|\[[^\]\n]*\])+\s*=(?![=>])"
    r"|\bprocess\.(?P<ends>reallyExit|exit|abort)\s*=(?![=>])"
)
_WORDS = frozenset({"as", "type", "default", "from"})


class Changes(NamedTuple):
    """One place that does so."""

    name: str
    line: int
    code: str


def in_python(tree: ast.Module) -> Iterator[Changes]:
    """Assignments to, and `setattr` on, what was imported from a test tool."""
    known = dict(_imported(tree))
    if not known:
        return
    for node in ast.walk(tree):
        for target in _changed(node):
            root = _root(target)
            if root in known:
                yield Changes(known[root], target.lineno, ast.unparse(node))


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                tool = one.name.partition(".")[0]
                if tool in _REPLACED:
                    yield one.asname or tool, tool
        elif isinstance(node, ast.ImportFrom) and not node.level:
            tool = (node.module or "").partition(".")[0]
            if tool in _REPLACED:
                for one in node.names:
                    yield one.asname or one.name, tool


def _changed(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            yield from (one for one in targets if isinstance(one, ast.Attribute | ast.Subscript))
        case ast.AugAssign(target=ast.Attribute() as target):
            yield target
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[target, *_]):
            yield target


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def in_script(bare: str) -> Iterator[tuple[int, str]]:
    """Offset and name of each such place of JavaScript and TypeScript, comments taken out."""
    for match in _DIRECT.finditer(bare):
        yield match.start(), (match["tool"] or match["ends"]).strip("'\"`")
    for bound in _BOUND.finditer(bare):
        names = set(IDENTIFIER.findall(bound["one"] or bound["two"])) - _WORDS
        for name in sorted(names):
            changed = re.compile(
                rf"(?<![\w.$])(?:{name}(?:\.\w+|\[[^\]\n]*\])+\s*=(?![=>])"
                rf"|Object\.(?:assign|defineProperty)\(\s*{name}\b)"
            )
            yield from ((match.start(), name) for match in changed.finditer(bare))
