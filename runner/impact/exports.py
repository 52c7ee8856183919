"""What a file offers to others: its public names and signatures, as text that can be compared.

None where that cannot be read: then it counts as changed.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from runner.impact.javascript import SUFFIXES
from runner.impact.python_blocks import parse_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def find_exports(path: str, content: bytes) -> tuple[str, ...] | None:
    """The declarations that others can use, in a fixed order; comments and bodies left out."""
    for suffixes, read in _READERS:
        if path.endswith(suffixes):
            try:
                found = read(path, content)
            except RecursionError:
                return None
            return None if found is None else tuple(sorted(found))
    return None


# --- Python -------------------------------------------------------------------------------


def _python(path: str, content: bytes) -> list[str] | None:
    tree = parse_python(content)
    if tree is None:
        return None
    listed = _names_in_all(tree)
    names_all = path.endswith("__init__.py")
    return [
        line for one in tree.body for line in _find_declarations(one, listed, imports=names_all)
    ]


def _names_in_all(tree: ast.Module) -> frozenset[str] | None:
    """The names in `__all__`; None where there is none, or it is made at run time."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            try:
                return frozenset(map(str, ast.literal_eval(node.value)))
            except (ValueError, TypeError):
                return None
    return None


def _find_declarations(
    node: ast.stmt, listed: frozenset[str] | None, *, imports: bool
) -> Iterator[str]:
    """What one statement offers; those under conditions count with their condition."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            if _is_public(name, listed):
                yield from _definition(node, "")
        case ast.Import(names) | ast.ImportFrom(names=names):
            source = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for alias in names:
                name = alias.asname or alias.name
                again = imports or alias.asname == alias.name or name == "*"
                if (again and _is_public(name, listed)) or (listed and name in listed):
                    yield f"import {source} {alias.name} as {name}"
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            if any(_is_public(name, listed) for name in _targets(node)):
                yield ast.unparse(node)
        case ast.Expr(ast.Constant(str())):
            return
        case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While() | ast.Match():
            yield _without_bodies(node)
        case _:
            yield ast.unparse(node)


def _is_public(name: str, listed: frozenset[str] | None) -> bool:
    if listed is not None and name in listed:
        return True
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        for one in ast.walk(target):
            if isinstance(one, ast.Name):
                yield one.id
            elif isinstance(one, ast.Attribute):
                yield one.attr


def _definition(node: ast.stmt, inside: str) -> Iterator[str]:
    """A function's signature, or a class's with those of its members; private ones left out."""
    if isinstance(node, ast.ClassDef):
        name = f"{inside}{node.name}"
        decorators = " ".join(f"@{ast.unparse(one)}" for one in node.decorator_list)
        bases = ", ".join(map(ast.unparse, (*node.bases, *node.keywords)))
        yield f"{decorators} class {name}({bases})"
        for member in node.body:
            yield from _member(member, f"{name}.")
    else:
        yield inside + _without_bodies(node)


def _member(node: ast.stmt, inside: str) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            if _is_public(name, None):
                yield from _definition(node, inside)
        case ast.Assign() | ast.AnnAssign():
            if any(_is_public(name, None) for name in _targets(node)):
                yield inside + ast.unparse(node)
        case ast.Expr(ast.Constant()) | ast.Pass():
            return
        case _:
            yield inside + ast.unparse(node)


class _Headers(ast.NodeTransformer):
    """Leaves of every function the line that declares it."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [ast.Expr(ast.Constant(...))]
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.body = [ast.Expr(ast.Constant(...))]
        return node


def _without_bodies(node: ast.stmt) -> str:
    visited = _Headers().visit(node)
    assert isinstance(visited, ast.stmt)
    return ast.unparse(visited)


# --- languages with braces ----------------------------------------------------------------

_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`"
    r"|'(?:\\.|[^'\\\n])*')|(?P<open>[{(\[])|(?P<close>[})\]])|(?P<end>;)|(?P<line>\n)"
    r"|(?P<word>[\w$#@]+)|(?P<other>[^\w\s])",
    re.DOTALL,
)
_CLOSES_ITSELF = re.compile(r"(?:[,.=+\-*/&|?:<(\[{]|=>|\bextends|\bof|\bin)\Z")


def _statements(content: bytes, *, by_line: bool) -> list[list[str]]:
    """The statements at the top of a file as words, comments left out, braces with what is inside.

    `by_line`: a line's end ends a statement that could end there.
    """
    found: list[list[str]] = []
    words: list[str] = []
    depth = 0
    for match in _TOKEN.finditer(content.decode("utf-8", "replace")):
        kind, said = match.lastgroup, match[0]
        if kind == "comment":
            continue
        depth += (kind == "open") - (kind == "close")
        if kind != "line":
            words.append(said)
        ended = kind == "end" or (kind == "close" and said == "}")
        if kind == "line" and by_line and words:
            ended = not _CLOSES_ITSELF.search(words[-1])
        if ended and depth <= 0 and words:
            found.append(words)
            words, depth = [], 0
    return [*found, words] if words else found


def _header(words: Sequence[str]) -> str:
    """A declaration up to its body."""
    depth = 0
    for at, word in enumerate(words):
        depth += (word in "([") - (word in ")]")
        if word == "{" and depth <= 0:
            return " ".join(words[:at])
    return " ".join(words)


_FUNCTION = re.compile(r"export (?:default )?(?:async )?function\b")


def _javascript(path: str, content: bytes) -> list[str] | None:
    """Exports of ECMAScript modules; a file that exports otherwise counts as a whole."""
    del path
    found = []
    statements = _statements(content, by_line=True)
    for words in statements:
        said = " ".join(words)
        if words[0] == "export":
            found.append(_header(words) if _FUNCTION.match(said) else said)
        elif re.search(r"\bmodule \. exports\b|\bexports \. \w|\bexports \[", said):
            return [" ".join(word for one in statements for word in one)]
    return found


def _go(path: str, content: bytes) -> list[str] | None:
    """Exported names of a Go file: those that begin with a capital (Go specification)."""
    del path
    found = []
    for words in _statements(content, by_line=True):
        kind = words[0]
        if kind == "func":
            name = words[words.index(")") + 1] if words[1] == "(" and ")" in words else words[1]
            if name[:1].isupper():
                found.append(_header(words))
        elif kind in ("type", "var", "const") and any(word[:1].isupper() for word in words[1:]):
            found.append(" ".join(words))
    return found


def _rust(path: str, content: bytes) -> list[str] | None:
    """Public items of a Rust file, with those of its implementations."""
    del path
    found = []
    for words in _statements(content, by_line=False):
        said = " ".join(words)
        if words[0] in ("impl", "trait", "unsafe", "mod", "macro_rules", "#"):
            found.append(said if "fn" not in words else " ".join(_signatures(words)))
        elif words[0] == "pub":
            found.append(_header(words) if "fn" in words[:8] else said)
    return found


def _signatures(words: Sequence[str]) -> Iterator[str]:
    """The words of an implementation without the bodies of its functions."""
    depth, skipping, in_function = 0, 0, False
    for word in words:
        in_function = in_function or word == "fn"
        depth += (word == "{") - (word == "}")
        if word == "{" and in_function and not skipping:
            skipping = depth
        if not skipping:
            yield word
        if word == "}" and skipping and depth < skipping:
            skipping, in_function = 0, False
        elif word == ";" and not skipping:
            in_function = False


_READERS: tuple[tuple[tuple[str, ...], Callable[[str, bytes], list[str] | None]], ...] = (
    ((".py", ".pyi"), _python),
    (SUFFIXES[:8], _javascript),
    ((".go",), _go),
    ((".rs",), _rust),
)
