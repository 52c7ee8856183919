"""What a keystroke costs `runner lsp`: processor time from a change to its published mistakes.

A plan of 1,000 tasks, one character put in at 200 places, one after the other, over the pipes of a
real server. Measured is the processor time of all the server's threads, in nanoseconds, from before
the change is sent until its mistakes are there (`/proc/PID/task/*/schedstat`); a full collection
of garbage or another program's share of a core is in it.

    .venv/bin/python benchmarks/editor/run.py [--tasks 1000] [--places 200]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "editor"))

from language_client import LanguageClient

NAME = "TASK-GRAPH.md"
LETTERS = "abcxyz019 .-`#\n"
AIM = 0.050
KINDS = {
    "sound": "- Implementer: claude\n",
    "a warning for each task": "",
}


def a_plan(count: int, line: str) -> str:
    tasks = (
        f"## TASK-{n:03d}: Part {n}\n\n- Status: PENDING\n- Type: data\n"
        f"- Depends on: {'none' if n % 10 == 1 else f'TASK-{n - 1:03d}'}\n"
        f"- Output files: `src/part{n}.py`, `tests/test_part{n}.py`\n"
        f"- Acceptance:\n  - an end before its start is refused\n"
        f"- Test contracts:\n  - TC-{n:03d} (unit): `python3 -m pytest -q tests/test_part{n}.py`\n"
        f"- Contracts: none — internal\n{line}\nProse is the brief for whoever builds it.\n\n"
        for n in range(1, count + 1)
    )
    return "# Plan\n\n" + "".join(tasks)


def spent(pid: int) -> float:
    """Seconds on a processor of all threads of a process."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((one / "schedstat").read_text().split()[0]) for one in tasks) / 1e9


def measure(folder: Path, text: str, places: int) -> tuple[list[float], int]:
    chance = Random(7)
    lines = text.split("\n")
    (folder / NAME).write_text(text)
    took = []
    with LanguageClient(folder, environ=dict(os.environ)) as client:
        client.initialize()
        shown = len(client.open(NAME))
        for _ in range(places):
            line = chance.randrange(len(lines))
            at = (line, chance.randint(0, len(lines[line])))
            before = spent(client.process.pid)
            letter = chance.choice(LETTERS)
            client.edit(NAME, at, at, letter)
            client.problems(NAME)
            took.append(spent(client.process.pid) - before)
            end = (line + 1, 0) if letter == "\n" else (line, at[1] + 1)
            client.edit(NAME, at, end, "")
            client.problems(NAME)
        client.leave()
    return sorted(took), shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--places", type=int, default=200)
    given = parser.parse_args()
    print("| plan | shown | median | 95th percentile | worst | aim |\n|---|---|---|---|---|---|")
    for name, line in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "-q", folder], check=True)
            took, shown = measure(Path(folder), a_plan(given.tasks, line), given.places)
        high = took[int(len(took) * 0.95) - 1]
        words = (statistics.median(took), high, took[-1], AIM)
        figures = " | ".join(f"{1000 * one:.1f} ms" for one in words)
        print(f"| {name} | {shown} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
