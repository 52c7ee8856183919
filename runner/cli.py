"""The command line: which command is meant, and the one door for errors."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from runner.commands.catalogue import BY_NAME, SYNONYMS, TOPICS, fill
from runner.errors import ExitCode, RunnerError, refusal_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from runner.commands.catalogue import Entry


_ANY_WIDTH = 80
"""Where no help is shown: argparse lays out every option, and imports `shutil` for it."""
_WITHOUT_REPOSITORY = frozenset(("help", "version", "completion"))
_NO_THREAD = "can't start new thread"


def main(words: Sequence[str]) -> int:
    """Run one command; gives the exit code. The one place where a RunnerError ends."""
    try:
        return int(_run(list(words)))
    except RunnerError as error:
        _explain(error)
        return int(error.code)
    except KeyboardInterrupt:
        print("\ninterrupted; run again to go on", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    except ModuleNotFoundError as error:
        from runner.text.wording import refusal_of_import

        return _refuse(refusal_of_import(error))
    except RuntimeError as error:
        if str(error) != _NO_THREAD:
            return _report_bug()
        return int(_out_of_processes())
    except BrokenPipeError:
        # whoever read our output has gone; nothing more can be said there
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)
    except OSError as error:
        return _refuse(refusal_of(error))
    except Exception:  # noqa: BLE001 - a bug: the traceback is what helps, the journal is whole
        return _report_bug()


def _refuse(refusal: RunnerError | None) -> int:
    """Say what stands in the way; the error that is handled is a bug where nothing does."""
    if refusal is None:
        return _report_bug()
    _explain(refusal)
    return int(refusal.code)


def _out_of_processes() -> ExitCode:
    """clone(2) failed with EAGAIN, which Python tells by a sentence alone."""
    hint = "end other programs or raise the limit (ulimit -u), and run again"
    said = "the system is exhausted: it starts no more threads"
    error = RunnerError(said, hint=hint, code=ExitCode.CONFLICT)
    _explain(error)
    return error.code


def _run(words: list[str]) -> int:
    entry, rest = _entry(words)
    own = rest[: rest.index("--")] if "--" in rest else rest  # behind it are words of a command
    is_help = not {"-h", "--help"}.isdisjoint(own)
    parser = _parser(entry, width=None if is_help else _ANY_WIDTH)
    command = fill(parser, entry)
    if is_help:
        from runner.commands.help import hand_down_examples

        hand_down_examples(parser)
    takes_command = parser.get_default("command") is not None
    arguments = parser.parse_args(own if takes_command else rest)
    if takes_command:
        arguments.command = tuple(rest[len(own) + 1 :])
    if entry.name not in _WITHOUT_REPOSITORY:
        _finish_cut_off_landing()
    arguments.typed = words
    return command.execute(arguments, os.environ)


def _finish_cut_off_landing() -> None:
    """Have the lock that a killed run left go before anything else is done; what fails is shown."""
    from pathlib import Path

    from runner.repo.head import find_git

    try:
        folders = find_git(Path.cwd())
        if folders is None or not os.path.lexists(folders.git / "index.lock"):
            return
        from runner.app.build.cut_off_landing import finish_cut_off_landing

        if said := finish_cut_off_landing(folders, os.environ, Path.cwd()):
            print(f"note: {said}", file=sys.stderr)
    except (RunnerError, OSError) as error:
        refusal = error if isinstance(error, RunnerError) else refusal_of(error)
        _explain(refusal or RunnerError(str(error)))


def _entry(words: list[str]) -> tuple[Entry, list[str]]:
    """The command that is meant, and what is left for it."""
    if words and words[0] in ("-h", "--help"):
        return BY_NAME["help"], words[1:]
    if words and words[0] == "--version":
        return BY_NAME["version"], words[1:]
    if not words or words[0].startswith("-"):
        return BY_NAME["run"], words
    if words[0] == "help" and len(words) > 1 and words[1] not in TOPICS and words[1][:1] != "-":
        return _entry([*words[1:], "--help"])
    name = words[0].removeprefix("!")
    name = SYNONYMS.get(name, name)
    if name in BY_NAME:
        return BY_NAME[name], words[1:]
    from runner.text.wording import did_you_mean

    looks_like_a_task = any(letter.isdigit() for letter in name)
    hint = f"runner run {name}" if looks_like_a_task else did_you_mean(name, BY_NAME)
    raise RunnerError(f'there is no command "{name}"', hint=hint or "runner help --all")


def _parser(entry: Entry, width: int | None) -> argparse.ArgumentParser:
    import argparse

    class Parser(argparse.ArgumentParser):
        """Says mistakes in the house's own words."""

        def error(self, message: str) -> None:  # type: ignore[override]  # never returns
            raise RunnerError(message, hint=f"runner {entry.name} --help")

    return Parser(
        prog=f"runner {entry.name}",
        description=entry.summary[0].upper() + entry.summary[1:] + ".",
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=width),
        allow_abbrev=False,
    )


def _explain(error: RunnerError) -> None:
    from runner.text.display import format_error

    print(format_error(error), file=sys.stderr)


def _report_bug() -> int:
    import traceback

    traceback.print_exc()
    print("runner: this is a bug; the journal is whole, run again", file=sys.stderr)
    return int(ExitCode.BUG)
