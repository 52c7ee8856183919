"""Files that a change puts beside a source of the same name, and that an import finds before it.

A spec that imports `./index.js` gets `index.ts`, until there is a file of that name: then the code
that was written is never run, and what stands beside it is tested. Read by the paths alone.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple

from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.model import Change

_TYPED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""What stands for a file of each ending, as long as there is none (TypeScript, "module"; Vite)."""
_COMPILED = regex(r"(?P<stem>[^/]+?)(?:\.[\w-]+)*\.(?:so|pyd|pyc)\Z")
_INITIAL = "/__init__.py"


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
