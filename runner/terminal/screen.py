"""Draw on a terminal: page long texts, redraw at changes, report slow operations."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.process.tools import NOT_FOUND, run_interactive
from runner.text.display import display, format_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TextIO, TypeAlias

    FileStamps: TypeAlias = "tuple[tuple[int, int, int] | None, ...]"
    "Inode, size and time of each file; None for a missing one."

# --- a page ---------------------------------------------------------------------------


_DEFAULT = "less"
_ROOM = 3
"""Lines that stay free for the prompt below."""


def show(text: str, environ: Mapping[str, str], out: TextIO | None = None) -> None:
    """Print a text; on a terminal, what is longer than the screen goes through `$PAGER`.

    The pager is given a file and not our pipe, so it runs like any program of the person's; where
    none is there, or it is empty or `cat`, the text is printed.
    """
    if not _is_long(text) or not _page(text, environ):
        print(text, file=out, flush=True)


def _is_long(text: str) -> bool:
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        return False
    screen = shutil.get_terminal_size()
    rows = sum(1 + len(line) // max(1, screen.columns) for line in text.split("\n"))
    return rows > screen.lines - _ROOM


def _page(text: str, environ: Mapping[str, str]) -> bool:
    try:
        words = shlex.split(environ.get("PAGER", _DEFAULT))
    except ValueError:  # a quote in it is open
        return False
    if not words or words == ["cat"]:
        return False
    if Path(words[0]).name == "less":
        words.append("-R")  # colours as colours; nothing else is obeyed
    with TemporaryDirectory(prefix="runner-page-") as folder:
        file = Path(folder) / "diff"
        file.write_text(text + "\n", "utf-8")
        return run_interactive((*words, str(file)), Path(folder)) != NOT_FOUND


# --- a text drawn anew ----------------------------------------------------------------


POLL = 0.1
"""Seconds between two checks of the files."""
SETTLED = 0.3
"""Seconds without another save before the change is processed."""
_CLEAR = "\x1b[H\x1b[2J"
"""Home, then clear the screen (ECMA-48); the scrollback belongs to the user."""


def look_at(files: Iterable[Path]) -> FileStamps:
    """Return the current stat of these files, without reading them."""
    return tuple(map(_look, files))


def _look(file: Path) -> tuple[int, int, int] | None:
    try:
        known = file.stat()
    except OSError:
        return None
    # Include the inode: an editor that saves by a rename may keep size and time.
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
        except RunnerError as error:  # shown as `cli` shows it: the next save may mend it
            print(format_error(error), file=sys.stderr)
        ended = look_at((plan,))
        if _readable(digests) == before:
            print(f"watching {display(plan.name)}; Ctrl-C stops", file=sys.stderr, flush=True)
            wait_for_change(lambda: look_at((plan,)), ended, SETTLED)
        print(file=sys.stderr)


def _readable(digests: Callable[[], object]) -> object:
    """Return the current specifications, or None for an invalid plan."""
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
            "--watch needs a terminal, but standard output is not a terminal",
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
    """Return the text, or the error message while the plan is invalid."""
    try:
        return text()
    except RunnerError as error:
        return format_error(error) + "\n"


# --- a notice -------------------------------------------------------------------------


PATIENCE = 2.0
"""Seconds without output."""


@contextmanager
def patience(doing: str, seconds: float = PATIENCE) -> Iterator[None]:
    """Print a progress message once if the block takes longer than `seconds`."""
    timer = Timer(seconds, lambda: print(f"still {doing} …", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
