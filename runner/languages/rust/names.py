"""Find the names that a Rust file refers to, and those that it defines.

Keys: `/src/db` a file by its place without suffix (`mod.rs` stands for its folder), `rs:name` a
crate by the name that its Cargo.toml says.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from runner.languages.base import file_keys
from runner.languages.c_like_lexer import header_of, top_statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOD = re.compile(r'(?:#\[path\s*=\s*"([^"]+)"\]\s*)?\b(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;')
_USE = re.compile(r"\buse\s+(?:::)?([^;]+);")
_INLINE = re.compile(r"\b(crate|self|super|[a-z_]\w*)((?:::\w+)+)")
_EXTERN = re.compile(r"\bextern\s+crate\s+(\w+)")
_INCLUDED = re.compile(r'\binclude(?:_str|_bytes)?!\s*\(\s*(?:concat!\([^"]*)?"([^"]+)"')
_TEXT = re.compile(r'"((?:[\w.@+-]+/)*[\w.@+-]*\w\.[A-Za-z]\w{0,9})"')
_CRATE_NAME = re.compile(r'^[ \t]*name\s*=\s*"([^"]+)"', re.MULTILINE)
_ENTRIES = ("src/lib", "src/main")


def imports_of(path: str, content: bytes) -> frozenset[str]:
    """Return every key that a Rust file refers to; a Cargo.toml refers to its crate roots."""
    text = content.decode("utf-8", "replace")
    folder = path.rpartition("/")[0]
    if path.rpartition("/")[2] == "Cargo.toml":
        return frozenset(_place(folder, one) for one in _ENTRIES)
    found: set[str] = set()
    for named, module in _MOD.findall(text):
        found.add(_place(folder, named.removesuffix(".rs")) if named else "")
        found.add(_place(_module_folder(path), module))
    for used in _USE.findall(text):
        found |= set(_keys_of_use(path, used))
    for first, rest in _INLINE.findall(text):
        found |= set(_keys_of_use(path, first + rest))
    found |= {f"rs:{name}" for name in _EXTERN.findall(text)}
    for named in (*_INCLUDED.findall(text), *_TEXT.findall(text)):
        found |= set(file_keys(named))
    return frozenset(found - {""})


def keys_of(path: str) -> tuple[str, ...]:
    """Return the keys by which other files can refer to a Rust file."""
    if path.rpartition("/")[2] == "Cargo.toml":
        return ()
    stem = path.removesuffix(".rs")
    return tuple(dict.fromkeys((f"/{stem}", f"/{stem.removesuffix('/mod')}")))


def names_of(path: str, content: bytes) -> frozenset[str]:
    """Return the names that a Cargo.toml defines for its crate and targets."""
    del path
    found = _CRATE_NAME.findall(content.decode("utf-8", "replace"))
    # Code names a crate with `_` if its package has `-` (Cargo reference, library targets).
    return frozenset(f"rs:{name.replace('-', '_')}" for name in found)


def _module_folder(path: str) -> str:
    """Return the folder of the modules that a file declares (Rust's module file rules)."""
    folder, _, name = path.rpartition("/")
    at_root = name in ("mod.rs", "lib.rs", "main.rs") or folder.rpartition("/")[2] in (
        *("tests", "benches", "examples", "bin"),
    )
    return folder if at_root else path.removesuffix(".rs")


def _keys_of_use(path: str, used: str) -> Iterator[str]:
    """Yield the keys of a `use` tree, every module included (Reference, use declarations)."""
    for words in _paths(re.sub(r"\s+", " ", used)):
        first, rest = words[0], words[1:]
        if first == "crate":
            yield from _below(_crate_folder(path), rest)
        elif first in ("self", "super"):
            base = _module_folder(path)
            while rest and first == "super":
                base = posixpath.dirname(base)
                first = rest[0]
                rest = rest[1:] if first == "super" else rest
            yield from _below(base, rest)
        else:
            yield f"rs:{first}"
            yield from _below(_module_folder(path), words)


def _below(base: str, names_: list[str]) -> Iterator[str]:
    for end in range(1, len(names_) + 1):
        yield _place(base, "/".join(names_[:end]))


def _paths(used: str) -> Iterator[list[str]]:
    """Yield the paths of a use tree: `a::{b, c::d}` becomes a::b and a::c::d."""
    stack: list[list[str]] = [[]]
    path: list[str] = []
    for token in re.findall(r"\w+|[{},]", re.sub(r"\s+as\s+\w+", "", used)):
        if token == "{":
            stack.append([*path])
        elif token in ",}":
            if path != stack[-1] and path:
                yield path
            if token == "}" and len(stack) > 1:
                stack.pop()
                path = []
            else:
                path = [*stack[-1]]
        else:
            path = [*path, token]
    if path:
        yield path


def _crate_folder(path: str) -> str:
    """Return the root folder of a crate's modules: the innermost `src` of a path."""
    parts = path.split("/")[:-1]
    at = max((at for at, part in enumerate(parts) if part == "src"), default=len(parts) - 1)
    return "/".join(parts[: at + 1])


def _place(folder: str, name: str) -> str:
    return "/" + posixpath.normpath(posixpath.join(folder, name)).removeprefix("./")


# --- what it offers -----------------------------------------------------------------------


def exports_of(path: str, content: bytes) -> list[str] | None:
    """Return the public items of a Rust file, including those of its implementations."""
    del path
    found = []
    for words in top_statements(content, by_line=False):
        statement = " ".join(words)
        if words[0] in ("impl", "trait", "unsafe", "mod", "macro_rules", "#"):
            found.append(statement if "fn" not in words else " ".join(_signatures(words)))
        elif words[0] == "pub":
            found.append(header_of(words) if "fn" in words[:8] else statement)
    return found


def _signatures(words: Sequence[str]) -> Iterator[str]:
    """Yield the tokens of an implementation without function bodies."""
    depth, skipping, in_function = 0, 0, False
    for word in words:
        in_function = in_function or word == "fn"
        depth += (word == "{") - (word == "}")
        if word == "{" and in_function and not skipping:
            skipping = depth
        if not skipping:
            yield word
        if word == "}" and skipping and depth < skipping:
            skipping, in_function = 0, False
        elif word == ";" and not skipping:
            in_function = False
