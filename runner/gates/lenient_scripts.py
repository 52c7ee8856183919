"""Find scripts and make rules behind a contract or gate that lose a failed command's exit code.

A contract's own line is refused for that before anything runs (`plan/shell/exit_status`). Scripts
of package.json, rules of make and script files are judged with the line: they run in its place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.script_targets import behind, behind_one
from runner.lazy_pattern import regex
from runner.model import Finding
from runner.plan.shell import exit_status
from runner.plan.shell.exit_status import bypass_of
from runner.plan.shell.shell_commands import commands_of
from runner.plan.shell.syntax import ShellSyntaxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.gates.base import Check, GateContext

    Read = Callable[[str], bytes | None]
    Part = tuple[tuple[str, str], str]

_PACKAGE = regex(r"(?:\A|/)package\.json\Z")
_CONTINUED = regex(r"\\\n[ \t]*")
_MARKS = regex(r"[ \t]*(?P<marks>[@+-]*)[ \t]*")
_VARIABLE = regex(r"\$[({]([\w.-]+)[)}]")
_SHOWN = 80
_DEEPEST = 3
_MOST = 40


def findings(check: Check, context: GateContext) -> tuple[Finding, ...]:
    """Return a finding for each script that ignores failures of the check."""
    if check.task or check.fails:
        return ()
    return tuple(
        Finding(
            check=check.id,
            message=f"`{by[:_SHOWN]}` in {_name(place)} ignores failures,"
            f" so {check.id} cannot fail",
            path=place[0],
            severity=context.origin.question,
            hint=f"remove `{by[:_SHOWN]}`, or have the test contract run the tests directly",
        )
        for place, by in _lost_in(check.command, context.after)
    )


def can_fail(command: str, read: Read) -> bool | None:
    """Return whether a line can fail, with the scripts it leads to; None where it is not known."""
    try:
        lost = exit_status.loses_exit(command, _called(command, read))
    except ShellSyntaxError:
        return None
    return None if lost is None else not lost


def _name(place: tuple[str, str]) -> str:
    path, name = place
    return f"`{name}` of {path}" if name else path


def _lost_in(command: str, read: Read) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the scripts that lose an exit code or skip checks, and the code that does so."""
    parts = [*behind(command, read)]
    skips = [(place, word) for place, text in parts if (word := bypass_of(_as_script(place, text)))]
    yield from skips
    if skips or not parts or can_fail(command, read) is not False:
        return
    for place, text in parts:
        for line, ignored in _lines(place, text):
            lost = exit_status.swallow_of(line)
            if ignored or lost:
                yield place, re.sub(r"\s+", " ", lost.by) if lost else f"-{line}"


# --- what runs in the place of a command --------------------------------------------------


def _called(command: str, read: Read) -> exit_status.Called:
    """Return the scripts that a line starts, by the words that start them."""
    scripts: dict[str, str] = {}
    files: dict[str, str] = {}
    _collect(command, read, scripts, files, _DEEPEST)
    return exit_status.Called(tuple(scripts.items()), tuple(files.items()))


def _collect(
    line: str, read: Read, scripts: dict[str, str], files: dict[str, str], depth: int
) -> None:
    for one in commands_of(line):
        start = " ".join(one.values)
        parts = tuple(behind_one(one.text, read))
        if not depth or not parts or start in scripts or len(scripts) + len(files) > _MOST:
            continue
        files |= {place[0]: text for place, text in parts if not place[1]}
        named = [part for part in parts if part[0][1]]
        if named:
            scripts[start] = _join(named)
        for place, text in parts:
            _collect(_as_script(place, text), read, scripts, files, depth - 1)


def _join(parts: Sequence[Part]) -> str:
    """Join scripts into one that stops at the first failure; prerequisites of rules go first."""
    rules = not _PACKAGE.search(parts[0][0][0])
    texts = [_as_script(place, text) for place, text in (reversed(parts) if rules else parts)]
    return " && ".join(f"(\n{text}\n)" for text in texts if text.strip()) or ":"


def _as_script(place: tuple[str, str], text: str) -> str:
    """Return a rule as a shell script: each line in its own shell, failures of `-` ignored."""
    lines = [*_lines(place, text)]
    if not _is_rule(place):
        return text
    return "\n".join(f"({line}\n) || {':' if ignored else 'exit 1'}" for line, ignored in lines)


def _lines(place: tuple[str, str], text: str) -> Iterator[tuple[str, bool]]:
    """Yield a rule's lines and whether make ignores their failure; other text as one line."""
    if not _is_rule(place):
        yield text, False
        return
    for line in _CONTINUED.sub(" ", text).split("\n"):
        mark = _MARKS.match(line)
        plain = line[mark.end() :] if mark else line
        # make expands its own variables; `$$` becomes the shell's dollar.
        plain = _VARIABLE.sub(r"\1", plain.replace("$$", "\0")).replace("\0", "$")
        if plain.strip():
            yield plain, bool(mark and "-" in mark["marks"] and exit_status.deciding_command(plain))


def _is_rule(place: tuple[str, str]) -> bool:
    return bool(place[1]) and not _PACKAGE.search(place[0])
