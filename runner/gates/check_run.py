"""One run of a check: how it ended, how each test in it ended, and what it did beside that."""

from __future__ import annotations

import signal
from dataclasses import field, replace
from typing import TYPE_CHECKING

from runner.gates.base import Fitted, failures_of, name_command, proof_of
from runner.gates.count_parsers import CLOSING, count_told_failures, ran_no_test, read_counts
from runner.gates.document_watch import DocumentWatch
from runner.gates.junit import TestResults, Told
from runner.gates.mtime_changes import Touched, files, find_touched
from runner.gates.proof_cache import Passed
from runner.gates.reporters import expects, not_taken, with_reports
from runner.gates.result_parsers import output_of, parse_results, without_colours
from runner.gates.script_targets import name_script, only_looks
from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex
from runner.model import Finding, Network, ProvenBy, Severity, Verdict
from runner.model.work import STANDS
from runner.plan.shell.shell_commands import ends_with_test_tool
from runner.process.base import Ended
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
"""`tests/a.test.ts:5` of pytest, node, jest, go and cargo; the column behind it is left out."""
_RAISED = regex(r"\[?[\w.]*(?:Error|Exception|Failure)\b|assertion ")
_MOST_SAID = 64 << 10
"""Characters of a test's message in which its line is looked for."""
_SIGNALLED = 128
_NOT_STARTED = 126
EXPECTED = "failures are expected"
"""What is said of a test contract that must fail."""
_NAME_TESTS = "have it name tests that are there, and begin them whatever comes before"
_NO_TESTS = 5
"""How pytest, and unittest from Python 3.12 on, end where they find no test."""
_OF_THE_TASK = "RUNNER_"
"""What the variables begin with that differ from task to task: who names one is not the same."""
_INSTALLED = ("pyvenv.cfg", ".package-lock.json", "lib/*/site-packages/*.dist-info/RECORD")
"""What changes in an ignored folder of the repository when something is installed there."""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A check that ran once."""

    check: Check
    ran: Ran
    proof: Proof
    results: TestResults | None
    """How each test ended, as the tool itself wrote it down or printed it."""
    touched: Touched
    bench: GateContext | None = None
    """Where it ran."""
    flaky: tuple[str, ...] = ()
    """Tests that failed, and passed when the command itself ran them again."""
    told_failures: int = 0
    """Failing tests that its output tells of, and no report does."""
    unnamed: bool = False
    """Whether a tool ran that names its tests only where it is asked to."""
    told: Told = field(default_factory=Told)
    """What its test programs wrote down."""
    tool_expected: bool = False
    """Whether the tool that the command names always says how many tests ran."""
    unopened: tuple[str, ...] = ()
    """Kinds of documents that a gate opened none of; empty where it may have opened one."""

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
        """What it left behind, and what its output tells that does not count."""
        said = (*self.touched.findings(self.check.id), *self._find_told())
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

    @property
    def told_of(self) -> str:
        """What the output of a test contract that passed tells of failures; else empty."""
        if not (self.told_failures and self.check.kind == "test" and self.passed):
            return ""
        many = "a test" if self.told_failures == 1 else f"{self.told_failures} tests"
        return f"its output tells of {many} that failed"

    def _find_told(self) -> Iterator[Finding]:
        if self.told_of:
            yield Finding(
                check=self.check.id,
                message=f"{self.told_of}; it ended with exit code 0",
                severity=Severity.WARNING,
                hint="where that is no text of the program itself, have the command end with it",
            )

    def _failures(self) -> tuple[Finding, ...]:
        if self.passed:
            return ()
        (plain,) = failures_of(self.check, self.ran, self.proof, self.bench)
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
            return f"`{command}` was to fail, and no test of it failed"
        count = _count_failed(dict(self.proof.counts))
        if self.ran.passed and count:
            many = "a test" if count == 1 else f"{count} tests"
            return f"`{command}` ended with exit code 0 although {many} failed"
        if self.ran.passed or (self.ran_no_test and self.ran.exit == _NO_TESTS):
            return self._none_ran
        return plain.message

    def _detail(self, plain: Finding) -> str:
        place = self.bench.place if self.bench else None
        tops = (place.tree, place.shown) if place else ()
        starts = (place.start, "") if place else ()
        roots = tuple(f"{top}/{start}" for start in starts for top in tops)
        told = [format_test(test, roots) for test in self.failing[:_MOST_TESTS]]
        more = len(self.failing) - _MOST_TESTS
        if more > 0:
            told.append(f"… and {more} more")
        return "\n".join([*told, plain.detail]) if told else plain.detail


def format_test(test: TestResult, roots: tuple[str, ...] = ()) -> str:
    """A test that failed: where and by what in one line, below it what it said.

    Paths below one of the `roots` are told relative to it.
    """
    said = test.message.strip()
    for root in roots:
        said = said.replace(root, "")
    text = said if len(said) <= _LONGEST else said[:_LONGEST] + " …"
    place, why = find_place(said), find_assertion(said)
    if not place and test.file:  # it could not be loaded, say: then it is about the whole file
        place, why = f"{test.file}:1", why or "it could not be loaded"
    at = f" at {place}" if place else ""
    head = f"{test.id} {test.outcome}{at}{f': {why}' if why else ''}"
    return "\n    ".join([head, *text.splitlines()])


def find_place(said: str) -> str:
    """The line of a failure, `tests/test_a.py:5`: the last of a Python stack, the first of another.

    Places outside the project (absolute paths) count only where there is no other.
    """
    if len(said) > _MOST_SAID:  # a stack ends it, or begins it
        said = f"{said[: _MOST_SAID // 2]}\n{said[-_MOST_SAID // 2 :]}"
    stack = [f"{path}:{line}" for path, line in _PYTHON_PLACE.findall(said)]
    others = [found for found in _PLACE.findall(said) if "node_modules/" not in found]
    told = [*reversed(stack), *others]
    inside = (place for place in told if not place.startswith("/"))
    return next(inside, told[0] if told else "")


def find_assertion(said: str) -> str:
    """What was expected and what came, in one line: `AssertionError: 3 != 2`."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    raised = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
    named = raised or [line for line in lines if _RAISED.match(line)]
    return (named or lines or [""])[0][:_LONGEST_LINE]


def try_or_stand(
    check: Check,
    bench: GateContext,
    fit: Callable[[], Fitted | None] = lambda: None,
    ended: CheckRun | None = None,
) -> CheckRun:
    """A check that runs, or what the same command said on the same tree earlier in this run.

    A task's own tests run where its lines are counted: what an other run measured is gone.
    `ended` is how it ended where it ran just now: that counts, whatever others said meanwhile.
    """
    memory = bench.memory
    key = standing_key(check, bench) if memory is not None else None
    if memory is None or key is None:
        return ended or try_check(check, bench, fit())
    measured = check.kind == "test" and not check.task and bench.task.writes_anything
    known = None if measured or ended else memory.find(key)
    if known is None and not ended and check.kind == "gate":
        known = memory.find_here(bench.place, key)
    if known is not None:
        return _stand(check, bench, known)
    clean = memory.is_clean(bench.place)
    trial = ended or try_check(check, bench, fit())
    if trial.passed and not (trial.flaky or trial.touched.changed or trial.ran.left_behind):
        told, expected = trial.told, trial.tool_expected
        passed = Passed(bench.task.id, trial.ran, told, expected, trial.proof.log)
        memory.keep_here(bench.place, key, passed)
        if clean and not trial.touched.left:
            memory.keep(key, passed)
    return trial


def standing_key(check: Check, bench: GateContext) -> Key | None:
    """What two runs have in common of which one is enough; None where both must run."""
    reaches = check.network is not Network.NO or bench.known_secrets or bench.task.uses
    if reaches or not bench.tree or _OF_THE_TASK in check.command:
        return None
    limits = check.limits
    bounds = (limits.memory, limits.together, limits.processes, limits.file_size, limits.cpu)
    walls = (bench.sandbox.name, bench.place.start, check.named)
    return (bench.tree, name_script(check.command), *walls, *bounds, *_installed(bench.place))


def _installed(place: Place) -> Iterator[object]:
    for share in place.shares:
        folder = place.shown / share
        for pattern in _INSTALLED:
            for file in sorted(folder.glob(pattern)):
                # By ctime: an installer may give a file any mtime (utimensat(2)), and never this.
                found = file.stat()
                yield (file.name, found.st_ino, found.st_size, found.st_ctime_ns)


def _stand(check: Check, bench: GateContext, known: Passed) -> CheckRun:
    """What a command that passed says as this check; each kind asks more or less of it."""
    ran = replace(known.ran, log=None)
    trial = evaluate_run(check, ran, bench, known.told, Touched(), expected=known.expected)
    said = f"{STANDS}{known.task}'s proof"
    note = f"{trial.proof.note}; {said}" if trial.proof.note else said
    return replace(trial, proof=replace(trial.proof, note=note, log=known.log))


def try_check(check: Check, bench: GateContext, fitted: Fitted | None = None) -> CheckRun:
    """Run a check once, with its tool told from outside to write down each test."""
    before = files(bench)
    listed = before[0] if check.kind == "gate" and bench.kept else {}
    paths = (above + name for above, names in listed.items() for name in names)
    with DocumentWatch(paths, bench.place) as watch:
        if bench.runs_no_program(check):
            ran, said, expected = bench.run(check), Told(), False
        else:
            ran, said, expected = _run_reporting(check, bench, fitted or Fitted(check.command, {}))
    done = find_touched(before, bench)
    _hear_of_touched(done, bench)
    trial = evaluate_run(check, ran, bench, said, done, expected=expected)
    return replace(trial, unopened=watch.unopened)


def end_plain(check: Check, ran: Ran, bench: GateContext, done: Touched) -> CheckRun:
    """How a check ended that starts no program, and that whoever asks has run themselves."""
    _hear_of_touched(done, bench)
    return evaluate_run(check, ran, bench, Told(), done)


def _hear_of_touched(done: Touched, bench: GateContext) -> None:
    if bench.memory is not None and done.left:
        bench.memory.note_left(bench.place)
    if done.changed and bench.on_base:
        with bench.on_base(()):
            pass  # leaving it puts the proposal back for the checks after this one


def _run_reporting(check: Check, bench: GateContext, fitted: Fitted) -> tuple[Ran, Told, bool]:
    """Run it with its tools told to write down each test; whether one of them always does."""
    told = with_reports(check, bench, fitted)
    told.clear()
    ran = bench.run(check, told.fitted)
    if not_taken(ran):
        told.clear()
        ran = bench.run(check, told.plain)
    silent = not _count_printed(check, ran)
    return ran, told.hear(check, bench, ran, silent=silent), told.expected


def evaluate_run(
    check: Check, ran: Ran, bench: GateContext, told: Told, done: Touched, *, expected: bool = False
) -> CheckRun:
    """What a run says: exit code, tests and counts must all agree that it passed.

    `expected`: the tool that the command names must have said something.
    """
    printed = _count_printed(check, ran)
    results = _clean(told.results, bench.known_secrets)
    written = results
    if written is None and not ran.passed:
        written = parse_results(output_of(ran))
    counts = _counts(told, printed)
    proof = proof_of(check, ran, bench, tuple(counts.items()))
    silent = not counts and (expected or bool(told.unfinished) or told.unheard)
    empty = ran_no_test(proof.counts) or (ran.passed and silent)
    failed = told.failed if told else _count_closing_failures(check, ran)
    if expects(check):
        verdict = _as_expected(check, ran, failed, told, silent=silent)
        proof = replace(proof, verdict=verdict, note=EXPECTED, by=_proof_kind(verdict, failed))
    elif (check.kind == "test" and empty) or failed:
        proof = replace(proof, verdict=Verdict.FAIL)
    elif not counts and proof.verdict is Verdict.PASS and only_looks(check, bench.after):
        proof = replace(proof, by=ProvenBy.STATIC)
    untold = bool(ran.passed and ran.tail) and not (told or failed)
    text = (_count_failed(dict(_read(ran))) or count_told_failures(ran.tail)) if untold else 0
    return CheckRun(
        *(check, ran, proof, written, done, bench, told.flaky, text, told.unnamed),
        told=told,
        tool_expected=expected,
    )


def _as_expected(check: Check, ran: Ran, failed: int, told: Told, *, silent: bool) -> Verdict:
    """A line that begins with `!` turns its own exit around; else the command itself must fail."""
    if ran.ended is not Ended.EXITED or silent or ran.exit >= _NOT_STARTED:
        return Verdict.FAIL
    ended = ran.exit != 0 if check.fails else ran.passed
    met = failed if told else ended
    return Verdict.PASS if met and (check.fails or ended) else Verdict.FAIL


def _proof_kind(verdict: Verdict, failed: int) -> ProvenBy | None:
    if verdict is not Verdict.PASS:
        return None
    return ProvenBy.TESTS if failed else ProvenBy.COMMAND


def _read(ran: Ran) -> tuple[tuple[str, int], ...]:
    return read_counts(without_colours(ran.tail))


def _count_printed(check: Check, ran: Ran) -> dict[str, int]:
    """What a command printed of tests; failures that do not count are no count of tests either."""
    if not ran.tail:
        return {}
    counts = dict(_read(ran))
    counted = check.kind != "test" or not ran.passed or _count_closing_failures(check, ran)
    return {} if _count_failed(counts) and not counted else counts


def _count_closing_failures(check: Check, ran: Ran) -> int:
    """Failures in the last lines, of a test program that makes no report and ends the line."""
    if check.kind != "test" or not (ran.tail and ends_with_test_tool(check.command)):
        return 0
    last = [line for line in ran.tail.rstrip().splitlines() if line.strip()][-CLOSING:]
    return _count_failed(dict(read_counts(without_colours("\n".join(last)))))


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


def _count_failed(counts: dict[str, int]) -> int:
    return sum(counts.get(word, 0) for word in ("failed", "failures", "error", "errors"))


def _counts(told: Told, printed: dict[str, int]) -> dict[str, int]:
    """What the tools wrote down, and of what was printed alone the tests that were left out."""
    if not told:
        return printed
    kept = {"deselected": printed["deselected"]} if printed.get("deselected") else {}
    return {**told.counts, **kept}
