"""Real workers, real remotes, both real stores."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from crew import PATIENCE, a_slow_step, a_step, family, journal_of, let_lapse, wait_until
from workplace import NO_PROOF, Workplace, a_task

from runner.team import tables
from runner.team.build_queue import answer_build, cancel_build, look_into, retry_build
from runner.team.projections import rebuild

MOMENT = 1.0 if os.environ.get("MOMENTS") else 5.0
"""Seconds that an answer may take: a busy machine is no mistake of the product."""


def test_a_worker_builds_what_is_queued(crew):
    shop = crew.repository("shop", a_step(1), a_step(2, needs=("TASK-001",)))
    build = crew.queue(shop)
    said = crew.work()
    done = crew.build(build)
    assert (done.state, done.note) == ("COMPLETED", ""), said
    assert crew.landings(build) == ["TASK-001", "TASK-002"]
    assert done.head == crew.git(shop, "rev-parse", build.branch)
    assert crew.git(shop, "log", "--format=%s", "main") == "plan"
    assert crew.git(shop, "for-each-ref", "refs/runner") == ""
    assert crew.tasks(build) == {"TASK-001": "DONE", "TASK-002": "DONE"}
    own = [one["type"] for one in look_into(crew.store, build).events if one["journal"] == build.id]
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
    assert crew.faults == []


def test_two_workers_build_one_build_once(crew):
    shop = crew.repository("shop", a_slow_step(1, 1), a_step(2, needs=("TASK-001",)))
    build = crew.queue(shop)
    pair = [crew.start(name, "--until-idle") for name in ("a", "b")]
    assert crew.wait_for(build, "COMPLETED").token == 1
    assert [one.wait(PATIENCE) for one in pair] == [0, 0]
    assert crew.landings(build) == ["TASK-001", "TASK-002"]
    assert crew.faults == []


def test_a_worker_that_is_killed_loses_no_build_and_nothing_is_built_again(crew):
    witness = crew.folder / "witness"
    shop = crew.repository("shop", a_step(1), a_slow_step(2, 4, needs=("TASK-001",)))
    build = crew.queue(shop)
    first = crew.start("a")
    wait_until(lambda: crew.landings(build) == ["TASK-001"])
    for pid in family(first.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    let_lapse()
    second = crew.start("b", "--once")
    assert second.wait(PATIENCE) == 0, crew.log("b")
    done = crew.build(build)
    assert (done.state, done.token) == ("COMPLETED", 2), crew.log("b")
    assert crew.landings(build) == ["TASK-001", "TASK-002"]
    attempts = [
        one["task"]
        for one in journal_of(crew.folder / "home-b", build)
        if one["type"] == "attempt.started"
    ]
    assert attempts == ["TASK-002"]
    assert not witness.exists()
    assert crew.faults == []


def test_a_run_that_its_worker_left_behind_is_ended_by_the_next_worker_there(crew):
    shop = crew.repository("shop", a_slow_step(1, 6), a_step(2, needs=("TASK-001",)))
    build = crew.queue(shop)
    first = crew.start("a")
    crew.wait_for(build, "EXECUTING")
    first.kill()
    let_lapse()
    assert crew.start("a", "--once").wait(PATIENCE) == 0, crew.log("a")
    assert crew.build(build).state == "COMPLETED", crew.log("a")
    assert crew.landings(build) == ["TASK-001", "TASK-002"]
    assert crew.faults == []


def test_who_slept_past_the_ttl_lands_nothing_and_says_so(crew):
    shop = crew.repository("shop", a_slow_step(1, 3), a_step(2, needs=("TASK-001",)))
    build = crew.queue(shop)
    first = crew.start("a", "--once")
    crew.wait_for(build, "EXECUTING")
    asleep = family(first.pid)
    send_to_sleep(crew, asleep)
    let_lapse()
    assert crew.start("b", "--once").wait(PATIENCE) == 0, crew.log("b")
    done = crew.build(build)
    assert (done.state, done.token) == ("COMPLETED", 2), crew.log("b")
    tip = crew.git(shop, "rev-parse", build.branch)
    before = look_into(crew.store, build)
    for pid in reversed(asleep):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    assert first.wait(PATIENCE) == 0
    assert "was handed on to another worker" in crew.log("a")
    assert crew.git(shop, "rev-parse", build.branch) == tip
    assert crew.landings(build) == ["TASK-001", "TASK-002"]
    assert look_into(crew.store, build) == before
    assert crew.faults == []


def send_to_sleep(crew, pids):
    """Stop them, not in the middle of a write: that would hold SQLite's lock for all."""
    while True:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        if not crew.store.is_sqlite:
            return
        with (
            contextlib.closing(sqlite3.connect(crew.store.engine.url.database, 1.0)) as file,
            contextlib.suppress(sqlite3.OperationalError),
        ):
            file.execute("BEGIN IMMEDIATE")
            return
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.1)


def test_sigterm_hands_the_build_back_and_ends_with_zero(crew):
    shop = crew.repository("shop", a_step(1), a_slow_step(2, 30, needs=("TASK-001",)))
    build = crew.queue(shop)
    first = crew.start("a")
    wait_until(lambda: crew.landings(build) == ["TASK-001"])
    first.terminate()
    assert first.wait(PATIENCE) == 0, crew.log("a")
    back = crew.build(build)
    assert (back.state, back.attempts, back.note) == ("PENDING", 0, "its worker was ended")
    assert crew.git(shop, "for-each-ref", "refs/runner") == ""
    assert crew.faults == []


def test_cancel_from_anywhere_ends_a_build_that_goes_on(crew):
    shop = crew.repository("shop", a_step(1), a_slow_step(2, 60, needs=("TASK-001",)))
    build = crew.queue(shop)
    worker = crew.start("w", "--once")
    wait_until(lambda: crew.landings(build) == ["TASK-001"])
    crew.wait_for(build, "EXECUTING")  # the remote knows of a landing before the store does
    assert cancel_build(crew.store, build, "eve") == "EXECUTING"
    assert worker.wait(PATIENCE) == 0
    ended = look_into(crew.store, build)
    assert (ended.build.state, ended.build.note) == ("CANCELLED", "cancelled by eve")
    assert crew.landings(build) == ["TASK-001"]
    assert crew.git(shop, "for-each-ref", "refs/runner") == ""
    assert crew.faults == []


def test_a_build_that_takes_too_long_has_failed_and_its_owner_is_told(crew):
    told = crew.folder / "told"
    shop = crew.repository("shop", a_slow_step(1, 60))
    build = crew.queue(shop, timeout=4.0)
    crew.work(RUNNER_NOTIFY_COMMAND=f"cat >> {told}")
    assert crew.build(build).note == "it took longer than its 4 s"
    (line,) = map(json.loads, told.read_text().splitlines())
    assert (line["state"], line["by"], line["build"]) == ("FAILED", "ada@here", build.short)
    assert crew.faults == []


def test_a_build_that_is_blocked_has_failed_and_is_tried_again(crew):
    line = f"test -e {crew.folder}/ready && mkdir -p made && echo 1 > made/001"
    shop = crew.repository("shop", a_step(1, line), a_step(2))
    build = crew.queue(shop)
    told = {"RUNNER_SANDBOX_READ": str(crew.folder), "RUNNER_ATTEMPTS": "1"}
    crew.work(**told)
    failed = crew.build(build)
    assert failed.state == "FAILED"
    assert failed.note.startswith("TASK-001: ")
    (crew.folder / "ready").touch()
    retry_build(crew.store, failed, "ada")
    said = crew.work(**told)
    assert crew.build(build).state == "COMPLETED", said
    assert sorted(crew.landings(build)) == ["TASK-001", "TASK-002"]
    assert crew.faults == []


def test_what_waits_is_answered_from_elsewhere_and_goes_on(crew):
    shop = crew.repository("shop", a_step(1, fields=(NO_PROOF, "Review: prompt")), a_step(2))
    build = crew.queue(shop)
    crew.work()
    waiting = crew.build(build)
    assert (waiting.state, waiting.waits) == ("PENDING", "TASK-001"), crew.log()
    assert crew.landings(build) == ["TASK-002"]
    answer_build(crew.store, waiting, ("approve", "TASK-001", ""), "eve")
    said = crew.work()
    done = look_into(crew.store, build)
    assert done.build.state == "COMPLETED", said
    assert [one["outcome"] for one in done.answers] == ["TASK-001 approved"]
    assert sorted(crew.landings(build)) == ["TASK-001", "TASK-002"]
    assert crew.faults == []


def test_an_answer_reaches_a_run_that_goes_on_within_a_second(crew):
    shop = crew.repository(
        "shop", a_step(1, fields=(NO_PROOF, "Review: prompt")), a_slow_step(2, 8)
    )
    build = crew.queue(shop)
    crew.start(
        "w", "--once", RUNNER_WORKER_POLL="60", RUNNER_WORKER_BEAT="10", RUNNER_WORKER_TTL="30"
    )
    wait_until(lambda: "task.blocked" in crew.kinds(build))
    given = time.time()
    answer_build(crew.store, crew.build(build), ("approve", "TASK-001", ""), "eve")
    (answer,) = wait_until(
        lambda: [one for one in look_into(crew.store, build).answers if one["taken"]]
    )
    assert answer["outcome"] == "TASK-001 approved"
    journal = journal_of(crew.folder / "home-w", build)
    said = [one for one in journal if one["producer"].endswith("via queue by eve")]
    assert [one["type"] for one in said] == ["write.reviewed", "task.approved"]
    word = said[-1]
    assert datetime.fromisoformat(word["time"]).timestamp() - given < MOMENT
    done = crew.wait_for(build, "COMPLETED", "FAILED")
    assert (done.state, done.token) == ("COMPLETED", 1), crew.log()
    assert crew.landings(build) == ["TASK-002", "TASK-001"]
    assert crew.faults == []


def test_a_damaged_copy_of_a_repository_is_made_anew(crew):
    shop = crew.repository("shop", a_step(1))
    first = crew.queue(shop)
    crew.work("w")
    (mirror,) = (crew.folder / "home-w/cache/runner/team/repositories").glob("*.git")
    for path in mirror.rglob("objects/pack/*.pack"):
        path.chmod(0o600)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(bytes(data))
    second = crew.queue(shop)
    said = crew.work("w")
    assert [crew.build(one).state for one in (first, second)] == ["COMPLETED"] * 2, said
    assert crew.faults == []


def test_what_cannot_be_cloned_or_built_has_failed_with_words(crew):
    gone = crew.repository("gone", a_step(1))
    planless = crew.repository("planless", a_step(1))
    ada = Workplace(crew.folder / "planless-ada", crew.folder)
    ada.git("mv", "TASK-GRAPH.md", "PLAN.md")
    ada.commit()
    ada.git("push", "-q", planless.url, "main")
    evil = crew.repository("evil", a_task("TASK-001", outputs=("../../x",), command="true"))
    shutil.rmtree(gone.url)
    builds = [crew.queue(one) for one in (gone, planless, evil)]
    said = crew.work()
    states = [crew.build(one) for one in builds]
    assert [one.state for one in states] == ["FAILED"] * 3, said
    assert "does not answer" in states[0].note
    assert "there is no TASK-GRAPH.md here" in states[1].note
    assert "../../x" in states[2].note
    assert not any("\n" in one.note for one in states)  # a list has one line for it
    assert crew.faults == []


def test_a_row_that_names_a_program_runs_nothing(crew):
    shop = crew.repository("shop", a_step(1))
    witness = crew.folder / "witness"
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
        build = crew.queue(shop)
        with crew.store.write() as connection:
            connection.execute(
                tables.builds.update().where(tables.builds.c.id == build.id).values(**values)
            )
        builds.append(build)
    said = crew.work()
    assert [crew.build(one).state for one in builds] == ["FAILED"] * len(builds), said
    assert not witness.exists()
    assert "HOME may not be told to 127.0.0.1:9 from here" in crew.build(builds[6]).note
    assert crew.faults == []


def test_a_worker_needs_a_word_of_trust_and_a_sandbox(crew, workplace):
    without = workplace.runner("worker", "--store", crew.said)
    assert (without.code, "--trust" in without.err) == (3, True)
    none = crew.start("w", "--once", RUNNER_SANDBOX="none")
    assert none.wait(PATIENCE) == 2
    assert "in a sandbox or not at all" in crew.log()
    hasty = crew.start("hasty", "--once", RUNNER_WORKER_BEAT="3")
    assert hasty.wait(PATIENCE) == 2
    assert "is less than two of worker_beat" in crew.log("hasty")


def test_a_store_that_is_away_at_the_start_is_told(crew, tmp_path):
    crew.address = f"sqlite:///{tmp_path / 'nowhere'}"
    worker = crew.start("w", "--once")
    assert worker.wait(PATIENCE) == 2
    assert "no store yet" in crew.log()


def test_commands_of_a_build_see_no_secret_of_the_worker(crew):
    word = "x" * 20
    line = f"mkdir -p made && env | cut -d= -f1 > made/001; env | grep -c {word} >> made/001; true"
    shop = crew.repository("shop", a_step(1, line))
    build = crew.queue(shop)
    said = crew.work(SHOP_TOKEN=word, RUNNER_STORE=f"postgresql://ada:{word}@nowhere/team")
    assert crew.build(build).state == "COMPLETED", said
    seen = crew.git(shop, "show", f"{build.branch}:made/001")
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


def let_draft(crew):
    """Have the workers' own settings name a program that drafts, and builds."""
    program = crew.folder / "program" / "program.py"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(draft=DRAFT))
    mine = Path(os.environ["XDG_CONFIG_HOME"]) / "runner/runner.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text(f'command = "python3 {program}"\nsandbox_read = ["{program.parent}"]\n')


def test_a_wish_in_words_is_drafted_waits_for_a_person_and_is_built(crew):
    let_draft(crew)
    shop = crew.repository("shop", a_step(1))
    build = crew.queue(shop, wish="say hello to everybody")
    said = crew.work()
    waiting = crew.build(build)
    assert (waiting.state, waiting.waits) == ("PENDING", "DRAFT-1"), said
    assert crew.landings(build) == []
    answer_build(crew.store, waiting, ("approve", "DRAFT-1", ""), "eve")
    said = crew.work()
    done = look_into(crew.store, build)
    assert done.build.state == "COMPLETED", said
    assert done.answers[0]["outcome"] == "DRAFT-1 approved"
    assert sorted(crew.landings(build)) == ["TASK-001", "TASK-008"]
    assert crew.git(shop, "show", f"{build.branch}:hello.txt") == "hello"
    assert crew.git(shop, "log", "--format=%s", "main") == "plan"
    assert crew.faults == []


def test_a_wish_for_a_repository_without_a_plan_waits_for_a_person_and_is_built(crew):
    let_draft(crew)
    shop = crew.repository("shop", a_step(1))
    place = Workplace(crew.folder / "shop-ada", crew.folder)
    place.git("rm", "-q", "TASK-GRAPH.md")
    place.git("commit", "-q", "-m", "no plan")
    place.git("push", "-q", shop.url, "main")
    build = crew.queue(shop, wish="say hello to everybody")
    said = crew.work()
    waiting = crew.build(build)
    assert (waiting.state, waiting.waits) == ("PENDING", "DRAFT-1"), said
    answer_build(crew.store, waiting, ("approve", "DRAFT-1", ""), "eve")
    said = crew.work()
    assert crew.build(build).state == "COMPLETED", said
    assert crew.landings(build) == ["TASK-008"]
    assert crew.faults == []


def test_the_plan_of_a_project_in_a_subfolder_is_built_and_told_of(crew):
    shop = crew.repository("shop", a_step(1))
    place = Workplace(crew.folder / "shop-ada", crew.folder)
    (place.root / "app").mkdir()
    place.git("mv", "TASK-GRAPH.md", "app/TASK-GRAPH.md")
    place.git("commit", "-q", "-m", "moved")
    place.git("push", "-q", shop.url, "main")
    build = crew.queue(replace(shop, plan="app/TASK-GRAPH.md"))
    said = crew.work()
    assert crew.build(build).state == "COMPLETED", said
    assert crew.git(shop, "show", f"{build.branch}:app/made/001") == "1"
    assert crew.tasks(build) == {"TASK-001": "DONE"}
    assert "branch.created" in crew.kinds(build)
    assert "task.landed" in crew.kinds(build)
    again = rebuild(crew.store)
    assert (again.unreached, again.events > 0) == ((), True)
    assert crew.faults == []


def test_clones_of_builds_that_are_over_go_the_oldest_first_but_none_with_work_of_its_own(crew):
    shop = crew.repository("shop", a_step(1))
    made = [crew.queue(shop) for _ in range(3)]
    crew.work()
    home = crew.folder / "home-w/state/runner/team/builds"
    assert {one.name for one in home.iterdir()} == {one.id for one in made}
    first = home / made[0].id / "repository"
    (first / "note.txt").write_text("of a person")
    more = crew.queue(shop)
    said = crew.work(RUNNER_WORKER_CACHE="1")
    assert {one.name for one in home.iterdir()} == {made[0].id}
    assert said.count("is taken away, all of it is elsewhere") == 3
    assert crew.build(more).state == "COMPLETED"
    Workplace(first, crew.folder).git("add", "note.txt")
    Workplace(first, crew.folder).git("commit", "-q", "-m", "a person's")
    crew.queue(shop)
    crew.work(RUNNER_WORKER_CACHE="1")
    assert {one.name for one in home.iterdir()} == {made[0].id}
    assert crew.faults == []
