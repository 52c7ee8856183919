"""Whether the time something takes grows as its input does: so no slow machine fails a test."""

import time

_MORE = 8
_SLACK = 3
"""A square would take eight times more than a line does."""
_LEAST = 0.05
"""Seconds that are noise, whatever they are of."""


def grows_as_its_input(make, size):
    """Whether `make(size)()` takes at most in proportion longer when its input is larger.

    `make` prepares, what it returns is measured, in processor time, as the best of three.
    """
    small, large = (_took(make(each)) for each in (size, size * _MORE))
    return large < _MORE * _SLACK * max(small, _LEAST / _MORE)


def _took(act):
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        act()
        best = min(best, time.process_time() - began)
    return best
