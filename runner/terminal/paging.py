"""Long texts on a terminal, page by page in the person's own pager."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from runner.process.tools import NOT_FOUND, run_interactive

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

_DEFAULT = "less"
_ROOM = 3
"""Lines that stay free for the question below."""


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
