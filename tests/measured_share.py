"""Of the tests of a file a share is measured for coverage: those that still tell something new.

A line takes two to three times as long while it is measured, and most tests walk lines that others
of their file have walked. What is told as covered is so; a few lines that are, are not told.
"""

from collections import Counter
from contextlib import contextmanager

from coverage import Coverage

QUIET = 2
"""Measured tests in a row, of one file, that told no line that was not known."""
ONE_IN = 8
"""Of the tests behind them, one in so many is measured, and each again once it told some."""


class MeasuredShare:
    """Says which tests are measured, from what those before them told."""

    def __init__(self):
        self._silent = Counter()

    @contextmanager
    def of(self, item):
        """Run a test within, measured or not."""
        coverage = Coverage.current()
        # The name is its own and not promised: where it is gone, every test is measured.
        told = getattr(getattr(coverage, "_collector", None), "data", None)
        if told is None or item.get_closest_marker("no_cover"):
            yield
            return
        file = item.nodeid.partition("::")[0]
        if self._silent[file] >= QUIET and self._silent[file] % ONE_IN:
            self._silent[file] += 1
            coverage.stop()
            try:
                yield
            finally:
                coverage.start()
            return
        before = _lines(told)
        yield
        self._silent[file] = 0 if _lines(told) > before else self._silent[file] + 1


def _lines(told):
    return sum(map(len, told.values()))


@contextmanager
def measured_once(worker):
    """Read all tests within: every worker imports the same modules, and the first measures it."""
    coverage = Coverage.current() if worker != "gw0" else None
    if coverage is not None:
        coverage.stop()
    try:
        yield
    finally:
        if coverage is not None:
            coverage.start()
