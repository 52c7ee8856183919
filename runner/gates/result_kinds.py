"""New functions of which every test looks at the kind of what they give, and never at the value.

`isinstance(found, list)`, `typeof sum === 'number'` and `got == nil` hold for nearly any wrong
answer, and `f(x) == f(x)` for all of them. A function is told of where each test that calls it says
so much and no more; what a test hands on, keeps in a table or asks by another way is not read, so
nothing is said of it then.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.function_heads import heads
from runner.gates.mutation.brace_functions import functions
from runner.gates.test_awareness import find_tests
from runner.languages.c_like_lexer import line_of, mask_literals, statement_end
from runner.languages.javascript import LITERALS
from runner.languages.javascript.assertions import test_calls
from runner.languages.python.claims import is_asserting_name
from runner.languages.python.marks import name_of
from runner.languages.registry import code_row, is_written_in
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.base import GateContext

_MOST_NAMES = 40
ITSELF = "itself"
"""The kind of a claim that one call gives what the same call gives."""
_PLAIN = frozenset(
    {"str", "bytes", "int", "float", "bool", "list", "tuple", "dict", "set", "frozenset", "object"}
    | {"Iterable", "Iterator", "Sequence", "Mapping", "Generator", "Callable", "Collection"}
)
"""Kinds that nobody chooses among by what is given: no class of the project's own."""
_PLAIN_SCRIPT = r"(?:Array|Object|String|Number|Boolean|Function|Map|Set|Promise)\b"
_CLAIM = re.compile(r"(?<![\w.$])(?:expect|assert|chai|t)(?:\.\w+)*\s*\(|\.should\b")
_SCRIPT_KIND = re.compile(
    rf"\Aexpect\([^;]*\)\s*(?:\.toBeInstanceOf\({_PLAIN_SCRIPT}\)|\.toBeDefined\(\)"
    r"|\.toBeTypeOf\([^()]*\)"
    r"|\.not\.(?:toBeUndefined|toBeNull|toThrow\w*)\(\)|\.to\.(?:exist|be\.an?\([^()]*\))"
    rf"|\.to\.be\.(?:an\.)?instance[oO]f\({_PLAIN_SCRIPT}\))\s*;?\Z"
    r"|\Aexpect\(\s*typeof\b[^;]*\)\s*\.(?:to\w*|to(?:\.\w+)*)\([^()]*\)\s*;?\Z"
    rf"|\Aexpect\(\s*(?:Array\.isArray\([^;]*\)|[^;()]+ instanceof {_PLAIN_SCRIPT})\s*\)"
    r"\s*\.\w+\(true\)\s*;?\Z"
    r"|\A(?:assert|t)(?:\.\w+)*\(\s*(?:typeof\b|Array\.isArray\()[^;]*\)\s*;?\Z"
    rf"|\A(?:assert|t)(?:\.ok|\.true)?\([^;()]+ instanceof {_PLAIN_SCRIPT}[^;]*\)\s*;?\Z"
    r"|\A(?:assert|t)\.(?:doesNotThrow|notThrows|isArray|isString|isNumber|isObject|isFunction"
    r"|isDefined|exists|typeOf)\(.*\)\s*;?\Z"
)
_SAME_SCRIPT = re.compile(
    r"\A(?:expect\((?P<one>[\w$.]+\(.*\))\)\.to(?:\w+|(?:\.\w+)+)\((?P=one)\)"
    r"|(?:assert|t)\.\w*[eE]qual\w*\((?P<two>[\w$.]+\(.*\)), (?P=two)\))\s*;?\Z"
)
_GO_FAILS = re.compile(r"\b(?:t|tb|b)\.(?:Fatal|Error|Fail)\w*\(")
_GO_BRANCH = re.compile(r"\bif\b(?P<asks>[^{}]*)\{")
_GO_HELP = re.compile(r"\b(?:assert|require|is|cmp|qt|c)\.\w+\(|\bassert\w*\(")


class _Told(NamedTuple):
    path: str
    line: int
    name: str
    code: str


class _Claim(NamedTuple):
    code: str
    line: int
    of: str
    """What it looks at, where it asks for a class; else empty."""
    kind: str
    """The class that it asks for, or that it is about nothing but the kind; empty: of a value."""


class KnownByKind(NamedTuple):
    """A function that no test asks for its value."""

    path: str
    """Of a test of it."""
    line: int
    name: str
    code: str
    """What that test says."""
    is_itself: bool
    """Whether all that is said of it is that one call gives what the same call gives."""


def functions_known_by_kind(bench: GateContext) -> Iterator[KnownByKind]:
    """Each such function that the change makes, once."""
    names = frozenset(_new_names(bench))
    if not names or len(names) > _MOST_NAMES:
        return
    files = [
        (path, content.decode("utf-8", "replace"))
        for path, content in find_tests(bench)
        if any(one.encode() in content for one in names)
    ]
    for name in sorted(names):
        claims: list[tuple[str, _Claim]] = []
        for path, text in files:
            if not re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text):
                continue
            said = _claims(path, text, name)
            if said is None:
                break
            claims += [(path, one) for one in said]
        else:
            if claims and all(one.kind for _, one in claims) and not _chooses(claims):
                path, first = claims[0]
                same = all(one.kind == ITSELF for _, one in claims)
                yield KnownByKind(path, first.line, name, first.code, same)


def _new_names(bench: GateContext) -> Iterator[str]:
    """Functions that the change makes, and that give something."""
    for change in bench.changes:
        content = change.content
        if content is None or not code_row(change.path) or bench.is_test(change.path):
            continue
        known = {one.name for one in heads(change.path, bench.before(change.path) or b"")}
        for head in heads(change.path, content):
            if head.gives and head.parameters and head.name not in known and head.name[:1] != "_":
                yield head.name


def _claims(path: str, text: str, name: str) -> list[_Claim] | None:
    """What the tests of a file that name a function claim; None where it is not all to be read."""
    if is_written_in(path, "python"):
        tree = python_tree(text)
        return None if tree is None else _of_python(tree, name)
    mask = mask_literals(text, LITERALS)
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    if is_written_in(path, "go"):
        return _of_go(text, mask, word)
    return _of_script(text, mask, word) if is_written_in(path, "javascript") else None


def _chooses(claims: list[tuple[str, _Claim]]) -> bool:
    """Whether tests ask one thing for several classes: then the class is the answer."""
    asked: dict[str, set[str]] = {}
    for _, one in claims:
        if one.of:
            asked.setdefault(one.of, set()).add(one.kind)
    return any(len(kinds) > 1 for kinds in asked.values())


# --- Python ---------------------------------------------------------------------------------


def _of_python(tree: ast.Module, name: str) -> list[_Claim] | None:
    found: list[_Claim] = []
    for node in _statements(tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom) or not _names(node, name):
            continue
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test"):
            return None
        if any(_names(one, name) for one in node.decorator_list):
            return None
        said = [*_of_test(node, name)]
        if not said or any(not one.kind for one in said):
            return None
        found += said
    return found


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Those of a file and of its classes."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _statements(node.body)
        else:
            yield node


def _names(node: ast.AST, name: str) -> bool:
    return any(
        (isinstance(one, ast.Name) and one.id == name)
        or (isinstance(one, ast.Attribute) and one.attr == name)
        for one in ast.walk(node)
    )


def _of_test(test: ast.FunctionDef, name: str) -> Iterator[_Claim]:
    for node in ast.walk(test):
        match node:
            case ast.Assert(test=asked):
                yield _claim(node, *_kind(asked))
            case ast.With() | ast.AsyncWith():
                if any("raises" in ast.unparse(one).lower() for one in node.items):
                    yield _claim(node, "", "")
            case ast.Expr(value=ast.Call() as call):
                method = name_of(call).rpartition(".")[2]
                if is_asserting_name(method):
                    yield _claim(node, *_kind_of_method(method, call))
                elif any(_names(one, name) for one in call.args):
                    yield _claim(node, "", "")  # handed on to something that may assert


def _claim(node: ast.stmt, of: str, kind: str) -> _Claim:
    return _Claim(ast.unparse(node).splitlines()[0], node.lineno, of, kind)


def _kind_of_method(method: str, call: ast.Call) -> tuple[str, str]:
    match method, call.args:
        case ("assertIsInstance", [value, kind, *_]):
            return _of_class(value, kind)
        case ("assertIsNotNone", [_, *_]):
            return "", "something"
        case ("assertEqual", [one, other, *_]) if _is_same_call(one, other):
            return "", ITSELF
        case ("assertTrue", [asked, *_]):
            return _kind(asked)
    return "", ""


def _kind(asked: ast.expr) -> tuple[str, str]:
    """What an expression asks for the class of, and that class; two empty texts for a value."""
    match asked:
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, kind]):
            return _of_class(value, kind)
        case ast.Call(func=ast.Name(id="hasattr" | "callable")):
            return "", "something"
        case ast.Call(
            func=ast.Name(id="all"), args=[ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner)]
        ):
            return "", _kind(inner)[1]
        case ast.BoolOp(op=ast.And(), values=values):
            kinds = [_kind(one)[1] for one in values]
            return "", kinds[0] if all(kinds) else ""
        case ast.Compare(ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return "", "something"
        case ast.Compare(left=one, ops=[ast.Eq()], comparators=[other]) if _is_same_call(
            one, other
        ):
            return "", ITSELF
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="type"), args=[value]),
            ops=[ast.Is() | ast.Eq()],
            comparators=[kind],
        ):
            return _of_class(value, kind)
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len")),
            ops=[ast.GtE()],
            comparators=[ast.Constant(value=0)],
        ):
            return "", "something"
    return "", ""


def _is_same_call(one: ast.expr, other: ast.expr) -> bool:
    return isinstance(one, ast.Call) and ast.dump(one) == ast.dump(other)


def _of_class(value: ast.expr, kind: ast.expr) -> tuple[str, str]:
    names = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    if all(ast.unparse(one).rpartition(".")[2] in _PLAIN for one in names):
        return ast.unparse(value), ast.unparse(kind)
    return "", ""


# --- languages with braces ------------------------------------------------------------------


def _of_script(text: str, mask: str, word: re.Pattern[str]) -> list[_Claim] | None:
    tests = [one for one in test_calls(text, mask) if not one.is_group]
    for match in word.finditer(mask):
        inside = any(one.start < match.start() < one.end for one in tests)
        line = mask[mask.rfind("\n", 0, match.start()) + 1 : match.start()]
        if not inside and not re.match(r"\s*(?:import|export|const|let|var|[\w$,\s]+$)", line):
            return None
    found = []
    for one in tests:
        if not word.search(mask, one.start, one.end):
            continue
        said = [*_of_calls(text, mask, one.start, one.end)]
        if not said:
            return None
        found += said
    return found


def _of_calls(text: str, mask: str, start: int, end: int) -> Iterator[_Claim]:
    for match in _CLAIM.finditer(mask, start + 1, end):
        last = statement_end(mask, match.start())
        code = " ".join(text[match.start() : last].split())
        within = mask[max(mask.rfind(";", 0, match.start()), start) : match.start()]
        if re.search(r"(?<![\w.$])(?:expect|assert|t)(?:\.\w+)*\([^)]*\Z", within):
            continue  # a matcher inside of another
        kind = "something" if _SCRIPT_KIND.match(code) else ""
        kind = ITSELF if _SAME_SCRIPT.match(code) else kind
        yield _Claim(code, line_of(text, match.start()), "", kind)


def _of_go(text: str, mask: str, word: re.Pattern[str]) -> list[_Claim] | None:
    found: list[_Claim] = []
    seen: list[tuple[int, int]] = []
    for one in functions(mask, "go"):
        if not one.name.startswith("Test") or not word.search(mask, one.start, one.end):
            continue
        seen.append((one.start, one.end))
        body = mask[one.start : one.end]
        if _GO_HELP.search(body):
            return None
        claims = [*_of_branches(text, mask, one.start, one.end)]
        if not any(claim.kind == "nil" for claim in claims):
            return None
        found += claims
    outside = (one for one in word.finditer(mask) if not any(a < one.start() < b for a, b in seen))
    return None if any(True for _ in outside) else found


def _of_branches(text: str, mask: str, start: int, end: int) -> Iterator[_Claim]:
    for match in _GO_BRANCH.finditer(mask, start, end):
        close = mask.find("}", match.end())
        if not _GO_FAILS.search(mask, match.end(), close):
            continue
        asks = match["asks"].rpartition(";")[2].strip()
        value = re.fullmatch(r"\w+ == nil", asks) and not asks.startswith("err")
        kind = "nil" if value else "error" if asks == "err != nil" else ""
        yield _Claim(f"if {asks}", line_of(text, match.start()), "", kind)
