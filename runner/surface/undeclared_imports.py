"""Imports of packages that no manifest declares, with or without something in their place.

Of Python and of JavaScript with TypeScript. A Go module or a Rust crate that no manifest has does
not compile.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.surface.facts import SCRIPTS, Fact, Trees, read_text
from runner.surface.manifests import manifest_kind, normalise, read_manifest
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_PYTHON = ("pyproject.toml", "setup.cfg", "Pipfile", "requirements.txt")
_NODE_WORDS = """
assert async_hooks buffer child_process cluster console constants crypto dgram dns domain
events fs http http2 https inspector module net os path perf_hooks process punycode
querystring readline repl stream string_decoder sys timers tls trace_events tty url util v8
vm wasi worker_threads zlib test sea sqlite diagnostics_channel bun deno
"""
_NODE = frozenset(_NODE_WORDS.split())
_IMPORTED = regex(
    r"(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*(['\"])(?P<name>[@\w][\w./@-]*)\1"
)
_OTHER_NAMES = {
    "bs4": "beautifulsoup4",
    "pil": "pillow",
    "cv2": "opencv",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "crypto": "pycryptodome",
    "usb": "pyusb",
    "magic": "python-magic",
    "docx": "python-docx",
    "pkg-resources": "setuptools",
    "win32api": "pywin32",
    "fitz": "pymupdf",
    "psycopg2": "psycopg2-binary",
    "mysqldb": "mysqlclient",
}
"""Import names that the package's name does not hold, for the packages most in use."""


def find_undeclared(trees: Trees) -> Iterator[Fact]:
    """Yield the packages that changed product files import anew and no manifest declares."""
    seen = set[tuple[str, str]]()
    for change in trees.changes:
        path, content = change.path, change.content
        is_python = path.endswith(".py")
        if content is None or trees.is_test(path) or not path.endswith((".py", *SCRIPTS)):
            continue
        read = _python_imports if is_python else _script_imports
        before = {name for name, *_ in read(trees.before(path) or b"")}
        for name, line, falls_back in read(content):
            if name in before or (name, path) in seen or trees.is_late:
                continue
            seen.add((name, path))
            known = _is_known_python if is_python else _is_known_script
            if not known(name, path, trees):
                yield _make_fact(name, path, line, trees, falls_back=falls_back)


def _make_fact(name: str, path: str, line: int, trees: Trees, *, falls_back: bool) -> Fact:
    manifests = [*_manifests(path, trees)]
    ways = ", and goes on without it" if falls_back else ""
    message = f"imports {name}, which no manifest declares{ways}"
    asks = bool(manifests) or falls_back
    return Fact("dependency", message, path, line, (name,), is_breaking=asks)


# --- Python -------------------------------------------------------------------------------


def _python_imports(content: bytes) -> Iterator[tuple[str, int, bool]]:
    """Yield the first part of each import, its line, and whether its failure is caught."""
    text = read_text(content)
    tree = python_tree(text) if text else None
    left: list[tuple[ast.AST, bool]] = [(tree, False)] if tree else []
    while left:
        node, caught = left.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            left += [(one, caught) for one in node.orelse]
            continue
        if isinstance(node, ast.Try):
            catches = any(map(_catches_import, node.handlers))
            left += [(one, caught or catches) for one in node.body]
            rest = (*node.handlers, *node.orelse, *node.finalbody)
            left += [(one, caught) for one in rest]
            continue
        if isinstance(node, ast.Import):
            for one in node.names:
                yield one.name.partition(".")[0], node.lineno, caught
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0], node.lineno, caught
        left += [(one, caught) for one in ast.iter_child_nodes(node)]


def _catches_import(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    said = ast.unparse(handler.type)
    return (
        re.search(r"\b(?:ImportError|ModuleNotFoundError|Exception|BaseException)\b", said)
        is not None
    )


def _is_known_python(name: str, path: str, trees: Trees) -> bool:
    if name in sys.stdlib_module_names or _is_local(name, path, trees):
        return True
    wanted = normalise(name)
    other = _OTHER_NAMES.get(wanted, wanted)
    for manifest in _manifests(path, trees):
        if manifest.endswith("setup.py"):
            text = read_text(trees.after(manifest)) or ""
            if re.search(rf"['\"]{re.escape(name)}\b", text, re.IGNORECASE):
                return True
            continue
        declared = read_manifest(manifest, trees.after(manifest))
        if declared is None:  # it cannot be read: nothing is known
            return True
        if any(wanted in one or one in wanted or other in one for one in declared):
            return True
    return trees.is_imported(name, (".py",))


def _is_local(name: str, path: str, trees: Trees) -> bool:
    """Return whether a module of this name lies beside a file, or where a folder above has it."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        start = f"{folder}/" if folder else ""
        for source in ("", "src/", "lib/"):
            base = f"{start}{source}{name}"
            if (
                trees.after(f"{base}.py") is not None
                or trees.after(f"{base}/__init__.py") is not None
            ):
                return True
            if any(one.path.startswith(f"{base}/") for one in trees.changes):
                return True
    return trees.has_folder(name)


# --- JavaScript and TypeScript ------------------------------------------------------------


def _script_imports(content: bytes) -> Iterator[tuple[str, int, bool]]:
    text = read_text(content) or ""
    for match in _IMPORTED.finditer(text):
        parts = match["name"].split("/")
        name = "/".join(parts[: 2 if parts[0].startswith("@") else 1])
        line = text.count("\n", 0, match.start()) + 1
        before = text[max(0, match.start() - 200) : match.start()]
        caught = re.search(r"\btry\s*\{[^}]*\Z", before) is not None
        yield name, line, caught


def _is_known_script(name: str, path: str, trees: Trees) -> bool:
    if name in _NODE or name.startswith("@/") or name in ("@", "~"):
        return True
    for manifest in _manifests(path, trees):
        content = trees.after(manifest) or b""
        try:
            package = json.loads(content)
        except (ValueError, RecursionError):
            return True
        declared = read_manifest(manifest, content)
        if declared is None or name in declared or f"@types/{name}" in declared:
            return True
        if isinstance(package, dict) and package.get("name") == name:
            return True
    return trees.is_imported(name, SCRIPTS)


def _manifests(path: str, trees: Trees) -> Iterator[str]:
    """Yield the manifests in the folders above a file, the nearest first."""
    names = ("setup.py", *_OF_PYTHON) if path.endswith(".py") else ("package.json",)
    for change in trees.changes:
        if manifest_kind(change.path) == "requirements" and path.endswith(".py"):
            yield change.path
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        for name in names:
            place = f"{folder}/{name}".lstrip("/")
            if trees.after(place) is not None:
                yield place
