from runner.context.patterns import decisions_for, read_decisions

TEXT = """\
# Decisions

Words of a person.

## DECISION-001: Optimistic locking
Date: 2026-11-21
Task: TASK-018
Context: Row locks deadlocked.
Decision: At most 3 retries.
Trade-off: Some retries.
Pattern: candidate for PATTERN-007

## DECISION-002: By hand

**Task:** TASK-003

**Context:** see `src/booking/store.py`

## DECISION-003: Nothing to add
Task: —
Context: —
Decision: Nothing to add
Trade-off: —
"""


def told(task="TASK-099", *, needs=(), owners=(), files=()):
    found = decisions_for(read_decisions(TEXT), task=task, needs=needs, owners=owners, files=files)
    return [(one.id, one.because) for one in found]


def test_the_entries_are_read_with_number_task_and_fields():
    one, two, three = read_decisions(TEXT)
    assert (one.id, one.task, one.date, one.is_candidate) == (
        "DECISION-001",
        "TASK-018",
        "2026-11-21",
        True,
    )
    assert one.decision.tradeoff == "Some retries."
    assert (two.task, two.decision.context, two.is_candidate) == (
        "TASK-003",
        "see `src/booking/store.py`",
        False,
    )
    assert (three.task, three.decision.context, three.decision.tradeoff) == ("", "", "")


def test_those_touch_a_task_that_were_made_for_it_for_what_it_needs_or_for_its_files():
    assert told() == []
    assert told("TASK-018") == [("DECISION-001", "made for this task")]
    assert told(needs=("TASK-018",)) == [
        ("DECISION-001", "made for TASK-018, which this task builds on")
    ]
    assert told(owners={"TASK-003"}) == [
        ("DECISION-002", "made for TASK-003, which owns files of this task")
    ]


def test_a_decision_that_names_a_file_touches_it_and_not_one_that_only_ends_alike():
    assert told(files=("src/booking/store.py",)) == [("DECISION-002", "names src/booking/store.py")]
    assert told(files=("lib/store.py",)) == []
    assert told(files=("ore.py",)) == []


def test_the_latest_comes_first_and_an_empty_file_has_none():
    both = told("TASK-018", files=("src/booking/store.py",))
    assert [id_ for id_, _ in both] == ["DECISION-002", "DECISION-001"]
    assert read_decisions("") == ()
    assert read_decisions("# Decisions\n\nnone yet\n") == ()


def test_prose_behind_an_empty_line_belongs_to_no_field():
    text = (
        "## DECISION-001: Text\n\nContext: small\n\nDecision: files\nof text\n\n"
        "Some words of a person.\n\nTrade-off: none\n"
    )
    (one,) = read_decisions(text)
    assert one.decision.context == "small"
    assert one.decision.decision == "files of text"
    assert one.decision.tradeoff == "none"
