"""Already red: a failure that was there before a change does not refuse it, and is shown.

It never excuses a task's own contracts. A gate that the task itself asks for may be its only
test, red until the work is done: it is excused where it names what fails, not for its exit code.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.gates import proof_cache
from runner.gates.base import Proved
from runner.gates.base_result import BaseResult, earlier, make_earlier
from runner.model import Finding, Severity, Verdict
from runner.process.base import Ended
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from runner.gates.base import Check, GateContext
    from runner.gates.check_run import CheckRun

_NOT_THERE = re.compile(
    r"no rule to make target|missing script|no such file|can't open file|not found|no module named"
    r"|no tests ran|cannot find|couldn't read|enoent|does not exist|could not read package\.json"
    r"|no makefile",
    re.IGNORECASE,
)
"""What a gate says whose subject does not exist yet: that is no failure to compare with."""
_UNSTARTED = frozenset({126, 127})
_SHOWN = 20
_ABBREVIATED = 9
_ITSELF = "exit code"


@dataclass(frozen=True, slots=True)
class Compared:
    """The failures of a check now against those of the tree before."""

    new: tuple[str, ...]
    old: tuple[str, ...]


def evaluate_failure(trial: CheckRun, bench: GateContext) -> Proved:
    """What a check that failed says, measured against the tree before the change."""
    compared = _compare_with_base(trial, bench)
    if compared is None:
        return Proved(trial.proof, trial.findings())
    if compared.new:
        return Proved(trial.proof, _with_new(trial, compared))
    return _excuse_known(trial, compared, bench)


def _compare_with_base(trial: CheckRun, bench: GateContext) -> Compared | None:
    """None where nothing excuses this check, or the tree before did not fail it."""
    if not _excusable(trial, bench):
        return None
    before = earlier(trial.check, bench, ())
    if before is None:
        return None
    if before.passed:
        _forget(trial.check, bench)
        return None
    found = compare_failures(before, make_earlier(trial, bench), others=bool(trial.check.task))
    if found and _is_own(trial.check, bench) and _says_little(found, before):
        return None
    return found


def _excusable(trial: CheckRun, bench: GateContext) -> bool:
    check = trial.check
    if bench.settings.strict or bench.on_base is None or not bench.changes:
        return False  # without changes the tree before is this one
    if trial.ran.ended is not Ended.EXITED:
        return False
    return bool(check.task) or check.kind == "gate"


def _is_own(check: Check, bench: GateContext) -> bool:
    own = {f"gate:{gate.name}" for gate in bench.task.gates}
    return not check.task and check.id in own


def _says_little(found: Compared, before: BaseResult) -> bool:
    """Whether all that is known is that it failed, or that its subject was not there yet."""
    return found.old == (_ITSELF,) or bool(_NOT_THERE.search(before.end))


def compare_failures(
    before: BaseResult, now: BaseResult, *, others: bool = False
) -> Compared | None:
    """New and old failures: by test, else by complaint, else by exit code; None: no comparison.

    A gate that says neither is compared by its exit code alone, as long as it could run before. Of
    `others`, the tests of another task, it is enough that they could not pass before either.
    """
    if now.failing and before.tests is not None:
        new = tuple(sorted(now.failing - before.failing))
        return Compared(new, tuple(sorted(now.failing & before.failing)))
    if others:
        return Compared((), (_ITSELF,))
    if now.failing:
        return None
    if now.complaints and before.complaints and now.exit == before.exit:
        new_ones = Counter(now.complaints) - Counter(before.complaints)
        old_ones = Counter(now.complaints) - new_ones
        return Compared(tuple(new_ones.elements()), tuple(old_ones))
    wordless = not now.complaints and not before.complaints
    same = wordless and now.exit == before.exit and now.exit not in _UNSTARTED
    if not same or (_NOT_THERE.search(before.end) and before.end != now.end):
        return None
    return Compared((), (_ITSELF,))


def _with_new(trial: CheckRun, compared: Compared) -> tuple[Finding, ...]:
    """The failure, its new parts first: the old ones are not this task's to mend."""
    failure, *rest = trial.findings()
    new = [redact(one) for one in compared.new[:_SHOWN]]
    heading = f"new since the change ({len(compared.new)}; {len(compared.old)} were there before):"
    detail = "\n".join([heading, *(f"  {one}" for one in new), failure.detail])
    return (replace(failure, detail=detail), *rest)


def _excuse_known(trial: CheckRun, compared: Compared, bench: GateContext) -> Proved:
    """A failure of which every part was there before."""
    first = _first_seen(trial.check, compared.old, bench)
    since = f", first seen red at {first[:_ABBREVIATED]}" if first else ""
    note = f"{_how_many(compared.old)} as before the change{since}"
    finding = Finding(
        check=trial.check.id,
        message=f"`{redact(trial.check.command)}`: {note}",
        severity=Severity.WARNING,
        hint="mend it in a task of its own; with --strict it refuses every task",
        detail="\n".join(redact(one) for one in compared.old[:_SHOWN]),
    )
    proof = replace(trial.proof, verdict=Verdict.KNOWN, note=note)
    return Proved(proof, (finding, *trial.notes()))


def _how_many(failures: tuple[str, ...]) -> str:
    if failures == (_ITSELF,):
        return "fails"
    return "1 failure" if len(failures) == 1 else f"{len(failures)} failures"


def _first_seen(check: Check, failures: tuple[str, ...], bench: GateContext) -> str:
    """The oldest commit at which one of these failures was seen; each is kept with its own."""
    key = _record(check, bench)
    known = {name: str(commit) for name, commit in proof_cache.load_entry(bench.kept, *key).items()}
    now = {name: known.get(name, bench.base) for name in failures}
    if now != known:
        proof_cache.remember(bench.kept, dict(now), *key)
    oldest = [commit for name, commit in known.items() if name in now]
    return oldest[0] if oldest else bench.base


def _forget(check: Check, bench: GateContext) -> None:
    """It is green on the base: what fails later is first seen then."""
    key = _record(check, bench)
    if proof_cache.load_entry(bench.kept, *key):
        proof_cache.remember(bench.kept, {}, *key)


def _record(check: Check, bench: GateContext) -> tuple[str, ...]:
    return ("first-seen", str(bench.place.shown), check.task, check.id, check.command)
