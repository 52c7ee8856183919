"""Memory of the coordinator: the most it ever holds, by the size of the plan and what it is asked.

    python benchmarks/parallel/memory.py                        10,000 and 100,000 tasks
    python benchmarks/parallel/memory.py --tasks 1000 --run 50  a small one
    python benchmarks/parallel/memory.py --kept FILE            go on from FILE where it broke off

`status` reads the plan and the journal; the dry run plays the whole run through; a run that builds
`--run` tasks of that plan has all of it in memory as a whole run has, and its workers beside it.
The peak is that of the process itself (ru_maxrss), without its children.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import graphs
from measured import Measured
from place import Place, prepare

_INSIDE = """
import resource, sys
from runner.cli import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def a_repository(place: Place, tasks: int) -> Path:
    """One with a plan of so many checks, made once."""
    folder = place.root / f"memory-{tasks}"
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        place.call(("git", "init", "-q"), folder)
        (folder / "TASK-GRAPH.md").write_text(graphs.plan(tasks))
        place.call(("git", "add", "-A"), folder)
        place.call(("git", "commit", "-qm", "plan"), folder)
    return folder


def peak(place: Place, tasks: int, words: tuple[str, ...]) -> float:
    """Megabytes that the process held at most."""
    done = subprocess.run(
        (str(place.python), "-P", "-c", _INSIDE, *words),
        cwd=a_repository(place, tasks),
        env=place.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 3, 5):  # a run of a part of the plan waits for the rest
        sys.exit(f"{' '.join(words)}: {done.stderr[-800:]}")
    return int(done.stderr.split()[-1]) / 1024


def measure(place: Place, given: argparse.Namespace) -> None:
    kept = Measured(given.kept)
    print("| tasks | status, first | status | dry run | a run |\n|---|---|---|---|---|")
    for tasks in given.tasks:
        some = ",".join(f"TASK-{one:06d}" for one in range(1, given.run + 1))
        run = ("run", "--trust", "-q", "--no-sandbox", "--no-verify-at-end", "-j2")
        asked = {
            "first": ("status",),
            "status": ("status",),
            "dry run": ("run", "--dry-run"),
            "run": (*run, *(some.split(",") if given.run else ())),
        }
        row = [
            kept.of(tasks, name, given.run, by=partial(peak, place, tasks, words))
            for name, words in asked.items()
        ]
        print(f"| {tasks:,} | {' | '.join(f'{one:.0f} MB' for one in row)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--run", type=int, default=200, help="tasks that the run builds")
    parser.add_argument("--kept", type=Path, help="a file of what was measured: go on from it")
    parser.add_argument("--place", type=Path, help="a folder to keep and use again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        root = given.place.resolve() if given.place else Path(folder)
        measure(prepare(root, snakemake=False), given)


if __name__ == "__main__":
    main()
