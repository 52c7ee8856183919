"""Run the base's tests on the proposed code, and ask about those that fail now.

A family of the registry. Where a change touches tests, what supports them or what says which of
them run, those that passed on the base run on the proposed code as they were; and what was
collected and passed is compared by id. It asks nothing where no test is touched.

Ids are compared by what stays of them: a parametrised test is its function with a number of
cases, and addresses and counters in a name do not tell tests apart.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.gates import contract_tests
from runner.gates.base import Check, Proved, command_limits
from runner.gates.base_result import BaseResult, earlier, make_earlier
from runner.gates.base_tests.test_support import as_before, support_of
from runner.gates.check_run import try_check
from runner.gates.integrity import ASKED, Meaning, integrity_proof, is_excused, last_of
from runner.gates.result_parsers import EXAMPLE
from runner.gates.test_paths import holds_tests
from runner.languages.registry import code_language, is_written_in
from runner.lazy_pattern import regex
from runner.model import Action, Finding, Severity
from runner.process.base import Ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from runner.gates.base import GateContext
    from runner.gates.base_tests.test_support import Support


_MOST = 20
_SETTINGS = regex(r"\.(?:ini|cfg|toml|json)\Z")


def prove(check: Check, context: GateContext) -> Proved:
    """Return the questions of all contracts together, each test named once."""
    if context.on_base is None or not context.base or not context.changes:
        return Proved(None)
    support = support_of(context)
    if not _may_weaken_tests(support, context):
        return Proved(None)
    asking = BaseComparison(context, support, Meaning.of(context))
    found: dict[str, Finding] = {}
    notes: list[str] = []
    for one in asking.checks():
        if context.cancelled.is_set():
            break
        for loss in asking.about(one):
            finding = asking.finding(loss, check)
            found.setdefault(finding.message, finding)
            if loss.fate is not BaseTestFate.UNRUN and not finding.refuses:
                notes.append(finding.message)
    proof = integrity_proof("; ".join(dict.fromkeys(notes)), len(notes)) if notes else None
    shown = sorted(found.values(), key=lambda one: not one.refuses)
    return Proved(proof, tuple(_limit_findings(shown)))


def _may_weaken_tests(support: Support, context: GateContext) -> bool:
    """Return whether support files changed, or tests were skipped or deselected."""
    if support.touches:
        return True
    words = ("skipped", "xfailed", "deselected")
    return any(dict(one.proof.counts).get(word) for one in context.ran.values() for word in words)


def _limit_findings(findings: list[Finding]) -> Iterator[Finding]:
    yield from findings[:_MOST]
    more = len(findings) - _MOST
    if more > 0:
        rest = f", and {more - 1} more" if more > 1 else ""
        yield replace(findings[_MOST], message=f"{findings[_MOST].message}{rest}")


class BaseComparison(Struct, frozen=True):
    """One comparison of a proposal with its base."""

    context: GateContext
    support: Support
    meaning: Meaning

    def checks(self) -> Iterator[Check]:
        """Yield the task's passing contracts, then changed test files that none of them ran."""
        own = contract_tests.checks(self.context.task, self.context.settings)
        ran: list[str] = []
        for check in own:
            trial = self.context.ran.get(check.id)
            if trial is not None and trial.passed:
                yield check
            if trial is not None and trial.results:
                ran += [test.file for test in trial.results.tests]
        yield from self._unrun(own, set(ran))

    def _unrun(self, own: tuple[Check, ...], ran: set[str]) -> Iterator[Check]:
        """Yield checks for changed test files that no contract of the task runs."""
        lines = tuple(check.command for check in own)
        files = [
            one.path
            for one in self.support.landed
            if holds_tests(one.path)
            and not one.path.endswith("conftest.py")
            and not {one.path, self.support.new_place(one.path)} & ran
            and not any(_names(line, one.path) for line in lines)
        ]
        for ending in dict.fromkeys(path.rpartition(".")[2] for path in files):
            some = tuple(path for path in files if path.endswith(f".{ending}"))
            line = for_files(some, self.context.before(some[0]) or b"", lines)
            if line:
                limits = command_limits(self.context.task, self.context.settings)
                yield Check(id=f"base-tests-{ending}", kind="test", command=line, limits=limits)

    def about(self, check: Check) -> Iterator[Loss]:
        """Yield the losses among the tests that a command runs."""
        now = self._now(check)
        if now is None:
            return
        known = self._known_before(check.command)
        if not known:
            return  # all that it runs is new: there was nothing that could say less
        check = replace(check, command=known)
        line = replace(check, command=make_verbose_command(known), named=True)
        restored = as_before(self.support, self.context, with_added=False)
        old = earlier(line, self.context, restored)
        if old and old.tests is None and not old.passed and line.command != check.command:
            line = replace(check, named=True)  # its options may stand where the tool takes none
            old = earlier(line, self.context, restored)
        if old is None:
            return
        # a file that moved or was removed may pass there because it is no longer found
        kept = self.support.touches and all(one.content for one in self.support.landed)
        # For tests that don't count, check whether they did before.
        left_out = any(word in ("skipped", "xfailed") for _, word, _ in now.tests or ())
        certain = old.passed and kept and not left_out
        before = old if certain else self._before(line)
        if before is not None:
            yield from self._compare(line, before, old, now)
        elif self.support.touches and now.passed and not self._all_new(now):
            yield Loss(line.id, BaseTestFate.UNRUN)  # it fails on the base, and names no test there

    def _all_new(self, now: BaseResult) -> bool:
        """Return whether all executed tests are new in this change."""
        names = {last_of(key_of(test)) for test, _, _ in now.tests or ()}
        return bool(names) and names <= self.meaning.new.keys() - self.meaning.old.keys()

    def _known_before(self, command: str) -> str:
        """Return a command without the added test files; empty if none is left.

        A tool that is given a file that is not there runs none of the others either.
        """
        new = {one.path for one in self.context.changes if one.action is Action.CREATE}
        moved = {new_place for _, new_place in self.support.moves}
        words = command.split(" ")
        added = [word for word in words if _file_of(word) in new - moved]
        if not added:
            return command
        left = [word for word in words if word not in added]
        others = [word for word in left if _file_of(word)]
        return " ".join(left) if others else ""

    def _now(self, check: Check) -> BaseResult | None:
        """Return the results of the named tests on the proposal, or None."""
        trial = self.context.ran.get(check.id)
        line = make_verbose_command(check.command)
        if trial is not None and not trial.unnamed:
            named = trial.results is not None
            if named or line == check.command:
                return make_earlier(trial, self.context)
        paths = self._present(line)
        if not paths:
            return BaseResult(passed=False, exit=0, tests=(), complaints={})
        listing = replace(check, id=f"{check.id}-listed", command=paths, named=True)
        again = try_check(listing, self.context)
        return make_earlier(again, self.context) if again.ran.ended is Ended.EXITED else None

    def _present(self, line: str) -> str:
        """Return a command with moved files at their new paths; empty if its files are gone."""
        words = line
        for old, new in self.support.moves:
            words = words.replace(old, new)
        gone = [one.path for one in self.support.landed if one.content is None]
        left = [word for word in words.split(" ") if word not in gone]
        named = [word for word in words.split(" ") if word in gone]
        return " ".join(left) if not named or any(map(holds_tests, left)) else ""

    def _before(self, line: Check) -> BaseResult | None:
        """Return the results before this change and those it builds on; None if unknown."""
        seen = earlier(line, self.context, self.context.origin.taken_back)
        return seen if seen is not None and (seen.passed or seen.tests) else None

    def _compare(
        self, line: Check, before: BaseResult, old: BaseResult, now: BaseResult
    ) -> Iterator[Loss]:
        was = ran_of(before, self.support.new_place)
        is_now = ran_of(now)
        restored = ran_of(old, self.support.new_place)
        if was is not None and is_now is None and now.passed:
            is_now = CaseCounts({})  # it ended well, and named not one test
        if was is None or is_now is None:
            if before.passed and not old.passed and now.passed:
                yield Loss(line.id, BaseTestFate.FAILS)
            return
        if line.id not in self.context.ran:
            is_now = is_now.with_others(self._of_contracts())
        found = list(find_lost_tests(was, restored, is_now))
        if found and (self.support.added or self.support.shared):
            found = list(self._with_added(line, found, was, is_now))
        gone = [one.test for one in found if one.fate in (BaseTestFate.GONE, BaseTestFate.UNRUN)]
        same = self.meaning.find_renamed_tests(gone, [*new_tests(was, is_now)])
        yield from group_unrun([one for one in found if one.test not in same])

    def _of_contracts(self) -> Iterator[CaseCounts]:
        """Yield the results of passing contracts, which may run tests that were moved."""
        for trial in self.context.ran.values():
            ran = ran_of(make_earlier(trial, self.context)) if trial.passed else None
            if ran is not None:
                yield ran

    def _with_added(
        self, line: Check, found: list[Loss], was: CaseCounts, now: CaseCounts
    ) -> Iterator[Loss]:
        """Yield losses after a second run of the base with the change's new files and settings.

        A test that could run only so counts as it ends there. One that fails by what it asserts,
        and passes since a new file or setting is loaded, is a finding all the same.
        """
        seen = earlier(line, self.context, as_before(self.support, self.context, with_added=True))
        ran = ran_of(seen, self.support.new_place) if seen else None
        strict = {one.test: one for one in found}
        paths = [one.path for one in (*self.support.added, *self.support.shared)]
        loaded = [one for one in paths if code_language(one) or _SETTINGS.search(one)]
        for one in find_lost_tests(was, ran, now):
            without = strict.pop(one.test, None)
            if without is not None and without.fate is not BaseTestFate.UNRUN:
                yield without
            elif (
                without or one.fate is not BaseTestFate.UNRUN
            ):  # else it ran without what was added
                yield one
        for one in strict.values():
            if one.fate is BaseTestFate.FAILS and loaded:
                yield replace(one, file=loaded[0])

    def finding(self, one: Loss, check: Check) -> Finding:
        """Return a finding on a lost test: a question, or a warning if the loss is permitted."""
        meant = self.meaning.of_test(one.test, one.file)
        severity, message, hint = Severity.QUESTION, one.text, ASKED
        if one.fate is BaseTestFate.UNRUN:
            severity, hint = Severity.WARNING, "check what the test expects now"
        elif meant:
            severity, message, hint = Severity.WARNING, f"{one.text}: {meant}", ""
        elif self.context.origin.by_person and is_excused(one.file, self.context.task):
            severity, hint = Severity.WARNING, "check that the change of the test is intended"
        path = one.file or next(iter(self.support.paths), "")
        return Finding(check=check.id, message=message, path=path, severity=severity, hint=hint)


def _file_of(word: str) -> str:
    """Return the test file of a path, test ID or module in a command; empty if it is none."""
    path = word.strip("'\"").partition("::")[0].removeprefix("./")
    if "/" not in path and re.fullmatch(r"[A-Za-z_][\w.]*", path) and not path.endswith(".py"):
        path = path.replace(".", "/") + ".py"
    return path if holds_tests(path) else ""


def _names(line: str, path: str) -> bool:
    """Return whether a command names a file or a folder that contains it."""
    parts = path.split("/")
    folders = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
    words = {word.removeprefix("./").rstrip("/") for word in line.split()}
    return bool(folders & words)


# --- commands that name every test ------------------------------------------------------

_DOCTEST = regex(r"-m doctest(?=\s|\Z)")
_PYTEST_ENDS = regex(r"(?<=\s)(?:-x|--exitfirst|--maxfail[= ]\d+)(?=\s|\Z)")
_SCRIPT_ENDS = regex(r"(?<=\s)(?:-b|--bail(?:[= ]\d+)?)(?=\s|\Z)")
_SCRIPT_TOOL = regex(r"(?:\A|[\s/])(?:jest|vitest|mocha)(?=\s|\Z)")


def make_verbose_command(command: str) -> str:
    """Return the command changed to run all tests and to name each one if possible.

    The tools' reports name the others (`Check.named`).
    """
    line = command
    if not re.search(r"\s-v(?=\s|\Z)", line):
        line = _DOCTEST.sub(r"\g<0> -v", line)
    # A run that stops at the first failure names no later tests, which would count as lost.
    if _SCRIPT_TOOL.search(line):
        line = _SCRIPT_ENDS.sub("", line)
    return _PYTEST_ENDS.sub("", line) if "pytest" in line else line


def for_files(paths: tuple[str, ...], text: bytes, known: tuple[str, ...]) -> str:
    """Return a command that runs these test files; empty if none is known.

    `text` is the content of one of them, `known` are the task's own test commands.
    """
    language = code_language(paths[0])
    if language is None or language.test_command is None:
        return ""
    return language.test_command(paths, text, " ".join(known))


_ADDRESS = regex(r"0x[0-9a-fA-F]+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b")
_NUMBER = regex(r"\d{3,}")
"""A port, a time, a counter; smaller numbers distinguish tests."""
_LINE = regex(r"\(line \d+\)")
"""Line of a Rust documentation test."""
_SUBTEST = regex(r"(?P<whole>\w+(?:\.\w+){2,}) [\[(]")
"""`unittest` names a subtest by the test's ID and its parameters (`subTest`)."""
_OF_GO = regex(r"(?P<name>[\w./~-]+?\.(?:Test|Example|Fuzz|Benchmark)\w*)(?:/.*)?")
_IDLE = ("skipped", "xfailed")
_BAD = ("failed", "error")


class CaseCounts(Struct, frozen=True):
    """The results of a run, by test: the number of cases by how they ended."""

    by_test: Mapping[str, Counter[str]]
    files: Mapping[str, str] = field(default_factory=dict)
    passed: bool = True

    def count(self, test: str, *words: str) -> int:
        """Count the cases of a test with these outcomes."""
        found = self.by_test.get(test)
        return sum(found[word] for word in words) if found else 0

    def count_passing(self, test: str) -> int:
        """Count the passing cases of a test."""
        return self.count(test, "passed")

    def with_others(self, others: Iterable[CaseCounts]) -> CaseCounts:
        """Return the counts with tests that only other runs of the tree executed."""
        by_test, files = dict(self.by_test), dict(self.files)
        for other in others:
            by_test = {**other.by_test, **by_test}
            files = {**other.files, **files}
        return CaseCounts(by_test, files, self.passed)


def ran_of(seen: BaseResult, place: Callable[[str], str] = str) -> CaseCounts | None:
    """Return a run's test counts with files mapped by `place`; None if it names no tests."""
    if seen.tests is None:
        return None
    by_test: dict[str, Counter[str]] = {}
    files: dict[str, str] = {}
    for test, outcome, file in seen.tests:
        key = key_of(test, place)
        by_test.setdefault(key, Counter())[outcome] += 1
        files[key] = place(file) if file else ""
    return CaseCounts(by_test, files, seen.passed)


def key_of(test: str, place: Callable[[str], str] = str) -> str:
    """Return the part of a test id that stays the same between runs."""
    if test.startswith(EXAMPLE):
        return test  # a number in it is what is asked
    path, colons, inner = test.partition("::")
    if colons:
        # pytest appends a case's parameters in brackets to the ID of its function.
        return f"{place(path)}::{inner.partition('[')[0]}"
    if test.startswith("Test") and " " not in test:
        # Go names a subtest after the slash (`testing`, T.Run).
        return test.partition("/")[0]
    if (part := _SUBTEST.match(test)) is not None:
        test = part["whole"]
    if (named := _OF_GO.fullmatch(test)) is not None:
        return named["name"]
    path, within, inner = test.partition(" > ")
    if within and is_written_in(path, "javascript"):
        return f"{place(path)} > {_NUMBER.sub('#', _ADDRESS.sub('#', inner))}"
    test = _LINE.sub("(line #)", test)
    return _NUMBER.sub("#", _ADDRESS.sub("#", test))


class BaseTestFate(StrEnum):
    """The new result of a test that passed before."""

    FAILS = "fails on the new code in its earlier version"
    GONE = "is gone"
    SKIPPED = "is skipped now"
    EXPECTED = "is expected to fail now"
    FEWER = "runs fewer cases"
    BROKEN = "passed before and fails now"
    UNRUN = "could not run on the new code in its earlier version"


class Loss(Struct, frozen=True):
    """One test that passed before, and does not say the same any more."""

    test: str
    fate: BaseTestFate
    file: str = ""
    cases: tuple[int, int] = (1, 0)
    """Number of cases that passed before, and now."""
    others: int = 0
    """Further tests with the same fate and cause."""

    @property
    def text(self) -> str:
        """The sentence about it."""
        if self.fate is BaseTestFate.FEWER:
            return f"`{self.test}` {self.fate}: {self.cases[0]} before, {self.cases[1]} now"
        if self.others:
            return f"`{self.test}` and {self.others} more {self.fate}"
        return f"`{self.test}` {self.fate}"


def find_lost_tests(
    before: CaseCounts, restored: CaseCounts | None, now: CaseCounts
) -> Iterator[Loss]:
    """Yield the losses among the tests that passed `before`.

    `restored` is the run of those same tests on the proposed code, None where none of them could
    be run; `now` is the run of the proposal as it is.
    """
    for test, cases in before.by_test.items():
        count = cases["passed"]
        if not count:
            continue
        file = before.files.get(test, "")
        as_was = restored.count_passing(test) if restored else 0
        passes = now.count_passing(test)
        # First: a test rewritten to pass on this code is exactly what is searched.
        if restored and as_was < count and restored.count(test, *_BAD):
            yield Loss(test, BaseTestFate.FAILS, file, (count, as_was))
        elif passes >= count:
            if not as_was:
                yield Loss(test, BaseTestFate.UNRUN, file)
        else:
            yield Loss(test, _fate(test, passes, now), file, (count, passes))


def _fate(test: str, passes: int, now: CaseCounts) -> BaseTestFate:
    if now.count(test, *_BAD):
        return BaseTestFate.BROKEN
    if passes:
        return BaseTestFate.FEWER
    if now.count(test, "xfailed"):
        return BaseTestFate.EXPECTED
    return BaseTestFate.SKIPPED if now.count(test, *_IDLE) else BaseTestFate.GONE


def group_unrun(lost: list[Loss]) -> Iterator[Loss]:
    """Return the lost tests; those that could not run have one cause, so they are one finding."""
    unrun = [one for one in lost if one.fate is BaseTestFate.UNRUN]
    yield from (one for one in lost if one.fate is not BaseTestFate.UNRUN)
    if unrun:
        yield replace(unrun[0], others=len(unrun) - 1)


def new_tests(before: CaseCounts, now: CaseCounts) -> Iterable[str]:
    """Return the tests that pass now and did not exist before."""
    return [test for test in now.by_test if now.count_passing(test) and test not in before.by_test]
