"""Commands fitted out from outside so that the test programs they start say how tests ended.

The command stays as a person wrote it: pytest hears `PYTEST_ADDOPTS`, unittest is met in its
interpreter (`report_hook`), the tools of Node as they are loaded (`node_hook`), go and cargo on
PATH (`tool_hooks`).
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.gates import shim
from runner.gates.base import Fitted, file_name
from runner.gates.coverage.storage import make_empty
from runner.gates.shim import own_folder
from runner.gates.test_reports import read_told
from runner.gates.tool_hooks import node_words, write_hooks

if TYPE_CHECKING:
    from pathlib import Path

    from runner.gates.base import Check, GateContext
    from runner.gates.test_reports import Told
    from runner.process.base import Ran

_STARTS_PYTEST = re.compile(
    r"(?:! *)?(?:[A-Za-z_]\w*=\S* )*(?:\S*python[\d.]* -m )?pytest(?=\s|\Z)"
)
_FOLDER = "reports"
_PYTEST_FILE = "pytest.xml"
_NOT_TAKEN = re.compile(r"unrecognized arguments: .*--junit-?xml")


@dataclass(frozen=True, slots=True)
class Reporting:
    """A command with the file in which its tool will say how each test ended."""

    fitted: Fitted
    plain: Fitted
    """The same without a reporter, for a tool that does not take one."""
    folder: Path
    """Where every test program that the command starts says how its tests ended."""
    root: str
    """The project's folder, as those programs name it."""
    expected: bool
    """Whether the tool that the command names always says how many tests ran."""

    def clear(self) -> None:
        """Take away what an earlier run left."""
        make_empty(self.folder)

    def read_told(self) -> Told:
        """What the test programs said."""
        return read_told(self.folder, self.root)


def with_reports(check: Check, bench: GateContext, plain: Fitted) -> Reporting:
    """The command, so that the test programs that it starts write down how their tests ended."""
    name = file_name(check.task + check.id)
    folder = own_folder(bench.place.box, _FOLDER, name)
    plain = _with_hooks(plain, bench, folder)
    variables = dict(plain.variables)

    def add(name: str, words: str) -> None:
        given = variables.get(name) or bench.environment.get(name, "")
        variables[name] = f"{given} {words}".strip()

    words = f"{shlex.quote(f'--junitxml={folder / _PYTEST_FILE}')} -o junit_family=xunit1"
    add("PYTEST_ADDOPTS", words)
    variables["RUNNER_REPORT_PYTEST"] = words
    if check.named:
        variables["RUNNER_REPORT_NAMES"] = "1"
    return Reporting(
        fitted=Fitted(plain.line, variables),
        plain=plain,
        folder=folder,
        root=_root(bench),
        expected=bool(_STARTS_PYTEST.match(check.command)),
    )


def _root(bench: GateContext) -> str:
    seen = bench.sandbox.sees(bench.place, bench.place.tree)
    return os.path.realpath(seen / bench.place.start)


def _with_hooks(plain: Fitted, bench: GateContext, folder: Path) -> Fitted:
    """What stands before Python, Node, go and cargo, wherever the command starts one of them."""
    start = shim.write_module(bench.place)
    hooks = write_hooks(bench.place, bench.environment)
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
