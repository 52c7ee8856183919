"""What a check says on the tree before a change, asked once for each tree and command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.gates import proof_cache
from runner.gates.check_run import output_of, try_check
from runner.gates.result_parsers import complaints, parse_results
from runner.process.base import Ended

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.gates.base import Check, CheckResult, GateContext
    from runner.model import Change


@dataclass(frozen=True, slots=True)
class BaseResult:
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


def earlier(check: Check, bench: GateContext, changes: tuple[Change, ...]) -> BaseResult | None:
    """The check on the base with only `changes`; None where that cannot be asked, or has no end."""
    if bench.on_base is None:
        return None
    key = _key(check, bench, changes)
    known = _read(proof_cache.load_entry(bench.kept, *key))
    if known:
        return known
    before = replace(bench, on_base=None, changes=changes)
    with bench.on_base(changes):
        trial = try_check(replace(check, id=f"{check.id}-before"), before)
    if trial.ran.ended is not Ended.EXITED or bench.cancelled.is_set():
        return None
    found = make_earlier(trial, bench)
    proof_cache.remember(bench.kept, _to_document(found), *key)
    return found


def make_earlier(trial: CheckResult, bench: GateContext) -> BaseResult:
    """What there is to compare of one run."""
    results = trial.results or parse_results(output_of(trial.ran))
    tests = results.tests if results else None
    return BaseResult(
        passed=trial.passed,
        exit=trial.ran.exit,
        tests=None if tests is None else tuple((t.id, str(t.outcome), t.file) for t in tests),
        complaints=complaints(output_of(trial.ran), str(bench.place.shown)),
        end=trial.ran.tail[-1000:],
    )


def _key(check: Check, bench: GateContext, changes: tuple[Change, ...]) -> tuple[str, ...]:
    made = (f"{one.path} {one.mode:o} {one.after}" for one in changes)
    fails = (*(("fails",) if check.fails else ()), *(("named",) if check.named else ()))
    place = (str(bench.place.shown), bench.place.start, bench.base)
    return ("run", *place, check.kind, str(check.network), check.command, *sorted(made), *fails)


def _to_document(found: BaseResult) -> dict[str, object]:
    return {
        "passed": found.passed,
        "exit": found.exit,
        "tests": found.tests,
        "complaints": dict(found.complaints),
        "end": found.end,
    }


def _read(said: dict[str, object]) -> BaseResult | None:
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
            return BaseResult(passed, code, rows, found, end)
    return None
