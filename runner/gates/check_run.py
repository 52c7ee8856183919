"""One run of a check: its exit, the result of each test, and its side effects."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.gates.base import Fitted, Proved, failures_of, name_command, proof_of
from runner.gates.junit import Reports, TestOutcome, TestResults
from runner.gates.proof_cache import PassedCommand
from runner.gates.result_parsers import (
    CLOSING,
    output_of,
    parse_results,
    ran_no_test,
    read_counts,
    without_colours,
)
from runner.gates.test_reports import expects, not_taken, with_reports
from runner.gates.touched_files import OpenWatch, TouchedFiles, files, find_touched
from runner.lazy_pattern import regex
from runner.model import Finding, Network, ProvenBy, Severity, Verdict
from runner.model.grades import is_document
from runner.model.work import STANDS
from runner.plan.shell.selection import find_pytest_words
from runner.plan.shell.shell_commands import ends_with_test_tool
from runner.process.base import Ended
from runner.secrets.redact import redact
from runner.text.wording import join_few

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.gates.base import Check, GateContext
    from runner.gates.junit import TestResult
    from runner.gates.proof_cache import Key
    from runner.model import Proof
    from runner.process.base import Place, Ran

_MOST_TESTS = 20
_LONGEST = 600
_LONGEST_LINE = 160
_PYTHON_PLACE = regex(r'File "([^"]+)", line (\d+)')
_PLACE = regex(r"(?<![\w:])(?:file://)?([\w./@+-]{1,300}\.[a-z]{1,4}:\d{1,9})")
"""`tests/a.test.ts:5` of pytest, node, jest, go and cargo; without the column after it."""
_RAISED = regex(r"\[?[\w.]*(?:Error|Exception|Failure)\b|assertion ")
_MOST_SAID = 64 << 10
"""Characters of a test's message that are searched for its line."""
_SIGNALLED = 128
_NOT_STARTED = 126
EXPECTED = "failures are expected"
"""Note on a test contract that must fail."""
_NEVER_ELSE = regex(r"\b(?:SyntaxError|IndentationError|TabError|ModuleNotFoundError)\b")
"""Reasons for which a test file can never be collected."""
_NAME_TESTS = "name existing tests in the command, and run them even if an earlier step fails"
_NO_TESTS = 5
"""Exit code of pytest, and unittest since Python 3.12, if they find no test."""
_OF_THE_TASK = "RUNNER_"
"""Prefix of variables that differ between tasks: commands that use one are never equal."""
_INSTALLED = ("pyvenv.cfg", ".package-lock.json", "lib/*/site-packages/*.dist-info/RECORD")
"""Files in an ignored folder of the repository that change with each installation."""


class CheckRun(Struct, frozen=True):
    """A check that ran once."""

    check: Check
    ran: Ran
    proof: Proof
    results: TestResults | None
    """Result of each test, as the tool reported or printed it."""
    touched: TouchedFiles
    context: GateContext | None = None
    """Context in which it ran."""
    flaky: tuple[str, ...] = ()
    """Tests that failed and passed when the command itself retried them."""
    printed_failures: int = 0
    """Failing tests in its output that no report has."""
    unnamed: bool = False
    """Whether a tool ran that names its tests only on request."""
    report: Reports = field(default_factory=Reports)
    """Reports of its test programs."""
    tool_expected: bool = False
    """Whether the named tool always reports how many tests ran."""
    unopened: tuple[str, ...] = ()
    """Files that a gate did not open; empty if unknown."""
    unopened_kinds: tuple[str, ...] = ()
    """Kinds of files of which a gate opened none."""

    @property
    def passed(self) -> bool:
        """Whether the check may count as passed."""
        return self.proof.verdict is Verdict.PASS

    @property
    def failing(self) -> tuple[TestResult, ...]:
        """The tests that failed."""
        return self.results.failing if self.results else ()

    @property
    def ran_no_test(self) -> bool:
        """Whether the tool says that not one test ran."""
        return ran_no_test(self.proof.counts)

    def findings(self) -> tuple[Finding, ...]:
        """Return why the check failed, and further notes."""
        return (*self._failures(), *self.notes())

    def notes(self) -> tuple[Finding, ...]:
        """Return notes on modified files, leftover processes and failures found in the output."""
        shown = (*self.touched.findings(self.check.id), *self._find_printed())
        count = self.ran.left_behind
        if not count:
            return shown
        many = "1 process" if count == 1 else f"{count} processes"
        left = Finding(
            check=self.check.id,
            message=f"the runner stopped {many} that the command left running",
            severity=Severity.NOTE,
            hint="have the command stop what it starts",
        )
        return (*shown, left)

    @property
    def printed_note(self) -> str:
        """Note on failures in the output of a passed test contract; else empty."""
        if not (self.printed_failures and self.check.kind == "test" and self.passed):
            return ""
        many = "a test" if self.printed_failures == 1 else f"{self.printed_failures} tests"
        return f"the output reports that {many} failed"

    def _find_printed(self) -> Iterator[Finding]:
        if self.printed_note:
            yield Finding(
                check=self.check.id,
                message=f"{self.printed_note}, but the exit code is 0",
                severity=Severity.WARNING,
                hint="if tests failed, have the command return their exit code",
            )

    def _failures(self) -> tuple[Finding, ...]:
        if self.passed:
            return ()
        (plain,) = failures_of(self.check, self.ran, self.proof, self.context)
        message = self._message(plain)
        hint = _NAME_TESTS if message == self._none_ran else plain.hint
        return (replace(plain, message=message, hint=hint, detail=self._detail(plain)),)

    @property
    def _none_ran(self) -> str:
        return f"`{name_command(self.check)}` ran no test"

    def _message(self, plain: Finding) -> str:
        command = name_command(self.check)
        crashed = self.ran.exit - _SIGNALLED
        if self.ran.ended is Ended.EXITED and crashed in set(signal.Signals):
            return f"`{command}` crashed with {signal.Signals(crashed).name}"
        if expects(self.check):
            return f"`{command}` must fail, but none of its tests failed"
        count = _count_failed(dict(self.proof.counts))
        if self.ran.passed and count:
            many = "a test" if count == 1 else f"{count} tests"
            return f"`{command}` ended with exit code 0 although {many} failed"
        if self.ran.passed or (self.ran_no_test and self.ran.exit == _NO_TESTS):
            return self._none_ran
        return plain.message

    def _detail(self, plain: Finding) -> str:
        place = self.context.place if self.context else None
        tops = (place.tree, place.shown) if place else ()
        starts = (place.start, "") if place else ()
        roots = tuple(f"{top}/{start}" for start in starts for top in tops)
        tests = [format_test(test, roots) for test in self.failing[:_MOST_TESTS]]
        more = len(self.failing) - _MOST_TESTS
        if more > 0:
            tests.append(f"… and {more} more")
        return "\n".join([*tests, plain.detail]) if tests else plain.detail


def format_test(test: TestResult, roots: tuple[str, ...] = ()) -> str:
    """Format a failed test: ID, outcome, place and assertion in one line, its message below.

    Paths below one of the `roots` are shown relative to it.
    """
    message = test.message.strip()
    for root in roots:
        message = message.replace(root, "")
    text = message if len(message) <= _LONGEST else message[:_LONGEST] + " …"
    place, why = find_place(message), find_assertion(message)
    if not place and test.file:  # it could not be loaded, say: then it is about the whole file
        place, why = f"{test.file}:1", why or "cannot be loaded"
    at = f" at {place}" if place else ""
    head = f"{test.id} {test.outcome}{at}{f': {why}' if why else ''}"
    return "\n    ".join([head, *text.splitlines()])


def find_place(message: str) -> str:
    """Return the place of a failure, as `tests/test_a.py:5`; empty if there is none.

    Places outside the project (absolute paths) count only where there is no other.
    """
    if len(message) > _MOST_SAID:  # a stack ends it, or begins it
        message = f"{message[: _MOST_SAID // 2]}\n{message[-_MOST_SAID // 2 :]}"
    stack = [f"{path}:{line}" for path, line in _PYTHON_PLACE.findall(message)]
    others = [found for found in _PLACE.findall(message) if "node_modules/" not in found]
    places = [*reversed(stack), *others]
    inside = (place for place in places if not place.startswith("/"))
    return next(inside, places[0] if places else "")


def find_assertion(message: str) -> str:
    """Return the failed assertion in one line: `AssertionError: 3 != 2`."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    raised = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
    named = raised or [line for line in lines if _RAISED.match(line)]
    return (named or lines or [""])[0][:_LONGEST_LINE]


def try_or_stand(
    check: Check,
    context: GateContext,
    fit: Callable[[], Fitted | None] = lambda: None,
    ended: CheckRun | None = None,
) -> CheckRun:
    """Run a check, or return its result for an equal command and tree from earlier in the run.

    A task's own tests run where its lines are counted: what an other run measured is gone.
    `ended` is how it ended where it ran just now: that counts, whatever others found meanwhile.
    """
    memory = context.memory
    key = standing_key(check, context) if memory is not None else None
    if memory is None or key is None:
        return ended or try_check(check, context, fit())
    measured = check.kind == "test" and not check.task and context.task.writes_anything
    known = None if measured or ended else memory.find(key)
    if known is None and not ended and check.kind == "gate":
        known = memory.find_here(context.place, key)
    if known is not None:
        return _stand(check, context, known)
    clean = memory.is_clean(context.place)
    trial = ended or try_check(check, context, fit())
    if trial.passed and not (trial.flaky or trial.touched.changed or trial.ran.left_behind):
        report, expected = trial.report, trial.tool_expected
        passed = PassedCommand(context.task.id, trial.ran, report, expected, trial.proof.log)
        memory.keep_here(context.place, key, passed)
        if clean and not trial.touched.left:
            memory.keep(key, passed)
    return trial


def reuse_result(check: Check, command: str, context: GateContext) -> CheckRun | None:
    """Return a check's result by another command's, which ran the same in this very proof."""
    memory = context.memory
    key = standing_key(replace(check, command=command), context) if memory else None
    known = memory.find_here(context.place, key) if memory and key else None
    return None if known is None else _stand(check, context, known)


def standing_key(check: Check, context: GateContext) -> Key | None:
    """Return the key under which one of two runs is enough; None if both must run."""
    reaches = check.network is not Network.NO or context.known_secrets or context.task.uses
    if reaches or not context.tree or _OF_THE_TASK in check.command:
        return None
    limits = check.limits
    bounds = (limits.memory, limits.together, limits.processes, limits.file_size, limits.cpu)
    walls = (context.sandbox.name, context.place.start, check.named)
    return (context.tree, check.command, *walls, *bounds, *_installed(context.place))


def _installed(place: Place) -> Iterator[object]:
    for share in place.shares:
        folder = place.shown / share
        for pattern in _INSTALLED:
            for file in sorted(folder.glob(pattern)):
                # By ctime: an installer may set any mtime (utimensat(2)), but never the ctime.
                found = file.stat()
                yield (file.name, found.st_ino, found.st_size, found.st_ctime_ns)


def _stand(check: Check, context: GateContext, known: PassedCommand) -> CheckRun:
    """Return the result of a check from an earlier passing run of its command."""
    ran = replace(known.ran, log=None)
    trial = evaluate_run(check, ran, context, known.report, TouchedFiles(), expected=known.expected)
    cached = f"{STANDS}{known.task}'s proof"
    note = f"{trial.proof.note}; {cached}" if trial.proof.note else cached
    return replace(trial, proof=replace(trial.proof, note=note, log=known.log))


def try_check(check: Check, context: GateContext, fitted: Fitted | None = None) -> CheckRun:
    """Run a check once, with its tool made to write down each test."""
    before = files(context)
    listed = before[0] if check.kind == "gate" and context.kept else {}
    every = (above + name for above, names in listed.items() for name in names)
    is_python = find_pytest_words(check.command) is not None
    with OpenWatch((one for one in every if is_python or is_document(one)), context.place) as watch:
        if context.runs_no_program(check):
            ran, report, expected = context.run(check), Reports(), False
        else:
            ran, report, expected = _run_reporting(
                check, context, fitted or Fitted(check.command, {})
            )
    done = find_touched(before, context)
    _hear_of_touched(done, context)
    trial = evaluate_run(check, ran, context, report, done, expected=expected)
    return replace(trial, unopened=watch.unopened, unopened_kinds=watch.kinds)


def _hear_of_touched(done: TouchedFiles, context: GateContext) -> None:
    if context.memory is not None and done.left:
        context.memory.note_left(context.place)
    if done.changed and context.on_base:
        with context.on_base(()):
            pass  # leaving it puts the proposal back for the checks after this one


def _run_reporting(check: Check, context: GateContext, fitted: Fitted) -> tuple[Ran, Reports, bool]:
    """Run it with its tools made to write down each test; whether one of them always does."""
    reporting = with_reports(check, context, fitted)
    reporting.clear()
    ran = context.run(check, reporting.fitted)
    if not_taken(ran):
        reporting.clear()
        ran = context.run(check, reporting.plain)
    return ran, reporting.hear(context), reporting.expected


def evaluate_run(
    check: Check,
    ran: Ran,
    context: GateContext,
    report: Reports,
    done: TouchedFiles,
    *,
    expected: bool = False,
) -> CheckRun:
    """Evaluate a run; it passes only if exit code, tests and counts agree.

    `expected`: the tool that the command names must have reported something.
    """
    printed = _count_printed(check, ran)
    results = _clean(report.results, context.known_secrets)
    written = results
    if written is None and not ran.passed:
        written = parse_results(output_of(ran))
    counts = _counts(report, printed)
    proof = proof_of(check, ran, context, tuple(counts.items()))
    silent = not counts and (expected or bool(report.unfinished))
    empty = ran_no_test(proof.counts) or (ran.passed and silent)
    failed = report.failed if report else _count_closing_failures(check, ran)
    if expects(check):
        verdict = _as_expected(check, ran, failed, report, silent=silent)
        proof = replace(proof, verdict=verdict, note=EXPECTED, by=_proof_kind(verdict, failed))
    elif (check.kind == "test" and empty) or failed:
        proof = replace(proof, verdict=Verdict.FAIL)
    untold = bool(ran.passed and ran.tail) and not (report or failed)
    text = _count_failed(dict(_read(ran))) if untold else 0
    return CheckRun(
        *(check, ran, proof, written, done, context, report.flaky, text, report.unnamed),
        report=report,
        tool_expected=expected,
    )


def _as_expected(check: Check, ran: Ran, failed: int, report: Reports, *, silent: bool) -> Verdict:
    """Return the verdict on a check that expects failure, by its `!` prefix or its exit code."""
    if ran.ended is not Ended.EXITED or silent or ran.exit >= _NOT_STARTED:
        return Verdict.FAIL
    ended = ran.exit != 0 if check.fails else ran.passed
    met = failed if report else ended
    return Verdict.PASS if met and (check.fails or ended) else Verdict.FAIL


def _proof_kind(verdict: Verdict, failed: int) -> ProvenBy | None:
    if verdict is not Verdict.PASS:
        return None
    return ProvenBy.TESTS if failed else ProvenBy.COMMAND


def _read(ran: Ran) -> tuple[tuple[str, int], ...]:
    return read_counts(without_colours(ran.tail))


def _count_printed(check: Check, ran: Ran) -> dict[str, int]:
    """Return the test counts in the output; failures that do not count are left out."""
    if not ran.tail:
        return {}
    counts = dict(_read(ran))
    counted = check.kind != "test" or not ran.passed or _count_closing_failures(check, ran)
    return {} if _count_failed(counts) and not counted else counts


def _count_closing_failures(check: Check, ran: Ran) -> int:
    """Count the failures in the last lines of a test tool that ends the command."""
    if check.kind != "test" or not (ran.tail and ends_with_test_tool(check.command)):
        return 0
    last = [line for line in ran.tail.rstrip().splitlines() if line.strip()][-CLOSING:]
    return _count_failed(dict(read_counts(without_colours("\n".join(last)))))


def _clean(results: TestResults | None, known: tuple[str, ...]) -> TestResults | None:
    """Return the results with secrets redacted."""
    if results is None:
        return None
    return TestResults(
        tuple(
            replace(test, id=redact(test.id, known), message=redact(test.message, known))
            if test.bad
            else replace(test, message="")
            for test in results.tests
        )
    )


def _count_failed(counts: dict[str, int]) -> int:
    return sum(counts.get(word, 0) for word in ("failed", "failures", "error", "errors"))


def _counts(report: Reports, printed: dict[str, int]) -> dict[str, int]:
    """Return the reported counts, plus the number of deselected tests from the output."""
    if not report:
        return printed
    kept = {"deselected": printed["deselected"]} if printed.get("deselected") else {}
    return {**report.counts, **kept}


def may_be_chance(trial: CheckRun) -> bool:
    """Return whether a failed check could pass when it runs again."""
    if trial.ran.ended is not Ended.EXITED or trial.ran_no_test:
        return False
    certain = all(
        test.outcome is TestOutcome.ERROR and _NEVER_ELSE.search(test.message)
        for test in trial.failing
    )
    return not (trial.failing and certain)


def make_flaky(id_: str, names: Sequence[str], detail: str = "") -> Finding:
    """Return a warning that names the tests which failed once."""
    note = f"failed once, then passed: {join_few(names, 3) or id_}"
    hint = "a flaky test proves little: remove its dependence on time, order and randomness"
    return Finding(id_, note, severity=Severity.WARNING, hint=hint, detail=detail)


def flaky_result(first: CheckRun, again: CheckRun) -> Proved:
    """Return a flaky result that names the tests which failed once."""
    (failure, *_) = first.findings()
    names = [test.id for test in first.failing]
    finding = make_flaky(first.check.id, names, failure.detail)
    proof = replace(
        again.proof,
        id=first.proof.id,
        verdict=Verdict.FLAKY,
        seconds=round(first.proof.seconds + again.proof.seconds, 3),
        log=first.proof.log,
        note=finding.message,
    )
    return Proved(proof, (finding, *first.notes()))
