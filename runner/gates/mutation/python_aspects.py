"""Aspects of Python functions: what is watched while tests run, and the mutants of each aspect."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from runner.gates.mutation.aspects import FURTHER, GIVES, SIDE, Watched, WatchedFile, Way
from runner.gates.mutation.changed_values import WAYS
from runner.gates.mutation.mutants import Mutant, only_tells
from runner.gates.mutation.python_mutants import (
    SourceText,
    functions_of,
    python_mutants,
    source_of,
    statements_of,
)
from runner.gates.mutation.python_patterns import other_match
from runner.gates.mutation.source_edits import Wrap, compose
from runner.languages.base import ELSEWHERE
from runner.lazy_pattern import regex
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.mutation.python_mutants import Function

_PURE = """
len str int float bool list tuple dict set frozenset isinstance issubclass hasattr type repr sorted
reversed enumerate zip range iter next super print id hash callable vars sum min max any all abs
map filter round divmod setdefault add
"""
_KNOWN = frozenset(_PURE.split())
_SHOWN = 70
_MOST_ARGUMENTS = 6
_SMALL = frozenset({"comparison", "constant", "arithmetic", "call", "loop", "raise", "statement"})
_BOUND = regex(rb"[<>]=?[ \t(]*\Z")
_ALIKE = regex(
    rb"(?:set|frozenset|list|tuple|reversed|abs)\(|int\((?:\w+\.)*(?:ceil|floor|round|len)\("
)
"""Calls without which most results are equal."""
_CLAMP = regex(rb"[ \t]*(?:el)?if (\S+) [<>]=? (\S+):\s*\1 = \2[ \t]*(?:#.*)?$")
"""A value held at its bound, where it already is what it becomes."""
_FOR_PEOPLE = frozenset({"help", "description", "metavar", "usage", "epilog", "doc", "stacklevel"})
"""What is given by these names is read by people."""
_CHANGES = b"['give_changed'](("
_FRESH = "__import__('builtins').__dict__"


@cache
def _source() -> str:
    return Path(__file__).with_name("changed_values.py").read_text(encoding="utf-8")


def _call(out: str, name: str) -> bytes:
    """How a changed program gets to the helper: the first who comes makes it."""
    text = _source().replace('OUT = ""', f"OUT = {out!r}")
    text += f"\n{_FRESH}['_mutant'] = globals()\n"
    get = f"({_FRESH}.get('_mutant') or exec({text!r}, {{}}) or {_FRESH}['_mutant'])"
    return f"{get}[{name!r}]((".encode()


def put_watches(
    path: str, content: bytes, own: frozenset[int], ran: frozenset[int], out: str
) -> WatchedFile | None:
    """The file with each result and condition of own lines watched; None where it cannot be."""
    source = source_of(path, content)
    if source is None:
        return None
    places: list[Watched] = []
    wraps: list[Wrap] = []
    for name, function in functions_of(source.tree.body, ""):
        for node, about in _watched_in(function, name, own, ran):
            # All that a function gives is one place.
            key = f"{GIVES}{name}" if about.kind == GIVES else f"{SIDE}{len(places)}"
            if about.kind == SIDE or not any(one.key == key for one in places):
                places.append(about._replace(key=key))
            call = _call(out, "side" if about.kind == SIDE else "look_at")
            wraps.append(_wrap(source, node, call, f"), {key!r})".encode()))
    if not wraps:
        return None
    text = compose(content, wraps)
    return WatchedFile(path, text, tuple(places)) if python_tree(text) else None


def _watched_in(
    function: Function, name: str, own: frozenset[int], ran: frozenset[int]
) -> Iterator[tuple[ast.expr, Watched]]:
    for node in statements_of(function.body):
        if node.lineno not in own or node.lineno not in ran:
            continue
        for value in _results(node):
            yield value, Watched("", GIVES, name, node.lineno, _code(value))
        if isinstance(node, ast.If | ast.While):
            yield from _sides(node.test, name, _first(node.body), _first(node.orelse))
        for value in _heads(node):
            for inner in _walk(value):
                yield from _parts(inner, name)


def _parts(node: ast.AST, name: str) -> Iterator[tuple[ast.expr, Watched]]:
    if isinstance(node, ast.IfExp):
        yield from _sides(node.test, name, _code(node.body), _code(node.orelse))
    elif isinstance(node, ast.BoolOp):
        yield from _operands(node, name)
    elif isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield from _sides(test, name, "", "")


def _sides(test: ast.expr, name: str, then: str, other: str) -> Iterator[tuple[ast.expr, Watched]]:
    if not ELSEWHERE.search(ast.unparse(test)):
        yield test, Watched("", SIDE, name, test.lineno, _code(test), then, other)


def _operands(node: ast.BoolOp, name: str) -> Iterator[tuple[ast.expr, Watched]]:
    if ELSEWHERE.search(ast.unparse(node)):
        return
    word = "and" if isinstance(node.op, ast.And) else "or"
    for one in node.values[:-1]:
        yield one, Watched("", SIDE, name, one.lineno, _code(one), word, _code(node))


def _results(node: ast.stmt) -> Iterator[ast.expr]:
    """What a statement gives to whoever called."""
    match node:
        case (
            ast.Return(value=ast.expr() as value)
            | ast.Expr(value=ast.Yield(value=ast.expr() as value))
        ):
            plain = isinstance(value, ast.Constant) and value.value is None
            if not plain and not (isinstance(value, ast.Name) and value.id in ("self", "cls")):
                yield value


def _heads(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement itself, without targets, types and what is only told."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef | ast.Raise):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "target", "targets", "type_comment", "decorator_list"):
            continue
        if isinstance(value, ast.expr):
            yield value
        elif name == "items":
            yield from (one.context_expr for one in value if isinstance(one, ast.withitem))


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below, but for functions of one line and texts with values in them."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Lambda | ast.JoinedStr):
            yield from _walk(child)


def _first(body: list[ast.stmt]) -> str:
    return _code(body[0]) if body else ""


def _code(node: ast.AST) -> str:
    text = ast.unparse(node).partition("\n")[0]
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _wrap(source: SourceText, node: ast.expr, before: bytes, after: bytes) -> Wrap:
    start = source.at(node.lineno, node.col_offset)
    end = source.at(node.end_lineno or node.lineno, node.end_col_offset or 0)
    return Wrap(start, end, before, after)


# --- mutants --------------------------------------------------------------------------


def ways_of(
    path: str, content: bytes, own: frozenset[int], ran: frozenset[int], out: str
) -> Iterator[Way]:
    """The mutants of each aspect of own lines that ran: results first, then errors and parts."""
    source = source_of(path, content)
    if source is None:
        return
    small = [one for one in python_mutants(path, content, own, ran) if one.kind in _SMALL]
    for name, function in functions_of(source.tree.body, ""):
        nodes = [one for one in statements_of(function.body) if one.lineno in own]
        run = [one for one in nodes if one.lineno in ran]
        yield from _other_results(source, name, run, out)
        for node in run:
            yield from _other_errors(source, name, node)
            yield from _forced(source, name, node)
        many = 0
        for node in run:
            for way in _other_arguments(source, name, node, out):
                many += 1
                if many <= _MOST_ARGUMENTS:
                    yield way
            yield from _other_texts(source, name, node)
            yield from _other_matches(source, name, node)
            yield from _other_values(source, name, node, out)
            yield from _single(source, name, node)
        for one in small:
            if one.function == name and not _is_alike(content, one):
                yield _small(content, _further(content, one))


def _other_results(source: SourceText, name: str, nodes: list[ast.stmt], out: str) -> Iterator[Way]:
    values = [(value, node) for node in nodes for value in _results(node)]
    for way in WAYS if values else ():
        call, after = _call(out, "give_changed"), f"), {way!r})".encode()
        wraps = [_wrap(source, value, call, after) for value, _ in values]
        first, last = min(one.start for one in wraps), max(one.end for one in wraps)
        moved = [one._replace(start=one.start - first, end=one.end - first) for one in wraps]
        text = compose(source.content[first:last], moved)
        line = values[0][1].lineno
        lines = tuple(node.lineno for _, node in values)
        mutant = Mutant(source.path, name, f"result {way}", line, first, last, text, lines=lines)
        yield Way("result", way, mutant, key=f"{GIVES}{name}.{way}", says_so=True)


def _other_errors(source: SourceText, name: str, node: ast.stmt) -> Iterator[Way]:
    if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
        return
    if "NotImplemented" in ast.unparse(node.exc):
        return
    new = b"type('Another', (Exception,), {})()"
    yield _replace(source, name, "error", f"another error than `{_code(node.exc)}`", node.exc, new)


def _forced(source: SourceText, name: str, node: ast.stmt) -> Iterator[Way]:
    """Conditions that always hold or never do, and conditions without a part."""
    inside = [one for value in _heads(node) for one in _walk(value)]
    tests = [node.test] if isinstance(node, ast.If) else []
    tests += [one.test for one in inside if isinstance(one, ast.IfExp)]
    tests += [test for one in inside if isinstance(one, ast.comprehension) for test in one.ifs]
    for test in tests:
        if ELSEWHERE.search(ast.unparse(test)):
            continue
        for truth, word in (("true", "or True"), ("false", "and False")):
            if truth == "true" and _only_goes_over(node, test):
                continue
            told = f"`{_code(test)}` always {truth}"
            before, after = b"((", f") {word})".encode()
            way = _around(source, name, "condition", told, test, before, after)
            yield way._replace(key=f"{truth} {_code(test)}")
    for one in inside:
        if isinstance(one, ast.BoolOp) and not ELSEWHERE.search(ast.unparse(one)):
            yield from _without_part(source, name, one)


def _without_part(source: SourceText, name: str, node: ast.BoolOp) -> Iterator[Way]:
    word = " and " if isinstance(node.op, ast.And) else " or "
    for part in node.values:
        rest = [one for one in node.values if one is not part]
        new = "(" + word.join(f"({ast.unparse(one)})" for one in rest) + ")"
        told = f"`{_code(node)}` without `{_code(part)}`"
        yield _replace(source, name, "part", told, node, new.encode())


def _only_goes_over(node: ast.stmt, test: ast.expr) -> bool:
    """Whether a condition asks for something that its only loop goes over: none, no round."""
    body = node.body if isinstance(node, ast.If) and node.test is test else []
    return len(body) == 1 and isinstance(body[0], ast.For) and _code(body[0].iter) == _code(test)


def _other_arguments(source: SourceText, name: str, node: ast.stmt, out: str) -> Iterator[Way]:
    for value in _heads(node):
        for call in _walk(value):
            if not isinstance(call, ast.Call) or only_tells(ast.unparse(call.func)):
                continue
            called = ast.unparse(call.func).rpartition(".")[2]
            if called in _KNOWN:
                continue
            named = [one for one in call.keywords if one.arg and one.arg not in _FOR_PEOPLE]
            for one in (*call.args, *(each.value for each in named)):
                if isinstance(one, ast.Starred | ast.Lambda | ast.Constant):
                    continue  # a number or a text is changed by itself
                told = f"another `{_code(one)}` given to `{called}`"
                yield _otherwise(source, name, "argument", told, one, out)


def _other_values(source: SourceText, name: str, node: ast.stmt, out: str) -> Iterator[Way]:
    """What is put into a dictionary or a list that the code spells out."""
    for value in _heads(node):
        for one in _walk(value):
            parts = one.values if isinstance(one, ast.Dict) else ()
            parts = one.elts if isinstance(one, ast.List | ast.Tuple) else parts
            for part in parts:
                if isinstance(part, ast.Name | ast.Starred | ast.Lambda):
                    continue
                told = f"another `{_code(part)}` in `{_code(one)}`"
                yield _otherwise(source, name, "value", told, part, out)


def _otherwise(
    source: SourceText, name: str, aspect: str, told: str, node: ast.expr, out: str
) -> Way:
    """The expression changed in any way, and in each of the further ways."""
    any_, *others = (
        _around(source, name, aspect, told, node, _call(out, "give_changed"), after)
        for after in (f"), {way!r})".encode() for way in ("any", *FURTHER))
    )
    return any_._replace(further=tuple(one.mutant for one in others))


def _single(source: SourceText, name: str, node: ast.stmt) -> Iterator[Way]:
    loops = [node.iter] if isinstance(node, ast.For) else []
    for value in _heads(node):
        loops += [one.iter for one in _walk(value) if isinstance(one, ast.comprehension)]
    for over in loops:
        told = f"only the first of `{_code(over)}`"
        before = b"__import__('itertools').islice(("
        yield _around(source, name, "loop", told, over, before, b"), 1)")


def _other_texts(source: SourceText, name: str, node: ast.stmt) -> Iterator[Way]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    for value in _heads(node):
        nodes = [*_walk(value)]
        signs = {id(arg) for one in nodes for arg in _stripped(one)}
        for one in nodes:
            if isinstance(one, ast.Constant) and _is_short_text(one.value):
                new = repr("~" if id(one) in signs else str(one.value) + "~").encode()
                yield _replace(source, name, "text", f"another text than `{_code(one)}`", one, new)


def _is_alike(content: bytes, one: Mutant) -> bool:
    """Whether the same comes out, most likely: a kind of list, a bound that a value is held at."""
    old = content[one.start : one.end]
    if one.kind == "call":
        return bool(_ALIKE.match(old))
    if one.kind == "comparison":
        two_lines = b"\n".join(content.split(b"\n")[one.line - 1 : one.line + 1])
        return bool(_CLAMP.match(two_lines))
    return one.kind == "constant" and old == b"True" and content[: one.start].endswith(b"] = ")


def _further(content: bytes, one: Mutant) -> Mutant:
    """A great number a tenth greater: one more may be lost where it is divided or rounded."""
    old = content[one.start : one.end]
    if one.kind != "constant" or not old.isdigit() or len(old) < 2:  # noqa: PLR2004 - digits
        return one
    return replace(one, text=str(int(old) + int(old) // 10).encode())


def _small(content: bytes, one: Mutant) -> Way:
    old, new = (each.decode() for each in (content[one.start : one.end], one.text))
    line = content.split(b"\n")[one.line - 1].decode().strip()
    bound = one.kind == "constant" and _BOUND.search(content[: one.start])
    kind = "comparison" if bound else one.kind
    return Way(kind, f"`{new.strip()}` for `{old.strip()}` in `{line[:_SHOWN]}`", one)


def _other_matches(source: SourceText, name: str, node: ast.stmt) -> Iterator[Way]:
    for value in _heads(node):
        for one in _walk(value):
            if isinstance(one, ast.Call) and (other := other_match(source.tree, one)):
                new, old = (text.rpartition(".")[2] for text in (other, ast.unparse(one.func)))
                told = f"`{new}` for `{old}` in `{_code(one)}`"
                yield _replace(source, name, "call", told, one.func, other.encode())


def _stripped(node: ast.AST) -> list[ast.expr]:
    """The signs that a call takes away at the ends of a text: one more changes nothing."""
    match node:
        case ast.Call(func=ast.Attribute(attr="strip" | "lstrip" | "rstrip"), args=args):
            return args
    return []


def _is_short_text(text: object) -> bool:
    """Whether it is a text that a program reads: of one word, and not what is told to people."""
    return isinstance(text, str) and bool(text) and len(text.split()) < 2  # noqa: PLR2004


def _replace(
    source: SourceText, name: str, aspect: str, told: str, node: ast.expr, new: bytes
) -> Way:
    place = _wrap(source, node, b"", b"")
    mutant = Mutant(source.path, name, aspect, node.lineno, place.start, place.end, new)
    return Way(aspect, told, mutant)


def _around(  # noqa: PLR0917 - a place, a word and the code around it
    source: SourceText,
    name: str,
    aspect: str,
    told: str,
    node: ast.expr,
    before: bytes,
    after: bytes,
) -> Way:
    place = _wrap(source, node, b"", b"")
    text = before + source.content[place.start : place.end] + after
    mutant = Mutant(source.path, name, aspect, node.lineno, place.start, place.end, text)
    return Way(aspect, told, mutant, says_so=before.endswith(_CHANGES))
