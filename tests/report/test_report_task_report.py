"""The acceptance table, as text and as data."""

from runner.model import Proof, Spec, Task, Verdict, digest_of
from runner.model.work import AcceptanceRow, Doubt, ItemVerdict, Judge, with_rows
from runner.report.task_report import describe_table, format_table

TASK = Task(
    id="TASK-001",
    title="Bookings",
    line=1,
    spec=Spec("", ""),
    acceptance=("A1: an end before its start is refused", "A2: no overlap", "A3: it is fast"),
)
TESTED = Proof("TC-001", "test", "t", Verdict.PASS, 0, 0.1, digest_of(b""))
ROWS = (
    AcceptanceRow("A2", ItemVerdict.MET, Judge.TESTS, "TC-003", ("TC-003",)),
    AcceptanceRow("A1", ItemVerdict.MET, Judge.TESTS, "TC-003", ("TC-003",)),
    AcceptanceRow(
        *("A1", ItemVerdict.NOT_MET, Judge.REVIEWER, "claude (opus)", ("test_a.py::test_b",)),
        *(("a.py:3",), "Line 3 accepts it.", Doubt.SAME_MODEL),
    ),
)
SAME = "reviewed by the implementer's model"
PROOFS = with_rows((TESTED,), ROWS, ("A1", "A2", "A3"))


def test_each_item_is_shown_with_its_text_and_its_verdicts():
    assert list(format_table(TASK, PROOFS)) == [
        "A1: an end before its start is refused",
        "  met, by held-out tests TC-003",
        f"  not met, by claude (opus): test_a.py::test_b a.py:3 (does not count: {SAME})",
        "    Line 3 accepts it.",
        "A2: no overlap",
        "  met, by held-out tests TC-003",
        "A3: it is fast",
        "  no verdict",
    ]


def test_the_same_table_is_data():
    table = describe_table(TASK, PROOFS)
    assert [(row["item"], row["verdict"], row["by"], row["counts"]) for row in table] == [
        ("A1", "met", "held-out tests TC-003", True),
        ("A1", "not met", "claude (opus)", False),
        ("A2", "met", "held-out tests TC-003", True),
        ("A3", None, None, False),
    ]
    assert table[1]["evidence"] == ("a.py:3",)
    assert table[1]["doubt"] == SAME


def test_without_a_verdict_there_is_no_table():
    assert not list(format_table(TASK, (TESTED,)))
    assert not describe_table(TASK, (TESTED,))
