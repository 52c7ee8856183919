"""How new code is used: left out, by many at once, and by one after another.

Tests that take a default from the module that they test hold for any default; those that have one
caller at a time hold without a lock; those that compare loosely hold for a text in the place of a
number; and what a class keeps for all of its instances looks like each one's own at its end.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.coverage.lines import own_lines
from runner.gates.named_errors import definitions_in
from runner.gates.test_awareness import find_tests
from runner.languages.registry import is_written_in, read_code
from runner.lazy_pattern import regex
from runner.text.prose import CODE_SPAN, IDENTIFIER, SENTENCE_END, names_in_code
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from runner.gates.base import GateContext

_SIGNATURE = regex(
    r"\A(?:new |await |def |func(?:tion)? )?(?:\w+\.)*(?P<name>\w+)\((?P<given>.*)\)"
)
_DEFAULT = regex(
    r"\A(?P<name>[A-Za-z_$][\w$]*)\s*(?:\?\s*)?(?::[^=]*)?=\s*(?P<value>.+)\Z", re.DOTALL
)
_CONSTANT = r"\b(?:const|let|var)\s+{}\s*(?::[^=;\n]*)?=\s*([^;\n]+)"

_AT_ONCE = regex(
    r"\bconcurren\w*|\bgoroutines\b|\bthread[- ]?saf\w*|\bsimultaneous\w*|\bat the same time\b"
    r"|\b(?:many|several|two|more|other|multiple|different|parallel) (?:threads|callers|workers)\b"
    r"|\bcallers\b.*\bat once\b|\bin parallel\b|\b(?:data races?|race conditions?)\b",
    re.IGNORECASE,
)
_NOT = regex(r"\b(?:not?|never|without|unlike|need(?:n't| not)|single)\b", re.IGNORECASE)
_STARTS = regex(
    r"\bgo (?:func\b|\w+(?:\.\w+)*\()|\berrgroup\b|\.Parallel\(|RunParallel|\bWaitGroup\b|synctest"
    r"|[Tt]hread|\bgather\(|create_task|ensure_future|TaskGroup|task_group|nursery|\bfutures\b"
    r"|multiprocessing|\bPool\b|\bPromise\.(?:all|any|race)|\bWorker\b|\.then\(|\bsetTimeout\b"
    r"|setImmediate"
    r"|nextTick|\bspawn\b|\bjoin!"
)
"""What a test begins beside itself."""

_KIND = regex(
    r"`(?P<of>[A-Za-z_$][\w$.]*)` (?:is|are|as) (?P<kind>(?:an? )?(?:whole )?"
    r"(?:numbers?|integers?|booleans?|texts?|strings?))\b",
    re.IGNORECASE,
)
_LOOSE = regex(r"\bassert(?:\.default)?\.(?:equal|deepEqual)\(|[^=!<>]==[^=]")
_STRICT = regex(
    r"(?<!use )[sS]trict|===|!==|\btypeof\b|\binstanceof\b"
    r"|\bNumber\.is|\bto(?:Be|Equal|MatchObject)\b|isNumber"
)

_CHANGES = frozenset(
    {"add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem"}
    | {"remove", "setdefault", "update"}
)
_FOR_ALL = regex(r"_*(?:\w*_)?(?:cache\w*|memo\w*|registr\w*|instances|shared\w*|known|seen)_*")
"""Names of what is meant to be kept for all."""

_Said = tuple[str, int, str, str]


def find_uses(bench: GateContext, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Each such thing of the change: where, what to say of it, and what mends it."""
    plan = "\n".join((bench.task.title, *bench.task.acceptance, bench.task.prose))
    own = own_lines(bench)
    for path, content in sorted(written.items()):
        text, literals = read_code(path, content) or ("", None)
        tree = python_tree(text) if literals is None else None
        lines = own.get(path, frozenset())
        yield from _other_defaults(path, _defaults(tree, text), bench.task.prose, lines)
        yield from _kept_for_all(path, tree, lines)
    yield from _one_at_a_time(bench, plan, written)
    yield from _loosely(bench, plan, written)


# --- a default that the plan shows ----------------------------------------------------------


class _Function(NamedTuple):
    name: str
    line: int
    parameters: tuple[str, ...]
    defaults: Mapping[str, object]
    """Of those parameters whose default is a number, a text, or true or false."""


def _other_defaults(
    path: str, functions: Iterator[_Function], prose: str, lines: Collection[int]
) -> Iterator[_Said]:
    """Where the plan shows a whole signature and the code leaves another value in its place."""
    wanted = _shown_defaults(prose)
    for one in functions:
        for name, value in wanted.get((one.name, one.parameters), {}).items():
            given = one.defaults.get(name)
            if given is None or type(given) is not type(value) or given == value:
                continue
            if one.line in lines:
                said = f"the plan has `{name}={value!r}` for {one.name}, and the code {given!r}"
                yield path, one.line, said, "have the plan's default, and a test that leaves it out"


def _shown_defaults(prose: str) -> dict[tuple[str, tuple[str, ...]], dict[str, object]]:
    """What signatures in the plan's prose say, by the name and all parameters; what differs, not.

    A call of an example gives values in other places, too, or leaves parameters out.
    """
    found: dict[tuple[str, tuple[str, ...]], dict[str, object]] = {}
    unsure: set[tuple[str, tuple[str, ...]]] = set()
    for match in filter(None, map(_SIGNATURE.match, CODE_SPAN.findall(prose))):
        words = [one.strip().lstrip("*.") for one in match["given"].split(",")]
        named = [(one, _DEFAULT.match(one)) for one in words if one]
        names = tuple(by["name"] if by else one.partition(":")[0].strip() for one, by in named)
        key = match["name"], names
        if not all(map(IDENTIFIER.fullmatch, names)):
            continue
        values = {by["name"]: value for _, by in named if by and (value := _plain(by["value"]))}
        if found.setdefault(key, values) != values:
            unsure.add(key)
    return {key: values for key, values in found.items() if key not in unsure}


def _plain(text: str) -> object:
    """A number, a text or true, by what code says; None of anything else, of nothing too."""
    text = {"true": "True", "false": "False"}.get(text.strip(), text.strip())
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None
    return value if isinstance(value, bool | int | float | str) else None


def _defaults(tree: ast.Module | None, text: str) -> Iterator[_Function]:
    if tree is None:
        yield from _defaults_of_braces(text)
        return
    constants = {
        name: value.value
        for node in tree.body
        for name, value in _assigned(node)
        if isinstance(value, ast.Constant)
    }
    for node in tree.body:
        of = node.name if isinstance(node, ast.ClassDef) else ""
        for one in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                yield _of_python(of if one.name == "__init__" else one.name, one, constants)


def _of_python(
    name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, constants: Mapping[str, object]
) -> _Function:
    given = node.args
    placed = [*given.posonlyargs, *given.args]
    pairs = [*zip(placed[len(placed) - len(given.defaults) :], given.defaults, strict=True)]
    pairs += [
        (one, default)
        for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if default
    ]
    values = {}
    for one, default in pairs:
        known = constants.get(default.id) if isinstance(default, ast.Name) else None
        value = _plain(ast.unparse(default)) if known is None else _plain(repr(known))
        if value is not None:
            values[one.arg] = value
    every = [one.arg for one in (*placed, *given.kwonlyargs)]
    names = tuple(one for one in every if one not in {"self", "cls"})
    return _Function(name, node.lineno, names, values)


_HEAD = regex(r"\bfunction\s*\*?\s*(?P<name>[\w$]+)\s*\((?P<given>[^(){}]*)\)")


def _defaults_of_braces(text: str) -> Iterator[_Function]:
    """JavaScript's functions; no other language with braces here has defaults."""
    for head in _HEAD.finditer(text):
        parts = [one.strip().lstrip(".") for one in head["given"].split(",") if one.strip()]
        named = [(one, _DEFAULT.match(one)) for one in parts]
        names = tuple(by["name"] if by else one.partition(":")[0].strip(" ?") for one, by in named)
        values = {}
        for by in (by for _, by in named if by):
            value = by["value"].strip()
            if IDENTIFIER.fullmatch(value):
                constant = re.search(_CONSTANT.format(re.escape(value)), text)
                value = constant[1] if constant else value
            if (known := _plain(value)) is not None:
                values[by["name"]] = known
        line = text.count("\n", 0, head.start()) + 1
        yield _Function(head["name"], line, names, values)


# --- many at once -----------------------------------------------------------------------------


def _one_at_a_time(bench: GateContext, plan: str, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Where the plan speaks of many at once, and no test begins anything beside itself."""
    if not any(_AT_ONCE.search(one) and not _NOT.search(one) for one in SENTENCE_END.split(plan)):
        return
    named = names_in_code(plan)
    places = [
        (path, line, name)
        for path, content in sorted(written.items())
        for name, line in definitions_in(content.decode("utf-8", "replace"))
        if name in named
    ]
    for path, line, name in places[:1]:
        near = [*_naming(bench, name)]
        if near and not any(map(_STARTS.search, near)):
            said = f"the plan has many use {name} at once, and every test has one caller at a time"
            yield path, line, said, "have a test begin some at once, and look at what each gets"


# --- a number that may be a text ---------------------------------------------------------------


def _loosely(bench: GateContext, plan: str, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Where the plan says of what kind a value is, and tests find that `"1"` equals 1."""
    kinds = [one for one in map(_KIND.search, SENTENCE_END.split(plan)) if one]
    named = names_in_code(plan) if kinds else frozenset()
    for path, content in sorted(written.items()):
        if not is_written_in(path, "javascript"):
            continue
        for name, line in definitions_in(content.decode("utf-8", "replace")):
            near = [*_naming(bench, name)] if name in named else []
            if near and all(_LOOSE.search(one) and not _STRICT.search(one) for one in near):
                said = (
                    f"the plan says of `{kinds[0]['of']}` that it is {kinds[0]['kind']}, and tests"
                )
                said += f" of {name} compare loosely: a text equals its number there"
                yield path, line, said, "compare by strictEqual and deepStrictEqual"
                return


def _naming(bench: GateContext, name: str) -> Iterator[str]:
    """The tests that name a function."""
    for _, content in find_tests(bench):
        if name in (text := content.decode("utf-8", "replace")):
            yield text


# --- one after another ------------------------------------------------------------------------


def _kept_for_all(path: str, tree: ast.Module | None, lines: Collection[int]) -> Iterator[_Said]:
    """What a class, or a default, holds once, and each use changes."""
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.ClassDef):
            yield from _of_all_instances(path, node, lines)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of_all_calls(path, node, lines)


def _of_all_instances(path: str, node: ast.ClassDef, lines: Collection[int]) -> Iterator[_Said]:
    own = {
        name: one.lineno
        for one in node.body
        if not (isinstance(one, ast.AnnAssign) and "ClassVar" in ast.unparse(one.annotation))
        for name, value in _assigned(one)
        if _is_mutable(value) and not _FOR_ALL.fullmatch(name)
    }
    inner = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    given = {
        one.attr
        for function in inner
        for one in _stored(function)
        if isinstance(one, ast.Attribute) and _is_self(one.value)
    }
    changed = {
        one.attr
        for function in inner
        for one in map(_changed, ast.walk(function))
        if isinstance(one, ast.Attribute) and _is_self(one.value)
    }
    for name, line in own.items():
        if name in changed - given and line in lines:
            said = f"{node.name}.{name} is one for all of its instances, each of which changes it"
            yield path, line, said, "make it in `__init__`, or annotate it as a ClassVar"


def _of_all_calls(
    path: str, node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Collection[int]
) -> Iterator[_Said]:
    given = node.args
    placed = [*given.posonlyargs, *given.args]
    pairs = [*zip(placed[len(placed) - len(given.defaults) :], given.defaults, strict=True)]
    pairs += [(one, by) for one, by in zip(given.kwonlyargs, given.kw_defaults, strict=True) if by]
    stored = {one.id for one in _stored(node) if isinstance(one, ast.Name)}
    changed = {one.id for one in map(_changed, ast.walk(node)) if isinstance(one, ast.Name)}
    for parameter, default in pairs:
        name = parameter.arg
        if not _is_mutable(default) or _FOR_ALL.fullmatch(name) or name.startswith("_"):
            continue
        if name in changed - stored and node.lineno in lines:
            said = f"what one call of {node.name} leaves in `{name}` the next one finds there"
            yield path, node.lineno, said, f"have `{name}=None` for one of its own"


def _stored(function: ast.AST) -> Iterator[ast.AST]:
    """What a function gives another value, but by `+=`, which changes a list in place."""
    every = [*ast.walk(function)]
    in_place = {id(one.target) for one in every if isinstance(one, ast.AugAssign)}
    for one in every:
        if isinstance(getattr(one, "ctx", None), ast.Store) and id(one) not in in_place:
            yield one


def _changed(node: ast.AST) -> ast.expr | None:
    """What a piece of code changes in place."""
    match node:
        case ast.Call(func=ast.Attribute(value=of, attr=how)) if how in _CHANGES:
            return of
        case ast.Subscript(value=of, ctx=ast.Store() | ast.Del()):
            return of
        case ast.AugAssign(target=ast.Attribute() | ast.Name() as of):
            return of
    return None


def _assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value


def _is_mutable(value: ast.expr) -> bool:
    match value:
        case ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in {"list", "dict", "set", "defaultdict", "deque", "Counter", "OrderedDict"}
    return False


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
