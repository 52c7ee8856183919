"""Imports of packages that no manifest declares, with or without something in their place.

Of Python and of JavaScript with TypeScript. A Go module or a Rust crate that no manifest has does
not compile.
"""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.surface.facts import SCRIPTS, Fact, Trees, read_text
from runner.surface.manifests import manifest_kind, normalise, read_manifest
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

_NODE = regex(
    r"assert|async_hooks|buffer|child_process|cluster|console|constants|crypto|dgram|dns|events|fs"
    r"|diagnostics_channel|https?|http2|inspector|module|net|os|path|perf_hooks|process|punycode"
    r"|querystring|readline|repl|stream|string_decoder|sys|timers|tls|tty|url|util|v8|vm|wasi"
    r"|worker_threads|zlib|test|bun|deno|@|~"
)
_IMPORTED = regex(
    r"(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*(['\"])"
    r"(?P<name>@[\w.-]+/[\w.-]+|[\w~@][\w.-]*)(?:/[^'\"\n]*)?\1"
)
_COMMENTS = regex(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL)
_TRIED = regex(r"\btry\s*\{[^}]*\Z")
_CATCHES = regex(r"\b(?:ImportError|ModuleNotFoundError|Exception|BaseException)\b")
_NEWER = frozenset(("annotationlib", "compression"))
"""Modules that later versions of Python bring."""
_OTHER_NAMES = {
    "bs4": "beautifulsoup4",
    "pil": "pillow",
    "cv2": "opencv",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "crypto": "pycryptodome",
    "docx": "python-docx",
    "pkg-resources": "setuptools",
    "win32api": "pywin32",
    "fitz": "pymupdf",
}
"""Import names that the package's name does not hold, for the packages most in use."""


def find_undeclared(trees: Trees) -> Iterator[Fact]:
    """Yield the packages that changed product files import anew and no manifest declares."""
    for change in trees.changes:
        path = change.path
        if trees.is_test(path) or not path.endswith((".py", *SCRIPTS)):
            continue
        read = _python_imports if path.endswith(".py") else _script_imports
        known = {name for name, *_ in read(read_text(trees.before(path)) or "")}
        for name, line, falls_back in read(read_text(change.content) or ""):
            if name in known or trees.is_late:
                continue
            known.add(name)
            manifests = [*_manifests(path, trees)]
            if not _is_known(name, path, manifests, trees):
                ways = ", and goes on without it" if falls_back else ""
                message = f"imports {name}, which no manifest declares{ways}"
                asks = bool(manifests) or falls_back
                yield Fact("dependency", message, path, line, (name,), is_breaking=asks)


def _python_imports(text: str) -> Iterator[tuple[str, int, bool]]:
    """Yield the first part of each import, its line, and whether its failure is caught."""
    tree = python_tree(text)
    left: list[tuple[ast.AST, bool]] = [(tree, False)] if tree else []
    while left:
        node, caught = left.pop()
        inner: list[ast.AST] = [*ast.iter_child_nodes(node)]
        if isinstance(node, ast.Try):
            handlers = (one.type for one in node.handlers)
            catches = any(one is None or _CATCHES.search(ast.unparse(one)) for one in handlers)
            left += [(one, caught or catches) for one in node.body]
            inner = [*node.handlers, *node.orelse, *node.finalbody]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            inner = [*node.orelse]
        elif isinstance(node, ast.Import):
            yield from ((one.name.partition(".")[0], node.lineno, caught) for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0], node.lineno, caught
        left += [(one, caught) for one in inner]


def _script_imports(text: str) -> Iterator[tuple[str, int, bool]]:
    for match in _IMPORTED.finditer(_COMMENTS.sub(_blank, text)):
        line = text.count("\n", 0, match.start()) + 1
        before = text[max(0, match.start() - 200) : match.start()]
        yield match["name"], line, _TRIED.search(before) is not None


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _is_known(name: str, path: str, manifests: list[str], trees: Trees) -> bool:
    """Return whether a package comes with the language or the project, or is declared."""
    is_python = path.endswith(".py")
    if is_python and (name in sys.stdlib_module_names | _NEWER or _is_local(name, path, trees)):
        return True
    if not is_python and _NODE.fullmatch(name):
        return True
    for manifest in manifests:
        text = read_text(trees.after(manifest)) or ""
        declared = read_manifest(manifest, text.encode())
        if declared is None:  # it is code, as setup.py, or cannot be read
            if re.search(rf"['\"\n]\s*{re.escape(name)}\b", text, re.IGNORECASE):
                return True
        elif _is_declared(name, declared, is_python=is_python) or f'"name": "{name}"' in text:
            return True
    return trees.is_imported(name, (".py",) if is_python else SCRIPTS)


def _is_declared(name: str, declared: dict[str, tuple[str, bool]], *, is_python: bool) -> bool:
    if not is_python:
        return name in declared or f"@types/{name}" in declared
    wanted = normalise(name)
    other = _OTHER_NAMES.get(wanted, wanted)
    return any(wanted in one or one in wanted or other in one for one in declared)


def _is_local(name: str, path: str, trees: Trees) -> bool:
    """Return whether a module of this name lies beside a file, or where a folder above has it."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        for source in ("", "src/", "lib/"):
            base = f"{folder}/{source}{name}".lstrip("/")
            if (
                trees.after(f"{base}.py") is not None
                or trees.after(f"{base}/__init__.py") is not None
            ):
                return True
    return trees.has_folder(name)


def _manifests(path: str, trees: Trees) -> Iterator[str]:
    """Yield the manifests in the folders above a file, the nearest first."""
    names: tuple[str, ...] = ("package.json",)
    if path.endswith(".py"):
        names = ("setup.py", "pyproject.toml", "setup.cfg", "Pipfile", "requirements.txt")
        kinds = ((one.path, manifest_kind(one.path)) for one in trees.changes)
        yield from (one for one, kind in kinds if kind == "requirements")
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        places = (f"{folder}/{name}".lstrip("/") for name in names)
        yield from (one for one in places if trees.after(one) is not None)
