"""`decide`: a person's decision, beside those of tasks."""

import multiprocessing
import os

import pytest
from commands_build import a_ground

from runner.journal.events import DecisionMade
from runner.journal.lock import RunLock
from runner.model import Decision
from runner.project import BUILD, DECISIONS


def test_a_decision_is_written_into_the_document_and_into_the_journal(ground):
    a_ground(ground, "A")
    said = ground.runner(
        *("decide", "Optimistic locking", "--task", "1", "--context", "Row locks deadlocked."),
        *("--decision", "At most 3 retries.", "--tradeoff", "Some retries."),
    )
    assert said == (0, "DECISION-001 written to artifacts/build/DECISIONS.md\n", "")
    text = (ground.folder / DECISIONS).read_text()
    today = text.split("Date: ")[1].split("\n")[0]
    assert (
        text
        == f"""\
# Decisions

## DECISION-001: Optimistic locking
Date: {today}
Task: TASK-001
Context: Row locks deadlocked.
Decision: At most 3 retries.
Trade-off: Some retries.

"""
    )
    assert ground.runner("log").out == (
        "<time>  TASK-001  decision.made       DECISION-001: Optimistic locking\n"
    )


def test_the_number_follows_the_highest_of_file_and_journal(ground):
    a_ground(ground, "A")
    ground.journal((DecisionMade(number=4, decision=Decision("earlier")), "TASK-001", 1))
    assert "DECISION-005" in ground.runner("decide", "next").out
    file = ground.folder / DECISIONS
    file.write_text(file.read_text() + "## DECISION-011: by hand\n")
    assert "DECISION-012" in ground.runner("decide", "and next").out


def test_it_works_while_a_run_is_going_on(ground):
    a_ground(ground, "A")
    with RunLock(ground.folder / BUILD):
        assert ground.runner("decide", "meanwhile").code == 0


def _decide(number):
    from runner.cli import main

    os.close(1)
    os.open(os.devnull, os.O_WRONLY)
    main(["decide", f"choice {number}"])


def test_decisions_of_many_at_once_are_all_kept(ground):
    a_ground(ground, "A")
    context = multiprocessing.get_context("fork")
    busy = [context.Process(target=_decide, args=(number,)) for number in range(6)]
    for process in busy:
        process.start()
    for process in busy:
        process.join()
    text = (ground.folder / DECISIONS).read_text()
    assert [f"DECISION-{n:03d}:" in text for n in range(1, 7)] == [True] * 6
    assert all(f"choice {number}\n" in text for number in range(6))


def test_a_key_that_was_typed_is_not_written(ground):
    a_ground(ground, "A")
    key = "".join(("gh", "p_", *(f"{chr(65 + n)}{n % 10}{chr(97 + n)}" for n in range(12))))
    ground.runner("decide", "use the token", "--context", f"it is {key}")
    assert key not in (ground.folder / DECISIONS).read_text()
    assert key not in (ground.folder / "artifacts/build/journal.jsonl").read_text()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            [" "],
            'runner: a decision needs a title\nhint: runner plan decide "What was chosen"\n',
        ),
        (
            ["x", "--task", "TASK-0O1"],
            'runner: unknown task "TASK-0O1"\nhint: did you mean "TASK-001"?\n',
        ),
        (
            [],
            (
                "runner: the following arguments are required: title\n"
                "hint: runner plan decide --help\n"
            ),
        ),
    ],
)
def test_what_makes_no_decision_is_refused_and_writes_nothing(ground, words, error):
    a_ground(ground, "A")
    assert ground.runner("decide", *words) == (2, "", error)
    assert not (ground.folder / DECISIONS).exists()


def test_a_link_in_place_of_the_document_is_not_written_through(ground):
    a_ground(ground, "A")
    ground.write("elsewhere.txt", "mine\n")
    (ground.folder / BUILD).mkdir(parents=True)
    (ground.folder / DECISIONS).symlink_to(ground.folder / "elsewhere.txt")
    said = ground.runner("decide", "x")
    assert said.code == 6
    assert "the runner never follows links" in said.err
    assert (ground.folder / "elsewhere.txt").read_text() == "mine\n"
