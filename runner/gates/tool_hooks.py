"""What stands before test programs that are not Python: a preload of Node, `go` and `cargo`.

Each keeps the end of what its own process printed, and its exit, where the reports of a check are
collected. A program that another test program started is let through untouched.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from runner import effects
from runner.gates.node_hook import PRELOAD
from runner.gates.shim import own_folder
from runner.process.tools import which

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.process.base import Place

_FOLDER = "hooks"
_TOOLS = ("go", "cargo")

_SHELL = """\
#!/bin/sh
# Stands before {tool} in a proof: keeps what its tests say, and passes on its exit.
real={real}
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
printf '%s\\n%s\\n%s\\n' "$$" "$RUNNER_REPORT_CHAIN" "$(about "$@" | cksum)" > "$file.about"
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
    "cargo": """\
  given=
  for word do
    shift
    case $word in -q | --quiet | --no-fail-fast) continue ;; esac
    set -- "$@" "$word"
    case $given$word in test | t) given=1; set -- "$@" --no-fail-fast ;; esac
  done""",
}
"""Where every test is to be named: the tool's words so that it does."""


def write_hooks(place: Place, environment: Mapping[str, str]) -> Path:
    """The folder with the preload and, in `bin`, what stands before `go` and `cargo`.

    Commands may write there, so all of it is made right again each time.
    """
    folder = own_folder(place.box, _FOLDER)
    programs = own_folder(place.box, _FOLDER, "bin")
    _put(folder / "report.cjs", PRELOAD.encode(), 0o644)
    for tool in _TOOLS:
        real = which(tool, environment)
        if real is not None and not real.is_relative_to(programs):
            text = _SHELL.format(tool=tool, real=shlex.quote(str(real)), named=_NAMED[tool])
            _put(programs / tool, text.encode(), 0o755)
    return folder


def _put(file: Path, content: bytes, mode: int) -> None:
    fresh = not file.is_symlink() and file.is_file() and file.read_bytes() == content
    if not fresh or not os.access(file, os.X_OK if mode & 0o100 else os.R_OK):
        effects.write_file(file, content, mode=mode)


def node_words(folder: Path) -> str:
    """What NODE_OPTIONS is given (Node's own quoting)."""
    quoted = str(folder / "report.cjs").replace("\\", "\\\\").replace('"', '\\"')
    return f'--require "{quoted}"'
