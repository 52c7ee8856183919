"""Reads Python source into its syntax tree, one text at a time.

Texts that code puts together from constants alone: what they are when it runs.
"""

from __future__ import annotations

import ast
import re
import warnings
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.text.literals import LONGEST, TooLarge, join, letters, replace, write

if TYPE_CHECKING:
    from collections.abc import Iterator


_LOCK = RLock()  # reentrant: the collector may run any code in the middle of a parse
_TRIES = 5


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold off other parsing, and the warnings of this one.

    CPython before 3.13 counts the depth of syntax trees for all threads together, and raises
    SystemError ("AST constructor recursion depth mismatch", CPython issue 106905) where another
    thread parses while the garbage collector has interrupted this one; `catch_warnings` is for
    one thread, too.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def python_tree(source: str | bytes) -> ast.Module | None:
    """The syntax tree of a Python text; None for what this Python cannot read."""
    for _ in range(_TRIES):
        try:
            with one_at_a_time():
                return ast.parse(source)
        except SystemError:  # a library parsed at the same time, without the lock
            continue
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return None


def blocks_of(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of statements directly below one: its body, else, handlers, cases, finally."""
    for part in ("body", "orelse", "finalbody"):
        yield getattr(node, part, [])
    for one in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield one.body


def follow_aliases(tree: ast.Module, names: frozenset[str]) -> ast.Module:
    """The tree, changed in place: what `from x import a as b` and `b = x.a` bind is called `a`.

    Of these `names` alone: any other may be bound to something else on the next line.
    """
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=given):
                bound |= {one.asname: one.name for one in given if one.asname and one.name in names}
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr=of)) if (
                of in names
            ):
                bound[name] = of
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            node.id = bound.get(node.id, node.id)
    return tree


# --- constants ------------------------------------------------------------------------


_PLAIN = frozenset({"lower", "upper", "strip", "title", "capitalize", "swapcase", "casefold"})
_REPLACING = frozenset({"replace", "removeprefix", "removesuffix"})
_SUM = regex(
    r"(?P<q>['\"`])(?P<left>[^'\"`\\\n$]*)(?P=q)[ \t]*\+[ \t]*"
    r"(?P<p>['\"`])(?P<right>[^'\"`\\\n$]*)(?P=p)"
)
_LIST = regex(
    r"\[(?P<items>[ \t]*(?:['\"`][^'\"`\\\n$]*['\"`](?:[ \t]*,)?[ \t]*)+)\]\.join\("
    r"[ \t]*['\"`](?P<glue>[^'\"`\\\n$]*)['\"`][ \t]*\)"
)
_ITEM = regex(r"['\"`]([^'\"`\n]*)['\"`]")


def fold_text(node: ast.AST) -> str:
    """The text that an expression of constants alone comes to; empty for any other."""
    try:
        said = _fold(node)
    except (ValueError, TypeError, IndexError, OverflowError, KeyError, RecursionError):
        return ""
    return said if isinstance(said, str) else ""


def _fold(node: ast.AST) -> object:
    """A constant's value; raises ValueError for what is none, and for a long one."""
    said = _put_together(node)
    if letters(said) > LONGEST:
        raise TooLarge
    return said


def _put_together(node: ast.AST) -> object:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            return _filled(_text(left), _fold(right))
        case ast.JoinedStr(values=items) | ast.Tuple(elts=items) | ast.List(elts=items):
            found = tuple(_fold(one) for one in items)
            return found if not isinstance(node, ast.JoinedStr) else join("", map(write, found))
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return write(_fold(value))
        case ast.Subscript() | ast.Call() | ast.UnaryOp():
            return _computed(node)
    raise ValueError


def _computed(node: ast.Subscript | ast.Call | ast.UnaryOp) -> object:
    match node:
        case ast.Subscript(value=value, slice=ast.Slice() as part):
            ends = (part.lower, part.upper, part.step)
            return _text(value)[slice(*(_number(one) for one in ends))]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -(_number(operand) or 0)
        case ast.Call(func=ast.Name(id="chr"), args=[code], keywords=[]):
            return chr(_number(code) or 0)
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=given, keywords=[]):
            return _called(_fold(of), name, [_fold(one) for one in given])
    raise ValueError


def _text(node: ast.AST) -> str:
    said = _fold(node)
    if isinstance(said, str):
        return said
    raise ValueError


def _number(node: ast.AST | None) -> int | None:
    said = None if node is None else _fold(node)
    if said is not None and not isinstance(said, int):
        raise ValueError
    return said


def _filled(text: str, values: object) -> str:
    """`text % values`, of plain `%s` alone: a width would make any length of it."""
    # `%999999999s` pads to any width that it names.
    if re.search(r"%(?!s)", text):
        raise ValueError
    return text % values


def _called(of: object, name: str, given: list[object]) -> object:
    """A method of a text or of bytes that puts together or takes apart, and no other."""
    if isinstance(of, bytes) and name == "decode" and not given:
        return of.decode()
    if not isinstance(of, str) or not all(isinstance(one, str | tuple) for one in given):
        raise ValueError
    texts = [one for one in given if isinstance(one, str)]
    if name in _PLAIN and not given:
        return getattr(of, name)()
    if name in _REPLACING and len(texts) == len(given):
        return replace(of, *texts) if name == "replace" else getattr(of, name)(*texts)
    if name == "join" and len(given) == 1:
        return join(of, map(write, given[0]))  # type: ignore[call-overload]  # str or tuple
    if name == "format" and not re.search(r"\{[^{}]+\}", of):
        return of.format(*texts)
    raise ValueError


def join_literals(text: str) -> str:
    """Code of a language with braces, where literals that are added or joined are one.

    No line moves to another.
    """
    before = ""
    while before != text:
        before = text
        text = _LIST.sub(
            lambda found: _quoted(found["glue"].join(_ITEM.findall(found["items"]))), text
        )
        text = _SUM.sub(lambda found: _quoted(found["left"] + found["right"]), text)
    return text


def _quoted(text: str) -> str:
    return f'"{text}"'
