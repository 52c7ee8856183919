"""Make pytest, unittest and doctest report results per test, in their own interpreter.

It is copied beside `sitecustomize_hook`, which loads it where one of them is, and never imported
here. A test program that another one started is no part of the proof, and writes nothing.
"""
# ruff: noqa: UP031 - for old interpreters
# ruff: noqa: PTH118, PTH123, PTH110, PTH119, PTH109, PTH108 - importing pathlib costs 8 ms a process

from __future__ import annotations

import json
import os
import re
import sys
import time
import zlib
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any

WITHIN = "RUNNER_REPORT_WITHIN"
_OURS = re.compile(
    r"(?:'--junitxml=[^']*/reports/[^']*'|--junitxml=\S*/reports/\S+) -o junit_family=xunit1"
)
"""Options from a test program that started this one."""
_AGAIN = frozenset(("--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first"))
_VOLATILE = frozenset(("_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES", "PYTEST_CURRENT_TEST"))


@contextmanager
def outermost(tool: str, words: list[str]) -> Iterator[str]:
    """Mark the block as run by a test program, so that nested test programs are recognized.

    Gives the path of the report without its ending, empty within another test program. A mark tells
    of a program that did not come to its end.
    """
    if os.environ.get(WITHIN):
        yield ""
        return
    name = "%s-%d-%d" % (tool, time.time_ns(), os.getpid())
    stem = os.path.join(os.environ["RUNNER_REPORT_OUT"], name)
    about = {
        "tool": tool,
        "pid": os.getpid(),
        "chain": os.environ.get("RUNNER_REPORT_CHAIN", ""),
        "key": _key(words),
    }
    with suppress(Exception), open(stem + ".json", "w", encoding="utf-8") as file:
        json.dump(about, file)
    with suppress(Exception), open(stem + ".started", "w", encoding="utf-8"):
        pass
    os.environ[WITHIN] = str(os.getpid())
    try:
        yield stem
    finally:
        os.environ.pop(WITHIN, None)
        with suppress(Exception):
            os.unlink(stem + ".started")


def _key(words: list[str]) -> str:
    """Return a key that two runs share if the second repeats the first."""
    kept = [word for word in words if word not in _AGAIN and not _is_path(word)]
    given = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name not in _VOLATILE and not name.startswith("RUNNER_")
    )
    return "%x" % zlib.crc32(repr((kept, given, os.getcwd(), sys.executable)).encode())


def _is_path(word: str) -> bool:
    return not word.startswith("-") and os.path.exists(word.partition("::")[0])


# --- pytest -----------------------------------------------------------------------------


def of_pytest(config: ModuleType) -> None:
    """Make each pytest run write its own report; programs that it starts inherit none."""
    name_of_main = "_main" if hasattr(config, "_main") else "main"  # since pytest 9.1
    main = getattr(config, name_of_main)

    def run_and_report(args: Any = None, plugins: Any = None, **named: Any) -> Any:
        words = [str(word) for word in (sys.argv[1:] if args is None else args)]
        given, ours = os.environ.get("PYTEST_ADDOPTS", ""), os.environ["RUNNER_REPORT_PYTEST"]
        own = _OURS.sub("", given).strip()
        with outermost("pytest", words) as stem:
            name = os.path.basename(stem)
            more = ours.replace("pytest.xml", name + ".xml") if stem else ""
            os.environ["PYTEST_ADDOPTS"] = (own + " " + more).strip()
            seen = _Seen()
            try:
                code = main(args=args, plugins=[*(plugins or ()), seen], **named)
                with suppress(Exception):
                    _note_exit(stem, int(code))
                return code
            finally:
                os.environ["PYTEST_ADDOPTS"] = given
                with suppress(Exception):
                    seen.copy(stem + ".xml" if stem else "")

    if os.environ.get("RUNNER_REPORT_PYTEST"):
        setattr(config, name_of_main, run_and_report)


def _note_exit(stem: str, code: int) -> None:
    """Add to what is known of a test program how it ended."""
    if stem:
        with open(stem + ".json", encoding="utf-8") as file:
            about = json.load(file)
        with open(stem + ".json", "w", encoding="utf-8") as file:
            json.dump({**about, "exit": code}, file)


class _Seen:
    """A plug-in that sees where a person wants a report."""

    def __init__(self) -> None:
        self.file = ""

    def pytest_configure(self, config: Any) -> None:
        """Read the report path from the options."""
        with suppress(Exception):
            named = os.path.expandvars(getattr(config.option, "xmlpath", None) or "")
            self.file = os.path.abspath(os.path.expanduser(named)) if named else ""  # noqa: PTH111, PTH100 - as pytest does

    def copy(self, target: str) -> None:
        """Copy the person's report to `target` if it replaced the runner's own."""
        # Arguments on the line follow those of PYTEST_ADDOPTS, and the last --junitxml wins.
        if target and self.file not in ("", target) and not os.path.exists(target):
            with open(self.file, "rb") as read, open(target, "wb") as written:
                written.write(read.read())


# --- unittest ---------------------------------------------------------------------------


def of_unittest(module: ModuleType) -> None:
    """Record the results of every `TextTestRunner` run."""
    runner = module.TextTestRunner
    run = runner.run

    def run_and_report(self: Any, test: Any) -> Any:
        with outermost("unittest", sys.argv[1:]) as stem:
            if not stem:
                return run(self, test)
            began: list[str] = []
            with suppress(Exception):
                self._makeResult = _noting(self._makeResult, began)
            result = run(self, test)
            with suppress(Exception):
                _write(stem + ".xml", _rows(result, began))
            return result

    runner.run = run_and_report


# --- doctest ----------------------------------------------------------------------------


def of_doctest(module: ModuleType) -> None:
    """Write down how the examples of each docstring end, by whomever they are started.

    Its functions look at who calls them, so what they call is met instead.
    """
    run = module.DocTestRunner.run

    def run_and_report(self: Any, test: Any, *given: Any, **named: Any) -> Any:
        with outermost("doctest", [*sys.argv[1:], str(test.name)]) as stem:
            result = run(self, test, *given, **named)
            if stem and test.examples:
                with suppress(Exception):
                    word = "failure" if result[0] else "passed"
                    _write(
                        stem + ".xml", {str(test.name): (word, "%d of %d examples" % result[:2])}
                    )
            return result

    module.DocTestRunner.run = run_and_report


def _noting(make: Callable[[], Any], began: list[str]) -> Callable[[], Any]:
    def make_noting() -> Any:
        result = make()
        start = result.startTest

        def note_start(case: Any) -> Any:
            began.append(str(case.id()))
            return start(case)

        result.startTest = note_start
        return result

    return make_noting


def _rows(result: Any, began: list[str]) -> dict[str, tuple[str, str]]:
    """Return outcome and message by test."""
    rows = dict.fromkeys(began, ("passed", ""))
    for case, _ in getattr(result, "expectedFailures", ()):
        rows[str(case.id())] = ("xfailed", "")
    for case, why in getattr(result, "skipped", ()):
        rows[str(case.id())] = ("skipped", str(why))
    for case in getattr(result, "unexpectedSuccesses", ()):
        rows[str(case.id())] = ("failure", "it passed, though it was expected to fail")
    for word, found in (("failure", result.failures), ("error", result.errors)):
        for case, message in found:
            whole = getattr(case, "test_case", None)  # of a subTest
            # unittest only reports the start of the whole: it would count as passed despite a
            # failed part.
            rows.pop(str(whole.id()) if whole is not None else "", None)
            rows[str(case.id())] = (word, str(message))
    return rows


def _write(path: str, rows: dict[str, tuple[str, str]]) -> None:
    """Write a JUnit report like that of pytest, with the unchanged test id."""
    lines = ['<testsuites><testsuite name="unittest">']
    for name, (word, message) in rows.items():
        lines.append('<testcase runner-id="%s" name="%s">' % ((_escape_attribute(name),) * 2))
        text = _escape(message)
        if word in ("failure", "error"):
            lines.append("<%s>%s</%s>" % (word, text, word))
        elif word != "passed":
            kind = "pytest.xfail" if word == "xfailed" else "pytest.skip"
            lines.append('<skipped type="%s">%s</skipped>' % (kind, text))
        lines.append("</testcase>")
    lines.append("</testsuite></testsuites>")
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        file.write("".join(lines))


def _escape(text: str) -> str:
    """Escape text for XML; `saxutils` of the standard library takes 65 ms to import."""
    return _plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escape_attribute(text: str) -> str:
    """Escape an XML attribute value, including line breaks (XML 1.0, 3.3.3)."""
    whole = _escape(text).replace('"', "&quot;")
    return whole.replace("\n", "&#10;").replace("\t", "&#9;")


def _plain(text: str) -> str:
    """Replace the characters that XML 1.0 does not allow."""
    return "".join(c if c >= " " or c in "\t\n" else "?" for c in text if c not in "\ufffe\uffff")
