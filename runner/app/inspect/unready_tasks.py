"""Find the tasks of a plan that a run will block, or that nothing will prove."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from runner.implementers.registry import choose
from runner.lazy_pattern import regex
from runner.model import Finding, Reason, Severity, Status, Task
from runner.model.grades import is_code, without_proof
from runner.model.words import PROVES_NOTHING
from runner.plan.body import suggest_by_info
from runner.plan.source import text_of
from runner.plan.spans import Spans
from runner.run.proof_sufficiency import (
    ITEMS_HINT,
    NO_ITEMS,
    PROOF_HINT,
    WISH,
    WISH_HINT,
    contracts_hint,
    contracts_message,
    is_proven_by_exit_code,
    lacks_contracts,
    strongest_possible,
    unprovable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.plan.source import Problem
    from runner.project import Reading


_FENCE = regex(r"^\s*(?:```+|~~~+)\s*(?P<info>[^`\n]+?)\s*$")


class TaskVerdict(NamedTuple):
    """A run's verdict on a task as it is written."""

    message: str
    hint: str
    blocks: bool
    """Whether it is certainly BLOCKED; else it may be, or is DONE and unproven."""
    nobody: bool = False
    """Whether the reason is a missing implementer."""
    refused: bool = False
    """Whether `validate` rejects the task for it."""


class Verdicts:
    """The verdicts on tasks, kept while the settings stay: an editor asks after each keystroke."""

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._known: dict[object, TaskVerdict | None] = {}

    def on(self, task: Task, settings: Settings) -> TaskVerdict | None:
        """Return the verdict on a task, or None if it has no problem."""
        if self._settings is not settings or len(self._known) > _MOST_KNOWN:
            self._settings, self._known = settings, {}
        key = _FIELDS(task)
        if key not in self._known:
            self._known[key] = _judge(task, settings)
        return self._known[key]


_MOST_KNOWN = 50_000
_FIELDS = attrgetter(
    *(
        name
        for name in Task.__struct_fields__
        # a location is no content; what is at it is in the digests
        if name not in ("line", "test_contracts", "contracts", "gates", "blocks")
    )
)
"""All fields of a task except its location."""


def unready(
    reading: Reading,
    settings: Settings,
    verdicts: Verdicts | None = None,
    *,
    strict: bool = False,
) -> Iterator[Problem]:
    """Yield a warning for each open task that a run would block or leave unproven.

    With `strict` what would be blocked is a mistake. A plan with mistakes has no warnings: a
    field that cannot be read is no field that is lacking.
    """
    if any(problem.is_error for problem in reading.problems):
        return

    places, sections = Spans(reading.data, reading.plan.path), _Sections(reading)
    blocked = Severity.ERROR if strict else Severity.WARNING
    # A single query keeps no verdicts: in a large plan the keys alone would be half of its tasks.
    judge = verdicts.on if verdicts else _judge
    for task in reading.plan.tasks:
        if task.status is Status.DONE or task.is_milestone:
            continue
        found = judge(task, settings)
        if found is not None:
            hint = f"{_almost(sections, task)}{found.hint}" if found.nobody else found.hint
            severity = blocked if found.blocks else Severity.WARNING
            severity = Severity.ERROR if found.refused else severity
            yield places.problem(places.heading(task), found.message, hint, severity)


def _judge(task: Task, settings: Settings) -> TaskVerdict | None:
    chosen = choose(task, settings)
    if isinstance(chosen, Finding):
        if task.implementer:  # an unknown name is reported elsewhere
            return None
        return TaskVerdict(f"{task.id} has no implementer", chosen.hint, blocks=True, nobody=True)
    lacks = unprovable(task, settings, chosen)
    if lacks is not None and lacks[0] is Reason.WISH:
        return TaskVerdict(f"{task.id} will be BLOCKED (wish): {WISH}", WISH_HINT, blocks=True)
    if lacks is not None and lacks_contracts(task, settings):
        message = f"{task.id} will be BLOCKED (proof): {contracts_message(task)}"
        return TaskVerdict(message, contracts_hint(task), blocks=True)
    if lacks is not None and lacks[1].startswith(NO_ITEMS):
        return TaskVerdict(f"{task.id}: {NO_ITEMS}", ITEMS_HINT, blocks=True, refused=True)
    if lacks is not None:
        message = f"{task.id} will be BLOCKED (proof): {lacks[1].partition(';')[0]}"
        return TaskVerdict(message, PROOF_HINT, blocks=True)
    if is_proven_by_exit_code(task, settings):
        message = f"{task.id} will be BLOCKED (proof) unless its output counts tests: {EXIT_CODE}"
        return TaskVerdict(message, PROOF_HINT, blocks=False)
    if _stays_unproven(task, settings) and not _is_untested_code(task):
        return TaskVerdict(f"{task.id} {UNPROVEN}", PROOF_HINT, blocks=False)
    return None


EXIT_CODE = "no command is a test program, and an exit code is no proof (proof.require_proof)"
UNPROVEN = "will be DONE — unproven: nothing proves it"


def find_untested(reading: Reading, settings: Settings) -> tuple[str, ...]:
    """Open tasks whose code nothing will prove, of which the plan's own warning says less."""
    return tuple(
        task.id
        for task in reading.plan.tasks
        if task.status is not Status.DONE
        and _is_untested_code(task)
        and _stays_unproven(task, settings)
        and not isinstance(chosen := choose(task, settings), Finding)
        and unprovable(task, settings, chosen) is None
    )


def _stays_unproven(task: Task, settings: Settings) -> bool:
    """Return whether no check can prove the task's outputs and no waiver declares that."""
    if not task.writes_anything or without_proof(task.no_proof, task.outputs):
        return False
    return strongest_possible(task, settings) in (None, *PROVES_NOTHING)


def _is_untested_code(task: Task) -> bool:
    """Return whether a task writes code without test contracts; the plan reader warns of it."""
    return not task.test_contracts and any(map(is_code, task.outputs))


# --- a fence that was almost a file ---------------------------------------------------


class _Sections:
    """The lines of each task's section, taken apart once for all tasks, where one is asked for."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    @cached_property
    def _lines(self) -> list[str]:
        return text_of(self._reading.data).split("\n")  # as the plan counts its lines

    @cached_property
    def _starts(self) -> list[int]:
        return sorted(one.line for one in self._reading.plan.tasks)

    def of(self, task: Task) -> list[str]:
        """Return the lines of a task's section below its heading."""
        after = bisect_right(self._starts, task.line)
        end = self._starts[after] - 1 if after < len(self._starts) else len(self._lines)
        return self._lines[task.line : end]


def _almost(sections: _Sections, task: Task) -> str:
    """Return a note on a line that is almost a file block and its correct opening; else empty."""
    inside = ""
    for number, line in enumerate(sections.of(task), start=task.line + 1):
        fence = line.strip()[:3] if line.strip().startswith(("```", "~~~")) else ""
        if not fence:
            continue
        if inside:
            inside = "" if fence == inside else inside
            continue
        inside = fence
        if opening := _suggest_fence(line, task):
            return f"line {number} looks like a file block: write {opening}; else "
    return ""


def _suggest_fence(line: str, task: Task) -> str:
    """Return the correct opening of a fence that names a path in an unsupported way; else empty."""
    match = _FENCE.match(line)
    if match is None:
        return ""
    info = match["info"]
    if fence := suggest_by_info(info):
        return fence
    if len(task.outputs) != 1 or " " in info or "*" in task.outputs[0]:
        return ""  # else a plain fence in a task that writes one file
    return f"```{re.split(r'[:{]', info)[0]} file={task.outputs[0].removeprefix('./')}"
