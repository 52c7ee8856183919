"""Which test ran which lines of which file, in rows of a bounded number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.impact.ranges import ranges_of
from runner.model import Observed, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.gates.coverage.lines import Measured

MOST_ROWS = 2000
"""Of one test contract; where there would be more, there is one row a file."""


def make_observed_rows(
    contract: str, measured: Measured, content: Callable[[str], bytes | None]
) -> tuple[Observed, ...]:
    """Rows in a fixed order: by path, then by test.

    None for a contract that runs more files than can be kept: a part of them would say that the
    others are not run.
    """
    if len(measured.runs) > MOST_ROWS:
        return ()
    each = sum(len(tests) for tests in measured.runs.values()) <= MOST_ROWS
    rows: list[Observed] = []
    for path in sorted(measured.runs):
        said = content(path)
        if said is None:  # gone since it ran
            continue
        digest = digest_of(said)
        tests = measured.runs[path] if each else {"": measured.ran(path)}
        rows += [
            Observed(contract, test, path, digest, ranges_of(lines))
            for test, lines in sorted(tests.items())
        ]
    return tuple(rows)
