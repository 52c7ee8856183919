"""Read which test changes the plan allows, and match renamed tests.

A task may weaken a test that its field `Changes tests` names, without a question to a person.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from runner.gates.test_paths import find_tests
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.gates.base import GateContext
    from runner.languages.base import NamedTest

    Bodies: TypeAlias = Mapping[str, list[tuple[str, NamedTest]]]
    """Path and body of tests, by the last part of their name."""

_LAST = regex(r"(?:::|\.| > | \u203a |/)")
_PLACE = regex(r"%[a-zA-Z#$]|\$\w+(?:\.\w+)*")
"""Placeholder of a value in the name of a table test in jest and vitest: `%i`, `$name`."""
_MOST_WILDCARDS = 16
ASKED_FOR = "required by the plan"


def last_of(test: str) -> str:
    """Return the function name of a test: `test_c` of `tests/test_a.py::TestB::test_c`."""
    return [part for part in _LAST.split(test) if part][-1] if test else test


class Meaning(Struct, frozen=True):
    """The facts about a change's tests that follow from their text."""

    named: tuple[str, ...]
    """Paths, IDs or globs in the plan's `Changes tests:`."""
    revised: frozenset[str]
    """Test files of the task itself, if its section changed since they landed."""
    old: Bodies
    new: Bodies

    @classmethod
    def of(cls, context: GateContext) -> Meaning:
        """Compare the tests of a proposal with those of its base."""
        tests = [one for one in context.changes if context.is_test(one.path)]
        return cls(
            named=context.task.changes_tests,
            revised=frozenset(context.former) if context.origin.revised else frozenset(),
            old=_find_bodies((one.path, context.before(one.path)) for one in tests),
            new=_find_bodies((one.path, one.content) for one in tests),
        )

    def of_test(self, test: str, file: str) -> str:
        """Return why a person knows of a lost test already; empty where nobody does."""
        places = (path for path, _ in self.old.get(last_of(test), ()))  # many a tool tells no file
        files = frozenset({file} if file else places)
        own = bool(files) and files <= self.revised
        named = any(_is_named(pattern, test, files) for pattern in self.named)
        return ASKED_FOR if own or named else ""

    def find_renamed_tests(self, gone: Iterable[str], fresh: Iterable[str]) -> frozenset[str]:
        """Return the missing tests whose body runs under a new name.

        Several may have become one with cases.
        """
        names = frozenset(map(last_of, fresh))
        now = (bodies for name, bodies in self.new.items() if _is_one_of(name, names))
        codes = {body.code for bodies in now for _, body in bodies}
        return frozenset(
            test
            for test in gone
            if any(body.code in codes for _, body in self.old.get(last_of(test), ()))
        )


def _is_one_of(name: str, shown: frozenset[str]) -> bool:
    """Return whether tests of this name ran; placeholders match the values of a case."""
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


def _find_bodies(files: Iterable[tuple[str, bytes | None]]) -> Bodies:
    found: dict[str, list[tuple[str, NamedTest]]] = {}
    for path, content in files:
        for test in find_tests(path, content) or ():
            found.setdefault(last_of(test.name), []).append((path, test))
    return found
