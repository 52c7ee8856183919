"""Which names a piece of Python code mentions: what may read a name has to spell it somewhere.

Names are told apart from attributes: a module's own global is read by its bare name inside that
file, and from elsewhere as an attribute, by an import, or by text that spells it. Code that makes
names at run time mentions them all.
"""

from __future__ import annotations

import ast
from dataclasses import field
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ANY = "*"
"""Mentioned by code that goes through all names of a class, a module or a scope."""
SCOPE = "**"
"""Mentioned by code that goes through all names of the module it stands in."""
SPELLED = "?"
"""Mentioned by code that reads a name which is a text at run time."""
CASED = "^"
"""Mentioned by code that makes texts upper or lower case."""
DOC_AS_TEXT = "'__doc__'"
"""Mentioned by code that spells `__doc__` as a text."""
_DYNAMIC = frozenset(
    {"vars", "globals", "dir", "eval", "exec", "__dict__", "__getattribute__", "getmembers"}
    | {"getmembers_static", "getattr_static", "reload", "run_module", "run_path", "__subclasses__"}
    | {"create_autospec", "autospec", "spec_set", "f_globals", "f_locals", "__globals__"}
    | {"__closure__", "walk_packages", "__builtins__"}
)
_BY_NAME = {"getattr": 1, "hasattr": 1, "setattr": 1, "delattr": 1, "attrgetter": 0}
_BY_NAME |= {"methodcaller": 0}
_CASED = frozenset({"upper", "lower", "title", "capitalize", "casefold", "swapcase"})
_WORD = regex(r"[^\W\d]\w*")
_PLAIN = regex(r"[\w.:\[\]-]+")
_FIELD = regex(r"\{([^{}]*)\}|%\((\w+)\)|\$\{?(\w+)")
_IN_NAME = regex(r"[\w.%{}]*")
_HOLE = regex(r"%\w|\{\w*\}")
_CODE = regex(r"\bimport\s|\bfrom\s|[\w)\]]\s*=|\w\(|\w\.\w")


@dataclass(slots=True)
class Mentions:
    """The names that some code mentions."""

    names: set[str] = field(default_factory=set)
    """Bare names, parameters among them."""
    attributes: set[str] = field(default_factory=set)
    """Attributes, keywords, what is imported, and what text spells."""
    texts: set[str] = field(default_factory=set)
    """What text spells, and keywords: what a name that is made at run time may come to."""
    pieces: set[str] = field(default_factory=set)
    """Texts that are put together with others."""
    values: set[str] = field(default_factory=set)
    """Names, and attributes as `a.b`, that are used for what they hold, not for what is in it."""

    def has(self, name: str) -> bool:
        """Whether a name is mentioned in whatever way."""
        return name in self.names or name in self.attributes


def find_mentions(nodes: Iterable[ast.AST | None]) -> Mentions:
    """What nodes mention, but for bodies of functions in them, which are blocks of their own."""
    found = Mentions()
    left = [node for node in nodes if node is not None]
    bases: set[int] = set()
    while left:
        node = left.pop()
        if isinstance(node, ast.Attribute) and node.attr not in _DYNAMIC:
            bases.add(id(node.value))
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in bases:
            found.values.add(_dotted(node))
        _note(node, found)
        left.extend(_inside(node))
    return found


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as it stands; without `a` where that is no name."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def body_mentions(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Mentions:
    """What a function's body mentions: a name of its own is none of the module."""
    body = function.body
    found = find_mentions(
        body[1:] if ast.get_docstring(function, clean=False) is not None else body
    )
    own = _own_names(function)
    found.names -= own
    found.values -= own
    return found


def _own_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Parameters, and what the body assigns for all of itself."""
    args = function.args
    given = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    found = {one.arg for one in given if one is not None}
    shared: set[str] = set()
    left: list[ast.AST] = list(function.body)
    while left:
        match left.pop():
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                pass
            # Its targets are names of a scope of its own (Python's reference, 6.2.4).
            case ast.comprehension(iter=source, ifs=tests):
                left += [source, *tests]
            case ast.Global(names) | ast.Nonlocal(names):
                shared |= set(names)
            case ast.Name(name, ast.Store()):
                found.add(name)
            case node:
                left += ast.iter_child_nodes(node)
    return found - shared


def header(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """What is evaluated where a function is defined, its parameters' names among it."""
    yield from function.decorator_list
    yield function.args
    if function.returns is not None:
        yield function.returns


def _inside(node: ast.AST) -> Iterable[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return header(node)
    return ast.iter_child_nodes(node)


def _note(node: ast.AST, found: Mentions) -> None:  # noqa: C901, PLR0912 - one case a kind of node
    match node:
        case ast.Name(id=name):
            found.names.add(name)
        case ast.Attribute(value=value, attr=name):
            found.attributes.add(name)
            if name in _DYNAMIC and not _is_self(value):
                found.attributes.add(ANY)
        case ast.arg(arg=name):
            found.names.add(name)
        case ast.keyword(arg=str(name)):
            found.attributes.add(name)
            found.texts.add(name)
            if name in _DYNAMIC:
                found.attributes.add(ANY)
        case ast.alias(name=name, asname=asname):
            found.attributes.update(name.split("."))
            if asname:
                found.names.add(asname)
        case ast.ImportFrom(module=module):
            found.attributes.update((module or "").split("."))
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            found.names.update(names)
        case ast.Constant(value=str(text)):
            spelled = set(_spelled(text))
            found.attributes |= spelled
            found.texts |= spelled
            if text == "__doc__":
                found.attributes.add(DOC_AS_TEXT)
        case ast.JoinedStr() | ast.BinOp():
            found.pieces.update(_parts(node))
        case ast.MatchClass(kwd_attrs=names):
            found.attributes.update(names)
        case ast.Call(func, arguments):
            _note_call(func, arguments, found)
        case _:
            pass


def _is_self(value: ast.expr) -> bool:
    """Whether it is the object of a method: what it holds itself is not what its class holds."""
    return isinstance(value, ast.Name) and value.id == "self"


def _parts(node: ast.AST) -> set[str]:
    """The texts in an expression that puts texts together."""
    match node:
        case ast.JoinedStr(values):
            said: list[object] = [one.value for one in values if isinstance(one, ast.Constant)]
        case ast.BinOp(left, _, right):
            said = [one.value for one in (left, right) if isinstance(one, ast.Constant)]
        case _:
            said = []
    return _pieces(said)


def _pieces(said: list[object]) -> set[str]:
    """The words in texts that a name may be put together of: none of them has a space."""
    texts = [text for text in said if isinstance(text, str)]
    if not all(_IN_NAME.fullmatch(text) for text in texts):
        return set()
    return {word for text in texts for word in _WORD.findall(_HOLE.sub(" ", text))}


def _note_call(function: ast.expr, arguments: list[ast.expr], found: Mentions) -> None:
    """Note a call that reads names of which the code does not tell which they are."""
    name = last_name(function)
    if isinstance(function, ast.Name):
        if name == "help":
            found.attributes.add("getdoc")
        if name in _DYNAMIC and not (arguments and _is_self(arguments[0])):
            found.attributes.update(_through(name, bool(arguments)))
    elif name in ("format", "join", "replace", "removeprefix"):
        texts = [function.value] if isinstance(function, ast.Attribute) else []
        said: list[object] = [
            one.value for one in (*texts, *arguments) if isinstance(one, ast.Constant)
        ]
        found.pieces.update(_pieces(said))
    if any(isinstance(one, ast.Name) and one.id in _BY_NAME for one in arguments):
        found.attributes.add(SPELLED)  # `reduce(getattr, names, thing)`
    if name in _CASED:
        found.attributes.add(CASED)
    at = _BY_NAME.get(name)
    if at is None:
        return
    asked = arguments[at:] if at == 0 else arguments[at : at + 1]
    if not asked or not all(isinstance(one, ast.Constant) for one in asked):
        found.attributes.add(SPELLED)


def _through(name: str, given: bool) -> set[str]:  # noqa: FBT001 - whether it has arguments
    """Of what a built-in function goes through the names: of a scope, of what it is given."""
    if name in ("eval", "exec"):
        return {ANY, SCOPE}
    return {ANY} if given and name != "globals" else {SCOPE}


def last_name(expression: ast.expr) -> str:
    """`b` of `a.b` and of `b`, of calls of them also; empty for anything else."""
    while isinstance(expression, ast.Call):
        expression = expression.func
    match expression:
        case ast.Name(name) | ast.Attribute(attr=name):
            return str(name)
        case _:
            return ""


def _spelled(text: str) -> Iterator[str]:
    """The names that a text spells: as a path, in the fields of a format, or as code."""
    if _PLAIN.fullmatch(text) or "\n" in text or _CODE.search(text):
        yield from _WORD.findall(text)
        return
    for fields in _FIELD.findall(text):
        yield from _WORD.findall(" ".join(fields))


def may_come_to(name: str, texts: set[str], pieces: set[str]) -> bool:
    """Whether a name may be made at run time of the texts in some code.

    It is spelled whole, or it begins or ends with a text that is put together with others.
    """
    made = (one.strip("_") for one in pieces)
    plain = name.strip("_")
    return name in texts or any(
        one and (plain.startswith(one) or plain.endswith(one)) for one in made
    )
