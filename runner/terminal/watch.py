"""`--watch`: again when something was saved, until Ctrl-C."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.text.display import display, format_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from typing import TypeAlias

    Look: TypeAlias = "tuple[tuple[int, int, int] | None, ...]"
    """What a change of files is seen by: inode, size and time of each; None for one that is not."""

POLL = 0.1
"""Seconds between two looks at the files."""
SETTLED = 0.3
"""Seconds without another save before it is acted on."""
_CLEAR = "\x1b[H\x1b[2J"
"""Home, then clear what is seen (ECMA-48); what was scrolled away before is the person's."""


def look_at(files: Iterable[Path]) -> Look:
    """How these files stand now; nothing in them is read."""
    return tuple(map(_look, files))


def _look(file: Path) -> tuple[int, int, int] | None:
    try:
        known = file.stat()
    except OSError:
        return None
    # The inode, too: an editor that saves by a rename may leave size and time as they were.
    return known.st_ino, known.st_size, known.st_mtime_ns


def wait_for_change(look: Callable[[], object], before: object, settled: float) -> None:
    """Return when what is looked at is another than `before`, and has been left in peace.

    An editor that writes a file in several steps is waited for, `settled` seconds after each.
    """
    seen, since = look(), time.monotonic()
    while seen == before or time.monotonic() - since < settled:
        time.sleep(POLL)
        now = look()
        if now != seen:
            seen, since = now, time.monotonic()


# --- a run at every save --------------------------------------------------------------


def watch_runs(run: Callable[[], ExitCode], plan: Path, digests: Callable[[], object]) -> ExitCode:
    """Run now, and again whenever the plan is saved; ends by Ctrl-C alone.

    The run itself writes statuses into the plan: so what counts as saved while it ran is another
    specification (`digests`), and afterwards any change of the file.
    """
    while True:
        before = _readable(digests)
        try:
            if run() is ExitCode.INTERRUPTED:
                return ExitCode.INTERRUPTED
        except RunnerError as error:  # said as `cli` says it: the next save may mend it
            print(format_error(error), file=sys.stderr)
        ended = look_at((plan,))
        if _readable(digests) == before:
            print(f"watching {display(plan.name)}; Ctrl-C ends", file=sys.stderr, flush=True)
            wait_for_change(lambda: look_at((plan,)), ended, SETTLED)
        print(file=sys.stderr)


def _readable(digests: Callable[[], object]) -> object:
    """The specifications as they are now; a plan that cannot be read has none."""
    try:
        return digests()
    except RunnerError:
        return None


# --- the status at every change -------------------------------------------------------


def watch_text(
    text: Callable[[], str], files: Callable[[], Iterable[Path]], environ: Mapping[str, str]
) -> ExitCode:
    """Show a text on the terminal, anew when a file or the window changes; Ctrl-C ends it.

    Raises RunnerError where standard output is no terminal, or where the first look fails.
    """
    if not sys.stdout.isatty():
        raise RunnerError(
            "--watch draws on a terminal, and standard output is none",
            hint="runner status, or runner log --follow",
        )

    def look() -> object:
        return look_at(files()), os.get_terminal_size(sys.stdout.fileno())

    clear = "" if environ.get("TERM", "dumb") == "dumb" else _CLEAR
    shown, drawn = text(), look()
    try:
        while True:
            sys.stdout.write(clear + shown)
            sys.stdout.flush()
            wait_for_change(look, drawn, POLL)
            drawn, shown = look(), _text_or_refusal(text)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def _text_or_refusal(text: Callable[[], str]) -> str:
    """The text; what is half saved, or really wrong, the next save may mend."""
    try:
        return text()
    except RunnerError as error:
        return format_error(error) + "\n"
