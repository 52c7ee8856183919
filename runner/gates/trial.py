"""One run of a check: how it ended, how each test in it ended, and what it did beside that."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.gates.base import Fitted, failures_of, proof_of
from runner.gates.counts import ran_no_test, read_counts
from runner.gates.junit import TestResults
from runner.gates.printed import printed_results, without_colours
from runner.gates.reporters import not_taken, reporting
from runner.gates.touched import Touched, files, touched
from runner.model import Finding, Severity, Verdict
from runner.process.command import Ended
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from runner.gates.base import Bench, Check
    from runner.gates.junit import TestResult
    from runner.model import Proof
    from runner.process.command import Ran

_MOST_READ = 4 * 1024 * 1024
"""Bytes of a log that are read for what it names."""
_MOST_TESTS = 20
_LONGEST = 600
_SIGNALLED = 128
_NO_TESTS = 5
"""How pytest, and unittest from Python 3.12 on, end where they find no test."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A check that ran once."""

    check: Check
    ran: Ran
    proof: Proof
    results: TestResults | None
    """How each test ended, as the tool itself wrote it down or printed it."""
    touched: Touched
    trusted: bool
    """Whether failing tests that it names count although it said success."""
    bench: Bench | None = None
    """Where it ran."""

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
        """Why it failed, and what a person should know of it beside."""
        return (*self._failures(), *self.notes())

    def notes(self) -> tuple[Finding, ...]:
        """What it left behind."""
        said = self.touched.findings(self.check.id)
        count = self.ran.left_behind
        if not count:
            return said
        many = "1 process" if count == 1 else f"{count} processes"
        left = Finding(
            check=self.check.id,
            message=f"it left {many} running, ended by the runner",
            severity=Severity.NOTE,
            hint="have the command end what it starts",
        )
        return (*said, left)

    def _failures(self) -> tuple[Finding, ...]:
        if self.passed:
            return ()
        (plain,) = failures_of(self.check, self.ran, self.proof, self.bench)
        return (replace(plain, message=self._message(plain), detail=self._detail(plain)),)

    def _message(self, plain: Finding) -> str:
        command = redact(self.check.command)
        crashed = self.ran.exit - _SIGNALLED
        if self.ran.ended is Ended.EXITED and crashed in set(signal.Signals):
            return f"`{command}` crashed with {signal.Signals(crashed).name}"
        count = _failed(dict(self.proof.counts))
        if self.ran.passed and count:
            many = "a test" if count == 1 else f"{count} tests"
            return f"`{command}` ended with exit code 0 although {many} failed"
        if self.ran.passed or (self.ran_no_test and self.ran.exit == _NO_TESTS):
            return f"`{command}` ran no test"
        return plain.message

    def _detail(self, plain: Finding) -> str:
        told = [shown_test(test) for test in self.failing[:_MOST_TESTS]]
        more = len(self.failing) - _MOST_TESTS
        if more > 0:
            told.append(f"… and {more} more")
        return "\n".join([*told, plain.detail]) if told else plain.detail


def shown_test(test: TestResult) -> str:
    """A test that failed, with what it said."""
    said = test.message.strip()
    text = said if len(said) <= _LONGEST else said[:_LONGEST] + " …"
    return "\n    ".join([f"{test.id} {test.outcome}", *text.splitlines()])


def tried(check: Check, bench: Bench, fitted: Fitted | None = None) -> Trial:
    """Run a check once, with its tool told from outside to write down each test."""
    told = reporting(check, bench, fitted or Fitted(check.command, {}))
    before = files(bench)
    told.clear()
    ran = bench.run(check, told.fitted)
    if not_taken(ran):
        told.clear()
        ran = bench.run(check, told.plain)
    done = touched(before, bench)
    if done.changed and bench.on_base:
        with bench.on_base(()):
            pass  # leaving it puts the proposal back for the checks after this one
    return judged(
        check, ran, bench, told.results(), done, trusted=told.trusted, expected=told.expected
    )


def judged(
    check: Check,
    ran: Ran,
    bench: Bench,
    results: TestResults | None,
    done: Touched,
    *,
    trusted: bool,
    expected: bool = False,
) -> Trial:
    """What a run says: exit code, tests and counts must all agree that it passed.

    `trusted`: the tool that the command names is heard; `expected`: it must have said something.
    """
    printed = dict(read_counts(without_colours(ran.tail)))
    written = _clean(results, bench.known_secrets)
    if written is None and not ran.passed:
        written = printed_results(output_of(ran))
    counts = _counts(results, printed)
    proof = proof_of(check, ran, bench, tuple(counts.items()))
    silent = ran.passed and not counts and expected  # it ended before its tests did
    empty = ran_no_test(proof.counts) or ran_no_test(tuple(printed.items())) or silent
    bad = results.failing if results else check.kind == "test" and _failed(printed)
    if (check.kind == "test" and empty) or (trusted and bad):
        proof = replace(proof, verdict=Verdict.FAIL)
    return Trial(check, ran, proof, written, done, trusted, bench)


def _clean(results: TestResults | None, known: tuple[str, ...]) -> TestResults | None:
    """The results without secrets: no redaction was between the tool and its own file."""
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


def _failed(counts: dict[str, int]) -> int:
    return sum(counts.get(word, 0) for word in ("failed", "failures", "error", "errors"))


def _counts(results: TestResults | None, printed: dict[str, int]) -> dict[str, int]:
    """What the tool wrote down, and of what it printed alone the tests that it left out."""
    if results is None:
        return printed
    kept = {"deselected": printed["deselected"]} if printed.get("deselected") else {}
    return results.counts() | kept


def output_of(ran: Ran) -> str:
    """The output of a command as far as it is kept and bearable, else its end."""
    if ran.log is None:
        return ran.tail
    try:
        with ran.log.open("rb") as file:
            return file.read(_MOST_READ).decode("utf-8", "replace")
    except OSError:
        return ran.tail
