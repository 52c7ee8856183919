"""Python classes whose equality is looser than what they hold: blind, near, or by a part alone."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING, NamedTuple

from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

BLIND = "without a look at what it holds"
NEAR = "to what is only near it"
PART = "whatever this field holds"

_METHODS = ("__eq__", "__ne__")
_EXCLUDING = {"compare", "eq", "cmp"}
_FIELDS = {"field", "attrib", "ib", "Field", "attr"}
_LOSING = {
    *("abs", "round", "len", "bool", "floor", "ceil", "trunc", "quantize", "isclose", "allclose"),
    *("keys", "sum", "min", "max"),
    *("approx", "lower", "upper", "casefold", "strip", "lstrip", "rstrip", "swapcase", "title"),
    *(
        "replace",
        "translate",
        "sub",
        "normalize",
        "startswith",
        "endswith",
        "get_close_matches",
        "ratio",
        "almost_equal",
        "assert_allclose",
    ),
}
"""Calls that give the same for values that differ."""
_MAPPINGS = {
    *("dict", "Dict", "OrderedDict", "UserDict", "Mapping", "MutableMapping", "defaultdict"),
    *("Counter", "ChainMap", "TypedDict"),
}
_OF_KEYS = {"list", "tuple", "set", "frozenset", "sorted", "iter"}
"""Calls that see of a mapping its keys alone."""
_TYPES = {"type", "isinstance", "issubclass", "callable", "hasattr", "id"}
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)

Equality = ast.FunctionDef | ast.Lambda


class Loose(NamedTuple):
    """One equality that holds for what differs."""

    name: str
    line: int
    how: str


def loose_equalities(text: str) -> Iterator[Loose]:
    """Each equality of a source that is no comparison of all that its object holds."""
    if not any(word in text for word in (*_METHODS, *_EXCLUDING)):
        return
    tree = python_tree(text)
    if tree is None:
        return
    functions = {one.name: one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
    mappings = {
        one.name
        for one in ast.walk(tree)
        if isinstance(one, ast.ClassDef) and any(_is_mapping(base) for base in one.bases)
    }
    for owner, name, value in _bound(tree):
        method = functions.get(value.id) if isinstance(value, ast.Name) else value
        if isinstance(method, ast.FunctionDef | ast.Lambda):
            if owner in mappings:
                method = _with_keys(method)
            how = _how_unequal(method) if name == "__ne__" else _how_loose(method, owner)
            if how:
                yield Loose(owner or "an object", value.lineno, how)
    yield from _excluded_fields(tree)


def _bound(tree: ast.Module) -> Iterator[tuple[str, str, ast.expr | ast.FunctionDef]]:
    """Owner, name and value of what becomes an equality: in its class, or from elsewhere."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef():
                yield from _in_class(node)
            case ast.Assign(targets=[ast.Attribute(attr=name) as target], value=value):
                if name in _METHODS:
                    yield ast.unparse(target.value), name, value
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    name = ast.unparse(key)[1:-1] if isinstance(key, ast.Constant) else ""
                    yield from [("", name, value)] if name in _METHODS else ()
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(name), value]):
                if name in _METHODS:
                    yield ast.unparse(owner), str(name), value


def _in_class(owner: ast.ClassDef) -> Iterator[tuple[str, str, ast.expr | ast.FunctionDef]]:
    for node in owner.body:
        match node:
            case ast.FunctionDef(name=name) if name in _METHODS:
                yield owner.name, name, node
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Name) and target.id in _METHODS:
                        yield owner.name, target.id, value


def _results(method: Equality) -> list[ast.expr]:
    if isinstance(method, ast.Lambda):
        return [method.body]
    return [one.value for one in ast.walk(method) if isinstance(one, ast.Return) and one.value]


def _is_mapping(base: ast.expr) -> bool:
    plain = base.value if isinstance(base, ast.Subscript) else base  # `dict[str, int]`
    return _called(plain) in _MAPPINGS


def _with_keys(method: Equality) -> Equality:
    """The equality of a mapping, with `keys` for all that looks at its keys or at one value."""
    names = {one.arg for one in (*method.args.posonlyargs, *method.args.args)}

    class Named(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            match node:
                case ast.Call(func=ast.Name(id=called), args=[ast.Name(id=given)]):
                    if called in _OF_KEYS and given in names:
                        return _keys_of(node, given)
            return self.generic_visit(node)

        def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
            match node:
                case ast.Subscript(value=ast.Name(id=given), slice=ast.Constant()):
                    if given in names:
                        return _keys_of(node, given)
            return self.generic_visit(node)

    named: Equality = Named().visit(copy.deepcopy(method))
    return named


def _keys_of(node: ast.expr, name: str) -> ast.Call:
    call = ast.Call(ast.Name("keys", ast.Load()), [ast.Name(name, ast.Load())], [])
    return ast.fix_missing_locations(ast.copy_location(call, node))


def _how_unequal(method: Equality) -> str:
    """`!=` that is never true."""
    results = _results(method)
    return BLIND if results and all(_is_constant(one, truth=False) for one in results) else ""


def _how_loose(method: Equality, owner: str) -> str:
    results = _results(method)
    if not results or all(_is_no(one) for one in results):
        return ""  # an object that equals nothing deceives no test
    arguments = [one.arg for one in (*method.args.posonlyargs, *method.args.args)]
    own = {arguments[0] if arguments else "self", "super", *([owner] if owner else ())}
    used = any(isinstance(one, ast.Name) and one.id in own for one in ast.walk(method))
    if not used or any(_is_always(one) for one in results if not _has_guards(method)):
        return BLIND
    if any(_has_loose_way(one) or _has_blind_way(one, own) for one in results):
        return NEAR
    if any(_is_blind_branch(one, own) for one in ast.walk(method)):
        return NEAR
    terms = [one for one in ast.walk(method) if isinstance(one, ast.expr)]
    loose = any(_is_loose_term(one) for one in terms)
    return NEAR if loose and not any(_is_exact_term(one) for one in terms) else ""


def _has_guards(method: Equality) -> bool:
    return any(
        isinstance(one, ast.If | ast.Match | ast.For | ast.While) for one in ast.walk(method)
    )


def _has_loose_way(node: ast.expr) -> bool:
    """`… or` what is near, or always true: one loose way is enough to be equal."""
    return any(
        any(_is_always(way) or _is_only_loose(way) for way in one.values)
        for one in _alternatives(node)
    )


def _has_blind_way(node: ast.expr, own: set[str]) -> bool:
    """`not other or …`: a way to be equal that uses nothing of the object itself."""
    return any(not all(_uses(way, own) for way in one.values) for one in _alternatives(node))


def _alternatives(node: ast.expr) -> Iterator[ast.BoolOp]:
    """Each `or` that decides what comes out; within a side of a comparison it is a default."""
    match node:
        case ast.BoolOp(op=op, values=values):
            if isinstance(op, ast.Or):
                yield node
            for value in values:
                yield from _alternatives(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand) | ast.NamedExpr(value=operand):
            yield from _alternatives(operand)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _alternatives(body)
            yield from _alternatives(orelse)
        case ast.Call(args=values):
            for value in values:
                yield from _alternatives(value)


def _is_blind_branch(node: ast.AST, own: set[str]) -> bool:
    """`if not other: return True`."""
    match node:
        case ast.If(test=test, body=[ast.Return(value=ast.expr() as value)]):
            return _is_always(value) and not _uses(test, own)
    return False


def _uses(node: ast.expr, own: set[str]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in own for one in ast.walk(node))


def _is_only_loose(node: ast.expr) -> bool:
    terms = [one for one in ast.walk(node) if isinstance(one, ast.expr)]
    return any(map(_is_loose_term, terms)) and not any(map(_is_exact_term, terms))


def _is_loose_term(node: ast.expr) -> bool:
    """A comparison by order, by a range, or of what a losing call left."""
    match node:
        case ast.Compare(ops=ops):
            return any(isinstance(one, _ORDER) for one in ops) or _loses(node)
        case ast.Call(func=func):
            return _called(func) in _LOSING
    return False


def _is_exact_term(node: ast.expr) -> bool:
    """A comparison of values as they are, `super()`'s among them; of types it says nothing."""
    match node:
        case ast.Compare(
            ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot()], comparators=[right]
        ):
            sides = (node.left, right)
            named = not any(isinstance(one, ast.Constant) for one in sides)
            return named and not _loses(node) and not any(_asks_type(one) for one in sides)
        case ast.Call(func=ast.Attribute(attr="__eq__" | "__ne__" | "equals" | "issubset")):
            return True
    return False


def _loses(node: ast.expr) -> bool:
    """Whether a losing call, a slice, or a division without its rest stands in it."""
    return any(
        (isinstance(one, ast.Call) and _called(one.func) in _LOSING)
        or (isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Slice))
        or (isinstance(one, ast.BinOp) and isinstance(one.op, ast.FloorDiv | ast.RShift))
        for one in ast.walk(node)
    )


def _asks_type(node: ast.expr) -> bool:
    return (isinstance(node, ast.Call) and _called(node.func) in _TYPES) or (
        isinstance(node, ast.Attribute) and node.attr == "__class__"
    )


def _called(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _is_always(node: ast.expr) -> bool:
    return _is_constant(node, truth=True)


def _is_constant(node: ast.expr, *, truth: bool) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value) is truth


def _is_no(node: ast.expr) -> bool:
    """False, or that it is not known."""
    return _is_constant(node, truth=False) or (
        isinstance(node, ast.Name) and node.id == "NotImplemented"
    )


def _excluded_fields(tree: ast.Module) -> Iterator[Loose]:
    """Fields of data classes that are left out of their equality."""
    for owner in ast.walk(tree):
        if not isinstance(owner, ast.ClassDef):
            continue
        for node in owner.body:
            match node:
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call):
                    pass
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                    pass
                case _:
                    continue
            if _called(call.func) in _FIELDS and any(
                word.arg in _EXCLUDING and _is_constant(word.value, truth=False)
                for word in call.keywords
            ):
                yield Loose(f"{owner.name}.{name}", node.lineno, PART)
