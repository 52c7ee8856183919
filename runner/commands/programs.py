"""`runner mcp`, `lsp`, `serve`, `version`: servers for other programs, and the version."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from runner import __version__
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.display import display
from runner.text.wording import install_hint

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.config import paths
    from runner.editor import language_server
    from runner.mcp_server import server
    from runner.serve import guard, listener
else:
    server = lazy_module("runner.mcp_server.server")
    language_server = lazy_module("runner.editor.language_server")
    guard = lazy_module("runner.serve.guard")
    listener = lazy_module("runner.serve.listener")
    paths = lazy_module("runner.config.paths")

PORTS = 65_536
_SECONDS_TO_HEAR = 1.0


def execute_mcp(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Answer until the input ends. Raises RunnerError for a folder that is none."""
    folder = Path(given.folder or ".").absolute()
    if not folder.is_dir():
        raise RunnerError("folder not found", where=str(folder), hint="runner mcp --help")
    if sys.stdin.isatty():
        message = "this command reads JSON messages from a program; see: runner mcp --help"
        print(f"note: {message}", file=sys.stderr)
    caller = server.Caller(folder, environ, given.task_graph or "")
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


def execute_serve(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Serve until it is ended. Raises RunnerError for a folder without git, and a taken port."""
    from runner.serve.builds import Builds

    places = paths.Places.of(environ)
    if not 0 <= given.port < PORTS:
        raise RunnerError(f"the port must be from 0 to {PORTS - 1}", where=str(given.port))
    if given.link:
        ports = (given.port,) if given.port else listener.find_ports(places)
        if not ports:
            raise RunnerError("no server is running", hint="runner serve")
        for port in ports:
            print(listener.format_link(port, listener.links_of(places, port).make()))
        return ExitCode.OK
    if given.metrics_token:
        return _show_token(listener.token_file(places))
    environ, hook_secret = prepare(given, environ)
    folders = [Path.cwd(), *(Path(one).absolute() for one in given.also)]
    builds = Builds.of(folders, environ, given.task_graph or "")
    door = listener.ListenAddress.open(given.port)
    listener.serve(
        *(builds, door, places, lambda link: print(link, flush=True), hook_secret),
        environ=environ,
    )
    return ExitCode.OK


def _show_token(file: Path) -> ExitCode:
    print(listener.read_token(file))
    print(f"token stored in {display(str(file))}; to revoke it, delete that file", file=sys.stderr)
    return ExitCode.OK


def prepare(given: argparse.Namespace, environ: Mapping[str, str]) -> tuple[Mapping[str, str], str]:
    """Return the environment without the secret of a hook, and the secret.

    Raises RunnerError where the page's packages are not installed.
    """
    _require_extra()
    secret = environ.get(guard.WEBHOOK_SECRET, "").strip()
    if given.until_closed:
        threading.Thread(target=_end_with_input, daemon=True).start()
    return {name: value for name, value in environ.items() if name != guard.WEBHOOK_SECRET}, secret


def _require_extra() -> None:
    try:
        import jinja2  # noqa: F401 - asked for, not used here
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise RunnerError(
            f"the page needs {error.name}, which is not installed",
            hint=install_hint("serve"),
        ) from error


def _end_with_input() -> None:
    """Send Ctrl-C to this process as soon as standard input is closed by all writers."""
    while os.read(0, 1024):
        pass
    while True:  # the first may come before the server listens for it
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_SECONDS_TO_HEAR)


def execute_version(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the versions of the runner and of Python."""
    del environ
    python = ".".join(map(str, sys.version_info[:3]))
    if given.json:
        from runner.report.documents import document

        print(document("version", version=__version__, python=python), end="")
    else:
        print(f"runner {__version__} (Python {python})")
    return ExitCode.OK
