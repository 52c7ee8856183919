"""What a Python function asserts, how firmly, and what may keep an assertion from speaking."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from runner.languages import base
from runner.languages.base import Claim
from runner.languages.python.marks import Function, name_of
from runner.languages.python.sides import (
    conjuncts_of,
    is_pattern_of_all,
    matches_all,
    sides_of,
)
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Guards: TypeAlias = frozenset[str]

_ASSERTING = regex(
    r"\A_?(?:assert|check|verify|expect|ensure|validate|must|should|eventually)(?:_|[A-Z]|\Z)"
    r"|\A_?wait_(?:for|until)"
)
_RAISES = frozenset(
    {"raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns", "assertWarnsRegex"}
    | {"deprecated_call"}
)
_WIDE = frozenset({"Exception", "BaseException", "Warning"})
_METHODS = {
    "assertEqual": base.EQUALS,
    "assertEquals": base.EQUALS,
    "assertIs": base.EQUALS,
    "assertListEqual": base.EQUALS,
    "assertDictEqual": base.EQUALS,
    "assertAlmostEqual": base.EQUALS,
    "assertCountEqual": base.COMPARES,
    "assertIn": base.CONTAINS,
    "assertNotIn": base.CONTAINS,
    "assertRegex": base.CONTAINS,
    "assertTrue": base.TRUTH,
    "assertFalse": base.TRUTH,
    "assertIsNotNone": base.TRUTH,
    "assertNotEqual": base.TRUTH,
    "assertIsNone": base.EQUALS,
    "assertIsInstance": base.CONTAINS,
}
_RUNNERS = frozenset({"run", "run_until_complete"})
"""Calls that wait for a coroutine, by the last word of their names."""
_CATCHES = frozenset({"", "AssertionError", "Exception", "BaseException"})


def is_asserting_name(name: str) -> bool:
    """Whether a function says by its name that it asserts."""
    return bool(_ASSERTING.search(name))


def is_helping_name(name: str) -> bool:
    """Whether a function that asserts is somebody's own, not one of unittest's: those are read."""
    return is_asserting_name(name) and name not in _METHODS


def claims_of(function: Function, helpers: frozenset[str]) -> Iterator[Claim]:
    """The assertions in a function in the order of its text; `helpers` assert for it."""
    yield from _in_block(function.body, helpers, frozenset())


def _in_block(body: list[ast.stmt], helpers: frozenset[str], guards: Guards) -> Iterator[Claim]:
    """The assertions of a block; what ends the block early guards those after it."""
    inside = _run_inside(body)
    for statement in body:
        yield from _in_statement(statement, helpers, guards)
        function = inside.get(getattr(statement, "name", ""))
        if function is not None and function is statement:
            yield from _in_block(function.body, helpers, guards)
        if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
            guards |= {base.NEVER}
        elif isinstance(statement, ast.If) and _returns(statement.body):
            guards |= {base.NEVER if _constant(statement.test) else base.AFTER_RETURN}


def _run_inside(body: list[ast.stmt]) -> dict[str, Function]:
    """The functions of a block that its statements call and wait for, by one another, too."""
    inside = {
        one.name: one for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    known: dict[str, Function] = {}
    left = [body] if inside else []
    while left:
        new = {name: inside[name] for name in _called(left.pop(), inside) if name not in known}
        known |= new
        left += [one.body for one in new.values()]
    return known


def _called(body: list[ast.stmt], inside: Mapping[str, Function]) -> set[str]:
    """Those of these functions that plain statements of a block call and wait for."""
    found: set[str] = set()
    for statement in body:
        match statement:
            case (
                ast.Expr(value)
                | ast.Assign(value=value)
                | ast.Assert(test=value)
                | ast.Return(value=ast.expr() as value)
            ):
                nodes = [*ast.walk(value)]
                if not any(isinstance(node, ast.Lambda) for node in nodes):
                    found.update(name for node in nodes for name in _waits_for(node, inside))
        if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
            break
    return found


def _waits_for(node: ast.AST, inside: Mapping[str, Function]) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id=name)) if isinstance(inside.get(name), ast.FunctionDef):
            yield name
        case ast.Await(value=value):
            yield from _coroutines(value, inside)
        case ast.Call(func=called, args=given):
            if name_of(called).rpartition(".")[2] in _RUNNERS:
                for one in given:
                    yield from _coroutines(one, inside)


def _coroutines(value: ast.expr, inside: Mapping[str, Function]) -> Iterator[str]:
    for one in ast.walk(value):
        if isinstance(one, ast.Name) and isinstance(inside.get(one.id), ast.AsyncFunctionDef):
            yield one.id


def _returns(body: list[ast.stmt]) -> bool:
    return any(isinstance(statement, ast.Return) for statement in body)


def _in_statement(statement: ast.stmt, helpers: frozenset[str], guards: Guards) -> Iterator[Claim]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return  # a function inside claims nothing unless it is called (`_run_inside`)
        case ast.Assert():
            yield _of_assert(statement, guards)
        case ast.If() | ast.While():
            yield from _in_choice(statement, helpers, guards)
        case ast.Try() | ast.TryStar():
            yield from _in_attempt(statement, helpers, guards)
        case ast.With() | ast.AsyncWith():
            for item in statement.items:
                yield from _of_calls(item.context_expr, helpers, guards)
            inner = guards | {base.SWALLOWED} if _suppresses(statement) else guards
            yield from _in_block(statement.body, helpers, inner)
        case ast.For() | ast.AsyncFor():
            yield from _in_loop(statement, helpers, guards)
        case ast.Match():
            yield from _of_calls(statement.subject, helpers, guards)
            for each in statement.cases:
                yield from _in_block(each.body, helpers, guards | {base.CONDITIONAL})
        case _:
            yield from _of_calls(statement, helpers, guards)


def _in_attempt(
    statement: ast.Try | ast.TryStar, helpers: frozenset[str], guards: Guards
) -> Iterator[Claim]:
    caught = guards | {base.SWALLOWED} if _catches(statement) else guards
    yield from _in_block(statement.body, helpers, caught)
    yield from _in_block(statement.orelse, helpers, guards)
    for handler in statement.handlers:
        yield from _in_block(handler.body, helpers, guards | {base.CONDITIONAL})
    yield from _in_block(statement.finalbody, helpers, guards)


def _in_loop(
    statement: ast.For | ast.AsyncFor, helpers: frozenset[str], guards: Guards
) -> Iterator[Claim]:
    inner = guards | {base.NEVER} if _is_empty(statement.iter) else guards
    yield from _in_block(statement.body, helpers, inner)
    # Behind `else` it goes on unless something breaks off the loop (Python reference, 8.3).
    broken = any(isinstance(one, ast.Break) for one in ast.walk(statement))
    behind = guards | {base.CONDITIONAL} if broken else guards
    yield from _in_block(statement.orelse, helpers, behind)


def _in_choice(
    statement: ast.If | ast.While, helpers: frozenset[str], guards: Guards
) -> Iterator[Claim]:
    known = _constant(statement.test)
    first = guards | {base.CONDITIONAL}
    if known:
        truth = bool(getattr(statement.test, "value", True))
        first = guards if truth else guards | {base.NEVER}
    yield from _in_block(statement.body, helpers, first)
    yield from _in_block(statement.orelse, helpers, guards | {base.CONDITIONAL})


def _is_empty(node: ast.expr) -> bool:
    """Whether there is nothing to go through, as it is written."""
    if isinstance(node, ast.Dict):
        return not node.keys
    return isinstance(node, ast.Tuple | ast.List) and not node.elts


def _catches(statement: ast.Try | ast.TryStar) -> bool:
    """Whether a failing assertion would be caught here and not be raised again."""
    for handler in statement.handlers:
        types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names = {name_of(one) if one else "" for one in types}
        ends = any(isinstance(inner, ast.Raise) for inner in ast.walk(handler))
        if names & _CATCHES and not ends and not _fails(handler):
            return True
    return False


def _fails(handler: ast.ExceptHandler) -> bool:
    calls = (name_of(node) for node in ast.walk(handler) if isinstance(node, ast.Call))
    return any(name.rpartition(".")[2] == "fail" for name in calls)


def _suppresses(statement: ast.With | ast.AsyncWith) -> bool:
    for item in statement.items:
        if name_of(item.context_expr).endswith("suppress") and isinstance(
            item.context_expr, ast.Call
        ):
            return any(name_of(one) in _CATCHES for one in item.context_expr.args)
    return False


# --- how firmly -----------------------------------------------------------------------


def _of_assert(node: ast.Assert, guards: Guards) -> Claim:
    subject, strength, slack = _measure(node.test)
    text, sides, parts = f"assert {ast.unparse(node.test)}", sides_of(node), conjuncts_of(node.test)
    return Claim(text, subject, strength, node.lineno, slack, guards, sides, parts=parts)


def _measure(test: ast.expr) -> tuple[str, float, float]:
    """Subject, strength and slack of what is asserted."""
    if _constant(test):
        return "", base.CONSTANT, 0.0
    match test:
        case ast.BoolOp(op=ast.And()):
            parts = [_measure(value) for value in test.values]
            return parts[0][0], max(strength for _, strength, _ in parts), parts[0][2]
        case ast.BoolOp(op=ast.Or()):
            subject, strength, slack = _measure(test.values[0])
            return subject, min(strength, base.TRUTH), slack
        case ast.UnaryOp(op=ast.Not()):
            return _measure(test.operand)[0], base.TRUTH, 0.0
        case ast.Compare():
            return _of_comparison(test)
        case ast.Call():
            return _of_call(test)
    return ast.unparse(test), base.TRUTH, 0.0


def _of_comparison(test: ast.Compare) -> tuple[str, float, float]:
    """One comparison, or a chain of them, which says as much as its strongest."""
    pairs = zip([test.left, *test.comparators], test.ops, test.comparators, strict=False)
    parts = [_read_comparison(*pair) for pair in pairs]
    return parts[0][0], max(strength for _, strength, _ in parts), parts[0][2]


def _of_call(test: ast.Call) -> tuple[str, float, float]:
    match test:
        case ast.Call(func=ast.Attribute(attr="match" | "search" | "fullmatch"), args=[_, about]):
            strength = base.RUNS if matches_all(test) else base.CONTAINS
            return ast.unparse(about), strength, 0.0
        case ast.Call(func=ast.Name(id="isinstance"), args=[about, *_]):
            return ast.unparse(about), base.TRUTH, 0.0
        case ast.Call(func=ast.Name(id="bool" | "len"), args=[about]):
            return ast.unparse(about), base.TRUTH, 0.0
        case ast.Call(func=ast.Attribute(value=about, attr="startswith" | "endswith")):
            return ast.unparse(about), base.CONTAINS, 0.0
    return ast.unparse(test), base.TRUTH, 0.0


def _read_comparison(
    left: ast.expr, operator: ast.cmpop, right: ast.expr
) -> tuple[str, float, float]:
    subject = ast.unparse(left)
    match operator:
        case ast.Eq() | ast.Is():
            return subject, base.EQUALS, _slack(right)
        case ast.In() | ast.NotIn():
            swapped = isinstance(left, ast.Constant)
            return ast.unparse(right) if swapped else subject, base.CONTAINS, 0.0
        case ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE():
            return subject, base.COMPARES, _tolerance(left, right)
    return subject, base.TRUTH, 0.0


def _slack(right: ast.expr) -> float:
    """How far `approx` lets a number be off: its largest tolerance."""
    if not isinstance(right, ast.Call) or not name_of(right).endswith("approx"):
        return 0.0
    given = [keyword.value for keyword in right.keywords if keyword.arg in ("rel", "abs")]
    numbers = [_number(value) for value in (*given, *right.args[1:])]
    # Where neither is named, `approx` allows a millionth of the expected value (pytest's
    # reference).
    return max((number for number in numbers if number is not None), default=1e-6)


def _tolerance(left: ast.expr, right: ast.expr) -> float:
    """The tolerance of `abs(a - b) < 0.1`."""
    # Only so is the number a tolerance: in `n < 10` it is a bound that the claim is about.
    if name_of(left).endswith("abs") and isinstance(left, ast.Call):
        return _number(right) or 0.0
    return 0.0


def _number(node: ast.expr) -> float | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return float(value) if isinstance(value, int | float) else None


def _of_calls(node: ast.AST, helpers: frozenset[str], guards: Guards) -> Iterator[Claim]:
    """Assertions that are calls: of unittest, mocks, `pytest.raises`, and of this file itself."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        name = name_of(call).rpartition(".")[2] or getattr(call.func, "attr", "")
        if name in _RAISES:
            width = _width(call, by_text=name.endswith("Regex"))
            yield Claim(ast.unparse(call), "raises", width, call.lineno, 0.0, guards)
        elif is_asserting_name(name) or name == "fail":
            yield _of_method(call, name, guards)
        elif name in helpers:
            yield replace(_of_method(call, name, guards), by_helper=True)


def _width(call: ast.Call, *, by_text: bool) -> float:
    """How narrow an expected exception is: a type with a message, a type, several, any."""
    first = call.args[0] if call.args else None
    if first is None or name_of(first) in _WIDE:
        return base.TRUTH
    if isinstance(first, ast.Tuple):
        wide = any(name_of(one) in _WIDE for one in first.elts)
        return base.TRUTH if wide else base.COMPARES
    texts = [one.value for one in call.keywords if one.arg == "match"]
    texts += call.args[1:2] if by_text else []
    matched = any(not is_pattern_of_all(one) for one in texts)
    return base.EXACT if matched else base.EQUALS


def _of_method(call: ast.Call, name: str, guards: Guards) -> Claim:
    subject = ast.unparse(call.args[0]) if call.args and name in _METHODS else name
    swapped = name in ("assertIn", "assertNotIn") and len(call.args) > 1
    subject = ast.unparse(call.args[1]) if swapped else subject
    strength = _METHODS.get(name, base.EQUALS)
    truth = name in ("assertTrue", "assertFalse")
    fixed = _constant if truth else _speechless  # a tuple is true, and may differ from another
    if name in _METHODS and call.args and all(fixed(one) for one in call.args):
        strength = base.CONSTANT
    if truth and call.args:
        subject = _measure(call.args[0])[0] or subject
    if name == "assertRegex" and matches_all(call):
        strength = base.RUNS
    slack = _method_slack(call) if name.endswith(("AlmostEqual", "allclose")) else 0.0
    text, sides = ast.unparse(call), sides_of(call)
    return Claim(text, subject, strength, call.lineno, slack, guards, sides)


def _method_slack(call: ast.Call) -> float:
    """Unittest counts places (7 of them where none are named), or takes a `delta`."""
    for keyword in call.keywords:
        number = _number(keyword.value)
        if number is not None and keyword.arg == "places":
            return float(10.0**-number)
        if number is not None and keyword.arg in ("delta", "rtol", "atol"):
            return number
    return 1e-7


def _constant(test: ast.expr) -> bool:
    """Whether an expression is always the same, or compares a name with itself."""
    match test:
        case ast.Tuple(elts=[_, *_]) | ast.Lambda() | ast.GeneratorExp():
            return True  # a claim and its message in brackets; or what nobody calls
        case ast.BoolOp(op=ast.Or()):
            return any(isinstance(v, ast.Constant) and bool(v.value) for v in test.values)
        case ast.Compare(left=ast.Name(id=one), ops=[ast.Eq() | ast.Is()], comparators=[right]):
            return isinstance(right, ast.Name) and right.id == one
    return _speechless(test)


def _speechless(test: ast.expr) -> bool:
    """Whether nothing in an expression is named or called: it is the same each time."""
    speaking = (ast.Name, ast.Attribute, ast.Call, ast.Await, ast.NamedExpr)
    return not any(isinstance(node, speaking) for node in ast.walk(test))
