"""`cancel` ends one task's attempt in a run that goes on, and keeps what it has written."""

import time
from threading import Event

import pytest

from runner.errors import RunnerError
from runner.run import workers
from runner.run.workers import Finished, WorkerPool


def a_command(id_, line, output, *, needs="none"):
    return (
        f"## {id_}: task {id_[-1]}\n\n- Depends on: {needs}\n- Output files: `{output}`\n"
        f"- Command: {line}\n- Test contracts:\n  - TC-{id_[-3:]} (unit): `test -e {output}`\n"
    )


REST = "p_1b6tQ0zX9pLk" + "3mVn8cRw5yDf" + "Gh2jAeS7uKiT"
KEY = f"gh{REST}"
WRITES_IT = f'printf "gh%s" {REST} > a.env'


def until(holds, seconds=120.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


@pytest.fixture
def running(workplace, tmp_path):
    """A run in which TASK-001 has written two files and would take an hour; others are quick."""
    mark = tmp_path / "mark"
    mark.mkdir()
    workplace.plan(
        a_command(
            "TASK-001",
            f"sh -c 'echo half > a.txt; {WRITES_IT}; touch {mark}/one; exec sleep 3600'",
            "a.*",
        ),
        a_command(
            "TASK-002",
            f"sh -c 'while ! test -e {mark}/go; do sleep 0.1; done; echo 2 > b.txt'",
            "b.txt",
        ),
        a_command("TASK-003", "sh -c 'echo 3 > c.txt'", "c.txt", needs="TASK-002"),
    )
    process = workplace.start("run", "--trust", "--sandbox", "none", "-j", "2")
    until((mark / "one").exists)
    yield process, mark
    if process.poll() is None:
        process.terminate()  # a kill would leave its commands behind
    process.communicate()


def test_one_task_is_cancelled_its_work_kept_and_the_run_goes_on(workplace, running):
    process, mark = running
    for id_, told in (
        ("TASK-003", "TASK-003 is not running: it is PENDING"),
        ("TASK-01O", "TASK-001"),
    ):
        said = workplace.runner("cancel", id_)
        assert said.code == 2
        assert told in said.err
    said = workplace.runner("cancel", "1")
    assert said.code == 0, said.said
    assert "TASK-001 is BLOCKED: cancelled by a person; work kept on draft/TASK-001" in said.out
    (mark / "go").touch()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 3, (out, err)
    assert workplace.statuses == {
        "TASK-001": "BLOCKED",
        "TASK-002": "DONE",
        "TASK-003": "DONE",
    }
    branch = next(one for one in workplace.branches if one.startswith("draft/TASK-001"))
    assert workplace.git("show", f"{branch}:a.txt") == "half"
    assert KEY.encode() not in workplace.objects(), "what the secret scan refuses is kept nowhere"
    assert workplace.dirt == []


def test_a_cancelled_task_begins_anew_once_it_is_approved(workplace, running):
    process, mark = running
    (mark / "go").touch()
    workplace.runner("cancel", "TASK-001")
    process.communicate(timeout=120)
    assert workplace.run("--sandbox", "none").code == 3
    assert len(workplace.happened("attempt.started", "TASK-001")) == 1, "it waits for a person"
    assert workplace.runner("approve", "TASK-001").code == 0
    workplace.edit_plan("exec sleep 3600", "true")
    workplace.edit_plan(WRITES_IT, "true")
    workplace.commit(message="quicker")
    said = workplace.run("--sandbox", "none")
    assert said.code == 0, said.said
    assert workplace.statuses["TASK-001"] == "DONE"


def test_what_is_answered_while_a_run_goes_on_stands_in_the_plan_at_its_end(workplace, running):
    process, mark = running
    assert workplace.runner("cancel", "TASK-001").code == 0
    said = workplace.runner("approve", "TASK-001")
    assert said.code == 0
    assert said.out.endswith("next: runner, after the active run ends\n")
    (mark / "go").touch()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 3, (out, err)
    assert workplace.statuses == {
        "TASK-001": "PENDING",
        "TASK-002": "DONE",
        "TASK-003": "DONE",
    }
    assert "3 tasks: 2 DONE, 1 PENDING" in out
    shown = workplace.runner("status").out
    assert "TASK-001  PENDING" in shown
    checkpoint = (workplace.root / "artifacts/build/CHECKPOINT.md").read_text()
    assert "PENDING: 1\nBLOCKED: 0\n" in checkpoint
    record = workplace.git("show", "HEAD:TASK-GRAPH.md")
    assert "BLOCKED" not in record


def test_a_word_that_comes_with_the_end_of_an_attempt_holds(workplace, monkeypatch):
    """It had come back and nobody had heard of it: it neither lands nor is tried again."""
    hear = WorkerPool._get
    ends = {"TASK-001": "passed", "TASK-003": "failed"}

    def cancels(pool, seconds):
        message = hear(pool, seconds)
        if isinstance(message, Finished) and message.task in ends:
            pool.cancel_task(message.task)
        return message

    monkeypatch.setattr(WorkerPool, "_get", cancels)
    fails = a_command("TASK-003", "sh -c 'echo 3 > c.txt'", "c.txt")
    workplace.plan(
        a_command("TASK-001", "sh -c 'echo 1 > a.txt'", "a.txt"),
        a_command("TASK-002", "sh -c 'echo 2 > b.txt'", "b.txt"),
        fails.replace("`test -e c.txt`", "`false`"),
    )
    said = workplace.run("--sandbox", "none", "-j", "3")
    assert said.code == 3, said.said
    for id_, ending in ends.items():
        assert [one["ending"] for one in workplace.happened("attempt.finished", id_)] == [ending]
        assert f"BLOCKED — cancelled by a person; work kept on draft/{id_}" in (
            workplace.status_line(id_)
        )
    assert workplace.statuses["TASK-002"] == "DONE"
    assert not workplace.has("a.txt")


def test_what_a_run_has_in_hand_or_may_come_to_is_not_promised_another_try(workplace, running):
    process, mark = running
    for id_, says in (("1", "is running now"), ("3", "is PENDING and the active run")):
        said = workplace.runner("retry", id_, "--reason", "in blue")
        assert (said.code, said.out) == (6, "")
        assert f"TASK-00{id_} {says}" in said.err
        assert "nothing was recorded" in said.err
        assert "hint:" in said.err
    assert not workplace.happened("task.approved")
    workplace.runner("cancel", "1")
    until(lambda: workplace.happened("task.blocked", "TASK-001"))
    for _ in range(2):
        said = workplace.runner("retry", "1", "--reason", "in blue")
        assert said.out == "TASK-001: will be retried after the active run ends\n", said.err
    (mark / "go").touch()
    process.communicate(timeout=120)
    assert workplace.runner("status", "--json").document["tasks"][0]["status"] == "PENDING"


def test_a_run_that_cannot_go_on_leaves_no_task_at_work_in_the_plan(workplace, monkeypatch):
    """As where a cluster is gone: what its worker says is an error that ends the run."""
    attempt, begun = workers.attempt, Event()

    def fails(assignment, site):
        if assignment.task.id == "TASK-001":
            assert begun.wait(60)
            raise RunnerError("nobody answers any more")
        begun.set()
        return attempt(assignment, site)

    monkeypatch.setattr(workers, "attempt", fails)
    workplace.plan(
        a_command("TASK-001", "true", "a.txt"), a_command("TASK-002", "sleep 100", "b.txt")
    )
    said = workplace.run("--sandbox", "none", "-j", "2")
    assert "nobody answers any more" in said.err
    assert workplace.statuses == {"TASK-001": "PENDING", "TASK-002": "PENDING"}
    assert [one["ending"] for one in workplace.happened("attempt.finished")] == ["interrupted"] * 2
