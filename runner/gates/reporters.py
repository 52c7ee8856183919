"""Commands fitted out from outside so that the test tool they start writes results per test.

The command stays as a person wrote it: pytest hears `PYTEST_ADDOPTS`, node's test runner hears
`NODE_OPTIONS`. vitest hears neither, so a plain vitest command is given arguments.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import effects
from runner.gates.base import Fitted, file_name
from runner.gates.junit import read_results

if TYPE_CHECKING:
    from pathlib import Path

    from runner.gates.base import Bench, Check
    from runner.gates.junit import TestResults
    from runner.process.command import Ran

_PYTEST = re.compile(r"(?:\A|[\s/])(?:pytest|py\.test)(?=\s|\Z)")
_STARTS_PYTEST = re.compile(r"(?:[A-Za-z_]\w*=\S* )*(?:\S*python[\d.]* -m )?pytest(?=\s|\Z)")
_NODE = re.compile(r"(?:\A|[\s/])node(?=\s)(?=.*\s--test(?=\s|\Z))")
_VITEST = re.compile(r"(?:\A|[\s/])vitest(?=\s|\Z)")
_PLAIN = re.compile(r"[^;&|<>`$\n()]*")
_RUNNERS = re.compile(r"(?:\A|[\s/])(?:make|just|tox|nox|hatch|npm|pnpm|yarn|bun|task)(?=\s)")
_NOT_TAKEN = re.compile(
    r"unrecognized arguments: .*--junit-?xml|--test-reporter\S* is not allowed in NODE_OPTIONS"
    r"|'--test-reporter' must match the number of"
)


@dataclass(frozen=True, slots=True)
class Reporting:
    """A command with the file in which its tool will say how each test ended."""

    fitted: Fitted
    plain: Fitted
    """The same without a reporter, for a tool that does not take one."""
    file: Path
    trusted: bool
    """Whether the command itself names a test tool; else what it starts may fail on purpose."""
    expected: bool
    """Whether that tool always says how many tests ran."""

    def clear(self) -> None:
        """Take away what an earlier run left."""
        effects.unlink(self.file)

    def results(self) -> TestResults | None:
        """What the tool said of each test; None where it said nothing."""
        return read_results(self.file)


def reporting(check: Check, bench: Bench, plain: Fitted) -> Reporting:
    """The command, so that pytest, node or vitest write down how each test ended."""
    file = bench.place.box / f"junit-{file_name(check.task + check.id)}.xml"
    line, variables = plain.line, dict(plain.variables)

    def add(name: str, words: str) -> None:
        given = variables.get(name) or bench.environment.get(name, "")
        variables[name] = f"{given} {words}".strip()

    add("PYTEST_ADDOPTS", f"{shlex.quote(f'--junitxml={file}')} -o junit_family=xunit1")
    if _NODE.search(check.command) and "--test-reporter" not in check.command:
        add("NODE_OPTIONS", _node_words(file))
    asked = check.command
    if _VITEST.search(asked) and "--reporter" not in asked and _PLAIN.fullmatch(asked):
        line += f" --reporter=default --reporter=junit {shlex.quote(f'--outputFile.junit={file}')}"
    return Reporting(
        fitted=Fitted(line, variables),
        plain=plain,
        file=file,
        trusted=names_test_tool(check.command),
        expected=bool(_STARTS_PYTEST.match(check.command)),
    )


def names_test_tool(line: str) -> bool:
    """Whether a command line itself starts a test tool or something that stands for one."""
    return any(one.search(line) for one in (_PYTEST, _NODE, _VITEST, _RUNNERS))


def not_taken(ran: Ran) -> bool:
    """Whether the tool ended because it does not take the reporter it was given."""
    return ran.exit != 0 and bool(_NOT_TAKEN.search(ran.tail))


def _node_words(file: Path) -> str:
    """Both reporters: the person's log stays what it is (node, `--test-reporter`)."""
    quoted = str(file).replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'--test-reporter=junit "--test-reporter-destination={quoted}" '
        "--test-reporter=spec --test-reporter-destination=stdout"
    )
