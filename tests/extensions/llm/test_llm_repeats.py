import pytest

from runner.implementers.agents.transcript import LOOP, Calls, ToolCall


def seen(letters):
    calls = Calls()
    for letter in letters:
        calls = calls.after(ToolCall(f"tool-{letter.lower()}", f"sha256:{letter}", letter))
    return calls


@pytest.mark.parametrize(
    "letters", ["", "A", "AA", "AAB", "AABAAC", "ABAB"[:3], "ABCABC", "ABAC", "ABCB"]
)
def test_what_goes_on_is_no_circle(letters):
    assert (seen(letters).repeated, seen(letters).finding) == ("", None)


@pytest.mark.parametrize("letters", ["AAA", "BAAA", "ABAB", "CABAB"])
def test_a_circle_is_seen_as_soon_as_it_closes(letters):
    assert seen(letters[:-1]).finding is None
    finding = seen(letters).finding
    assert finding.check == LOOP
    assert finding.refuses
    assert "tool-a A" in finding.message
