"""Both sides of what a Python test holds equal, names followed to what they were given.

So `wanted = f(x)` before `assert f(x) == wanted` is read as what it is, and so is an `ANY` that
goes by another name.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from runner.languages import base
from runner.languages.base import same_on_both
from runner.languages.python.marks import rows_of
from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.languages.base import Claim
    from runner.languages.python.marks import Function

    Known: TypeAlias = Mapping[str, ast.expr]

_DEEPEST = 3
_MOST_SPELLED = 500
_EQUALITIES = frozenset(
    {"assertEqual", "assertEquals", "assertIs", "assertListEqual", "assertDictEqual"}
    | {"assertTupleEqual", "assertSetEqual", "assertCountEqual", "assertAlmostEqual"}
    | {"assertMultiLineEqual", "assertSequenceEqual", "assert_equal"}
)
_ANYTHING = regex(r"(?:\w+\.)*ANY\Z|(?:\w+\.)*(?:AlwaysEqual|Anything|ALWAYS_EQ)(?:\(\))?\Z")
_MATCHES_ALL = regex(r"(?:\(\?s\))?\^?(?:\.[*]|\[\\s\\S\][*]|\(\.[*]\)|\(\?:\))?\$?\Z")
_MATCHERS = frozenset({"match", "search", "fullmatch", "findall", "assertRegex"})


def equal_to_all(tree: ast.Module) -> frozenset[str]:
    """Names in a file that stand for what equals everything: `ANY`, or a class that says so."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(map(_is_always_equal, node.body)):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {one.asname for one in node.names if one.name == "ANY" and one.asname}
    return frozenset(found)


def _is_always_equal(node: ast.stmt) -> bool:
    """An `__eq__` that gives the same each time."""
    if isinstance(node, ast.FunctionDef) and node.name == "__eq__":
        given = [one.value for one in ast.walk(node) if isinstance(one, ast.Return)]
        return bool(given) and all(isinstance(v, ast.Constant) and bool(v.value) for v in given)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
        names = {one.id for one in node.targets if isinstance(one, ast.Name)}
        said = node.value.body
        return "__eq__" in names and isinstance(said, ast.Constant) and bool(said.value)
    return False


@dataclass(frozen=True, slots=True)
class Names:
    """What the names in a file stand for."""

    outer: Known
    """Given once, at the level of the file."""
    all_equal: frozenset[str]
    """Those of what equals everything."""

    @classmethod
    def of(cls, tree: ast.Module) -> Names:
        """Of a whole file."""
        return cls(find_single_assignments(tree.body), equal_to_all(tree))

    def within(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Known:
        """What each name stands for in a function that is given a value once."""
        own = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
        known = {**self.outer, **find_single_assignments(function.body)}
        return {name: value for name, value in known.items() if name not in own}


def find_single_assignments(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """What each name is given that a block gives a value exactly once, at its own level."""
    stored = Counter(
        node.id
        for statement in body
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)
    )
    found = {}
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored[name] == 1:
                found[name] = value
    return found


def sides_of(node: ast.Assert | ast.Call) -> tuple[str, ...]:
    """Both sides of an equality; empty for what claims none."""
    match node:
        case ast.Assert(test=ast.Compare(left=one, ops=[ast.Eq() | ast.Is()], comparators=[other])):
            return ast.unparse(one), ast.unparse(other)
        case ast.Call(func=ast.Attribute(attr=name), args=[one, other, *_]) if name in _EQUALITIES:
            return ast.unparse(one), ast.unparse(other)
    return ()


def conjuncts_of(test: ast.expr) -> tuple[str, ...]:
    """What an assertion claims, each by itself; of an order either side may stand first."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return tuple(one for value in values for one in conjuncts_of(value))
        case ast.Compare(left=left, ops=operators, comparators=right):
            pairs = zip([left, *right], operators, right, strict=False)
            return tuple(_written_upwards(*pair) for pair in pairs)
    return (ast.unparse(test),)


def _written_upwards(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> str:
    match operator:
        case ast.Gt():
            left, operator, right = right, ast.Lt(), left
        case ast.GtE():
            left, operator, right = right, ast.LtE(), left
    return ast.unparse(ast.Compare(left, [operator], [right]))


def follow_names(found: Iterable[Claim], names: Names, known: Known) -> Iterator[Claim]:
    """Claims with the names in their sides followed, and as strong as they then are."""
    for claim in found:
        sides = tuple(_substitute(side, known) for side in claim.sides)
        strength = claim.strength
        if any(_equals_all(side, names.all_equal) for side in sides) or same_on_both(sides):
            strength = min(strength, base.RUNS)
        yield replace(claim, sides=sides, strength=strength)


def spell_out(function: Function, claims: Sequence[Claim], names: Names) -> frozenset[str]:
    """The claims of a test in each of its cases, values in the place of names.

    Empty where it does anything beside: what was done before a claim is part of what it says.
    """
    rows = rows_of(function)
    arguments = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)} - {"self"}
    plain = all(map(_only_claims, function.body)) and _uses_all_it_made(function)
    if not rows or not plain or len(rows) * len(claims) > _MOST_SPELLED:
        return frozenset()
    if any(arguments != row.keys() for row in rows):
        return frozenset()  # a fixture is something done before
    known = names.within(function)
    return frozenset(
        f"{claim.strength:g} {claim.slack:g} {_substitute(_in_one(claim), {**known, **row})}"
        for claim in claims
        for row in rows
        if claim.speaks
    )


def _in_one(claim: Claim) -> str:
    return " == ".join(f"({side})" for side in claim.sides) or claim.text


def _uses_all_it_made(function: Function) -> bool:
    """Whether each name is given once and read: what nobody reads was done for its effect."""
    names = [one for one in ast.walk(function) if isinstance(one, ast.Name)]
    made = [one.id for one in names if isinstance(one.ctx, ast.Store)]
    read = {one.id for one in names if isinstance(one.ctx, ast.Load)}
    return len(made) == len(set(made)) and set(made) <= read


def _only_claims(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assert() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name()]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name))):
            return name.startswith("assert")
    return False


def _substitute(side: str, known: Known) -> str:
    tree = python_tree(side)
    if tree is None:
        return side
    try:
        return ast.unparse(_Followed(known, _DEEPEST).visit(tree))
    except (ValueError, RecursionError):  # it cannot be written in an f-string
        return side


class _Followed(ast.NodeTransformer):
    """Puts what a name was given in its place.

    Read anew, never copied: CPython shares nodes like `Load()` between all trees, and bandit hangs
    its whole trees on them. `deepcopy` would copy those, while another thread changes them.
    """

    def __init__(self, known: Known, depth: int) -> None:
        self._known, self._depth = known, depth

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name that is read."""
        value = self._known.get(node.id)
        if value is None or not self._depth or not isinstance(node.ctx, ast.Load):
            return node
        tree = python_tree(ast.unparse(value))
        if tree is None or not isinstance(tree.body[0], ast.Expr):
            return node
        put: ast.AST = _Followed(self._known, self._depth - 1).visit(tree.body[0].value)
        return put

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """A part that is given as a value, `a[slice(1, 3)]`, as it is written: `a[1:3]`."""
        self.generic_visit(node)
        match node.slice:
            case ast.Call(func=ast.Name(id="slice"), args=[_, *_] as given, keywords=[]):
                parts = [None if ast.unparse(one) == "None" else one for one in given]
                parts = [None, *parts] if len(parts) == 1 else parts
                part = ast.Slice(*[*parts, None][:3])
                node = ast.Subscript(node.value, part, node.ctx)
        return node


def _equals_all(side: str, all_equal: frozenset[str]) -> bool:
    name = side.partition("(")[0]
    return bool(_ANYTHING.match(side)) or name in all_equal


def matches_all(node: ast.expr) -> bool:
    """Whether this is a search for a pattern that every text matches."""
    return any(_is_search_for_all(call) for call in _calls(node))


def _calls(node: ast.expr) -> Iterator[ast.Call]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Call))


def _is_search_for_all(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    patterns = call.args[1:2] if name == "assertRegex" else call.args[:1]
    if name not in _MATCHERS:
        return False
    return any(map(is_pattern_of_all, patterns))


def is_pattern_of_all(node: ast.expr) -> bool:
    """Whether a pattern, as it is written, matches every text."""
    if isinstance(node, ast.Call) and node.args:  # re.compile(...)
        node = node.args[0]
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and bool(_MATCHES_ALL.match(node.value))
    )
