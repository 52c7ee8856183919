"""Run the checks that a proof can fail: stub first, then mutants, then red first.

A family of the registry. All run a contract of the task in the scratch tree on other bytes
(`base_result.earlier`). It knows nothing of how tests are written. The surviving mutants of a
project's own mutation testing are read from its report in the mutation-testing-elements schema
(github.com/stryker-mutator/mutation-testing-elements, mutation-testing-report-schema.json).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.gates import commands, contract_tests, script_targets
from runner.gates.base import Check, Proved, make_proof
from runner.gates.base_result import BaseResult, earlier
from runner.gates.mutation import red_first
from runner.gates.mutation.function_bodies import (
    code_of,
    find_changed_functions,
    is_left_out,
    stub_changes,
)
from runner.gates.mutation.red_first import find_tests_of_change, select_tests
from runner.gates.mutation.small_changes import SmallChange, find_small_changes
from runner.impact.python_blocks import spans_in
from runner.model import Change, Finding, Proof, ProvenBy, Severity, Verdict
from runner.model.grades import STUB_UNKNOWN, is_code, proof_kind
from runner.secrets.redact import redact
from runner.text.foreign_documents import parse_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from runner.gates.base import GateContext


MOST_CHANGES = 5
"""Small changes of one task; the stub is the first of six mutants."""
_ENOUGH = 3
"""Small changes that must have run before a lack of failures becomes a question."""
_LEAST_SECONDS, _MOST_SECONDS, _SHARE = 2.0, 10.0, 0.2
"""Time limits for small changes: a share of the proof, or the usual time for a small task."""
_SLOWER = 3.0
"""Run time limit of a stub or small change, as a multiple of its contract's time."""
_NAMES_SHOWN = 5
_LONGEST = 120
NO_BODY = "no function body to replace"
NO_TIME = "out of time"
NO_BUILD = "the stubbed code does not build"
OTHER_BUILD = "the tests may run a build that is part of the change"
NO_CONTRACT = "no test contract that must pass"


class CanFail(Struct):
    """The evidence on whether a task's contracts and gates can fail."""

    by: dict[str, BaseResult] = field(default_factory=dict)
    """IDs of the checks that fail on the stubbed tree."""
    passing: list[str] = field(default_factory=list)
    """Checks that pass although every changed function raises."""
    unmeasured: str = ""
    """Why the stub was not measured; empty if it was."""
    noticed: list[SmallChange] = field(default_factory=list)
    survived: list[SmallChange] = field(default_factory=list)
    unknown: int = 0
    left_out: int = 0
    """Number of small changes skipped for lack of time."""


def prove(check: Check, context: GateContext) -> Proved:
    """Ask what fails on other bytes, where the task's own proof is good so far.

    Returns findings where nothing fails, and a proof that names what was tried.
    """
    if context.on_base is None or not context.changes or context.refused or not _is_proven(context):
        return Proved(None)
    began = effects.monotonic()
    context = replace(context, tell=lambda _line: None)  # a failure is what is looked for
    asked = tuple(_checks_that_count(context))
    if not asked:
        return Proved(None)
    shown = CanFail()
    stubbed = stub_changes(context.changes, context.before_own_work, context.is_test)
    run_stub(shown, asked, stubbed, context)
    findings = tuple(_refuse_stub(check, shown, context))
    if shown.by and context.settings.proof.mutation != "off" and not context.origin.by_person:
        _run_small_changes(shown, asked, context)
        findings += tuple(_ask_about_small_changes(check, shown, context))
    if not findings:
        contracts = tuple(one for one in asked if one.kind == "test")
        findings += red_first.findings(contracts, context, stub_noticed=bool(shown.by))
    refused = any(one.refuses and not one.asks for one in findings)
    idle = frozenset[str]() if refused else _find_idle(shown, asked, context)
    reported = find_reported_survivors(context, [one.path for one in context.changes])
    proof = _proof(check, shown, findings, reported, effects.monotonic() - began)
    tells = not shown.unmeasured or proof.note not in ("", NO_BODY, NO_CONTRACT)
    return Proved(proof if tells else None, findings, unshown=idle)


def _is_proven(context: GateContext) -> bool:
    """Return whether the task's own proof is good; a gate that was red before does not matter."""
    return not any(
        one.verdict is Verdict.FAIL or (one.verdict is Verdict.KNOWN and one.kind != "gate")
        for one in context.proofs
    )


def _checks_that_count(context: GateContext) -> Iterator[Check]:
    """Yield the task's passing contracts and gates that can count as proof, best first."""
    own = contract_tests.checks(context.task, context.settings)
    gates = commands.checks(context.task, context.settings)
    proofs = {one.id: one for one in context.proofs}
    rows = []
    for one in (*own, *gates):
        proof = proofs.get(one.id)
        by = proof_kind(proof) if proof else None
        if proof is None or commands.FILES in one.command:
            continue
        if by in (ProvenBy.TESTS, ProvenBy.COMMAND):
            rank = (one.kind != "test", by is not ProvenBy.TESTS, proof.seconds)
            rows.append((rank, one))
    return (one for _, one in sorted(rows, key=lambda row: row[0]))


# --- stub first -----------------------------------------------------------------------


def run_stub(
    shown: CanFail, asked: tuple[Check, ...], stubbed: tuple[Change, ...], context: GateContext
) -> None:
    """Run the checks on the stubbed tree until one fails; gates where there is no contract."""
    contracts = tuple(one for one in asked if one.kind == "test" and not one.fails)
    gates = () if any(one.kind == "test" for one in asked) else asked
    if not stubbed:
        unread = next(_find_unread(context), "")
        shown.unmeasured = f"cannot parse {unread}" if unread else NO_BODY
        return
    if not (contracts or gates):
        shown.unmeasured = NO_CONTRACT
        return
    paths = {one.path for one in stubbed}
    for one in (*contracts, *gates):
        seen = _run_on_stub(with_patience(one, context), context, stubbed)
        if seen is None:
            shown.unmeasured = NO_TIME
        elif seen.passed:
            shown.passing.append(one.id)
        elif any(path in paths for path, _ in seen.misfits):
            shown.unmeasured = NO_BUILD
        else:
            shown.unmeasured = ""
            shown.by[one.id] = seen
            return
    if any(one.content and is_left_out(one.path, one.content) for one in context.changes):
        shown.unmeasured = shown.unmeasured or OTHER_BUILD


def _run_on_stub(
    check: Check, context: GateContext, stubbed: tuple[Change, ...]
) -> BaseResult | None:
    """Run the check on the stubbed tree, if possible only with the tests of the change."""
    if tests := find_tests_of_change(check, context):
        selected = select_tests(tests, context, stop=False)
        seen = earlier(check, selected, stubbed)
        if seen is not None and not seen.passed and seen.failing:
            ran = context.ran.get(check.id)
            is_all = ran and ran.results and len(ran.results.tests) == len(seen.tests or ())
            alone = None if is_all else earlier(check, selected, context.changes)
            if is_all or (alone is not None and alone.passed):  # none depends on another test
                return seen
    return earlier(check, context, stubbed)


def _find_unread(context: GateContext) -> Iterator[str]:
    """Yield the changed code files whose functions cannot be parsed."""
    code = [one for one in context.changes if one.content is not None and is_code(one.path)]
    for one in code:
        if not context.is_test(one.path) and code_of(one.path, one.content) is None:
            yield one.path


def with_patience(check: Check, context: GateContext) -> Check:
    """Return the check with a timeout derived from its duration on the proposal."""
    took = next((one.seconds for one in context.proofs if one.id == check.id), 0.0)
    hard = min(check.limits.hard, _SLOWER * took + 10.0)
    return replace(check, limits=replace(check.limits, hard=hard))


def _refuse_stub(check: Check, shown: CanFail, context: GateContext) -> Iterator[Finding]:
    if (
        shown.by
        or shown.unmeasured
        or {one.id for one in context.task.test_contracts}.isdisjoint(shown.passing)
    ):
        return
    found = [
        (one.path, function.line, function.name)
        for one in context.changes
        if one.content is not None and not context.is_test(one.path)
        if not is_left_out(one.path, one.content)
        for function in find_changed_functions(one.path, context.before(one.path), one.content)
    ]
    path, line, _ = found[0]
    names = [name for _, _, name in found]
    yield Finding(
        check=check.id,
        message=f"no test contract fails when {_join(names)} raises an exception",
        path=path,
        line=line,
        hint=f"add a test that calls {names[0]} and compares its result; a test contract must run"
        " it and report its failure in the exit code",
        detail="\n".join(f"still passes: {one}" for one in shown.passing),
    )


def _join(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    shown = ", ".join(names[:_NAMES_SHOWN])
    return f"{shown} or {more} more" if more > 0 else shown


# --- small changes --------------------------------------------------------------------


def _run_small_changes(shown: CanFail, asked: tuple[Check, ...], context: GateContext) -> None:
    """Run small changes of each function, until one is noticed, by what notices the stub."""
    ((id_, seen),) = shown.by.items()
    check = next(one for one in asked if one.id == id_)
    took = next((one.seconds for one in context.proofs if one.id == id_), 0.0)
    few = min((_ENOUGH + 1) * took, _MOST_SECONDS)
    left = max(_LEAST_SECONDS, few, _SHARE * sum(one.seconds for one in context.proofs))
    selected = red_first.select_tests(seen.failing, context)
    tried = 0
    for one in list_small_changes(context):
        if tried == MOST_CHANGES or context.cancelled.is_set():
            break
        if any((one.path, one.function) == (had.path, had.function) for had in shown.noticed):
            continue
        if took > left:
            shown.left_out += 1
            break
        tried += 1
        began = effects.monotonic()
        changes = one.apply_to_all(context.changes)
        ended = earlier(with_patience(check, context), selected, changes)
        left -= effects.monotonic() - began
        if ended is None or any(path == one.path for path, _ in ended.misfits):
            shown.unknown += 1
        elif not ended.passed:
            shown.noticed.append(one)
        else:
            shown.survived.append(one)


def list_small_changes(context: GateContext) -> Iterator[SmallChange]:
    """Yield the mutations of a task's code in the order of their trial.

    None to a line that is known not to run: the coverage of a task tells of those.
    """
    for one in context.changes:
        content = one.content
        if content is None or context.is_test(one.path) or is_left_out(one.path, content):
            continue
        spans = [
            span for row in context.observed if row.path == one.path for span in spans_in(row.lines)
        ]
        for change in find_small_changes(one.path, context.before(one.path), content):
            if not spans or any(first <= change.line <= last for first, last in spans):
                yield change


def _ask_about_small_changes(
    check: Check, shown: CanFail, context: GateContext
) -> Iterator[Finding]:
    if shown.noticed or len(shown.survived) < _ENOUGH:
        return
    first = shown.survived[0]
    rows = partial(format_change, context=context)
    yield Finding(
        check=check.id,
        message=f"no test notices any of {len(shown.survived)} small changes to "
        f"{_join(list(dict.fromkeys(one.function for one in shown.survived)))}",
        path=first.path,
        line=first.line,
        severity=Severity.QUESTION,
        hint="add a test that compares the result with the expected value",
        detail="\n".join(line for one in shown.survived for line in rows(one)),
    )


def format_change(one: SmallChange, context: GateContext) -> Iterator[str]:
    """Yield the changed line before and after, with its path and number."""
    content = context.after(one.path) or b""
    yield f"{one.path}:{one.line}"
    for sign, text in (("-", content), ("+", one.apply_to(content))):
        line = text.split(b"\n")[one.line - 1].decode("utf-8", "replace").strip()
        yield f"  {sign} {redact(line[:_LONGEST])}"


# --- what it comes to -----------------------------------------------------------------


def _find_idle(shown: CanFail, asked: tuple[Check, ...], context: GateContext) -> frozenset[str]:
    """Return the checks that have not been shown to fail on the stub or the base.

    Those after the first that can fail are worth no more than it, and do not run.
    """
    found: dict[str, str] = {}
    counted = {one.id for one in context.proofs if one.counts}
    for one in asked:
        if one.id in shown.by:
            break
        lost = (
            one.id not in counted and script_targets.can_fail(one.command, context.after) is False
        )
        if not lost and one.command not in found.values():  # a gate may repeat a contract
            seen = red_first.run_before(one, context)
            if seen is not None and not seen.passed:
                break
        found[one.id] = one.command
    return frozenset(found)


def _proof(
    check: Check,
    shown: CanFail,
    findings: tuple[Finding, ...],
    reported: tuple[str, ...],
    seconds: float,
) -> Proof:
    refused = any(one.refuses and not one.asks for one in findings)
    unknown = shown.unmeasured not in ("", NO_BODY, NO_CONTRACT)
    verdict = Verdict.SKIPPED if shown.unmeasured else Verdict.PASS
    parts = [f"{STUB_UNKNOWN}: {shown.unmeasured}" if unknown else shown.unmeasured]
    parts += [f"not noticed: {one.path}:{one.line}" for one in shown.survived]
    parts += ["the time limit stopped further mutants"] if shown.left_out else []
    parts += [f"mutation report: mutant survived at {one}" for one in reported[:_NAMES_SHOWN]]
    note = "; ".join(filter(None, parts))
    counts = {"stub": len(shown.by), "noticed": len(shown.noticed), "survived": len(shown.survived)}
    return make_proof(
        check,
        Verdict.FAIL if refused else verdict,
        note,
        code=int(refused),
        seconds=seconds,
        output=repr((counts, note)).encode(),
        counts=tuple(counts.items()),
    )


_REPORTS = ("mutation.json", "reports/mutation/mutation.json", "reports/mutation.json")
_UNNOTICED = frozenset({"Survived", "NoCoverage"})
_LARGEST_REPORT = 50_000_000
"""Maximum bytes of a report."""


def find_reported_survivors(context: GateContext, paths: Collection[str]) -> tuple[str, ...]:
    """Return `path:line` of each surviving mutant in these files from the proposal's report."""
    for place in _REPORTS:
        file = context.place.tree / context.place.start / place
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST_REPORT:
            continue
        return tuple(dict.fromkeys(_list_survivors(_parse_report(file.read_bytes()), paths)))
    return ()


def _parse_report(content: bytes) -> object:
    try:
        return parse_json(content)
    except ValueError:
        return None


def _list_survivors(report: object, paths: Collection[str]) -> Iterator[str]:
    files = report.get("files") if isinstance(report, dict) else None
    for path, row in files.items() if isinstance(files, dict) else ():
        mutants = row.get("mutants") if isinstance(row, dict) else None
        for one in mutants if path in paths and isinstance(mutants, list) else ():
            match one:
                case {"status": str(word), "location": {"start": {"line": int(line)}}}:
                    if word in _UNNOTICED:
                        yield f"{path}:{line}"
                case _:
                    pass
