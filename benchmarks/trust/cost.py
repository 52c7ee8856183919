"""What proof costs: the checks of a task inside the runner against the same commands by hand."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from trial import clone, laid

if TYPE_CHECKING:
    from pathlib import Path

    from cases import Case
    from grounds import Place

SAMPLE = (
    "function-with-its-test",
    "module-with-its-test",
    "local-renamed",
    "command-with-its-test",
    "index-for-speed",
    "stricter-name",
    "library-local-renamed",
    "library-method-with-its-test",
    "library-more-cases",
    "library-faster-types",
)
"""Good changes whose checks are all commands: a contract has no command by hand."""


@dataclass(frozen=True)
class Cost:
    """Medians in seconds."""

    name: str
    proof: float
    """From the implementer's end to the verdict."""
    by_hand: float
    whole: float
    """The whole program: plan, clone's first look, implementer, proof, landing, records."""


def measured(place: Place, cases: list[Case], rounds: int) -> list[Cost]:
    """Both ways in turn, so that a busy machine is busy for both."""
    found = []
    for case in cases:
        if case.name not in SAMPLE:
            continue
        one = laid(case, place)
        took = [_once(one, place) for _ in range(rounds)]
        found.append(Cost(case.name, *(median(column) for column in zip(*took, strict=True))))
    return found


def _once(one, place: Place) -> tuple[float, float, float]:  # noqa: ANN001 - a laid case
    folder = clone(one, place)
    began = time.monotonic()
    place.runner(folder, "run", "--trust", "--no-verify-at-end")
    whole = time.monotonic() - began
    events = _about(folder, one.task)
    proof = _seconds(events)
    lines = [e["command"] for e in events if e["type"] == "gate.started"]
    by_hand = sum(_by_hand(place, folder, line) for line in lines)
    shutil.rmtree(folder)
    return proof, by_hand, whole


def _about(folder: Path, task: str) -> list[dict]:
    journal = folder / "artifacts" / "build" / "journal.jsonl"
    events = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    return [event for event in events if event.get("task") == task]


def _seconds(events: list[dict]) -> float:
    """From the first check's start to the attempt's end, by the journal's own times."""
    from datetime import datetime

    first = next(event for event in events if event["type"] == "gate.started")
    last = [event for event in events if event["type"] == "attempt.finished"][-1]
    begin, end = (datetime.fromisoformat(event["time"]) for event in (first, last))
    return (end - begin).total_seconds()


def _by_hand(place: Place, folder: Path, line: str) -> float:
    """One command as a person would type it, on the landed tree."""
    began = time.monotonic()
    done = subprocess.run(
        line, shell=True, cwd=folder, env=place.environ, capture_output=True, check=False
    )
    took = time.monotonic() - began
    if done.returncode:
        raise SystemExit(
            f"error: by hand `{line}` fails in {folder}\n{done.stdout.decode()[-800:]}"
        )
    return took
