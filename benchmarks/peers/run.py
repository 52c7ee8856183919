"""Ours beside make, ninja, doit, go-task and snakemake: the same graphs in the same minute.

    python benchmarks/peers/run.py                      everything but the largest sizes
    python benchmarks/peers/run.py --quick              what `make bench` runs
    python benchmarks/peers/run.py --full               100,000 tasks and 50,000 files, too
    python benchmarks/peers/run.py --only plans         aims, tasks, plans, landings or journal
    python benchmarks/peers/run.py --place build/peers  keep the folder, and use it again

The peers come from PyPI into a virtual environment that is thrown away; so does a copy of ours, as
a person would install it. Nothing in the person's home is read or written.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from pathlib import Path

import aims
import inside
import tasks
from place import prepare

CASES = ("aims", "tasks", "plans", "landings", "journal")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few repeats, no snakemake")
    parser.add_argument("--full", action="store_true", help="the largest sizes, too")
    parser.add_argument("--only", choices=CASES, help="one of the five groups")
    parser.add_argument("--place", type=Path, help="a folder to keep and use again")
    given = parser.parse_args()
    chosen = (given.only,) if given.only else CASES
    if given.place:
        measure(given.place.resolve(), chosen, quick=given.quick, full=given.full)
    else:
        with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
            measure(Path(folder), chosen, quick=given.quick, full=given.full)


def measure(root: Path, chosen: tuple[str, ...], *, quick: bool, full: bool) -> None:
    """The groups of cases that were chosen, one after the other."""
    place = prepare(root, snakemake="tasks" in chosen and not quick)
    print(f"{os.cpu_count()} cores, {platform.system()}, CPython {platform.python_version()}")
    if "aims" in chosen:
        aims.main(place, quick=quick, full=full)
    if "tasks" in chosen:
        tasks.main(place, quick=quick)
    if "plans" in chosen:
        inside.plans(place, (100, 1_000, 10_000, *((100_000,) if full else ())), 1 if quick else 3)
    if "landings" in chosen:
        inside.landings(place, (50, 5_000, *((50_000,) if full else ())), 1 if quick else 3)
    if "journal" in chosen:
        inside.journal(place, 1 if quick else 3)


if __name__ == "__main__":
    main()
