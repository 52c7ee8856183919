"""Find the names that a Python file refers to, its own module names, and its exports.

A reference is a key: `booking.models` a module by its dotted name, `/src/booking/models` a file by
its place (without suffix), `lit:data/rows.csv` and `dir:data` files that text in the code names,
`run:booking` what a command line in it starts. Exports are public names and signatures as text.
"""

from __future__ import annotations

import ast
import itertools
import re
from typing import TYPE_CHECKING

from runner.languages.base import file_keys
from runner.languages.python import DYNAMIC, UNREADABLE
from runner.lazy_pattern import regex
from runner.text.python_syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_LOADERS = frozenset({"import_module", "__import__", "importorskip", "resolve_name"})
_PATHS = frozenset(
    {"Path", "PurePath", "open", "join", "joinpath", "glob", "rglob", "iglob", "files"}
    | {"resource_filename", "read_text", "with_name", "listdir", "scandir", "walk"}
)
_FILE = regex(r"(?:[\w.@+-]+/)*[\w.@+-]*\w\.[A-Za-z]\w{0,9}", re.ASCII)
_FOLDER = regex(r"(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*/?", re.ASCII)
_TEST = regex(r"(?:\A|/)(?:tests?/|test[^/]*\.py\Z|[^/]*_test\.py\Z|conftest\.py\Z)")
_LONGEST = 200


def imports_of(path: str, content: bytes) -> frozenset[str]:
    """Return every key that a Python file refers to, including its packages and conftest.py."""
    tree = python_tree(content)
    nodes = tuple(ast.walk(tree)) if tree else ()  # once: it takes most of the time
    found = frozenset(key for node in nodes for key in _keys_in(node, path)).union(_around(path))
    if tree is None:
        return found | {UNREADABLE}
    return found | {DYNAMIC} if _exposes_loaders(nodes) else found


def _exposes_loaders(nodes: tuple[ast.AST, ...]) -> bool:
    """Return whether an import function is aliased or passed as a value."""
    called = {id(one.func) for one in nodes if isinstance(one, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.alias):
            if node.name in _LOADERS and node.asname not in (None, node.name):
                return True
        elif isinstance(node, ast.Name | ast.Attribute):
            loads = isinstance(node.ctx, ast.Load) and _name(node) in _LOADERS
            if loads and id(node) not in called:
                return True
    return False


def keys_of(path: str) -> tuple[str, ...]:
    """Return the keys by which other files can refer to a Python file, its path first."""
    stem = path.rpartition(".")[0].removesuffix("/__init__")
    parts = [] if stem == "__init__" else stem.split("/")
    dotted = (".".join(parts[at:]) for at in range(len(parts)))
    return (f"/{'/'.join(parts)}", *dotted)


def keys_when_started(path: str) -> tuple[str, ...]:
    """Return the keys of a Python file for `python -m`."""
    return tuple(f"run:{key.removesuffix('.__main__')}" for key in keys_of(path)[1:])


def root_of(path: str, key: str) -> str:
    """Return the root folder for a file's dotted name: `src` for `booking.models`."""
    stem = path.rpartition(".")[0].removesuffix("/__init__")
    return stem.removesuffix(key.replace(".", "/")).rstrip("/")


def keys_of_imports(source: str) -> frozenset[str]:
    """Return the keys that a code line imports, such as the argument of `python -c`."""
    return frozenset(key for key in imports_of("", source.encode()) if key[0] not in "?*")


def module_keys(name: str) -> Iterator[str]:
    """Yield a dotted name and its parent packages, which an import executes, too."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])


def _around(path: str) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    is_test = bool(_TEST.search(path))
    parts = folder.split("/") if folder else []
    # Importing a module first runs the `__init__` of all packages above it (Python reference,
    # 5.2.1), and pytest runs the conftest.py of all folders above a test (pytest, "conftest.py:
    # sharing fixtures across multiple files").
    for end in range(len(parts), -1, -1):
        place = "/".join(parts[:end])
        if place:
            yield f"/{place}"
        if is_test:
            yield f"/{place}/conftest" if place else "/conftest"


def _keys_in(node: ast.AST, path: str) -> Iterator[str]:
    match node:
        case ast.Import(names):
            for alias in names:
                yield from module_keys(alias.name)
        case ast.ImportFrom(module, names, level):
            yield from _from(path, module or "", [alias.name for alias in names], level or 0)
        case ast.Call(func, arguments, keywords):
            given = [*arguments, *(one.value for one in keywords if one.arg == "name")]
            yield from _keys_of_call(path, _name(func), given)
        case ast.BinOp(_, ast.Div(), ast.Constant(value=str(text))):
            yield from _folder(text)
        case ast.Constant(value=str(text)):
            yield from _literal(text)
        case ast.List(elements) | ast.Tuple(elements):
            yield from _keys_of_started(elements)
        # pytest imports the modules in this list (pytest, "Global variables": pytest_plugins).
        case (
            ast.Assign([ast.Name("pytest_plugins")], value)
            | ast.AnnAssign(ast.Name("pytest_plugins"), value=ast.expr() as value)
            | ast.AugAssign(ast.Name("pytest_plugins"), value=value)
        ):
            yield from _plugins(value)
        case _:
            return


def _from(path: str, module: str, names: Iterable[str], level: int) -> Iterator[str]:
    """Yield the keys of `from module import names`; each name may be a submodule."""
    if not level:
        yield from module_keys(module)
        # A name that is no attribute of a package is searched as a module in it (Python reference,
        # 7.11).
        yield from (f"{module}.{name}" for name in names if name != "*")
        return
    parts = path.split("/")[:-1]
    # One dot is the package of the file, each further one its parent (Python reference, 5.7).
    base = parts[: len(parts) - (level - 1)]
    inner = module.split(".") if module else []
    for end in range(len(inner) + 1):
        yield "/" + "/".join((*base, *inner[:end]))
    place = "/".join((*base, *inner))
    yield from (f"/{place}/{name}" if place else f"/{name}" for name in names if name != "*")


def _keys_of_call(path: str, name: str, arguments: list[ast.expr]) -> Iterator[str]:
    if name in _LOADERS and arguments:
        yield from _keys_of_loader(path, arguments)
    elif name in _PATHS:
        for argument in arguments:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield from _folder(argument.value)


def _keys_of_loader(path: str, arguments: list[ast.expr]) -> Iterator[str]:
    first = arguments[0]
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        yield DYNAMIC
        return
    name = first.value.lstrip(".")
    # import_module resolves leading dots against its second argument.
    level = len(first.value) - len(name)
    match arguments[1:]:
        case [ast.Constant(str(package)), *_] if level:
            yield from module_keys(f"{package}.{name}")
        case _:
            pass
    yield from _from(path, name, (), level) if level else module_keys(name)


def _keys_of_started(elements: list[ast.expr]) -> Iterator[str]:
    """Yield the keys of modules that are run: `[sys.executable, "-m", "booking.cli"]`."""
    texts = [str(one.value) if isinstance(one, ast.Constant) else "" for one in elements]
    for option, name in itertools.pairwise(texts):
        if option == "-m":
            yield f"run:{name}"


def _plugins(value: ast.expr) -> Iterator[str]:
    for one in ast.walk(value):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield from module_keys(one.value)


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(name) | ast.Attribute(attr=name):
            return str(name)
        case _:
            return ""


# --- files that text names ----------------------------------------------------------------


def _literal(text: str) -> Iterator[str]:
    """Yield the keys of a text that names a file or, for mocks, a dotted module."""
    if not 0 < len(text) <= _LONGEST:
        return
    if _FILE.fullmatch(text.lstrip("./")):
        yield from file_keys(text)
    elif "/" in text:
        yield from _folder(text)
    if "." in text and all(part.isidentifier() for part in text.split(".")):
        yield from module_keys(text)
    elif ":" in text and all(part.isidentifier() for part in re.split(r"[.:]", text)):
        yield from module_keys(text.replace(":", "."))


def _folder(text: str) -> Iterator[str]:
    text = text.split("*", maxsplit=1)[0].strip("./") if len(text) <= _LONGEST else ""
    if text and _FOLDER.fullmatch(text):
        yield "dir:" + text.rstrip("/").rpartition("/")[2]
        yield from file_keys(text)


def exports_of(path: str, content: bytes) -> list[str] | None:
    """Return the exports of each top-level statement; None for a file that Python cannot parse."""
    tree = python_tree(content)
    if tree is None:
        return None
    listed = _names_in_all(tree)
    names_all = path.endswith("__init__.py")
    return [
        line for one in tree.body for line in _find_declarations(one, listed, imports=names_all)
    ]


def _names_in_all(tree: ast.Module) -> frozenset[str] | None:
    """Return the names in `__all__`; None if it is missing or computed."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            try:
                return frozenset(map(str, ast.literal_eval(node.value)))
            except (ValueError, TypeError):
                return None
    return None


def _find_declarations(
    node: ast.stmt, listed: frozenset[str] | None, *, imports: bool
) -> Iterator[str]:
    """Yield the exports of one statement; those under a condition include the condition."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            if _is_public(name, listed):
                yield from _definition(node, "")
        case ast.Import(names) | ast.ImportFrom(names=names):
            source = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for alias in names:
                name = alias.asname or alias.name
                again = imports or alias.asname == alias.name or name == "*"
                if (again and _is_public(name, listed)) or (listed and name in listed):
                    yield f"import {source} {alias.name} as {name}"
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            if any(_is_public(name, listed) for name in _targets(node)):
                yield ast.unparse(node)
        case ast.Expr(ast.Constant(str())):
            return
        case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While() | ast.Match():
            yield _without_bodies(node)
        case _:
            yield ast.unparse(node)


def _is_public(name: str, listed: frozenset[str] | None) -> bool:
    if listed is not None and name in listed:
        return True
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        for one in ast.walk(target):
            if isinstance(one, ast.Name):
                yield one.id
            elif isinstance(one, ast.Attribute):
                yield one.attr


def _definition(node: ast.stmt, inside: str) -> Iterator[str]:
    """Yield the signature of a function or of a class and its public members."""
    if isinstance(node, ast.ClassDef):
        name = f"{inside}{node.name}"
        decorators = " ".join(f"@{ast.unparse(one)}" for one in node.decorator_list)
        bases = ", ".join(map(ast.unparse, (*node.bases, *node.keywords)))
        yield f"{decorators} class {name}({bases})"
        for member in node.body:
            yield from _member(member, f"{name}.")
    else:
        yield inside + _without_bodies(node)


def _member(node: ast.stmt, inside: str) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            if _is_public(name, None):
                yield from _definition(node, inside)
        case ast.Assign() | ast.AnnAssign():
            if any(_is_public(name, None) for name in _targets(node)):
                yield inside + ast.unparse(node)
        case ast.Expr(ast.Constant()) | ast.Pass():
            return
        case _:
            yield inside + ast.unparse(node)


class _Headers(ast.NodeTransformer):
    """Leaves of every function the line that declares it."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [ast.Expr(ast.Constant(...))]
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.body = [ast.Expr(ast.Constant(...))]
        return node


def _without_bodies(node: ast.stmt) -> str:
    visited = _Headers().visit(node)
    assert isinstance(visited, ast.stmt)
    return ast.unparse(visited)
