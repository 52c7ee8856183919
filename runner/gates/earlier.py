"""What a check says on the tree before a change, asked once for each tree and command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.gates import memory
from runner.gates.complaints import complaints
from runner.gates.printed import printed_results
from runner.gates.trial import output_of, tried
from runner.process.base import Ended

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.gates.base import Bench, Check
    from runner.gates.trial import Trial
    from runner.model import Change


@dataclass(frozen=True, slots=True)
class Earlier:
    """How a check ended on another tree."""

    passed: bool
    exit: int
    tests: tuple[tuple[str, str, str], ...] | None
    """Id, outcome and file of each test; None where the tool named none."""
    complaints: Mapping[str, int]
    end: str = ""
    """The last of its output."""

    @property
    def failing(self) -> frozenset[str]:
        """The tests that failed there."""
        return frozenset(test for test, word, _ in self.tests or () if word in ("failed", "error"))

    @property
    def passing(self) -> tuple[tuple[str, str], ...]:
        """Id and file of the tests that passed there."""
        return tuple((test, file) for test, word, file in self.tests or () if word == "passed")


def earlier(check: Check, bench: Bench, changes: tuple[Change, ...]) -> Earlier | None:
    """The check on the base with only `changes`; None where that cannot be asked, or has no end."""
    if bench.on_base is None:
        return None
    key = _key(check, bench, changes)
    known = _read(memory.recalled(bench.kept, *key))
    if known:
        return known
    before = replace(bench, on_base=None, changes=changes)
    with bench.on_base(changes):
        trial = tried(replace(check, id=f"{check.id}-before"), before)
    if trial.ran.ended is not Ended.EXITED or bench.cancelled.is_set():
        return None
    found = seen_in(trial, bench)
    memory.remember(bench.kept, _written(found), *key)
    return found


def seen_in(trial: Trial, bench: Bench) -> Earlier:
    """What there is to compare of one run."""
    results = trial.results or printed_results(output_of(trial.ran))
    tests = results.tests if results else None
    return Earlier(
        passed=trial.passed,
        exit=trial.ran.exit,
        tests=None if tests is None else tuple((t.id, str(t.outcome), t.file) for t in tests),
        complaints=complaints(output_of(trial.ran), str(bench.place.shown)),
        end=trial.ran.tail[-1000:],
    )


def _key(check: Check, bench: Bench, changes: tuple[Change, ...]) -> tuple[str, ...]:
    made = (f"{one.path} {one.mode:o} {one.after}" for one in changes)
    fails = (*(("fails",) if check.fails else ()), *(("named",) if check.named else ()))
    place = (str(bench.place.shown), bench.place.start, bench.base)
    return ("run", *place, check.kind, str(check.network), check.command, *sorted(made), *fails)


def _written(found: Earlier) -> dict[str, object]:
    return {
        "passed": found.passed,
        "exit": found.exit,
        "tests": found.tests,
        "complaints": dict(found.complaints),
        "end": found.end,
    }


def _read(said: dict[str, object]) -> Earlier | None:
    """What was kept, where it still has the shape of this version."""
    match said:
        case {
            "passed": bool(passed),
            "exit": int(code),
            "tests": list() | None as tests,
            "complaints": dict(found),
            "end": str(end),
        }:
            rows = None if tests is None else tuple((str(a), str(b), str(c)) for a, b, c in tests)
            return Earlier(passed, code, rows, found, end)
    return None
