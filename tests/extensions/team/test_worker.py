"""Real workers, real remotes, both real stores."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from workers import PATIENCE, a_slow_step, a_step, family, journal_of, let_lapse, wait_until
from workplace import NO_PROOF, Workplace, a_task

from runner.extensions.team import tables
from runner.extensions.team.build_clone import trim_clones
from runner.extensions.team.build_queue import answer_build, cancel_build, read_build, retry_build
from runner.extensions.team.projections import rebuild

MOMENT = 1.0 if os.environ.get("MOMENTS") else 5.0
"""Seconds that an answer may take: a busy machine is no mistake of the product."""


def test_a_worker_builds_what_is_queued(workers, each_store):
    shop = workers.repository("shop", a_step(1), a_step(2, needs=("TASK-001",)))
    build = workers.queue(shop)
    said = workers.work()
    done = workers.build(build)
    assert (done.state, done.note) == ("COMPLETED", ""), said
    assert workers.landings(build) == ["TASK-001", "TASK-002"]
    assert done.head == workers.git(shop, "rev-parse", build.branch)
    assert workers.git(shop, "log", "--format=%s", "main") == "plan"
    assert workers.git(shop, "for-each-ref", "refs/runner") == ""
    assert workers.tasks(build) == {"TASK-001": "DONE", "TASK-002": "DONE"}
    own = [
        one["type"] for one in read_build(workers.store, build).events if one["journal"] == build.id
    ]
    assert own == [
        "build.queued",
        "build.claimed",
        "clone.started",
        "clone.completed",
        "push.started",
        "push.completed",
        "analysis.started",
        "analysis.completed",
        "branch.created",
        "verification.started",
        "build.completed",
    ]
    assert workers.faults == []


@pytest.mark.nightly(
    sibling="tests/extensions/team/test_claim.py::test_forty_builds_are_claimed_once_each_by_many_at_once"
)
def test_two_workers_build_one_build_once(workers):
    shop = workers.repository("shop", a_slow_step(1, 1), a_step(2, needs=("TASK-001",)))
    build = workers.queue(shop)
    pair = [workers.start(name, "--until-idle") for name in ("a", "b")]
    assert workers.wait_for(build, "COMPLETED").token == 1
    assert [one.wait(PATIENCE) for one in pair] == [0, 0]
    assert workers.landings(build) == ["TASK-001", "TASK-002"]
    assert workers.faults == []


@pytest.mark.nightly(
    sibling="tests/extensions/team/test_claim.py::test_a_build_with_which_three_workers_were_lost_has_failed"
)
def test_a_worker_that_is_killed_loses_no_build_and_nothing_is_built_again(workers):
    witness = workers.folder / "witness"
    shop = workers.repository("shop", a_step(1), a_slow_step(2, 4, needs=("TASK-001",)))
    build = workers.queue(shop)
    first = workers.start("a")
    wait_until(lambda: workers.landings(build) == ["TASK-001"])
    for pid in family(first.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    let_lapse()
    second = workers.start("b", "--once")
    assert second.wait(PATIENCE) == 0, workers.log("b")
    done = workers.build(build)
    assert (done.state, done.token) == ("COMPLETED", 2), workers.log("b")
    assert workers.landings(build) == ["TASK-001", "TASK-002"]
    attempts = [
        one["task"]
        for one in journal_of(workers.folder / "home-b", build)
        if one["type"] == "attempt.started"
    ]
    assert attempts == ["TASK-002"]
    assert not witness.exists()
    assert workers.faults == []


def test_a_run_that_its_worker_left_behind_is_ended_by_the_next_worker_there(workers):
    shop = workers.repository("shop", a_slow_step(1, 6), a_step(2, needs=("TASK-001",)))
    build = workers.queue(shop)
    first = workers.start("a")
    workers.wait_for(build, "EXECUTING")
    first.kill()
    let_lapse()
    assert workers.start("a", "--once").wait(PATIENCE) == 0, workers.log("a")
    assert workers.build(build).state == "COMPLETED", workers.log("a")
    assert workers.landings(build) == ["TASK-001", "TASK-002"]
    assert workers.faults == []


@pytest.mark.nightly(
    sibling="tests/extensions/team/test_claim.py::test_who_was_given_up_writes_nothing_any_more"
)
def test_who_slept_past_the_ttl_lands_nothing_and_says_so(workers, each_store):
    shop = workers.repository("shop", a_slow_step(1, 3), a_step(2, needs=("TASK-001",)))
    build = workers.queue(shop)
    first = workers.start("a", "--once")
    workers.wait_for(build, "EXECUTING")
    asleep = family(first.pid)
    send_to_sleep(workers, asleep)
    let_lapse()
    assert workers.start("b", "--once").wait(PATIENCE) == 0, workers.log("b")
    done = workers.build(build)
    assert (done.state, done.token) == ("COMPLETED", 2), workers.log("b")
    tip = workers.git(shop, "rev-parse", build.branch)
    before = read_build(workers.store, build)
    for pid in reversed(asleep):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    assert first.wait(PATIENCE) == 0
    assert "was taken over by another worker" in workers.log("a")
    assert workers.git(shop, "rev-parse", build.branch) == tip
    assert workers.landings(build) == ["TASK-001", "TASK-002"]
    assert read_build(workers.store, build) == before
    assert workers.faults == []


def send_to_sleep(workers, pids):
    """Stop them, not in the middle of a write: that would hold SQLite's lock for all."""
    while True:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        if not workers.store.is_sqlite:
            return
        with (
            contextlib.closing(sqlite3.connect(workers.store.engine.url.database, 1.0)) as file,
            contextlib.suppress(sqlite3.OperationalError),
        ):
            file.execute("BEGIN IMMEDIATE")
            return
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.1)


def test_sigterm_hands_the_build_back_and_ends_with_zero(workers):
    shop = workers.repository("shop", a_step(1), a_slow_step(2, 30, needs=("TASK-001",)))
    build = workers.queue(shop)
    first = workers.start("a")
    wait_until(lambda: workers.landings(build) == ["TASK-001"])
    first.terminate()
    assert first.wait(PATIENCE) == 0, workers.log("a")
    back = workers.build(build)
    assert (back.state, back.attempts, back.note) == ("PENDING", 0, "its worker was stopped")
    assert workers.git(shop, "for-each-ref", "refs/runner") == ""
    assert workers.faults == []


def test_cancel_from_anywhere_ends_a_build_that_goes_on(workers, each_store):
    shop = workers.repository("shop", a_step(1), a_slow_step(2, 60, needs=("TASK-001",)))
    build = workers.queue(shop)
    worker = workers.start("w", "--once")
    wait_until(lambda: workers.landings(build) == ["TASK-001"])
    workers.wait_for(build, "EXECUTING")  # the remote knows of a landing before the store does
    assert cancel_build(workers.store, build, "eve") == "EXECUTING"
    assert worker.wait(PATIENCE) == 0
    ended = read_build(workers.store, build)
    assert (ended.build.state, ended.build.note) == ("CANCELLED", "cancelled by eve")
    assert workers.landings(build) == ["TASK-001"]
    assert workers.git(shop, "for-each-ref", "refs/runner") == ""
    assert workers.faults == []


def test_a_build_that_takes_too_long_has_failed_and_its_owner_is_told(workers):
    told = workers.folder / "told"
    shop = workers.repository("shop", a_slow_step(1, 60))
    build = workers.queue(shop, timeout=4.0)
    workers.work(RUNNER_NOTIFY_COMMAND=f"cat >> {told}")
    assert workers.build(build).note == "it exceeded its limit of 4 s"
    (line,) = map(json.loads, told.read_text().splitlines())
    assert (line["state"], line["by"], line["build"]) == ("FAILED", "ada@here", build.short)
    assert workers.faults == []


def test_a_build_that_is_blocked_has_failed_and_is_tried_again(workers):
    line = f"test -e {workers.folder}/ready && mkdir -p made && echo 1 > made/001"
    shop = workers.repository("shop", a_step(1, line), a_step(2))
    build = workers.queue(shop)
    told = {"RUNNER_SANDBOX_READ": str(workers.folder), "RUNNER_BUILD_ATTEMPTS": "1"}
    workers.work(**told)
    failed = workers.build(build)
    assert failed.state == "FAILED"
    assert failed.note.startswith("TASK-001: ")
    (workers.folder / "ready").touch()
    retry_build(workers.store, failed, "ada")
    said = workers.work(**told)
    assert workers.build(build).state == "COMPLETED", said
    assert sorted(workers.landings(build)) == ["TASK-001", "TASK-002"]
    assert workers.faults == []


def test_an_answer_reaches_a_run_that_goes_on_within_a_second(workers, each_store):
    shop = workers.repository(
        "shop", a_step(1, fields=(NO_PROOF, "Review: prompt")), a_slow_step(2, 8)
    )
    build = workers.queue(shop)
    workers.start(
        "w",
        "--once",
        RUNNER_TEAM_WORKER_POLL="60",
        RUNNER_TEAM_WORKER_BEAT="10",
        RUNNER_TEAM_WORKER_TTL="30",
    )
    wait_until(lambda: "task.blocked" in workers.kinds(build))
    given = time.time()
    answer_build(workers.store, workers.build(build), ("approve", "TASK-001", ""), "eve")
    (answer,) = wait_until(
        lambda: [one for one in read_build(workers.store, build).answers if one["taken"]]
    )
    assert answer["outcome"] == "TASK-001 approved"
    journal = journal_of(workers.folder / "home-w", build)
    said = [one for one in journal if one["producer"].endswith("via queue by eve")]
    assert [one["type"] for one in said] == ["write.reviewed", "task.approved"]
    word = said[-1]
    assert datetime.fromisoformat(word["time"]).timestamp() - given < MOMENT
    done = workers.wait_for(build, "COMPLETED", "FAILED")
    assert (done.state, done.token) == ("COMPLETED", 1), workers.log()
    assert workers.landings(build) == ["TASK-002", "TASK-001"]
    assert workers.faults == []


def test_a_damaged_copy_of_a_repository_is_made_anew(workers):
    shop = workers.repository("shop", a_step(1))
    first = workers.queue(shop)
    workers.work("w")
    (mirror,) = (workers.folder / "home-w/cache/runner/team/repositories").glob("*.git")
    for path in mirror.rglob("objects/pack/*.pack"):
        path.chmod(0o600)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(bytes(data))
    second = workers.queue(shop)
    said = workers.work("w")
    assert [workers.build(one).state for one in (first, second)] == ["COMPLETED"] * 2, said
    assert workers.faults == []


def test_what_cannot_be_cloned_or_built_has_failed_with_words(workers):
    gone = workers.repository("gone", a_step(1))
    planless = workers.repository("planless", a_step(1))
    ada = Workplace(workers.folder / "planless-ada", workers.folder)
    ada.git("mv", "TASK-GRAPH.md", "PLAN.md")
    ada.commit()
    ada.git("push", "-q", planless.url, "main")
    evil = workers.repository("evil", a_task("TASK-001", outputs=("../../x",), command="true"))
    shutil.rmtree(gone.url)
    builds = [workers.queue(one) for one in (gone, planless, evil)]
    said = workers.work()
    states = [workers.build(one) for one in builds]
    assert [one.state for one in states] == ["FAILED"] * 3, said
    assert "does not answer" in states[0].note
    assert "TASK-GRAPH.md not found" in states[1].note
    assert "../../x" in states[2].note
    assert not any("\n" in one.note for one in states)  # a list has one line for it
    assert workers.faults == []


def test_a_row_that_names_a_program_runs_nothing(workers):
    shop = workers.repository("shop", a_step(1))
    witness = workers.folder / "witness"
    builds = []
    for values in (
        {"url": f"ext::sh -c 'touch {witness}'"},
        {"url": f"--upload-pack=touch {witness}"},
        {"base": f"--upload-pack=touch {witness}"},
        {"branch": "--force"},
        {"plan": "../../../etc/passwd"},
        {"credential": "X; touch witness"},
        {"url": "https://127.0.0.1:9/a.git", "credential": "HOME"},
        {"tasks": '["--no-sandbox"]'},
    ):
        build = workers.queue(shop)
        with workers.store.write() as connection:
            connection.execute(
                tables.builds.update().where(tables.builds.c.id == build.id).values(**values)
            )
        builds.append(build)
    said = workers.work()
    assert [workers.build(one).state for one in builds] == ["FAILED"] * len(builds), said
    assert not witness.exists()
    assert "your settings do not allow sending HOME to 127.0.0.1:9" in workers.build(builds[6]).note
    assert workers.faults == []


def test_a_worker_needs_a_word_of_trust_a_sandbox_and_a_store(workers, workplace):
    without = workplace.runner("worker", "--store", workers.said)
    assert (without.code, "--trust" in without.err) == (3, True)
    none = workers.start("w", "--once", RUNNER_SANDBOX_KIND="none")
    assert none.wait(PATIENCE) == 2
    assert "a worker needs a sandbox" in workers.log()
    hasty = workers.start("hasty", "--once", RUNNER_TEAM_WORKER_BEAT="3")
    assert hasty.wait(PATIENCE) == 2
    assert "is less than twice team.worker_beat" in workers.log("hasty")
    lost = workers.start("lost", "--once", store=f"sqlite:///{workers.folder / 'nowhere'}")
    assert lost.wait(PATIENCE) == 2
    assert "the store does not exist yet" in workers.log("lost")


def test_commands_of_a_build_see_no_secret_of_the_worker(workers):
    word = "x" * 20
    line = f"mkdir -p made && env | cut -d= -f1 > made/001; env | grep -c {word} >> made/001; true"
    shop = workers.repository("shop", a_step(1, line))
    build = workers.queue(shop)
    said = workers.work(SHOP_TOKEN=word, RUNNER_TEAM_STORE=f"postgresql://ada:{word}@nowhere/team")
    assert workers.build(build).state == "COMPLETED", said
    seen = workers.git(shop, "show", f"{build.branch}:made/001")
    assert "PATH" in seen.splitlines()
    assert "SHOP_TOKEN" not in seen
    assert seen.splitlines()[-1] == "0"


DRAFT = """\
~~~~markdown draft
## TASK-008: Say hello

- Output files: `hello.txt`
- Test contracts:
  - TC-008 (unit): `grep -q hello hello.txt`

Write it plainly.
~~~~

~~~~asked
- hello: TASK-008
~~~~
"""
PROGRAM = """\
import os
from pathlib import Path
if os.environ.get("RUNNER_MODE") == "draft":
    print({draft!r})
else:
    Path("hello.txt").write_text("hello")
"""


def let_draft(workers):
    """Have the workers' own settings name a program that drafts, and builds."""
    program = workers.folder / "program" / "program.py"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(draft=DRAFT))
    mine = Path(os.environ["XDG_CONFIG_HOME"]) / "runner/runner.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text(f'build.command = "python3 {program}"\nsandbox.read = ["{program.parent}"]\n')


def test_wishes_in_words_are_drafted_wait_for_a_person_and_are_built(workers):
    """Also where there is no plan yet."""
    let_draft(workers)
    shop, planless = (workers.repository(name, a_step(1)) for name in ("shop", "planless"))
    place = Workplace(workers.folder / "planless-ada", workers.folder)
    place.git("rm", "-q", "TASK-GRAPH.md")
    place.git("commit", "-q", "-m", "no plan")
    place.git("push", "-q", planless.url, "main")
    builds = [workers.queue(one, wish="say hello to everybody") for one in (shop, planless)]
    said = workers.work()
    for build in builds:
        waiting = workers.build(build)
        assert (waiting.state, waiting.waits) == ("PENDING", "DRAFT-1"), said
        assert workers.landings(build) == []
        answer_build(workers.store, waiting, ("approve", "DRAFT-1", ""), "eve")
    said = workers.work()
    for build, landed in zip(builds, (["TASK-001", "TASK-008"], ["TASK-008"]), strict=True):
        done = read_build(workers.store, build)
        assert done.build.state == "COMPLETED", said
        assert done.answers[0]["outcome"] == "DRAFT-1 approved"
        assert sorted(workers.landings(build)) == landed
    assert workers.git(shop, "show", f"{builds[0].branch}:hello.txt") == "hello"
    assert workers.git(shop, "log", "--format=%s", "main") == "plan"
    assert workers.faults == []


def test_the_plan_of_a_project_in_a_subfolder_is_built_and_told_of(workers):
    shop = workers.repository("shop", a_step(1))
    place = Workplace(workers.folder / "shop-ada", workers.folder)
    (place.root / "app").mkdir()
    place.git("mv", "TASK-GRAPH.md", "app/TASK-GRAPH.md")
    place.git("commit", "-q", "-m", "moved")
    place.git("push", "-q", shop.url, "main")
    build = workers.queue(replace(shop, plan="app/TASK-GRAPH.md"))
    said = workers.work()
    assert workers.build(build).state == "COMPLETED", said
    assert workers.git(shop, "show", f"{build.branch}:app/made/001") == "1"
    assert workers.tasks(build) == {"TASK-001": "DONE"}
    assert "branch.created" in workers.kinds(build)
    assert "task.landed" in workers.kinds(build)
    again = rebuild(workers.store)
    assert (again.unreached, again.events > 0) == ((), True)
    assert workers.faults == []


def test_clones_of_builds_that_are_over_go_the_oldest_first_but_none_with_work_of_its_own(workers):
    shop = workers.repository("shop", a_step(1))
    made = [workers.queue(shop) for _ in range(2)]
    workers.work()
    home = workers.folder / "home-w/state/runner/team/builds"
    assert {one.name for one in home.iterdir()} == {one.id for one in made}
    first = home / made[0].id / "repository"
    (first / "note.txt").write_text("of a person")
    more = workers.queue(shop)
    said = workers.work(RUNNER_TEAM_WORKER_CACHE="1")
    assert {one.name for one in home.iterdir()} == {made[0].id}
    assert said.count("removed its clone; its work is saved") == 2
    assert workers.build(more).state == "COMPLETED"
    Workplace(first, workers.folder).commit(message="a person's")
    trim_clones(workers.store, home, 0, os.environ)
    assert {one.name for one in home.iterdir()} == {made[0].id}
    assert workers.faults == []


def test_a_worker_without_held_out_files_builds_all_else_and_the_queue_names_them(workers):
    tests = "tests/test_1.py"
    listed = f"Held-out files:\n  - `{tests}` sha256:{'0' * 64}"
    proof = f"Test contracts:\n  - TC-001 (unit, held out): `python3 -m pytest -q {tests}`"
    shop = workers.repository("shop", a_step(1, fields=(proof, listed)), a_step(2))
    build = workers.queue(shop)
    workers.work()
    assert workers.landings(build) == ["TASK-002"]
    assert workers.build(build).state == "PENDING"
    assert f"TASK-001: held-out {tests} is not on this machine" in workers.build(build).waits
    shown = [sys.executable, "-m", "runner", "team", "queue", "show", build.short, "--store"]
    said = subprocess.run([*shown, workers.said], check=True, capture_output=True, text=True).stdout
    assert f"TASK-001: held-out {tests} is not on this machine" in said
