"""A realistic build beside a plain script that does the same steps, in pairs.

    python benchmarks/realistic/run.py                       30 tasks, 3 rounds, -j 4: 20 minutes
    python benchmarks/realistic/run.py --tasks 12 --rounds 1          3 minutes
    python benchmarks/realistic/run.py --runner-jobs 6       more at once than the script
    python benchmarks/realistic/run.py --small               one DONE beside its commands by hand
    python benchmarks/realistic/run.py --python python3.13   the interpreter of the project
    python benchmarks/realistic/run.py -- --no-verify-at-end          more words for the runner

Prints processor time (of all processes) and clock of the runner as multiples of the script's,
round by round, then the median and the spread. Both use the same environment and the same agents.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import measure
import workload

if TYPE_CHECKING:
    from measure import Took

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
PACKAGES = ("pytest", "coverage")


class Place:
    """A throw-away folder with an environment that has pytest, and a home of its own."""

    def __init__(self, root: Path, python: str = sys.executable) -> None:
        self.root = root
        self.log = root / "log.txt"
        environment = root / "environment"
        if not environment.exists():
            subprocess.run([python, "-m", "venv", environment], check=True)
            pip = (environment / "bin/python", "-m", "pip", "install", "-q", *PACKAGES)
            subprocess.run(pip, check=True)
        (root / "home").mkdir(exist_ok=True)
        (root / "home/.gitconfig").write_text("[user]\nname = A\nemail = a@example.org\n")

    def environ(self, folder: Path) -> dict[str, str]:
        """The environment of both sides; the repository has its packages in `.venv`."""
        return {
            "PATH": f"{folder}/.venv/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.root / "home"),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "PYENV_ROOT": os.environ.get("PYENV_ROOT", ""),  # where `--python` may be from
            "PYTHONDONTWRITEBYTECODE": "",
        }

    def fresh(self, name: str) -> Path:
        """An empty folder for a repository, and no state of an earlier run."""
        for each in ("home/.cache", "home/.local", name):
            shutil.rmtree(self.root / each, ignore_errors=True)
        folder = self.root / name
        folder.mkdir()
        shutil.copytree(self.root / "environment", folder / ".venv", symlinks=True)
        return folder

    def run_runner(self, folder: Path, *words: str) -> Took:
        """Build the plan with this checkout's runner; nothing is set that is not a default."""
        command = (
            sys.executable,
            "-P",
            "-m",
            "runner",
            "run",
            "--trust",
            "--review",
            "off",
            *words,
        )
        environ = {**self.environ(folder), "PYTHONPATH": str(REPOSITORY)}
        return measure.measure(command, folder, environ, self.log)


def pair(place: Place, given: argparse.Namespace, *, script_first: bool) -> tuple[Took, Took]:
    """Both ways of one build: the script's and the runner's."""

    def script() -> Took:
        folder = place.fresh("script")
        workload.make(folder, given.tasks, place.environ(folder))
        words = (sys.executable, str(HERE / "script.py"), str(given.jobs))
        return measure.measure(words, folder, place.environ(folder), place.log)

    def runner() -> Took:
        folder = place.fresh("runner")
        workload.make(folder, given.tasks, place.environ(folder))
        return place.run_runner(folder, "-j", str(given.runner_jobs or given.jobs), *given.words)

    if script_first:
        return script(), runner()
    ours = runner()
    return script(), ours


def small_pair(place: Place, given: argparse.Namespace, *, script_first: bool) -> tuple[Took, Took]:
    """One DONE of a small library, and its test command and its gate by hand on what landed."""
    del script_first  # by hand needs what landed
    folder = place.fresh("small")
    environ = place.environ(folder)
    workload.make_small(folder, environ)
    ours = place.run_runner(folder, *given.words)
    line = f"{workload.SMALL_CONTRACT} && {workload.SMALL_GATE}"
    return measure.measure(("sh", "-c", line), folder, environ, place.log), ours


def compare(place: Place, given: argparse.Namespace) -> None:
    """Measure round after round; prints each pair, then the ratios."""
    measured = small_pair if given.small else pair
    what = "by hand" if given.small else "script"
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print(f"| round | {what}: processor, clock | runner: processor, clock | ratios |")
    print("|---|---|---|---|")
    ratios: list[tuple[float, float]] = []
    for number in range(given.rounds):
        theirs, ours = measured(place, given, script_first=number % 2 == 0)
        ratios.append((ours.processor / theirs.processor, ours.clock / theirs.clock))
        cells = [f"{one.processor:.1f} s, {one.clock:.1f} s" for one in (theirs, ours)]
        cells.append(f"{ratios[-1][0]:.2f} x, {ratios[-1][1]:.2f} x")
        print(f"| {number + 1} | {' | '.join(cells)} |", flush=True)
    for name, found in zip(("processor", "clock"), zip(*ratios, strict=True), strict=True):
        middle = statistics.median(found)
        print(f"\n{name}: {middle:.2f} x ({min(found):.2f} to {max(found):.2f})", end="")
    print()


def main() -> None:
    """Parse the options and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=30, help="1 to 30")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-j", "--jobs", type=int, default=4, help="tasks at once")
    parser.add_argument("--runner-jobs", type=int, help="tasks at once of the runner alone")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the project")
    parser.add_argument("--small", action="store_true", help="one DONE of a small library")
    parser.add_argument("--place", type=Path, help="a folder to keep: its log, the last builds")
    parser.add_argument("words", nargs="*", help="more words for `runner run`, behind --")
    given = parser.parse_args()
    measure.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="realistic-") as folder:
        root = given.place.resolve() if given.place else Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        compare(Place(root, given.python), given)


if __name__ == "__main__":
    main()
