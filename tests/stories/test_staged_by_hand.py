"""A run's proposals answered write by write: what waits is told apart from what is decided."""

import pytest
from workplace import a_task


@pytest.fixture
def waiting(workplace, monkeypatch):
    """Two tasks whose writes wait for a review: one with two files, one with one."""
    monkeypatch.setenv("RUNNER_REVIEW_MODE", "prompt")
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt", "b.txt"], command="echo 1 > a.txt; echo 2 > b.txt"),
        a_task("TASK-002", outputs=["c.txt"], command="echo 3 > c.txt"),
    )
    assert workplace.run().code == 3
    return workplace


def listed(workplace, *words):
    staged = workplace.runner("staged-write", "list", "--json", *words).document["staged"]
    return {one["path"]: one["standing"] for one in staged}


def id_of(workplace, path):
    staged = workplace.runner("staged-write", "list", "--all", "--json").document["staged"]
    return next(one["id"] for one in staged if one["path"] == path)


def answer(workplace, verb, path, *words):
    return workplace.runner("staged-write", verb, id_of(workplace, path), *words)


def test_applied_writes_of_a_run_land_together_with_its_next_run(waiting):
    assert listed(waiting) == {"a.txt": "waits", "b.txt": "waits", "c.txt": "waits"}
    said = answer(waiting, "apply", "a.txt")
    assert said.code == 0
    assert said.err == "approved: a.txt; TASK-001 lands once b.txt is approved as well\n"
    assert not waiting.has("a.txt")
    assert listed(waiting) == {"b.txt": "waits", "c.txt": "waits"}
    assert listed(waiting, "--all")["a.txt"] == "approved"
    said = answer(waiting, "apply", "b.txt")
    assert said.err == "approved: b.txt; TASK-001 lands when you next run `runner`\n"
    assert waiting.run().code == 3
    assert waiting.landings == ["TASK-001"]
    assert waiting.read("a.txt") == "1\n"
    assert listed(waiting, "--all") == {"c.txt": "waits"}


def test_what_is_decided_is_not_asked_again(waiting):
    said = answer(waiting, "edit", "c.txt")
    assert said.code == 2
    assert "runner edit TASK-002 opens it" in said.err
    answer(waiting, "apply", "c.txt")
    again = answer(waiting, "apply", "c.txt")
    assert again.code == 2
    assert "it is approved and lands with the next run" in again.err
    told = waiting.runner("staged-write", "list", "--task", "2")
    assert (
        told.err == "nothing is waiting for you\n"
        "1 staged write decided; list all: runner pipeline staged-write list --all\n"
    )
    # A rejected file takes its proposal with it.
    said = answer(waiting, "reject", "a.txt", "--reason", "shorter")
    assert said.code == 1
    assert said.err == "rejected: a.txt, with the rest of the proposal of TASK-001\n"
    assert listed(waiting, "--all") == {"c.txt": "approved"}


def test_a_proposal_that_was_answered_as_a_whole_no_longer_waits(waiting):
    waiting.runner("approve", "TASK-001")
    assert listed(waiting) == {"c.txt": "waits"}
    waiting.runner("reject", "TASK-001", "--reason", "both are wrong")
    assert listed(waiting) == {"c.txt": "waits"}
    assert listed(waiting, "--all")["b.txt"] == "rejected"
    assert answer(waiting, "apply", "b.txt").code == 2


def test_work_that_a_person_s_file_holds_up_is_told_apart(workplace, monkeypatch):
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "theirs\n"}))
    workplace.write({"a.txt": "mine\n"})
    assert workplace.run("--allow-dirty").code == 3
    assert listed(workplace) == {"a.txt": "held"}


def test_a_write_by_hand_stands_by_its_file(workplace):
    workplace.commit({"a.txt": "old\n"})
    workplace.write({"new": "new\n"})
    stage = ("staged-write", "stage", "--task", "1", "--file", "a.txt", "--content", "new")
    assert workplace.runner(*stage).code == 3
    assert listed(workplace) == {"a.txt": "waits"}
    workplace.write({"a.txt": "mine\n"})
    assert listed(workplace) == {"a.txt": "moved"}
    workplace.write({"a.txt": "new\n"})
    assert listed(workplace) == {}
    assert listed(workplace, "--all") == {"a.txt": "landed"}
