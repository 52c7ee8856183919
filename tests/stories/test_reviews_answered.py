"""A person's word given between two runs: every command tells it at once, and the next run acts."""

import sys

import pytest
from workplace import NO_PROOF, a_task

COMMAND = "echo x >> {calls}; echo hi > a.txt; echo ho > b.txt"


@pytest.fixture
def calls(tmp_path):
    """A file that tells how often the implementer was called."""
    return tmp_path / "calls"


@pytest.fixture
def waiting(workplace, calls, monkeypatch, request):
    """A task of two files that waits for a review; before its proof where that is asked."""
    monkeypatch.setenv("RUNNER_REVIEW_MODE", "prompt")
    monkeypatch.setenv("RUNNER_REVIEW_AT", getattr(request, "param", "write"))
    workplace.plan(
        a_task(
            "TASK-001",
            outputs=["a.txt", "b.txt"],
            command=COMMAND.format(calls=calls),
            tests=["grep -q h a.txt"],
        )
    )
    ended = run(workplace)
    assert (ended.code, workplace.happened("gate.completed")) == (3, [])
    assert "waits for your review: runner review" in ended.out
    return workplace


def run(workplace, *words):
    return workplace.run("--no-sandbox", "-j", "1", *words)


def times(calls):
    return calls.read_text().count("x")


def told(workplace, *words):
    return workplace.runner(*words).out


def test_what_was_edited_at_the_write_is_proven_with_the_edit(waiting, calls, monkeypatch):
    monkeypatch.setenv("EDITOR", "sed -i s/h/H/")
    assert "edited" in told(waiting, "edit", "1")
    assert run(waiting).code == 3  # grep -q h does not find it, so it is built anew, and waits
    proven = waiting.happened("attempt.finished")[1]
    assert "TC-001" in str(proven["findings"])
    assert waiting.happened("attempt.started")[1]["mode"] == "prove"
    assert times(calls) == 2


def test_it_waits_for_each_answer_and_lands_as_it_was_approved(waiting, calls):
    assert "+hi" in told(waiting, "review", "1")
    assert "2 staged" not in waiting.runner("staged-write", "list").err
    staged = waiting.runner("staged-write", "list", "--json").document["staged"]
    waiting.runner("staged-write", "apply", staged[0]["id"])
    assert run(waiting).code == 3
    assert times(calls) == 1
    assert "BLOCKED — waiting for you (review)" in told(waiting, "status")
    waiting.runner("staged-write", "apply", staged[1]["id"])
    assert "approved: the next `runner` lands it" in told(waiting, "status")
    assert run(waiting).code == 0
    assert (times(calls), waiting.read("a.txt"), waiting.landings) == (1, "hi\n", ["TASK-001"])
    assert "Review: applied" in waiting.git("log", "--format=%B")
    proofs = waiting.happened("test.contract.completed") or waiting.happened("attempt.finished")
    assert proofs[-1]["seq"] > waiting.happened("write.reviewed")[-1]["seq"]


def test_an_approval_and_a_rejection_are_told_by_every_command_at_once(waiting, calls):
    waiting.runner("approve", "1")
    approved = "approved: the next `runner` lands it"
    assert approved in told(waiting, "status")
    assert told(waiting, "review") == f"nothing is waiting for you\nTASK-001 Work — {approved}\n"
    assert waiting.runner("review", "--json").document["waiting"] == []
    assert told(waiting, "next") == "TASK-001  Work\n"
    assert "would run now" in told(waiting, "why", "TASK-001")
    assert told(waiting, "approve", "--all") == "nothing is waiting for you\n"
    # A rejection takes the approval back.
    assert waiting.runner("reject", "TASK-001", "--reason", "shorter").code == 0
    assert "rejected: the next `runner` retries it" in told(waiting, "status")
    assert "shorter" in told(waiting, "why", "TASK-001")
    assert told(waiting, "review") == "nothing is waiting for you\n"
    run(waiting)
    assert times(calls) > 1
    assert not waiting.has("a.txt")


def test_a_command_approves_no_control_file(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_REVIEW_MODE", "auto")
    monkeypatch.setenv("RUNNER_REVIEW_COMMAND", f"{sys.executable} -c pass")
    workplace.plan(
        a_task("TASK-001", outputs=[".envrc"], command="echo hi > .envrc", fields=[NO_PROOF])
    )
    assert run(workplace).code == 3
    assert "create .envrc" in told(workplace, "review")
    assert not workplace.has(".envrc")


# --- a reviewer that is not there -----------------------------------------------------


def built(workplace, monkeypatch, calls, reviewer=""):
    """A run where a command reviews, and what is said of its one task."""
    monkeypatch.setenv("RUNNER_REVIEW_MODE", "auto")
    monkeypatch.setenv("RUNNER_REVIEW_COMMAND", reviewer)
    if not workplace.has("TASK-GRAPH.md"):
        command = COMMAND.format(calls=calls)
        workplace.plan(a_task("TASK-001", outputs=["a.txt", "b.txt"], command=command))
    return run(workplace)


def test_nobody_is_called_to_build_what_nobody_could_review(workplace, monkeypatch, calls):
    ended = built(workplace, monkeypatch, calls)
    assert (ended.code, calls.exists()) == (3, False)
    assert "review is auto, but no reviewer is set; set review.command or model.review" in ended.out
    assert "BLOCKED TASK-001 (tool)" in ended.out


def test_a_reviewing_command_that_cannot_start_is_no_rejection(workplace, monkeypatch, calls):
    ended = built(workplace, monkeypatch, calls, "/no/such/reviewer")
    assert (ended.code, times(calls)) == (3, 1)
    assert "(tool): the review command cannot run (exit 127)" in ended.out
    assert "sandbox.read" in told(workplace, "why", "TASK-001")
    assert built(workplace, monkeypatch, calls, "cat > /dev/null").code == 0


def test_a_number_means_the_task_that_it_was_listed_with(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_REVIEW_MODE", "prompt")
    files = {f"TASK-00{n}": f"{n}.txt" for n in (1, 2, 3)}
    workplace.plan(
        *(
            a_task(id_, outputs=[out], command=f"echo 1 > {out}", fields=[NO_PROOF])
            for id_, out in files.items()
        )
    )
    run(workplace)
    assert "3. TASK-003" in told(workplace, "review")
    assert "TASK-001 approved" in told(workplace, "approve", "1")
    assert "2. TASK-002" in told(workplace, "review", "2"), "one of them keeps its number"
    assert "TASK-002 approved" in told(workplace, "approve", "2")
    again = workplace.runner("approve", "1")
    assert (again.code, again.out) == (2, "")
    assert "number 1 is TASK-001, which has nothing to approve" in again.err
    assert "1. TASK-003" in told(workplace, "review"), "a new list counts anew"
    rejected = workplace.runner("reject", "1", "--reason", "no")
    assert "TASK-003" in rejected.out
    assert run(workplace).code == 3
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "DONE", "TASK-003": "BLOCKED"}
