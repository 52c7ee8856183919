"""Instrument commands from outside so that the test programs they start report their results.

The command itself stays unchanged. pytest reads `PYTEST_ADDOPTS`, `report_hook` runs in unittest's
interpreter, `node_hooks` preloads Node, and `tool_hooks` puts `go` and `cargo` on PATH.

The hooks of Node, go and cargo keep the end of their own process's output, and its exit, with the
reports of the check. A program that another test program started is let through untouched.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.gates import shim
from runner.gates.base import Fitted, file_name
from runner.gates.own_files import make_empty, own_folder, put
from runner.gates.test_reports import read_reports
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.plan.shell.exit_status import expects_failures
from runner.process.tools import which

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.gates import node_hooks
    from runner.gates.base import Check, GateContext
    from runner.gates.junit import Reports
    from runner.process.base import Place, Ran
else:
    node_hooks = lazy_module("runner.gates.node_hooks")


_STARTS_PYTEST = regex(r"(?:! *)?(?:[A-Za-z_]\w*=\S* )*(?:\S*python[\d.]* -m )?pytest(?=\s|\Z)")
_FOLDER = "reports"
_PYTEST_FILE = "pytest.xml"
_NOT_TAKEN = regex(r"unrecognized arguments: .*--junit-?xml")


class Reporting(Struct, frozen=True):
    """A command with the file in which its tool will say how each test ended."""

    fitted: Fitted
    plain: Fitted
    """The same without a reporter, for a tool that does not support one."""
    folder: Path
    """Folder in which every started test program reports its results."""
    root: str
    """The project's folder, as those programs see it."""
    expected: bool
    """Whether the tool named in the command always reports how many tests ran."""

    def clear(self) -> None:
        """Remove the reports of an earlier run."""
        make_empty(self.folder)

    def read_reports(self) -> Reports:
        """Read the reports of the test programs."""
        return read_reports(self.folder, self.root)

    def hear(self, context: GateContext) -> Reports:
        """Return what the test programs reported of a run that ended."""
        report = self.read_reports()
        if context.known_secrets:
            self.clear()  # tests print values as they are
        return report


def expects(check: Check) -> bool:
    """Return whether a check expects its tests to fail, by `(unit, fails)` or a `!` prefix."""
    return check.kind == "test" and (check.fails or expects_failures(check.command))


def with_reports(check: Check, context: GateContext, plain: Fitted) -> Reporting:
    """Return the command with options that make its test tools write result reports."""
    name = file_name(check.task + check.id)
    folder = own_folder(context.place.box, _FOLDER, name)
    plain = _with_hooks(plain, context, folder)
    variables = dict(plain.variables)

    def add(name: str, words: str) -> None:
        given = variables.get(name) or context.environment.get(name, "")
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
        root=_root(context),
        expected=bool(_STARTS_PYTEST.match(check.command)),
    )


def _root(context: GateContext) -> str:
    seen = context.sandbox.sees(context.place, context.place.tree)
    return os.path.realpath(seen / context.place.start)


def _with_hooks(plain: Fitted, context: GateContext, folder: Path) -> Fitted:
    """Add hooks for Python, Node, go and cargo to a command's environment."""
    start = shim.write_module(context.place)
    hooks = write_hooks(context.place, context.environment)
    given = {**context.environment, **plain.variables}
    preload = shim.quote_preload(hooks / "report.cjs")
    variables = {
        **plain.variables,
        "RUNNER_REPORT_OUT": str(folder),
        "PYTHONPATH": shim.search_path(start, given.get("PYTHONPATH", "")),
        "NODE_OPTIONS": f"{given.get('NODE_OPTIONS', '')} {preload}".strip(),
        "PATH": f"{hooks / 'bin'}{os.pathsep}{given.get('PATH', os.defpath)}",
    }
    is_in_front = str(start) in plain.variables.get("PYTHONPATH", "")
    return Fitted(plain.line if is_in_front else shim.in_front(plain.line, start), variables)


def not_taken(ran: Ran) -> bool:
    """Return whether the tool ended because it does not support the reporter."""
    return ran.exit != 0 and bool(_NOT_TAKEN.search(ran.tail))


# --- tool hooks -----------------------------------------------------------------------


_HOOKS = "hooks"
_TOOLS = ("go", "cargo")

# The exit code goes through a file: a pipeline's is that of its last command, here `tee`, and not
# every sh has `pipefail` (POSIX 2018, XCU 2.9.2).
_SHELL = """\
#!/bin/sh
# Runs before {tool} in a proof: keeps what its tests say, and passes on its exit.
real={real}
if [ -n "$RUNNER_WATCH_OUT" ] && [ -n "$RUNNER_WATCH_ROOT" ]; then
  case " $1 $2 $3 " in
    *" test "* | *" t "* | *" nextest "* | *" build "* | *" run "*)
      {{ {packages} ; }} 2> /dev/null | grep -F "$RUNNER_WATCH_ROOT/" |
        grep -v '/pkg/mod/\\|/registry/src/\\|/git/checkouts/' >> "$RUNNER_WATCH_OUT" ;;
  esac
fi
case " $1 $2 $3 " in
  *" test "* | *" t "* | *" nextest "*) ;;
  *) exec "$real" "$@" ;;
esac
if [ -z "$RUNNER_REPORT_OUT" ] || [ -n "$RUNNER_REPORT_WITHIN" ]; then exec "$real" "$@"; fi
export RUNNER_REPORT_WITHIN=$$
file=$RUNNER_REPORT_OUT/{tool}-$$
if [ -n "$RUNNER_REPORT_NAMES" ]; then
{named}
fi
about() {{ env | grep -v '^RUNNER_\\|^_=\\|^SHLVL=\\|PWD=' | sort; pwd; printf '%s\\n' "$@"; }}
key=$(about "$@" | cksum | tr ' ' -)
printf '%s\\n%s\\n%s\\n' "$$" "$RUNNER_REPORT_CHAIN" "$key" > "$file.about"
run() {{ if [ -n "$RUNNER_REPORT_NAMES" ]; then "$real" "$@" 2>&1; else "$real" "$@"; fi; }}
{{ run "$@"; echo $? > "$file.exit"; }} | tee "$file.out"
code=1
read -r code < "$file.exit"
exit "$code"
"""
_NAMED = {
    "go": """\
  given=
  for word do
    shift
    set -- "$@" "$word"
    if [ -z "$given" ] && [ "$word" = test ]; then given=1; set -- "$@" -json; fi
  done""",
    # `cargo test` stops at the first failing binary, and the tests of the others have no result.
    "cargo": """\
  given=
  for word do
    shift
    case $word in -q | --quiet | --no-fail-fast) continue ;; esac
    set -- "$@" "$word"
    case $given$word in test | t) given=1; set -- "$@" --no-fail-fast ;; esac
  done""",
}
"""Options that make a tool name every test."""
_PACKAGES = {
    "go": """"$real" list -deps -test -f '{{.Dir}}' ./...""",
    "cargo": (
        '"$real" metadata --offline --format-version 1 | tr , "\\n" |'
        """ sed -n 's/^"manifest_path":"\\(.*\\)"$/\\1/p'"""
    ),
}
"""Commands that list the folders of all packages that are built."""


def write_hooks(place: Place, environment: Mapping[str, str]) -> Path:
    """Write the report hooks and return their folder; `bin` wraps `go` and `cargo`.

    Commands may write there, so all of it is made right again each time.
    """
    folder = own_folder(place.box, _HOOKS)
    programs = own_folder(place.box, _HOOKS, "bin")
    put(folder / "report.cjs", node_hooks.PRELOAD.encode())
    put(folder / "vitest.mjs", node_hooks.PROVIDER.encode())
    for tool in _TOOLS:
        real = which(tool, environment)
        # If PATH already has the runner's programs, it would start itself endlessly.
        if real is not None and not real.is_relative_to(programs):
            text = _SHELL.format(
                tool=tool,
                real=shlex.quote(str(real)),
                named=_NAMED[tool],
                packages=_PACKAGES[tool],
            )
            put(programs / tool, text.encode(), mode=0o755)
    return folder
