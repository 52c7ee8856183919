"""Values that can be bound on import and nothing comes of it."""

from __future__ import annotations

import ast
import tracemalloc

import pytest

from runner.impact.calm import fold_constant, is_calm

FOLDED = {
    "'a' + 'b'": "ab",
    "'-' * 80": "-" * 80,
    "-(2 + 3) * 2": -10,
    "1 << 998": 1 << 998,
    "60 * 60 * 24": 86400,
    "1 / 2": 0.5,
}
UNTOLD = {
    "a text of three factors": "'x' * 9999 * 9999 * 9999",
    "factors one by one": "'x' * 99 * 99 * 99 * 99 * 99",
    "a number before a text": "999999999 * 'x'",
    "a number that is no float": "(1 << 998) * (1 << 998) / 3",
    "a sum that is no float": "(1 << 998) * (1 << 998) + 1.0",
    "numbers of each other": "*".join(["(1 << 998)"] * 40),
    "a shift": "1 << 99999999999",
    "a shift to the left of nothing": "1 << -1",
    "a zero below": "1 / 0",
    "a text and a number": "'a' + 1",
    "a text that is negative": "-'a'",
    "a width": "'%300000000d' % 1",
    "a sum without an end": "+".join(["'a'"] * 1500),
}


@pytest.mark.parametrize(("said", "value"), FOLDED.items(), ids=FOLDED)
def test_constants_come_to_what_python_computes(said, value):
    node = ast.parse(said, mode="eval").body
    assert fold_constant(node) == value
    assert is_calm(node)


@pytest.mark.parametrize("said", UNTOLD.values(), ids=UNTOLD)
def test_what_is_large_or_an_error_is_no_constant(said):
    node = ast.parse(said, mode="eval").body
    tracemalloc.start()
    value = fold_constant(node)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert value is None
    assert peak < 1_000_000


@pytest.mark.parametrize("what", ["a zero below", "a text and a number", "a shift", "a width"])
def test_what_raises_or_is_large_is_not_calm(what):
    assert not is_calm(ast.parse(UNTOLD[what], mode="eval").body)


@pytest.mark.parametrize("parts", [["a"] * 600, ["'a'"] * 1500], ids=["names", "texts"])
def test_a_value_of_too_many_parts_to_look_at_is_not_calm(parts):
    assert not is_calm(ast.parse("+".join(parts), mode="eval").body)
