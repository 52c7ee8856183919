"""The field names of TASK-GRAPH.md and their aliases."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.text.wording import nearest

if TYPE_CHECKING:
    import difflib
    import unicodedata
else:
    difflib = lazy_module("difflib")
    unicodedata = lazy_module("unicodedata")


FIELDS: dict[str, tuple[str, ...]] = {
    "status": ("Status",),
    "type": ("Type", "Task type"),
    "depends_on": ("Depends on", "Dependencies", "Needs", "Depends"),
    "outputs": ("Output files", "Files", "Outputs", "Writes"),
    "inputs": ("Inputs", "Input files", "Reads", "Context files"),
    "acceptance": ("Acceptance", "Acceptance criteria", "Acceptance criterion"),
    "test_contracts": ("Test contracts", "TC", "Tests"),
    "held_out_files": ("Held-out files",),
    "test_author": ("Test author",),
    "assurance": ("Assurance",),
    "contracts": ("Contracts",),
    "changes_tests": ("Changes tests",),
    "gates": ("Gates",),
    "coverage": ("Coverage",),
    "implementer": ("Implementer",),
    "model": ("Model",),
    "command": ("Command", "Run", "Cmd"),
    "red_first": ("Red first",),
    "uses": ("Uses",),
    "network": ("Network",),
    "timeout": ("Timeout",),
    "keywords": ("Keywords",),
    "stack": ("Stack",),
    "patterns": ("Patterns",),
    "requires": ("Requires",),
    "budget": ("Budget",),
    "review": ("Review",),
    "no_proof": ("Proof",),
    "priority": ("Priority",),
    "source": ("Source",),
}
"""Field keys with their names; messages use the first."""

MATTERS = frozenset(("depends_on", "outputs", "test_contracts"))
"""Dependencies, outputs and tests of a task: a misspelled name is a mistake."""
_MEANT = {
    "depends_on": (
        *("Blocked by", "After", "Prerequisite", "Prereqs", "Deps", "Dependent on", "Waits for"),
        *("Depending on", "Requires tasks", "Dependent tasks"),
    ),
    "outputs": (
        *("Deliverables", "Artifacts", "Modifies", "Creates", "Target files", "Files to create"),
        *("Files to modify", "Files to change", "Changed files", "Scope", "Touches", "Edits"),
        *("Files likely touched", "Files touched", "Files changed", "Files involved"),
        *("Affected files", "File changes", "Key files", "Files to edit", "Files to update"),
    ),
    "test_contracts": (
        *("Test command", "Test cases", "Verification", "Verify", "Verify with", "Validation"),
        *("Test plan", "Check", "Checks", "Testing", "How to test", "Test strategy"),
    ),
}
"""Names related to the field that are not parsed: their content has its own format."""

_NAME = r"[^\W\d_](?:[\w /-]*[\w])?"
_MARKED = regex(
    rf"(?P<mark>\*\*\*|\*\*|__|\*|_|`)(?P<name>{_NAME})\s*(?::\s*(?P=mark)|(?P=mark)\s*:)\s*"
)
_PLAIN = regex(rf"(?P<name>{_NAME}?)\s*:\s*")
_NEAR = 0.8
"""Ratio of equal letters (difflib) from which a list is not prose."""
_LONGEST = 3
"""Maximum words of a field's name; a longer one is a sentence."""


class FieldName(NamedTuple):
    """The name a line begins with."""

    name: str
    key: str
    """Key of a known field, or empty."""
    start: int
    """Start of the name."""
    value: int
    """Start of the value."""
    marked: bool
    """Whether the name is bold, in emphasis or in code."""


def stem(name: str) -> str:
    """Normalise a name's case, separators and plural."""
    return " ".join(map(_singular, re.split(r"[\s_-]+", name.strip().casefold())))


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and word != "status" else word


@cache
def _stems() -> dict[str, str]:
    return {stem(name): key for key, names in FIELDS.items() for name in names}


@lru_cache(maxsize=1024)
def key_of(name: str) -> str:
    """Return the key of the field with this name, or an empty string."""
    return _stems().get(stem(name), "")


def parse_name(text: str) -> FieldName | None:
    """Return the `Name:` at the start of a line, or None."""
    match = _MARKED.match(text) if text.startswith(("*", "_", "`")) else None
    plain = None if match else _PLAIN.match(text)
    match = match or plain
    if match is None or match["name"].count(" ") >= _LONGEST < len(match["name"].split()):
        return None
    key = key_of(match["name"])
    if plain and not key and not (plain[0].endswith((" ", "\t")) or plain.end() == len(text)):
        return None
    return FieldName(match["name"], key, match.start("name"), match.end(), marked=plain is None)


@cache
def _meant() -> dict[str, str]:
    return {stem(name): key for key, names in _MEANT.items() for name in names}


def nearly_key(name: str) -> str:
    """Return the key of the field that a misspelled name resembles, or ""."""
    meant = _meant().get(stem(name))
    if meant or not is_mistyped(name):
        return meant or ""
    return key_of(nearest(stem(name), _stems()))


def suggest_name(name: str) -> str:
    """Return the known name that an unknown one resembles, or ""."""
    if meant := _meant().get(stem(name)):
        return FIELDS[meant][0]
    near = nearest(stem(name), _stems())
    return FIELDS[_stems()[near]][0] if near else ""


@lru_cache(maxsize=1024)
def is_mistyped(name: str) -> bool:
    """Return whether an unknown name is close enough to a field name to be a typo."""
    return bool(difflib.get_close_matches(stem(name), _stems(), n=1, cutoff=_NEAR))


def fold_spelling(path: str) -> str:
    """Return a form that is equal for all spellings of one file on macOS and Windows."""
    if path.isascii():
        return path.casefold()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())
