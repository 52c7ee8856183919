"""The public items of a Rust library crate (doc.rust-lang.org/reference/visibility-and-privacy)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.surface.facts import Fact, Trees, read_text
from runner.surface.nodes import children, field, line_of, read_root, text_of
from runner.surface.symbols import Parameter, Symbol, compare_surfaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tree_sitter import Node

_PATHS = re.compile(r"\b(?:\w+::)+")
_LIFETIME = re.compile(r"'\w+\s*,?\s*")
_HIDDEN = re.compile(r"cfg\s*\((?:.*\W)?test\W|doc\s*\(\s*hidden")
_EXPORTED = re.compile(r"\bmacro_export\b")


def find_rust_changes(paths: Iterable[str], trees: Trees) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Yield what the changed files of a library crate take from those who use it."""
    for path in paths:
        crate, below = _split(path)
        if below and trees.before(f"{crate}src/lib.rs") is not None:
            yield path, _compare(path, crate, below, trees)


def _compare(path: str, crate: str, below: list[str], trees: Trees) -> Iterator[Fact]:
    """Raises UnreadableError."""
    old, new = read_text(trees.before(path)), read_text(trees.after(path))
    if old is None:
        return
    before, after = dict(read_rust(path, old)), dict(read_rust(path, new or ""))
    offered = _offered(crate, below, trees.before)
    if offered is not None and "*" not in offered:
        before = {name: one for name, one in before.items() if name.split(".")[0] in offered}
    for name in _offered(crate, below, trees.after) or ():  # the crate has it from elsewhere now
        after.setdefault(name, Symbol(0, result="use"))
    others = (
        one.path for one in trees.changes if one.path != path and _split(one.path)[0] == crate
    )
    for other in (one for one in others if one.endswith(".rs")):  # a method may move to any file
        inner = read_rust(other, read_text(trees.after(other)) or "")
        after |= {name: before[name] for name, _ in inner if "." in name and name in before}
    yield from compare_surfaces(path, before, after)


def _split(path: str) -> tuple[str, list[str]]:
    """Return the folder of a file's crate, and the names of its module below `src`.

    The module of `src/lib.rs` itself is `[""]`; a file of a program has none.
    """
    above, found, below = f"/{path}".rpartition("/src/")
    names = below.removesuffix(".rs").split("/")
    if not found or names[0] in ("main", "bin") or "/examples/" in f"{above}/":
        return "", []
    if names == ["lib"]:
        return f"{above}/".lstrip("/"), [""]
    return f"{above}/".lstrip("/"), names[:-1] if names[-1] == "mod" else names


def _offered(
    crate: str, below: list[str], read: Callable[[str], bytes | None]
) -> frozenset[str] | None:
    """Return the names that a private module shows through `pub use`; None for a public one."""
    if below == [""]:
        return None
    hidden, shown = False, set[str]()
    for depth, name in enumerate(below):
        folder = "/".join(below[:depth])
        files = [f"{folder}.rs", f"{folder}/mod.rs"] if folder else ["lib.rs"]
        text = next((one for file in files if (one := read_text(read(f"{crate}src/{file}")))), "")
        hidden = hidden or not re.search(
            rf"^[ \t]*pub\s+mod\s+{re.escape(name)}\s*[;{{]", text, re.MULTILINE
        )
        for used in re.findall(r"\bpub\s+use\s+([^;]+);", text):
            shown |= {*re.findall(r"\w+", used)} | (
                {"*"} if "*" in used and name in used else set()
            )
    return frozenset(shown) if hidden else None


def read_rust(path: str, text: str) -> Iterator[tuple[str, Symbol]]:
    """Yield the public items of a file; fields, variants and methods with their type in front."""
    yield from _items(read_root(path, text), "")


def _items(node: Node, inside: str) -> Iterator[tuple[str, Symbol]]:
    for one, marks in _find_visible(node):
        yield from _item(one, inside, marks)


def _find_visible(node: Node | None) -> Iterator[tuple[Node, str]]:
    """Yield what is neither hidden from the documentation nor for tests, with its attributes."""
    marks = ""
    for one in children(node):
        if one.type == "attribute_item":
            marks += text_of(one)
        elif "comment" not in one.type:
            if not _HIDDEN.search(marks):
                yield one, marks
            marks = ""


def _is_public(node: Node) -> bool:
    return any(text_of(one) == "pub" for one in children(node, "visibility_modifier"))


def _item(node: Node, inside: str, marks: str) -> Iterator[tuple[str, Symbol]]:
    name = inside + text_of(field(node, "name"))
    if node.type == "impl_item" and field(node, "trait") is None:
        owner = re.sub(r"<.*", "", text_of(field(node, "type")))
        for one in children(field(node, "body"), "function_item", "const_item"):
            if _is_public(one):
                own = f"{inside}{owner}.{text_of(field(one, 'name'))}"
                yield own, _symbol(one, owner)
    elif node.type == "macro_definition" and _EXPORTED.search(marks):
        yield name, Symbol(line_of(node), is_typed=True)
    elif not _is_public(node):
        return
    elif node.type == "mod_item":
        body = field(node, "body")
        if body is not None:
            yield from _items(body, f"{name}.")
    elif node.type == "use_declaration":
        # As what a type extends: its members are elsewhere.
        elsewhere = Symbol(line_of(node), result="use")
        yield from ((one, elsewhere) for one in _used(field(node, "argument")))
    elif field(node, "name") is not None:
        yield name, _symbol(node, "")
        yield from _members(node, name)


def _symbol(node: Node, owner: str) -> Symbol:
    if node.type not in ("function_item", "function_signature_item"):
        is_value = node.type in ("const_item", "static_item")
        kind = _type_text(field(node, "type"), owner) if is_value else ""
        return Symbol(line_of(node), None, kind, text_of(field(node, "value")), is_typed=True)
    parameters = tuple(
        Parameter("self", _type_text(one, owner))
        if one.type == "self_parameter"
        else Parameter(text_of(field(one, "pattern")), _type_text(field(one, "type"), owner))
        for one in children(field(node, "parameters"), "self_parameter", "parameter")
    )
    how = " ".join(text_of(one) for one in children(node, "function_modifiers"))
    result = _type_text(field(node, "return_type"), owner)
    waits = "future of " if "async" in how else ""
    return Symbol(line_of(node), parameters, waits + result, is_typed=True)


def _type_text(node: Node | None, owner: str) -> str:
    """Return a type without lifetimes and paths, which may be written or not."""
    text = _PATHS.sub("", _LIFETIME.sub("", text_of(node))).replace("<>", "")
    text = re.sub(r"\bmut self\b(?<!&mut self)", "self", text)
    return re.sub(rf"\b{re.escape(owner)}\b(?!<)", "Self", text) if owner else text


def _members(node: Node, name: str) -> Iterator[tuple[str, Symbol]]:
    body = field(node, "body")
    for one, _ in _find_visible(body):
        if one.type == "field_declaration" and _is_public(one):
            kind = _type_text(field(one, "type"), "")
            yield (
                f"{name}.{text_of(field(one, 'name'))}",
                Symbol(line_of(one), None, kind, is_typed=True),
            )
    for one in children(body, "enum_variant"):
        own = text_of(field(one, "name"))
        yield f"{name}.{own}", Symbol(line_of(one), None, _type_text(field(one, "body"), ""))
    for one in children(body, "function_item", "function_signature_item", "associated_type"):
        if node.type == "trait_item":
            yield f"{name}.{text_of(field(one, 'name'))}", _symbol(one, "")


def _used(node: Node | None) -> Iterator[str]:
    """Yield the names that a `pub use` gives."""
    if node is None:
        return
    match node.type:
        case "identifier" | "type_identifier":
            yield text_of(node)
        case "scoped_identifier":
            yield text_of(field(node, "name"))
        case "use_as_clause":
            yield text_of(field(node, "alias"))
        case "scoped_use_list":
            yield from _used(field(node, "list"))
        case "use_list":
            for one in children(node):
                yield from _used(one)
