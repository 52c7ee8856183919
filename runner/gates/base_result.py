"""Run a check on the tree before the change, once for each tree and command.

A failure that was there before does not refuse a change, and is shown. It never excuses a task's
own contracts. A gate that the task itself asks for may be its only test, red until the work is
done: it is excused where it names what fails, not for its exit code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.config.default_gates import is_declared
from runner.gates import proof_cache
from runner.gates.base import Proved
from runner.gates.check_run import find_assertion, try_check
from runner.gates.result_parsers import (
    complaints,
    is_cut,
    misfits,
    output_of,
    parse_results,
)
from runner.lazy_pattern import regex
from runner.model import Finding, Severity, Verdict
from runner.model.codec import Codec, ShapeError, table
from runner.model.words import COULD_NOT_RUN, UNRUN
from runner.process.base import Ended
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from runner.gates.base import Check, CheckResult, GateContext
    from runner.gates.check_run import CheckRun
    from runner.model import Change


class BaseResult(Struct, frozen=True):
    """The result of a check on another tree."""

    passed: bool
    exit: int
    tests: tuple[tuple[str, str, str], ...] | None
    """ID, outcome and file of each test; None if the tool named none."""
    complaints: Mapping[str, int]
    end: str = ""
    """End of its output."""
    cut: bool = False
    """Whether its output exceeds the limit: the rest is unknown."""
    reported: bool = False
    """Whether its tool wrote a test report: then all tests are known."""
    misfits: frozenset[tuple[str, int]] = frozenset()
    """Files and lines that did not compile, as named in its output."""
    unable: str = ""
    """Why it could not run: `program` or `tests`; empty if it could."""

    @property
    def failing(self) -> frozenset[str]:
        """The tests that failed there."""
        return frozenset(test for test, word, _ in self.tests or () if word in ("failed", "error"))

    @property
    def passing(self) -> tuple[tuple[str, str], ...]:
        """Id and file of the tests that passed there."""
        return tuple((test, file) for test, word, file in self.tests or () if word == "passed")


def earlier(check: Check, context: GateContext, changes: tuple[Change, ...]) -> BaseResult | None:
    """Run the check on the base with only `changes`; None if that is not possible."""
    if context.on_base is None:
        return None
    key = _key(check, context, changes)
    known = _read(proof_cache.load_entry(context.kept, *key))
    if known:
        return known
    before = replace(context, on_base=None, changes=changes)
    with context.on_base(changes):
        trial = try_check(replace(check, id=f"{check.id}-before"), before)
    # A run cut off shows nothing about the base, but every later run would trust it.
    if trial.ran.ended is not Ended.EXITED or context.cancelled.is_set():
        return None
    found = make_earlier(trial, context)
    proof_cache.remember(context.kept, table(found), *key)
    return found


def make_earlier(trial: CheckResult, context: GateContext) -> BaseResult:
    """Create the comparable result of one run."""
    results = trial.results or parse_results(output_of(trial.ran))
    tests = results.tests if results else None
    return BaseResult(
        passed=trial.passed,
        exit=trial.ran.exit,
        tests=None if tests is None else tuple((t.id, str(t.outcome), t.file) for t in tests),
        complaints=complaints(output_of(trial.ran), str(context.place.shown)),
        end=trial.ran.tail[-1000:],
        cut=is_cut(trial.ran),
        reported=trial.report.results is not None,
        misfits=misfits(output_of(trial.ran)),
        unable=_unable(trial),
    )


def _unable(trial: CheckResult) -> str:
    """Return how a check was unable to run, judged by exit code and test reports; else empty."""
    if trial.passed:
        return ""
    if trial.ran.exit in _UNSTARTED or _MADE_NOTHING.search(trial.ran.tail):
        return PROGRAM
    return TESTS if trial.report.ran_none else ""


def _key(check: Check, context: GateContext, changes: tuple[Change, ...]) -> tuple[str, ...]:
    made = (f"{one.path} {one.mode:o} {one.after}" for one in changes)
    fails = (*(("fails",) if check.fails else ()), *(("named",) if check.named else ()))
    place = (str(context.place.shown), context.place.start, context.base, context.place.beside)
    words = context.environment.get("PYTEST_ADDOPTS", "")
    return (
        "run",
        *place,
        check.kind,
        str(check.network),
        check.command,
        *sorted(made),
        *fails,
        words,
    )


_CODEC = Codec(lambda: {"Mapping": Mapping})


def _read(entry: dict[str, object]) -> BaseResult | None:
    """Read a cached result; None if its format differs from this version."""
    try:
        return _CODEC.read_exactly(BaseResult, entry)
    except ShapeError:
        return None


_NOT_THERE = regex(
    r"no rule to make target|missing script|no such file|can't open file|not found|no module named"
    r"|no tests ran|cannot find|couldn't read|enoent|does not exist|could not read package\.json"
    r"|no makefile",
    re.IGNORECASE,
)
"""Output of a gate whose subject does not exist yet: that is no failure to compare with."""
# How GNU make reports a rule's exit code; its own is 2 (job.c, child_error).
_MADE_NOTHING = regex(r"(?m)^g?make(?:\[\d+\])?: \*\*\* \[.*\] Error 12[67]$")
# Found but not executable, and not found (POSIX 2018, XCU 2.8.2).
_UNSTARTED = frozenset({126, 127})
_QUALIFIED = regex(r"[\w.]+\.\w+\.\w+")
"""Module, class and method of a test of unittest, which names no file."""
_FAILURES_SHOWN = 20
_ABBREVIATED = 9
_ITSELF = "exit code"
PROGRAM, TESTS = "program", "tests"
_UNABLE_HINTS = {
    PROGRAM: "install the program, or remove the gate from the settings",
    TESTS: "install what the tests need, or list it in .worktreeinclude, then: runner retry {}",
}
_TOO_MUCH = "too much output to tell new failures from old ones: make the command print less"


class Compared(Struct, frozen=True):
    """The failures of a check now against those of the tree before."""

    new: tuple[str, ...]
    old: tuple[str, ...]


def evaluate_failure(trial: CheckRun, context: GateContext) -> Proved:
    """Compare a failed check with the tree before the change."""
    if trial.check.kind == "gate" and (how := _unable(trial)):
        return _evaluate_unable(trial, how, context)
    compared = _compare_with_base(trial, context)
    if compared is None and (seen := _find_earlier_failures(trial, context)):
        compared = Compared((), seen)
    if compared is None or compared.new:
        why = _with_new(trial, compared) if compared else _incomparable(trial, context)
        return Proved(trial.proof, why, failing=_find_new_failures(trial, context))
    return _excuse_known(trial, compared, context)


def _evaluate_unable(trial: CheckRun, how: str, context: GateContext) -> Proved:
    """Return the result of a gate that could not run; it is excused if the base fails, too.

    Where the work is not a person's, and a test suite ran none of its tests, a person is asked.
    """
    refused = Proved(trial.proof, trial.findings())
    is_excusable = not (context.settings.proof.strict or _is_own(trial.check, context))
    if not (is_excusable and _was_unable(trial.check, how, context)):
        return refused
    asks = how == TESTS and context.changes and not context.origin.by_person
    finding = Finding(
        check=UNRUN,
        message=f"`{redact(trial.check.command)}` {_why_unable(trial, how)}",
        severity=Severity.QUESTION if asks else Severity.WARNING,
        hint=_UNABLE_HINTS[how].format(context.task.id),
        detail="\n".join(trial.ran.tail.splitlines()[-_FAILURES_SHOWN:]),
    )
    proof = replace(trial.proof, verdict=Verdict.SKIPPED, note=COULD_NOT_RUN)
    return Proved(proof, (finding, *trial.notes()))


def _was_unable(check: Check, how: str, context: GateContext) -> bool:
    """Return whether the check could not run on the base either, from cache or a new run."""
    if not context.changes:
        return how in proof_cache.load_entry(context.kept, *_record(check, context))
    before = earlier(check, context, ())
    found = before is not None and before.unable == how
    if found:
        proof_cache.remember(context.kept, {how: context.base}, *_record(check, context))
    return found


def _why_unable(trial: CheckRun, how: str) -> str:
    if how == PROGRAM:
        return f"{COULD_NOT_RUN}: its program is missing (exit code {trial.ran.exit})"
    message = next((find_assertion(one.message) for one in trial.failing if one.message), "")
    why = f" ({redact(message)})" if message else ""
    return f"{COULD_NOT_RUN}: none of its tests ran, with or without the change{why}"


def _find_earlier_failures(trial: CheckRun, context: GateContext) -> tuple[str, ...]:
    """Return a gate's failing tests if all were already known; empty otherwise.

    Only of gates that nobody configured, and where the task has a proof of its own: else it is
    there to find just them.
    """
    task, check = context.task, trial.check
    if context.changes or context.settings.proof.strict or trial.ran.ended is not Ended.EXITED:
        return ()
    proven = task.test_contracts or task.contracts
    if not (proven and is_declared(task, context.settings, check.id, check.command)):
        return ()
    now = make_earlier(trial, context)
    failing = frozenset() if now.cut and not now.reported else now.failing
    known = proof_cache.load_entry(context.kept, *_record(check, context))
    return tuple(sorted(failing)) if failing <= known.keys() else ()


def _find_new_failures(trial: CheckRun, context: GateContext) -> frozenset[str]:
    """Return file and ID of each test that fails since the change; empty if more may have failed.

    All tests must be named, and each that passed before must have run.
    """
    if not _excusable(trial, context) or trial.report.unfinished:
        return frozenset()
    now, before = make_earlier(trial, context), earlier(trial.check, context, ())
    if before is None or before.tests is None or now.tests is None or not now.reported:
        return frozenset()
    ran = {(test, file) for test, _, file in now.tests}
    if any(one.unloaded for one in trial.failing) or not ran.issuperset(before.passing):
        return frozenset()
    new = [(file, test) for test, file in ran if test in now.failing - before.failing]
    is_unique = all(file or _QUALIFIED.fullmatch(test) for file, test in new)
    return frozenset(f"{file}: {test}" for file, test in new) if is_unique else frozenset()


def _compare_with_base(trial: CheckRun, context: GateContext) -> Compared | None:
    """Compare a failure with the base; None if it cannot be excused or the base passes."""
    if not _excusable(trial, context):
        return None
    before = earlier(trial.check, context, ())
    if before is None:
        return None
    if before.passed:
        _forget(trial.check, context)
        return None
    found = compare_failures(before, make_earlier(trial, context), others=bool(trial.check.task))
    if found and _is_own(trial.check, context):
        is_bare = found.old == (_ITSELF,) or bool(_NOT_THERE.search(before.end))
        return None if is_bare else found
    return found


def _excusable(trial: CheckRun, context: GateContext) -> bool:
    check = trial.check
    if context.settings.proof.strict or context.on_base is None or not context.changes:
        return False  # without changes the tree before is this one
    if trial.ran.ended is not Ended.EXITED:
        return False
    return bool(check.task) or check.kind == "gate"


def _is_own(check: Check, context: GateContext) -> bool:
    own = {f"gate:{gate.name}" for gate in context.task.gates}
    return not check.task and check.id in own


def compare_failures(
    before: BaseResult, now: BaseResult, *, others: bool = False
) -> Compared | None:
    """Return new and old failures by test, complaint or exit code; None if they cannot be compared.

    A gate that says neither is compared by its exit code alone, as long as it could run before. Of
    `others`, the tests of another task, it is enough that they could not pass before either.
    """
    cut = before.cut or now.cut
    known = not cut or (before.reported and now.reported)
    if now.failing and before.tests is not None and known:
        new = tuple(sorted(now.failing - before.failing))
        return Compared(new, tuple(sorted(now.failing & before.failing)))
    if others:
        return Compared((), (_ITSELF,))
    if now.failing or cut:
        return None
    if now.complaints and before.complaints and now.exit == before.exit:
        # Counted, since a compiler may repeat a message for a file: an additional one is new, one
        # that only moved to another line is not (line numbers are removed).
        new_ones = Counter(now.complaints) - Counter(before.complaints)
        old_ones = Counter(now.complaints) - new_ones
        return Compared(tuple(new_ones.elements()), tuple(old_ones))
    wordless = not now.complaints and not before.complaints
    same = wordless and now.exit == before.exit and now.exit not in _UNSTARTED
    if not same or (_NOT_THERE.search(before.end) and before.end != now.end):
        return None
    return Compared((), (_ITSELF,))


def _incomparable(trial: CheckRun, context: GateContext) -> tuple[Finding, ...]:
    """Return the failure's findings, with a hint if its output is too long to compare."""
    failure, *rest = trial.findings()
    if is_cut(trial.ran) and _excusable(trial, context):
        failure = replace(failure, hint=_TOO_MUCH)
    return (failure, *rest)


def _with_new(trial: CheckRun, compared: Compared) -> tuple[Finding, ...]:
    """Return the failure with its new parts first, before those already present."""
    failure, *rest = trial.findings()
    new = [redact(one) for one in compared.new[:_FAILURES_SHOWN]]
    heading = (
        f"new failures since the change: {len(compared.new)} (already present: {len(compared.old)})"
    )
    detail = "\n".join([heading, *(f"  {one}" for one in new), failure.detail])
    return (replace(failure, detail=detail), *rest)


def _excuse_known(trial: CheckRun, compared: Compared, context: GateContext) -> Proved:
    """Return a result that excuses a failure already present before the change."""
    first = _first_seen(trial.check, compared.old, context)
    since = f", first seen at {first[:_ABBREVIATED]}" if first else ""
    note = f"{_how_many(compared.old)} already present before this change{since}"
    finding = Finding(
        check=trial.check.id,
        message=f"`{redact(trial.check.command)}`: {note}",
        severity=Severity.WARNING,
        hint="fix the failure in a separate task; with --strict, it rejects every task",
        detail="\n".join(redact(one) for one in compared.old[:_FAILURES_SHOWN]),
    )
    proof = replace(trial.proof, verdict=Verdict.KNOWN, note=note)
    return Proved(proof, (finding, *trial.notes()))


def _how_many(failures: tuple[str, ...]) -> str:
    if failures == (_ITSELF,):
        return "failure"
    return "1 failure" if len(failures) == 1 else f"{len(failures)} failures"


def _first_seen(check: Check, failures: tuple[str, ...], context: GateContext) -> str:
    """Return the first commit at which one of these failures was recorded."""
    key = _record(check, context)
    known = {
        name: str(commit) for name, commit in proof_cache.load_entry(context.kept, *key).items()
    }
    # Drop tests that no longer fail: if one fails again, it counts as first seen then. In order of
    # first sight: here the age of two commits is unknown.
    now = {name: commit for name, commit in known.items() if name in failures}
    now |= {name: context.base for name in failures if name not in known}
    if now != known:
        proof_cache.remember(context.kept, dict(now), *key)
    return next(iter(now.values()), context.base)


def _forget(check: Check, context: GateContext) -> None:
    """Forget an earlier failure, since the check passes on the base."""
    key = _record(check, context)
    if proof_cache.load_entry(context.kept, *key):
        proof_cache.remember(context.kept, {}, *key)


def _record(check: Check, context: GateContext) -> tuple[str, ...]:
    return ("first-seen", str(context.place.shown), check.task, check.id, check.command)
