import pytest

from runner.errors import ExitCode
from runner.gates.coverage.lines import Lines
from runner.model import Proof, Reason, Spec, Status, Task, Usage, Verdict, digest_of
from runner.model.work import AcceptanceRow, Doubt, ItemVerdict, Judge, with_rows
from runner.report.cost import cost, cost_data, cost_part, per_proven, together
from runner.report.summary import MEANING, BlockedTask, Summary, duration, summary
from runner.report.task_report import describe_table, format_table
from runner.report.xml_reports import html_archive


def test_when_all_is_done_one_line_says_so():
    said = Summary(ExitCode.OK, {Status.DONE: 8}, 12.34, landed=8)
    assert summary(said) == "8 tasks: 8 DONE; 8 commits, 12.3 s\n"


def test_what_waits_for_a_person_is_said_with_the_next_command():
    said = Summary(
        ExitCode.FAILED,
        {Status.DONE: 1, Status.BLOCKED: 2, Status.STALE: 1, Status.PENDING: 1},
        187.0,
        landed=1,
        blocked=(
            BlockedTask(
                *("TASK-003", "TC-003 failed 5 times", Reason.CHECKS, "draft/TASK-003-x"),
                next="mend it",
                findings=("TC-003: it failed", "  tests/test_a.py:5: 3 != 2  (test_a)"),
            ),
            BlockedTask(
                *("TASK-004", "secret STRIPE_KEY is not set", Reason.SECRET), next="give it"
            ),
        ),
        stale=(("TASK-002", "CHANGE-001: other\x1bfields"),),
        waiting=(("TASK-005", ("TASK-003", "TASK-004")),),
        notes=("2 untracked files are not seen by tasks",),
    )
    assert summary(said) == (
        "5 tasks: 1 DONE, 1 PENDING, 2 BLOCKED, 1 STALE; 1 commit, 3 min 07 s\n"
        "BLOCKED TASK-003 (checks): TC-003 failed 5 times\n"
        "  TC-003: it failed\n"
        "    tests/test_a.py:5: 3 != 2  (test_a)\n"
        "  work kept on draft/TASK-003-x\n"
        "  next: mend it\n"
        "BLOCKED TASK-004 (secret): secret STRIPE_KEY is not set\n"
        "  next: give it\n"
        "STALE TASK-002: CHANGE-001: other\\x1bfields\n"
        "  next: `runner --rebuild` rebuilds it; `runner review TASK-002` shows what was built\n"
        "waiting TASK-005: needs TASK-003, TASK-004\n"
        "note: 2 untracked files are not seen by tasks\n"
        "exit 1: a task failed its checks (runner help blocked)\n"
    )


def test_every_exit_code_has_a_meaning():
    assert set(MEANING) == set(ExitCode)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0.0 s"),
        (59.4, "59.4 s"),
        (60, "1 min 00 s"),
        (3599.6, "1 h 00 min"),
        (7500, "2 h 05 min"),
    ],
)
def test_durations_are_read_at_a_glance(seconds, said):
    assert duration(seconds) == said


def test_a_ready_task_that_the_run_did_not_reach_waits_for_nobody():
    said = Summary(
        ExitCode.INTERRUPTED,
        {Status.PENDING: 2},
        1.0,
        waiting=(("TASK-001", ()), ("TASK-002", ("TASK-001",))),
    )
    lines = summary(said).splitlines()
    assert "TASK-001 is ready: run `runner`" in lines
    assert "waiting TASK-002: needs TASK-001" in lines


# --- what a page of coverage shows: each line as its tool counts it -------------------


def test_a_form_feed_or_a_line_separator_begins_no_line_of_its_own():
    text = 'A = 1\n\x0c\nB = "\u2028"\nC = 1\n'
    lines = {"a.py": Lines(executable=frozenset({1, 3, 4}), ran=frozenset({1, 3}))}
    _, pages = html_archive(lines, {"a.py": text.encode()})
    rows = dict(pages)["1.html"].decode().split("<pre class=")[1:]
    assert [row.partition(">")[0] for row in rows] == ['"y"', '""', '"y"', '"n"']
    assert "C = 1" in rows[3]


# --- what agents used, in words and as data -------------------------------------------


def test_only_what_was_used_is_said():
    assert cost(Usage()) == ""
    assert cost(Usage(1, 0)) == "1 token"
    assert cost(Usage(12_000, 345, 0.4242, 1)) == "12,345 tokens, $0.42, 1 tool call"
    assert cost(Usage(dollars=0.0012)) == "$0.0012"


def test_a_program_gets_nothing_for_nothing():
    assert cost_data(Usage()) is None
    assert cost_part(Usage()) == {}
    assert cost_data(Usage(2, 3, 0.5, 4)) == {
        "inputTokens": 2,
        "outputTokens": 3,
        "tokens": 5,
        "dollars": 0.5,
        "toolCalls": 4,
    }


def test_what_several_used_adds_up():
    assert together([Usage(1, 2, 0.5, 3), Usage(10, 20, 1.0, 30)]) == Usage(11, 22, 1.5, 33)
    assert together([]) == Usage()


def test_what_failed_is_paid_by_what_is_proven():
    tasks = [(Usage(dollars=0.30), True), (Usage(dollars=0.50), False), (Usage(), True)]
    assert per_proven(tasks) == "$0.80 a proven task"
    assert per_proven(tasks[1:]) == per_proven([]) == ""


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
