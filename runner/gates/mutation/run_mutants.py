"""Runs one mutant: its bytes in the scratch tree, the tests that ran its line, the bytes back.

Why a run failed on a mutant: what a test claims did not hold, or the mutated code gave way.

A test that only calls the code fails, too, where a mutant crashes or never ends. So a failure
counts as noticed where a test says that it is one, or where what was raised came from elsewhere
than the mutated file and is no mistake of types.
"""

from __future__ import annotations

import os
import re
import shlex
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.gates.base import Check, Fitted, command_limits
from runner.gates.check_run import try_check
from runner.gates.contract_tests import as_command
from runner.gates.coverage.instrument import project_tree
from runner.gates.result_parsers import output_of, without_colours
from runner.impact.python_blocks import spans_in
from runner.languages.registry import is_written_in
from runner.lazy_dataclass import dataclass
from runner.model import Action, Change, digest_of
from runner.process.base import Ended

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.gates.base import GateContext
    from runner.gates.check_run import CheckRun
    from runner.gates.mutation.mutants import Mutant
    from runner.model import TestContract


_OLD = 1_000_000_000
"""A change time, in seconds, that no file of ours has: Python trusts compiled code by it."""
_MOST_NAMED = 40
"""Tests that are named to pytest; where more ran a line, all of the contract run."""
_SLOWER = 3.0
"""How many times as long as its contract a mutant may take before it counts as one without end."""
_LEAST_PATIENCE = 1.0
"""Seconds beside that."""
_BUSIEST = 5.0
"""How many times the seconds of a processor may pass by the clock."""
_ENOUGH = "--maxfail=3 --tb=short"
"""Words for pytest: the first failure may be a crash, and the next one a claim."""
_NO_CODE = re.compile(
    r"\bSyntaxError\b|\bIndentationError\b|error TS\d+|\[(?:build|setup) failed\]|could not compile"
    r"|Transform failed|Parse ?[Ee]rror|ParseError|Unexpected token"
)
"""What compilers say of a mutant that is no program."""
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


class Ends(StrEnum):
    """What became of a mutant."""

    NOTICED = "noticed"
    """A test claims what it does not hold."""
    CRASHED = "crashed"
    """It crashed or did not end: any call would, so this says nothing of what a test claims."""
    SURVIVED = "survived"
    NOT_MADE = "not made"
    """It is no program, so there was nothing to notice."""
    NO_TIME = "no time"


@dataclass(frozen=True, slots=True)
class Executions:
    """Which tests of which contracts ran a line, as the proof before saw it."""

    rows: Mapping[tuple[str, str], tuple[tuple[str, tuple[tuple[int, int], ...]], ...]]
    """By contract and path: test and its ranges of lines."""

    @classmethod
    def of(cls, bench: GateContext) -> Executions:
        """Of what was observed, that which is about the bytes as they are proposed.

        A file of which only this is known, that it ran, may have run whole.
        """
        found: dict[tuple[str, str], list[tuple[str, tuple[tuple[int, int], ...]]]] = {}
        whole: dict[tuple[str, str], int] = {}
        for row in bench.observed:
            content = bench.after(row.path)
            if content is None or digest_of(content) != row.digest:
                continue
            if row.lines:
                place = found.setdefault((row.contract, row.path), [])
                place.append((row.test, spans_in(row.lines)))
            elif not is_written_in(row.path, "python"):  # of which each line is known
                whole[row.contract, row.path] = content.count(b"\n") + 1
        for key, last in whole.items():
            found.setdefault(key, [("", ((1, last),))])
        return cls({key: tuple(rows) for key, rows in found.items()})

    def lines(self, path: str) -> frozenset[int]:
        """All lines of a file that any test ran."""
        return frozenset(
            line
            for (_, of), rows in self.rows.items()
            if of == path
            for _, spans in rows
            for first, last in spans
            for line in range(first, last + 1)
        )

    def tests(self, contract: str, mutant: Mutant) -> tuple[str, ...] | None:
        """The tests of a contract that ran a mutant's lines; "" stands for what no single test did.

        None where the contract did not run any.
        """
        rows = self.rows.get((contract, mutant.path), ())
        lines = mutant.lines or (mutant.line,)
        return tuple(t for t, spans in rows if any(_among(one, spans) for one in lines)) or None

    def tests_of(self, path: str, lines: Iterable[int]) -> frozenset[str]:
        """The tests of any contract that ran one of these lines."""
        return frozenset(
            test
            for (_, of), rows in self.rows.items()
            if of == path
            for test, spans in rows
            if any(_among(line, spans) for line in lines)
        )


def _among(line: int, spans: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= line <= last for first, last in spans)


@dataclass(slots=True)
class MutantRunner:
    """Where mutants run, and how much time is left for them."""

    bench: GateContext
    executions: Executions
    seconds: float
    """All that they may take together, of a processor: on a busy machine more by the clock."""
    tried: int = 0
    worked: float = 0.0
    """Seconds of a processor that they took."""
    _began: float = field(default_factory=effects.monotonic)
    _known: dict[Mutant, Ends] = field(default_factory=dict)
    """A mutant is run once, whoever asks."""

    @property
    def used(self) -> float:
        """Seconds since it was opened."""
        return effects.monotonic() - self._began

    @property
    def left(self) -> float:
        """Seconds that a mutant may still take."""
        return min(self.seconds - self.worked, self.seconds * _BUSIEST - self.used)

    @property
    def is_over(self) -> bool:
        """Whether there is no time for another mutant, or nobody waits for it."""
        return self.left <= 0 or self.bench.cancelled.is_set()

    def grant(self, seconds: float) -> None:
        """Let what follows take so long from now on, whatever was used before."""
        self.seconds = max(self.seconds, self.worked + seconds, self.used / _BUSIEST + seconds)

    def run(self, mutant: Mutant) -> Ends:
        """What the tests that ran its line say of a mutant, the quickest contract first."""
        if mutant not in self._known:
            self._known[mutant] = self._run(mutant)
        return self._known[mutant]

    def _run(self, mutant: Mutant) -> Ends:
        content = self.bench.after(mutant.path)
        if content is None:
            return Ends.NOT_MADE
        self.tried += 1
        crashed = False
        with ExitStack() as held:
            for one in (mutant, *mutant.also):
                before = self.bench.after(one.path) or b""
                held.enter_context(self._hold(one, one.apply_to(before), before))
            for contract in self._contracts(mutant):
                ended = self._under(contract, mutant, mutant.apply_to(content))
                if ended is Ends.CRASHED:
                    crashed = True  # another contract may still claim something
                elif ended is not Ends.SURVIVED:
                    return ended
        return Ends.CRASHED if crashed else Ends.SURVIVED

    def _contracts(self, mutant: Mutant) -> list[TestContract]:
        asked = self.executions.tests
        ran = [one for one in self.bench.task.test_contracts if asked(one.id, mutant) is not None]
        return sorted(ran, key=lambda one: self._past_seconds(one.id))

    def _past_seconds(self, contract: str) -> float:
        return next((one.seconds for one in self.bench.proofs if one.id == contract), 0.0)

    def _under(self, contract: TestContract, mutant: Mutant, content: bytes) -> Ends:
        """One contract on a mutant: first its tests that ran the line, where they can be named."""
        tests = self.executions.tests(contract.id, mutant) or ()
        # One run where nothing could be named: both are the same words then.
        for words in dict.fromkeys((_test_selection(tests), _ENOUGH)):
            left = self.left
            patience = _SLOWER * self._past_seconds(contract.id) + _LEAST_PATIENCE
            if left <= 0:
                return Ends.NO_TIME
            trial = self._trial(contract, mutant, content, words, min(left, patience))
            if trial.ran_no_test:  # they go by other names: the whole contract then
                continue
            # What a mutant waited for a busy machine says nothing of the mutant.
            patient = patience <= min(left, trial.ran.seconds - trial.ran.queued)
            return _end_of(trial, mutant.path, patient=patient)
        return Ends.NOT_MADE

    def _trial(
        self, contract: TestContract, mutant: Mutant, content: bytes, words: str, seconds: float
    ) -> CheckRun:
        bench = self.bench
        limits = command_limits(bench.task, bench.settings)
        queue = max(self.seconds * _BUSIEST - self.used - seconds, 0.0)
        limits = replace(limits, hard=max(seconds, 0.1), queue=queue, idle=0.0, soft=0.0)
        check = Check(
            id=f"mutant-{contract.id}",
            kind="test",
            command=as_command(contract.command),
            limits=limits,
            level=contract.level,
            network=bench.settings.network_for(bench.task.network),
        )
        given = bench.environment.get("PYTEST_ADDOPTS", "")
        variables = {
            # CPython knows compiled code by its source's time and size: a mutant's would be taken
            # for what comes next.
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_ADDOPTS": f"{given} {words}".strip(),
        }
        mutated = {mutant.path: content}
        mutated |= {one.path: one.apply_to(bench.after(one.path) or b"") for one in mutant.also}
        changes = [one for one in bench.changes if one.path not in mutated]
        for path, new in mutated.items():
            changes.append(Change(path, Action.MODIFY, 0o100644, None, digest_of(new), new))
        changed = replace(bench, changes=tuple(changes), on_base=None, tell=_ignore_line)
        trial = try_check(check, changed, Fitted(check.command, variables))
        self.worked += trial.ran.processor
        if trial.touched.changed:
            self._put_back()
        return trial

    def _put_back(self) -> None:
        """A mutant's tests changed files of the tree: all of it as it is proposed, or the end."""
        if self.bench.on_base is None:
            self.seconds = 0.0
            return
        with self.bench.on_base(()):
            pass

    @contextmanager
    def _hold(self, mutant: Mutant, content: bytes, proposed: bytes) -> Iterator[None]:
        """While entered, the file has the mutant's bytes; then those that are proposed, again."""
        file = project_tree(self.bench) / mutant.path
        mode = file.stat().st_mode & 0o777
        _write(file, content, mode, python=is_written_in(mutant.path, "python"))
        try:
            yield
        finally:
            _write(file, proposed, mode, python=False)


def _ignore_line(_line: str) -> None:
    """A person hears of mutants together, at the end."""


def _write(file: os.PathLike[str], content: bytes, mode: int, *, python: bool) -> None:
    """Write a file with a change time that has it compiled anew.

    Python asks for another second, others for a newer one; so a Python mutant is old, and what
    comes back is new.
    """
    path = Path(file)
    if not path.parent.is_dir():
        return
    effects.write_file(path, content, mode=mode)
    if python:
        effects.step("utime", path)
        os.utime(path, (_OLD, _OLD))


def _test_selection(tests: tuple[str, ...]) -> str:
    """Words for pytest that choose these tests and end after some failures; other tools run all.

    A word of `-k` also chooses tests whose names have it in them: more may run, never fewer.
    """
    names = {test.rpartition(".")[2] for test in tests}
    plain = all(_IDENTIFIER.fullmatch(name) for name in names)
    if not names or "" in tests or not plain or len(names) > _MOST_NAMED:
        return _ENOUGH
    return f"{_ENOUGH} -k {shlex.quote(' or '.join(sorted(names)))}"


def _end_of(trial: CheckRun, path: str, *, patient: bool) -> Ends:
    match trial.ran.ended:
        case Ended.EXITED:
            pass
        case Ended.HARD | Ended.IDLE:
            return Ends.CRASHED if patient else Ends.NO_TIME
        case _:
            return Ends.NO_TIME
    if trial.passed:
        return Ends.SURVIVED
    if is_claimed(trial, path):
        return Ends.NOTICED
    return Ends.NOT_MADE if _NO_CODE.search(output_of(trial.ran)) else Ends.CRASHED


# --- failing --------------------------------------------------------------------------


_CLAIMED = re.compile(
    r"^(?:E\s+)?assert\b"
    r"|^E?[ \t]*(?:Uncaught )?(?:[\w.]+\.)?AssertionError\b"
    r"|\bERR_ASSERTION\b|\bDID NOT (?:RAISE|WARN)\b|^[ \t]*expect\((?:received|jest\.fn|element)"
    r"|^[ \t]*operator: |\bassertion\b.*\bfailed\b",
    re.MULTILINE,
)
"""How test tools say that a claim did not hold. A line of source that is shown is indented, and
what it says of assertions is no failure of one."""
_GAVE_WAY = re.compile(
    r"\b(?:TypeError|AttributeError|NameError|UnboundLocalError|RecursionError|ReferenceError"
    r"|MemoryError|SystemError)\b|Maximum call stack|panic: runtime error|stack overflow"
)
"""What any call would meet of code that is no longer whole."""
_SIGNALLED = 128


def claims(text: str, path: str) -> bool:
    """Whether a failure's text tells of a claim that did not hold, not of the mutated file."""
    plain = without_colours(text)
    if _CLAIMED.search(plain):
        return True
    if _GAVE_WAY.search(plain):
        return False
    name = re.escape(path.rpartition("/")[2])
    frame = re.compile(rf'(?<![\w.-]){name}(?::\d|", line \d|\(\d)')
    return not frame.search(plain)


def is_claimed(trial: CheckRun, path: str) -> bool:
    """Whether any test of a run that failed claims what a mutant of this file does not hold."""
    if trial.ran.exit >= _SIGNALLED:
        return False
    if trial.results and trial.results.tests and not trial.failing:
        return False  # all tests passed: something else ended it so
    told = [test.message for test in trial.failing if test.message.strip()]
    return any(claims(text, path) for text in told or [output_of(trial.ran)])
