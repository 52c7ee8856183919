"""Assertions of new tests that never look at the value beside what they ask.

`assertTrue(f(x), 3)` takes its second value for a message, and `assert (f(x) == 3, "three")` holds
since a tuple is not empty; a test that reads the text of the product says nothing of what it does,
one that asks a mock what the test itself told it to answer says nothing of anything, a property of
one value is an example, a tolerance of half the value takes nearly any, and what bears two names
equals itself. A family of the registry; it runs no command.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from runner.gates.base import INTEGRITY, Check, Proved
from runner.languages.c_like_lexer import find_closing, line_of, mask_literals
from runner.languages.python.marks import name_of
from runner.languages.registry import code_language
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.process.limits import Limits
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.gates import result_kinds, stand_ins, unawaited_claims
    from runner.gates.base import GateContext
    from runner.model import Task
else:
    result_kinds = lazy_module("runner.gates.result_kinds")
    stand_ins = lazy_module("runner.gates.stand_ins")
    unawaited_claims = lazy_module("runner.gates.unawaited_claims")

CHECK = "idle-claims"
_LARGEST = 1_000_000
_SHOWN = 80
_MOST = 10
_SEVERAL = 2
"""Values of which one may come out."""
_ONE_SIDED = frozenset({"assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone"})
_SOURCE = frozenset({"getsource", "getsourcelines", "getsourcefile"})
_ONE_VALUE = regex(r"(?<![\w.$])assert(?:\.ok)?\s*(?=\()")
_ANOTHER = regex(r",\s*(?:-?\d[\d_.]*|[\[{][\s\S]*|true|false|null)\s*,?\s*\Z")
_TWO = "it takes its second value for a message"
_TUPLE = "a tuple that is not empty always holds"
_ANY = "it holds for any of {} values"
_MOCK = "it asks a mock for the answer that the test itself gave it"
_ONE_INPUT = "it is tried with one value alone"
_ANSWERED = frozenset({"return_value", "side_effect"})
_FIXED = regex(r"(?:\w+\.)*(?:just|constant)\Z")
_CHOSEN = regex(r"(?:\w+\.)*(?:sampled_from|constantFrom)\Z")
_FAKED = regex(
    r"\b(?:const|let|var)\s+(?P<name>[\w$]+)\s*=\s*(?:vi|jest|sinon|mock)\.(?:fn|stub)\s*\("
)
_ITSELF = "both names are of one object, and it equals itself whatever became of it"
_WIDE = "it lets the number be off by {:g}"
_NEARLY = frozenset({"assertAlmostEqual", "approx", "isclose", "assert_allclose", "allclose"})
# A float ends at 1.8e308: beyond these the reckoning itself would raise OverflowError.
_HUGE = 1e300
_MOST_PLACES = 99
_SHARE = 0.5
"""Of the expected number: a tolerance from here on is told."""
_MEASURED = regex(
    r"elapsed|took|time|duration|delay|seconds|latency|mean|average|ratio|frequen|random|variance",
    re.IGNORECASE,
)
"""Clocks and chance: their tests have to be wide."""
_CLOSE = regex(r"\.toBeCloseTo\(\s*(?P<value>-?\d+(?:\.\d+)?)\s*,\s*(?P<digits>-?\d\d?)\s*\)")
_CLOSE_BY = regex(
    r"(?:closeTo|approximately)\(\s*(?P<asked>[^;]*?,)?\s*(?P<value>-?\d+(?:\.\d+)?)\s*,"
    r"\s*(?P<by>\d+(?:\.\d+)?)\s*\)"
)
_ALIAS = regex(r"\b(?:const|let|var)\s+(?P<alias>[\w$]+)\s*=\s*(?P<of>[\w$]+)\s*(?=;|\n)")
_TEXT = "it reads the text of the code, and not what the code does"


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """One look at the tests of a task that writes; none where nobody asks what they notice."""
    if settings.mutation == "off" or not (task.writes_anything and task.test_contracts):
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each such assertion that the change adds: a question, or to a person a warning.

    That one of several values will do is so where chance decides: asked about with `strict` alone.
    """
    strict = bench.settings.mutation == "strict"
    found = []
    tests = [one for one in bench.changes if one.content is not None and bench.is_test(one.path)]
    for change in tests:
        content = change.content
        if content is None or len(content) > _LARGEST:
            continue
        known = {code for _, code, _ in idle_claims(change.path, bench.before(change.path) or b"")}
        found += [
            Finding(
                check=INTEGRITY,
                message=f"`{code[:_SHOWN]}` claims less than it seems to: {why}",
                path=change.path,
                line=line,
                severity=Severity.WARNING if bench.by_person else Severity.QUESTION,
                hint="compare the two, or have the test say what must come out",
            )
            for line, code, why in idle_claims(change.path, content)
            if code not in known and (strict or not why.startswith(_ANY[:12]))
        ]
    asks = Severity.QUESTION if strict and not bench.by_person else Severity.WARNING
    own = stand_ins.find_stand_ins(INTEGRITY, bench, asks) if tests else ()
    return Proved(None, (*found[:_MOST], *_by_kind(bench, strict=strict), *own))


def _by_kind(bench: GateContext, *, strict: bool) -> Iterator[Finding]:
    """New functions of which tests look at the kind of the result alone, or at nothing."""
    for one in result_kinds.functions_known_by_kind(bench):
        but = "it is compared with itself" if one.is_itself else "but for its kind"
        asks = (strict or one.is_itself) and not bench.by_person
        yield Finding(
            check=INTEGRITY,
            message=f"no test looks at what {one.name} gives, {but}: `{one.code[:_SHOWN]}`",
            path=one.path,
            line=one.line,
            severity=Severity.QUESTION if asks else Severity.WARNING,
            hint="compare what comes out with what must come out",
        )


def idle_claims(path: str, content: bytes) -> Iterator[tuple[int, str, str]]:
    """Each assertion that does not look at one of its values: line, code and reason."""
    language = code_language(path)
    text = content.decode("utf-8", "replace")
    if language is None:
        return
    if language.literals is None:
        tree = python_tree(text)
        yield from _in_python(tree) if tree else ()
        return
    mask = mask_literals(text, language.literals)
    for match in _ONE_VALUE.finditer(mask):
        inside = text[match.end() + 1 : find_closing(mask, match.end())]
        if _ANOTHER.search(_top(inside, mask[match.end() + 1 : match.end() + 1 + len(inside)])):
            shown = " ".join(f"{match[0]}({inside})".split())
            yield line_of(text, match.start()), shown, _TWO
    yield from _of_close(text, mask)
    yield from _of_alias(text, mask)
    yield from unawaited_claims.find_unawaited(path, text, mask)
    for match in _FAKED.finditer(mask):
        asked = re.compile(rf"\bexpect\(\s*(?:await\s+)?{re.escape(match['name'])}\([^\n]*")
        for one in asked.finditer(mask, match.end()):
            yield line_of(text, one.start()), text[one.start() : one.end()].strip(), _MOCK


def _of_close(text: str, mask: str) -> Iterator[tuple[int, str, str]]:
    """Numbers that jest or chai let be off by half of themselves."""
    for match in (*_CLOSE.finditer(mask), *_CLOSE_BY.finditer(mask)):
        by = match.groupdict()
        # jest's own rule: the two differ by less than half a unit of that digit.
        off = float(by["by"]) if by.get("by") else 10.0 ** -int(by["digits"]) / 2
        first = max(text.rfind("\n", 0, match.start()), text.rfind(";", 0, match.start())) + 1
        code = " ".join(text[first : match.end()].split())
        yield from _wide(line_of(text, match.start()), code, float(by["value"]), off)


def _of_alias(text: str, mask: str) -> Iterator[tuple[int, str, str]]:
    """Assertions that an object is what it is by another name, as after `const before = given`."""
    for match in _ALIAS.finditer(mask):
        one, other = re.escape(match["alias"]), re.escape(match["of"])
        end = mask.find("\n})", match.end())
        end = len(mask) if end < 0 else end
        if re.search(rf"(?<![\w.$])(?:{one}|{other})\s*=(?![=>])", mask[match.end() : end]):
            continue
        pair = rf"(?:{one}\s*\)[\w.]*\(\s*{other}|{other}\s*\)[\w.]*\(\s*{one})\s*\)"
        two = rf"\w*[eE]qual\w*\(\s*(?:{one}\s*,\s*{other}|{other}\s*,\s*{one})\s*[,)]"
        asked = re.compile(rf"\bexpect\(\s*{pair}|\bassert\.{two}")
        for claim in asked.finditer(mask, match.end(), end):
            if ".not" not in claim[0] and "not" not in claim[0].lower():
                yield line_of(text, claim.start()), text[claim.start() : claim.end()], _ITSELF


def _wide(line: int, code: str, value: float, off: float) -> Iterator[tuple[int, str, str]]:
    if value and off >= abs(value) * _SHARE and not _MEASURED.search(code):
        yield line, code, _WIDE.format(off)


def _top(text: str, mask: str) -> str:
    """The text behind the last comma that stands in no bracket, with the comma."""
    depth, last = 0, -1
    for at, letter in enumerate(mask):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0 and text[at + 1 :].strip():
            last = at
    return text[last:] if last >= 0 else ""


def _in_python(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    yield from _of_python(tree)
    yield from _of_source(tree)
    yield from unawaited_claims.find_unawaited_in_python(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of_mocks(node)
            yield from _of_properties(node)
            yield from _of_names(node)
        if isinstance(node, ast.Assert) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        ):
            for value, off in _tolerances(node):
                yield from _wide(node.lineno, ast.unparse(node), value, off)


def _tolerances(node: ast.stmt) -> Iterator[tuple[float, float]]:
    """Numbers that an assertion expects, and by how much they may be off."""
    for one in ast.walk(node):
        match one:
            case ast.Call(args=[_, expected, *rest]) as call:
                name = name_of(call).rpartition(".")[2]
                yield from _of_call(name, expected, rest, call.keywords)
            case ast.Call(args=[expected], keywords=words) as call:
                if name_of(call).rpartition(".")[2] == "approx":
                    yield from _of_call("approx", expected, [], words)
            case ast.Compare(
                left=ast.Call(
                    func=ast.Name(id="abs"), args=[ast.BinOp(op=ast.Sub(), right=expected)]
                ),
                ops=[ast.Lt() | ast.LtE()],
                comparators=[off],
            ):
                value, number = _number(expected), _number(off)
                if value is not None and number is not None:
                    yield value, number


def _of_call(
    name: str, expected: ast.expr, rest: list[ast.expr], words: list[ast.keyword]
) -> Iterator[tuple[float, float]]:
    """Those of one call, by the names that unittest, pytest, math and NumPy give them."""
    value = _number(expected)
    if value is None or name not in _NEARLY:
        return
    given = {one.arg: _number(one.value) for one in words if one.arg}
    if name == "assertAlmostEqual":
        places = given.get("places", _number(rest[0]) if rest else None)
        if places is not None and abs(places) <= _MOST_PLACES:
            # unittest rounds the difference to so many places: half of the last one still passes.
            given["delta"] = given.get("delta") or 10.0**-places / 2
    absolute = [given.get(word) for word in ("delta", "abs", "abs_tol", "atol")]
    relative = [given.get(word) for word in ("rel", "rel_tol", "rtol")]
    found = [off for off in absolute if off] + [off * abs(value) for off in relative if off]
    if found:
        yield value, max(found)


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < _HUGE else None


def _of_mocks(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, str, str]]:
    """Assertions of a test about a call of what the same test told what to answer."""
    answering = {
        ast.unparse(target.value)
        for one in ast.walk(node)
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Attribute) and target.attr in _ANSWERED
    }
    for one in ast.walk(node) if answering else ():
        if isinstance(one, ast.Assert) or (isinstance(one, ast.Expr) and _is_equality(one.value)):
            calls = (call for call in ast.walk(one) if isinstance(call, ast.Call))
            if any(ast.unparse(call.func) in answering for call in calls):
                yield one.lineno, ast.unparse(one), _MOCK


def _of_names(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, str, str]]:
    """Assertions of a test that two names are equal, of which one was bound to the other."""
    bound = [
        (target.id, one.value.id, one.lineno)
        for one in ast.walk(node)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Name)
        for target in one.targets
        if isinstance(target, ast.Name)
    ]
    for alias, of, line in bound:
        again = [
            one.lineno
            for one in ast.walk(node)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store | ast.Del)
            if one.id in (alias, of) and one.lineno > line
        ]
        for one in ast.walk(node) if not again else ():
            if isinstance(one, ast.Assert | ast.Expr) and one.lineno > line:
                asked = _compared(one.test if isinstance(one, ast.Assert) else one.value)
                if asked == {alias, of}:
                    yield one.lineno, ast.unparse(one), _ITSELF


def _compared(node: ast.expr) -> set[str]:
    """The two names that an assertion says are equal."""
    match node:
        case ast.Compare(
            left=ast.Name(id=one), ops=[ast.Eq() | ast.Is()], comparators=[ast.Name(id=other)]
        ):
            return {one, other}
        case ast.Call(args=[ast.Name(id=one), ast.Name(id=other), *_]) if _is_equality(node):
            return {one, other}
    return set()


def _is_equality(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and name_of(node).rpartition(".")[2] == "assertEqual"


def _of_properties(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, str, str]]:
    """Properties whose every input is one constant."""
    for one in node.decorator_list:
        if isinstance(one, ast.Call) and name_of(one).rpartition(".")[2] == "given":
            given = [*one.args, *(word.value for word in one.keywords)]
            if given and all(map(_is_fixed, given)):
                yield one.lineno, f"@{ast.unparse(one)}", _ONE_INPUT


def _is_fixed(given: ast.expr) -> bool:
    if not isinstance(given, ast.Call):
        return False
    name = ast.unparse(given.func)
    among = given.args[0] if given.args else None
    single = isinstance(among, ast.List | ast.Tuple) and len(among.elts) == 1
    return bool(_FIXED.match(name) or (_CHOSEN.match(name) and single))


def _of_python(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Assert(test=ast.Tuple(elts=[_, *_])):
                yield node.lineno, ast.unparse(node), _TUPLE
            case ast.Assert(test=ast.Compare(left=ast.Call(), ops=[ast.In()], comparators=[among])):
                yield from _any_of(node, among)
            case ast.Expr(value=ast.Call(args=[first, second, *_]) as call):
                name = name_of(call).rpartition(".")[2]
                if name in _ONE_SIDED and _is_value(second):
                    yield node.lineno, ast.unparse(node), _TWO
                if name == "assertIn" and isinstance(first, ast.Call):
                    yield from _any_of(node, second)


def _any_of(node: ast.stmt, among: ast.expr) -> Iterator[tuple[int, str, str]]:
    """Whether what comes out may be any of several constants."""
    values = among.elts if isinstance(among, ast.List | ast.Tuple | ast.Set) else []
    if len(values) >= _SEVERAL and all(isinstance(one, ast.Constant) for one in values):
        yield node.lineno, ast.unparse(node), _ANY.format(len(values))


def _is_value(node: ast.expr) -> bool:
    """Whether it is a constant that nobody means as a message."""
    if isinstance(node, ast.Constant):
        return node.value is not None and not isinstance(node.value, str)
    return isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set)


def _of_source(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Functions whose assertions are about the source that `inspect` gives them."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        calls = (one for one in ast.walk(node) if isinstance(one, ast.Call))
        reads = [one for one in calls if name_of(one).rpartition(".")[2] in _SOURCE]
        if reads and any(isinstance(one, ast.Assert) for one in ast.walk(node)):
            yield reads[0].lineno, ast.unparse(reads[0]), _TEXT
