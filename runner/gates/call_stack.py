"""Where code decides by who calls it: the call stack, read in a condition or on the way to one.

Code that only tells where it was called from, such as a logger, decides nothing.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

_FRAMES = frozenset(
    {
        "_getframe",
        "_getframemodulename",
        "_current_frames",
        "currentframe",
        "getouterframes",
        "extract_stack",
        "format_stack",
        "walk_stack",
    }
)
_OWN = frozenset({"__file__", "__name__"})
"""What a walk past one's own frames compares with."""
_LOOKS = frozenset({"startswith", "endswith", "match", "search", "fullmatch", "find", "count"})
_GIVEN = 400
"""Letters within which a function gives the stack that it reads."""
_NEAR = 40
"""Lines behind which a name of a language with braces is another one."""


class Decides(NamedTuple):
    """One condition on the call stack."""

    line: int
    code: str


# --- Python ---------------------------------------------------------------------------


def in_python(tree: ast.Module) -> Iterator[Decides]:
    """Conditions that use a value of the call stack, function by function."""
    if not any(_reads(node) for node in ast.walk(tree)):
        return
    scopes = [tree, *(one for one in ast.walk(tree) if _is_function(one))]
    for scope in scopes:
        yield from _in_scope(scope)


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))


def _in_scope(scope: ast.AST) -> Iterator[Decides]:
    nodes = [*_of_scope(scope)]
    names: set[str] = set()
    # Until nothing more comes: in a loop a name may be used above the line that binds it.
    while True:
        more = {name for node in nodes for name in _find_assigned_names(node, names)} - names
        if not more:
            break
        names |= more
    if not names and not any(_reads(node) for node in nodes):
        return
    for node in nodes:
        if isinstance(node, ast.expr) and _decides(node, names):
            yield Decides(node.lineno, ast.unparse(node))


def _of_scope(scope: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(scope):
        yield node
        if not _is_function(node):
            yield from _of_scope(node)


def _find_assigned_names(node: ast.AST, names: set[str]) -> Iterator[str]:
    """The names that a statement gives a value of the call stack to."""
    match node:
        case ast.Assign(targets=targets, value=value):
            pass
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
        ):
            targets = [target]
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            targets = [target]
        case _:
            return
    if _is_of_stack(value, names):
        for target in targets:
            bound = (ast.walk(target),)
            yield from (one.id for each in bound for one in each if isinstance(one, ast.Name))


def _is_of_stack(node: ast.AST, names: set[str]) -> bool:
    return any(
        _reads(one) or (isinstance(one, ast.Name) and one.id in names) for one in ast.walk(node)
    )


def _reads(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Attribute(value=ast.Name(id="inspect"), attr="stack"):
            return True
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in _FRAMES
    return False


def _decides(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression compares what the stack says; that there is a frame says nothing."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [left, *others]
            if all(isinstance(op, (ast.Is, ast.IsNot)) for op in ops):
                return False
            if any(isinstance(one, ast.Name) and one.id in _OWN for one in sides):
                return False
            return any(_is_of_stack(one, names) for one in sides)
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=given) if name in _LOOKS:
            return any(_is_of_stack(one, names) for one in (value, *given))
        case ast.IfExp(test=test):
            return isinstance(test, ast.Call) and _is_of_stack(test, names) and not _reads(test)
    return False


# --- JavaScript and Go ----------------------------------------------------------------

_SCRIPT_READS = regex(
    r"\bnew\s+Error\([^()]*\)\s*\)?\s*\??\.stack\b|\barguments\.callee\.caller\b"
    r"|\bError\(\s*\)\s*\.stack\b"
)
_SCRIPT_FILLS = regex(r"\bError\.captureStackTrace\(\s*(?!this\b)(\w+)")
_SCRIPT_LOOKS = regex(
    r"\.(?:includes|match|indexOf|search|startsWith|endsWith|test|some)\(|[!=]==?(?!\s*(?:null|undefined)\b)"
)
_SCRIPT_PICKS = regex(r"\.(?:find|filter|map|findIndex)\(")
_SCRIPT_ASKS = regex(r"\bif\s*\(|\bwhile\s*\(|\s\?\s|&&|\|\|")
_SCRIPT_GIVES = regex(r"\b(?:const|let|var)\s+[\[{]?\s*(\w+)[^=]*=(?!=)|^\s*(\w+)\s*=(?!=)")
_SCRIPT_GIVER = regex(r"\bfunction\s+(\w+)\s*\([^()]*\)[^{;\n]*\{[^{}]*?\breturn\b[^;{}]*?\Z")
"""A function that gives what follows."""
_GO_READS = regex(r"\bruntime\.Callers?\(")
_GO_FILLS = regex(r"\bruntime\.Callers\([^,]+,\s*(\w+)")
_GO_LOOKS = regex(
    r"\bstrings\.(?:Contains|HasPrefix|HasSuffix|EqualFold)\(|\.MatchString\(|[!=]=\s*\"|\"\s*[!=]="
)
_GO_GIVES = regex(r"(?:\bif\s+|\bfor\s+|^\s*|;\s*)([\w\s,]+?)\s*:?=(?!=)")
_WORD = regex(r"\w+")
_STRINGS = regex(r"'[^'\n]*'|\"[^\"\n]*\"")


def in_script(text: str) -> Iterator[Decides]:
    """Lines of JavaScript that compare what an error's stack says."""
    if not _SCRIPT_READS.search(text) and not _SCRIPT_FILLS.search(text):
        return
    for giver in _find_givers(text):
        calls = re.compile(rf"(?<![\w.$])(?<!function ){giver}\(\s*\)")
        text = calls.sub("new Error().stack", text)
    for at, line, used in _lines(text, _SCRIPT_READS, _SCRIPT_FILLS, _SCRIPT_GIVES):
        picks = _SCRIPT_PICKS.search(line) and not _SCRIPT_ASKS.search(line)
        if used and not picks and _SCRIPT_LOOKS.search(line):
            yield Decides(at, line.strip())


def _find_givers(text: str) -> Iterator[str]:
    """Names of functions that give a stack as it is."""
    for read in _SCRIPT_READS.finditer(text):
        if found := _SCRIPT_GIVER.search(text, max(0, read.start() - _GIVEN), read.start()):
            yield found[1]


def in_go(text: str) -> Iterator[Decides]:
    """Lines of Go that compare what `runtime.Caller` says."""
    if not _GO_READS.search(text):
        return
    for at, line, used in _lines(text, _GO_READS, _GO_FILLS, _GO_GIVES):
        if used and _GO_LOOKS.search(line):
            yield Decides(at, line.strip())


def _lines(
    text: str, reads: re.Pattern[str], fills: re.Pattern[str], gives: re.Pattern[str]
) -> Iterator[tuple[int, str, bool]]:
    """Each line, and whether it uses the stack itself or a name that was given of it above."""
    known: dict[str, int] = {}
    for at, line in enumerate(text.split("\n"), 1):
        filled = fills.search(line)
        words = set(_WORD.findall(_STRINGS.sub("", line)))
        near = {name for name, since in known.items() if at - since <= _NEAR}
        used = bool(reads.search(line)) or bool(words & near)
        if used and (given := gives.search(line)):
            said = next((one for one in given.groups() if one), "")
            # `ok`, `more` and `n` only say that there is a caller (runtime.Caller, Frames.Next,
            # Callers).
            known |= dict.fromkeys(set(_WORD.findall(said)) - {"_", "ok", "more", "n"}, at)
        if filled:
            known[filled[1]] = at
        yield at, line, used
