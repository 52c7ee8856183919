"""What an expression of a function is, as far as the walk knows it, and who is given it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from runner.writes.taint import calls
from runner.writes.taint.abstract_values import (
    Box,
    Known,
    Named,
    Taint,
    Unknown,
    Value,
    apply_comparison,
    apply_operator,
    apply_slice,
    as_text,
    either,
    hashable,
    is_exact,
    item_at,
    item_of,
    join_values,
    text,
    truth,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.writes.taint.abstract_values import Report

_MOST_STEPS = 40_000
"""Statements and expressions of one function; what is longer is not walked to its end."""


class TooLong(Exception):  # noqa: N818 - the word for what happened
    """The walk was given up."""


class Expressions:
    """Names and their values in one function, or among the module's own statements."""

    def __init__(
        self,
        report: Report,
        names: dict[str, str],
        tick: Callable[[], None],
        outer: dict[str, Value],
        *,
        route: str | None = None,
    ) -> None:
        self.report = report
        self.names = names
        self.tick = tick
        self.values = dict(outer)
        self.checked: set[int] = set()
        self.route = route
        """The path of the page that the function returns; None where it returns none."""
        self._steps = 0
        self._origins = 0

    def step(self) -> None:
        """Count what is looked at; raises TooLong where there is no end of it."""
        self._steps += 1
        if self._steps % 64 == 0:
            self.tick()
        if self._steps > _MOST_STEPS:
            raise TooLong

    # --- targets ----------------------------------------------------------------------

    def bind(self, target: ast.expr, value: Value) -> None:
        """Give a value to a name, an item or an attribute."""
        match target:
            case ast.Name(id=name):
                self.values[name] = value
                self.names.pop(name, None)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for place, part in enumerate(parts):
                    self.bind(part, item_at(value, Known(place)))
            case ast.Starred(value=inner):
                self.bind(inner, value)
            case ast.Subscript(value=owner, slice=key):
                self._bind_item(target, owner, key, value)
            case ast.Attribute(value=owner):
                kept = self.value(owner)
                if isinstance(owner, ast.Name) and not isinstance(kept, Named | Box):
                    self.values[owner.id] = value if isinstance(value, Taint) else kept
            case _:
                pass

    def _bind_item(self, node: ast.expr, owner: ast.expr, key: ast.expr, value: Value) -> None:
        box, at = self.value(owner), self.value(key)
        if isinstance(box, Named) and box.name.endswith(("flask.session", "request.session")):
            calls.reach(self, "trustbound", node, join_values([value, at]))
            return
        if isinstance(box, Box):
            if is_exact(at) and hashable(at):
                box.items[at.value] = value  # type: ignore[union-attr]
            else:
                box.rest = join_values([box.rest, value]) if box.items or not box.exact else value
                box.exact = False
        elif isinstance(value, Taint) and isinstance(owner, ast.Name):
            self.values[owner.id] = value

    # --- expressions ------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        """What is known of an expression."""
        self.step()
        ask = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if ask is not None:
            found: Value = ask(node)
            return found
        parts = [self.value(one) for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
        return (
            join_values([one for one in parts if isinstance(one, Taint | Box)])
            if parts
            else Unknown()
        )

    def fresh(self, source: str, *, weak: bool) -> Taint:
        """A new reading of a source."""
        self._origins += 1
        return Taint(source, weak, origin=id(self) * 1000 + self._origins)

    def _of_constant(self, node: ast.Constant) -> Value:
        return Known(node.value)

    def _of_name(self, node: ast.Name) -> Value:
        if node.id in self.values:
            return self.values[node.id]
        return Named(self.names.get(node.id, node.id))

    def _of_attribute(self, node: ast.Attribute) -> Value:
        return self.attribute_of(node, self.value(node.value))

    def attribute_of(self, node: ast.Attribute, owner: Value) -> Value:
        """What an attribute is of a value that is known already."""
        if node.attr == "request" and isinstance(node.value, ast.Name) and node.value.id == "self":
            return Named("django.request")  # of a view that is a class
        if isinstance(owner, Named):
            return calls.attribute(self, f"{owner.name}.{node.attr}")
        if isinstance(owner, Box):
            return owner.any()
        return owner if isinstance(owner, Taint) else Unknown()

    def _of_subscript(self, node: ast.Subscript) -> Value:
        owner = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            bounds = [
                self.value(one) if one is not None else Known(None)
                for one in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            return apply_slice(owner, bounds)
        key = self.value(node.slice)
        if isinstance(owner, Named):
            return calls.item(self, owner.name)
        return item_at(owner, key)

    def _of_joinedstr(self, node: ast.JoinedStr) -> Value:
        return self._make_text(node, text([self.value(one) for one in node.values]))

    def _of_formattedvalue(self, node: ast.FormattedValue) -> Value:
        value = self.value(node.value)
        if is_exact(value) and (node.conversion != -1 or node.format_spec is not None):
            return either()  # a constant, of whatever width
        return as_text(value)

    def _of_binop(self, node: ast.BinOp) -> Value:
        return self._make_text(
            node, apply_operator(node.op, self.value(node.left), self.value(node.right))
        )

    def _make_text(self, node: ast.expr, value: Value) -> Value:
        """A text put together: of constants alone, it is no statement that anybody can bend."""
        if isinstance(value, Known):
            self.report.constant.add(("sqli", node.lineno))
        return value

    def _of_compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        others = [self.value(one) for one in node.comparators]
        if len(others) == 1 and is_exact(left) and is_exact(others[0]):
            return apply_comparison(node.ops[0], left.value, others[0].value)  # type: ignore[union-attr]
        return Unknown()

    def _of_boolop(self, node: ast.BoolOp) -> Value:
        values = [self.value(one) for one in node.values]
        return join_values(values)

    def _of_unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return Known(not truth(value)) if is_exact(value) else Unknown()
        if is_exact(value) and isinstance(value.value, int | float):  # type: ignore[union-attr]
            number = value.value  # type: ignore[union-attr]
            return Known(-number if isinstance(node.op, ast.USub) else number)
        return Unknown()

    def _of_ifexp(self, node: ast.IfExp) -> Value:
        test = self.value(node.test)
        if is_exact(test):
            return self.value(node.body if truth(test) else node.orelse)
        return join_values([self.value(node.body), self.value(node.orelse)])

    def _of_dict(self, node: ast.Dict) -> Value:
        box = Box()
        for key, value in zip(node.keys, node.values, strict=True):
            held = self.value(value)
            at = self.value(key) if key is not None else Unknown()
            if is_exact(at) and hashable(at):
                box.items[at.value] = held  # type: ignore[union-attr]
            else:
                box.rest, box.exact = join_values([box.rest, held]), False
        return box

    def _of_list(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        held = [self.value(one) for one in node.elts]
        return Box(dict(enumerate(held)), is_list=True)

    _of_tuple = _of_list
    _of_set = _of_list

    def _of_namedexpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.bind(node.target, value)
        return value

    def _of_lambda(self, _node: ast.Lambda) -> Value:
        return Unknown()

    def _of_await(self, node: ast.Await) -> Value:
        return self.value(node.value)

    def _of_starred(self, node: ast.Starred) -> Value:
        return self.value(node.value)

    def _of_listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        kept = dict(self.values)
        for clause in node.generators:
            self.bind(clause.target, item_of(self.value(clause.iter)))
        held = self.value(node.elt)
        self.values = kept
        return Box({}, held, is_list=True, exact=False)

    _of_setcomp = _of_listcomp
    _of_generatorexp = _of_listcomp

    def _of_call(self, node: ast.Call) -> Value:
        return calls.evaluate_call(self, node)
