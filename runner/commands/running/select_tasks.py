"""From what was typed to the tasks that are meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.run.selection import Selection

if TYPE_CHECKING:
    import argparse


def selection_of(given: argparse.Namespace) -> Selection:
    """The selection that the flags of `runner run` ask for."""
    return Selection(
        ids=tuple(given.ids),
        only=tuple(given.only),
        start=given.start,
        until=given.until,
        with_dependents=given.with_dependents,
    )
