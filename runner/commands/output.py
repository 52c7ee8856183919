"""Print a command's result as JSON or as lines, and its progress meanwhile.

It also asks for confirmation, and whether the commands of a plan may run.
"""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from runner.app.build import discovered_gates, preconditions
    from runner.app.inspect import validation
    from runner.app.observer import Observer
    from runner.plan.document import Plan
    from runner.project import Reading
    from runner.report import console
    from runner.run.review import Asker
    from runner.terminal import terminal_review
else:
    console = lazy_module("runner.report.console")
    terminal_review = lazy_module("runner.terminal.terminal_review")
    discovered_gates = lazy_module("runner.app.build.discovered_gates")
    validation = lazy_module("runner.app.inspect.validation")
    preconditions = lazy_module("runner.app.build.preconditions")

_T = TypeVar("_T")


def say(
    found: _T,
    lines: Callable[[_T], Iterable[str]],
    document: Callable[[_T], str],
    *,
    as_json: bool,
) -> None:
    """Print what was found to standard output."""
    text = document(found) if as_json else "".join(f"{line}\n" for line in lines(found))
    sys.stdout.write(text)


@contextmanager
def open_console(project: Project, *, is_quiet: bool) -> Iterator[tuple[Observer, Asker | None]]:
    """Open a console for progress, with an asker if a person is at the terminal."""
    colour = console.wants_colour(sys.stderr, project.environ)
    level = console.QUIET if is_quiet else console.NORMAL
    with console.Console(level=level, colour=colour) as voice:
        yield voice, terminal_review.find_asker(voice, project.environ)


# --- what a person is asked -----------------------------------------------------------


def tell(line: str) -> None:
    """Print a line to standard error."""
    print(display(line), file=sys.stderr, flush=True)


def with_flag(given: argparse.Namespace, flag: str) -> str:
    """Return the command line that was typed, with one more flag, as a shell takes it."""
    words = list(given.typed)
    at = words.index("--") if "--" in words else len(words)
    return shlex.join(("runner", *words[:at], flag, *words[at:]))


def confirm(question: str, environ: Mapping[str, str], *, yes: bool, again: str) -> bool:
    """Return whether the user confirms, by flag or prompt. Raises RunnerError (exit 3).

    Without a terminal that is exit 3, and `again` is what to type.
    """
    if yes:
        return True
    is_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if not is_terminal or environ.get("CI", "").lower() == "true":
        raise RunnerError(
            "not confirmed, nothing changed; add --yes", hint=again, code=ExitCode.PERSON
        )
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def ask_trust(project: Project, plan: Plan, *, trusted: bool, again: str) -> None:
    """Raise RunnerError (exit 3) unless a person lets this repository's commands run.

    `again` is what to type to say so.
    """
    from runner.report.console import NORMAL, Console

    with Console(level=NORMAL, colour=False) as console:
        asker = terminal_review.find_asker(console, project.environ)
        preconditions.require_trust(project, plan, trusted=trusted, asker=asker, again=again)


def open_with_gates(environ: Mapping[str, str], flags: Mapping[str, object]) -> Project:
    """Open the project with the gates that it declares, and report what they lack.

    A flag that is None was not given.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    project = Project.open(Path.cwd(), environ, given)
    discovered_gates.apply_default_gates(project)
    for note in project.loaded.notes:
        tell(f"note: {note}")
    return project


def load_trusted_plan(project: Project, *, trusted: bool, again: str) -> Reading:
    """Return the valid plan if its commands are trusted. Raises RunnerError otherwise."""
    reading = validation.check_sound(project)
    ask_trust(project, reading.plan, trusted=trusted, again=again)
    return reading


def read_input(most: int) -> bytes:
    """Read at most `most` bytes from standard input."""
    return sys.stdin.buffer.read(most)
