"""Where a command speaks: what it found, as a document or as lines; and a voice meanwhile."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runner.app.observer import Observer
    from runner.project import Project
    from runner.report import console
    from runner.run.review import Asker
    from runner.terminal import terminal_review
else:
    console = lazy_module("runner.report.console")
    terminal_review = lazy_module("runner.terminal.terminal_review")

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
    """Where somebody who works is heard, and a person at a terminal is asked."""
    colour = console.wants_colour(sys.stderr, project.environ)
    level = console.QUIET if is_quiet else console.NORMAL
    with console.Console(level=level, colour=colour) as voice:
        yield voice, terminal_review.find_asker(voice, project.environ)
