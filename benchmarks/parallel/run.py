"""Makespan against the bound, ours beside make, doit and go-task on the same random graphs.

    python benchmarks/parallel/run.py                            5 graphs, 2, 4, 8 and 16 at once
    python benchmarks/parallel/run.py --graphs 50                what the aim is about
    python benchmarks/parallel/run.py --seconds 20 --jobs 4      longer tasks, one width
    python benchmarks/parallel/run.py --graphs 50 --kept FILE    go on from FILE where it broke off

Each task sleeps, as an agent waits for its model. Durations are log-normal (sigma 1), scaled so
that the work of a graph is `--seconds` times the jobs; the bound is max(longest path, work / N).
No tool is told the durations but ours, which has them from its journal: each graph is built once
before, unmeasured, then every task is set to PENDING again. `--cold` leaves that out.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from measured import Measured
from place import Place, prepare

TASKS, LAYERS = 100, 8


@dataclass(frozen=True)
class Graph:
    """Tasks from 0 with what each needs and how long it sleeps."""

    needs: tuple[tuple[int, ...], ...]
    seconds: tuple[float, ...]

    def bound(self, jobs: int) -> float:
        """No order is quicker: the longest path, or all work divided by the jobs."""
        ends: list[float] = []
        for needs, lasts in zip(self.needs, self.seconds, strict=True):
            ends.append(lasts + max((ends[one] for one in needs), default=0.0))
        return max(*ends, sum(self.seconds) / jobs)


def a_graph(seed: int, work: float) -> Graph:
    """A random layered graph: each task needs one to three of the layers before."""
    rng = random.Random(seed)
    layers = sorted(rng.randrange(LAYERS) for _ in range(TASKS))
    needs = []
    for layer in layers:
        before = [one for one in range(len(needs)) if layers[one] < layer]
        needs.append(tuple(sorted(rng.sample(before, min(len(before), rng.randint(1, 3))))))
    raw = [rng.lognormvariate(0.0, 1.0) for _ in range(TASKS)]
    scale = work / sum(raw)
    return Graph(tuple(needs), tuple(round(one * scale, 3) for one in raw))


# --- the same graph for every tool --------------------------------------------------------


def _plan(graph: Graph) -> str:
    parts = ["# Benchmark\n"]
    for one, (needs, lasts) in enumerate(zip(graph.needs, graph.seconds, strict=True)):
        wanted = ", ".join(f"TASK-{need:03d}" for need in needs) or "none"
        parts.append(
            f"## TASK-{one:03d}: Check {one}\n\n- Depends on: {wanted}\n"
            f"- Test contracts:\n  - TC-{one:03d} (unit): `sleep {lasts}`\n"
        )
    return "\n".join(parts)


def _makefile(graph: Graph) -> str:
    lines = [f".PHONY: {' '.join(f't{one}' for one in range(TASKS))}"]
    lines.append(f"all: {' '.join(f't{one}' for one in range(TASKS))}")
    for one, (needs, lasts) in enumerate(zip(graph.needs, graph.seconds, strict=True)):
        lines.append(f"t{one}: {' '.join(f't{need}' for need in needs)}\n\t@sleep {lasts}")
    return "\n".join(lines) + "\n"


def _dodo(graph: Graph) -> str:
    return (
        f"NEEDS = {graph.needs!r}\nSECONDS = {graph.seconds!r}\n\n\ndef task_t():\n"
        "    for one, needs in enumerate(NEEDS):\n"
        "        yield {'name': str(one), 'actions': [['sleep', str(SECONDS[one])]],\n"
        "               'task_dep': [f't:{need}' for need in needs]}\n"
    )


def _taskfile(graph: Graph) -> str:
    lines = ["version: '3'", "run: once", "silent: true", "tasks:", "  all:", "    deps:"]
    lines += [f"      - t{one}" for one in range(TASKS)]
    for one, (needs, lasts) in enumerate(zip(graph.needs, graph.seconds, strict=True)):
        lines += [f"  t{one}:", f"    cmds: ['sleep {lasts}']"]
        lines += [f"    deps: {[f't{need}' for need in needs]}"] if needs else []
    return "\n".join(lines) + "\n"


PEERS = {
    "make": ("Makefile", _makefile, ("make", "-j{n}", "all")),
    "doit": ("dodo.py", _dodo, ("doit", "-n", "{n}", "-v0")),
    "go-task": ("Taskfile.yml", _taskfile, ("task", "-C", "{n}", "all")),
}


# --- measuring ----------------------------------------------------------------------------


def ours(place: Place, folder: Path, graph: Graph, jobs: int, *, cold: bool) -> float:
    """Seconds of `runner run` on a plan of checks whose past durations are known."""
    folder.mkdir(parents=True)
    place.call(("git", "init", "-q", "-b", "main"), folder)
    (folder / "TASK-GRAPH.md").write_text(_plan(graph))
    place.call(("git", "add", "-A"), folder)
    place.call(("git", "commit", "-qm", "plan"), folder)
    words = (place.runner, "run", "--trust", "-q", "--no-verify-at-end", "--no-sandbox", "-j")
    if not cold:
        place.call((*words, "64"), folder)
        plan = folder / "TASK-GRAPH.md"
        plan.write_text(plan.read_text().replace("Status: DONE", "Status: PENDING"))
        place.call(("git", "commit", "-qam", "again"), folder)
    return _timed(place, (*words, str(jobs)), folder)


def peer(place: Place, folder: Path, name: str, graph: Graph, jobs: int) -> float:
    file, text, words = PEERS[name]
    folder.mkdir(parents=True)
    (folder / file).write_text(text(graph))
    return _timed(place, tuple(word.format(n=jobs) for word in words), folder)


def once(place: Place, graph: Graph, jobs: int, name: str, *, cold: bool) -> float:
    """Seconds of one tool on one graph, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="graph-", dir=place.root) as folder:
        at = Path(folder) / "work"
        if name == "ours":
            return ours(place, at, graph, jobs, cold=cold)
        return peer(place, at, name, graph, jobs)


def _timed(place: Place, words: tuple[str, ...], folder: Path) -> float:
    began = time.perf_counter()
    place.call(words, folder)
    return time.perf_counter() - began


def measure(place: Place, given: argparse.Namespace) -> None:
    kept = Measured(given.kept)
    names = ["ours", *(name for name in PEERS if place.has(PEERS[name][2][0]))]
    print(f"{given.graphs} graphs of {TASKS} tasks, load {os.getloadavg()[0]:.1f} at the start\n")
    print("| at once | tool | median | worst | bound, median |\n|---|---|---|---|---|")
    for jobs in given.jobs:
        ratios: dict[str, list[float]] = {name: [] for name in names}
        bounds = []
        for seed in range(given.graphs):
            graph = a_graph(seed, given.seconds * jobs)
            bounds.append(graph.bound(jobs))
            for name in names:
                act = partial(once, place, graph, jobs, name, cold=given.cold)
                known = "cold" if given.cold else "warm"
                took = kept.of(given.seconds, known, jobs, seed, name, by=act)
                ratios[name].append(took / bounds[-1])
        for name, found in ratios.items():
            middle = statistics.median(bounds)
            row = (f"{statistics.median(found):.3f}", f"{max(found):.3f}", f"{middle:.1f} s")
            print(f"| {jobs} | {name} | {' | '.join(row)} |", flush=True)
    print(f"\nload {os.getloadavg()[0]:.1f} at the end")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--graphs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="work / N of each graph")
    parser.add_argument("--jobs", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--cold", action="store_true", help="ours knows no durations either")
    parser.add_argument("--kept", type=Path, help="a file of what was measured: go on from it")
    parser.add_argument("--place", type=Path, help="a folder to keep and use again")
    given = parser.parse_args()
    if given.place:
        measure(prepare(given.place.resolve(), snakemake=False), given)
        return
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        measure(prepare(Path(folder), snakemake=False), given)


if __name__ == "__main__":
    main()
