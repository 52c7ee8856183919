"""A plain check says the same where the coordinator hears it and where a slot's thread does."""

import contextlib
import json
import random
import re
import shutil
import signal
import time
from pathlib import Path

import pytest
from workplace import Workplace, a_task

from runner.run import check_lane, workers

QUICK = (
    "true {n}",
    "test -f a.txt && true {n}",
    "echo {n} said so",
    "cat a.txt b.txt; true {n}",
    "seq {n} 4000",
    "! test -f missing-{n}",
    "ls | grep -q a.txt && true {n}",
)
OTHERWISE = (
    "false {n}",
    "cat missing-{n}",
    "echo {n}; exit 3",
    "touch made-{n}",
    "rm b.txt; true {n}",
    "test -d {outside}/{n} || mkdir {outside}/{n} && test {n} = 0",
    "test -d {outside}/{n}f || {{ mkdir {outside}/{n}f; false; }}",
    "sleep 20 & true {n}",
    "mkdir folder-{n}",
    "echo {key}",
    "sleep 0.4; echo late {n}",
    "sleep 20; true {n}",
)


def a_key():
    return "gh" + "p_" + "A1b2C3d4E5" * 3 + "Fg7h8i"


def generated(seed, outside):
    """A plan of checks: quick ones, ones that fail, write, print, linger or take too long."""
    chance = random.Random(seed)
    lines = [*(chance.choice(QUICK) for _ in range(10)), *OTHERWISE]
    chance.shuffle(lines)
    tasks = [a_task("TASK-001", tests=["true first"]), a_task("TASK-002", tests=["true second"])]
    for n, line in enumerate(lines, 3):
        more = [chance.choice(QUICK) for _ in range(chance.choice((0, 0, 1, 2)))]
        tests = [
            one.format(n=10 * n + k, outside=outside, key=a_key())  # none stands from another's
            for k, one in enumerate((line, *more))
        ]
        fields = ["Budget: 2 attempts", "Timeout: 1 second"]
        needs = ["TASK-001", "TASK-002", *(["TASK-004"] if chance.random() < 0.2 and n > 4 else [])]
        tasks.append(a_task(f"TASK-{n:03d}", tests=tests, needs=needs, fields=fields))
    return tasks


PASSING = ("id", "seq", "time", "run", "crc", "cause", "origin", "producer", "seconds", "slot")
TIMES = re.compile(r"\d+(?:\.\d+)? (?:s|ms)\b|\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\b[0-9a-f]{7,40}\b")


def steady(value):
    """What an event says, without what no two runs have in common."""
    if isinstance(value, dict):
        return {k: steady(one) for k, one in value.items() if k not in PASSING}
    if isinstance(value, list):
        return [steady(one) for one in value]
    return TIMES.sub("…", value) if isinstance(value, str) else value


def story(place):
    """All that a run left, a line each: events of each task, documents, logs, commits."""
    told = {}
    for event in place.events:
        if event["task"]:
            told.setdefault(event["task"], []).append(json.dumps(steady(event), sort_keys=True))
    lines = [f"{task}: {event}" for task in sorted(told) for event in told[task]]
    lines += TIMES.sub("…", place.read("TASK-GRAPH.md")).splitlines()
    checkpoint = TIMES.sub("…", place.read("artifacts/build/CHECKPOINT.md")).splitlines()
    one = [line for line in checkpoint if len(set(re.findall(r"TASK-\d+", line))) == 1]
    lines += sorted(
        line for line in one if not line.lstrip("- ").startswith(("BLOCKED", "Completed"))
    )
    for log in sorted((place.root / "artifacts/build/logs").rglob("*.log")):
        lines.append(f"{log.relative_to(place.root)}: {log.read_bytes()}")
    return [*lines, *place.subjects, *place.landings]


@pytest.fixture
def taken(monkeypatch):
    """The tasks that the lane took, in their order."""
    took = []
    take = check_lane.CheckLane.take

    def note(self, assignment, site):
        done = take(self, assignment, site)
        took.extend([assignment.task.id] if done else [])
        return done

    monkeypatch.setattr(check_lane.CheckLane, "take", note)
    return took


def run_both(tmp_path, alone, monkeypatch, plan_of, *words):
    """The same plan run with the lane and without, in two repositories; what both left."""
    told = []
    for name in ("lane", "thread"):
        if name == "thread":
            monkeypatch.setattr(workers, "opens_here", lambda: False)
        shutil.rmtree(tmp_path / "outside", ignore_errors=True)
        (tmp_path / "outside").mkdir()
        place = Workplace.begin(tmp_path / name / "shop", alone)
        place.write({"a.txt": "a\n", "b.txt": "b\n"})
        place.plan(*plan_of(tmp_path / "outside"))
        ended = place.run("-j2", *words)
        told.append([str(ended.code), *story(place)])
    return told


def test_both_roads_leave_the_same_journal_documents_and_commits(
    tmp_path, alone, monkeypatch, taken
):
    plan_of = lambda outside: generated(1, outside)  # noqa: E731 - the same plan elsewhere
    quick, slow = run_both(tmp_path, alone, monkeypatch, plan_of, "--no-sandbox")
    assert len(set(taken)) > 8
    assert [one for one in quick if one not in slow] == []
    assert quick == slow
    told = [line for line in quick if a_key() in line]
    assert all("(unit)" in line for line in told)  # the plan itself, and nothing that was written


def checks(*lines, fields=()):
    first = [a_task("TASK-001", tests=["true first"])]
    rest = [
        a_task(f"TASK-{n:03d}", tests=[line], needs=[f"TASK-{n - 1:03d}"], fields=fields)
        for n, line in enumerate(lines, 2)
    ]
    return [*first, *rest]


def test_in_a_sandbox_both_roads_say_the_same(tmp_path, alone, monkeypatch, taken):
    lines = ("true 2", "test -f a.txt", "cat missing", "touch made")
    tasks = [one.replace("- Depends on: TASK-004", "") for one in checks(*lines)]
    quick, slow = run_both(tmp_path, alone, monkeypatch, lambda _outside: tasks)
    assert len(set(taken)) > 1
    assert quick == slow


def test_what_starts_is_on_disk_before_its_command_does(workplace, taken, monkeypatch):
    begun, start = [], check_lane.PlainCheck.start_first

    def look(self):
        started = {e["task"] for e in workplace.happened("attempt.started")}
        begun.append(self.assignment.task.id in started)
        return start(self)

    monkeypatch.setattr(check_lane.PlainCheck, "start_first", look)
    journal = workplace.root / "artifacts/build/journal.jsonl"
    line = f"grep -q 'gate.started.*TASK-002' {journal}"
    workplace.plan(*checks(line, "echo said", "true 4", fields=["Budget: 1 attempts"]))
    assert workplace.run("--no-sandbox").code == 0
    assert taken == ["TASK-002", "TASK-003", "TASK-004"]
    assert begun == [True] * 3
    log = workplace.root / "artifacts/build/logs/TASK-003/1/TC-003.log"
    assert log.read_bytes() == b"said\n"


def test_what_a_gate_a_program_or_a_red_first_asks_for_goes_to_a_slot(workplace, taken):
    gate = ["Gates:\n  - clean: `true gate`"]
    workplace.plan(
        *checks("python3 -c pass", "true 3"), a_task("TASK-004", tests=["true"], fields=gate)
    )
    assert workplace.run("--no-sandbox").code == 0
    assert taken == ["TASK-003"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_person_who_stops_the_run_ends_the_command_and_leaves_no_process(workplace, number):
    mark = "31.4159"
    workplace.plan(*checks(f"sleep {mark}"))
    run = workplace.start("run", "--trust", "--no-sandbox")
    wait_for(lambda: mark in list_processes())
    run.send_signal(number)
    said = "".join(filter(None, run.communicate(timeout=60)))
    assert run.returncode == 130
    assert mark not in list_processes()
    assert workplace.statuses["TASK-002"] == "PENDING"
    assert "✗" not in said
    assert "TC-002 interrupted after" in said


def test_one_task_is_cancelled_and_the_run_goes_on(workplace):
    mark = "27.1828"
    workplace.plan(
        *checks(f"sleep {mark}"), a_task("TASK-003", tests=["true 3"], needs=["TASK-001"])
    )
    run = workplace.start("run", "--trust", "--no-sandbox")
    wait_for(lambda: mark in list_processes())
    assert workplace.runner("cancel", "TASK-002").code == 0
    run.communicate(timeout=60)
    assert mark not in list_processes()
    assert workplace.statuses["TASK-002"].startswith("BLOCKED")
    assert workplace.statuses["TASK-003"] == "DONE"


def test_a_run_killed_in_the_middle_goes_on_and_ends_what_was_left(workplace):
    mark = "16.1803"
    workplace.plan(*checks(f"sleep {mark}"))
    run = workplace.start("run", "--trust", "--no-sandbox")
    wait_for(lambda: mark in list_processes())
    run.kill()
    run.communicate()
    workplace.edit_plan(f"sleep {mark}", "true now")
    workplace.git("commit", "-q", "-a", "-m", "quicker")
    assert workplace.run("--no-sandbox").code == 0
    assert mark not in list_processes()


def list_processes():
    """The command lines of all processes, as one text."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it is gone
            lines.append(file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    return "\n".join(lines)


def wait_for(told, seconds=60):
    until = time.monotonic() + seconds
    while not told():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_script_that_starts_nothing_is_read_and_its_check_is_quick(workplace, taken):
    workplace.write({"quiet.sh": "#!/bin/sh\nset -e\ntest -f a.txt\nif true; then echo ok; fi\n"})
    workplace.write({"loud.sh": "python3 -c pass\n", "a.txt": "a\n"})
    lines = ("sh quiet.sh 2", "sh loud.sh 3", "sh ./quiet.sh && true 4", "sh missing.sh")
    workplace.plan(*checks(*lines, fields=["Budget: 1 attempts"]))
    workplace.run("--no-sandbox")
    assert taken == ["TASK-002", "TASK-004"]
    assert workplace.statuses["TASK-004"] == "DONE"
    assert workplace.statuses["TASK-005"].startswith("BLOCKED")


def test_a_check_that_a_command_lends_a_secret_goes_to_a_slot_and_has_it(workplace, taken):
    lent, own = "Lent-Horse/77", workplace.home / "config/runner/runner.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'[secret.API_TOKEN]\ncommand = "echo {lent}"\n')
    needs = ["Requires: secret API_TOKEN", "Budget: 1 attempt"]
    workplace.plan(*checks(f'test "$API_TOKEN" = {lent}', fields=needs))
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert workplace.statuses["TASK-002"] == "DONE"
    assert [event["task"] for event in workplace.happened("secret.returned")] == ["TASK-002"]
