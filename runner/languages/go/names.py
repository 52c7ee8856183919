"""Find the names that a Go file refers to, and those that it defines.

Keys: `go:mod/pkg/sub` a package by the end of its import path, `/pkg/sub#go` by its folder. A path
matches by its end, for which module lies in which folder only go.mod says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.languages.base import file_keys
from runner.languages.c_like_lexer import header_of, top_statements

if TYPE_CHECKING:
    from collections.abc import Iterator

_IMPORTS = re.compile(
    # A comment next to an import may contain brackets and quotes.
    r"^import\s*(?:\((?P<many>(?://[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|`[^`]*`|[^)])*+)|(?P<one>[^\n]*))",
    re.DOTALL | re.MULTILINE,
)
_QUOTED = re.compile(r'"([^"\n]+)"|`([^`\n]+)`')
_EMBEDDED = re.compile(r"^//go:embed\s+(.*)$", re.MULTILINE)
_TEXT = re.compile(r'["`]((?:[\w.@+-]+/)*[\w.@+-]*\w\.[A-Za-z]\w{0,9})["`]')
_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)


def imports_of(path: str, content: bytes) -> frozenset[str]:
    """Return every key that a Go file refers to; a go.mod refers to its folder's package."""
    found = {_package(path)}
    if path.rpartition("/")[2] == "go.mod":
        return frozenset(found)
    text = content.decode("utf-8", "replace")
    for match in _IMPORTS.finditer(text):
        for quoted in _QUOTED.findall(match["many"] or match["one"] or ""):
            found |= set(_ends(quoted[0] or quoted[1]))
    for named in (*_TEXT.findall(text), *" ".join(_EMBEDDED.findall(text)).split()):
        found |= set(_files(named))
    return frozenset(found)


def keys_of(path: str) -> tuple[str, ...]:
    """Return the keys by which other files can refer to a Go file's package."""
    if path.rpartition("/")[2] == "go.mod":
        return ()
    folder = path.rpartition("/")[0]
    parts = folder.split("/") if folder else []
    return (_package(path), *(f"go:{'/'.join(parts[at:])}" for at in range(len(parts))))


def names_of(path: str, content: bytes) -> frozenset[str]:
    """Return the module name of a go.mod as a key for the package in its folder."""
    del path
    name = module_of(content.decode("utf-8", "replace"))
    return frozenset({f"go:{name}"}) if name else frozenset()


def module_of(go_mod: str) -> str:
    """Return the module path in a go.mod; empty if there is none."""
    match = _MODULE.search(go_mod)
    return match[1] if match else ""


def _package(path: str) -> str:
    return f"/{path.rpartition('/')[0]}#go"


def _ends(name: str) -> Iterator[str]:
    """Yield the keys of an import path and of each of its ends."""
    parts = name.split("/")
    yield from (f"go:{'/'.join(parts[at:])}" for at in range(len(parts)))


def _files(named: str) -> Iterator[str]:
    parts = [part for part in named.split("/") if part not in ("", ".", "..")]
    if parts and "*" in parts[-1]:
        parts = parts[:-1]
        yield from (f"dir:{part}" for part in parts[-1:])
    elif parts:
        yield from file_keys(named)
        yield f"dir:{parts[-1]}"


# --- what it offers -----------------------------------------------------------------------


def exports_of(path: str, content: bytes) -> list[str] | None:
    """Return the exported names of a Go file, which start with a capital (Go specification)."""
    del path
    found = []
    for words in top_statements(content, by_line=True):
        kind = words[0]
        if kind == "func":
            # After the receiver, if any; nothing for an unfinished line.
            behind = words.index(")") + 1 if words[1:2] == ["("] and ")" in words else 1
            if "".join(words[behind : behind + 1])[:1].isupper():
                found.append(header_of(words))
        elif kind in ("type", "var", "const") and any(word[:1].isupper() for word in words[1:]):
            found.append(" ".join(words))
    return found
