"""Servers for other programs: `runner mcp` for an assistant, `runner lsp` for an editor."""

from __future__ import annotations

import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.wording import install_hint

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.editor import language_server
    from runner.mcp_server import calls, server
else:
    calls = lazy_module("runner.mcp_server.calls")
    language_server = lazy_module("runner.editor.language_server")
    server = lazy_module("runner.mcp_server.server")


def execute_mcp(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Answer until the input ends. Raises RunnerError for a folder that is none."""
    folder = Path(given.folder or ".").absolute()
    if not folder.is_dir():
        raise RunnerError("folder not found", where=str(folder), hint="runner mcp --help")
    if sys.stdin.isatty():
        message = "this command reads JSON messages from a program; see: runner mcp --help"
        print(f"note: {message}", file=sys.stderr)
    caller = calls.Caller(folder, environ, given.task_graph or "")
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
        server.Server(caller, output).serve(sys.stdin.buffer)
    return ExitCode.OK


def execute_lsp(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Serve until the client goes; exit 1 where it goes without a shutdown."""
    del given
    if find_spec("pygls") is None:
        raise RunnerError("the language server needs pygls", hint=install_hint("lsp"))
    signal.signal(signal.SIGINT, lambda *_: language_server.leave(ExitCode.INTERRUPTED))
    code = ExitCode.OK if language_server.serve(environ) else ExitCode.FAILED
    language_server.leave(code)
    return code
