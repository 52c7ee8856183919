"""What the plan says of changed tests, and which tests are the same under another name.

Read from the text of a change and its base. A test may say less where the plan names it, or names
the code that went away with it: then nobody has to be asked.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from runner.gates.test_bodies import find_tests
from runner.gates.test_paths import is_test_path
from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.gates.base import GateContext
    from runner.languages.base import NamedTest
    from runner.model import Task

_LAST = regex(r"(?:::|\.| > | \u203a |/)")
_DEFINED = regex(
    rb"^([ \t]*)(?:export\s+)?(?:default\s+)?(?:pub(?:\([^)]*\))?\s+)?"
    rb"(?:(?:async|const|unsafe|static|extern(?:\s+\"[^\"]*\")?)\s+)*"
    rb"(?:(?:def|class|func(?:\s*\([^)]*\))?|function\*?|fn|const|let|var|struct|type|interface|enum"
    rb"|trait|mod)\s+|(?:module\.)?exports\.)(\w{3,})",
    re.MULTILINE,
)
_TOKEN = regex(rb"\w+")
_MOST_TOKENS, _MOST_NAMES = 300, 40
_SIMILAR = 0.5
"""From here on a definition may be another one under a new name; nobody but a person can tell."""
_WORD = regex(r"\w{3,}")
_PLACE = regex(r"%[a-zA-Z#$]|\$\w+(?:\.\w+)*")
"""Where the name of a table's test shows a value in jest and vitest: `%i`, `$name`."""
_MOST_WILDCARDS = 16
ASKED_FOR = "the plan asks for it"
_NOWHERE: frozenset[str] = frozenset()
REMOVED = "removed with `{name}`"


def last_of(test: str) -> str:
    """The function of a test: `test_c` of `tests/test_a.py::TestB::test_c`."""
    return [part for part in _LAST.split(test) if part][-1] if test else test


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is known of the tests of a change by their text."""

    named: tuple[str, ...]
    """Paths, ids or globs that the plan's `Changes tests:` names."""
    revised: frozenset[str]
    """Files with tests of the task itself, whose section was changed since they landed."""
    removed: frozenset[str]
    """What product code defined before and does not now, under no other name."""
    old: Mapping[str, frozenset[NamedTest]]
    """Tests before, by their last name."""
    new: Mapping[str, frozenset[NamedTest]]
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
            places=_find_places((one.path, bench.before(one.path)) for one in tests),
        )

    def of_test(self, test: str, file: str, *, unseen: bool) -> str:
        """Why a person knows of it already; empty where nobody does.

        `unseen`: it is there no more, or cannot be seen to pass.
        """
        files = frozenset({file}) if file else self.places.get(last_of(test), _NOWHERE)
        own = bool(files) and files <= self.revised
        if own or any(_is_named(pattern, test, files) for pattern in self.named):
            return ASKED_FOR
        name = self._removed_code(test) if unseen else ""
        return REMOVED.format(name=name) if name else ""

    def of_text(self, test: str, file: str, *, task: Task) -> str:
        """The same of a test that is gone from the text of its file.

        That its code went away with it counts only where the plan names that code: else a change
        could take away both what fails and what it failed on.
        """
        why = self.of_test(test, file, unseen=True)
        if why in ("", ASKED_FOR):
            return why
        said = "\n".join((task.title, *task.acceptance, task.prose))
        return why if re.search(rf"\b{re.escape(self._removed_code(test))}\b", said) else ""

    def _removed_code(self, test: str) -> str:
        """What a test that is gone named, and product code defines no more; empty for nothing."""
        here = last_of(test)
        if here in self.new:
            return ""
        words = {word for body in self.old.get(here, ()) for word in _WORD.findall(body.code)}
        return min(words & self.removed, default="")

    def find_renamed_tests(self, gone: Iterable[str], fresh: Iterable[str]) -> frozenset[str]:
        """Tests that are gone by their name, and run with the same body under a new one.

        Several may have become one with cases.
        """
        names = frozenset(map(last_of, fresh))
        now = [
            body for name, bodies in self.new.items() if _is_one_of(name, names) for body in bodies
        ]
        codes = {body.code for body in now}
        return frozenset(
            test
            for test in gone
            if any(body.code in codes for body in self.old.get(last_of(test), ()))
        )


def _is_one_of(name: str, shown: frozenset[str]) -> bool:
    """Whether tests of this name ran; that of a table has places for the values of a case."""
    if name in shown:
        return True
    parts = _PLACE.split(name)
    if len(parts) == 1:
        return False
    shape = re.compile(".*".join(map(re.escape, parts)), re.DOTALL)
    return any(map(shape.fullmatch, shown))


def _is_named(pattern: str, test: str, files: frozenset[str]) -> bool:
    folder = pattern.rstrip("/") + "/"
    if _meets(test, pattern) or _meets(last_of(test), pattern):
        return True
    return bool(files) and all(_meets(file, pattern) or file.startswith(folder) for file in files)


def _meets(text: str, pattern: str) -> bool:
    return pattern.count("*") <= _MOST_WILDCARDS and fnmatchcase(text, pattern)


def _bodies(files: Iterable[tuple[str, bytes | None]]) -> dict[str, frozenset[NamedTest]]:
    found: dict[str, set[NamedTest]] = {}
    for path, content in files:
        for test in find_tests(path, content) or ():
            found.setdefault(last_of(test.name), set()).add(test)
    return {name: frozenset(bodies) for name, bodies in found.items()}


def _find_places(files: Iterable[tuple[str, bytes | None]]) -> dict[str, frozenset[str]]:
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
    # Each pair is compared. Of so many nobody tells what was renamed, so nothing is called removed
    # unless nothing took its place.
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
    return SequenceMatcher(None, old, new, autojunk=False).ratio() >= _SIMILAR


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
