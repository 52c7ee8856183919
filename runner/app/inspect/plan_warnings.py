"""What a run would only block, or leave unproven: told by `validate`, and before a run's work."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from runner.model import Finding, Reason, Severity, Status
from runner.model.grades import is_code, without_proof
from runner.model.words import ProvenBy
from runner.plan.source import text_of
from runner.run.proof_required import (
    PROOF_HINT,
    WISH,
    WISH_HINT,
    contracts_hint,
    contracts_message,
    lacks_contracts,
    strongest_possible,
    unprovable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.model import Task
    from runner.plan.diagnostic import Problem
    from runner.plan.spans import Places
    from runner.project import Reading

_FENCE = re.compile(r"^\s*(?:```+|~~~+)\s*(?P<info>[^`\n]+?)\s*$")
_NAMED = re.compile(
    r"""(?:path|filename|filepath|title|name|src|target)\s*[=:]\s*["']?(?P<p>[^"'\s}]+)"""
)
_LANG_PATH = re.compile(r"[A-Za-z0-9+#-]+[:](?P<p>[\w./-]+\.\w+)")
_PATH = re.compile(r"(?:\./)?[\w@.+-]+(?:/[\w@.+-]+)*\.[A-Za-z]\w{0,7}|[\w@.+-]+(?:/[\w@.+-]+)+")


def unready(reading: Reading, settings: Settings, *, strict: bool = False) -> Iterator[Problem]:
    """A warning for each open task that a run would block, or leave unproven, as it is written.

    With `strict` what would be blocked is a mistake. Of a plan with mistakes nothing is said: a
    field that cannot be read is no field that is lacking.
    """
    if any(problem.is_error for problem in reading.problems):
        return
    from runner.plan.spans import Places

    places, sections = Places(reading.data, reading.plan.path), _Sections(reading)
    blocked = Severity.ERROR if strict else Severity.WARNING
    for task in reading.plan.tasks:
        if task.status is Status.DONE or task.is_milestone:
            continue
        yield from _of_one(task, settings, places, sections, blocked)


def _of_one(
    task: Task, settings: Settings, places: Places, sections: _Sections, blocked: Severity
) -> Iterator[Problem]:
    from runner.implementers.registry import choose

    chosen = choose(task, settings)
    if isinstance(chosen, Finding):
        if not task.implementer:  # an unknown name is told elsewhere
            hint = f"{_almost(sections, task)}{chosen.hint}"
            yield _problem(places, task, f"{task.id} has no implementer", hint, blocked)
        return
    lacks = unprovable(task, settings, chosen)
    if lacks is not None and lacks[0] is Reason.WISH:
        message = f"{task.id} will be BLOCKED (wish): {WISH}"
        yield _problem(places, task, message, WISH_HINT, blocked)
    elif lacks is not None and lacks_contracts(task, settings):
        message = f"{task.id} will be BLOCKED (proof): {contracts_message(task)}"
        yield _problem(places, task, message, contracts_hint(task), blocked)
    elif lacks is not None:
        message = f"{task.id} will be BLOCKED (proof): {lacks[1].partition(';')[0]}"
        yield _problem(places, task, message, PROOF_HINT, blocked)
    elif _stays_unproven(task, settings):
        message = f"{task.id} will be DONE — unproven: nothing proves it"
        yield _problem(places, task, message, PROOF_HINT, Severity.WARNING)


def _stays_unproven(task: Task, settings: Settings) -> bool:
    """Whether nothing proves what it writes, and nothing has said so: code without tests was."""
    if not task.writes_anything or without_proof(task.no_proof, task.outputs):
        return False
    told = not task.test_contracts and any(map(is_code, task.outputs))
    return not told and strongest_possible(task, settings) in (None, ProvenBy.STATIC)


def _problem(places: Places, task: Task, message: str, hint: str, severity: Severity) -> Problem:
    from runner.plan.diagnostic import Problem

    at = places.heading(task)
    return Problem(
        message,
        places.path,
        at.line,
        at.column,
        hint,
        severity,
        source_line=at.source_line,
        width=at.width,
    )


# --- a fence that was almost a file ---------------------------------------------------


class _Sections:
    """The lines of each task's section, taken apart once for all tasks."""

    def __init__(self, reading: Reading) -> None:
        self._lines = text_of(reading.data).split("\n")  # as the plan counts its lines
        self._starts = sorted(one.line for one in reading.plan.tasks)

    def of(self, task: Task) -> list[str]:
        """The lines below a task's heading, up to the next task's."""
        after = bisect_right(self._starts, task.line)
        end = self._starts[after] - 1 if after < len(self._starts) else len(self._lines)
        return self._lines[task.line : end]


def _almost(sections: _Sections, task: Task) -> str:
    """`line 12 is almost a file: write ```python file=src/a.py; else `, where there is one."""
    inside = ""
    for number, line in enumerate(sections.of(task), start=task.line + 1):
        fence = line.strip()[:3] if line.strip().startswith(("```", "~~~")) else ""
        if not fence:
            continue
        if inside:
            inside = "" if fence == inside else inside
            continue
        inside = fence
        if said := _suggest_fence(line, task):
            return f"line {number} is almost a file: write {said}; else "
    return ""


def _suggest_fence(line: str, task: Task) -> str:
    """How a fence is to begin that names a path in a way that nothing reads; else empty."""
    match = _FENCE.match(line)
    if match is None:
        return ""
    info = match["info"]
    first, *rest = info.split()
    named = _NAMED.search(info) or _LANG_PATH.fullmatch(first)
    path = named["p"] if named else next((word for word in (*rest, first) if _is_path(word)), "")
    if not path and not rest and len(task.outputs) == 1 and "*" not in task.outputs[0]:
        path = task.outputs[0]  # a plain fence in a task that writes one file
    language = re.split(r"[:{]", first)[0] if first != path else ""
    return f"```{language} file={path.removeprefix('./')}".replace("``` ", "```") if path else ""


def _is_path(word: str) -> bool:
    return bool(_PATH.fullmatch(word.strip("\"'()[]{}")))
