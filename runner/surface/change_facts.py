"""A fact about a change, its two trees, and whether the plan names it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runner.model import Change, Task

LARGEST = 512 * 1024
"""Maximum bytes of a compared file; a larger one is generated, or takes too long."""
_SECONDS = 10.0
"""Seconds for all files of a change."""
_MOST_SEARCHED = 4_000
"""Maximum files of the tree that are searched for users of a name."""
_SHOWN = 5
_LONGEST = 60
NOT_MEASURED = "not measured"
SCRIPTS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
"""Suffixes of JavaScript and TypeScript, in search order."""


class Fact(Struct, frozen=True):
    """Something that a change does, for a reviewer."""

    kind: str
    """Kind: `surface`, `dependency`, `setting`, `file`, or `not measured`."""
    message: str
    """The whole fact; for one merged with others of its title, its own part."""
    path: str
    line: int = 0
    names: tuple[str, ...] = ()
    """Words of which the plan must use one to name this change."""
    is_breaking: bool = False
    """Whether it can break users: a question, unless the plan names it."""
    title: str = ""
    """Facts of one file with the same title have one cause and are merged."""
    is_named: bool = False
    """Whether the task's text names it."""
    detail: str = ""
    """All parts of a merged fact that exceeds the shown ones, one per line."""

    @property
    def asks(self) -> bool:
        """Whether a person has to say that this is intended."""
        return self.is_breaking and not self.is_named


class Trees(Struct, frozen=True):
    """The files of a project before and after a change."""

    changes: tuple[Change, ...]
    before: Callable[[str], bytes | None]
    """Returns the bytes of a path at the base; None if there is no such file."""
    is_test: Callable[[str], bool]
    read_files: Callable[[], Iterable[tuple[str, bytes]]]
    """Returns paths and contents of the proposed tree."""
    deadline: float = field(default_factory=lambda: effects.monotonic() + _SECONDS)
    _changed: dict[str, bytes | None] = field(default_factory=dict)
    _others: dict[str, bytes] = field(default_factory=dict)

    def after(self, path: str) -> bytes | None:
        """Return the bytes of a path as they are proposed; None where there is no such file."""
        if not self._changed:
            self._changed.update({one.path: one.content for one in self.changes})
        return self._changed[path] if path in self._changed else self.before(path)

    @property
    def is_late(self) -> bool:
        """Whether the time for all files is used up."""
        return effects.monotonic() > self.deadline

    def is_used(self, name: str, endings: tuple[str, ...], before: str = r"(?<![\w$])") -> bool:
        """Return whether a file that the change leaves alone has this name, after a pattern."""
        word = re.compile(rf"{before}{re.escape(name)}(?![\w$])".encode())
        found = (text for path, text in self._files().items() if path.endswith(endings))
        return any(word.search(text) for text in found if not self.is_late)

    def has_before(self, pattern: str, endings: tuple[str, ...]) -> bool:
        """Return whether a file of the base matches, also one that the change alters."""
        changed = {one.path: self.before(one.path) or b"" for one in self.changes}
        files = {**self._files(), **changed}.items()
        texts = (text for path, text in files if f"/{path}".endswith(endings))
        return any(re.search(pattern.encode(), text) for text in texts)

    def has_module(self, name: str) -> bool:
        """Return whether the project has a Python module, or a folder, of this name."""
        added = [one.path for one in self.changes if one.content is not None]
        paths = [f"/{path}" for path in (*self._files(), *added)]
        return any(f"/{name}/" in path or path.endswith(f"/{name}.py") for path in paths)

    def _files(self) -> dict[str, bytes]:
        """Return the first files of the tree that the change leaves alone, read once."""
        if not self._others:
            changed = {one.path for one in self.changes}
            self._others[""] = b""
            for path, content in self.read_files():
                if path not in changed and len(content) <= LARGEST:
                    self._others[path] = content
                if len(self._others) > _MOST_SEARCHED or self.is_late:
                    break
        return self._others


def text_of(task: Task) -> str:
    """Return what the plan says of a task in words, its own code blocks included."""
    blocks = (one.text for one in task.blocks)
    return "\n".join((task.title, task.prose, *task.acceptance, *task.changes, *blocks))


def has_word(text: str, name: str) -> bool:
    """Return whether a text has a name as a whole word."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def merge_facts(task: Task, facts: Iterable[Fact]) -> Iterator[Fact]:
    """Yield facts with one cause as one; what the plan names is no part of a question."""
    text, groups = text_of(task), dict[tuple[object, ...], list[Fact]]()
    for one in dict.fromkeys(facts):
        named = any(has_word(text, name) for name in one.names if name)
        fact = replace(one, is_named=named)
        key = (fact.kind, fact.path, fact.title or fact.message, fact.asks, named)
        groups.setdefault(key, []).append(fact)
    for group in groups.values():
        yield _merge(group) if group[0].title else group[0]


def _merge(group: list[Fact]) -> Fact:
    """Merge facts with the same title into one."""
    parts = list(dict.fromkeys(one.message for one in group))
    more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return replace(
        group[0],
        message=f"{group[0].title}: {', '.join(parts[:_SHOWN])}{more}",
        detail="\n".join(parts) if more else "",
        names=tuple(dict.fromkeys(name for one in group for name in one.names)),
        is_breaking=any(one.is_breaking for one in group),
    )


def read_text(content: bytes | None) -> str | None:
    """Return a file's text; None where there is none that can be compared in bounded time."""
    if content is None or len(content) > LARGEST:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def skip_file(path: str, why: str) -> Fact:
    """Return the fact that a file was not compared."""
    return Fact(NOT_MEASURED, f"{path} was not compared: {why}", path)


def shorten(text: str) -> str:
    """Return the beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def folders_above(path: str) -> Iterator[str]:
    """Yield the folders above a file with a slash, the nearest first, and the top as empty."""
    while path:
        path = path.rpartition("/")[0]
        yield f"{path}/" if path else ""
