"""A person's word on proposed writes: asked at a terminal, or given later, and always kept."""

import re
import sys
import time

import pytest
from commands_terminal import Terminal
from workplace import NO_PROOF, a_task

WRITES = "echo attempt $RUNNER_ATTEMPT > out.txt; echo same > same.txt; echo called >> {calls}"
"""The same file in every attempt beside one that differs."""


@pytest.fixture
def calls(tmp_path):
    """A file that tells how often the implementer was called."""
    return tmp_path / "calls"


def planned(workplace, calls, *fields, command=WRITES):
    workplace.plan(
        a_task(
            "TASK-001",
            "Write files",
            outputs=["out.txt", "same.txt"],
            command=command.format(calls=calls),
            tests=["test -s out.txt"],
            fields=fields,
        ),
        a_task("TASK-002", "Beside it", blocks={"b.txt": "b"}),
    )


def run(workplace, *words):
    return workplace.run("--no-sandbox", "-j", "1", *words)


def times(calls):
    return calls.read_text().count("called") if calls.exists() else 0


def at_terminal(workplace, *words):
    python = (sys.executable, "-m", "runner", *words)
    return Terminal(python, columns=100, cwd=workplace.root, EDITOR="sed -i s/attempt/edited/")


# --- without a terminal ---------------------------------------------------------------


def test_without_a_terminal_the_task_waits_and_the_others_go_on(workplace, calls):
    planned(workplace, calls, "Review: prompt")
    ended = run(workplace)
    assert ended.code == 3
    assert workplace.statuses == {"TASK-001": "BLOCKED", "TASK-002": "DONE"}
    assert "waits for your review: runner review" in ended.out
    assert not workplace.has("out.txt")

    # What was approved lands without calling the implementer again.
    listed = workplace.runner("review", "--json").document["waiting"]
    assert [change["path"] for change in listed[0]["changes"]] == ["out.txt", "same.txt"]
    assert "+attempt 1" in workplace.runner("review", "1").out
    assert workplace.runner("approve", "TASK-001").code == 0
    assert run(workplace).code == 0
    assert (times(calls), workplace.read("out.txt")) == (1, "attempt 1\n")
    assert "Review: applied" in workplace.git("log", "--format=%B")
    assert workplace.runner("review").out == "nothing is waiting for you\n"


def test_a_rejection_is_the_next_attempts_brief_and_counts_as_none(workplace, calls):
    planned(
        workplace,
        calls,
        "Review: prompt",
        "Budget: 1 attempt",
        command='cat "$RUNNER_BRIEF";' + WRITES,
    )
    run(workplace)
    assert workplace.runner("reject", "1", "--reason", "say hello instead").code == 0
    assert run(workplace).code == 3
    brief = workplace.read("artifacts/build/logs/TASK-001/2/implementer.log")
    assert "say hello instead" in brief
    assert times(calls) == 2
    assert "+attempt 2" in workplace.runner("review", "1").out


def test_a_no_holds_though_nobody_reviews_any_more(workplace, calls):
    planned(workplace, calls, "Review: prompt", command="echo always > out.txt; echo x >> {calls}")
    run(workplace)
    workplace.runner("reject", "1", "--reason", "not this")
    workplace.edit_plan("- Review: prompt\n", "")
    ended = run(workplace)
    assert ended.code == 3
    assert "BLOCKED TASK-001 (review)" in ended.out
    assert not workplace.has("out.txt")
    line = workplace.status_line("TASK-001")
    assert "review failed; the last attempt repeated rejected output" in line


# --- by a command, and by the repository ----------------------------------------------


def test_a_reviewing_command_says_yes_or_why_not(workplace, calls):
    workplace.settle(
        'review.mode = "auto"\n'
        "review.command = \"grep -q '+attempt 2' || { echo want two; exit 1; }\"\n"
    )
    planned(workplace, calls, command='cat "$RUNNER_BRIEF";' + WRITES)
    ended = run(workplace, "TASK-001")
    assert ended.code == 0, ended.said
    assert workplace.read("out.txt") == "attempt 2\n"
    assert "want two" in workplace.read("artifacts/build/logs/TASK-001/2/implementer.log")
    reviews = [event["review"] for event in workplace.happened("write.reviewed", "TASK-001")]
    assert reviews == ["auto", "auto"]


def test_the_repository_cannot_turn_the_review_of_control_files_off(workplace, calls):
    workplace.commit({"runner.toml": 'review.mode = "off"\n'})
    workplace.plan(
        a_task("TASK-001", outputs=["AGENTS.md"], command="echo do it > AGENTS.md"),
    )
    ended = run(workplace)
    assert ended.code == 3
    assert "waits for your review" in workplace.status_line("TASK-001")


# --- at a terminal --------------------------------------------------------------------


def test_a_person_rejects_with_a_reason_and_applies_the_next_proposal(workplace, calls):
    planned(workplace, calls)
    with at_terminal(workplace, "run", "--trust", "--no-sandbox") as terminal:
        terminal.until("[w]ait?")
        terminal.send("r\n")
        heard = terminal.until("why? ")
        terminal.send("Another, please\n")
        terminal.until("+attempt 2", after=heard)
        terminal.until("[w]ait?", after=heard)
        terminal.send("l\n")
        terminal.wait()
    assert terminal.code == 0
    assert (times(calls), workplace.read("out.txt")) == (2, "attempt 2\n")
    # One answer applied all files.
    assert workplace.read("same.txt") == "same\n"
    reviews = [one["review"] for one in workplace.happened("write.reviewed", "TASK-001")]
    assert reviews[-2:] == ["applied", "applied"]


def test_a_saved_edit_is_approved_and_only_the_other_files_are_asked_for(workplace, calls):
    planned(workplace, calls)
    with at_terminal(workplace, "run", "--trust", "--no-sandbox") as terminal:
        heard = terminal.until("[w]ait?")
        terminal.send("e")
        terminal.until("testing your edit", after=heard)
        terminal.until("same.txt (2 of 2)", after=heard)
        terminal.until("[w]ait?", after=terminal.said.index("same.txt (2 of 2)"))
        terminal.send("a")
        terminal.wait()
    assert terminal.code == 0
    assert "+edited" not in terminal.said
    said = {one["path"]: one["review"] for one in workplace.happened("write.reviewed", "TASK-001")}
    assert said == {"out.txt": "edited", "same.txt": "applied"}
    assert (times(calls), workplace.read("out.txt")) == (1, "edited 1\n")


def test_at_the_write_a_person_is_asked_before_anything_is_compiled(workplace, calls):
    workplace.settle('review.at = "write"\n')
    workplace.plan(
        a_task(
            "TASK-001",
            outputs=["a.py"],
            command="echo 'def (' > a.py",
            fields=["Budget: 1 attempt", NO_PROOF],
        )
    )
    with at_terminal(workplace, "run", "--trust", "--no-sandbox") as terminal:
        terminal.until("[w]ait?")
        assert workplace.happened("attempt.finished") == []
        terminal.send("a\n")
        terminal.wait()
    assert terminal.code == 1
    assert "compile" in workplace.status_line("TASK-001")


def test_who_ends_a_run_at_the_first_of_two_questions_leaves_nobody_waiting(workplace):
    workplace.settle('review.at = "write"\n')
    workplace.plan(
        *(
            a_task(id_, outputs=[out], command=f"echo 1 > {out}", fields=[NO_PROOF])
            for id_, out in (("TASK-001", "a.txt"), ("TASK-002", "b.txt"))
        )
    )
    with at_terminal(workplace, "run", "--trust", "--no-sandbox", "-j", "2") as terminal:
        terminal.until("[w]ait?")
        time.sleep(2)  # the other one asks by now, too
        terminal.send("\x03")
        terminal.wait()
    assert "it did not stop in time" not in terminal.said
    assert len(workplace.happened("attempt.finished")) == 2
    assert workplace.run("--review", "off", "--no-sandbox").code == 0


def test_a_task_that_is_cancelled_while_a_person_is_asked_ends_at_once(workplace):
    workplace.settle('review.at = "write"\n')
    workplace.plan(
        *(
            a_task(id_, outputs=[out], command=f"echo 1 > {out}", fields=[NO_PROOF])
            for id_, out in (("TASK-001", "a.txt"), ("TASK-002", "b.txt"), ("TASK-003", "c.txt"))
        )
    )
    with at_terminal(workplace, "run", "--trust", "--no-sandbox", "-j", "3") as terminal:
        heard = terminal.until("[w]ait?")
        shown = re.search(r"(TASK-\d+) wants to", terminal.said)[1]
        time.sleep(2)  # the others ask by now, too
        first, last = sorted({"TASK-001", "TASK-002", "TASK-003"} - {shown})
        for id_ in (first, shown):  # one that waits its turn, then the one that is shown
            said = workplace.runner("cancel", id_)
            assert said.code == 0, said.said
            assert f"{id_} is BLOCKED: cancelled by a person" in said.out
        terminal.until(f"{last} wants to", after=heard)
        terminal.until("[w]ait?", after=terminal.said.index(f"{last} wants to"))
        terminal.send("a")
        terminal.wait()
    assert terminal.code == 3
    assert workplace.statuses == {first: "BLOCKED", shown: "BLOCKED", last: "DONE"}
    assert f"{first} wants to" not in terminal.said
    words = [one["path"] for one in workplace.happened("write.reviewed")]
    assert len(words) == 1, "nobody said a word about what was ended"


def test_proven_work_that_a_person_is_asked_about_is_cancelled_from_elsewhere(workplace):
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], command="echo 1 > a.txt", tests=["test -s a.txt"]),
        a_task("TASK-002", outputs=["b.txt"], command="echo 1 > b.txt", tests=["test -s b.txt"]),
        a_task("TASK-003", outputs=["a.txt"], command="echo 2 > a.txt", tests=["test -s a.txt"]),
    )
    words = ("run", "--trust", "--no-sandbox", "--review", "prompt", "-j", "2")
    with at_terminal(workplace, *words) as terminal:
        heard = terminal.until("[w]ait?")
        shown = re.search(r"(TASK-\d+) wants to", terminal.said)[1]
        late = time.monotonic() + 60
        while len(workplace.happened("attempt.finished")) < 2:  # the other one waits its turn, too
            assert time.monotonic() < late, terminal.said
            terminal.hear()
        other = {"TASK-001": "TASK-002", "TASK-002": "TASK-001"}[shown]
        for id_ in (other, shown):
            said = workplace.runner("cancel", id_)
            assert said.code == 0, said.said
            assert f"{id_} is BLOCKED: cancelled by a person; work kept on draft/{id_}" in said.out
            kept = f"BLOCKED — cancelled by a person; work kept on draft/{id_}"
            while kept not in workplace.status_line(id_):  # the run says so, before anything else
                assert time.monotonic() < late, terminal.said
                terminal.hear()
        assert "cancel" not in workplace.runner("cancel", shown).out, "it was cancelled before"
        terminal.until("TASK-003 wants to", after=heard)  # its file is nobody else's any more
        terminal.until("[w]ait?", after=terminal.said.index("TASK-003 wants to"))
        terminal.send("a")
        terminal.wait()
    assert terminal.code == 3
    assert workplace.statuses == {
        "TASK-001": "BLOCKED",
        "TASK-002": "BLOCKED",
        "TASK-003": "DONE",
    }
    assert not workplace.happened("write.reviewed", shown)


def test_what_came_while_a_person_was_asked_is_no_task_at_work_once_the_run_has_ended(
    workplace,
):
    workplace.settle(
        'review.mode = "off"\n[[permission]]\n'
        'tool = "write_file"\npattern = "b.txt"\naction = "ask"\n'
    )
    asked = ["Review: prompt"]
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], command="echo 1 > a.txt", fields=[*asked, NO_PROOF]),
        a_task("TASK-002", outputs=["b.txt"], command="sleep 2; echo 1 > b.txt", fields=[NO_PROOF]),
    )
    with at_terminal(workplace, "run", "--trust", "--no-sandbox", "-j", "2") as terminal:
        terminal.until("[w]ait?")
        time.sleep(4)  # the other one has come, and would ask as well
        terminal.send("\x03")
        terminal.wait()
    assert workplace.status_line("TASK-002") == "- Status: PENDING"
    assert [one["ending"] for one in workplace.happened("attempt.finished", "TASK-002")] == [
        "interrupted"
    ]


def test_whoever_leaves_the_terminal_leaves_the_question_open(workplace, calls):
    planned(workplace, calls)
    with at_terminal(workplace, "run", "--trust", "--no-sandbox") as terminal:
        terminal.until("[w]ait?")
        terminal.send("w\n")
        terminal.wait()
    assert terminal.code == 3
    assert workplace.statuses == {"TASK-001": "BLOCKED", "TASK-002": "DONE"}
