import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.model import Coverage, Proof, Spec, Verdict, digest_of
from runner.repo.trailers import (
    build_message,
    coverage_line,
    format_checked,
    one_line,
    parse_checked,
    parse_coverage,
    parse_message,
    parse_proof,
    parse_tools,
    proof_line,
    subject,
    task_trailers,
    tools_line,
)


@pytest.mark.parametrize(
    ("task_type", "title", "expected"),
    [
        ("data", "Booking model", "feat(TASK-002): booking model"),
        ("bugfix", "Overlap", "fix(TASK-002): overlap"),
        ("docs", "README", "docs(TASK-002): README"),
        ("test", "More tests", "test(TASK-002): more tests"),
        ("Refactor", "Split", "refactor(TASK-002): split"),
        ("infra", "CI", "build(TASK-002): CI"),
        ("", "SQLite storage", "feat(TASK-002): SQLite storage"),
        ("", "JavaScript client", "feat(TASK-002): JavaScript client"),
        ("", "two\nlines\x1b[31m", "feat(TASK-002): two lines [31m"),
        ("", "", "feat(TASK-002): work"),
    ],
)
def test_a_subject_says_type_task_and_title(task_type, title, expected):
    assert subject("TASK-002", title, task_type) == expected


def test_a_subject_has_at_most_72_characters():
    assert subject("TASK-002", "w" * 99) == f"feat(TASK-002): {'w' * 55}…"
    assert len(subject("TASK-002", "word " * 40)) <= 72


def test_a_message_reads_as_designed():
    spec = Spec("sha256:aa", "sha256:bb")
    proof = Proof("TC-001", "test", "x", Verdict.PASS, 0, 0.5, "sha256:cc", None, (("passed", 2),))
    trailers = task_trailers("TASK-001", 1, spec, (proof,), coverage="84%", review="off")

    assert build_message("feat(TASK-001): x", "Why.", trailers) == (
        "feat(TASK-001): x\n"
        "\n"
        "Why.\n"
        "\n"
        "Task: TASK-001\n"
        "Attempt: 1\n"
        "Spec: sha256:aa sha256:bb\n"
        "Proof: TC-001 pass exit=0 passed=2 seconds=0.50 output=sha256:cc\n"
        "Coverage: 84%\n"
        "Review: off\n"
    )


@settings(max_examples=150, deadline=None)
@given(st.text(), st.text(), st.text(max_size=60))
def test_nothing_in_a_value_or_body_becomes_another_trailer(body, value, title):
    message = build_message(title or "s", body, (("Task", "TASK-001"), ("Review", value)))

    said = parse_message(message)

    expected = {"Task": ("TASK-001",)}
    if one_line(value):
        expected["Review"] = (one_line(value),)
    assert said.trailers == expected


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1), st.integers(-9, 255), st.floats(0, 1e6), st.integers(0, 10**9))
def test_a_proof_is_read_back_whatever_its_id(name, code, seconds, passed):
    proof = Proof(
        name, "test", "x", Verdict.FAIL, code, seconds, digest_of(b""), None, (("passed", passed),)
    )

    said = parse_proof(proof_line(proof))

    if one_line(name):
        assert said is not None
        assert (said.verdict, said.exit, said.counts) == ("fail", code, (("passed", passed),))


@pytest.mark.parametrize(
    "line", ["", "x", "x pass", "x pass exit=1", "x pass what", "x p exit=a seconds=1 output=x"]
)
def test_other_peoples_proofs_are_none(line):
    assert parse_proof(line) is None


def test_a_forged_body_is_indented():
    message = build_message("s", "text\n\nTask: TASK-666\nAttempt: 1", ())

    assert parse_message(message).trailers == {}
    assert "  Task: TASK-666" in message


def test_folded_trailers_continue():
    assert parse_message("s\n\nTask: T\n  1\nTask: 2").trailers == {"Task": ("T 1", "2")}


def test_coverage_and_tools_are_in_every_clone():
    line = coverage_line(Coverage(84.9, 120, 70))
    assert line == "84% of 120 lines (threshold 70%)"
    assert parse_coverage(line) == Coverage(84.0, 120, 70.0)
    tools = (("python", "3.11.2"), ("pytest", "9.0, beta"))
    assert tools_line(tools) == "python 3.11.2, pytest 9.0;-beta"
    assert parse_tools(tools_line(tools[:1])) == tools[:1]


def test_a_coverage_that_meets_its_threshold_by_a_fraction_is_read_back_as_meeting_it():
    line = coverage_line(Coverage(69.6, 1, 69.5))
    assert line == "69.6% of 1 line (threshold 69.5%)"
    found = parse_coverage(line)
    assert found is not None
    assert found.percent >= found.threshold


def a_proof(name):
    return Proof(name, "test", "true", Verdict.PASS, 0, 0.25, digest_of(b"out"))


def test_a_task_without_a_commit_is_told_with_its_tree_and_proofs():
    value = format_checked("TASK-003", 2, Spec("w", "p"), "a" * 40, [a_proof("TC-003")])
    told = parse_checked(value)
    assert (told.task, told.attempt, told.spec_what, told.spec_proof) == ("TASK-003", 2, "w", "p")
    assert (told.tree, told.cut) == ("a" * 40, False)
    assert parse_proof(told.proofs[0]).id == "TC-003"
    assert parse_checked("TASK-003 attempt=2 spec=w p").proofs == ()
    assert parse_checked("TASK-003 and more") is None


def test_more_proofs_than_a_trailer_holds_are_cut_whole():
    value = format_checked("T", 1, Spec("w", "p"), "", [a_proof(f"TC-{n}") for n in range(99)])
    message = build_message("record", "", [("Checked", value)])
    told = parse_checked(parse_message(message).trailers["Checked"][0])
    assert told.cut
    assert 10 < len(told.proofs) < 99
    assert all(parse_proof(line) for line in told.proofs)


def of_others(name, verdict=Verdict.PASS):
    return Proof(f"regression:{name}", "regression", "x", verdict, 0, 0.1, "sha256:0")


@pytest.mark.parametrize(
    ("proofs", "line"),
    [
        ((), ""),
        ((of_others("TASK-001/TC-001"),), "1 test contract of 1 task passes"),
        (
            (
                of_others("TASK-001/TC-001"),
                of_others("TASK-001/TC-002", Verdict.FLAKY),
                of_others("TASK-002/TC-001"),
            ),
            "3 test contracts of 2 tasks pass",
        ),
        (
            (of_others("TASK-001/TC-001"), of_others("TASK-002/TC-001", Verdict.KNOWN)),
            "2 test contracts of 2 tasks: 1 pass, 1 failing as before",
        ),
    ],
)
def test_tests_of_other_tasks_are_one_trailer(proofs, line):
    trailers = task_trailers("TASK-009", 1, Spec("w", "p"), proofs)
    assert [value for name, value in trailers if name == "Regression"] == ([line] if line else [""])
    assert not [value for name, value in trailers if name == "Proof"]
    assert parse_message(build_message("s", "", trailers)).trailers.get("Regression", ()) == (
        (line,) if line else ()
    )


@pytest.mark.parametrize("line", ["Task: x\n", " and more\n"])
def test_a_message_of_trailers_is_read_in_linear_time(line):
    began = time.thread_time()
    told = parse_message("s\n\nTask: x\n" + line * 60_000).trailers["Task"]
    assert len(told) == (60_001 if line.startswith("Task") else 1)
    assert time.thread_time() - began < 8
