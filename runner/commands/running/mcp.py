"""`runner mcp` and `runner lsp`: servers that an assistant or an editor starts and speaks with."""

from __future__ import annotations

import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.catalogue import Command
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.extras import install_hint

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.editor import language_server
    from runner.mcp_server import calls, server
else:
    calls = lazy_module("runner.mcp_server.calls")
    language_server = lazy_module("runner.editor.language_server")
    server = lazy_module("runner.mcp_server.server")


_MCP = """\
examples:
  claude mcp add runner -- runner mcp
  codex mcp add runner -- runner mcp
  runner mcp --folder ../service        for a client that starts programs elsewhere
"""


def mcp_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner mcp` takes."""
    parser.add_argument("--folder", metavar="PATH", help="the project, where it is not this folder")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute_mcp(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
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


_LSP = """\
examples:
  runner lsp                  started by an editor; docs/editors.md has the lines to set it up
"""


def lsp_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner lsp` takes; `--stdio` is what many editors add by themselves."""
    parser.add_argument("--stdio", action="store_true", help="over stdin and stdout, as always")


def execute_lsp(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Serve until the client goes; exit 1 where it goes without a shutdown."""
    del given
    if find_spec("pygls") is None:
        raise RunnerError("the language server needs pygls", hint=install_hint("lsp"))
    signal.signal(signal.SIGINT, lambda *_: language_server.leave(ExitCode.INTERRUPTED))
    code = ExitCode.OK if language_server.serve(environ) else ExitCode.FAILED
    language_server.leave(code)
    return code


COMMANDS = {
    "mcp": Command(_MCP, mcp_arguments, execute_mcp),
    "lsp": Command(_LSP, lsp_arguments, execute_lsp),
}
