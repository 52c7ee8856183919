import pytest

from runner.journal.decisions import parse_decisions
from runner.model import Decision

TOLD = """\
Working on it …

DECISION: Optimistic locking instead of row locks
Context: Row locks deadlocked under concurrent
  booking requests in the load test.
Decision: Optimistic locking with at most 3 retries.
Trade-off: Some retries, against no deadlock.
Pattern: candidate for PATTERN-007

All done.
"""
LOCKING = Decision(
    "Optimistic locking instead of row locks",
    "Row locks deadlocked under concurrent booking requests in the load test.",
    "Optimistic locking with at most 3 retries.",
    "Some retries, against no deadlock.",
    "candidate for PATTERN-007",
)


def test_a_block_is_found_among_other_talk():
    assert parse_decisions(TOLD) == (LOCKING,)


def test_it_is_read_as_a_heading_with_bold_names_and_bullets():
    told = """\
## DECISION-012: Keep ids as text
- **Context:** they begin with zeros
- **Decisions:** keep them
- **Tradeoffs**: a little space
```
"""
    assert parse_decisions(told) == (
        Decision("Keep ids as text", "they begin with zeros", "keep them", "a little space"),
    )


def test_one_block_ends_where_the_next_begins():
    told = "DECISION: a\nContext: x\nDECISION: b\r\nDecision: y"
    assert parse_decisions(told) == (Decision("a", "x"), Decision("b", decision="y"))


def test_the_title_may_stand_in_a_line_of_its_own():
    assert parse_decisions("DECISION:\nTitle: t\nDecision: d\n") == (Decision("t", decision="d"),)


def test_the_same_decision_told_twice_is_one():
    assert parse_decisions(TOLD + TOLD) == (LOCKING,)


@pytest.mark.parametrize(
    "told",
    [
        "",
        "The DECISION: is not at the beginning",
        "Decision: alone is a field",
        "DECISION: <title>\nContext: <why>",
        "DECISION: ...",
        "DECISION:\n",
        "DECISIONS: many",
    ],
)
def test_talk_and_repeated_instructions_decide_nothing(told):
    assert parse_decisions(told) == ()


def test_a_flood_is_bounded():
    told = "\n\n".join(f"DECISION: number {n} {'x' * 5000}" for n in range(500))
    parsed = parse_decisions(told)
    assert len(parsed) == 50
    assert max(len(decision.title) for decision in parsed) == 2000
