"""A team: a store, bare remotes, and workers as processes of their own, as on other machines."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from store_build import a_store
from workplace import NO_PROOF, Workplace, a_task

from runner.extensions.team.build_queue import BuildOrder, find_build, queue_build, read_build
from runner.extensions.team.event_rows import read_lines
from runner.extensions.team.projections import find_faults
from runner.extensions.team.repository_list import Registered, add_repository
from runner.extensions.team.store_engine import open_engine

PATIENCE = 120.0
SETTINGS = {
    "RUNNER_GIT_LEASE_SECONDS": "2",
    "RUNNER_TEAM_WORKER_BEAT": "0.3",
    "RUNNER_TEAM_WORKER_TTL": "2",
    "RUNNER_TEAM_WORKER_POLL": "1",
}


def wait_until(is_so, seconds=PATIENCE):
    until = time.monotonic() + seconds
    while not (said := is_so()):
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.05)
    return said


def let_lapse():
    """Wait until a claim whose worker says nothing more is to be had: `--once` looks only once."""
    time.sleep(float(SETTINGS["RUNNER_TEAM_WORKER_TTL"]) + 0.5)


class Crew:
    """What one test has of a team."""

    def __init__(self, folder, address):
        self.folder, self.address = folder, address
        with a_store(address):
            pass
        self.store = open_engine(address)
        self.workers = []

    # --- repositories and builds ---

    def repository(self, name, *tasks, files=None, base=""):
        """A bare remote with a plan on its main branch, registered by its path, or below `base`."""
        bare = self.folder / f"{name}.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], check=True)
        place = Workplace.begin(self.folder / f"{name}-ada", self.folder)
        place.write(files or {})
        place.plan(*tasks)
        place.git("push", "-q", str(bare), "main")
        url = f"{base}/{name}.git" if base else str(bare)
        asked = Registered(name, url, "", "", "", "", "ada@here")
        return add_repository(self.store, asked, os.environ)[0]

    def queue(self, repository, **fields):
        return queue_build(self.store, BuildOrder(repository, "ada@here", **fields))

    def git(self, repository, *words):
        place = self.folder / Path(repository.url).name  # whatever it is reached by
        done = subprocess.run(
            ["git", f"--git-dir={place}", *words], capture_output=True, check=False
        )
        return done.stdout.decode().strip()

    def landings(self, build):
        """Ids of the tasks that landed on the build's branch in the remote, in that order."""
        repository = Registered("", build.url, "", "", "", "", "")
        said = self.git(
            repository, "log", "--reverse", "--format=%(trailers:key=Task,valueonly)", build.branch
        )
        return [line for line in said.splitlines() if line]

    # --- workers ---

    def start(self, name="w", *words, inside=(), **variables):
        """`runner team worker` with a home of its own, as on another machine."""
        home = self.folder / f"home-{name}"
        told = {f"XDG_{one}_HOME": str(home / one.lower()) for one in ("CACHE", "STATE")}
        told["RUNNER_TEAM_WORKER_FOLDERS"] = str(self.folder)
        log = (self.folder / f"log-{name}").open("ab")
        said = variables.pop("store", self.said)
        worker = subprocess.Popen(
            [*inside, sys.executable, "-m", "runner", "worker", "--trust", "--store", said, *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **SETTINGS, **told, **variables},
        )
        self.workers.append(worker)
        return worker

    @property
    def said(self):
        return self.address.replace("postgresql+psycopg", "postgresql")

    def log(self, name="w"):
        return (self.folder / f"log-{name}").read_text("utf-8", "replace")

    def work(self, name="w", **variables):
        """A worker until nothing waits any more; what it said."""
        worker = self.start(name, "--until-idle", **variables)
        worker.wait(PATIENCE)
        assert worker.returncode == 0, self.log(name)
        return self.log(name)

    def close(self):
        for worker in self.workers:
            if worker.poll() is None:
                for pid in family(worker.pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                worker.wait(10)
        self.store.close()

    # --- what the store says ---

    def build(self, build):
        return find_build(self.store, build.id)

    def kinds(self, build):
        return [one["type"] for one in read_build(self.store, build).events]

    def told(self, build, kind):
        """The last event of a type, as its line says it."""
        with self.store.read() as connection:
            every = [json.loads(line) for line in read_lines(connection, build.id)]
        return [one for one in every if one["type"] == kind][-1]

    def tasks(self, build):
        return {one["task"]: one["status"] for one in read_build(self.store, build).tasks}

    def wait_for(self, build, *states):
        return wait_until(lambda: (one := self.build(build)).state in states and one)

    @property
    def faults(self):
        return list(find_faults(self.store))


def family(pid):
    """A process and all below it, in whatever session."""
    found = [pid]
    for at in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{at}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def a_step(number, command="", needs=(), fields=(NO_PROOF,)):
    """A task that writes one file, by its block, or by a command."""
    id_, path = f"TASK-{number:03}", f"made/{number:03}"
    if command:
        return a_task(id_, needs=needs, outputs=(path,), command=command, fields=fields)
    return a_task(id_, needs=needs, blocks={path: f"{number}\n"}, fields=fields)


def a_slow_step(number, seconds, needs=()):
    path = f"made/{number:03}"
    line = f"sleep {seconds} && mkdir -p made && echo {number} > {path}"
    return a_step(number, line, needs)


def journal_of(home, build):
    (path,) = home.glob(
        f"state/runner/team/builds/{build.id}*/repository/artifacts/build/journal.jsonl"
    )
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
