"""When an acceptance table makes the grade `independent`, and how commits carry it."""

import pytest
from msgspec.structs import replace

from runner.journal.evidence import read_proofs
from runner.model import Proof, ProvenBy, Spec, Verdict, digest_of, grade_of
from runner.model.work import (
    AcceptanceRow,
    Doubt,
    ItemVerdict,
    Judge,
    is_independent,
    rows_of,
    with_rows,
)
from runner.repo.trailers import build_message, parse_message, task_trailers

ITEMS = ("A1", "A2")
TESTED = Proof("TC-001", "test", "t", Verdict.PASS, 0, 0.1, digest_of(b""), None, (("passed", 2),))


def row(item, judge=Judge.TESTS, verdict=ItemVerdict.MET, doubt=Doubt.NONE):
    return AcceptanceRow(item, verdict, judge, "TC-003", ("TC-003",), doubt=doubt)


def rows(judge, verdict=ItemVerdict.MET, doubt=Doubt.NONE):
    return [row("A1", judge), row("A2", judge, verdict, doubt)]


MET, BAD, UNCLEAR = ItemVerdict.MET, ItemVerdict.NOT_MET, ItemVerdict.CANNOT_TELL


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (rows(Judge.TESTS), True),
        (rows(Judge.REVIEWER), True),
        (rows(Judge.PERSON), True),
        ([row("A1", Judge.PERSON), row("A2", Judge.REVIEWER)], True),
        ([row("A1", Judge.TESTS), row("A2", Judge.REVIEWER)], False),
        ([row("A1")], False),
        ([], False),
        (rows(Judge.TESTS, BAD), False),
        (rows(Judge.REVIEWER, UNCLEAR), False),
        ([*rows(Judge.REVIEWER), row("A1", verdict=BAD)], False),
        *[(rows(Judge.TESTS, MET, doubt), False) for doubt in Doubt if doubt],
        ([*rows(Judge.REVIEWER), row("A1", doubt=Doubt.NOT_ENCLOSED)], True),
        ([*rows(Judge.REVIEWER), row("A1", doubt=Doubt.WAIVED)], False),
    ],
)
def test_every_item_is_covered_by_tests_or_by_a_review(table, expected):
    assert is_independent(ITEMS, table) is expected
    graded = grade_of(with_rows([TESTED], table, ITEMS))
    assert graded.is_independent is expected
    assert graded.by is (ProvenBy.INDEPENDENT if expected else ProvenBy.TESTS)


def test_a_task_without_items_is_never_independent():
    assert not is_independent((), rows(Judge.PERSON))


def test_what_does_not_count_is_shown():
    table = rows(Judge.TESTS, MET, Doubt.ONCE_IN_GIT)
    assert grade_of(with_rows([TESTED], table, ITEMS)).words == "proven by tests, once in git"


FULL = AcceptanceRow(
    "A1",
    ItemVerdict.CANNOT_TELL,
    Judge.REVIEWER,
    "claude (opus 5)",
    ("a.test.js > adds 'two'", "tests/x.py::test_y[1]"),
    ("src/a b.py:12", "src/c.py:3"),
    'it says "no", doesn\'t it',
    Doubt.UNCHECKED,
    digest_of(b"prompt"),
)


@pytest.mark.parametrize("table", [[FULL], rows(Judge.TESTS), rows(Judge.PERSON)])
def test_a_commit_carries_the_table_and_the_grade(table):
    proofs = with_rows([TESTED], table, ITEMS)
    spec = Spec(digest_of(b"a"), digest_of(b"b"))
    message = build_message("feat: x", "", task_trailers("TASK-001", 1, spec, proofs))
    read = read_proofs(parse_message(message).trailers)
    assert rows_of(read) == tuple(table)
    assert grade_of(read).by is grade_of(proofs).by


@pytest.mark.parametrize(
    "line", ["", "A1", "A1 met", "A1 fine judge=person", "A1 met judge=person 'open"]
)
def test_other_peoples_rows_are_none(line):
    assert read_proofs({"Acceptance": (line,)}) == ()


def test_the_table_of_an_older_attempt_is_replaced_by_that_of_the_same_judge():
    first = with_rows([TESTED], rows(Judge.REVIEWER, BAD), ITEMS)
    again = with_rows(first, rows(Judge.REVIEWER), ITEMS)
    assert grade_of(again).is_independent
    assert len(rows_of(again)) == len(ITEMS)
    assert rows_of(again)[1] == replace(rows_of(first)[1], verdict=MET)
