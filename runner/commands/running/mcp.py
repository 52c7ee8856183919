"""`runner mcp`: the plan for an assistant, over the Model Context Protocol on standard input."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.mcp_server import calls, server
else:
    calls = lazy_module("runner.mcp_server.calls")
    server = lazy_module("runner.mcp_server.server")

EXAMPLES = """\
examples:
  claude mcp add runner -- runner mcp
  codex mcp add runner -- runner mcp
  runner mcp --folder ../service        for a client that starts programs elsewhere
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner mcp` takes."""
    parser.add_argument("--folder", metavar="PATH", help="the project, where it is not this folder")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Answer until the input ends. Raises RunnerError for a folder that is none."""
    folder = Path(given.folder or ".").absolute()
    if not folder.is_dir():
        raise RunnerError("there is no such folder", where=str(folder), hint="runner mcp --help")
    if sys.stdin.isatty():
        said = "this speaks with a program, a JSON message a line; runner mcp --help says how"
        print(f"note: {said}", file=sys.stderr)
    caller = calls.Caller(folder, environ, given.task_graph or "")
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
        server.Server(caller, output).serve(sys.stdin.buffer)
    return ExitCode.OK
