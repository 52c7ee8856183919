"""Find the names that a JavaScript or TypeScript file imports, and those that it exports.

Found by pattern, not by grammar: what stands in a comment is found as well, which only widens.
Keys: `/web/src/api` a file by its place without suffix (a folder stands for its index), and
`js:name` for what is imported by name: a package of this repository, or an alias into a folder.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING

from runner.languages.c_like_lexer import header_of, top_statements
from runner.languages.javascript import DYNAMIC

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")
_LITERAL = re.compile(
    r"""(?:\bfrom|\bimport|\b(?:require(?:\.resolve)?|import|jest\.\w*[mM]ock|vi\.\w*[mM]ock"""
    r"""|requireActual|importActual)\s*\(|\bnew\s+URL\s*\()\s*(?:/\*.*?\*/\s*)?"""
    r"""(?:'([^'\n]+)'|"([^"\n]+)"|`([^`\n$]+)`)""",
    re.DOTALL,
)
_DYNAMIC = re.compile(
    r"""\b(?:require|import)\s*\(\s*(?:/\*.*?\*/\s*)?"""
    # A name, a template, or a concatenated text: `require('./' + name)`.
    r"""(?:[\w$]|`[^`]*\$\{|(?:'[^'\n]*'|"[^"\n]*"|`[^`]*`)\s*+[^\s,)])"""
)
_TEXT = re.compile(r"""['"`]((?:[\w.@+-]+/)*[\w.@+-]*\w\.[A-Za-z]\w{0,9})['"`]""")


def imports_of(path: str, content: bytes) -> frozenset[str]:
    """Return every key that a file refers to."""
    text = content.decode("utf-8", "replace")
    if path.endswith("package.json"):
        return frozenset(_entries(path, text))
    found = {DYNAMIC} if _DYNAMIC.search(text) else set()
    for match in _LITERAL.finditer(text):
        found |= set(_resolve_specifier(path, next(filter(None, match.groups()))))
    for named in _TEXT.findall(text):
        found.add("lit:" + "/".join(part for part in named.split("/")[-2:] if part.strip(".")))
    return frozenset(found)


def keys_of(path: str) -> tuple[str, ...]:
    """Return the keys by which other files can refer to a file, its path first."""
    stem = _stem(path)
    folder = stem.removesuffix("/index") if stem != "index" else ""
    parts = stem.split("/")
    aliases = (f"js:{'/'.join(parts[at:])}" for at in range(len(parts)))
    inner = f"js:{folder}" if folder != stem else ""
    return tuple(dict.fromkeys(filter(None, (f"/{stem}", f"/{folder}", inner, *aliases))))


def names_of(path: str, content: bytes) -> frozenset[str]:
    """Return the names that a package.json defines for its package and its files."""
    del path
    table = _table(content.decode("utf-8", "replace"))
    name, inner = table.get("name"), table.get("imports")
    names = [name] if isinstance(name, str) and name else []
    # Internal names start with `#` and may be a prefix pattern (Node.js, "Subpath imports").
    names += [one.partition("/")[0] for one in (inner if isinstance(inner, dict) else ())]
    return frozenset(f"js:{one}" for one in names)


def _resolve_specifier(path: str, name: str) -> Iterator[str]:
    # A query is for a bundler: `./logo.svg?raw`.
    name = name.partition("?")[0]
    if name.startswith("."):
        place = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        if not place.startswith(".."):
            yield from _places("" if place == "." else place)
        return
    if name.startswith("/"):
        yield from _places(name[1:])
        return
    parts = name.split("/")
    # A scoped package has two words, `@scope/name` (npm, "scope").
    own = 2 if name.startswith("@") and len(parts[0]) > 1 else 1
    yield "js:" + "/".join(parts[:own])
    for at in range(min(own, len(parts) - 1) + 1):
        inner = "/".join(parts[at:])
        if inner and (at == 0 or "/" in inner or parts[0] in ("@", "~", "#", "src")):
            yield f"js:{_stem(inner)}"


def _places(place: str) -> Iterator[str]:
    yield f"/{place}"
    yield f"/{_stem(place)}"


def _stem(path: str) -> str:
    path = path.removesuffix(".d.ts")
    return next((path.removesuffix(one) for one in SUFFIXES if path.endswith(one)), path)


def _entries(path: str, text: str) -> Iterator[str]:
    """Yield the files named in a package.json, and its default entry files."""
    folder = posixpath.dirname(path)
    for named in ("index", "src/index", *_texts(_table(text))):
        place = posixpath.normpath(posixpath.join(folder, named.partition("*")[0]))
        if not place.startswith(".."):
            yield from _places(place)
            yield from [f"dir:{posixpath.basename(place)}"] if "*" in named else ()


def _table(text: str) -> dict[str, object]:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def _texts(table: dict[str, object]) -> Iterator[str]:
    for name in ("main", "module", "browser", "types", "exports", "imports", "bin"):
        yield from _leaves(table.get(name))


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _leaves(one)


# --- what it offers -----------------------------------------------------------------------

_FUNCTION = re.compile(r"export (?:default )?(?:async )?function\b")


def exports_of(path: str, content: bytes) -> list[str] | None:
    """Return the exports of an ECMAScript module; a file with other exports counts as a whole."""
    if path.endswith((".vue", ".svelte")):
        return None
    found = []
    statements = top_statements(content, by_line=True)
    for words in statements:
        statement = " ".join(words)
        if words[0] == "export":
            found.append(header_of(words) if _FUNCTION.match(statement) else statement)
        elif re.search(r"\bmodule \. exports\b|\bexports \. \w|\bexports \[", statement):
            return [" ".join(word for one in statements for word in one)]
    return found
