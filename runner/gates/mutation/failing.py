"""Why a run failed on a mutant: what a test claims did not hold, or the mutated code gave way.

A test that only calls the code fails, too, where a mutant crashes or never ends. So a failure
counts as noticed where a test says that it is one, or where what was raised came from elsewhere
than the mutated file and is no mistake of types.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.check_run import output_of
from runner.gates.result_parsers import without_colours

if TYPE_CHECKING:
    from runner.gates.check_run import CheckRun

_CLAIMED = re.compile(
    r"^(?:E\s+)?assert\b"
    r"|^E?\s*(?:Uncaught )?(?:[\w.]+\.)?AssertionError\b"
    r"|\bERR_ASSERTION\b|\bDID NOT (?:RAISE|WARN)\b|^\s*expect\((?:received|jest\.fn|element)"
    r"|^\s*operator: |\bassertion\b.*\bfailed\b",
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
