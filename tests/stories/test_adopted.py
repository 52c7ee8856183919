"""A person finishes what an agent could not: their branch lands as the task's own commit."""

import pytest
from scripted_agent import Script, writes
from workplace import Workplace, a_task

DRAFT = "draft/TASK-001-work"


@pytest.fixture
def stuck(workplace, monkeypatch):
    """A task that an agent did not get done, with its draft."""
    Script({"TASK-001": [writes({"a.txt": "bad\n"})]}).installed(monkeypatch)
    workplace.commit({"shared.txt": "one\n"})
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt", "shared.txt"], tests=["grep -q good a.txt"]),
        a_task("TASK-002", needs=["TASK-001"], outputs=["b.txt"]),
    )
    assert workplace.run().code == 5
    assert DRAFT in workplace.branches
    return workplace


def finish(place, branch=DRAFT, **files):
    beside = Workplace(place.root.parent / "beside", place.home)
    place.git("worktree", "add", "-q", str(beside.root), branch)
    tip = beside.commit(files or {"a.txt": "good\n"})
    place.git("worktree", "remove", str(beside.root))
    return tip


def test_a_finished_draft_lands_with_its_evidence(stuck):
    # What cannot be adopted is said.
    ended = stuck.runner("adopt", "TASK-002", "--trust")
    assert (ended.code, "TASK-002 waits for TASK-001" in ended.err) == (3, True)
    ended = stuck.runner("adopt", "TASK-001", "no-such-branch", "--trust")
    assert (ended.code, "branch no-such-branch not found" in ended.err) == (2, True)
    ended = stuck.runner("adopt", "TASK-001", "main", "--trust")
    assert (ended.code, "main is checked out" in ended.err) == (2, True)
    stuck.git("branch", "same")
    ended = stuck.runner("adopt", "TASK-001", "same", "--trust")
    assert (ended.code, "already has all changes of same" in ended.err) == (2, True)

    finish(stuck)
    ended = stuck.runner("adopt", "TASK-001", "--trust")
    assert ended.code == 0, ended.said
    assert f"TASK-001 is DONE: {DRAFT} landed as" in ended.out
    assert stuck.read("a.txt") == "good\n"
    landed = stuck.happened("task.landed")[0]["commit"]
    message = stuck.git("log", "-1", "--format=%B", landed)
    assert "Review: adopted" in message
    assert "Proof: TC-001 pass" in message
    assert stuck.statuses["TASK-001"] == "DONE"
    assert stuck.landings == ["TASK-001"]
    assert stuck.dirt == []
    ended = stuck.runner("adopt", "TASK-001", "--trust")
    assert (ended.code, "TASK-001 is DONE" in ended.err) == (2, True)


def test_what_does_not_pass_or_collides_stays_on_the_branch(stuck):
    tip = finish(stuck, **{"a.txt": "still bad\n"})
    ended = stuck.runner("adopt", "1", "--trust", "--json")
    assert ended.code == 1, ended.said
    said = ended.document
    assert (said["status"], said["branch"], said["tip"]) == ("BLOCKED", DRAFT, tip)
    assert said["findings"][0]["check"] == "TC-001"
    assert stuck.git("rev-parse", DRAFT) == tip
    assert f"TC-001 failed on {DRAFT}" in stuck.status_line("TASK-001")
    assert [b for b in stuck.branches if b != "main"] == [DRAFT]

    # The rules for writes hold for a person, too.
    finish(stuck, **{"a.txt": "good\n", "elsewhere.txt": "x\n"})
    ended = stuck.runner("adopt", "TASK-001", "--trust")
    assert ended.code == 1
    assert "scope failed" in ended.out

    # A branch that collides is told before anything runs.
    finish(stuck, **{"shared.txt": "theirs\n"})
    stuck.commit({"shared.txt": "ours\n"})
    before = len(stuck.events)
    ended = stuck.runner("adopt", "TASK-001", "--trust")
    assert ended.code == 6
    assert f"{DRAFT} and main both changed shared.txt" in ended.err
    assert f"git switch {DRAFT} && git merge main" in ended.err
    assert len(stuck.events) == before


def test_a_review_is_asked_for_where_the_plan_wants_one(stuck, monkeypatch):
    monkeypatch.setenv("RUNNER_REVIEW_MODE", "prompt")
    finish(stuck)
    ended = stuck.runner("adopt", "TASK-001", "--trust")
    assert ended.code == 3, ended.said
    assert "next: runner review TASK-001" in ended.out
    assert stuck.runner("approve", "TASK-001").code == 0
    monkeypatch.setenv("RUNNER_REVIEW_MODE", "off")
    stuck.run("TASK-001")
    assert stuck.statuses["TASK-001"] == "DONE"


def test_yes_is_the_review(stuck, monkeypatch):
    monkeypatch.setenv("RUNNER_REVIEW_MODE", "prompt")
    finish(stuck)
    assert stuck.runner("adopt", "TASK-001", "--trust", "--yes").code == 0
