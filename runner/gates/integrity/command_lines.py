"""Command lines that a project keeps in files: scripts, rules, commands of tox, tasks.

A change by which one of them runs fewer tests than it did, or by which a failing one passes, is
told. They are read with the shell's own grammar, not by how they look.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.integrity.weaknesses import Weakness
from runner.gates.script_targets import rules_in
from runner.lazy_pattern import regex
from runner.plan.shell.exit_status import bypass_of, swallow_of
from runner.plan.shell.selection import find_added_selection, selection_of
from runner.plan.shell.shell_commands import tests_in
from runner.text.foreign_documents import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PACKAGE = regex(r"(?:\A|/)package\.json\Z")
_MAKEFILE = regex(r"(?:\A|/)(?:GNUmakefile|[Mm]akefile|[^/]*\.mk)\Z")
_TOX = regex(r"(?:\A|/)(?:tox\.ini|setup\.cfg)\Z")
_TOML = regex(r"(?:\A|/)(?P<name>tox|pyproject)\.toml\Z")
_SHELL = regex(r"\.(?:sh|bash)\Z")
_KEPT = ("jest", "mocha", "vitest", "ava", "c8", "nyc")
_MARKS = regex(r"^[@+-]+[ \t]*", re.MULTILINE)
_CONTINUED = regex(r"\\\n[ \t]*")
_COMMANDS = regex(r"^commands(?:_pre|_post)?[ \t]*=(?P<text>.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_OUTCOME = regex(r"^ignore_outcome[ \t]*=[ \t]*(?:true|1|yes|on)\b", re.MULTILINE | re.IGNORECASE)
_DASH = regex(r"-(?!-)\s*")
"""By which tox and hatch pass over what a command ends with."""
_OF_TOX = frozenset({"commands", "commands_pre", "commands_post"})
_RUNNERS = ("hatch", "pdm", "poe", "taskipy")
_TASKS = frozenset({"scripts", "tasks"})
_TOLD = frozenset({"help", "description", "cwd", "env", "envfile", "env_file", "working_dir"})
_MAKES = regex(r"\$\([^()]*\)")
_NESTED = 3
_SHOWN = 80
_MOST = 100


class _Line(NamedTuple):
    """A command line of a file."""

    name: str
    """What it is called there."""
    text: str
    over: str = ""
    """By which its tool passes over what it ends with, as it is written; empty where it counts."""


def holds_commands(path: str) -> bool:
    """Whether the command lines of a file are read here."""
    return any(kind.search(path) for kind in (_PACKAGE, _MAKEFILE, _TOX, _TOML, _SHELL))


def is_makefile(path: str) -> bool:
    """Whether a file holds rules of make."""
    return _MAKEFILE.search(path) is not None


def weaknesses(
    path: str, before: str, after: str, proves: Callable[[str], bool]
) -> Iterator[Weakness]:
    """What new command lines leave out or pass over that the old ones did not.

    `proves` says of a command that is no test tool whether its failure matters.
    """
    old = {one.name: one for one in _lines(path, before)}
    # Of whichever line it was: a script under another name swallows no more than it did.
    known = {_lost(one) for one in old.values()}
    told: Counter[bool] = Counter()
    for one in _lines(path, after):
        was = old.get(one.name, _Line(one.name, ""))
        for message, grave in (*_selected(was, one), *_swallowed(was, one, known, proves)):
            told[grave] += 1
            # To find where a line stands takes as long as the file is: not without an end.
            if told[grave] <= _MOST:
                yield Weakness(_line_of(after, one.text, one.name), message, grave)
    if _PACKAGE.search(path):
        yield from _settings(before, after)


def _selected(was: _Line, now: _Line) -> Iterator[tuple[str, bool]]:
    """Tests that an old line ran and the new one leaves out, by its own words."""
    asks = was.text and (tests_in(was.text) or selection_of(now.text))
    if asks and (said := find_added_selection(was.text, now.text)):
        yield f"`{', '.join(said)[:_SHOWN]}` in `{now.name}` leaves tests out", True


def _swallowed(
    was: _Line, now: _Line, known: set[tuple[str, str] | None], proves: Callable[[str], bool]
) -> Iterator[tuple[str, bool]]:
    """A failure that is passed over now, and was not before: here, or of the same program."""
    lost, then = _lost(now), _lost(was)
    if lost is None or lost in known:
        return
    program, by = lost
    if not (then and then[1] == by and _matters(then[0], proves)):
        yield f"`{by}` swallows a failure", _matters(program, proves)


def _matters(command: str, proves: Callable[[str], bool]) -> bool:
    return tests_in(command) or proves(command)


def _lost(line: _Line) -> tuple[str, str] | None:
    """The program whose failure a line passes over, and what does that."""
    if line.over:
        return line.text, line.over
    if word := bypass_of(line.text):
        return line.text, word
    found = swallow_of(line.text)
    return (found.program, found.by[:_SHOWN]) if found else None


# --- where the lines stand ------------------------------------------------------------------


def _lines(path: str, text: str) -> Iterator[_Line]:
    if _PACKAGE.search(path):
        yield from _scripts(text)
    elif _MAKEFILE.search(path):
        for name, (_, recipe) in rules_in(text):
            for number, line in enumerate(_CONTINUED.sub(" ", recipe).split("\n")):
                label = f"{name} {number + 1}" if number else name
                yield _Line(label, _as_shell(_MARKS.sub("", line)))
    elif _TOX.search(path):
        yield from _of_ini(text)
    elif toml := _TOML.search(path):
        yield from _of_toml(text, toml["name"])
    elif text:
        yield _Line(path.rpartition("/")[2], text)


def _of_ini(text: str) -> Iterator[_Line]:
    for number, match in enumerate(_COMMANDS.finditer(text)):
        for row, line in enumerate(match["text"].strip().splitlines()):
            yield _dashed(f"commands {number + 1}.{row + 1}", line.strip())
    for number, match in enumerate(_OUTCOME.finditer(text)):
        yield _Line(f"ignore_outcome {number + 1}", "tox", match[0])


def _dashed(name: str, line: str) -> _Line:
    mark = _DASH.match(line)
    return _Line(name, line[mark.end() :], line[:_SHOWN]) if mark else _Line(name, line)


def _of_toml(text: str, name: str) -> Iterator[_Line]:
    try:
        table: Mapping[str, object] = tomllib.loads(text)
    except (ValueError, RecursionError):
        return
    tools = table.get("tool") if name == "pyproject" else {"tox": table}
    if not isinstance(tools, dict):
        return
    yield from _of_tox(tools.get("tox"), "tox")
    for runner in _RUNNERS:
        yield from _of_tasks(tools.get(runner), runner, inside=False)


def _of_tox(table: object, name: str) -> Iterator[_Line]:
    """The commands of tox in its own form, where each is a list of words."""
    for key, value in table.items() if isinstance(table, dict) else ():
        at = f"{name}.{key}"
        if key in _OF_TOX and isinstance(value, list):
            for number, command in enumerate(value):
                if isinstance(command, list):
                    words = [word for word in command if isinstance(word, str)]
                    over = "- " if words[:1] == ["-"] else ""
                    line = shlex.join(words[1:] if over else words)
                    yield _Line(
                        f"{at} {number + 1}", line, f"{over}{line}"[:_SHOWN] if over else ""
                    )
        elif key == "ignore_outcome" and value is True:
            yield _Line(at, "tox", "ignore_outcome = true")
        elif key == "legacy_tox_ini" and isinstance(value, str):
            yield from _of_ini(value)
        else:
            yield from _of_tox(value, at)


def _of_tasks(value: object, name: str, *, inside: bool) -> Iterator[_Line]:
    """What hatch, PDM, poe and taskipy run by name; `inside` a table of tasks."""
    if isinstance(value, str) and inside:
        yield _dashed(name, value)
    elif isinstance(value, list) and inside:
        for number, one in enumerate(value):
            yield from _of_tasks(one, f"{name} {number + 1}", inside=True)
    elif isinstance(value, dict):
        for key, one in value.items():
            if inside and key == "ignore_fail" and one not in (False, "return_non_zero"):
                yield _Line(f"{name}.{key}", "test", f"{key} = {json.dumps(one, default=str)}")
            elif key not in _TOLD:
                yield from _of_tasks(one, f"{name}.{key}", inside=inside or key in _TASKS)


def _as_shell(line: str) -> str:
    """A line of a rule as the shell gets it; what make puts in is a variable of no known value."""
    # In a recipe `$$` is the dollar that the shell gets (GNU make, Using Variables in Recipes).
    line = line.replace("$$", "\0")
    for _ in range(_NESTED):
        line = _MAKES.sub("${MADE}", line)
    return line.replace("\0", "$")


def _scripts(text: str) -> Iterator[_Line]:
    table = _table(text)
    scripts = table.get("scripts")
    for name, line in scripts.items() if isinstance(scripts, dict) else ():
        if isinstance(line, str):
            yield _Line(name, line)


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
