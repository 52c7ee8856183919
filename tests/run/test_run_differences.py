import pytest

from runner.model import Coverage, Proof, Verdict
from runner.run.proof.inspection import Difference, differences


def proof(id_="TC-001", verdict=Verdict.PASS, code=0, **counts):
    return Proof(id_, "test", "x", verdict, code, 1.0, "sha256:1", counts=tuple(counts.items()))


def test_seconds_and_output_may_always_differ():
    other = Proof("TC-001", "test", "y", Verdict.PASS, 0, 9.0, "sha256:2")
    assert differences([proof()], [other]) == ()


@pytest.mark.parametrize(
    ("before", "now", "text", "worse"),
    [
        (proof(), proof(verdict=Verdict.FAIL, code=1), "was pass (exit 0), is fail (exit 1)", True),
        (proof(), proof(verdict=Verdict.FLAKY), "was pass, is flaky", False),
        (
            proof(verdict=Verdict.KNOWN, code=1),
            proof(),
            "was known (exit 1), is pass (exit 0)",
            False,
        ),
        (proof(passed=3), proof(passed=2), "was 3 passed, is 2 passed", True),
        (
            proof(passed=3),
            proof(passed=3, skipped=1),
            "was 3 passed, is 3 passed, 1 skipped",
            False,
        ),
        (proof(passed=3), proof(), "was 3 passed, is no counts", True),
    ],
)
def test_how_a_check_ended_and_what_it_counted(before, now, text, worse):
    assert differences([before], [now]) == (Difference("TC-001", text, worse),)


def test_checks_that_are_gone_or_new_are_said():
    found = differences([proof("TC-001")], [proof("TC-002")])
    assert [(one.check, one.worse) for one in found] == [("TC-001", False), ("TC-002", False)]


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ((84.9, 120), (84.0, 120), None),
        ((84.9, 120), (83.9, 120), ("was 84% of 120 lines, is 83% of 120 lines", False)),
        ((84.9, 120), (61.0, 130), ("was 84% of 120 lines, is 61% of 130 lines", True)),
        ((84.9, 120), None, ("was 84% of 120 lines, is not measured", True)),
        (None, (90.0, 10), ("was not measured, is 90% of 10 lines", False)),
    ],
)
def test_coverage_counts_in_whole_percent(before, now, said):
    covered = tuple(one and Coverage(*one, 70) for one in (before, now))
    found = differences([], [], covered)
    assert [(one.text, one.worse) for one in found] == ([said] if said else [])
