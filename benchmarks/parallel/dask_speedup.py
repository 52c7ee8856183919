"""What a Dask cluster brings and costs: speed-up, bytes a task, overhead a task.

    python benchmarks/parallel/dask_speedup.py                     all of it, about 5 minutes
    python benchmarks/parallel/dask_speedup.py --seconds 0.5 --workers 1 2 4
    python benchmarks/parallel/dask_speedup.py --local --workers 16 --repeat 5

Scheduler and workers are processes of this machine, as a person starts them; no sandbox, so that
only the executor is measured. Tasks are checks: they sleep, as an agent waits for its model.

- Speed-up: 64 tasks of `--seconds` on 1, 2, 4, 8, 16 workers, from the first attempt's start to the
  last task's end by the journal, after one run that warms the workers; with `--local` on workers
  that each run starts itself (`--executor dask`). Efficiency is the bound (64 x seconds / workers)
  divided by that, of the median and of the best of `--repeat` runs. On a machine that others use,
  CPU seconds say more: of the run's own process with what it starts (`--local`: workers, too), of
  the cluster, and of everybody else meanwhile.
- Bytes: what goes to a worker for one task when it has the base, and when it has not.
- Overhead: `--tasks` tasks that run `true`, threads and Dask side by side, two at once; the floor
  is the same number of `/bin/sh -c true` started one after the other by this script.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = 64
TICKS = os.sysconf("SC_CLK_TCK")
SPARING = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
}
"""As docs/cluster/README.md says."""


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
        return kept | SPARING | who | {"HOME": str(home), "PYTHONPATH": path, "NO_COLOR": "1"}

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


@dataclass(frozen=True)
class Cluster:
    """A scheduler and its workers, as processes of this one."""

    executor: str
    processes: tuple[subprocess.Popen, ...] = ()

    @property
    def cpu(self) -> float:
        """CPU seconds so far, with those of children that ended."""
        stats = (Path(f"/proc/{one.pid}/stat").read_text() for one in self.processes)
        fields = (stat.rpartition(")")[2].split() for stat in stats)
        return sum(map(int, (tick for one in fields for tick in one[11:15]))) / TICKS


@contextlib.contextmanager
def cluster(ground: Ground, workers: int) -> Iterator[Cluster]:
    """A scheduler and so many workers."""
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
        if started[0].poll() is not None:
            raise SystemExit("dask scheduler does not start: is distributed installed?")
        time.sleep(0.05)
    words = ("distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1")
    for number in range(workers):
        folder = str(ground.root / f"dask-{number}")
        more = ("--no-nanny", "--no-dashboard", "--memory-limit", "0", "--local-directory", folder)
        started.append(subprocess.Popen([sys.executable, "-m", *words, *more], **common))
    try:
        yield Cluster(f"dask:{file}", tuple(started))
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


@dataclass(frozen=True)
class Took:
    """One run: seconds from first start to last end, and CPU seconds of three parties."""

    span: float
    own: float
    cluster: float
    others: float


def _measured(ground: Ground, there: Cluster, folder: Path, workers: int) -> Took:
    before, busy, spent = os.times(), _busy(), there.cpu
    ground.run(folder, "--executor", there.executor, "-j", str(workers))
    _bury()
    after = os.times()
    own = after.children_user + after.children_system
    own -= before.children_user + before.children_system
    spent, busy = there.cpu - spent, _busy() - busy
    return Took(_span(folder), own, spent, max(busy - own - spent, 0.0))


def _adopt() -> None:
    """Be the parent of orphans, so that their CPU seconds count (PR_SET_CHILD_SUBREAPER)."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def _bury() -> None:
    """Fetch orphans that ended; those of a local cluster take a moment."""
    time.sleep(0.5)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _busy() -> float:
    """CPU seconds that the machine has worked (proc(5): user, nice, system; idle left out)."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (sum(map(int, words[1:8])) - int(words[4]) - int(words[5])) / TICKS


def speed_up(ground: Ground, there: Cluster, given: argparse.Namespace) -> None:
    if there.processes:
        most = max(given.workers)
        warm = ground.repository("warm", "true", 4 * most)
        ground.run(warm, "--executor", there.executor, "-j", str(most))
    print(f"{COUNT} tasks of {given.seconds:g} s, {given.repeat} runs each\n")
    print("                           efficiency     CPU seconds (median)")
    print("workers   seconds   bound  median  best   own  cluster  others   load")
    for workers in given.workers:
        runs = []
        for number in range(given.repeat):
            name = f"speed-{workers}-{number}"
            folder = ground.repository(name, f"sleep {given.seconds}", COUNT)
            runs.append(_measured(ground, there, folder, workers))
        bound, middle = COUNT * given.seconds / workers, median(one.span for one in runs)
        print(
            f"{workers:7d} {middle:9.2f} {bound:7.2f} {bound / middle:7.2f} "
            f"{bound / min(one.span for one in runs):5.2f} "
            f"{median(one.own for one in runs):5.1f} {median(one.cluster for one in runs):8.1f} "
            f"{median(one.others for one in runs):7.1f} {os.getloadavg()[0]:6.1f}",
            flush=True,
        )


def sizes(ground: Ground, there: Cluster) -> None:
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
        [sys.executable, "-c", count, *words, there.executor],
        cwd=folder,
        env=ground.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [int(line) for line in said.stderr.splitlines() if line.isdecimal()]
    print(f"\nbytes a task: {max(found):,} with a base of 1 MB, {found[-1]:,} once it is there")


def overhead(ground: Ground, there: Cluster, tasks: int) -> None:
    began = time.perf_counter()
    for _ in range(tasks):
        subprocess.run(("/bin/sh", "-c", "true"), check=True)
    floor = (time.perf_counter() - began) / tasks * 1000
    print(f"\n{tasks} tasks that run `true`, two at once; one process: {floor:.1f} ms")
    for name, executor in (("threads", "threads"), ("dask", there.executor)):
        folder = ground.repository(f"overhead-{name}", "true", tasks)
        ground.run(folder, "--executor", executor, "-j", "2")
        print(f"{name:>8s} {_span(folder) / tasks * 1000:8.1f} ms a task", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--only", choices=("speed", "sizes", "overhead"))
    parser.add_argument("--local", action="store_true", help="each run starts its own workers")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        ground = Ground(Path(root))
        if given.local:
            _adopt()
            speed_up(ground, Cluster("dask"), given)
            return
        with cluster(ground, max(given.workers)) as there:
            if given.only in (None, "speed"):
                speed_up(ground, there, given)
            if given.only in (None, "sizes"):
                sizes(ground, there)
            if given.only in (None, "overhead"):
                overhead(ground, there, given.tasks)


if __name__ == "__main__":
    main()
