"""Values that a module can bind on import with nothing else coming of it: no error, no effect.

A value that is not calm may raise, register, read files or start processes: a change of it may be
seen by everything that imports the module.
"""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

from runner.impact.mentions import last_name
from runner.text.literals import combine
from runner.text.syntax import one_at_a_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MAKES = frozenset(
    {"frozenset", "set", "dict", "list", "tuple", "object", "OrderedDict", "defaultdict", "deque"}
    | {"Lock", "RLock", "local", "WeakKeyDictionary", "WeakValueDictionary", "WeakSet"}
    | {"getLogger", "TypeVar", "ParamSpec", "TypeVarTuple", "NewType", "ContextVar", "partial"}
    | {"itemgetter", "attrgetter", "methodcaller", "getenv", "count", "ref", "property"}
    | {"staticmethod", "classmethod", "field"}
)
_TEXT_METHODS = frozenset({"split", "strip", "lower", "upper", "splitlines", "rstrip", "lstrip"})
_STEADY_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.BitOr, ast.BitAnd)
_LONGEST_PATTERN = 4000
_GENERIC = frozenset(
    {"Dict", "List", "Optional", "Union", "Tuple", "Callable", "Type", "Iterable", "Mapping"}
    | {"Sequence", "Literal", "dict", "list", "tuple", "set", "type", "frozenset", "ClassVar"}
    | {"Final", "Annotated", "Generator", "Iterator", "Set", "FrozenSet", "MutableMapping"}
    | {"AsyncIterator", "Awaitable", "Coroutine", "Collection", "Container", "DefaultDict"}
)
Unsteady: TypeAlias = "Callable[[str], bool]"
_KEYS = (ast.Constant, ast.Name, ast.Attribute)


def is_calm(node: ast.expr, unsteady: Unsteady = lambda _: False) -> bool:
    """Whether a value comes of an expression whatever values the names in it have.

    `unsteady` says of a name that it may now hold a value of another kind: it can be bound and put
    into something, but nothing may be made of it.
    """
    rule = _RULES.get(type(node))
    try:
        return rule is not None and rule(node, unsteady)
    except RecursionError:  # a sum of hundreds of parts: it is not told
        return False


def _all(nodes: Iterable[ast.expr], unsteady: Unsteady) -> bool:
    return all(is_calm(node, unsteady) for node in nodes)


def _can_be_keys(nodes: Iterable[ast.expr], unsteady: Unsteady) -> bool:
    """Whether they can be told to be hashable."""
    for node in nodes:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        if not all(isinstance(one, _KEYS) and not unsteady(last_name(one)) for one in parts):
            return False
    return True


def _is_dotted(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (
        isinstance(node, ast.Attribute) and _is_dotted(node.value)
    )


def _is_calm_sum(node: ast.BinOp, unsteady: Unsteady) -> bool:
    """Numbers and texts of which the result is known; names where the kind of value is steady."""
    if fold_constant(node.left) is not None and fold_constant(node.right) is not None:
        return fold_constant(node) is not None
    if not isinstance(node.op, _STEADY_OPERATORS):
        return False
    sides = [node.left, node.right]
    names = (
        last_name(inner)
        for side in sides
        for inner in ast.walk(side)
        if isinstance(inner, ast.expr)
    )
    return _all(sides, unsteady) and not any(unsteady(name) for name in names if name)


def fold_constant(node: ast.expr) -> str | bytes | float | None:
    """What an expression of plain constants comes to; None where that is not told, or is large."""
    try:
        return _fold(node)
    except (TypeError, ValueError, ArithmeticError, RecursionError):
        return None


def _fold(node: ast.expr) -> str | bytes | float:
    match node:
        case ast.Constant(str() | bytes() | int() | float() as value):
            return value
        case ast.JoinedStr([]):
            return ""
        case ast.UnaryOp(ast.USub(), operand):
            return -_fold(operand)  # type: ignore[operator]  # TypeError is caught
        case ast.BinOp(left, operation, right):
            return combine(type(operation), _fold(left), _fold(right))  # type: ignore[no-any-return]
        case _:
            raise TypeError(node)


# --- calls --------------------------------------------------------------------------------


def _is_calm_call(node: ast.Call, unsteady: Unsteady) -> bool:
    name = last_name(node.func)
    values = [*node.args, *(one.value for one in node.keywords)]
    if any(one.arg is None for one in node.keywords):
        return False
    match node.func:
        case ast.Attribute(value=ast.Name("re"), attr="compile"):
            return _compiles(node, unsteady)
        case ast.Attribute(value=ast.Constant(str() | bytes()), attr=method):
            return method in _TEXT_METHODS and all(isinstance(one, ast.Constant) for one in values)
        case ast.Name() | ast.Attribute(value=ast.Name()):
            if name in ("set", "frozenset"):
                return all(_is_keys(one, unsteady) for one in values)
            if name in ("dict", "list", "tuple", "OrderedDict", "deque", "defaultdict"):
                kinds = ast.Tuple | ast.List | ast.Dict | ast.Set
                # To go through what a name holds may run any code (`__iter__`).
                fresh = all(isinstance(one, kinds) for one in node.args) or name == "defaultdict"
                return fresh and _all(values, unsteady)
            inner = (last_name(one) for one in values)
            return name in _MAKES and _all(values, unsteady) and not any(map(unsteady, inner))
        case _:
            return False


def _is_keys(node: ast.expr, unsteady: Unsteady) -> bool:
    elements = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else None
    if elements is not None:
        return _can_be_keys(elements, unsteady)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _compiles(node: ast.Call, unsteady: Unsteady) -> bool:
    """Whether a regular expression is one: it is tried."""
    pattern = fold_constant(node.args[0]) if node.args else None
    flags = [*node.args[1:], *(one.value for one in node.keywords)]
    if not isinstance(pattern, str | bytes) or len(pattern) > _LONGEST_PATTERN:
        return False
    value = _flags(flags)
    if value is None or not _all(flags, unsteady):
        return False
    try:
        with one_at_a_time():
            re.compile(pattern, value)
    except (re.error, OverflowError, RecursionError, ValueError):
        return False
    return True


def _flags(nodes: Iterable[ast.expr]) -> int | None:
    """What flags come to, such as `re.I | re.X`."""
    found = 0
    left = list(nodes)
    while left:
        match left.pop():
            case ast.BinOp(one, ast.BitOr(), other):
                left += [one, other]
            case ast.Attribute(value=ast.Name("re"), attr=name) if name in re.RegexFlag.__members__:
                found |= re.RegexFlag[name].value
            case _:
                return None
    return found


# --- by kind of expression ----------------------------------------------------------------


def _dict(node: ast.Dict, unsteady: Unsteady) -> bool:
    keys = [key for key in node.keys if key is not None]
    whole = len(keys) == len(node.keys)
    return whole and _can_be_keys(keys, unsteady) and _all(node.values, unsteady)


def _formatted(node: ast.FormattedValue, unsteady: Unsteady) -> bool:
    plain = node.format_spec is None and isinstance(node.value, _KEYS)
    return plain and is_calm(node.value, unsteady)


def _lambda(node: ast.Lambda, unsteady: Unsteady) -> bool:
    return _all([*node.args.defaults, *(one for one in node.args.kw_defaults if one)], unsteady)


def _unary(node: ast.UnaryOp, unsteady: Unsteady) -> bool:
    if isinstance(node.op, ast.Not):
        return is_calm(node.operand, unsteady)
    return isinstance(fold_constant(node.operand), int | float)


def _compared(node: ast.Compare, unsteady: Unsteady) -> bool:
    kinds = ast.Is | ast.IsNot | ast.Eq | ast.NotEq
    plain = all(isinstance(one, kinds) for one in node.ops)
    return plain and _all([node.left, *node.comparators], unsteady)


def _subscript(node: ast.Subscript, unsteady: Unsteady) -> bool:
    return last_name(node.value) in _GENERIC and _all([node.value, node.slice], unsteady)


_RULES: dict[type[ast.expr], Callable[[Any, Unsteady], bool]] = {
    ast.Constant: lambda *_: True,
    ast.Name: lambda *_: True,
    ast.Attribute: lambda node, bad: _is_dotted(node.value) and not bad(last_name(node.value)),
    ast.Tuple: lambda node, bad: _all(node.elts, bad),
    ast.List: lambda node, bad: _all(node.elts, bad),
    ast.Set: lambda node, bad: _can_be_keys(node.elts, bad),
    ast.Dict: _dict,
    ast.JoinedStr: lambda node, bad: _all(node.values, bad),
    ast.FormattedValue: _formatted,
    ast.Lambda: _lambda,
    ast.IfExp: lambda node, bad: _all([node.test, node.body, node.orelse], bad),
    ast.BoolOp: lambda node, bad: _all(node.values, bad),
    ast.UnaryOp: _unary,
    ast.Compare: _compared,
    ast.BinOp: _is_calm_sum,
    ast.Subscript: _subscript,
    ast.Call: _is_calm_call,
}


def is_of_python(module: str) -> bool:
    """Whether a module comes with Python."""
    return module.partition(".")[0] in sys.stdlib_module_names
