"""`status`, `list` and `next`: what stands where, and what is next."""

import os
import subprocess
import sys

import pytest
from commands_build import a_ground, began, blocked, done, ended, published, started
from workplace import NO_PROOF, a_task

from runner.errors import RunnerError
from runner.journal.events import TaskLanding
from runner.journal.lock import RunLock
from runner.project import BUILD, Project


def a_story(ground):
    """A is DONE, B is BLOCKED, C waits, D could start."""
    a_ground(ground, "A; B needs A; C needs A,B; D")
    commit = ground.commit() if ground.write("a.txt", "A") else ground.git("rev-parse", "HEAD")
    ground.journal(began(ground), *done(ground, "TASK-001", commit), *blocked(ground, "TASK-002"))
    ground.journal(
        published(ground, A="DONE", B="BLOCKED — TC-002 failed 1 time"), ended(ground, 1)
    )
    return ground


def test_a_fresh_plan_says_what_would_start_and_what_to_type(ground):
    a_ground(ground)
    said = ground.runner("status")
    assert said == (
        0,
        """\
Bookings: 3 tasks: 3 PENDING (1 ready)

TASK      STATUS   TITLE   NOTE
TASK-001  PENDING  task A  ready
TASK-002  PENDING  task B  waits for TASK-001
TASK-003  PENDING  task C  waits for TASK-001, TASK-002

next: runner    (starts TASK-001)
""",
        "",
    )


def test_every_kind_of_standing_is_told_in_words(ground):
    said = a_story(ground).runner("status")
    assert (
        said.out
        == """\
Bookings: 4 tasks: 1 DONE, 2 PENDING, 1 BLOCKED (1 ready)

TASK      STATUS                     TITLE   NOTE
TASK-001  DONE                       task A
TASK-002  BLOCKED — failed (checks)  task B  TC-002 failed 1 time
TASK-003  PENDING                    task C  waits for TASK-002
TASK-004  PENDING                    task D  ready

next: runner    (starts TASK-004)
"""
    )


def test_a_program_gets_the_same_as_one_document(ground):
    said = a_story(ground).runner("status", "--json")
    assert said.err == ""
    document = said.json
    assert document["schemaVersion"] == 1
    assert document["kind"] == "status"
    assert document["counts"] == {"DONE": 1, "PENDING": 2, "BLOCKED": 1}
    assert document["ready"] == ["TASK-004"]
    assert document["run"] is None
    assert document["tasks"][1] == {
        "id": "TASK-002",
        "title": "task B",
        "status": "BLOCKED",
        "note": "TC-002 failed 1 time",
        "display": "failed",
        "reason": "checks",
        "verified": None,
        "grade": None,
        "provenBy": None,
        "gradeReason": "",
        "notMeasured": [],
        "ready": False,
        "waitsFor": [],
        "dependsOn": ["TASK-001"],
        "line": 15,
    }


def test_done_on_a_persons_word_is_marked(ground):
    a_ground(ground, "A is DONE; B needs A")
    said = ground.runner("status")
    assert "TASK-001  DONE (unproven)  task A  marked DONE in the plan" in said.out
    assert "TASK-002  PENDING          task B  ready" in said.out


def test_reading_writes_nothing_into_the_repository(ground):
    a_story(ground)
    before = {path: path.read_bytes() for path in ground.folder.rglob("*") if path.is_file()}
    for command in ("status", "list", "next"):
        ground.runner(command)
    after = {path: path.read_bytes() for path in ground.folder.rglob("*") if path.is_file()}
    assert after == before


def test_a_task_that_was_edited_after_it_was_done_is_stale_before_any_run(ground):
    a_story(ground)
    plan = ground.folder / "TASK-GRAPH.md"
    plan.write_text(plan.read_text().replace("task A", "quite another task"))
    assert "TASK-001  STALE — waiting for you    quite another task" in ground.runner("status").out


def test_blocked_made_pending_by_a_person_is_ready_again(ground):
    a_story(ground)
    plan = ground.folder / "TASK-GRAPH.md"
    plan.write_text(plan.read_text().replace("BLOCKED — TC-002 failed 1 time", "PENDING"))
    assert ground.runner("next").out.split("\n")[0] == "TASK-002  task B"


def test_an_attempt_that_a_kill_ended_counts_as_pending(ground):
    a_ground(ground)
    ground.journal(began(ground), started(ground, "TASK-001"), published(ground, A="IN-PROGRESS"))
    assert "TASK-001  PENDING  task A  ready" in ground.runner("status").out


def test_while_a_run_is_going_on_its_word_counts(ground):
    a_ground(ground)
    ground.journal(began(ground), started(ground, "TASK-001"), published(ground, A="IN-PROGRESS"))
    with RunLock(ground.folder / BUILD):
        said = ground.runner("status")
        live = ground.runner("status", "--json").json["run"]
    assert "TASK-001  IN-PROGRESS  task A" in said.out
    assert f"a run is active (process {os.getpid()}, since " in said.out
    assert said.out.endswith("): runner log --follow\n")
    assert live["pid"] == os.getpid()


def test_an_interrupted_landing_is_said_to_be_finished_by_the_next_run(ground):
    a_ground(ground)
    ground.journal(
        began(ground),
        *done(ground, "TASK-001")[:2],
        (TaskLanding(tree="c" * 40, parent="", paths=("a.txt",)), "TASK-001", 1),
    )
    said = ground.runner("status")
    assert "task A  its landing was interrupted: the next run finishes it" in said.out


def test_when_all_is_done_it_says_so(ground):
    a_ground(ground, "A")
    commit = ground.git("rev-parse", "HEAD")
    ground.journal(began(ground), *done(ground, "TASK-001", commit), published(ground, A="DONE"))
    assert (
        ground.runner("status").out
        == """\
Bookings: 1 task: 1 DONE

TASK      STATUS  TITLE   NOTE
TASK-001  DONE    task A

all tasks are DONE
"""
    )


def test_when_only_blocked_tasks_are_left_it_asks_for_the_reason(ground):
    a_ground(ground, "A; B")
    ground.journal(began(ground), *blocked(ground, "TASK-001"), *blocked(ground, "TASK-002"))
    ground.journal(published(ground, A="BLOCKED", B="BLOCKED"))
    assert ground.runner("status").out.endswith("\nnext: runner why TASK-001\n")
    said = ground.runner("next")
    assert (said.out, said.err) == ("", "nothing can start now; next: runner why TASK-001\n")


def test_a_mistake_in_the_plan_is_mentioned_beside_the_data(ground):
    a_ground(ground, "A; B is FINISHED")
    said = ground.runner("status")
    assert said.err == "note: the plan has 1 mistake: runner validate\n"
    assert said.out.endswith("\nnext: runner validate\n")


def test_tasks_that_go_in_a_circle_can_not_start(ground):
    a_ground(ground, "A needs B; B needs A")
    assert ground.runner("status").out.endswith("next: runner validate    (nothing can start)\n")
    assert ground.runner("next").out == ""


def test_list_gives_one_task_a_line(ground):
    said = a_story(ground).runner("list")
    assert (
        said.out
        == """\
TASK-001  DONE                       task A
TASK-002  BLOCKED — failed (checks)  task B
TASK-003  PENDING                    task C
TASK-004  PENDING                    task D
"""
    )


@pytest.mark.parametrize("word", ["blocked", "BLOCKED", " Blocked"])
def test_list_can_be_asked_for_one_status(ground, word):
    said = a_story(ground).runner("list", "--status", word)
    assert said.out == "TASK-002  BLOCKED — failed (checks)  task B\n"


def test_a_status_that_is_none_is_refused_with_the_one_that_was_meant(ground):
    said = a_story(ground).runner("list", "--status", "pendign")
    assert said == (
        2,
        "",
        'runner: unknown status "pendign"\nhint: did you mean "PENDING"?\n',
    )


def test_next_has_the_longest_remaining_path_first(ground):
    a_ground(ground, "A; B; C needs B; D needs C")
    assert ground.runner("next").out == "TASK-002  task B\nTASK-001  task A\n"
    assert [task["id"] for task in ground.runner("next", "--json").json["tasks"]] == [
        "TASK-002",
        "TASK-001",
    ]


def test_what_a_clone_brings_cannot_command_the_terminal(ground):
    a_ground(ground, "A")
    plan = ground.folder / "TASK-GRAPH.md"
    plan.write_text(plan.read_text().replace("task A", "task \x1b[31m\u202eA"))
    said = ground.runner("status")
    assert "task \\x1b[31m\\u202eA" in said.out
    assert "\x1b" not in said.out


def test_without_a_plan_it_says_how_to_get_one(ground):
    ground.git("init", "-q")
    assert ground.runner("status") == (
        2,
        "",
        f"runner: TASK-GRAPH.md not found ({ground.folder})\nhint: runner init\n",
    )


def test_without_git_it_says_how_to_get_it(ground):
    assert ground.runner("status") == (
        2,
        "",
        f"runner: this folder is not in a git repository ({ground.folder})\nhint: git init\n",
    )


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("start", [("-P", "-m", "runner"), ("-m", "runner")], ids=" ".join)
def test_a_file_beyond_ascii_is_built_and_looked_at_in_a_locale_without_it(workplace, start):
    workplace.plan(a_task("TASK-001", blocks={"ä.txt": "ü\n"}, fields=[NO_PROOF]))
    for words in (("run", "--trust", "--no-sandbox"), ("run",), ("status",)):
        ended = subprocess.run(
            [sys.executable, *start, *words],
            cwd=workplace.root,
            env={**os.environ, **ASCII},
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr.decode()
    assert workplace.read("ä.txt") == "ü\n"
    assert workplace.statuses == {"TASK-001": "DONE"}


def test_a_newline_in_the_path_is_told_at_once(tmp_path):
    root = tmp_path / "a\nb"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / "TASK-GRAPH.md").write_text("## TASK-001: A\n\n- Type: docs\n")
    with pytest.raises(RunnerError) as told:
        Project.open(root, {"HOME": str(tmp_path)})
    assert told.value.message == "the path of the repository contains a newline"
    assert "\n" not in told.value.where
    assert not (root / "artifacts").exists()
