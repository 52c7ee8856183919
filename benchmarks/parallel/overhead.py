"""What a task costs that does nothing: 1,000 of them, ours beside make, ninja, doit and snakemake.

    python benchmarks/parallel/overhead.py                      1,000 tasks, 3 rounds, 10 minutes
    python benchmarks/parallel/overhead.py --tasks 100 --rounds 1
    python benchmarks/parallel/overhead.py --kept FILE          go on from FILE where it broke off

All work two tasks at a time, on the same graph. The floor is what no tool can go below: `true`
started by a shell, and the same in bubblewrap. "Checks" write nothing, so that a look at their
slot's files is all that their scratch tree costs; "writes" are tasks whose command makes one file:
a scratch tree is read, a commit made, the branch moved, and the file brought into the real tree.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import graphs
from measured import Measured
from place import Place, prepare
from tasks import PROGRAM, RUN

if TYPE_CHECKING:
    from collections.abc import Callable

PEERS = ("make", "ninja", "doit", "snakemake")
WALLS = ("--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "--dev", "/dev")


def writing(tasks: int) -> str:
    """A plan whose tasks make one file each."""
    parts = ["# Benchmark\n"]
    for one in range(1, tasks + 1):
        wanted = ", ".join(f"TASK-{each:06d}" for each in graphs.needs(one)) or "none"
        parts.append(
            f"## TASK-{one:06d}: File {one}\n\n- Depends on: {wanted}\n"
            f"- Output files: `out/{one}.txt`\n"
            f"- Command: sh -c 'mkdir -p out; echo {one} > out/{one}.txt'\n"
        )
    return "\n".join(parts)


def ours(place: Place, plan: Callable[[int], str], tasks: int, *words: str) -> float:
    """Seconds of a run from nothing."""
    with tempfile.TemporaryDirectory(prefix="ours-", dir=place.root) as folder:
        at = Path(folder) / "work"
        at.mkdir()
        (at / "TASK-GRAPH.md").write_text(plan(tasks))
        (at / "runner.toml").write_text("default_gates = false\n")
        for each in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "plan")):
            place.call(("git", *each), at)
        place.forget()
        run = (place.runner, "run", "--trust", "-q", "-j2", "--no-verify-at-end", *words)
        return timed(partial(place.call, run, at))


def peer(place: Place, name: str, tasks: int) -> float:
    """Seconds of a peer from nothing."""
    with tempfile.TemporaryDirectory(prefix="peer-", dir=place.root) as folder:
        at = Path(folder) / "work"
        graphs.write(name, at, tasks)
        return timed(partial(place.call, RUN[name], at))


def floor(tasks: int, *before: str) -> float:
    """Seconds to start `true` so often, two at a time, by this script."""
    words = (*before, "/bin/sh", "-c", "true")

    def start_all() -> None:
        running: list[subprocess.Popen[bytes]] = []
        for _ in range(tasks):
            if len(running) > 1:
                running.pop(0).wait()
            running.append(subprocess.Popen(words))
        for one in running:
            one.wait()

    return timed(start_all)


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def cases(place: Place, tasks: int) -> dict[str, Callable[[], float]]:
    """By name what is measured, in the order of the table."""
    checks, enclosed = partial(ours, place, graphs.plan, tasks), shutil.which("bwrap")
    writes = partial(ours, place, writing, tasks)
    found: dict[str, Callable[[], float]] = {"floor: sh -c true": partial(floor, tasks)}
    if enclosed:
        found["floor: the same in bubblewrap"] = partial(floor, tasks, enclosed, *WALLS)
    found["ours: checks, no sandbox"] = partial(checks, "--no-sandbox")
    if enclosed:
        found["ours: checks, bubblewrap"] = partial(checks, "--sandbox", "bubblewrap")
    found["ours: writes, no sandbox"] = partial(writes, "--no-sandbox")
    if enclosed:
        found["ours: writes, bubblewrap"] = partial(writes, "--sandbox", "bubblewrap")
    for name in PEERS:
        if place.has(PROGRAM.get(name, name)):
            found[name] = partial(peer, place, name, tasks)
    return found


def measure(place: Place, given: argparse.Namespace) -> None:
    kept, said = Measured(given.kept), cases(place, given.tasks)
    print(f"{given.tasks:,} tasks, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    found: dict[str, list[float]] = {name: [] for name in said}
    for number in range(given.rounds):
        for name, act in said.items():
            found[name].append(kept.of(given.tasks, number, name, by=act))
    base = statistics.median(found["floor: sh -c true"])
    print("| what | seconds | ms a task | times the floor |\n|---|---|---|---|")
    for name, times in found.items():
        middle = statistics.median(times)
        each = 1000 * middle / given.tasks
        print(f"| {name} | {middle:.2f} | {each:.2f} | {middle / base:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kept", type=Path, help="a file of what was measured: go on from it")
    parser.add_argument("--place", type=Path, help="a folder to keep and use again")
    parser.add_argument("--no-snakemake", action="store_true", help="it takes a while to install")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        root = given.place.resolve() if given.place else Path(folder)
        measure(prepare(root, snakemake=not given.no_snakemake), given)


if __name__ == "__main__":
    main()
