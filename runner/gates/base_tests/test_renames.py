"""What the plan says of changed tests, and which tests are the same under another name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from runner.gates.base_tests.compare import Fate, last_of
from runner.gates.integrity.readers import is_read, read_tests
from runner.gates.test_paths import is_test_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.gates.base import GateContext
    from runner.gates.base_tests.compare import Lost

_DEFINED = re.compile(
    rb"^([ \t]*)(?:export\s+)?(?:default\s+)?(?:pub(?:\([^)]*\))?\s+)?"
    rb"(?:(?:async|const|unsafe|static|extern(?:\s+\"[^\"]*\")?)\s+)*"
    rb"(?:(?:def|class|func(?:\s*\([^)]*\))?|function\*?|fn|const|let|var|struct|type|interface|enum"
    rb"|trait|mod)\s+|(?:module\.)?exports\.)(\w{3,})",
    re.MULTILINE,
)
_TOKEN = re.compile(rb"\w+")
_MOST_TOKENS, _MOST_NAMES = 300, 40
_SIMILAR = 0.5
"""From here on a definition may be another one under a new name; nobody but a person can tell."""
_WORD = re.compile(r"\w{3,}")
_MOST_WILDCARDS = 16
ASKED_FOR = "the plan asks for it"
_NOWHERE: frozenset[str] = frozenset()
REMOVED = "removed with `{name}`"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is known of the tests of a change by their text."""

    named: tuple[str, ...]
    """Paths, ids or globs that the plan's `Changes tests:` names."""
    revised: frozenset[str]
    """Files with tests of the task itself, whose section was changed since they landed."""
    removed: frozenset[str]
    """What product code defined before and does not now, under no other name."""
    old: Mapping[str, frozenset[str]]
    """Bodies of tests before, by their last name."""
    new: Mapping[str, frozenset[str]]
    places: Mapping[str, frozenset[str]]
    """Files that held a test before, by its last name: many a tool tells none."""

    @classmethod
    def of(cls, bench: GateContext) -> Meaning:
        """All of it, read from a proposal and its base."""
        tests = [one for one in bench.changes if bench.is_test(one.path)]
        return cls(
            named=bench.task.changes_tests,
            revised=frozenset(bench.former) if bench.revised else frozenset(),
            removed=_find_removed_names(bench),
            old=_bodies((one.path, bench.before(one.path)) for one in tests),
            new=_bodies((one.path, one.content) for one in tests),
            places=_places((one.path, bench.before(one.path)) for one in tests),
        )

    def of_test(self, one: Lost) -> str:
        """Why a person knows of it already; empty where nobody does."""
        files = frozenset({one.file}) if one.file else self.places.get(last_of(one.test), _NOWHERE)
        own = bool(files) and files <= self.revised
        if own or any(_is_named(pattern, one, files) for pattern in self.named):
            return ASKED_FOR
        if one.fate not in (Fate.GONE, Fate.UNRUN, Fate.FAILS):
            return ""
        here = last_of(one.test)
        if here in self.new:
            return ""
        words = {word for body in self.old.get(here, ()) for word in _WORD.findall(body)}
        name = min(words & self.removed, default="")
        return REMOVED.format(name=name) if name else ""

    def find_renamed_tests(self, found: Sequence[Lost], fresh: Iterable[str]) -> frozenset[str]:
        """Tests that are gone by their name, and run with the same body under a new one."""
        now = {body for name in map(last_of, fresh) for body in self.new.get(name, ())}
        gone = (one.test for one in found if one.fate in (Fate.GONE, Fate.UNRUN))
        return frozenset(test for test in gone if self.old.get(last_of(test), frozenset()) & now)


def _is_named(pattern: str, one: Lost, files: frozenset[str]) -> bool:
    folder = pattern.rstrip("/") + "/"
    if _meets(one.test, pattern) or _meets(last_of(one.test), pattern):
        return True
    return bool(files) and all(_meets(file, pattern) or file.startswith(folder) for file in files)


def _meets(text: str, pattern: str) -> bool:
    return pattern.count("*") <= _MOST_WILDCARDS and fnmatchcase(text, pattern)


def _bodies(files: Iterable[tuple[str, bytes | None]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for path, content in files:
        if content is None or not is_read(path):
            continue
        read = read_tests(path, content)
        for name, body in read.tests.items() if read else ():
            found.setdefault(last_of(name), set()).add(body.code)
    return {name: frozenset(bodies) for name, bodies in found.items()}


def _places(files: Iterable[tuple[str, bytes | None]]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for path, content in files:
        for name in _bodies([(path, content)]):
            found[name] = found.get(name, _NOWHERE) | {path}
    return found


def _find_removed_names(bench: GateContext) -> frozenset[str]:
    """Names that product code defined, and defines no more; not where its code only moved."""
    before: dict[bytes, list[bytes]] = {}
    after: dict[bytes, list[bytes]] = {}
    for one in bench.changes:
        if not is_test_path(one.path):
            for name, tokens in _definitions(bench.before(one.path) or b""):
                before.setdefault(name, []).extend(tokens)
            for name, tokens in _definitions(one.content or b""):
                after.setdefault(name, []).extend(tokens)
    gone, added = before.keys() - after.keys(), after.keys() - before.keys()
    if len(gone) > _MOST_NAMES or len(added) > _MOST_NAMES:
        return _NOWHERE if added else frozenset(map(_text, gone))
    return frozenset(
        _text(name) for name in gone if not any(_resembles(before[name], after[x]) for x in added)
    )


def _definitions(text: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """Each name that a text defines, with the words up to the next one that is no part of it."""
    found = list(_DEFINED.finditer(text))
    for at, one in enumerate(found):
        beside = (x.start() for x in found[at + 1 :] if len(x[1]) <= len(one[1]))
        body = text[one.end() : next(beside, len(text))]
        yield one[2], _TOKEN.findall(body)[:_MOST_TOKENS]


def _resembles(old: list[bytes], new: list[bytes]) -> bool:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, old, new, autojunk=False).ratio() >= _SIMILAR


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
