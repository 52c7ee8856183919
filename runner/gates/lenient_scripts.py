"""Scripts and rules behind a test contract that pass over what fails in them.

A contract's own line is refused for that before anything runs (`plan/shell/exit_status`). What it
calls is read when it passed and no tool told how each test ended: where tests were counted, a
failure counts whatever the script made of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.script_targets import behind
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.plan.shell.exit_status import bypass_of, swallow_of
from runner.plan.shell.shell_commands import tests_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.base import Check, GateContext

_PACKAGE = regex(r"(?:\A|/)package\.json\Z")
_CONTINUED = regex(r"\\\n[ \t]*")
_MARKS = regex(r"[ \t]*(?P<marks>[@+-]*)[ \t]*")
_SHOWN = 80


def findings(check: Check, bench: GateContext) -> tuple[Finding, ...]:
    """Each such script: a question, or to a person who wrote the change a warning."""
    if check.task or check.fails:
        return ()
    severity = Severity.WARNING if bench.by_person else Severity.QUESTION
    return tuple(
        Finding(
            check=check.id,
            message=f"`{by[:_SHOWN]}` in {_name(place)} passes over a failure:"
            f" what {check.id} runs cannot fail",
            path=place[0],
            severity=severity,
            hint=f"take `{by[:_SHOWN]}` out of it, or have the test contract call the tests itself",
        )
        for place, text in behind(check.command, bench.after)
        for by in _lost_in(place, text)
    )


def _name(place: tuple[str, str]) -> str:
    path, name = place
    return f"`{name}` of {path}" if name else path


def _lost_in(place: tuple[str, str], text: str) -> Iterator[str]:
    """What passes over the failure of a test program, line by line."""
    path, name = place
    # Each line of a rule is a shell of its own (GNU make, Recipe Execution).
    is_rule = bool(name) and not _PACKAGE.search(path)
    for line in _CONTINUED.sub(" ", text).split("\n") if is_rule else [text]:
        mark = _MARKS.match(line) if is_rule else None
        plain = line[mark.end() :].replace("$$", "$") if mark else line
        if not tests_in(plain):
            continue
        if mark and "-" in mark["marks"]:
            yield line.strip()
        elif found := bypass_of(plain):
            yield found
        elif lost := swallow_of(plain):
            yield re.sub(r"\s+", " ", lost.by)
