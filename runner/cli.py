"""The command line: find the command, run it, and handle every error in one place."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from runner.commands.parser import load_command, make_parser
from runner.errors import ExitCode, RunnerError, refusal_of
from runner.operations.table import find_operation

if TYPE_CHECKING:
    from collections.abc import Sequence


_ANY_WIDTH = 80
"""Width without a help page: argparse lays out every option and imports `shutil` for it."""
_WITHOUT_REPOSITORY = frozenset(("help", "version", "help completion"))
_NO_THREAD = "can't start new thread"


def main(words: Sequence[str]) -> int:
    """Run one command; gives the exit code. The one place where a RunnerError ends."""
    try:
        return int(_run(list(words)))
    except RunnerError as error:
        _explain(error)
        return int(error.code)
    except KeyboardInterrupt:
        print("\ninterrupted; run again to continue", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    except ModuleNotFoundError as error:
        from runner.text.wording import refusal_of_import

        return _refuse(refusal_of_import(error))
    except RuntimeError as error:
        if str(error) != _NO_THREAD:
            return _report_bug()
        return int(_out_of_processes())
    except BrokenPipeError:
        # the reader of stdout is gone; nothing more can be written to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)
    except OSError as error:
        return _refuse(refusal_of(error))
    except Exception:  # noqa: BLE001 - a bug: the traceback is what helps, the journal is whole
        return _report_bug()


def _refuse(refusal: RunnerError | None) -> int:
    """Print the refusal and return its exit code; without one, report a bug."""
    if refusal is None:
        return _report_bug()
    _explain(refusal)
    return int(refusal.code)


def _out_of_processes() -> ExitCode:
    """Report that clone(2) failed with EAGAIN, for which Python has only a message."""
    hint = "close other programs or raise the limit (ulimit -u), and run again"
    message = "this machine cannot start more threads or processes"
    error = RunnerError(message, hint=hint, code=ExitCode.CONFLICT)
    _explain(error)
    return error.code


def _run(words: list[str]) -> int:
    named = find_operation(words, os.environ)
    operation, rest = named.operation, named.rest
    if named.renamed and sys.stderr.isatty():
        print(f"note: this command is now `{named.renamed}`", file=sys.stderr)
    own = rest[: rest.index("--")] if "--" in rest else rest  # behind it are words of a command
    is_help = not {"-h", "--help"}.isdisjoint(own)
    parser = make_parser(operation, width=None if is_help else _ANY_WIDTH)
    takes_command = parser.get_default("command") is not None
    arguments = parser.parse_args(own if takes_command else rest)
    if takes_command:
        arguments.command = tuple(rest[len(own) + 1 :])
    if operation.name not in _WITHOUT_REPOSITORY:
        _finish_cut_off_landing()
    arguments.typed = words
    return load_command(operation)(arguments, os.environ)


def _finish_cut_off_landing() -> None:
    """Remove the lock of a killed run before the command starts; failures are printed."""
    from pathlib import Path

    from runner.repo.head import find_git

    try:
        folders = find_git(Path.cwd())
        if folders is None or not os.path.lexists(folders.git / "index.lock"):
            return
        from runner.app.build.interrupted_landing import finish_cut_off_landing

        if note := finish_cut_off_landing(folders, os.environ, Path.cwd()):
            print(f"note: {note}", file=sys.stderr)
    except (RunnerError, OSError) as error:
        refusal = error if isinstance(error, RunnerError) else refusal_of(error)
        _explain(refusal or RunnerError(str(error)))


def _explain(error: RunnerError) -> None:
    from runner.text.display import format_error

    print(format_error(error), file=sys.stderr)


def _report_bug() -> int:
    import traceback

    traceback.print_exc()
    print("runner: this is a bug; the journal is intact, run again", file=sys.stderr)
    return int(ExitCode.BUG)
