"""A real Dask cluster for tests: scheduler and workers as processes that can be hurt."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def until(holds, seconds=90.0, *, what="it"):
    """Wait for something to hold, and give it."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if found := holds():
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come about in {seconds} s")


def alive(pid):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid):
    """Its direct children."""
    with contextlib.suppress(OSError):
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def running(words):
    """Processes whose command line holds these words."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdecimal() and words.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def _start(words, cache, log):
    environ = {name: value for name, value in os.environ.items() if name != "MARK"}
    environ |= {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": f"{ROOT}:{HERE}"}
    with log.open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", *words],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=environ,
            start_new_session=True,
            cwd="/",
        )


@dataclass
class Scheduler:
    """`dask scheduler` on a port of its own."""

    file: Path
    process: subprocess.Popen
    tls: tuple = ()

    @classmethod
    def start(cls, folder, host="127.0.0.1", tls=()):
        file = folder / "scheduler.json"
        words = ("distributed.cli.dask_scheduler", "--host", host, "--port", "0", "--no-dashboard")
        words += ("--scheduler-file", str(file), *tls)
        process = _start(words, folder, folder / "log")
        until(lambda: file.is_file() and file.stat().st_size, what="a scheduler")
        return cls(file, process, tuple(tls))

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    close = kill


@dataclass
class Yard:
    """Workers of one test, each with a cache folder of its own."""

    scheduler: Scheduler
    folder: Path
    workers: list = field(default_factory=list)

    @property
    def executor(self):
        return f"dask:{self.scheduler.file}"

    def worker(self, *, preload="", nanny=False, wait=True):
        """A worker with one thread; `preload` is a module beside this one that spoils it.

        It is waited for with those before it.
        """
        home = self.folder / f"w{len(self.workers)}"
        home.mkdir(parents=True)
        words = ["distributed.cli.dask_worker", "--scheduler-file", str(self.scheduler.file)]
        words += ["--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
        words += ["--local-directory", str(home / "dask"), "--nanny" if nanny else "--no-nanny"]
        words += ["--preload", preload] if preload else []
        words += [word for word in self.scheduler.tls if word not in ("--protocol", "tls")]
        process = _start(words, home / "cache", home / "log")
        self.workers.append((process, home))
        if wait:
            for _, started in self.workers:
                log = started / "log"
                until(lambda log=log: b"Registered to" in log.read_bytes(), what="a worker")
        return process

    def log(self, number):
        return (self.workers[number][1] / "log").read_text("utf-8", "replace")

    def close(self):
        for process, _ in self.workers:
            for pid in (*children(process.pid), process.pid):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.workers.clear()
