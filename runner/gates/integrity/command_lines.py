"""Command lines that a project keeps in files: scripts of package.json, rules, shell scripts.

A change by which one of them runs fewer tests than it did, or by which a failing one passes, is
told. They are read with the shell's own grammar, not by how they look.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from runner.gates.integrity.weaknesses import Weakness
from runner.gates.script_targets import rules_in
from runner.lazy_pattern import regex
from runner.plan.shell.exit_status import bypass_of, swallow_of, tests_in
from runner.plan.shell.selection import find_added_selection, selection_of
from runner.text.foreign_documents import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PACKAGE = regex(r"(?:\A|/)package\.json\Z")
_MAKEFILE = regex(r"(?:\A|/)(?:GNUmakefile|[Mm]akefile|[^/]*\.mk)\Z")
_TOX = regex(r"(?:\A|/)tox\.ini\Z")
_SHELL = regex(r"\.(?:sh|bash)\Z")
_KEPT = ("jest", "mocha", "vitest", "ava", "c8", "nyc")
_MARKS = regex(r"^[@+-]+[ \t]*", re.MULTILINE)
_CONTINUED = regex(r"\\\n[ \t]*")
_COMMANDS = regex(r"^commands(?:_pre|_post)?[ \t]*=(?P<text>.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_MAKES = regex(r"\$\([^()]*\)")
_NESTED = 3
_SHOWN = 80


def holds_commands(path: str) -> bool:
    """Whether the command lines of a file are read here."""
    return any(kind.search(path) for kind in (_PACKAGE, _MAKEFILE, _TOX, _SHELL))


def weaknesses(
    path: str, before: str, after: str, proves: Callable[[str], bool]
) -> Iterator[Weakness]:
    """What new command lines leave out or pass over that the old ones did not.

    `proves` says of a command that is no test tool whether its failure matters.
    """
    old, new = dict(_lines(path, before)), dict(_lines(path, after))
    # Of whichever line it was: a script under another name swallows no more than it did.
    known = {lost[1] for line in old.values() if (lost := _lost(line))}
    for name, line in new.items():
        was = old.get(name, "")
        at = _line_of(after, line, name)
        yield from _selected(was, line, name, at)
        if (lost := _lost(line)) and lost[1] not in known:
            matters = tests_in(lost[0]) or proves(lost[0])
            yield Weakness(at, f"`{lost[1]}` swallows a failure", matters)
    if _PACKAGE.search(path):
        yield from _settings(before, after)


def _selected(was: str, line: str, name: str, at: int) -> Iterator[Weakness]:
    """Tests that an old line ran and the new one leaves out, by its own words."""
    if not was:
        return
    said = find_added_selection(was, line) if tests_in(was) or selection_of(line) else ()
    if said:
        shown = ", ".join(said)[:_SHOWN]
        yield Weakness(at, f"`{shown}` in `{name}` leaves tests out")


def _lost(line: str) -> tuple[str, str] | None:
    """The program whose failure a line passes over, and what does that."""
    if word := bypass_of(line):
        return line, word
    found = swallow_of(line)
    return (found.program, found.by[:_SHOWN]) if found else None


# --- where the lines stand ------------------------------------------------------------------


def _lines(path: str, text: str) -> Iterator[tuple[str, str]]:
    if _PACKAGE.search(path):
        yield from _scripts(text)
    elif _MAKEFILE.search(path):
        for name, (_, recipe) in rules_in(text):
            for number, line in enumerate(_CONTINUED.sub(" ", recipe).split("\n")):
                label = f"{name} {number + 1}" if number else name
                yield label, _as_shell(_MARKS.sub("", line))
    elif _TOX.search(path):
        for number, match in enumerate(_COMMANDS.finditer(text)):
            for row, line in enumerate(match["text"].strip().splitlines()):
                yield f"commands {number + 1}.{row + 1}", line.strip().removeprefix("- ")
    elif text:
        yield path.rpartition("/")[2], text


def _as_shell(line: str) -> str:
    """A line of a rule as the shell gets it; what make puts in is a variable of no known value."""
    # In a recipe `$$` is the dollar that the shell gets (GNU make, Using Variables in Recipes).
    line = line.replace("$$", "\0")
    for _ in range(_NESTED):
        line = _MAKES.sub("${MADE}", line)
    return line.replace("\0", "$")


def _scripts(text: str) -> Iterator[tuple[str, str]]:
    table = _table(text)
    scripts = table.get("scripts")
    for name, line in scripts.items() if isinstance(scripts, dict) else ():
        if isinstance(line, str):
            yield name, line


def _table(text: str) -> Mapping[str, object]:
    try:
        table = parse_json(text or "{}")
    except ValueError:
        return {}
    return table if isinstance(table, dict) else {}


def _line_of(text: str, line: str, name: str) -> int:
    """Where a line stands in its file, as far as that can be told."""
    first = line.split("\n", 1)[0].strip()
    for wanted in filter(None, (first, f'"{name}"', name)):
        at = text.find(wanted)
        if at >= 0:
            return text.count("\n", 0, at) + 1
    return 1


# --- settings of test tools in package.json -------------------------------------------------

_LEAVES_OUT = frozenset(
    (
        *("testPathIgnorePatterns", "modulePathIgnorePatterns", "testNamePattern", "testMatch"),
        *("testRegex", "passWithNoTests", "bail", "retries", "grep", "fgrep", "invert", "spec"),
        *("ignore", "exclude", "files", "match", "forbidOnly", "retry", "allowOnly"),
    )
)


def _settings(before: str, after: str) -> Iterator[Weakness]:
    """Keys of a test tool that say which tests count, and do not say what they said."""
    old, new = _table(before), _table(after)
    for tool in _KEPT:
        was, now = old.get(tool), new.get(tool)
        if not isinstance(now, dict):
            continue
        known = was if isinstance(was, dict) else {}
        for key in sorted(_LEAVES_OUT & now.keys()):
            if now[key] != known.get(key):
                shown = f"{key}: {json.dumps(now[key])}"[:_SHOWN]
                yield Weakness(
                    _line_of(after, f'"{key}"', key), f"`{shown}` may leave tests out", before != ""
                )
