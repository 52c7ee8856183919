"""The exported names of a Go package (go.dev/ref/spec, "Exported identifiers")."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.surface.facts import Fact, Trees, read_text
from runner.surface.nodes import children, field, line_of, read_root, text_of
from runner.surface.symbols import Parameter, Symbol, compare_surfaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tree_sitter import Node

_INSIDE = re.compile(r"(?:^|/)(?:internal|vendor|testdata|examples?|_[^/]*)/")
_PACKAGE = re.compile(r"^package\s+(\w+)", re.MULTILINE)


def find_go_changes(paths: Iterable[str], trees: Trees) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Yield what the changed files of each package take from those who import it.

    A name that moved to another file of its package is still there.
    """
    folders = dict[str, list[str]]()
    for path in paths:
        if not _INSIDE.search(path) and _is_library(path, trees):
            folders.setdefault(path.rpartition("/")[0], []).append(path)
    for found in folders.values():
        yield found[0], _compare(found, trees)


def _compare(paths: list[str], trees: Trees) -> Iterator[Fact]:
    """Raises UnreadableError."""
    before, after = _surface(paths, trees.before), _surface(paths, trees.after)
    yield from compare_surfaces(paths[0], before, after)


def _is_library(path: str, trees: Trees) -> bool:
    text = read_text(trees.before(path)) or read_text(trees.after(path)) or ""
    match = _PACKAGE.search(text)
    return match is not None and match[1] != "main"


def _surface(paths: Iterable[str], read: Callable[[str], bytes | None]) -> Mapping[str, Symbol]:
    found = dict[str, Symbol]()
    for path in paths:
        text = read_text(read(path))
        if text:
            for name, symbol in read_go(path, text):
                found.setdefault(name, symbol)
    aliases = {name: one.value for name, one in found.items() if one.local == "alias"}
    return {name: _resolve(one, aliases) for name, one in found.items()} if aliases else found


def _resolve(symbol: Symbol, aliases: Mapping[str, str]) -> Symbol:
    """Return a symbol whose types are written without the aliases of its package."""
    words = re.compile(rf"(?<![\w.])(?:{'|'.join(aliases)})\b")

    def spell(text: str) -> str:
        return words.sub(lambda match: aliases[match[0]], text)

    places = symbol.parameters
    if places is not None:
        places = tuple(replace(one, type=spell(one.type)) for one in places)
    return replace(symbol, parameters=places, result=spell(symbol.result), local="")


def read_go(path: str, text: str) -> Iterator[tuple[str, Symbol]]:
    """Yield the exported names of a file; fields and methods with their type in front."""
    for node in children(read_root(path, text)):
        match node.type:
            case "function_declaration":
                yield from _exported(text_of(field(node, "name")), _function(node))
            case "method_declaration":
                owner = _receiver(node)
                if owner[:1].isupper():
                    name = text_of(field(node, "name"))
                    yield from _exported(name, _function(node), f"{owner}.")
            case "type_declaration":
                for one in children(node, "type_spec", "type_alias"):
                    yield from _type(one)
            case "const_declaration" | "var_declaration":
                yield from _values(node)


def _exported(name: str, symbol: Symbol, owner: str = "") -> Iterator[tuple[str, Symbol]]:
    if name[:1].isupper():
        yield owner + name, symbol


def _receiver(node: Node) -> str:
    text = text_of(field(node, "receiver")).strip("()")
    return re.split(r"[\s*]", text.partition("[")[0].strip())[-1]


def _function(node: Node) -> Symbol:
    parameters = tuple(_parameters(field(node, "parameters")))
    result = field(node, "result")
    if result is not None and result.type == "parameter_list":
        said = ", ".join(one.type for one in _parameters(result))
    else:
        said = _type_text(result)
    return Symbol(line_of(node), parameters, said, is_typed=True)


def _parameters(listed: Node | None) -> Iterator[Parameter]:
    for one in children(listed, "parameter_declaration", "variadic_parameter_declaration"):
        rest = one.type.startswith("variadic")
        kind = ("..." if rest else "") + _type_text(field(one, "type"))
        names = [text_of(name) for name in one.children_by_field_name("name")] or [""]
        yield from (Parameter(name, kind, is_optional=rest) for name in names)


def _type_text(node: Node | None) -> str:
    return re.sub(r"\binterface\s*\{\s*\}", "any", text_of(node))


def _type(node: Node) -> Iterator[tuple[str, Symbol]]:
    name, kind = text_of(field(node, "name")), field(node, "type")
    if not name[:1].isupper() or kind is None:
        return
    is_plain = kind.type not in ("struct_type", "interface_type")
    text, is_alias = _type_text(kind), node.type == "type_alias"
    local = "alias" if is_alias else ""
    yield (
        name,
        Symbol(
            *(line_of(node), None, text * is_plain, text * is_alias), is_typed=True, local=local
        ),
    )
    for one in children(kind, "method_elem"):
        yield from _exported(text_of(field(one, "name")), _function(one), f"{name}.")
    for one in children(next(children(kind, "field_declaration_list"), None), "field_declaration"):
        symbol = Symbol(line_of(one), result=_type_text(field(one, "type")), is_typed=True)
        for own in one.children_by_field_name("name"):
            yield from _exported(text_of(own), symbol, f"{name}.")


def _values(node: Node) -> Iterator[tuple[str, Symbol]]:
    specs = [*children(node, "const_spec", "var_spec")]
    specs += [one for spec in children(node, "var_spec_list") for one in children(spec, "var_spec")]
    for one in specs:
        names, values = one.children_by_field_name("name"), [*children(field(one, "value"))]
        kind = _type_text(field(one, "type"))
        for place, name in enumerate(names):
            value = text_of(values[place]) if place < len(values) == len(names) else ""
            value = value if node.type == "const_declaration" and value != "iota" else ""
            symbol = Symbol(line_of(one), result=kind, value=value, is_typed=True)
            yield from _exported(text_of(name), symbol)
