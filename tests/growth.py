"""Whether the time something takes grows as its input does: so no slow machine fails a test."""

import time

_MORE = 8
_SLACK = 3
"""A square would take eight times more than a line does."""
_LEAST = 0.05
"""Seconds that are noise, whatever they are of."""


def grows_as_its_input(make, size):
    """Whether `make(size)()` takes at most in proportion longer when its input is larger.

    `make` prepares, what it returns is measured, in processor time, as the best of up to three.
    """
    act = make(size)
    small = min(_took(act) for _ in range(3))
    bound = _MORE * _SLACK * max(small, _LEAST / _MORE)
    act = make(size * _MORE)
    return any(_took(act) < bound for _ in range(3))


def _took(act):
    began = time.process_time()
    act()
    return time.process_time() - began
