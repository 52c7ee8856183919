"""What was measured of one file, and of all files of a project.

Which test ran which lines of which file, in rows of a bounded number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from runner.impact.python_blocks import ranges_of
from runner.model import Observed, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


Runs: TypeAlias = "dict[str, dict[str, set[int]]]"
"""Lines that ran, by path and then by test; a test without a name is the whole contract."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one file, numbered from 1."""

    executable: frozenset[int]
    ran: frozenset[int]


@dataclass(frozen=True, slots=True)
class Measured:
    """What the runs of one test contract, or of several, left."""

    runs: Runs = field(default_factory=dict)
    told: dict[str, Lines] = field(default_factory=dict)
    """Files whose tool itself says which of their lines are executable."""
    tools: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    """Why something could not be measured."""
    translated: frozenset[str] = frozenset()
    """Files that ran as something else, which nothing leads back to."""

    def ran(self, path: str) -> frozenset[int]:
        """All lines of a file that any test ran."""
        return frozenset().union(*self.runs.get(path, {}).values())


def together(measured: Iterable[Measured]) -> Measured:
    """Several measurements as one."""
    whole = Measured()
    tools: dict[str, str] = {}
    missing: dict[str, None] = {}
    translated: set[str] = set()
    for one in measured:
        for path, tests in one.runs.items():
            for test, lines in tests.items():
                whole.runs.setdefault(path, {}).setdefault(test, set()).update(lines)
        merge(whole.told, one.told)
        tools.update(one.tools)
        missing.update(dict.fromkeys(one.missing))
        translated |= one.translated
    said = tuple(sorted(tools.items())), tuple(missing)
    return Measured(whole.runs, whole.told, *said, frozenset(translated))


def merge(into: dict[str, Lines], more: dict[str, Lines]) -> None:
    """Add what another reading says of the same files."""
    for path, lines in more.items():
        known = into.get(path, Lines(frozenset(), frozenset()))
        into[path] = Lines(known.executable | lines.executable, known.ran | lines.ran)


# --- execution rows -------------------------------------------------------------------


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
