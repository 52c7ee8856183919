"""A word on standard error where something takes longer than a person waits without one."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 2.0
"""Seconds without a word."""


@contextmanager
def patience(doing: str, seconds: float = PATIENCE) -> Iterator[None]:
    """Say once what is being done, if it is not done after so many seconds."""
    timer = Timer(seconds, lambda: print(f"still {doing} …", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
