"""What one file of JavaScript or TypeScript declares, imports and exports."""

from __future__ import annotations

from dataclasses import field as value_of
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.surface.nodes import children, field, line_of, read_root, text_of
from runner.surface.symbols import Parameter, Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_FUNCTIONS = (
    *("function_declaration", "generator_function_declaration", "function_signature"),
    *("function_expression", "generator_function", "arrow_function"),
)
_CLASSES = ("class_declaration", "abstract_class_declaration", "class")
_VARIABLES = ("lexical_declaration", "variable_declaration")
_LITERALS = ("string", "number", "true", "false", "null", "template_string", "regex")
_METHODS = ("method_definition", "method_signature", "abstract_method_signature")


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


def read_module(path: str, text: str) -> Module:
    """Read one file. Raises UnreadableError."""
    module = Module()
    root = read_root(path, text)
    for node in children(root):  # a default may use a constant that stands below
        for one in _declarators(node):
            value = field(one, "value")
            if value is not None and value.type in _LITERALS:
                module.constants[text_of(field(one, "name"))] = text_of(value)
    for node in children(root):
        _read_statement(node, module)
    return module


def _declarators(node: Node) -> Iterator[Node]:
    inner = field(node, "declaration") if node.type == "export_statement" else node
    if inner is not None and inner.type in _VARIABLES:
        yield from children(inner, "variable_declarator")


def _read_statement(node: Node, module: Module) -> None:
    match node.type:
        case "export_statement":
            _read_export(node, module)
        case "import_statement":
            _read_import(node, module)
        case "expression_statement":
            for one in children(node, "assignment_expression"):
                _read_assignment(one, module)
        case _:
            _declare(node, module)


# --- declarations -------------------------------------------------------------------------


def _declare(node: Node | None, module: Module) -> list[str]:
    """Note what a statement declares, and return the names."""
    if node is None:
        return []
    if node.type == "ambient_declaration":
        return [name for one in children(node) for name in _declare(one, module)]
    if node.type in _VARIABLES:
        return [
            name for one in children(node, "variable_declarator") for name in _variable(one, module)
        ]
    name = text_of(field(node, "name"))
    if not name:
        return []
    found = dict(_symbols(name, node, module))
    for own, symbol in found.items():
        module.declared.setdefault(own, symbol)  # of overloads the first one counts
    return [name] if found else []


def _variable(node: Node, module: Module) -> list[str]:
    """Note one `name = value`; one that takes an object apart declares all of its names."""
    target, value = field(node, "name"), field(node, "value")
    if target is None:
        return []
    if target.type != "identifier":
        names = [text_of(one) for one in _leaves(target)]
        module.declared.update({name: Symbol(line_of(node)) for name in names})
        return names
    name, kind = text_of(target), _type_text(field(node, "type"))
    if (
        value is not None
        and value.type == "call_expression"
        and text_of(value).startswith("require(")
    ):
        module.imports[name] = (_string(field(value, "arguments")), "*")
    module.declared.update(_symbols(name, value, module, kind) if value is not None else {})
    module.declared.setdefault(name, Symbol(line_of(node), result=kind))
    return [name]


def _leaves(pattern: Node) -> Iterator[Node]:
    kinds = ("shorthand_property_identifier_pattern", "identifier")
    for one in children(pattern):
        yield from (one,) if one.type in kinds else _leaves(one)


def _symbols(name: str, node: Node, module: Module, kind: str = "") -> Iterator[tuple[str, Symbol]]:
    """Yield what a declaration, or a value, is, with its public members."""
    line = line_of(node)
    if node.type in _FUNCTIONS:
        yield name, _function(node, module)
    elif node.type in _CLASSES or node.type == "interface_declaration":
        yield name, Symbol(line)
        yield from _members(name, field(node, "body"), module)
    elif node.type == "type_alias_declaration":
        yield name, Symbol(line)
        value = field(node, "value")
        if value is not None and value.type == "object_type":
            yield from _members(name, value, module)
    elif node.type == "enum_declaration":
        yield name, Symbol(line)
        for one in children(field(node, "body")):
            own, said = field(one, "name") or one, text_of(field(one, "value"))
            yield f"{name}.{text_of(own)}", Symbol(line_of(one), value=said)
    elif node.type in ("internal_module", "module"):
        yield name, Symbol(line)
    else:
        said = text_of(node) if node.type in _LITERALS and name.isupper() else ""
        yield name, Symbol(line, result=kind, value=said)


def _members(name: str, body: Node | None, module: Module) -> Iterator[tuple[str, Symbol]]:
    kinds = (*_METHODS, "property_signature", "public_field_definition", "field_definition")
    for one in children(body, *kinds):
        own = field(one, "name") or field(one, "property")
        hidden = next((text_of(mark) for mark in children(one, "accessibility_modifier")), "")
        said = text_of(own)
        if own is None or hidden in ("private", "protected") or said[:1] in ("#", "_", "["):
            continue
        if one.type in _METHODS:
            yield f"{name}.{said}", _function(one, module)
        else:
            yield f"{name}.{said}", Symbol(line_of(one), result=_type_text(field(one, "type")))


def _function(node: Node, module: Module) -> Symbol:
    listed = field(node, "parameters") or field(node, "parameter")
    found = [*children(listed)] if listed is not None and listed.type == "formal_parameters" else []
    places = [
        one for place, node_ in enumerate(found) for one in _parameter(place, node_, module)
    ] or (
        [Parameter(text_of(listed))] if listed is not None and listed.type == "identifier" else []
    )
    return Symbol(
        line_of(node),
        tuple(places),
        _type_text(field(node, "return_type")),
        is_async=any(one.type == "async" for one in node.children),
    )


def _parameter(place: int, node: Node, module: Module) -> Iterator[Parameter]:
    """Yield a parameter, and the keys of one that takes an object apart."""
    if "comment" in node.type:
        return
    pattern, value = node, None
    if node.type in ("required_parameter", "optional_parameter"):
        pattern, value = field(node, "pattern") or node, field(node, "value")
    elif node.type == "assignment_pattern":
        pattern, value = field(node, "left") or node, field(node, "right")
    if text_of(pattern) == "this":
        return
    kind, default = _type_text(field(node, "type")), _default(value, module)
    optional = (
        value is not None or node.type == "optional_parameter" or pattern.type == "rest_pattern"
    )
    if pattern.type != "object_pattern":
        yield Parameter(text_of(pattern).lstrip("."), kind, default, is_optional=optional)
        return
    yield Parameter(f"argument {place + 1}", kind, None, is_optional=optional)
    for one in children(pattern):
        inner = field(one, "value") if one.type == "pair_pattern" else one
        given = field(inner, "right") if inner is not None and "assignment" in inner.type else None
        key = field(one, "key") or field(one, "left") or one
        if one.type != "rest_pattern":
            yield Parameter(
                text_of(key), "", _default(given, module), is_optional=True, is_key=True
            )


def _default(value: Node | None, module: Module) -> str | None:
    if value is None:
        return None
    text = text_of(value)
    return module.constants.get(text, text)


def _type_text(node: Node | None) -> str:
    return text_of(node).removeprefix(":").strip()


# --- imports and exports ------------------------------------------------------------------


def _read_export(node: Node, module: Module) -> None:
    source, is_default = _string(node), any(one.type == "default" for one in node.children)
    declaration, value = field(node, "declaration"), field(node, "value")
    if is_default:
        _export_value("default", declaration or value, module)
    elif declaration is not None:
        module.exports.update({name: name for name in _declare(declaration, module)})
    for clause in children(node, "export_clause"):
        for one in children(clause, "export_specifier"):
            own = text_of(field(one, "name"))
            name = text_of(field(one, "alias")) or own
            module.exports[name] = own
            if source:
                module.exports[name] = f"{own} from {source}"
                module.imports[f"{own} from {source}"] = (source, own)
    spaces = [
        text_of(one) for space in children(node, "namespace_export") for one in children(space)
    ]
    for name in spaces:
        module.exports[name] = f"* from {source}"
        module.imports[f"* from {source}"] = (source, "*")
    if source and not spaces and any(one.type == "*" for one in node.children):
        module.stars.append(source)


def _read_import(node: Node, module: Module) -> None:
    source = _string(node)
    for clause in children(node, "import_clause"):
        for one in children(clause):
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
    if target in ("module.exports", "exports"):
        if value is not None and value.type == "object":
            _export_object(value, module)
        else:
            _export_value("default", value, module)
    elif target.startswith(("module.exports.", "exports.")):
        name = target.rpartition("exports.")[2]
        if "." not in name:
            _export_value(name, value, module)


def _export_object(node: Node, module: Module) -> None:
    for one in children(node):
        if one.type == "shorthand_property_identifier":
            module.exports[text_of(one)] = text_of(one)
        elif one.type == "pair":
            _export_value(text_of(field(one, "key")).strip("'\""), field(one, "value"), module)
        elif one.type == "method_definition":
            name = text_of(field(one, "name"))
            module.exports[name] = name
            module.declared[name] = _function(one, module)


def _export_value(name: str, value: Node | None, module: Module) -> None:
    """Note an export of a name, or of a value without one."""
    if value is None:
        return
    if value.type == "identifier":
        module.exports[name] = text_of(value)
        return
    own = text_of(field(value, "name"))
    if own and value.type.endswith(("declaration", "signature")):
        _declare(value, module)
        module.exports[name] = own
        return
    module.exports[name] = f"value of {name}"
    for found, symbol in _symbols(f"value of {name}", value, module):
        module.declared[found] = symbol


def _string(node: Node | None) -> str:
    """Return the text of the string that a statement names a file by."""
    source = field(node, "source") or next(children(node, "string"), None)
    return text_of(source).strip("'\"`")
