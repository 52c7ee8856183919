"""The figures of the source code stay within their bounds, which may only fall."""

from house import broken_bounds, figures, read_bounds


def test_every_figure_is_within_its_bound():
    assert broken_bounds(figures(), read_bounds()) == []


def test_a_figure_above_its_bound_and_one_without_a_bound_are_named():
    found = {"lines": {"plan": 11, "new": 1, "run": 5}}

    assert broken_bounds(found, {"lines": {"plan": 10, "run": 5}}) == [
        "lines.plan is 11, its bound is 10",
        "lines.new is 1, its bound is None",
    ]
