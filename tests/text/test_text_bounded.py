"""What constants come to is computed where it is small, and nothing large on the way to it."""

from __future__ import annotations

import ast
import tracemalloc

import pytest

from runner.text.literals import LONGEST, TooLarge, combine, join, replace, write

SMALL = {
    "'a' + 'b'": "ab",
    "b'a' * 3": b"aaa",
    "3 * 'a'": "aaa",
    "'a' * -1": "",
    "'%05d of %s' % 7": None,
    "'%05d' % 7": "00007",
    "'%.2f' % 1": "1.00",
    "b'%5s' % b'a'": b"    a",
    "7 // 2": 3,
    "1 << 998": 1 << 998,
    "'-' * 80": "-" * 80,
}
LARGE = (
    "'%300000000d' % 1",
    "'%9999999999d' % 1",
    "'%-300000000d' % 1",
    "'%.300000000f' % 1",
    "'%%%300000000s' % 'a'",
    "'%*d' % 300000000",
    "b'%300000000d' % 1",
    "'a' * 300000000",
    "300000000 * b'a'",
    "1 << 3000000000",
    "(1 << 9998) * (1 << 9998)",
    f"'{'a' * 6000}' + '{'a' * 6000}'",
)


def computed(said):
    node = ast.parse(said, mode="eval").body
    sides = (eval(compile(ast.Expression(one), "", "eval")) for one in (node.left, node.right))
    return combine(type(node.op), *sides)


@pytest.fixture
def of_little_memory():
    """Less than a megabyte is used at any moment of the test."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize(("said", "value"), SMALL.items(), ids=SMALL)
def test_small_results_are_what_python_computes(said, value):
    if value is None:
        with pytest.raises(TypeError):
            computed(said)
    else:
        assert computed(said) == value


@pytest.mark.usefixtures("of_little_memory")
@pytest.mark.parametrize("said", LARGE, ids=[one[:30] for one in LARGE])
def test_large_results_are_refused_before_they_are_computed(said):
    with pytest.raises(TooLarge):
        computed(said)


@pytest.mark.parametrize("pair", [("a", 1), (None, 1), (1, "a"), ("a", b"a")])
def test_what_is_no_pair_is_a_type_error(pair):
    with pytest.raises(TypeError):
        combine(ast.Add, *pair)


def test_joins_and_replacements_are_counted_first():
    assert join("-", ["a", "b"]) == "a-b"
    assert replace("abca", "a", "xx") == "xxbcxx"
    assert replace("abca", "a", "xx", 1) == "xxbca"
    for large in (
        lambda: join("-" * 5000, ["a"] * 5000),
        lambda: replace("a" * 5000, "a", "b" * 5000),
        lambda: replace("a" * 5000, "", "b" * 5000),
        lambda: write(int("f" * 9000, 16)),
        lambda: write(b"\\" * LONGEST),
    ):
        with pytest.raises(TooLarge):
            large()
