"""What one file of JavaScript or TypeScript declares, imports and exports."""

from __future__ import annotations

from dataclasses import field as value_of
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.surface.nodes import children, field, line_of, text_of
from runner.surface.symbols import Parameter, Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_LITERALS = ("string", "number", "true", "false", "null", "template_string", "regex")
_METHODS = ("method_definition", "method_signature", "abstract_method_signature")
_FIELDS = ("property_signature", "public_field_definition", "field_definition")
_OF_OBJECT = ("shorthand_property_identifier", "pair", "method_definition")


@dataclass(frozen=True, slots=True)
class Module:
    """One file. Members of a class or an interface have its name in front: `Cart.add`."""

    declared: dict[str, Symbol] = value_of(default_factory=dict)
    exports: dict[str, str] = value_of(default_factory=dict)
    """The names that it offers, and what they are called in the file."""
    imports: dict[str, tuple[str, str]] = value_of(default_factory=dict)
    """Names in the file that come from another one: its text, and the name there; `*` for all."""
    stars: list[str] = value_of(default_factory=list)
    """Files of which it exports all names."""
    constants: dict[str, str] = value_of(default_factory=dict)
    """Literals by the names that a default may use."""


def read_module(root: Node) -> Module:
    """Read the tree of one file."""
    module = Module()
    for node in children(root):  # a default may use a constant that stands below
        inner = field(node, "declaration") or node
        for one in children(inner, "variable_declarator"):
            value = field(one, "value")
            if value is not None and value.type in _LITERALS:
                module.constants[text_of(field(one, "name"))] = text_of(value)
    for node in children(root):
        if node.type == "export_statement":
            _read_export(node, module)
        elif node.type == "import_statement":
            _read_import(node, module)
        elif node.type == "expression_statement":
            for one in children(node, "assignment_expression"):
                _read_assignment(one, module)
        else:
            _declare(node, module)
    return module


# --- declarations -------------------------------------------------------------------------


def _declare(node: Node, module: Module) -> list[str]:
    """Note what a statement declares, and return the names."""
    parts = [*children(node, "variable_declarator")]
    if node.type == "ambient_declaration":
        parts = [*children(node)]
    if parts:
        return [name for one in parts for name in _declare(one, module)]
    name, value = text_of(field(node, "name")), field(node, "value")
    if not name.isidentifier() and "$" not in name:
        return []
    is_variable = node.type == "variable_declarator" and value is not None
    what = value if is_variable and value is not None else node
    kind = _type_text(field(node, "type"))
    for own, symbol in _symbols(name, what, module, kind):
        known = module.declared.setdefault(own, symbol)  # of overloads the first one counts
        if known is not symbol and node.type == "function_signature":
            result = f"{known.result} or {symbol.result}"
            module.declared[own] = replace(known, result=result)
    return [name]


def _symbols(name: str, node: Node, module: Module, kind: str = "") -> Iterator[tuple[str, Symbol]]:
    """Yield what a declaration, or a value, is, with its public members."""
    if "function" in node.type:  # a declaration, an expression, an arrow, a signature
        yield name, _function(node, module)
        return
    is_constant = node.type in _LITERALS and name.isupper()
    is_alias = node.type == "type_alias_declaration"
    body = field(node, "value" if is_alias else "body")
    if is_alias and body is not None:
        kind = body.type
    elif not kind:  # what it extends: a member that is gone may come from there
        kind = " ".join(
            text_of(one)
            for one in children(node)
            if "heritage" in one.type or "extends" in one.type
        )
    yield name, Symbol(line_of(node), result=kind, value=text_of(node) if is_constant else "")
    if node.type == "enum_declaration":
        for one in children(body):
            own, said = field(one, "name") or one, text_of(field(one, "value"))
            yield f"{name}.{text_of(own)}", Symbol(line_of(one), value=said)
        return
    for one in children(body, *_METHODS, *_FIELDS):
        said = text_of(field(one, "name") or field(one, "property"))
        hidden = {text_of(mark) for mark in children(one, "accessibility_modifier")}
        if hidden & {"private", "protected"} or said[:1] in ("#", "_", "[", ""):
            continue
        if one.type in _METHODS:
            yield f"{name}.{said}", _function(one, module)
        else:
            yield f"{name}.{said}", Symbol(line_of(one), result=_type_text(field(one, "type")))


def _function(node: Node, module: Module) -> Symbol:
    lone = field(node, "parameter")  # of an arrow function without parentheses
    found = enumerate(children(field(node, "parameters")))
    places = [one for place, each in found for one in _parameter(place, each, module)]
    return Symbol(
        line_of(node),
        (Parameter(text_of(lone)),) if lone is not None else tuple(places),
        _type_text(field(node, "return_type")),
        is_async=any(one.type == "async" for one in node.children),
    )


def _parameter(place: int, node: Node, module: Module) -> Iterator[Parameter]:
    """Yield a parameter, and the keys of one that takes an object apart."""
    pattern = field(node, "pattern") or field(node, "left") or node
    value = field(node, "value") or field(node, "right")
    if "comment" in node.type or text_of(pattern) == "this":
        return
    takes_rest = pattern.type == "rest_pattern"
    optional = value is not None or node.type == "optional_parameter" or takes_rest
    is_object = pattern.type == "object_pattern"
    name = f"argument {place + 1}" if is_object else text_of(pattern).lstrip(".")
    default = None if is_object else _default(value, module)
    yield Parameter(name, _type_text(field(node, "type")), default, is_optional=optional)
    for one in children(pattern) if is_object else ():
        inner = field(one, "value") or one
        key = field(one, "key") or field(one, "left") or one
        if one.type != "rest_pattern":
            default = _default(field(inner, "right"), module)
            yield Parameter(text_of(key), "", default, is_optional=True, is_key=True)


def _default(value: Node | None, module: Module) -> str | None:
    text = text_of(value)
    return module.constants.get(text, text) if value is not None else None


def _type_text(node: Node | None) -> str:
    return text_of(node).removeprefix(":").strip()


# --- imports and exports ------------------------------------------------------------------


def _read_export(node: Node, module: Module) -> None:
    source = _string(field(node, "source"))
    declaration, value = field(node, "declaration"), field(node, "value")
    if any(one.type == "default" for one in node.children):
        _export_value("default", declaration or value, module)
    elif declaration is not None:
        module.exports.update({name: name for name in _declare(declaration, module)})
    for clause in children(node, "export_clause"):
        for one in children(clause, "export_specifier"):
            own = text_of(field(one, "name"))
            _export(text_of(field(one, "alias")) or own, own, source, module)
    spaces = [
        text_of(one) for space in children(node, "namespace_export") for one in children(space)
    ]
    for name in spaces:
        _export(name, "*", source, module)
    if source and not spaces and any(one.type == "*" for one in node.children):
        module.stars.append(source)


def _export(name: str, own: str, source: str, module: Module) -> None:
    """Note an export of a name in the file, or of one in another file."""
    module.exports[name] = f"{own} from {source}" if source else own
    if source:
        module.imports[f"{own} from {source}"] = (source, own)


def _read_import(node: Node, module: Module) -> None:
    source = _string(field(node, "source"))
    for one in (one for clause in children(node, "import_clause") for one in children(clause)):
        if one.type == "identifier":
            module.imports[text_of(one)] = (source, "default")
        elif one.type == "namespace_import":
            module.imports.update({text_of(name): (source, "*") for name in children(one)})
        for inner in children(one, "import_specifier"):
            own = text_of(field(inner, "name"))
            module.imports[text_of(field(inner, "alias")) or own] = (source, own)


def _read_assignment(node: Node, module: Module) -> None:
    """Note `module.exports = …` and `exports.name = …`."""
    target, value = text_of(field(node, "left")), field(node, "right")
    while value is not None and value.type == "assignment_expression":
        value = field(value, "right")
    head, found, name = target.rpartition("exports")
    if not found or head not in ("", "module."):
        return
    if name:
        _export_value(name.lstrip("."), value, module)
    elif value is None or value.type != "object":
        _export_value("default", value, module)
    else:
        for one in children(value, *_OF_OBJECT):
            key = text_of(field(one, "key") or field(one, "name") or one).strip("'\"")
            _export_value(key, field(one, "value") or one, module)


def _export_value(name: str, value: Node | None, module: Module) -> None:
    """Note an export of a name, or of a value, which may have a name of its own."""
    if value is None or "identifier" in value.type:
        module.exports[name] = text_of(value)
        return
    own = text_of(field(value, "name")) or f"value of {name}"
    module.exports[name] = own
    found = _symbols(own, value, module)
    if value.type == "method_definition":
        found = iter([(own, _function(value, module))])
    for key, symbol in found:
        module.declared.setdefault(key, symbol)


def _string(node: Node | None) -> str:
    return text_of(node).strip("'\"`")
