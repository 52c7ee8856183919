"""Where Python code can be changed, and into what: each place as a range and a new text.

Code put around a value so that another one comes out, of the same type wherever that can be.

A mutant that changes a value and keeps its type makes a test fail by what it expects, not by a
crash that any call would meet.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, TypeAlias

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Place: TypeAlias = tuple[int, int]
    """Line from 1 and column from 0, in bytes."""

_COMPARED: dict[type[ast.cmpop], tuple[bytes, bytes]] = {
    ast.Lt: (b"<", b"<="),
    ast.LtE: (b"<=", b"<"),
    ast.Gt: (b">", b">="),
    ast.GtE: (b">=", b">"),
    ast.Eq: (b"==", b"!="),
    ast.NotEq: (b"!=", b"=="),
    ast.Is: (b"is", b"is not"),
    ast.In: (b"in", b"not in"),
}
_BOUNDS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
"""Comparisons whose mutant moves a bound; of the others it is the opposite, as of a condition."""
_COUNTED: dict[type[ast.operator], tuple[bytes, bytes]] = {
    ast.Add: (b"+", b"-"),
    ast.Sub: (b"-", b"+"),
    ast.Mult: (b"*", b"+"),
    ast.Div: (b"/", b"*"),
    ast.FloorDiv: (b"//", b"*"),
    ast.Mod: (b"%", b"*"),
    ast.LShift: (b"<<", b">>"),
    ast.RShift: (b">>", b"<<"),
    ast.BitAnd: (b"&", b"|"),
    ast.BitOr: (b"|", b"&"),
    ast.BitXor: (b"^", b"&"),
}
_SAME_TYPE = frozenset(
    {"strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "casefold", "copy"}
    | {"replace", "swapcase", "rjust", "ljust", "zfill", "center", "removeprefix", "removesuffix"}
)
"""Methods of text that give text."""
_ARGUMENT_BACK = frozenset({"sorted", "abs", "round", "reversed", "int", "set", "frozenset"})
_OTHER_CALL = {"min": b"max", "max": b"min", "any": b"all", "all": b"any"}
_ORDERED_WORDS = """
isinstance issubclass getattr hasattr setattr delattr filter map range zip enumerate cast reduce
partial open round
"""
_ORDERED = frozenset(_ORDERED_WORDS.split())
"""What crashes with its arguments in another order, whatever a test expects."""
_TEXT = (ast.JoinedStr,)


@dataclass(frozen=True, slots=True)
class Edit:
    """One way to change one place."""

    kind: str
    node: ast.expr | ast.stmt
    begin: Place
    end: Place
    text: Callable[[bytes], bytes | None]
    """From what stands there to what stands there then; None where that cannot be said."""


def _over(kind: str, node: ast.expr | ast.stmt, text: Callable[[bytes], bytes | None]) -> Edit:
    return Edit(kind, node, _begin(node), _end(node), text)


def _begin(node: ast.expr | ast.stmt) -> Place:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt) -> Place:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _put(text: bytes) -> Callable[[bytes], bytes]:
    return lambda _old: text


def _around(before: bytes, after: bytes) -> Callable[[bytes], bytes]:
    return lambda old: before + old + after


# --- statements -----------------------------------------------------------------------


def statements(node: ast.stmt) -> Iterator[Edit]:
    """The edits of one statement as a whole, or of its head."""
    match node:
        case (
            ast.Return(value=ast.expr() as value)
            | ast.Expr(value=ast.Yield(value=ast.expr() as value))
        ):
            yield from _results(value)
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Delete():
            yield _over("statement", node, _put(b"pass"))
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            if not _is_plain(value):
                yield _over("assigned value", value, _around(OTHER, b"))"))
        case ast.AugAssign():
            yield from _mutate_augmented(node)
        case ast.Raise(exc=ast.expr() as raised) if "NotImplemented" not in ast.unparse(raised):
            yield _over("raise", node, _put(b"pass"))
        case ast.If(test=test):
            yield _over("condition", test, _around(b"not (", b")"))
        case ast.For(iter=over):
            yield _over("loop", over, _put(b"()"))


def _results(value: ast.expr) -> Iterator[Edit]:
    """Another value of the same type, an empty one, none."""
    if isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, str)):
        return
    if isinstance(value, ast.Name) and value.id in ("self", "cls"):
        return
    yield _over("returned value", value, _around(OTHER, b"))"))
    yield _over("empty result", value, _around(EMPTY, b"))"))
    yield _over("no result", value, lambda _old: b"None")  # what it does besides is gone, too


def _mutate_augmented(node: ast.AugAssign) -> Iterator[Edit]:
    """`a += b` backwards, and with another `b`."""
    swap = _COUNTED.get(type(node.op))
    if swap and not _is_text(node.value):
        old, new = swap
        yield Edit(
            "arithmetic", node, _end(node.target), _begin(node.value), _operator(old, new, b"=")
        )
    if not _is_plain(node.value):
        yield _over("assigned value", node.value, _around(OTHER, b"))"))


def _is_plain(value: ast.expr) -> bool:
    """Whether it is text, nothing, or the start of what is gathered later."""
    if isinstance(value, ast.Constant):
        return value.value is None or isinstance(value.value, str | bytes)
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.Lambda)


def _is_text(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str | bytes)
    return isinstance(value, (*_TEXT, ast.List, ast.Tuple))


# --- expressions ----------------------------------------------------------------------


def expressions(node: ast.stmt) -> Iterator[Edit]:
    """The edits inside of one statement, without what may not run although its line does."""
    if isinstance(node, ast.While | ast.Raise):
        return  # an endless loop costs the whole time; words of an error are for people
    for one in _heads(node):
        yield from _within(one)


def _heads(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement, without those of statements in it and without types."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "target", "targets", "type_comment", "decorator_list"):
            continue
        if isinstance(value, ast.expr):
            yield value
        elif name in ("items", "values"):
            yield from (one.context_expr for one in value if isinstance(one, ast.withitem))


def _within(node: ast.expr) -> Iterator[Edit]:
    yield from _of(node)
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.IfExp) and child is not node.test:
            continue  # one of the two did not run, perhaps
        if isinstance(child, ast.comprehension):
            yield from _of_comprehension(child)
        elif isinstance(child, ast.keyword):
            yield from _within(child.value)
        elif isinstance(child, ast.expr) and not isinstance(child, (ast.Lambda, *_TEXT)):
            yield from _within(child)


def _of_comprehension(node: ast.comprehension) -> Iterator[Edit]:
    yield from _within(node.iter)
    for test in node.ifs:
        yield _over("condition", test, _around(b"(not (", b"))"))
        yield from _within(test)


def _of(node: ast.expr) -> Iterator[Edit]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield from _mutate_comparison(node, left, operator, right)
        case ast.BinOp(left=left, op=operation, right=right):
            yield from _mutate_operation(node, left, operation, right)
        case ast.BoolOp(values=[first, *_]):
            yield Edit("operand", node, _begin(node), _end(node), _only(node, first))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield Edit("condition", node, _begin(node), _end(node), _only(node, operand))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield Edit("arithmetic", node, _begin(node), _end(node), _only(node, operand))
        case ast.IfExp(test=test):
            yield _over("condition", test, _around(b"(not (", b"))"))
        case ast.Constant(value=bool() | int() | float()):
            yield from _constant(node)
        case ast.Call():
            yield from _mutate_call(node)


def _mutate_comparison(
    node: ast.Compare, left: ast.expr, operator: ast.cmpop, right: ast.expr
) -> Iterator[Edit]:
    kind = "comparison" if isinstance(operator, _BOUNDS) else "condition"
    if swap := _COMPARED.get(type(operator)):
        yield Edit(kind, node, _end(left), _begin(right), _operator(*swap))
    else:
        yield _over(kind, node, _around(b"(not (", b"))"))


def _mutate_operation(
    node: ast.BinOp, left: ast.expr, operation: ast.operator, right: ast.expr
) -> Iterator[Edit]:
    if _is_text(left) and isinstance(operation, ast.Mod):
        return
    swap = _COUNTED.get(type(operation))
    if swap and not _is_text(left) and not _is_text(right):
        yield Edit("arithmetic", node, _end(left), _begin(right), _operator(*swap))
    yield Edit("operand", node, _begin(node), _end(node), _only(node, left))


def _constant(node: ast.Constant) -> Iterator[Edit]:
    match node.value:
        case bool(truth):
            yield _over("constant", node, _put(str(not truth).encode()))
        case int(number):
            yield _over("constant", node, _put(str(number + 1).encode()))
        case float(number):
            yield _over("constant", node, _put(f"({number!r} + 1.0)".encode()))


def _mutate_call(node: ast.Call) -> Iterator[Edit]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    plain = not any(isinstance(one, ast.Starred) for one in node.args)
    if new := _OTHER_CALL.get(name):
        yield _over("call", node.func, _put(new))
    elif name in _ARGUMENT_BACK and node.args and plain:
        yield Edit("call", node, _begin(node), _end(node), _only(node, node.args[0]))
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_TYPE:
        yield Edit("call", node, _begin(node), _end(node), _only(node, node.func.value))
    two = node.args[:2]
    if len(two) > 1 and name not in _ORDERED and plain and ast.dump(two[0]) != ast.dump(two[1]):
        first, second = two
        yield Edit("argument", node, _begin(first), _end(second), _swap(first, second))


# --- texts ----------------------------------------------------------------------------


def _operator(old: bytes, new: bytes, after: bytes = b"") -> Callable[[bytes], bytes | None]:
    """The sign between two operands replaced; brackets and blanks around it stay."""
    sign = re.compile(rb"([\s)\\]*)" + re.escape(old + after) + rb"([\s(\\]*)")

    def text(between: bytes) -> bytes | None:
        match = sign.fullmatch(between)  # None: a comment stands between them
        return match[1] + new + after + match[2] if match else None

    return text


def _only(node: ast.expr, kept: ast.expr) -> Callable[[bytes], bytes | None]:
    """One part of an expression in brackets, in the place of the whole."""
    if node.lineno != node.end_lineno:
        return _nothing
    first = kept.col_offset - node.col_offset
    last = (kept.end_col_offset or 0) - node.col_offset
    return lambda old: b"(" + old[first:last] + b")"


def _swap(first: ast.expr, second: ast.expr) -> Callable[[bytes], bytes | None]:
    if first.lineno != second.end_lineno:
        return _nothing
    one = (first.end_col_offset or 0) - first.col_offset
    two = second.col_offset - first.col_offset
    return lambda old: old[two:] + old[one:two] + old[:one]


def _nothing(_old: bytes) -> None:
    """Over several lines the columns of the parts do not fit the text."""


# --- mutated values -------------------------------------------------------------------


_NUMBERS = "('int', 'float', 'complex', 'Decimal', 'Fraction')"
_PLAIN = (
    "{k: (not a) if a is True or a is False else a + '~' if a.__class__.__name__ == 'str' "
    "else a * 3 + 7 for k, a in v.__dict__.items() "
    "if a.__class__.__name__ in ('bool', 'int', 'float', 'str') and k[:2] != '__'}"
)
"""The attributes of an object that are plain values, each another one; not the name and the text
that `functools.update_wrapper` gives to what stands for a function, which nobody has to look at."""
_ITERATES = "'__next__' in dir(v) and '__dict__' not in dir(v)"
"""A generator, a file's lines, whatever itertools gives: a test that only lists it fails by what it
claims, where `None` would fail it for any code."""
_HOLDS = "'__iter__' in dir(v) and '__len__' in dir(v) and '__dict__' not in dir(v)"
"""A range, a deque, the keys of a dictionary."""
# Classes are known by their names: no file has to import Decimal, Enum or PurePath for it.
_OTHER = (
    "(lambda v: (lambda n, t: "
    "(not v) if 'bool' in n else "
    "([m for m in t if m is not v] or [None])[0] if 'Enum' in n else "
    f"t(v * 3 + 7) if [c for c in n if c in {_NUMBERS}] else "
    "t(v[::-1] + '~') if 'str' in n else "
    "t(v[::-1] + b'~') if 'bytes' in n or 'bytearray' in n else "
    "v._make([0 if a is None else None for a in v]) "
    "if 'tuple' in n and '_fields' in t.__dict__ else "
    "t(v[1:] or v * 2) if v and ('list' in n or 'tuple' in n) else "
    "t([None]) if 'list' in n or 'tuple' in n else "
    "t([*v][1:] + [None]) if 'set' in n or 'frozenset' in n else "
    "({k: None for k in v} if [a for a in v.values() if a is not None] else {None: None}) "
    "if 'dict' in n else "
    "v * 3 + t(7) if 'timedelta' in n else "
    "v + v.resolution if 'date' in n else "
    "v / '~' if 'PurePath' in n else "
    "0 if v is None else "
    f"iter(()) if {_ITERATES} else "
    f"[*v][1:] + [None] if {_HOLDS} else "
    "(lambda d: (lambda c: c.__dict__.update(d) or c)(__import__('copy').copy(v)) if d else None)"
    f"({_PLAIN}) if '__dict__' in dir(v) and 'type' not in n and 'function' not in n else "
    "None)([c.__name__ for c in v.__class__.__mro__], v.__class__))(("
)
_EMPTY = (
    "(lambda v: "
    "v.__class__() if v.__class__.__name__ in ('bool', 'int', 'float', 'str', 'bytes', 'list', "
    "'tuple', 'set', 'frozenset', 'dict') and v else "
    "True if v is False else 1 if v.__class__.__name__ in ('int', 'float') else "
    "'~' if v == '' else b'~' if v == b'' else [None] if v == [] else (None,) if v == () else "
    f"iter(()) if {_ITERATES} else [] if {_HOLDS} and v else "
    "None if v is not None else 0)(("
)
OTHER = _OTHER.encode()
"""Closed by `))`."""
EMPTY = _EMPTY.encode()
"""Closed by `))`."""
