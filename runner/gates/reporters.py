"""Commands fitted out from outside so that the test programs they start say how tests ended.

The command stays as a person wrote it: pytest hears `PYTEST_ADDOPTS`, Node `NODE_OPTIONS`, unittest
is met in its interpreter (`report_hook`), go and cargo on PATH (`tool_hooks`). A plain vitest
command is given arguments.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.gates import shim
from runner.gates.base import Fitted, file_name
from runner.gates.coverage.stored import emptied
from runner.gates.shim import own_folder
from runner.gates.test_reports import told_in
from runner.gates.tool_hooks import laid_out_hooks, node_words

if TYPE_CHECKING:
    from pathlib import Path

    from runner.gates.base import Bench, Check
    from runner.gates.test_reports import Told
    from runner.process.base import Ran

_STARTS_PYTEST = re.compile(
    r"(?:! *)?(?:[A-Za-z_]\w*=\S* )*(?:\S*python[\d.]* -m )?pytest(?=\s|\Z)"
)
_NODE = re.compile(r"(?:\A|[\s/])node(?=\s)(?=.*\s--test(?=\s|\Z))")
_VITEST = re.compile(r"(?:\A|[\s/])vitest(?=\s|\Z)")
_FOLDER = "reports"
_PYTEST_FILE = "pytest.xml"
_PLAIN = re.compile(r"[^;&|<>`$\n()]*")
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
    folder: Path
    """Where every test program that the command starts says how its tests ended."""
    expected: bool
    """Whether the tool that the command names always says how many tests ran."""

    def clear(self) -> None:
        """Take away what an earlier run left."""
        emptied(self.folder)

    def told(self) -> Told:
        """What the test programs said."""
        return told_in(self.folder)


def reporting(check: Check, bench: Bench, plain: Fitted) -> Reporting:
    """The command, so that the test programs that it starts write down how their tests ended."""
    name = file_name(check.task + check.id)
    folder = own_folder(bench.place.box, _FOLDER, name)
    plain = _with_hooks(plain, bench, folder)
    line, variables = plain.line, dict(plain.variables)

    def add(name: str, words: str) -> None:
        given = variables.get(name) or bench.environment.get(name, "")
        variables[name] = f"{given} {words}".strip()

    words = f"{shlex.quote(f'--junitxml={folder / _PYTEST_FILE}')} -o junit_family=xunit1"
    add("PYTEST_ADDOPTS", words)
    variables["RUNNER_REPORT_PYTEST"] = words
    if _NODE.search(check.command) and "--test-reporter" not in check.command:
        words = _node_words(folder / "node.xml")
        add("NODE_OPTIONS", words)
        variables["RUNNER_REPORT_NODE"] = words
    asked = check.command
    if _VITEST.search(asked) and "--reporter" not in asked and _PLAIN.fullmatch(asked):
        file = shlex.quote(f"--outputFile.junit={folder / 'vitest.xml'}")
        line += f" --reporter=default --reporter=junit {file}"
    return Reporting(
        fitted=Fitted(line, variables),
        plain=plain,
        folder=folder,
        expected=bool(_STARTS_PYTEST.match(check.command)),
    )


def _with_hooks(plain: Fitted, bench: Bench, folder: Path) -> Fitted:
    """What stands before Python, Node, go and cargo, wherever the command starts one of them."""
    start = shim.laid_out(bench.place)
    hooks = laid_out_hooks(bench.place, bench.environment)
    given = {**bench.environment, **plain.variables}
    variables = {
        **plain.variables,
        "RUNNER_REPORT_OUT": str(folder),
        "PYTHONPATH": shim.search_path(start, given.get("PYTHONPATH", "")),
        "NODE_OPTIONS": f"{given.get('NODE_OPTIONS', '')} {node_words(hooks)}".strip(),
        "PATH": f"{hooks / 'bin'}{os.pathsep}{given.get('PATH', os.defpath)}",
    }
    is_in_front = str(start) in plain.variables.get("PYTHONPATH", "")
    return Fitted(plain.line if is_in_front else shim.in_front(plain.line, start), variables)


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
