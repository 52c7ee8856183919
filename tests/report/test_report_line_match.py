from hypothesis import given, settings
from hypothesis import strategies as st

from runner.report.line_match import hunks, stretches

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=30)


def rebuilt(old, new):
    """Both texts, put together again from the stretches."""
    found = stretches(old, new)
    assert [one.kind for one in found if one.kind == "equal"] == [
        "equal" for one in found if old[one.i1 : one.i2] == new[one.j1 : one.j2]
    ]
    return (
        [line for one in found for line in old[one.i1 : one.i2]],
        [line for one in found for line in new[one.j1 : one.j2]],
    )


@given(LINES, LINES)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_stretches_cover_both_texts_in_order(old, new):
    assert rebuilt(old, new) == (old, new)


@given(LINES, LINES)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_hunks_hold_every_change_once(old, new):
    found = stretches(old, new)
    in_hunks = [one for hunk in hunks(found) for one in hunk if one.kind == "replace"]
    assert in_hunks == [one for one in found if one.kind == "replace"]


def test_a_moved_block_keeps_what_stayed_around_it():
    old = ["one", "two", "three", "four", "five"]
    new = ["one", "three", "four", "two", "five"]
    equal = [one for one in stretches(old, new) if one.kind == "equal"]
    assert [old[one.i1 : one.i2] for one in equal] == [["one"], ["three", "four"], ["five"]]


def test_a_hunk_has_three_lines_around_a_change_and_joins_near_ones():
    old = [str(n) for n in range(40)]
    near = ["x" if line in {"10", "16"} else line for line in old]
    far = ["x" if line in {"10", "30"} else line for line in old]
    assert [(h[0].i1, h[-1].i2) for h in hunks(stretches(old, near))] == [(7, 20)]
    assert [(h[0].i1, h[-1].i2) for h in hunks(stretches(old, far))] == [(7, 14), (27, 34)]


def test_texts_made_to_be_slow_come_to_an_end():
    """difflib alone needs minutes for each of these."""
    size = 60_000
    pairs = (
        (["x"] * size, ["y", "x"] * (size // 2)),
        ([str(n % 500) for n in range(size)], [str(n * 7 % 500) for n in range(size)]),
        ([str(n) for n in range(size)], [str(n) for n in reversed(range(size))]),
    )
    for old, new in pairs:
        assert rebuilt(old, new) == (old, new)
