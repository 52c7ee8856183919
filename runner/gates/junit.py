"""Read results per test from a JUnit XML file that the tested code may have forged.

The shape is the one of pytest (`xunit1` and `xunit2`), node's `junit` reporter and vitest's: a
`testcase` with `failure`, `error` or `skipped` in it, inside of `testsuite`s. The parser is expat,
fed in pieces: a document type or an entity declaration ends the reading, so nothing expands.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from xml.parsers import expat
else:
    expat = lazy_module("xml.parsers.expat")

FAILED_WORDS = ("failed", "failures", "error", "errors")
"""Keys under which tools count failures."""
LARGEST = 32 * 1024 * 1024
"""Maximum bytes of a file; a larger one counts as damaged."""
_MOST_TESTS = 200_000
_DEEPEST = 64
SCRIPT = regex(r"\.[cm]?[jt]sx?\Z")
"""Suffix of files that Node runs."""
_PYTEST_UNLOADED = frozenset({"collection failure", "internal error"})
"""pytest's JUnit message for a file that it could not collect, or that ended it (`LogXML`)."""
_UNITTEST_LOADER = "unittest.loader._FailedTest."
"""Test that unittest inserts for a module that it could not import."""
_MESSAGE = 4000
"""Characters of a failure's text that are kept."""


class TestOutcome(StrEnum):
    """The result of one test."""

    __test__ = False

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    """It failed as it declares that it must."""


_GRAVEST = (
    TestOutcome.SKIPPED,
    TestOutcome.XFAILED,
    TestOutcome.PASSED,
    TestOutcome.FAILED,
    TestOutcome.ERROR,
)
_COUNTED = {TestOutcome.ERROR: "errors"}
BAD = frozenset({TestOutcome.FAILED, TestOutcome.ERROR})


class TestResult(Struct, frozen=True):
    """One test of one run."""

    __test__ = False

    id: str
    """`tests/test_a.py::TestB::test_c[1]` for pytest, else suites and name joined by ` > `."""
    outcome: TestOutcome
    message: str = ""
    seconds: float = 0.0
    file: str = ""
    """File of the test, if the tool reports it."""
    unloaded: bool = False
    """Whether this is a file that could not be loaded: none of its tests ran."""

    @property
    def bad(self) -> bool:
        """Whether it failed."""
        return self.outcome in BAD


class TestResults(Struct, frozen=True):
    """All tests of one run, each id once."""

    __test__ = False

    tests: tuple[TestResult, ...] = ()

    @property
    def failing(self) -> tuple[TestResult, ...]:
        """The tests that failed or could not run."""
        return tuple(test for test in self.tests if test.bad)

    @property
    def passing(self) -> tuple[TestResult, ...]:
        """The tests that passed."""
        return tuple(test for test in self.tests if test.outcome is TestOutcome.PASSED)

    def counts(self) -> dict[str, int]:
        """Return counts such as `{"passed": 3, "failed": 1}`; `passed` is included even if 0."""
        found = Counter(test.outcome for test in self.tests)
        words = {_COUNTED.get(kind, str(kind)): found[kind] for kind in TestOutcome if found[kind]}
        return {"passed": 0} | words


class Reports(Struct, frozen=True):
    """All reports of one run of a check together."""

    results: TestResults | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    flaky: tuple[str, ...] = ()
    """Tests that failed and then passed in a retry."""
    unnamed: bool = False
    """Whether a tool that can name its tests was not configured to."""
    unfinished: tuple[str, ...] = ()
    """Test programs that ended before they reported their result."""
    ran_none: bool = False
    """Whether test programs ran, but none of them ran a test."""

    @property
    def failed(self) -> int:
        """Number of failed tests."""
        return sum(self.counts.get(word, 0) for word in FAILED_WORDS)

    def __bool__(self) -> bool:
        return bool(self.counts)


def read_results(path: Path) -> TestResults | None:
    """Read a JUnit file; None if it is missing or invalid."""
    content = _content(path)
    return parse_results(content) if content else None


def _content(path: Path) -> bytes | None:
    """Read a regular file up to the size limit without following links; return None if unfit."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        # Limited again: a process still running may have extended it since its size was read.
        content = file.read(LARGEST + 1)
    return content if len(content) <= LARGEST else None


def parse_results(content: bytes) -> TestResults | None:
    """Parse a JUnit document; return None if it is damaged or declares entities."""
    reading = _Reading()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.text
    try:
        parser.Parse(content, True)  # noqa: FBT003 - expat's own signature
    except (expat.ExpatError, _RefusedError, ValueError):
        return None
    return TestResults(tuple(reading.tests.values())) if reading.is_junit else None


class _RefusedError(Exception):
    """The document is none that a test tool writes."""


def _refuse(*_declared: object) -> None:
    raise _RefusedError


class _Reading:
    """The parser's state while it reads the document."""

    def __init__(self) -> None:
        self.tests: dict[str, TestResult] = {}
        self.is_junit = False
        self._open: list[str] = []
        self._suites: list[str] = []
        self._case: Mapping[str, str] = {}
        self._outcome = TestOutcome.PASSED
        self._todo = self._unloaded = False
        self._message = ""
        self._text: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        self._open.append(name)
        if len(self._open) > _DEEPEST or len(self.tests) > _MOST_TESTS:
            raise _RefusedError
        match name:
            case "testsuites":
                self.is_junit = True
            case "testsuite":
                self.is_junit = True
                self._suites.append(attributes.get("name", ""))
            case "testcase":
                self._case, self._outcome, self._message = attributes, TestOutcome.PASSED, ""
                self._todo = self._unloaded = False
            case "failure" | "error" | "skipped":
                self._end_test(name, attributes)

    def _end_test(self, name: str, attributes: dict[str, str]) -> None:
        loader = self._case.get("runner-id", "").startswith(_UNITTEST_LOADER)
        failed = name == "error" and attributes.get("message") in _PYTEST_UNLOADED
        self._unloaded = loader or failed or (name == "failure" and _is_file_itself(self._case))
        # pytest writes an expected failure as `<skipped type="pytest.xfail">`.
        expected = "xfail" in attributes.get("type", "")
        self._todo = self._todo or attributes.get("type", "") == "todo"
        outcome = {"failure": TestOutcome.FAILED, "error": TestOutcome.ERROR}.get(
            name, TestOutcome.XFAILED if expected else TestOutcome.SKIPPED
        )
        # node: a todo test may fail
        self._outcome = (
            TestOutcome.XFAILED if self._todo else max(self._outcome, outcome, key=_rank)
        )
        self._message = self._message or attributes.get("message", "")[:_MESSAGE]

    def text(self, content: str) -> None:
        """Handle text inside an element."""
        inside = self._open and self._open[-1] in ("failure", "error")
        if inside and sum(map(len, self._text)) < _MESSAGE:
            self._text.append(content[:_MESSAGE])

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        self._open.pop()
        if name == "testsuite" and self._suites:
            self._suites.pop()
        if name == "testcase":
            self._keep()

    def _keep(self) -> None:
        text = "".join(self._text).strip()[:_MESSAGE]
        self._text = []
        test = TestResult(
            id=_id(self._case, self._suites),
            outcome=self._outcome,
            message=_format_message(self._message, text) if self._outcome in BAD else self._message,
            seconds=_seconds(self._case.get("time", "")),
            file=self._case.get("file", ""),
            unloaded=self._unloaded,
        )
        if test.outcome is TestOutcome.PASSED and _is_file_itself(self._case):
            return
        known = self.tests.get(test.id)
        if known is None or _rank(known.outcome, again=True) <= _rank(test.outcome, again=True):
            self.tests[test.id] = test  # a test that also fails in its teardown is reported twice


def _is_file_itself(case: Mapping[str, str]) -> bool:
    """Return whether a case is only a file without tests (`node --test`)."""
    name, file = case.get("name", ""), case.get("file", "")
    if case.get("classname") != "test" or not SCRIPT.search(name):
        return False
    return name.startswith("/") or file == name or file.endswith(f"/{name}")


def _rank(outcome: TestOutcome, *, again: bool = False) -> int:
    """Return the rank of an outcome; inside one test case `passed` ranks lowest."""
    if outcome is TestOutcome.PASSED and not again:
        return -1
    return _GRAVEST.index(outcome)


def _format_message(message: str, text: str) -> str:
    """Return the message with the text below it, or only the text if it includes the message."""
    first = message.splitlines()[0] if message else ""
    return text if not first or first in text else f"{message}\n{text}".strip()


def _id(case: Mapping[str, str], suites: list[str]) -> str:
    if own := case.get("runner-id", ""):
        return own
    name, classes, file = case.get("name", ""), case.get("classname", ""), case.get("file", "")
    # pytest's xunit1 has the file, and as classname the dotted module with its classes: rebuild the
    # node ID from them.
    if file.endswith(".py"):
        module = file.removesuffix(".py").replace("/", ".")
        inner = classes.removeprefix(module).strip(".")
        parts = [file, *filter(None, inner.split(".")), name]
        return "::".join(parts) if classes else file  # a file that could not be collected
    within = [suite for suite in suites if suite not in ("", "pytest", classes)]
    at = "" if classes in ("", "test", "suite") else classes
    return " > ".join([*filter(None, [at]), *within, name])


_MOST_SECONDS = 1e9


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return seconds if 0 < seconds < _MOST_SECONDS else 0.0
