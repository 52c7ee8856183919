"""What the page costs in processor time: its start, a page of 1,000 tasks, 50 who follow.

Each figure is of a real `runner serve` in a process of its own, by `/proc/PID/stat` (all threads,
those that ended too); paired with what it is compared to, in turn, in the same minutes.

    .venv/bin/python benchmarks/serve/run.py [--tasks 1000] [--rounds 7] [--seconds 20]
"""

import argparse
import contextlib
import http.client
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
for room in (".", "serve", "stories"):
    sys.path.insert(0, str(ROOT / "tests" / room))

from site_process import Site
from workplace import Workplace

from runner.journal.events import TaskApproved
from runner.journal.log import Journal

TICK = 1 / os.sysconf("SC_CLK_TCK")
LIBRARIES = (
    "import starlette.applications, starlette.routing, starlette.staticfiles, uvicorn, jinja2"
)
FOLLOWERS = 50
A_SECOND = 20


def spent(pid: int) -> float:
    """Seconds on a processor, in user and kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def take(*words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tell(what: str, values: list[float], aim: float, unit: str = "ms") -> None:
    scale = 1000 if unit == "ms" else 100
    low, middle, high = (
        scale * one for one in (min(values), statistics.median(values), max(values))
    )
    print(f"| {what} | {middle:.0f} {unit} | {low:.0f} … {high:.0f} | {scale * aim:.0f} {unit} |")


def a_plan(count: int) -> str:
    return "# Plan\n\n" + "".join(
        f"## TASK-{n:04d}: Part {n}\n\n- Status: PENDING\n- Type: data\n"
        f"- Depends on: {'none' if n % 10 == 1 else f'TASK-{n - 1:04d}'}\n"
        f"- Output files: `src/part{n}.py`\n"
        f"- Test contracts:\n  - TC-{n:04d} (unit): `python3 -m pytest tests/test_part{n}.py`\n\n"
        for n in range(1, count + 1)
    )


def measure_start(folder: Path, rounds: int) -> None:
    links, firsts, aims = [], [], []
    for _ in range(rounds):
        base = take("-c", "pass")
        aims.append(take("-m", "runner", "version") + take("-c", LIBRARIES) - base + 0.3)
        site = Site(folder)
        links.append(spent(site.process.pid))
        site.enter()
        site.get(f"/b/{site.build}")
        firsts.append(spent(site.process.pid))
        site.close()
    tell("start, until its link is told", links, statistics.median(aims))
    tell("start, the first build's page too", firsts, statistics.median(aims))


def measure_page(site: Site, rounds: int) -> None:
    took = []
    for _ in range(rounds):
        before = spent(site.process.pid)
        for _ in range(10):
            site.get(f"/b/{site.build}")
        took.append((spent(site.process.pid) - before) / 10)
    tell("the page of the plan", took, 0.150)


class Follower(threading.Thread):
    """Reads a stream to its end."""

    def __init__(self, site: Site) -> None:
        super().__init__(daemon=True)
        client = http.client.HTTPConnection("127.0.0.1", site.port, timeout=600)
        headers = {"Cookie": site.cookie, "X-Runner-Secret": site.secret}
        headers["Accept"] = "text/event-stream"
        client.request("GET", f"/api/v1/builds/{site.build}/events", headers=headers)
        self._answer = client.getresponse()
        self.heard = 0

    def run(self) -> None:
        with contextlib.suppress(http.client.IncompleteRead):  # the server ends first
            while piece := self._answer.read1(1 << 16):
                self.heard += piece.count(b"\nevent: ")


def measure_followers(site: Site, journal: Path, rounds: int, seconds: float) -> None:
    followers = [Follower(site) for _ in range(FOLLOWERS)]
    for one in followers:
        one.start()
    time.sleep(3)
    idle, busy = [], []
    with Journal.open(journal) as written:
        for _ in range(rounds):
            before, began = spent(site.process.pid), time.monotonic()
            time.sleep(seconds)
            idle.append((spent(site.process.pid) - before) / (time.monotonic() - began))
            before, began = spent(site.process.pid), time.monotonic()
            while time.monotonic() < began + seconds:
                written.append(TaskApproved(by="person", note="again"), task="TASK-0001")
                time.sleep(1 / A_SECOND)
            busy.append((spent(site.process.pid) - before) / (time.monotonic() - began))
    tell(f"{FOLLOWERS} who follow, nothing happens", idle, 0.05, "% of a core")
    tell(f"{FOLLOWERS} who follow, {A_SECOND} events a second", busy, 0.25, "% of a core")
    heard = {one.heard for one in followers}
    print(f"\nEvery follower heard {min(heard)} to {max(heard)} events.")


def main() -> int:
    """All of it, as a Markdown table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        os.environ |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        os.environ |= {"XDG_STATE_HOME": str(home / "state")}
        os.environ |= {"XDG_CONFIG_HOME": str(home / "config")}
        place = Workplace.begin(Path(folder) / "small", home)
        place.plan("## TASK-0001: One\n- Status: PENDING\n- Command: `true`\n- Proof: none — one\n")
        assert place.run().code == 0
        print("| what | median | spread | aim |\n|---|---|---|---|")
        measure_start(place.root, given.rounds)
        large = Workplace.begin(Path(folder) / "large", home)
        large.commit({"TASK-GRAPH.md": a_plan(given.tasks)})
        site = Site(large.root)
        site.enter()
        measure_page(site, given.rounds)
        site.close()
        site = Site(place.root)
        site.enter()
        journal = place.root / "artifacts" / "build" / "journal.jsonl"
        measure_followers(site, journal, max(2, given.rounds // 2), given.seconds)
        site.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
