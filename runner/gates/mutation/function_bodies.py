"""Find the functions of a source file: tree-sitter with one table of node types a language.

Python is read by `ast`. Stub first: a change with a raise at the start of every function that it
adds or modifies. Other checks run a command on that tree to see whether it can fail. Generated
code is left out.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from runner.gates.test_paths import is_test_path
from runner.languages.registry import code_row
from runner.languages.syntax_tree import parse_file
from runner.model import digest_of
from runner.text.python_syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tree_sitter import Node

    from runner.model import Change


_LARGEST = 1_000_000
"""Maximum bytes of a file; a larger one contains data."""


class Insertion(NamedTuple):
    """Text that goes before an offset of the file, in bytes."""

    at: int
    text: bytes


class FunctionBody(Struct, frozen=True):
    """A function that runs something: its place, and how to make it raise."""

    name: str
    """Qualified name such as `Basket.total`."""
    line: int
    start: int
    end: int
    """End of the definition in bytes (exclusive); `start` is its first byte."""
    code: str
    """Its code without comments, docstrings, annotations and nested functions."""
    stub: tuple[Insertion, ...]
    syntax: Node | ast.AST


class Grammar(NamedTuple):
    """The node types of a language that is read by tree-sitter."""

    functions: frozenset[str]
    scopes: frozenset[str]
    """Node types that qualify the names of functions inside them."""
    raising: str
    """Statement that raises; compilers must still accept the code after it."""
    left_out: frozenset[str]
    """Node types of comments and of parts that only type checkers use."""
    ignored: frozenset[str] = frozenset()
    """Functions that run when the program is loaded."""


_SCRIPT = Grammar(
    functions=frozenset(
        {"function_declaration", "function_expression", "arrow_function", "method_definition"}
        | {"generator_function", "generator_function_declaration"}
    ),
    scopes=frozenset(
        {"class_declaration", "class", "abstract_class_declaration", "internal_module"}
        | {"variable_declarator", "pair", "public_field_definition", "field_definition"}
        | {"assignment_expression"}
    ),
    # For TypeScript's check of unreachable code `!0` is no constant, but `true` is.
    raising=' if (!0) throw new Error("{message}"); ',
    left_out=frozenset(
        {"comment", "type_annotation", "type_parameters", "type_arguments", "interface_declaration"}
        | {"type_alias_declaration", "function_signature", "accessibility_modifier", "readonly"}
        | {"ambient_declaration", "override_modifier", "abstract_method_signature"}
    ),
)
_GO = Grammar(
    functions=frozenset({"function_declaration", "method_declaration", "func_literal"}),
    scopes=frozenset({"var_spec", "short_var_declaration", "keyed_element"}),
    raising=' panic("{message}"); ',
    left_out=frozenset({"comment"}),
    ignored=frozenset({"init"}),
)
_RUST = Grammar(
    functions=frozenset({"function_item"}),
    scopes=frozenset({"impl_item", "trait_item", "mod_item"}),
    # An `if` without `else` leaves the code after it reachable for `deny(unreachable_code)`.
    raising=' if true {{ panic!("{message}"); }} ',
    left_out=frozenset({"line_comment", "block_comment"}),
)
GRAMMARS = {"javascript": _SCRIPT, "go": _GO, "rust": _RUST}
MESSAGE = "the runner replaced the body of this function"
_TESTS = ("test", "bench", "rstest")
"""Last word of Rust attributes that make a function a test."""


def functions_in(path: str, content: bytes | None) -> tuple[FunctionBody, ...]:
    """Return the functions of a file whose bodies can raise; empty for unsupported files."""
    source = _read(path, content)
    if source is None:
        return ()
    if _is_python(path):
        return tuple(_python_functions(*source))
    grammar, root = _grammar_of(path), _root(path, source[0])
    return tuple(_functions_below(root, grammar)) if grammar and root else ()


def find_changed_functions(
    path: str, before: bytes | None, after: bytes | None
) -> tuple[FunctionBody, ...]:
    """Return the functions of `after` whose code is not in `before`."""
    known = {(one.name, one.code) for one in functions_in(path, before)}
    return tuple(one for one in functions_in(path, after) if (one.name, one.code) not in known)


def code_of(path: str, content: bytes | None) -> str | None:
    """Return a file's code without comments, docstrings and types; None if not parsed."""
    source = _read(path, content)
    if source is None:
        return None
    if _is_python(path):
        return _dump(source.tree)
    grammar, root = _grammar_of(path), _root(path, source[0])
    return " ".join(_leaves(root, grammar, None)) if grammar and root else None


def insert(content: bytes, insertions: Iterable[Insertion]) -> bytes:
    """Return the content with all insertions applied."""
    for one in sorted(insertions, reverse=True):
        content = content[: one.at] + one.text + content[one.at :]
    return content


def is_readable(path: str) -> bool:
    """Return whether functions in a file of this name can be parsed."""
    if _is_python(path):
        return True
    return _grammar_of(path) is not None and parse_file(path, "") is not None


def stub_changes(
    changes: Sequence[Change],
    before: Callable[[str], bytes | None],
    is_test: Callable[[str], bool] = is_test_path,
) -> tuple[Change, ...]:
    """Return the changes with all changed functions raising; empty if there are none.

    `base_result.earlier(check, context, stubbed)` runs a check on that tree.
    """
    stubbed = tuple(
        one if is_test(one.path) else stub_change(one, before(one.path)) for one in changes
    )
    return stubbed if stubbed != tuple(changes) else ()


def stub_change(change: Change, before: bytes | None) -> Change:
    """Return a change with its changed functions raising, or unchanged without any."""
    content = change.content
    if content is None or is_left_out(change.path, content):
        return change
    found = find_changed_functions(change.path, before, content)
    if not found:
        return change
    new = insert(content, (part for one in found for part in one.stub))
    return replace(change, after=digest_of(new), content=new)


_GENERATED = re.compile(
    rb"@generated\b|\bDO NOT EDIT\b|\bdo not edit\b|\b[Aa]uto-?generated\b|\bGenerated by\b"
    rb"|\bThis file (?:was|is) generated\b"
)
_HEAD = 2000
"""Bytes at the start of a file that are searched for a generator's notice."""
_GENERATED_PATHS = re.compile(
    r"(?:\A|/)(?:node_modules|vendor|third_party|dist|build|migrations|__generated__|generated)/"
    r"|(?:_pb2(?:_grpc)?\.pyi?|\.pb\.go|\.min\.js|\.generated\.\w+|_generated\.\w+|\.d\.[cm]?ts)\Z"
)
_LONGEST_LINE = 2000
"""Bytes of a line beyond which it was not handwritten."""


def is_left_out(path: str, content: bytes) -> bool:
    """Return whether a file is generated or minified, so it is left out."""
    if _GENERATED_PATHS.search(path) or _GENERATED.search(content[:_HEAD]):
        return True
    return any(len(line) > _LONGEST_LINE for line in content.split(b"\n"))


# --- any language ---------------------------------------------------------------------


def _is_python(path: str) -> bool:
    row = code_row(path)
    return bool(row and row.name == "python")


def _grammar_of(path: str) -> Grammar | None:
    row = code_row(path)
    return GRAMMARS.get(row.name) if row else None


class _Source(NamedTuple):
    content: bytes
    tree: ast.Module
    """Syntax tree; empty for languages other than Python."""


def _read(path: str, content: bytes | None) -> _Source | None:
    if content is None or len(content) > _LARGEST:
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    if not _is_python(path):
        return _Source(content, ast.Module([], []))
    # Line numbers of the tree must match those of the bytes.
    if text.startswith("\ufeff") or "\f" in text or "\r" in text.replace("\r\n", ""):
        return None
    tree = python_tree(text)
    return _Source(content, tree) if tree else None


def _root(path: str, content: bytes) -> Node | None:
    found = parse_file(path, content.decode())
    return found.tree.root_node if found and not found.errors else None


# --- tree-sitter ----------------------------------------------------------------------


def _functions_below(root: Node, grammar: Grammar) -> Iterator[FunctionBody]:
    """Yield named functions, and unnamed ones outside of all others: callbacks are no own ones."""
    left: list[tuple[Node, str, bool]] = [(root, "", False)]
    while left:
        node, scope, is_inside = left.pop()
        if _is_test(node):
            continue
        name = _name_of(node, grammar)
        if node.type in grammar.functions:
            has_name = bool(name or _takes_name(node, grammar))
            if (has_name or not is_inside) and not _runs_at_once(node):
                found = _function(node, f"{scope}{name}".rstrip(".") or "a function", grammar)
                if found is not None and name not in grammar.ignored:
                    yield found
                    is_inside = True
        if name and node.type in grammar.scopes | grammar.functions:
            scope = f"{scope}{name}."
        left += [(child, scope, is_inside) for child in reversed(node.named_children)]


def _name_of(node: Node, grammar: Grammar) -> str:
    """Return the name of a function or scope; empty if it has none."""
    if node.type not in grammar.functions | grammar.scopes:
        return ""
    for field in ("name", "key", "property", "type", "left"):
        if named := node.child_by_field_name(field):
            on = node.child_by_field_name("receiver")
            receiver = _text(on).strip("()").split()[-1].lstrip("*") + "." if on else ""
            return receiver + _text(named)
    return ""


def _takes_name(node: Node, grammar: Grammar) -> bool:
    """Return whether a function is the value of a variable, field or property."""
    parent = node.parent
    while parent is not None and parent.type in ("parenthesized_expression", "expression_list"):
        parent = parent.parent
    return parent is not None and parent.type in grammar.scopes


def _runs_at_once(node: Node) -> bool:
    """Return whether a function is called where it is defined."""
    inner, outer = node, node.parent
    while outer is not None and outer.type == "parenthesized_expression":
        inner, outer = outer, outer.parent
    return (
        outer is not None
        and outer.type == "call_expression"
        and outer.child_by_field_name("function") == inner
    )


def _function(node: Node, name: str, grammar: Grammar) -> FunctionBody | None:
    body = node.child_by_field_name("body")
    if body is None or (not body.named_child_count and body.type.endswith("block")):
        return None
    raising = grammar.raising.format(message=MESSAGE)
    if body.type.endswith("block"):
        stub: tuple[Insertion, ...] = (Insertion(body.start_byte + 1, raising.encode()),)
    else:  # an arrow's expression keeps its type as the right side of a comma
        before = f"((() => {{{raising}}})(), "
        stub = (Insertion(body.start_byte, before.encode()), Insertion(body.end_byte, b")"))
    code = " ".join(_leaves(node, grammar, node))
    row = node.start_point[0] + 1
    return FunctionBody(name, row, node.start_byte, node.end_byte, code, stub, node)


def _leaves(root: Node, grammar: Grammar, function: Node | None) -> Iterator[str]:
    """Yield the tokens of a node; those of `function` exclude named functions inside it."""
    left = [root]
    while left:
        node = left.pop()
        parts = {one.type for one in node.children} if node.type == "import_statement" else ()
        if node.type in grammar.left_out or "type" in parts:
            continue
        inner = function is not None and node != root and node.type in grammar.functions
        if inner and (node.child_by_field_name("name") or _takes_name(node, grammar)):
            continue
        if not node.children:
            yield _text(node)
        left += reversed(node.children)


def _is_test(node: Node) -> bool:
    """Return whether a Rust item is a test or compiled only for tests."""
    if node.type not in ("function_item", "mod_item"):
        return False
    before = node.prev_named_sibling
    while before is not None and before.type in ("attribute_item", "line_comment"):
        text = "".join(_text(before).split()).strip("#[]")
        word = text.partition("(")[0].rpartition("::")[2]
        if before.type == "attribute_item" and (word in _TESTS or text == "cfg(test)"):
            return True
        before = before.prev_named_sibling
    return False


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


# --- Python ---------------------------------------------------------------------------

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_Function, ast.ClassDef)
_RAISE = f'raise type("Stub", (Exception,), {{}})("{MESSAGE}")'
"""An exception class of its own: no `except ValueError` or `pytest.raises` expects it."""


def _python_functions(content: bytes, tree: ast.Module) -> Iterator[FunctionBody]:
    starts = line_starts(content)
    left: list[tuple[ast.AST, str]] = [(tree, "")]
    while left:
        node, scope = left.pop()
        if isinstance(node, _Function) and (
            found := _python_function(node, scope, content, starts)
        ):
            yield found
        inner = f"{scope}{node.name}." if isinstance(node, _DEFINITIONS) else scope
        left += [(child, inner) for child in reversed([*ast.iter_child_nodes(node)])]


def line_starts(content: bytes) -> list[int]:
    """Return the byte offset of each line."""
    starts = [0]
    for line in content.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _python_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, scope: str, content: bytes, starts: list[int]
) -> FunctionBody | None:
    body = _without_text(node.body)
    if not body or all(isinstance(one, ast.Pass | ast.Raise) for one in body):
        return None  # abstract, a protocol, an overload
    first = body[0]
    line, column = first.lineno, first.col_offset
    if isinstance(first, _DEFINITIONS) and first.decorator_list:
        line = first.decorator_list[0].lineno
    at = starts[line - 1] + column
    indent = content[starts[line - 1] : at]
    text = f"{_RAISE}\n{indent.decode()}" if not indent.strip() else f"{_RAISE}; "
    start = min([node, *node.decorator_list], key=lambda one: one.lineno)
    end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
    return FunctionBody(
        name=scope + node.name,
        line=node.lineno,
        start=starts[start.lineno - 1],
        end=end,
        code=_dump(node),
        stub=(Insertion(at, text.encode()),),
        syntax=node,
    )


def _without_text(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements without docstrings and other constant expressions."""
    return [
        one
        for one in body
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    ]


def _dump(root: ast.AST) -> str:
    """Return a node's code as text; functions nested in a function are only marked."""
    parts: list[str] = []
    left: list[object] = [root]
    while left:
        node = left.pop()
        if isinstance(node, list):
            left += reversed(node)
        elif not isinstance(node, ast.AST):
            parts.append(repr(node))
        elif not _is_for_types(node):
            parts.append(type(node).__name__)
            is_inner = (
                isinstance(node, _Function) and node is not root and isinstance(root, _Function)
            )
            for field, value in reversed([*ast.iter_fields(node)]):
                if field in _NO_CODE or (is_inner and field == "body"):
                    continue
                is_body = field == "body" and isinstance(value, list)
                left.append(_without_text(value) if is_body else value)
    return " ".join(parts)


_NO_CODE = frozenset({"annotation", "returns", "type_comment", "type_params", "simple", "kind"})
"""Fields of nodes that only type checkers use, or that only reflect notation."""


def _is_for_types(node: ast.AST) -> bool:
    """Return whether a statement is only for type checkers."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING"
    modules = ("typing", "typing_extensions", "__future__")
    return isinstance(node, ast.ImportFrom) and node.module in modules
