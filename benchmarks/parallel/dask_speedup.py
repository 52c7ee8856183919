"""What a Dask cluster brings and costs: speed-up, bytes a task, overhead a task.

    python benchmarks/parallel/dask_speedup.py                     all of it, about 5 minutes
    python benchmarks/parallel/dask_speedup.py --seconds 0.5 --workers 1 2 4

Scheduler and workers are processes of this machine, as a person starts them; no sandbox, so that
only the executor is measured. Tasks are checks: they sleep, as an agent waits for its model.

- Speed-up: 64 tasks of `--seconds` on 1, 2, 4, 8, 16 workers, from the first attempt's start to the
  last task's end by the journal, after one run that warms the workers. Efficiency is the bound
  (64 x seconds / workers) divided by that.
- Bytes: what goes to a worker for one task when it has the base, and when it has not.
- Overhead: `--tasks` tasks that run `true`, threads and Dask side by side, two at once; the floor
  is the same number of `/bin/sh -c true` started one after the other by this script.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = 64


@dataclass(frozen=True)
class Ground:
    """A throw-away folder with a home of its own."""

    root: Path

    @property
    def environ(self) -> dict[str, str]:
        home = self.root / "home"
        home.mkdir(exist_ok=True)
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        who = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"}
        who |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in who.items()}
        path = str(Path(__file__).resolve().parents[2])
        kept |= {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
        return kept | who | {"HOME": str(home), "PYTHONPATH": path, "NO_COLOR": "1"}

    def repository(self, name: str, command: str, count: int, *, bytes_: int = 0) -> Path:
        """A repository whose plan has so many checks that run one command."""
        folder = self.root / name
        folder.mkdir()
        (folder / "filler.bin").write_bytes(os.urandom(bytes_))
        (folder / "TASK-GRAPH.md").write_text(
            "# Benchmark\n\n"
            + "".join(
                f"## TASK-{one:04d}: Check {one}\n- Test contracts:\n"
                f"  - TC-{one:04d} (unit): `{command}`\n\n"
                for one in range(count)
            )
        )
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "plan")):
            subprocess.run(["git", *words], cwd=folder, env=self.environ, check=True)
        return folder

    def run(self, folder: Path, *words: str) -> float:
        """Seconds of one `runner run`."""
        began = time.perf_counter()
        said = subprocess.run(
            [
                *(sys.executable, "-m", "runner", "run", "--trust", "-q", "--no-sandbox"),
                *("--no-verify-at-end", *words),
            ],
            cwd=folder,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        if said.returncode:
            raise SystemExit(said.stdout + said.stderr)
        return time.perf_counter() - began


@contextlib.contextmanager
def cluster(ground: Ground, workers: int) -> Iterator[Path]:
    """A scheduler and so many workers; gives the scheduler's file."""
    file = ground.root / "scheduler.json"
    common = {"env": ground.environ, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0")
    started = [
        subprocess.Popen(
            [sys.executable, "-m", *scheduler, "--no-dashboard", "--scheduler-file", str(file)],
            **common,
        )
    ]
    while not file.is_file():
        time.sleep(0.05)
    words = ("distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1")
    for number in range(workers):
        folder = str(ground.root / f"dask-{number}")
        more = ("--no-nanny", "--no-dashboard", "--memory-limit", "0", "--local-directory", folder)
        started.append(subprocess.Popen([sys.executable, "-m", *words, *more], **common))
    try:
        yield file
    finally:
        for process in started:
            process.kill()
            process.wait()


def _events(folder: Path) -> list[dict]:
    lines = (folder / "artifacts/build/journal.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def _span(folder: Path) -> float:
    """Seconds from the first attempt's start to the last task's end."""
    when = {"attempt.started": [], "task.done": []}
    for event in _events(folder):
        if event["type"] in when:
            when[event["type"]].append(datetime.fromisoformat(event["time"]))
    return (max(when["task.done"]) - min(when["attempt.started"])).total_seconds()


def speed_up(ground: Ground, file: Path, given: argparse.Namespace) -> None:
    most = max(given.workers)
    warm = ground.repository("warm", "true", 4 * most)
    ground.run(warm, "--executor", f"dask:{file}", "-j", str(most))
    print(f"{COUNT} tasks of {given.seconds:g} s\n\nworkers   seconds     bound   efficiency")
    for workers in given.workers:
        folder = ground.repository(f"speed-{workers}", f"sleep {given.seconds}", COUNT)
        ground.run(folder, "--executor", f"dask:{file}", "-j", str(workers))
        took, bound = _span(folder), COUNT * given.seconds / workers
        print(f"{workers:7d} {took:9.2f} {bound:9.2f} {bound / took:12.2f}", flush=True)


def sizes(ground: Ground, file: Path) -> None:
    """Bytes of each job, counted where they leave."""
    folder = ground.repository("sizes", "true", 20, bytes_=1_000_000)
    count = (
        "import sys\n"
        "from runner.run.executors.cluster import Cluster\n"
        "begin = Cluster.begin\n"
        "def counted(self, worker, ticket, data):\n"
        "    print(len(data), file=sys.stderr)\n"
        "    return begin(self, worker, ticket, data)\n"
        "Cluster.begin = counted\n"
        "from runner.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    words = ("run", "--trust", "--no-sandbox", "--no-verify-at-end", "-q", "-j", "1", "--executor")
    said = subprocess.run(
        [sys.executable, "-c", count, *words, f"dask:{file}"],
        cwd=folder,
        env=ground.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [int(line) for line in said.stderr.splitlines() if line.isdecimal()]
    print(f"\nbytes a task: {max(found):,} with a base of 1 MB, {found[-1]:,} once it is there")


def overhead(ground: Ground, file: Path, tasks: int) -> None:
    began = time.perf_counter()
    for _ in range(tasks):
        subprocess.run(("/bin/sh", "-c", "true"), check=True)
    floor = (time.perf_counter() - began) / tasks * 1000
    print(f"\n{tasks} tasks that run `true`, two at once; one process: {floor:.1f} ms")
    for name, executor in (("threads", "threads"), ("dask", f"dask:{file}")):
        folder = ground.repository(f"overhead-{name}", "true", tasks)
        ground.run(folder, "--executor", executor, "-j", "2")
        print(f"{name:>8s} {_span(folder) / tasks * 1000:8.1f} ms a task", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--tasks", type=int, default=1000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        ground = Ground(Path(root))
        with cluster(ground, max(given.workers)) as file:
            speed_up(ground, file, given)
            sizes(ground, file)
            overhead(ground, file, given.tasks)


if __name__ == "__main__":
    main()
