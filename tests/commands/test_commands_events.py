"""`events`: an event a line, named by journal and number, resumable."""

import json
import os
import signal
import subprocess
import sys
import time

from commands_build import a_ground, began, done, ended

from runner.journal.log import Journal
from runner.project import JOURNAL


def keys(said):
    return [json.loads(line)["seq"] for line in said.out.splitlines()]


def test_events_are_the_journal_s_lines_behind_a_number(ground):
    a_ground(ground, "A")
    first, *_ = ground.journal(began(ground), *done(ground, "TASK-001"), ended(ground))
    said = ground.runner("events", "--json")
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [line["key"] for line in lines] == [f"{first.id}:{seq}" for seq in range(1, 6)]
    assert {line["repository"] for line in lines} == {"project"}
    kept = (ground.folder / JOURNAL).read_text().splitlines()
    assert [line["event"] for line in lines] == [json.loads(line) for line in kept]
    assert keys(ground.runner("events", "--json", "--after", "3")) == [4, 5]
    assert keys(ground.runner("events", "--json", "--after", f"{first.id}:4")) == [5]
    assert keys(ground.runner("events", "--json", "--after", "another:4")) == [1, 2, 3, 4, 5]
    said = ground.runner("events", "--after", "4").out
    assert said == "<time>  project 5  -  run.finished  exit 0 in 1.5 s: 1 DONE\n"


def test_what_names_no_event_is_told(ground):
    a_ground(ground, "A")
    assert ground.runner("events", "--json").out == ""
    for wrong in ("x", "a b:3", "-1", "1:", ":1", "9" * 16):
        said = ground.runner("events", f"--after={wrong}")
        assert (said.code, "is not a valid event" in said.err) == (2, True), wrong


def test_a_journal_that_is_begun_anew_is_told_from_its_beginning(ground):
    a_ground(ground, "A")
    ground.journal(began(ground), ended(ground))
    words = [sys.executable, "-P", "-m", "runner", "events", "--after", "1", "--follow", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=dict(os.environ)) as follower:
        try:
            assert json.loads(follower.stdout.readline())["seq"] == 2
            file = ground.folder / JOURNAL
            file.rename(file.with_suffix(".old"))
            time.sleep(0.5)
            with Journal.open(file, run="run-2") as journal:
                new = journal.append(began(ground))
            line = json.loads(follower.stdout.readline())
            assert line["key"] == f"{new.id}:1"
        finally:
            follower.send_signal(signal.SIGINT)
        assert follower.wait(30) == 130


def test_secrets_of_another_s_journal_do_not_leave(ground):
    from runner.journal.events import ModeSwitched

    a_ground(ground, "A")
    leaked = "ghp_" + "a1B2" * 9
    ground.journal(began(ground), ModeSwitched(mode=f"serial {leaked}\u202e"))
    said = ground.runner("events", "--json")
    assert leaked not in said.out
    assert "[REDACTED" in said.out
    assert json.loads(said.out.splitlines()[1])["event"]["type"] == "mode.switched"
    assert "\u202e" not in ground.runner("events").out


def test_a_plain_follower_starts_without_a_database(ground):
    a_ground(ground, "A")
    ground.journal(began(ground))
    code = (
        "import sys; from runner.cli import main; main(['events']);"
        "print([one for one in ('sqlalchemy', 'nats', 'opentelemetry') if one in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"
