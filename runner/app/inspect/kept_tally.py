"""The figures of a whole journal, kept in the user's cache: only its tail is counted again."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from runner import effects
from runner.app.inspect.statistics import (
    WANTED,
    Statistics,
    Tally,
    Waited,
    count_tasks,
    is_live,
)
from runner.journal.cursor import WORTH_SAVING, Cursor
from runner.journal.person_waits import Wait
from runner.journal.records import Mark, read_places, to_text
from runner.model import Usage
from runner.report.cost import ProofCosts

if TYPE_CHECKING:
    from pathlib import Path

    from runner.project import Project

FORMAT = 1
_COUNTERS = ("builds", "attempts", "failures", "checks", "blocked")
_PLAIN = ("first", "last", "records", "recoveries", "open_run")


def count_all(project: Project, seconds: float | None = None) -> Statistics:
    """What the journal says of the last `seconds`, or of all time. Raises RunnerError: damage."""
    tally, place = count_journal(project, seconds)
    tally.builds = tally.builds_by_end(live=is_live(project))
    tasks, proven = count_tasks(project, tally.ended if seconds is not None else None)
    return Statistics(tally, place.offset, tasks, proven)


def count_journal(project: Project, seconds: float | None = None) -> tuple[Tally, Mark]:
    """The tally of the last `seconds`, or of all time, and how far the journal goes."""
    if seconds is None:
        return load_tally(project.journal_path, project.cache)
    tally, place = Tally(_since(seconds)), Mark()
    for record, reached in read_places(project.journal_path, wanted=WANTED):
        tally.hear(record)
        place = reached
    return tally, place


def _since(seconds: float) -> str:
    began = effects.now() - timedelta(seconds=seconds)
    return began.isoformat(timespec="microseconds").replace("+00:00", "Z")


def load_tally(journal: Path, cache: Path) -> tuple[Tally, Mark]:
    """The tally of all of a journal, and how far it goes.

    Raises RunnerError where the journal is damaged behind what is kept.
    """
    cursor = Cursor(journal, cache, "figures", FORMAT)
    tally, place = _read(cursor) or (Tally(), Mark())
    begun = place.seq
    for record, reached in read_places(journal, place, wanted=WANTED):
        tally.hear(record)
        place = reached
    if place.seq - begun >= WORTH_SAVING:
        cursor.save(to_text(tally_to_data(tally)).encode("utf-8", "backslashreplace"), place)
    return tally, place


def _read(cursor: Cursor) -> tuple[Tally, Mark] | None:
    kept = cursor.read()
    try:
        return kept and (tally_from_data(json.loads(kept[0])), kept[1])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # made by another hand: the journal says it all anyway


def tally_to_data(tally: Tally) -> dict[str, Any]:
    """All of a tally as JSON values."""
    proofs = tally.proofs
    return {
        **{name: getattr(tally, name) for name in (*_COUNTERS, *_PLAIN)},
        "waited": {
            kind: [one.count, one.seconds, one.longest] for kind, one in tally.waited.items()
        },
        "open": {key: list(wait) for key, wait in tally.waits.open.items()},
        "used": {
            task: [one.input_tokens, one.output_tokens, one.dollars, one.tool_calls]
            for task, one in tally.used.items()
        },
        "proofs": [proofs.ran, proofs.stood, proofs.seconds, proofs.saved],
        "ended": sorted(tally.ended),
        "spent": vars(tally.spent),
    }


def tally_from_data(data: dict[str, Any]) -> Tally:
    """The tally of these values. Raises KeyError, TypeError, AttributeError."""
    tally = Tally()
    for name in _COUNTERS:
        setattr(tally, name, Counter(data[name]))
    for name in _PLAIN:
        setattr(tally, name, data[name])
    tally.waited = {kind: Waited(*row) for kind, row in data["waited"].items()}
    tally.waits.open = {key: Wait(*row) for key, row in data["open"].items()}
    tally.used = {task: Usage(*row) for task, row in data["used"].items()}
    ran, stood, seconds, saved = data["proofs"]
    tally.proofs = ProofCosts(Counter(ran), Counter(stood), seconds, saved)
    tally.ended = set(data["ended"])
    for name in vars(tally.spent):
        setattr(tally.spent, name, data["spent"][name])
    return tally
