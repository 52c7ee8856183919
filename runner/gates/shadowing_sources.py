"""Files that a change puts beside a source of the same name, and that an import finds before it.

A spec that imports `./index.js` gets `index.ts`, until there is a file of that name: then the code
that was written is never run, and what stands beside it is tested. Read by the paths alone. So is
what a configuration of JavaScript's tools has an import of a source find in its place.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runner.model import Change

_TYPED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""What stands for a file of each ending, as long as there is none (TypeScript, "module"; Vite)."""
_COMPILED = regex(r"(?P<stem>[^/]+?)(?:\.[\w-]+)*\.(?:so|pyd|pyc)\Z")
_INITIAL = "/__init__.py"
_NAMES = regex(
    r"(?:\A|/)(?:(?:vitest|vite|jest|babel|webpack|rollup)\.[\w.]*|package\.json|[jt]sconfig[\w.-]*\.json"
    r"|\.babelrc[\w.]*)\Z"
)
"""Configurations that say which file an import finds."""
_KEY = (
    r"(?:(?P<quote>['\"])(?P<key>(?:(?!(?P=quote))[^\n])+)(?P=quote)"
    r"|/(?P<find>[^/\n]+(?:\\/[^/\n]*)*)/)"
)
_FILE = r"['\"](?:<rootDir>/|\$\{\w+\}/)?(?P<to>[\w./@-]+)['\"]"
_MAPS = regex(
    _KEY
    + r"\s*(?::|,\s*['\"]?replacement['\"]?\s*:)\s*\[?\s*(?:new\s+URL\(|[\w.]+\([^'\"()\n]*)?"
    + _FILE
)
_SAYS = regex(r"moduleNameMapper|[aA]lias|\bpaths\b")
_SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")


class InFront(NamedTuple):
    """A new file, and the source that nobody imports any more."""

    path: str
    hidden: str


def find_in_front(
    changes: tuple[Change, ...],
    before: Callable[[str], bytes | None],
    after: Callable[[str], bytes | None],
) -> Iterator[InFront]:
    """Each new file that is found in place of a source that is still there."""
    for change in changes:
        if change.content is None or before(change.path) is not None:
            continue
        for hidden in _hidden_by(change.path):
            if before(hidden) is not None and after(hidden) is not None:
                yield InFront(change.path, hidden)


class Redirected(NamedTuple):
    """A configuration, the source that its new line is about, and what is found in its place."""

    path: str
    source: str
    given: str


def find_redirected(
    changes: tuple[Change, ...],
    before: Callable[[str], bytes | None],
    after: Callable[[str], bytes | None],
    sources: Callable[[], Iterable[str]],
) -> Iterator[Redirected]:
    """Each new line of a configuration by which who imports a source of ours gets another file."""
    for change in changes:
        if change.content is None or not _NAMES.search(change.path):
            continue
        old = (before(change.path) or b"").decode("utf-8", "replace")
        text = change.content.decode("utf-8", "replace")
        says = _SAYS.search(text)
        for match in _MAPS.finditer(text, says.end()) if says else ():
            given = _found_by(posixpath.dirname(change.path), match["to"], after)
            if match[0] in old or given is None:
                continue
            for source in sources():
                if source != given and _is_about(match["key"] or match["find"], source):
                    yield Redirected(change.path, source, given)
                    break


def _found_by(folder: str, word: str, after: Callable[[str], bytes | None]) -> str | None:
    path = posixpath.normpath(posixpath.join(folder, word))
    endings = ("", *_SCRIPTS, *(f"/index{one}" for one in _SCRIPTS))
    return next((path + one for one in endings if after(path + one) is not None), None)


def _is_about(key: str, source: str) -> bool:
    """Whether the key of a map is the name by which a source is imported, or a pattern of it."""
    stem = posixpath.splitext(source)[0]
    last = posixpath.basename(stem)
    plain = re.sub(r"\(\\?\.[\w|]+\)\??|[\\^$()]|\.[*+]", "", key)
    name = posixpath.splitext(posixpath.basename(plain))[0]
    return name == last and "*" not in plain


def _hidden_by(path: str) -> Iterator[str]:
    """The sources whose place a file of this path takes."""
    stem, ending = posixpath.splitext(path)
    if is_written_in(path, "javascript"):
        yield from (stem + other for other in _TYPED.get(ending, ()))
    elif path.endswith(_INITIAL):
        yield path.removesuffix(_INITIAL) + ".py"
    elif compiled := _COMPILED.search(path):
        folder = posixpath.dirname(path)
        yield posixpath.join(folder, f"{compiled['stem']}.py")
