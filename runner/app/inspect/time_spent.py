"""Compute the seconds that runs and tasks spent per kind of work, from the journal.

An attempt records the seconds of its stages and of each command of its proof. What a command
saved because its result was reused costs nothing here.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    GateCompleted,
    RunFinished,
    RunStarted,
    StageCompleted,
)
from runner.journal.person_waits import seconds_between
from runner.journal.session_events import TreeVerified
from runner.model.words import HELD_OUT
from runner.report.documents import document
from runner.report.table import table
from runner.text.display import display
from runner.text.wording import moment, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.journal.events import Record
    from runner.model import Proof

KINDS = ("implementer", "proof", "others", "gates", "repeats", "waiting", "rest")
"""The columns: `proof` is a task's own, `others` are tests of other tasks, `repeats` are proofs of
work that had passed them, `waiting` is between attempts and before landing, `rest` is trees, the
write pipeline and what has no record of its own."""
HEADS = (
    *("IMPLEMENTER", "OWN PROOF", "OTHERS' TESTS", "GATES", "REPEATS", "WAITING", "REST", "ALL"),
)
# The commands of the HELD_OUT stage also have their own records.
_STAGES = {
    "implementer": "implementer",
    **dict.fromkeys(("scratch tree", "write pipeline", "other"), "rest"),
    "compile and static analysis": "rest",
}
_ENDS = frozenset({"task.done", "task.blocked", "task.staled"})
WANTED = _ENDS | {
    *("run.started", "run.finished", "attempt.started", "attempt.finished"),
    *("gate.completed", "stage.completed", "tree.verified"),
}
_END, _AGAIN, _MUTATION = "the proof at the end", "proofs on a moved branch", "mutants"
_OTHERS, _RED = "tests of other tasks", "new tests on the base"
_ADVICE = {
    _END: 'proof.verify_at_end = "never", with runner verify --all in CI',
    _AGAIN: "let tasks that change the same files depend on each other",
    _MUTATION: 'proof.mutation = "off"',
    _OTHERS: 'proof.changed_dependents = "direct"',
    _RED: "name only the new tests in Test contracts",
    "waiting": "answer waiting reviews: runner review",
}
_GATE_ADVICE = "name fewer files in the gate, or run it only in CI"
_TASKS_SHOWN = 20


class TimeSpent:
    """Hears every record in its order; `runs` has the seconds by run, task and kind."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, dict[str, float]]] = {}
        """By run, then by task; work without a task (the final proof) is under an empty one."""
        self.began: dict[str, str] = {}
        self.lasted: dict[str, float] = {}
        self.steps: dict[str, float] = {}
        """Seconds by what a setting or a plan change could have saved."""
        self.again: dict[str, bool] = {}
        """By task with an active attempt, whether it only repeats a proof."""
        self.idle: dict[str, str] = {}
        """Since when a task waits between attempts or before landing."""

    def hear(self, record: Record) -> None:
        """Count one record."""
        if record.type in _ENDS:
            self._end_idle(record)
            return
        match record.event:
            case RunStarted():
                self.again.clear()
                self.idle.clear()
                self.began[record.run] = record.time
            case RunFinished(seconds=seconds):
                self.lasted[record.run] = seconds
            case AttemptStarted(mode=mode):
                self._end_idle(record)
                self.again[record.task] = mode == "prove"
            case AttemptFinished():
                self.idle[record.task] = record.time
            case StageCompleted(stage=stage, seconds=seconds) if stage != HELD_OUT:
                self._add_stage(record, stage, seconds)
            case GateCompleted(proof=proof) if not proof.stands_from:
                self._add_proof(record, proof)
            case TreeVerified(seconds=seconds) if seconds:
                self._add(record, "repeats", seconds, _END)

    def _end_idle(self, record: Record) -> None:
        since = self.idle.pop(record.task, "")
        if since:
            self._add(record, "waiting", seconds_between(since, record.time), "waiting")

    def _add_stage(self, record: Record, stage: str, seconds: float) -> None:
        kind = _STAGES.get(stage, "gates" if stage.startswith("gate:") else "proof")
        if kind not in {"implementer", "rest"} and self.again.get(record.task):
            self._add(record, "repeats", seconds, _AGAIN)
        elif kind == "gates":
            self._add(record, kind, seconds, stage.removesuffix(" again, or on the base"))
        else:
            self._add(record, kind, seconds, _RED if stage.startswith("TC-") else "")

    def _add_proof(self, record: Record, proof: Proof) -> None:
        if self.again.get(record.task):
            self._add(record, "repeats", proof.seconds, _AGAIN)
        elif proof.is_of_another_task:
            self._add(record, "others", proof.seconds, _OTHERS)
        elif proof.kind == "gate":
            self._add(record, "gates", proof.seconds, proof.id)
        else:
            step = _MUTATION if proof.kind == "mutation" else ""
            self._add(record, "proof", proof.seconds, step)

    def _add(self, record: Record, kind: str, seconds: float, step: str) -> None:
        tasks = self.runs.setdefault(record.run, {})
        spent = tasks.setdefault(record.task, {})
        spent[kind] = spent.get(kind, 0.0) + seconds
        if step:
            self.steps[step] = self.steps.get(step, 0.0) + seconds

    @property
    def largest(self) -> tuple[str, float, str] | None:
        """Return the step with the largest possible saving, its seconds and advice, or None."""
        if not self.steps:
            return None
        step = max(self.steps, key=self.steps.__getitem__)
        return step, self.steps[step], _ADVICE.get(step, _GATE_ADVICE)


def time_data(spent: TimeSpent) -> dict[str, object]:
    """Return the time statistics as JSON data."""
    largest = spent.largest
    return {
        "runs": [
            {
                "run": run,
                "began": spent.began.get(run),
                "seconds": spent.lasted.get(run),
                "tasks": {task: _rounded(by_kind) for task, by_kind in tasks.items() if task},
                "whole": _rounded(tasks.get("", {})),
            }
            for run, tasks in spent.runs.items()
        ],
        "steps": {name: round(seconds, 3) for name, seconds in sorted(spent.steps.items())},
        "wouldHaveSavedMost": largest
        and {"what": largest[0], "seconds": round(largest[1], 3), "how": largest[2]},
    }


def time_document(spent: TimeSpent) -> str:
    """Return the `time` JSON document."""
    return document("time", **time_data(spent))


def _rounded(by_kind: Mapping[str, float]) -> dict[str, float]:
    return {kind: round(by_kind.get(kind, 0.0), 3) for kind in KINDS}


def time_rows(spent: TimeSpent) -> tuple[list[list[str]], list[list[str]]]:
    """Return the table rows of all runs, newest first, and of the slowest tasks."""
    runs, by_task = [], dict[str, Counter[str]]()
    for run, tasks in reversed(spent.runs.items()):
        whole: Counter[str] = Counter()
        for task, by_kind in tasks.items():
            whole.update(by_kind)
            by_task.setdefault(task, Counter()).update(by_kind)
        runs.append([moment(spent.began.get(run, "")) or "verify", *_cells(whole)])
    longest = sorted(by_task.items(), key=lambda item: -sum(item[1].values()))
    return runs, [[display(task) or "at the end", *_cells(each)] for task, each in longest]


def _cells(by_kind: Mapping[str, float]) -> list[str]:
    return [f"{by_kind.get(kind, 0.0):.1f} s" for kind in KINDS] + [
        f"{sum(by_kind.values()):.1f} s"
    ]


def largest_line(spent: TimeSpent) -> str:
    """Return the largest possible saving in one line; empty if nothing was measured."""
    largest = spent.largest
    if largest is None:
        return ""
    step, seconds, how = largest
    return f"largest possible saving: {display(step)}, {seconds:.1f} s ({how})"


def time_lines(spent: TimeSpent) -> Iterator[str]:
    """Yield a table of runs, a table of tasks and the largest possible saving."""
    runs, tasks = time_rows(spent)
    if not runs:
        yield "no run has recorded its times yet"
        return
    yield from table(("RUN", *HEADS), runs[:_TASKS_SHOWN]).splitlines()
    yield ""
    yield from table(("TASK", *HEADS), tasks[:_TASKS_SHOWN]).splitlines()
    if len(tasks) > _TASKS_SHOWN:
        yield f"{plural(len(tasks) - _TASKS_SHOWN, 'more task')}: runner stats --time --json"
    if line := largest_line(spent):
        yield f"\n{line}"
