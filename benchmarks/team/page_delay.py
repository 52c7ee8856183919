"""How long after a landing somebody who has a team's page open can see it.

    python benchmarks/team/page_delay.py [--tasks 20] [--rounds 3]

A real worker builds a plan of small tasks into a bare repository, a real `runner serve --team`
shows it, and a client follows the page's news as a browser does: at each word of news it asks for
the build anew. The delay is from the moment at which the remote took the commit, as the journal
tells it, to the answer that first has the task DONE. PostgreSQL and SQLite, each on this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "serve"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from run import open_new, start_server
from site_process import Client

from runner.extensions.team.build_queue import BuildOrder, find_build, queue_build, read_build
from runner.extensions.team.event_rows import list_journals, read_lines
from runner.extensions.team.people import Doer, add_person, make_token
from runner.extensions.team.repository_list import Registered, add_repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.extensions.team.store_engine import Store

_TASK = """
## TASK-{number:03}: file {number}

- Status: PENDING
- Output files: `made/{number:03}`
- Proof: none — a measure of time
{needs}
```file=made/{number:03}
{number}
```
"""


def make_repository(folder: Path, tasks: int) -> str:
    """A bare repository whose plan is a chain of tasks that each write one file."""
    place, bare = folder / "mine", folder / "measured.git"
    needs = ["", *(f"- Depends on: TASK-{n:03}\n" for n in range(1, tasks))]
    sections = [_TASK.format(number=n + 1, needs=line) for n, line in enumerate(needs)]
    place.mkdir()
    (place / "TASK-GRAPH.md").write_text("# Measured\n" + "".join(sections))
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (
        ("init", "-q", "-b", "main", str(place)),
        ("-C", str(place), "add", "-A"),
        ("-C", str(place), *author, "commit", "-qm", "plan"),
        ("clone", "-q", "--bare", str(place), str(bare)),
    ):
        subprocess.run(["git", *words], check=True)
    return str(bare)


@contextlib.contextmanager
def running(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    told = {f"XDG_{one}_HOME": str(folder / one.lower()) for one in ("CACHE", "STATE", "CONFIG")}
    told |= {"RUNNER_TEAM_WORKER_FOLDERS": str(folder), "HOME": str(folder)}
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "runner", *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, **told},
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


def follow(client: Client, build: str, seen: dict[str, float], ended: threading.Event) -> None:
    """What a page does: hear that something is new, ask what it is."""
    line = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
    headers = {"Host": client.host, "Cookie": client.cookie, "X-Runner-Secret": client.secret}
    line.request("GET", "/api/v1/events", headers={**headers, "Accept": "text/event-stream"})
    answer = line.getresponse()
    while not ended.is_set():
        if not answer.readline().startswith(b"event: changed"):
            continue
        _, document = client.api(f"/queue/{build}")
        now = time.time()
        for task in document["tasks"]:
            if task["status"] == "DONE":
                seen.setdefault(task["task"], now)
        if document["build"]["state"] in ("COMPLETED", "FAILED", "CANCELLED"):
            ended.set()
    line.close()


def list_landings(store: Store, build: str) -> dict[str, float]:
    """When the remote had taken each task's commit, by the journal of the worker's run."""
    found: dict[str, float] = {}
    with store.read() as connection:
        for journal in list_journals(connection, build):
            for line in read_lines(connection, journal):
                event = json.loads(line)
                if event["type"] == "task.done":
                    found[event["task"]] = datetime.fromisoformat(event["time"]).timestamp()
    return found


def measure(address: str, folder: Path, tasks: int) -> list[float]:
    """Seconds from each landing to the page, in order of size."""
    store = open_new(address)
    doer = Doer("ada@here")
    add_person(store, "viewer", "viewer", doer)
    token, _ = make_token(store, "viewer", doer, label="here")
    asked = Registered("measured", make_repository(folder, tasks), "", "", "", "", "ada@here")
    registered = add_repository(store, asked, os.environ)[0]
    said = address.replace("postgresql+psycopg", "postgresql")
    with running(folder, "serve", "--team", "--store", said) as server:
        assert server.stdout is not None
        client = Client(server.stdout.readline().strip(), folder)
        assert client.enter(token) == http.HTTPStatus.OK
        build = queue_build(store, BuildOrder(registered, "ada@here"))
        seen, ended = {}, threading.Event()
        follower = threading.Thread(target=follow, args=(client, build.short, seen, ended))
        follower.start()
        time.sleep(1)
        with running(folder, "worker", "--trust", "--store", said):
            follower.join(300)
    landed = list_landings(store, build.id)
    state = find_build(store, build.id).state
    assert state == "COMPLETED", (state, read_build(store, build).build.note)
    assert set(landed) == set(seen), (landed, seen)
    store.close()
    return sorted(seen[task] - landed[task] for task in landed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(f"a chain of {given.tasks} tasks, load {os.getloadavg()[0]:.1f}\n")
    print("| store | landings | seen after: median, 90 %, worst s |\n|---|---|---|")
    for _ in range(given.rounds):
        for name in ("PostgreSQL", "SQLite"):
            with tempfile.TemporaryDirectory(prefix="pd") as box, contextlib.ExitStack() as held:
                folder = Path(box) / "team"
                folder.mkdir()
                address = f"sqlite:///{box}/store.sqlite"
                if name == "PostgreSQL":
                    address = held.enter_context(start_server(Path(box)))
                found = measure(address, folder, given.tasks)
            late = found[int(len(found) * 0.9)]
            row = f"{statistics.median(found):.2f}, {late:.2f}, {found[-1]:.2f}"
            print(f"| {name} | {len(found)} | {row} |", flush=True)


if __name__ == "__main__":
    main()
