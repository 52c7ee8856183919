"""`runner lsp`: the language server that editors start; speaks over stdin and stdout."""

from __future__ import annotations

import signal
from importlib.util import find_spec
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.editor import language_server
else:
    language_server = lazy_module("runner.editor.language_server")

EXAMPLES = """\
examples:
  runner lsp                  started by an editor; docs/editors.md has the lines to set it up
"""
_INSTALL = "pip install 'task-graph-runner[lsp]'"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner lsp` takes; `--stdio` is what many editors add by themselves."""
    parser.add_argument("--stdio", action="store_true", help="over stdin and stdout, as always")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Serve until the client goes; exit 1 where it goes without a shutdown."""
    del given
    if find_spec("pygls") is None:
        raise RunnerError("the language server needs pygls", hint=_INSTALL)
    signal.signal(signal.SIGINT, lambda *_: language_server.leave(ExitCode.INTERRUPTED))
    code = ExitCode.OK if language_server.serve(environ) else ExitCode.FAILED
    language_server.leave(code)
    return code
