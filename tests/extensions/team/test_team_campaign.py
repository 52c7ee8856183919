"""Faults at random over workers and repositories: every build once, every landing by a valid lease.

A seeded short one runs in the tests; `-k campaign` runs the long one, for CAMPAIGN_SECONDS.
Where there is root, four network namespaces are the hosts, whose networks, disks and clocks fail,
too; where there is none, the table says so under `hosts`, and only what is left is dealt.
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
from hosts import ADDRESS, HAS_CLOCKS, Hosts, find_lack
from store_build import a_server, new_database
from workers import Crew, a_slow_step, a_step, family, let_lapse, wait_until

from runner.errors import RunnerError
from runner.extensions.team.build_queue import list_builds, retry_build
from runner.extensions.team.event_rows import list_journals, read_lines
from runner.extensions.team.repository_list import Registered
from runner.extensions.team.tables import IS_RUNNING

SEED = int(os.environ.get("TEAM_SEED", "7"))
ENDS = {"COMPLETED", "FAILED", "CANCELLED"}
PATIENCE = 900.0


class Chaos:
    """Workers that are killed, stopped, cut off, set back and filled up; a server that stops."""

    def __init__(self, pool, server, seed, workers, hosts=None):
        self.pool, self.server, self.hosts = pool, server, hosts
        self.chance = random.Random(seed)
        self.faults, self.hits = Counter(), Counter()
        self.workers = [None] * workers
        self.asleep, self.ailing = {}, []
        self.address = pool.said
        self.kinds = ["kill", "kill all", "stop", "wake", "wake", "server"]
        if hosts is not None:
            place = Path(server.pgdata) / ".s.PGSQL.5432"
            port = hosts.serve_socket(place)
            database = pool.address.partition("?")[0].rpartition("/")[2]
            self.address = f"postgresql://postgres@{ADDRESS}:{port}/{database}"
            self.kinds = ["kill", "kill all", "stop", "server", "cut", "cut", "disk", "disk"]
            self.kinds += ["clock", "clock"] if HAS_CLOCKS else []

    def begin_missing(self):
        for at, worker in enumerate(self.workers):
            if worker is None or worker.poll() is not None:
                there = self.hosts
                inside = there.prefix(at) if there else ()
                more = there.variables(at) if there else {}
                start = self.pool.start
                self.workers[at] = start(f"w{at}", inside=inside, store=self.address, **more)

    def fault(self):
        """Mostly to one who has a build to lose, half of them those who got far with it.

        `hits` counts these, by the build's state.
        """
        kind, busy = self.chance.choice(self.kinds), self._list_busy()
        at = self.chance.randrange(len(self.workers))
        far = [one for one, state in busy.items() if state != "ANALYZING"]
        if busy and self.chance.random() < 0.8:
            at = self.chance.choice(far if far and self.chance.random() < 0.5 else list(busy))
        if self.workers[at].poll() is None or kind == "server":
            done = self._do(kind, at)
            self.faults[kind] += done
            struck = busy.values() if kind == "server" else filter(None, [busy.get(at)])
            self.hits.update(struck if done else ())

    def _list_busy(self):
        """Workers that live and have a build now, and its state, as the store says."""
        told = []
        with contextlib.suppress(RunnerError), self.pool.store.read() as connection:
            said = "SELECT worker, state FROM builds WHERE "
            told = connection.exec_driver_sql(said + IS_RUNNING).all()
        found = {name.rpartition("/")[2]: state for name, state in told}
        pids = {at: str(one.pid) for at, one in enumerate(self.workers) if one.poll() is None}
        return {at: found[pid] for at, pid in pids.items() if pid in found}

    def _do(self, kind, at):
        """Whether it was done."""
        worker, until = self.workers[at], time.monotonic() + self.chance.uniform(1, 12)
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
                begin_again(self.server)
            case "cut":
                self.hosts.cut(at)
                self.ailing.append((until, lambda: self.hosts.join(at)))
            case "disk":
                self.hosts.fill(at)
                self.ailing.append((until, lambda: self.hosts.empty(at)))
            case "clock":
                self.hosts.set_clock(at, self.chance.choice([-7200, -30, 0, 45, 86_400]))
            case _:
                return False
        return True

    def wake(self, *, every=False):
        """Let those go on that slept for three ttl, and mend what is mended by now."""
        for at, (until, pids) in list(self.asleep.items()):
            if every or time.monotonic() > until:
                send(signal.SIGCONT, reversed(pids))
                del self.asleep[at]
        for one in list(self.ailing):
            if every or time.monotonic() > one[0]:
                one[1]()
                self.ailing.remove(one)


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


def begin_again(server):
    """Have it answer, however long a busy machine takes to recover."""
    until = time.monotonic() + 120
    while True:
        try:
            return server.ensure_postgres_running()
        except (subprocess.SubprocessError, RuntimeError, AssertionError):
            assert time.monotonic() < until, "PostgreSQL does not begin again"
            time.sleep(1)


def states(workers):
    with contextlib.suppress(RunnerError):
        return Counter(one.state for one in list_builds(workers.store, every=True))
    return Counter()


def run_campaign(pool, server, *, repositories, workers, seconds, pace, faults=0, hosts=None):
    """Faults for so long, or so many, then peace until all builds are done; what came of it.

    While there are faults, more is queued where little waits. What was given up since three
    workers in a row were lost is tried again in peace: then it has to be done.
    """
    base = hosts.serve_git(pool.folder) if hosts else ""
    known = [
        pool.repository(f"r{n}", a_step(1), a_slow_step(2, 1, ("TASK-001",)), a_step(3), base=base)
        for n in range(repositories)
    ]
    made = [pool.queue(one) for one in known]
    chaos = Chaos(pool, server, SEED, workers, hosts)
    until = time.monotonic() + seconds
    # On a busy machine so many may all have come to workers that had nothing to do yet.
    while time.monotonic() < until and (
        not faults or chaos.faults.total() < faults or not chaos.hits
    ):
        chaos.begin_missing()
        time.sleep(chaos.chance.random() * pace)
        chaos.fault()
        chaos.wake()
        with contextlib.suppress(RunnerError):
            if count_left(pool, made) < workers:
                made.append(pool.queue(chaos.chance.choice(known)))
    chaos.wake(every=True)
    given_up = await_all(pool, chaos, made)
    for build in given_up:
        retry_build(pool.store, build, "ada@here")
    await_all(pool, chaos, made)
    # Whom the last fault killed was waited for there, and nobody began another in its place.
    alive = [worker for worker in chaos.workers if worker.poll() is None]
    assert {worker.poll() for worker in chaos.workers if worker not in alive} <= {-signal.SIGKILL}
    for worker in alive:
        worker.terminate()
    for worker in alive:
        assert worker.wait(120) == 0
    return made, chaos, len(given_up)


def await_all(workers, chaos, made):
    """Wait until all builds have ended; those that were given up."""
    until = time.monotonic() + PATIENCE
    while count_left(workers, made):
        assert time.monotonic() < until, states(workers)
        chaos.begin_missing()
        time.sleep(0.5)
    return [one for one in map(workers.build, made) if one.state == "FAILED"]


def count_left(workers, made):
    now = states(workers)
    return len(made) - sum(now[one] for one in ENDS)


# --- what has to hold ------------------------------------------------------------------


def count_faulty(workers, made):
    """Builds that were lost, doubled, wedged, or left something dirty; with why, to be shown."""
    found = {name: [] for name in ("lost", "doubled", "wedged", "dirty")}
    found["dirty"] += workers.faults
    for build in made:
        now = workers.build(build)
        landed = workers.landings(now)
        if now.state not in ENDS:
            found["wedged"].append((now.short, now.state))
        if now.state != "COMPLETED" or set(landed) != {"TASK-001", "TASK-002", "TASK-003"}:
            found["lost"].append((now.short, now.state, now.note, landed))
        if (
            len(landed) != len(set(landed))
            or remote(workers, now, "rev-parse", now.branch) != now.head
        ):
            found["doubled"].append((now.short, landed))
        if remote(workers, now, "rev-list", "--merges", now.branch):
            found["dirty"].append((now.short, "its history is not linear"))
        if remote(workers, now, "log", "--format=%s", "main") != "plan":
            found["dirty"].append((now.short, "somebody landed on main"))
    return found


def check(workers, made):
    """Every build once, each landing a told one, linear history, the store as the journals."""
    found = count_faulty(workers, made)
    assert not any(found.values()), found
    for build in made:
        now = workers.build(build)
        assert_landings_were_told(workers, now, workers.landings(now))
        with workers.store.read() as connection:
            for journal in list_journals(connection, build.id):
                assert_copied(workers, build, journal, read_lines(connection, journal))


def remote(workers, build, *words):
    return workers.git(Registered("", build.url, "", "", "", "", ""), *words)


def assert_landings_were_told(workers, build, landed):
    """Each landing in the remote is the one commit that a journal of a claim told before it."""
    form = "--format=%H %(trailers:key=Task,valueonly,separator=%x20)"
    said = remote(workers, build, "log", form, build.branch)
    commits = [line.split()[0] for line in said.splitlines() if len(line.split()) > 1]
    assert len(commits) == len(landed)
    assert set(commits) <= list_told(workers, build), build.short


def list_told(workers, build):
    """Commits of landings that journals told: of its clones, or the store's copy of one that went.

    A clone goes when it is damaged, and its journal is copied before.
    """
    lines = [line for path in clones(workers, build) for line in path.read_bytes().splitlines()]
    with workers.store.read() as connection:
        for journal in list_journals(connection, build.id):
            lines += read_lines(connection, journal)
    told = set()
    for line in lines:
        with contextlib.suppress(ValueError):
            one = json.loads(line)
            if one["type"] == "task.landing":
                told.add(one["commit"])
    return told


def clones(workers, build):
    name = f"state/runner/team/builds/{build.id}*/repository/artifacts/build/journal.jsonl"
    return [path for home in workers.folder.glob("home-*") for path in home.glob(name)]


def assert_copied(workers, build, journal, lines):
    """What the store has of a journal are its first lines, byte for byte."""
    found = [path.read_text("utf-8", "replace") for path in clones(workers, build)]
    mine = [text for text in found if text and json.loads(text.splitlines()[0])["id"] == journal]
    if mine:  # one whose clone was damaged and made anew has left none
        assert mine[0].splitlines()[: len(lines)] == lines, build.short


@pytest.mark.nightly(
    sibling="tests/extensions/team/test_worker_faults.py::test_a_clone_that_is_made_anew_leaves_its_journal_in_the_store"
)
def test_what_landed_is_told_although_its_clone_was_made_anew(workers):
    """By a run that nobody copied from, since its worker was killed: the next one does."""
    build = workers.queue(workers.repository("shop", a_slow_step(1, 3)))
    worker = workers.start("a")
    workers.wait_for(build, "EXECUTING")
    worker.kill()
    worker.wait()
    wait_until(lambda: workers.landings(build))
    let_lapse()
    (journal,) = clones(workers, build)
    (journal.parents[2] / f".git/refs/heads/{build.branch}").write_bytes(b"")
    workers.work("a")
    assert workers.build(build).state == "COMPLETED", workers.log("a")
    (again,) = clones(workers, build)
    assert b'"task.landing"' not in again.read_bytes()
    assert_landings_were_told(workers, build, ["TASK-001"])
    assert workers.faults == []


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


@pytest.fixture
def hosts(own_crew):
    """Hosts on this machine, where it lets us have them; else None."""
    with contextlib.ExitStack() as held:
        yield None if find_lack() else held.enter_context(Hosts(4, own_crew[0].folder))


@pytest.mark.nightly(
    sibling="tests/extensions/team/test_claim.py::test_forty_builds_are_claimed_once_each_by_many_at_once"
)
def test_forty_faults_lose_and_double_nothing(own_crew, hosts):
    workers, server = own_crew
    how = {"repositories": 3, "workers": 4, "seconds": 90, "pace": 1, "faults": 40}
    made, chaos, _ = run_campaign(workers, server, hosts=hosts, **how)
    check(workers, made)
    assert chaos.hits


@pytest.mark.skipif("CAMPAIGN_SECONDS" not in os.environ, reason="a campaign of minutes")
def test_campaign_of_faults_over_workers_and_repositories(own_crew, hosts, capsys):
    pool, server = own_crew
    began = time.monotonic()
    made, chaos, given_up = run_campaign(
        pool,
        server,
        repositories=int(os.environ.get("TEAM_REPOSITORIES", "40")),
        workers=4,
        seconds=float(os.environ["CAMPAIGN_SECONDS"]),
        pace=float(os.environ.get("TEAM_PACE", "2")),
        hosts=hosts,
    )
    claims = sum(pool.build(one).token for one in made)
    found = {name: len(some) for name, some in count_faulty(pool, made).items()}
    lack = find_lack() or ("" if HAS_CLOCKS else "no cc, so no clock jumps")
    table = {"seed": SEED, "hosts": lack or "all", "faults": chaos.faults.total(), **chaos.faults}
    table |= {"struck": chaos.hits, "builds": len(made), "claims": claims}
    table |= {"tried again": given_up, "seconds": round(time.monotonic() - began), **found}
    with capsys.disabled():
        sys.stdout.write(f"\n{json.dumps(table)}\n")
    check(pool, made)
    assert chaos.faults.total(), table
