"""What waits for a person, one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.model import Change


@dataclass(frozen=True, slots=True)
class Waiting:
    """One thing that waits for a person."""

    task: str
    title: str
    kind: str
    """`writes`, `plan`, `permission`, `regression`, `stale` or `blocked`."""
    note: str
    changes: tuple[Change, ...] = ()
    culprit: str = ""
    """The task whose held change breaks it."""
    answered: bool = False
    """Whether a person has said all of it: it is not listed, and may be answered otherwise."""
