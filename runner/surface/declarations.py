"""Parse the public names and signatures of a Go, JavaScript, Rust or TypeScript file.

One reader walks the syntax trees of all of them; a table has the node types of each language. Two
versions of the names are compared for changes that break callers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.languages.syntax_tree import parse_file
from runner.lazy_pattern import regex
from runner.surface.change_facts import Fact, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tree_sitter import Node


REMOVED = "removes public names"
SIGNATURES = "changes public signatures"


class Parameter(Struct, frozen=True):
    """One parameter of a function, as far as its callers notice it."""

    name: str
    type: str = ""
    default: str | None = None
    is_optional: bool = False


class Symbol(Struct, frozen=True):
    """A public name as it is declared."""

    line: int
    parameters: tuple[Parameter, ...] | None = None
    """Parameters; None if it can't be called."""
    result: str = ""
    """Type of a call's result or of a field; empty if not declared."""
    is_typed: bool = False
    """Whether any type change breaks callers, as in Go and Rust."""


ELSEWHERE = Symbol(0, result="of another file")
"""A name that a file imports from another: neither its signature nor members are known."""


def compare_surfaces(
    path: str, before: Mapping[str, Symbol], after: Mapping[str, Symbol]
) -> Iterator[Fact]:
    """Yield what the names of a file, or of a package, lost or take differently."""
    for name, old in before.items():
        owner = name.rpartition(".")[0]
        if name in after:
            for what, also, breaks in _differences(old, after[name]):
                fact = signature_fact(path, name, after[name].line, what, also)
                yield replace(fact, is_breaking=breaks)
        elif owner in before and before[owner].result != after.get(owner, ELSEWHERE).result:
            continue  # the type is gone itself, or extends another one, which may have the member
        else:
            yield Fact("surface", name, path, 0, names_of(name), is_breaking=True, title=REMOVED)


def names_of(name: str) -> tuple[str, ...]:
    """Return the words that name a public name: its own, and the class for a constructor."""
    own, _, last = name.rpartition(".")
    if last in ("__init__", "constructor", "__new__"):
        return (own.rpartition(".")[2],)
    return (last,) if last == name else (last, name)


def _differences(old: Symbol, new: Symbol) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Yield what differs, the parameter it is about, and whether it breaks callers."""
    if ELSEWHERE in (old, new):
        return
    if old.parameters is not None and new.parameters is not None:
        yield from _compare_places(old.parameters, new.parameters, is_typed=new.is_typed)
    plain = "" if new.is_typed else new.result.partition("<")[0]
    if old.result and new.result and old.result not in (new.result, plain):
        verb = "is" if new.parameters is None else "returns"
        is_wider = "{" in old.result and not new.is_typed  # a type with members may have more
        breaks = new.is_typed or (new.parameters is not None and not is_wider)
        yield f"{verb} {shorten(new.result)}, was {shorten(old.result)}", (), breaks
    elif (
        bool(old.result) != bool(new.result)
        and new.parameters is not None
        and (new.is_typed or "Promise" in (old.result, new.result))
    ):
        yield f"returns {shorten(new.result) or f'no {old.result}'}", (), True


def _compare_places(
    old: tuple[Parameter, ...], new: tuple[Parameter, ...], *, is_typed: bool
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    names, others = [one.name for one in old], [one.name for one in new]
    if names != others and sorted(names) == sorted(others):
        yield "takes its parameters in another order", (), True
        return
    for was, now in zip(old, new, strict=False):
        yield from _compare_parameter(was, now, is_typed=is_typed)
    for one in old[len(new) :]:
        yield f"no longer takes {one.name}", (one.name,), True
    for one in new[len(old) :]:
        if not one.is_optional:
            yield f"requires {one.name}", (one.name,), True


def _compare_parameter(
    was: Parameter, now: Parameter, *, is_typed: bool
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    also = (was.name, now.name)
    if was.is_optional and not now.is_optional:
        yield f"requires {now.name}", also, True
    elif was.default is not None and was.default != now.default:
        new = shorten(now.default) if now.default is not None else "none"
        yield f"{now.name} defaults to {new}, was {shorten(was.default)}", also, True
    if was.type and now.type and was.type != now.type:
        yield f"{now.name} is {shorten(now.type)}, was {shorten(was.type)}", also, is_typed


def signature_fact(path: str, name: str, line: int, what: str, also: tuple[str, ...]) -> Fact:
    """Return the fact that a function is called in another way.

    A parameter, often a common word, names the change only where the plan marks it as code.
    """
    names = (*names_of(name), *(f"`{one}`" for one in also))
    message = f"{name} ({what})"
    return Fact("surface", message, path, line, names, is_breaking=True, title=SIGNATURES)


_HIDDEN = regex(r"cfg\s*\((?:.*\W)?test\W|doc\s*\(\s*hidden")


class UnreadableError(Exception):
    """A file that cannot be compared: no grammar, or a text that the grammar does not allow."""


class Kinds(Struct, frozen=True):
    """The node types of a language, and what its declarations have in common."""

    is_public: Callable[[Node, str], bool]
    inside: re.Pattern[str]
    """Nodes that only contain declarations."""
    functions: re.Pattern[str]
    types: re.Pattern[str]
    values: re.Pattern[str]
    """Constants, variables and fields."""
    spelling: tuple[tuple[str, str], ...]
    """Patterns in a written type without meaning, and their replacement."""
    is_typed: bool
    """Whether any type change breaks callers, and types show their members."""


def read_names(path: str, text: str) -> dict[str, Symbol]:
    """Return the public names of a file, members with their type in front: `Cart.add`.

    Raises UnreadableError.
    """
    root = read_root(path, text)
    if path.endswith(".go"):
        return dict(_declare(root, "", _GO))
    return dict(_declare(root, "", _RUST)) if path.endswith(".rs") else _read_exports(root)


def _declare(node: Node | None, owner: str, kinds: Kinds) -> Iterator[tuple[str, Symbol]]:
    """Yield what the children of a node declare for others."""
    for one in children(node):
        if kinds.inside.fullmatch(one.type):
            yield from _declare(one, owner, kinds)
        elif one.type == "impl_item" and field(one, "trait") is None:
            of = text_of(field(one, "type")).partition("<")[0]
            yield from _declare(field(one, "body"), f"{owner}{of}.", kinds)
        elif one.type == "use_declaration" and kinds.is_public(one, ""):
            yield from ((name, ELSEWHERE) for name in _used(field(one, "argument")))
        own = field(one, "property")
        names = one.children_by_field_name("name") or ([own] if own is not None else [])
        for name in map(text_of, names):
            if name and kinds.is_public(one, name):
                yield from _symbols(owner + _receiver(one) + name, one, kinds)


def _symbols(name: str, node: Node, kinds: Kinds) -> Iterator[tuple[str, Symbol]]:
    """Yield a declared name, and the public members of a type."""
    value = field(node, "value")
    if value is not None and "function" in value.type:
        node = value
    if kinds.functions.fullmatch(node.type):
        yield name, _function(name.rpartition(".")[0], node, kinds)
    elif kinds.types.fullmatch(node.type):
        yield name, _type(node, kinds)
        if kinds.is_typed or "class" in node.type:
            yield from _declare(field(node, "body") or field(node, "type"), f"{name}.", kinds)
    elif kinds.values.fullmatch(node.type):
        kind = _spell(field(node, "type") or field(node, "body"), "", kinds)
        yield name, Symbol(line_of(node), None, kind, is_typed=kinds.is_typed)


def _type(node: Node, kinds: Kinds) -> Symbol:
    """Return a type with what it is, or extends: a member that is gone may come from there."""
    kind = field(node, "type") or field(node, "value")
    is_plain = kind is not None and kind.type not in ("struct_type", "interface_type")
    above = [one for one in children(node) if "heritage" in one.type or "extends" in one.type]
    spelled = _spell(kind, "", kinds) if is_plain else " ".join(map(text_of, above))
    return Symbol(line_of(node), result=spelled, is_typed=kinds.is_typed)


def _function(owner: str, node: Node, kinds: Kinds) -> Symbol:
    listed, result = field(node, "parameters"), field(node, "return_type") or field(node, "result")
    parameters = _parameters(listed, owner, kinds)
    if result is not None and result.type == "parameter_list":
        returned = ", ".join(one.type for one in _parameters(result, owner, kinds))
    else:
        returned = _spell(result, owner, kinds)
        marks = text_of(next(children(node, "function_modifiers"), None)).split()
        marks += [one.type for one in node.children]
        if "async" in marks:
            returned = f"future of {returned}" if kinds.is_typed else returned or "Promise"
    lone = field(node, "parameter")  # of an arrow function without parentheses
    places = tuple(parameters) if lone is None else (Parameter(text_of(lone)),)
    return Symbol(line_of(node), places, returned, is_typed=kinds.is_typed)


def _parameters(listed: Node | None, owner: str, kinds: Kinds) -> Iterator[Parameter]:
    for one in children(listed):
        pattern = field(one, "pattern") or field(one, "left") or one
        value = field(one, "value") or field(one, "right")
        kind = _spell(field(one, "type"), owner, kinds)
        if "comment" in one.type or "attribute" in one.type or text_of(pattern) == "this":
            continue
        rest = "variadic" in one.type or pattern.type == "rest_pattern"
        optional = rest or value is not None or one.type == "optional_parameter"
        names = [text_of(name) for name in one.children_by_field_name("name")]
        if one.type == "self_parameter":
            names, kind = ["self"], _spell(one, owner, kinds)
        elif one.type == "parameter_declaration":
            names = names or [""]
        elif pattern.type == "object_pattern":  # its keys are not compared
            names, value = ["an object"], None
        default = text_of(value) if value is not None else None
        for name in names or [text_of(pattern).lstrip(".")]:
            yield Parameter(name, "..." * rest + kind, default, is_optional=optional)


def _spell(node: Node | None, owner: str, kinds: Kinds) -> str:
    """Return a written type; of Rust its own type is `Self`."""
    text = text_of(node)
    for pattern, other in kinds.spelling:
        text = re.sub(pattern, other, text)
    if owner and kinds is _RUST:
        text = re.sub(rf"\b{re.escape(owner.rpartition('.')[2])}\b(?!<)", "Self", text)
    return text


def _receiver(node: Node) -> str:
    """Return the type of a method of Go with a dot."""
    text = text_of(field(node, "receiver")).strip("()")
    return re.split(r"[\s*]", text.partition("[")[0].strip())[-1] + "." if text else ""


def _is_public_go(node: Node, name: str) -> bool:
    return name[:1].isupper() and (_receiver(node) or "A")[0].isupper()


def _is_public_rust(node: Node, _name: str) -> bool:
    marks, above = "", node.prev_named_sibling
    while above is not None and (above.type == "attribute_item" or "comment" in above.type):
        marks, above = text_of(above) + marks, above.prev_named_sibling
    holder = node.parent.parent if node.parent else None
    is_inner = node.type == "enum_variant" or (holder is not None and holder.type == "trait_item")
    is_pub = any(text_of(one) == "pub" for one in children(node, "visibility_modifier"))
    return (is_pub or is_inner or "macro_export" in marks) and not _HIDDEN.search(marks)


def _used(node: Node | None) -> Iterator[str]:
    """Yield the names that a `pub use` gives; `*` for all of a module."""
    if node is None:
        return
    if node.type in ("scoped_use_list", "use_list"):
        for one in children(field(node, "list") or node):
            yield from _used(one)
    elif node.type == "use_wildcard":
        yield f"* of {text_of(node)}"
    else:
        yield text_of(field(node, "alias") or field(node, "name") or node)


# --- exports of JavaScript and TypeScript -------------------------------------------------


def _is_public_script(node: Node, name: str) -> bool:
    marks = {text_of(one) for one in children(node, "accessibility_modifier")}
    is_member = node.parent is not None and node.parent.type == "class_body"
    return not (marks & {"private", "protected"} or (is_member and name[:1] in "#_["))


def _read_exports(root: Node) -> dict[str, Symbol]:
    declared, found = dict[str, Symbol](), dict[str, Symbol]()
    for name, symbol in _declare(root, "", _SCRIPT):
        known = declared.setdefault(name, symbol)
        if known is not symbol:  # all overloads count
            declared[name] = replace(known, result=f"{known.result} or {symbol.result}")
    for node in children(root):
        if node.type == "export_statement":
            found |= _exported(node, declared)
        elif node.type == "expression_statement":
            for one in children(node, "assignment_expression"):
                found |= _assigned(one, declared)
    return found


def _exported(node: Node, declared: dict[str, Symbol]) -> dict[str, Symbol]:
    declaration, source = field(node, "declaration"), field(node, "source")
    marks = {one.type for one in node.children}
    if "default" in marks:
        return _bind("default", declaration or field(node, "value"), declared)
    if declaration is not None:
        return {name: declared[name] for name, _ in _declare(node, "", _SCRIPT)}
    if "*" in marks:
        return {f"* of {text_of(source)}": ELSEWHERE}
    found = dict[str, Symbol]()
    for clause in children(node, "export_clause"):
        for one in children(clause, "export_specifier"):
            own, alias = field(one, "name"), field(one, "alias")
            found |= _bind(text_of(alias or own), own, {} if source is not None else declared)
    return found


def _assigned(node: Node, declared: dict[str, Symbol]) -> dict[str, Symbol]:
    """Return the names of `module.exports = …` and `exports.name = …`."""
    value = field(node, "right")
    while value is not None and value.type == "assignment_expression":
        value = field(value, "right")
    match = re.fullmatch(r"(?:module\.)?exports(?:\.(\w+))?", text_of(field(node, "left")))
    if match is None:
        return {}
    if match[1] or value is None or value.type != "object":
        return _bind(match[1] or "default", value, declared)
    found = dict[str, Symbol]()
    for one in children(value, "shorthand_property_identifier", "pair", "method_definition"):
        key = text_of(field(one, "key") or field(one, "name") or one).strip("'\"")
        found |= _bind(key, field(one, "value") or one, declared)
    return found


def _bind(name: str, value: Node | None, declared: dict[str, Symbol]) -> dict[str, Symbol]:
    """Return a value as it is exported; a default one by the name that its own file gives it."""
    own = text_of(field(value, "name")) or text_of(value)
    name = own if name == "default" and own.isidentifier() else name
    known = {key: one for key, one in declared.items() if f"{key}.".startswith(f"{own}.")}
    if value is not None and not known:
        known = dict(_symbols(own, value, _SCRIPT))
    return {name: ELSEWHERE, **{name + key[len(own) :]: one for key, one in known.items()}}


_GO = Kinds(
    is_public=_is_public_go,
    inside=regex(r"(?:type|const|var)_declaration|var_spec_list|field_declaration_list"),
    functions=regex("function_declaration|method_declaration|method_elem"),
    types=regex("type_spec|type_alias"),
    values=regex("const_spec|var_spec|field_declaration"),
    spelling=((r"\binterface\s*\{\s*\}", "any"),),
    is_typed=True,
)
_RUST = Kinds(
    is_public=_is_public_rust,
    inside=regex(r"\Z"),
    functions=regex("function_item|function_signature_item"),
    types=regex("(?:struct|enum|trait|union|type|mod)_item"),
    values=regex("(?:const|static)_item|field_declaration|enum_variant|macro_definition"),
    spelling=((r"'\w+\s*,?\s*", ""), (r"\b(?:\w+::)+", ""), ("<>", ""), ("^mut self", "self")),
    is_typed=True,
)
_SCRIPT = Kinds(
    is_public=_is_public_script,
    inside=regex("export_statement|(?:lexical|variable|ambient)_declaration"),
    functions=regex(".*function.*|method_definition|(?:abstract_)?method_signature"),
    types=regex("(?:abstract_)?class(?:_declaration)?|(?:interface|enum|type_alias)_declaration"),
    values=regex("variable_declarator|(?:public_)?field_definition"),
    spelling=((r"^:\s*", ""),),
    is_typed=False,
)


def read_root(path: str, text: str) -> Node:
    """Return the root of a file's tree. Raises UnreadableError."""
    parsed = parse_file(path, text)
    if parsed is None:
        raise UnreadableError("no tree-sitter grammar for this language is installed")
    if parsed.errors:
        raise UnreadableError(f"syntax error in line {parsed.errors[0].line}")
    return parsed.tree.root_node


def text_of(node: Node | None) -> str:
    """Return the source of a node in one line, its spaces as one."""
    return " ".join(node.text.decode("utf-8", "replace").split()) if node and node.text else ""


def field(node: Node | None, *names: str) -> Node | None:
    """Return a field of a node, or a field of that; None where one is not there."""
    for name in names:
        node = node.child_by_field_name(name) if node is not None else None
    return node


def children(node: Node | None, *kinds: str) -> Iterator[Node]:
    """Yield the children of these kinds, of any kind where none is given."""
    for one in node.named_children if node is not None else ():
        if not kinds or one.type in kinds:
            yield one


def line_of(node: Node) -> int:
    """Return the line of a node, from 1."""
    return int(node.start_point[0]) + 1
