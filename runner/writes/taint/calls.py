"""What a call does with foreign values: hands them on, disarms them, or is where they do harm."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.text.literals import LONGEST, TooLarge, replace
from runner.writes.taint import rules
from runner.writes.taint.abstract_values import (
    Box,
    FromRequest,
    Known,
    Named,
    Place,
    Taint,
    Unknown,
    Value,
    as_text,
    either,
    is_exact,
    join_values,
)

if TYPE_CHECKING:
    from runner.writes.taint.abstract_values import Evaluator

_CONFIGURATIONS = frozenset(("configparser.ConfigParser", "configparser.RawConfigParser"))
_FOLDED = frozenset(
    ("lower", "upper", "strip", "lstrip", "rstrip", "encode", "decode", "replace", "split", "title")
)
_ENTITIES = ("feature_external_ges", "feature_external_pes")


def reach(walk: Evaluator, kind: str, node: ast.AST, value: Value) -> None:
    """Say what it means that this value comes to a sink of this kind."""
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0) + 1
    value = value.any() if isinstance(value, Box) else value
    if isinstance(value, Taint):
        if kind in value.disarmed or value.origin in walk.checked:
            walk.report.checked.add((kind, line))
        else:
            walk.report.found.setdefault(
                (kind, line), Place(kind, line, column, value.source, value.weak)
            )
    elif isinstance(value, Known):
        walk.report.constant.add((kind, line))


def show(walk: Evaluator, node: ast.AST, value: Value) -> None:
    """What a page is made of: of a tuple its body, not its status and headers; a dict is JSON."""
    if isinstance(value, Box):
        if not value.is_list or not value.exact or 0 not in value.items:
            return
        value = value.items[0]
    reach(walk, "xss", node, value)


def tell(walk: Evaluator, kind: str, node: ast.AST, what: str) -> None:
    """A finding that needs no foreign value."""
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0) + 1
    walk.report.found.setdefault((kind, line), Place(kind, line, column, what))


def attribute(walk: Evaluator, name: str) -> Value:
    """What an attribute of a module or a request is."""
    owner, _, last = name.rpartition(".")
    if owner in rules.SOURCES and owner not in rules.WEAK_SOURCES:
        if last == "path" and walk.route and "<" not in walk.route:
            return Known(walk.route)  # the one path under which this is asked
        if last in {"method", "endpoint", "is_json", "content_length", "user", "app", "session"}:
            return Named(name) if last == "session" else Unknown()
        return walk.fresh(name, weak=False)
    if name in rules.SOURCES and name in rules.WEAK_SOURCES:
        return walk.fresh(name, weak=True)
    return Named(name)


def item(walk: Evaluator, name: str) -> Value:
    """What an item of a named object is."""
    if name in rules.SOURCES:
        return walk.fresh(name, weak=name in rules.WEAK_SOURCES)
    return Unknown()


def evaluate_call(walk: Evaluator, node: ast.Call) -> Value:
    """What a call answers; sinks among its arguments are told."""
    given = [walk.value(one) for one in node.args]
    named = {one.arg: walk.value(one.value) for one in node.keywords if one.arg}
    spread = [walk.value(one.value) for one in node.keywords if one.arg is None]
    owner: Value = Unknown()
    method = ""
    if isinstance(node.func, ast.Attribute):
        # Once: of calls one behind the other (`a().b().c()`) each would double those before it.
        owner = walk.value(node.func.value)
        method = node.func.attr
        function = Unknown() if isinstance(owner, Box) else walk.attribute_of(node.func, owner)
    else:
        function = walk.value(node.func)
    name = function.name if isinstance(function, Named) else ""
    _sinks(walk, node, _Asked(name, method, owner, given, named))
    if isinstance(function, Taint) and isinstance(owner, Named) and owner.name in rules.SOURCES:
        return Unknown() if method in rules.HARMLESS_ANSWERS else function
    if name:
        answer = _of_named(walk, node, name, given, named)
    else:
        answer = _of_method(walk, node, method, owner, given)
    if answer is not None:
        return answer
    touched = [one for one in (owner, *given, *named.values(), *spread) if _carries(one)]
    return (
        _pass_on(name or method, join_values(touched))
        if touched
        else _of_constants(name, owner, given)
    )


def _carries(value: Value) -> bool:
    value = value.any() if isinstance(value, Box) else value
    return isinstance(value, Taint)


def _of_constants(name: str, owner: Value, given: list[Value]) -> Value:
    """What a method of a constant, or a decoder, makes of constants alone is harmless, too."""
    pure = isinstance(owner, Known) or name.startswith(rules.PURE)
    return either() if pure and all(isinstance(one, Known) for one in given) else Unknown()


def _pass_on(name: str, value: Value) -> Value:
    """What a function makes of somebody else's text: the same, unless its name disarms it."""
    if not isinstance(value, Taint):
        return value
    last = name.rpartition(".")[2].lower()
    if last in rules.SERIALIZERS:
        return value.without(frozenset(("xss",)))
    if name in rules.DISARMS:
        return value.without(frozenset(rules.DISARMS[name]))
    if any(
        word in last for word in ("escape", "quote", "sanitize", "clean")
    ) and not last.startswith("un"):
        kinds = {kind for word, kind in rules.ESCAPING_WORDS.items() if word in last}
        return value.without(frozenset(kinds or {"xss"}))
    return value


def _of_named(
    walk: Evaluator, node: ast.Call, name: str, given: list[Value], named: dict[str, Value]
) -> Value | None:
    """The answer of a function with a dotted name; None where it is handed on as ever."""
    if name in rules.SOURCE_CALLS:
        return walk.fresh(name, weak=True)
    if name in _CONFIGURATIONS or name in {"dict", "list", "set", "collections.OrderedDict"}:
        held = [one for one in given if not isinstance(one, Unknown)]
        return Box(rest=join_values(held) if held else Unknown(), is_list=name == "list")
    if name == "len" and len(given) == 1:
        return _length(given[0])
    if name in rules.PAGES and given:
        body = given[0]
        return body.items.get(0, Unknown()) if isinstance(body, Box) and body.is_list else body
    if name == "xml.sax.make_parser":
        walk.report.constant.add(("xxe", node.lineno))
        return Unknown()
    if name == "str" and len(given) == 1:
        return as_text(given[0])
    if name in rules.SAFE_CALLS:
        return either()
    _simple(walk, node, name, given, named)
    if any(isinstance(one, Named) and one.name in rules.SOURCES for one in given):
        return FromRequest(name)
    return None


def _length(value: Value) -> Value:
    try:
        return Known(len(value.value)) if is_exact(value) else either()  # type: ignore[union-attr,arg-type]
    except TypeError:
        return either()


def _simple(
    walk: Evaluator, node: ast.Call, name: str, given: list[Value], named: dict[str, Value]
) -> None:
    """Weak digests and numbers: no foreign value is needed."""
    module, _, last = name.rpartition(".")
    if named.get("usedforsecurity") == Known(value=False):
        return
    if name == "hashlib.new" and given and is_exact(given[0]):
        algorithm = str(given[0].value).lower()  # type: ignore[union-attr]
        if algorithm in rules.WEAK_HASHES:
            tell(walk, "weakhash", node, algorithm)
    elif module == "hashlib" and last in rules.WEAK_HASHES:
        tell(walk, "weakhash", node, last)
    elif module == "random" and last in rules.RANDOM:
        tell(walk, "weakrand", node, name)


def _of_method(
    walk: Evaluator, node: ast.Call, method: str, owner: Value, given: list[Value]
) -> Value | None:
    """The answer of a method of a value; None where it is handed on as ever."""
    if isinstance(owner, FromRequest):
        if any(word in method.lower() for word in rules.REQUEST_WORDS):
            return walk.fresh(f"{owner.source}.{method}", weak=False)
        return Unknown()
    if isinstance(owner, Box):
        return _of_box(owner, method, given)
    if is_exact(owner) and method in _FOLDED and all(is_exact(one) for one in given):
        return _fold(owner, method, given)
    if method == "setFeature" and isinstance(node.func, ast.Attribute):
        return _feature(walk, node, given)
    if method == "replace" and given and given[0] in (Known("'"), Known('"')):
        return owner.without(frozenset(("xpathi", "ldapi"))) if isinstance(owner, Taint) else None
    if method == "join" and given:
        return join_values([one.any() if isinstance(one, Box) else one for one in given])
    if method in rules.WRITERS and any(_carries(one) for one in given):
        target = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(target, ast.Name):
            walk.values[target.id] = join_values([one for one in given if _carries(one)])
    return None


def _feature(walk: Evaluator, node: ast.Call, given: list[Value]) -> Value:
    on = len(given) > 1 and given[1] == Known(value=True)
    external = isinstance(given[0], Named) and given[0].name.endswith(_ENTITIES) if given else False
    target = node.func.value if isinstance(node.func, ast.Attribute) else None
    if on and external and isinstance(target, ast.Name):
        walk.values[target.id] = Named("parser with external entities")
        walk.report.constant = {one for one in walk.report.constant if one[0] != "xxe"}
    return Unknown()


def _fold(owner: Value, method: str, given: list[Value]) -> Value:
    try:
        made = _computed(owner.value, method, [one.value for one in given])  # type: ignore[union-attr]
    except (AttributeError, TypeError, ValueError, LookupError):
        return either()
    if isinstance(made, list):
        return Box({place: Known(one) for place, one in enumerate(made)}, is_list=True)
    return Known(made)


def _computed(owner: object, method: str, given: list[object]) -> object:
    """Raises what the method raises, and TooLarge."""
    if not isinstance(owner, str | bytes):
        raise TypeError(owner)
    if len(owner) > LONGEST:
        raise TooLarge
    if method == "replace":
        return replace(owner, *given)
    made = getattr(owner, method)(*given)
    if len(made) > LONGEST:  # what a codec makes of each letter is a few bytes
        raise TooLarge
    return made


def _of_box(box: Box, method: str, given: list[Value]) -> Value | None:
    """What containers do: lists by place, dicts by key, configurations by section and key."""
    if method == "append" and given:
        if box.exact:
            box.items[len(box.items)] = given[0]
        else:
            box.rest = join_values([box.rest, given[0]])
        return Known(None)
    if method in {"insert", "extend", "update", "add"} and given:
        held = [one.any() if isinstance(one, Box) else one for one in given]
        box.rest = join_values([box.any(), *held])
        box.items, box.exact = {}, False
        return Known(None)
    if method == "pop" and box.is_list and box.exact:
        return _pop(box, given)
    if method == "set" and len(given) > 2 and all(is_exact(one) for one in given[:2]):  # noqa: PLR2004
        box.items[given[0].value, given[1].value] = given[2]  # type: ignore[union-attr]
        return Known(None)
    if method in {"get", "setdefault", "pop"} and given:
        key = tuple(one.value for one in given[:2] if is_exact(one))  # type: ignore[union-attr]
        if key in box.items:
            return box.items[key]
        if key and key[0] in box.items:
            return box.items[key[0]]
        return join_values([box.rest, *given[1:]]) if key else box.any()
    if method in {"values", "items", "copy", "keys"}:
        return Box({}, box.any(), is_list=True, exact=False)
    return box.any() if method in {"sort", "reverse", "index", "count"} else None


def _pop(box: Box, given: list[Value]) -> Value:
    order = [box.items[place] for place in sorted(box.items, key=str) if isinstance(place, int)]
    at = given[0].value if given and is_exact(given[0]) else -1  # type: ignore[union-attr]
    if not isinstance(at, int) or not -len(order) <= at < len(order):
        return box.any()
    taken = order.pop(at)
    box.items = dict(enumerate(order))
    return taken


# --- where harm is done ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call: who is asked, and with what."""

    name: str
    method: str
    owner: Value
    given: list[Value]
    named: dict[str, Value]


def _sinks(walk: Evaluator, node: ast.Call, asked: _Asked) -> None:
    name, method, given, named = asked.name, asked.method, asked.given, asked.named
    sink = rules.CALLS.get(name)
    if sink is None and not name.startswith(("re.", "os.path.")):
        sink = rules.METHODS.get(method)
    if sink is not None:
        values = [_argument(place, asked) for place in sink.places]
        value = join_values([one for one in values if one is not None] or [Unknown()])
        if not (isinstance(value, Taint) and value.weak and not sink.weak):
            reach(walk, sink.kind, node, value)
    if name in rules.PROCESSES and given:
        _process(walk, node, given[0], named)
    if name == "yaml.load" and given:
        loader = named.get("Loader", given[1] if len(given) > 1 else Unknown())
        safe = isinstance(loader, Named) and loader.name in rules.SAFE_LOADERS
        reach(walk, "deserialization", node, Known(None) if safe else given[0])
    if name in rules.XML_READERS and given:
        entities = Named("parser with external entities") in (*given, *named.values())
        reach(walk, "xxe", node, given[0] if entities else Known(None))
    if method == "set_cookie":
        _cookie(walk, node, named)


def _argument(place: int | str, asked: _Asked) -> Value | None:
    if place == "self":
        return asked.owner
    if isinstance(place, int):
        return asked.given[place] if place < len(asked.given) else None
    return asked.named.get(place)


def _process(walk: Evaluator, node: ast.Call, words: Value, named: dict[str, Value]) -> None:
    """A list of words is a command only by its first word, or behind the `-c` of a shell."""
    shell = named.get("shell") == Known(value=True)
    if not isinstance(words, Box) or shell:
        reach(walk, "cmdi", node, words)
        return
    order = [words.items[place] for place in sorted(words.items, key=str)]
    told = [words.rest] if not words.exact else []
    for place, word in enumerate(order):
        before = order[place - 1] if place else None
        if place == 0 or before in (Known("-c"), Known("/c"), Known("-Command")):
            told.append(word)
    reach(walk, "cmdi", node, join_values([one for one in told if _carries(one)] or [either()]))


def _cookie(walk: Evaluator, node: ast.Call, named: dict[str, Value]) -> None:
    if named.get("secure") == Known(value=False):
        tell(walk, "securecookie", node, "secure=False")
