"""Faults at random over workers and repositories: every build once, every landing by a valid lease.

A seeded short one runs in the tests; `-k campaign` runs the long one, for CAMPAIGN_SECONDS.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from crew import Crew, a_slow_step, a_step, family
from store_build import a_server, new_database

from runner.errors import RunnerError
from runner.team.build_queue import list_builds
from runner.team.event_rows import list_journals, read_lines

SEED = int(os.environ.get("TEAM_SEED", "7"))
ENDS = {"COMPLETED", "FAILED", "CANCELLED"}
PATIENCE = 900.0


class Chaos:
    """Workers that are killed, stopped and begun again, and a server that is stopped at once."""

    def __init__(self, crew, server, seed, workers):
        self.crew, self.server, self.chance = crew, server, random.Random(seed)
        self.faults = Counter()
        self.workers = [None] * workers
        self.asleep = {}

    def begin_missing(self):
        for at, worker in enumerate(self.workers):
            if worker is None or worker.poll() is not None:
                self.workers[at] = self.crew.start(f"w{at}")

    def fault(self):
        kind = self.chance.choice(["kill", "kill all", "stop", "wake", "wake", "server"])
        at = self.chance.randrange(len(self.workers))
        worker = self.workers[at]
        if worker.poll() is not None and kind != "server":
            return
        match kind:
            case "kill":
                worker.kill()
                worker.wait()
            case "kill all":
                send(signal.SIGKILL, family(worker.pid))
                worker.wait()
            case "stop" if at not in self.asleep:
                self.asleep[at] = (time.monotonic() + 6.5, family(worker.pid))
                send(signal.SIGSTOP, self.asleep[at][1])
            case "server" if self.server is not None:
                stop_at_once(self.server)
                time.sleep(self.chance.random())
                self.server.ensure_postgres_running()
            case _:
                return
        self.faults[kind] += 1

    def wake(self, *, every=False):
        """Let those go on that slept for three ttl."""
        for at, (until, pids) in list(self.asleep.items()):
            if every or time.monotonic() > until:
                send(signal.SIGCONT, reversed(pids))
                del self.asleep[at]


def send(number, pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def stop_at_once(server):
    """What `pg_ctl stop -m immediate` sends: no checkpoint, no goodbye."""
    pid = int((Path(server.pgdata) / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGQUIT)
    until = time.monotonic() + 20
    while time.monotonic() < until and Path(f"/proc/{pid}/stat").exists():
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.05)


def states(crew):
    with contextlib.suppress(RunnerError):
        return Counter(one.state for one in list_builds(crew.store, every=True))
    return Counter()


def run_campaign(crew, server, *, repositories, workers, seconds, pace):
    """Faults for so long, then peace until all builds have ended; what came of it."""
    known = [
        crew.repository(f"r{n}", a_step(1), a_slow_step(2, 1, ("TASK-001",)), a_step(3))
        for n in range(repositories)
    ]
    made = [crew.queue(one) for one in known]
    chaos = Chaos(crew, server, SEED, workers)
    until = time.monotonic() + seconds
    while time.monotonic() < until and not_over(crew, made):
        chaos.begin_missing()
        time.sleep(chaos.chance.random() * pace)
        chaos.fault()
        chaos.wake()
    chaos.wake(every=True)
    until = time.monotonic() + PATIENCE
    while not_over(crew, made):
        assert time.monotonic() < until, states(crew)
        chaos.begin_missing()
        time.sleep(0.5)
    # Whom the last fault killed was waited for there, and nobody began another in its place.
    alive = [worker for worker in chaos.workers if worker.poll() is None]
    assert {worker.poll() for worker in chaos.workers if worker not in alive} <= {-signal.SIGKILL}
    for worker in alive:
        worker.terminate()
    for worker in alive:
        assert worker.wait(120) == 0
    return made, chaos.faults


def not_over(crew, made):
    now = states(crew)
    return sum(now[one] for one in ENDS) < len(made)


# --- what has to hold ------------------------------------------------------------------


def check(crew, made):
    """Every build once, each landing a told one, linear history, the store as the journals."""
    assert crew.faults == []
    ended = Counter()
    for build in made:
        now = crew.build(build)
        ended[now.state] += 1
        landed = crew.landings(now)
        assert len(landed) == len(set(landed)), (build.short, landed)
        if now.state == "COMPLETED":
            assert sorted(landed) == ["TASK-001", "TASK-002", "TASK-003"], build.short
            assert remote(now, "rev-parse", now.branch) == now.head
        else:
            assert now.note == "3 workers were lost with it", now
        assert remote(now, "rev-list", "--merges", now.branch) == ""
        assert remote(now, "log", "--format=%s", "main") == "plan"
        assert_landings_were_told(crew, now, landed)
        with crew.store.read() as connection:
            for journal in list_journals(connection, build.id):
                assert_copied(crew, build, journal, read_lines(connection, journal))
    return ended


def remote(build, *words):
    done = subprocess.run(
        ["git", f"--git-dir={build.url}", *words], capture_output=True, check=False
    )
    return done.stdout.decode().strip()


def assert_landings_were_told(crew, build, landed):
    """Each landing in the remote is the one commit that a journal of a claim told before it."""
    told = set()
    for path in clones(crew, build):
        for line in path.read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                one = json.loads(line)
                if one["type"] == "task.landing":
                    told.add(one["commit"])
    form = "--format=%H %(trailers:key=Task,valueonly,separator=%x20)"
    said = remote(build, "log", form, build.branch)
    commits = [line.split()[0] for line in said.splitlines() if len(line.split()) > 1]
    assert len(commits) == len(landed)
    assert set(commits) <= told, build.short


def clones(crew, build):
    name = f"state/runner/team/builds/{build.id}*/repository/artifacts/build/journal.jsonl"
    return [path for home in crew.folder.glob("home-*") for path in home.glob(name)]


def assert_copied(crew, build, journal, lines):
    """What the store has of a journal are its first lines, byte for byte."""
    found = [path.read_text("utf-8", "replace") for path in clones(crew, build)]
    mine = [text for text in found if text and json.loads(text.splitlines()[0])["id"] == journal]
    if mine:  # one whose clone was damaged and made anew has left none
        assert mine[0].splitlines()[: len(lines)] == lines, build.short


@pytest.fixture
def own_crew(tmp_path, alone, monkeypatch):
    """A team whose server nobody else has: it is stopped at once in the middle."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", tempfile.gettempdir())
    with a_server() as server:
        made = Crew(tmp_path, new_database(server))
        try:
            yield made, server
        finally:
            made.close()


def test_a_few_faults_lose_and_double_nothing(own_crew):
    crew, server = own_crew
    made, faults = run_campaign(crew, server, repositories=3, workers=2, seconds=15, pace=3)
    ended = check(crew, made)
    assert sum(ended.values()) == 3
    assert faults


@pytest.mark.skipif("CAMPAIGN_SECONDS" not in os.environ, reason="a campaign of minutes")
def test_campaign_of_faults_over_workers_and_repositories(own_crew, capsys):
    crew, server = own_crew
    made, faults = run_campaign(
        crew,
        server,
        repositories=int(os.environ.get("TEAM_REPOSITORIES", "40")),
        workers=4,
        seconds=float(os.environ["CAMPAIGN_SECONDS"]),
        pace=float(os.environ.get("TEAM_PACE", "6")),
    )
    ended = check(crew, made)
    claims = Counter(crew.build(one).token for one in made)
    table = {"seed": SEED, "faults": faults, "builds": ended, "claims": claims}
    with capsys.disabled():
        sys.stdout.write(f"\n{json.dumps(table)}\n")
    assert sum(faults.values()), table
    assert ended["COMPLETED"] > len(made) // 2
