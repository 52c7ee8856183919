"""What is measured inside one process, started by `inside.py` with the installed package.

    python child.py CASE ARGUMENT...

Prints one JSON object: seconds by what was timed (on the clock where a disk is waited for, else
of the processor), and `megabytes`, the most memory it ever held.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.journal.log import Journal
    from runner.plan.status import StatusSpan

APPENDS = 20_000
DURABLE = 500
DIGEST = "sha256:" + "0" * 64


def seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def processor(act: Callable[[], object]) -> float:
    """Of what only computes: a busy machine leaves it nearly as it is."""
    began = time.process_time()
    act()
    return time.process_time() - began


def megabytes() -> float:
    """The peak of this very program; `getrusage` would tell its parent's, too."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


# --- plans ----------------------------------------------------------------------------


def parse(path: str) -> dict[str, float]:
    """The whole file, with nothing remembered."""
    from runner.plan.document import read_plan

    read_plan(b"## TASK-1: a\n\n- Status: PENDING\n", "a")  # imports are not what is measured here
    data = Path(path).read_bytes()
    return {"parse": processor(lambda: read_plan(data, path))}


def markdown(path: str) -> dict[str, float]:
    """The same file through markdown-it alone, whole."""
    from markdown_it import MarkdownIt

    text = Path(path).read_text()
    return {"markdown-it": processor(lambda: MarkdownIt("commonmark").enable("table").parse(text))}


def outline(path: str, cache: str) -> dict[str, float]:
    """What `status` reads, from the cache."""
    from runner.plan.cache import load_outline

    data = Path(path).read_bytes()
    return {"outline": processor(lambda: load_outline(data, path, Path(cache)))}


def whole(path: str, cache: str) -> dict[str, float]:
    """What a run reads, from the cache (the first call fills it)."""
    from runner.plan.cache import load_plan

    data = Path(path).read_bytes()
    return {"plan": processor(lambda: load_plan(data, path, Path(cache)))}


def edit(path: str) -> dict[str, float]:
    """One status replaced: found, replaced, written beside and renamed durably."""
    from runner import effects
    from runner.model import Status
    from runner.plan.edit import edit_statuses

    data = Path(path).read_bytes()
    spans = _spans(data)
    middle = list(spans)[len(spans) // 2]
    new = edit_statuses(data, {middle: (Status.DONE, "")}, spans)
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        target = Path(folder) / "TASK-GRAPH.md"
        target.write_bytes(data)
        return {
            "edit": processor(lambda: edit_statuses(data, {middle: (Status.DONE, "")}, spans)),
            "write": seconds(lambda: effects.write_file(target, new.data, expected=data)),
        }


def _spans(data: bytes) -> dict[str, StatusSpan]:
    """Where the statuses stand, by a plain search: parsing 100,000 tasks is measured elsewhere."""
    from runner.plan.status import StatusSpan

    spans = {}
    at = 0
    mark = b"- Status: "
    for number in range(data.count(mark)):
        start = data.index(mark, at) + len(mark)
        at = data.index(b"\n", start)
        spans[f"TASK-{number + 1:06d}"] = StatusSpan(start, at)
    return spans


# --- the journal ----------------------------------------------------------------------


def append(folder: str) -> dict[str, float]:
    """Seconds a record: ours and, beside it, the bare system calls and SQLite."""
    from runner.journal.log import Journal

    root = Path(folder)
    with Journal.open(root / "a.jsonl", run="run") as journal:
        written = seconds(lambda: _events(journal, APPENDS // 5)) / APPENDS
        durable = seconds(lambda: _durable(journal)) / DURABLE
    line = (root / "a.jsonl").read_bytes().splitlines(keepends=True)[3]
    return {
        "append": written,
        "append, durable": durable,
        "bare write": _bare(root / "b", line, APPENDS, sync=False) / APPENDS,
        "bare write and fsync": _bare(root / "c", line, DURABLE, sync=True) / DURABLE,
        "SQLite, WAL, FULL": _sqlite(root / "d", line.decode()) / DURABLE,
    }


def _durable(journal: Journal) -> None:
    from runner.journal.events import GateStarted

    for _ in range(DURABLE):
        journal.append(GateStarted("g", "true"), task="TASK-000001", attempt=1, durable=True)


def _bare(path: Path, line: bytes, times: int, *, sync: bool) -> float:
    import os

    with path.open("ab", buffering=0) as file:

        def write() -> None:
            for _ in range(times):
                file.write(line)
                if sync:
                    os.fsync(file.fileno())

        return seconds(write)


def _sqlite(path: Path, line: str) -> float:
    base = sqlite3.connect(path, isolation_level=None)
    base.execute("pragma journal_mode = wal")
    base.execute("pragma synchronous = full")
    base.execute("create table events (line text)")

    def write() -> None:
        for _ in range(DURABLE):
            base.execute("insert into events values (?)", (line,))

    took = seconds(write)
    base.close()
    return took


def _events(journal: Journal, tasks: int) -> None:
    """Five records a task: what a check with one test contract leaves."""
    from runner.journal.events import (
        AttemptFinished,
        AttemptStarted,
        GateCompleted,
        GateStarted,
        TaskDone,
    )
    from runner.model import Ending, Proof, Spec, Verdict

    spec = Spec(DIGEST, DIGEST)
    proof = Proof("TC-1", "test", "true", Verdict.PASS, 0, 0.01, DIGEST)
    for number in range(1, tasks + 1):
        where = {"task": f"TASK-{number:06d}", "attempt": 1}
        for event in (
            AttemptStarted("0" * 40, "check", spec),
            GateStarted("TC-1", "true"),
            GateCompleted(proof),
            AttemptFinished(Ending.PASSED, "0" * 40, 0.01, proofs=(proof,)),
            TaskDone(spec, "", "0" * 40, (proof,)),
        ):
            journal.append(event, **where)


def fold(folder: str, records: str) -> dict[str, float]:
    """A journal of so many records: folded whole, then from its snapshot; and only as JSON."""
    from runner.journal.log import Journal
    from runner.journal.snapshot import load_state

    root = Path(folder)
    path = root / "journal.jsonl"
    with Journal.open(path, run="run") as journal:
        _events(journal, int(records) // 5)
    return {
        "fold": processor(lambda: load_state(path, root / "cache")),
        "fold, from its snapshot": processor(lambda: load_state(path, root / "cache")),
        "json.loads of every line": processor(lambda: _loads(path)),
    }


def _loads(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


CASES = {
    "parse": parse,
    "markdown": markdown,
    "outline": outline,
    "whole": whole,
    "edit": edit,
    "append": append,
    "fold": fold,
}

if __name__ == "__main__":
    measured = CASES[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({**measured, "megabytes": megabytes()}))
