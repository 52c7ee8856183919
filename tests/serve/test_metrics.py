"""`/metrics`: a scraper with its own token reads what `runner stats` says, and nobody else does."""

import asyncio
import importlib.util
import math
import os
import stat
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from prometheus_client.parser import text_string_to_metric_families
from site_plans import GREET, NOTE, journal
from starlette.requests import Request

from runner import effects
from runner.errors import RunnerError
from runner.extensions.telemetry.metrics import Folder, Metrics, TeamFigures
from runner.journal.events import AttemptFinished, TaskBlocked
from runner.journal.log import Journal
from runner.model import Ending, Finding
from runner.serve.builds import Build, Builds
from runner.serve.listener import read_token

NEVER = """\
## TASK-003: Never
- Status: PENDING
- Output files: `never.txt`
- Test contracts:
  - TC-001 (unit): `test -f never-ever.txt`

```text file=never.txt
no
```
"""


@pytest.fixture
def token(workplace):
    """As a person makes it."""
    said = workplace.runner("serve", "--metrics-token")
    assert said.code == 0
    return said.out.strip()


def scrape(site, token, **headers):
    said = {"Authorization": f"Bearer {token}", **headers}
    status, told, body = site.ask("GET", "/metrics", **said)
    assert status == 200, body
    assert told["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert told["cache-control"] == "no-store"
    return read(body)


def scrape_the_store(site, token):
    """A busy machine takes longer than a scrape waits for: the next one asks the same count."""
    for _ in range(20):
        found = scrape(site, token)
        if found[None, "runner_store_up"]:
            break
    return found


def read(body):
    """Values by name and labels, without those of a build that name it."""
    found = {}
    for family in text_string_to_metric_families(body.decode()):
        for one in family.samples:
            labels = {k: v for k, v in one.labels.items() if k not in ("build", "folder")}
            key = (one.labels.get("build"), one.name, *labels.values())
            assert key not in found, "a scraper refuses a series that comes twice"
            found[key] = one.value
    return found


def rows(found, name, build):
    """A figure's values by its label, those that are not 0."""
    return {
        key[-1]: value
        for key, value in found.items()
        if key[:2] == (build, f"runner_{name}") and value
    }


def test_the_figures_are_those_of_stats_and_go_on_with_the_journal(workplace, serve, token):
    workplace.plan(GREET, NOTE, NEVER)
    site = serve()
    build = site.build
    before = scrape(site, token)
    assert rows(before, "tasks", build) == {"pending": 3}
    assert rows(before, "builds_total", build) == {}
    assert workplace.run().code == 1
    for runs in (1, 2):
        found = scrape(site, token)
        said = workplace.runner("stats", "--json").document
        assert rows(found, "builds_total", build) == said["builds"]
        assert rows(found, "tasks", build) == said["tasks"]
        assert rows(found, "attempts_total", build) == said["attempts"]
        assert rows(found, "attempt_failures_total", build) == said["failures"]["byClass"]
        assert rows(found, "attempt_refusals_total", build) == said["failures"]["byCheck"]
        assert rows(found, "tasks_blocked_total", build) == said["failures"]["blockedBy"]
        assert rows(found, "person_waiting", build) == said["waiting"]
        assert found[build, "runner_recoveries_total"] == said["recoveries"]
        assert found[build, "runner_journal_readable"] == 1
        assert found[build, "runner_journal_unread_bytes"] == 0
        assert sum(said["builds"].values()) == runs
        assert workplace.runner("retry", "TASK-003").code == 1  # a run of its own
    workplace.plan(GREET)  # by hand: the journal does not know it yet
    assert rows(scrape(site, token), "tasks", build) == {"pending": 1}


def test_only_the_token_opens_it_and_only_by_its_own_name(site, workplace):
    assert site.ask("GET", "/metrics", Authorization="Bearer ")[0] == 401  # there is none yet
    token = workplace.runner("serve", "--metrics-token").out.strip()
    assert workplace.runner("serve", "--metrics-token").out.strip() == token
    (file,) = workplace.home.rglob("metrics-token")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert scrape(site, token)
    page = {"Cookie": site.cookie, "X_Runner_Secret": site.secret}
    for headers, right in (
        ({}, 401),
        (page, 401),
        ({"Authorization": f"Bearer {site.secret}", **page}, 401),
        ({"Authorization": token}, 401),
        ({"Authorization": f"Basic {token}"}, 401),
        ({"Authorization": f"Bearer {token[:-1]}"}, 401),
        ({"Authorization": f"Bearer {token}", "Host": "evil.example"}, 421),
        ({"Authorization": f"Bearer {token}", "Host": None}, 400),
        ({"Authorization": f"Bearer {token}", "Origin": "http://evil.example"}, 403),
        ({"Authorization": f"Bearer {token}", "Sec_Fetch_Site": "cross-site"}, 403),
    ):
        status, told, body = site.ask("GET", "/metrics", **headers)
        assert status == right, headers
        assert b"runner_" not in body
        assert right != 401 or told["www-authenticate"] == "Bearer"
    twice = (
        f"GET /metrics HTTP/1.1\r\nHost: {site.host}\r\n" + 2 * f"Authorization: Bearer {token}\r\n"
    )
    assert site.raw(twice.encode() + b"\r\n").startswith(b"HTTP/1.1 401")
    assert site.ask("GET", "/", Authorization=f"Bearer {token}")[0] == 401  # it opens nothing else
    assert site.ask("POST", "/metrics", b"{}", Authorization=f"Bearer {token}", Origin=site.origin,
                    Content_Type="application/json")[0] == 405  # fmt: skip
    file.unlink()
    assert site.ask("GET", "/metrics", Authorization=f"Bearer {token}")[0] == 401


def test_hostile_names_are_labels_and_nothing_more(workplace, serve, token):
    workplace.plan(GREET)
    other = os.fsencode(workplace.root.parent) + b'/a"b\\c {x="\x1b[31m\xff'
    subprocess.run(["git", "init", "-q", other], check=True)
    with Journal.open(workplace.root / "artifacts/build/journal.jsonl") as written:
        for name in ['x"} 1\nrunner_up{y="', "\x1b[2J\u202e", "", "z" * 5000, *map(str, range(80))]:
            finding = Finding(f"{name}:x", "m")
            failed = AttemptFinished(
                ending=Ending.FAILED, tree="c" * 40, seconds=1.0, findings=(finding,)
            )
            written.append(failed, task="TASK-001", attempt=1)
        written.append(TaskBlocked(reason="checks", note="no"), task="TASK-001", attempt=1)
    site = serve("--also", os.fsdecode(other))
    found = scrape(site, token)
    assert not any(name == "runner_up" for _, name, *_ in found)
    refused = rows(found, "attempt_refusals_total", site.build)
    assert len(refused) == 51
    assert sum(refused.values()) == 84
    assert refused["other"] == 34
    assert not any("\x1b" in one or "\n" in one or len(one) > 100 for one in refused)
    readable = [value for key, value in found.items() if key[1] == "runner_journal_readable"]
    assert readable == [1, 1]


def test_one_that_cannot_be_read_hides_no_other(workplace, serve, token):
    workplace.plan(GREET)
    assert workplace.run().code == 0
    site = serve()
    assert rows(scrape(site, token), "builds_total", site.build) == {"done": 1}
    journal = workplace.root / "artifacts/build/journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b"not of ours\n\n")
    found = scrape(site, token)
    assert found[site.build, "runner_journal_readable"] == 0
    assert rows(found, "builds_total", site.build) == {}
    journal.unlink()
    journal.write_bytes(whole)
    assert rows(scrape(site, token), "builds_total", site.build) == {"done": 1}


def test_the_queue_is_told_where_a_store_is_there(workplace, serve, token):
    from runner.extensions.team.build_queue import BuildOrder, queue_build
    from runner.extensions.team.repository_list import Registered
    from runner.extensions.team.store_engine import find_address, open_store

    workplace.plan(GREET)
    site = serve()
    assert not any(key[1] == "runner_store_up" for key in scrape(site, token))
    workplace.runner("store", "init")
    with open_store(find_address(workplace.home / "state/runner", "")) as store:
        shop = Registered("shop", "git@forge.example:shop.git", "main", "", "", "", "")
        queue_build(store, BuildOrder(shop, "ada"))
    found = scrape_the_store(site, token)
    assert found[None, "runner_store_up"] == 1
    assert {key[2]: value for key, value in found.items() if key[1] == "runner_queue_builds"} == {
        "PENDING": 1, "WAITS": 0, "ANALYZING": 0, "PLANNING": 0, "EXECUTING": 0, "VERIFYING": 0,
    }  # fmt: skip
    assert not any(key[1] == "runner_budget_dollars" for key in found)
    spend_some(find_address(workplace.home / "state/runner", ""))
    found = scrape_the_store(site, token)
    assert [
        found[None, "runner_budget_dollars", part, ""]
        for part in ("bound", "spent", "given", "left")
    ] == [20.0, 1.25, 2.0, 16.75]
    (workplace.home / "state/runner/team/store.sqlite").write_bytes(b"no store at all" * 100)
    found = scrape(site, token)
    assert found[None, "runner_store_up"] == 0
    assert found[site.build, "runner_journal_readable"] == 1


def spend_some(address):
    """Have a budget of which one claim spent a part, and another goes on with its share."""
    from runner.extensions.team.build_claim import Claimer, claim_build, finish_build
    from runner.extensions.team.build_queue import BuildOrder, queue_build
    from runner.extensions.team.repository_list import Registered
    from runner.extensions.team.store_engine import open_store
    from runner.extensions.team.team_budget import Bound, Share, set_bound

    with open_store(address) as store:
        queue_build(store, BuildOrder(Registered("shop", "/x", "main", "", "", "", ""), "ada"))
        set_bound(store, Bound("", 20.0, share=2.0))
        one = claim_build(store, Claimer("w", "here"))
        assert claim_build(store, Claimer("v", "here")) is not None
        finish_build(store, one, "COMPLETED", "", "", Share(2.0, 1.25))


def ask(metrics, token):
    headers = [(b"authorization", f"Bearer {token}".encode())]
    return asyncio.run(metrics.answer(Request({"type": "http", "headers": headers})))


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    file = tmp_path / "token"
    file.write_text("t" * 40)
    metrics = Metrics(Builds([]), file, TeamFigures)
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == "prometheus_client" else real(name),
    )
    said = ask(metrics, "t" * 40)
    assert (said.status_code, b"task-graph-runner[telemetry]" in said.body) == (501, True)
    assert ask(metrics, "u" * 40).status_code == 401


def test_a_folder_that_is_gone_and_a_store_that_is_away_leave_the_rest(tmp_path, alone):
    def away():
        raise RunnerError("the store does not answer")

    file = tmp_path / "token"
    file.write_text("t" * 40)
    metrics = Metrics(Builds([Build("gone", tmp_path / "gone", {})]), file, away)
    found = read(ask(metrics, "t" * 40).body)
    assert found == {("gone", "runner_journal_readable"): 0, (None, "runner_store_up"): 0}


def test_a_long_journal_is_read_by_and_by_and_its_tasks_are_counted_last(workplace):
    workplace.plan(GREET)
    assert workplace.run().code == 0
    folder = Folder(Build("b", workplace.root, os.environ))
    scrapes = 0
    while not scrapes or folder.running.unread:
        folder.look(0.0)  # it is past: a record each time
        scrapes += 1
        assert folder.is_readable
        assert not folder.tasks
    assert scrapes == len(journal(workplace))
    assert folder.builds == {"done": 1}
    folder.look(math.inf)
    assert folder.tasks == {"done proven": 1}
    folder.tasks_cost = 1.0  # dear: what moved waits for its time
    workplace.plan(GREET)
    folder.look(math.inf)
    assert folder.tasks == {"done proven": 1}
    folder.tasks_until = 0.0
    folder.look(math.inf)
    assert folder.tasks == {"pending": 1}


def test_two_who_ask_for_the_token_at_once_are_told_the_same(tmp_path, monkeypatch):
    both, write_file = threading.Barrier(2), effects.write_file

    def together(*words, **more):
        with suppress(threading.BrokenBarrierError):
            both.wait(1)
        write_file(*words, **more)

    monkeypatch.setattr(effects, "write_file", together)
    file = tmp_path / "serve/metrics-token"
    with ThreadPoolExecutor(2) as pool:
        told = set(pool.map(read_token, [file, file]))
    assert told == {file.read_text().strip()}
