"""The parsed tasks of another tool's file, and the position of their marks."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct, field

from runner.model.grades import is_code, is_document


class Form(StrEnum):
    """A tool whose files are read."""

    SPEC_KIT = "spec-kit"
    KIRO = "kiro"
    OPENSPEC = "openspec"
    BACKLOG = "backlog"
    TASK_MASTER = "task-master"
    BEADS = "beads"
    CHECKLIST = "checklist"


class ForeignState(StrEnum):
    """The file's data about a task."""

    OPEN = "open"
    DONE = "done"
    DROPPED = "dropped"
    """Cancelled or deleted there: reported, not imported."""


class DoneMark(Struct, frozen=True):
    """The place of a task's done mark in a file; in characters of its text, from 0."""

    start: int
    end: int
    done: str
    """Mark of a finished task."""
    open: str
    """Mark of an open task."""


class ForeignTask(Struct, frozen=True):
    """A task as another tool's file has it."""

    key: str
    """Name in the file (`T012`, `2.1`, `bd-a1b2`); a plain item has its line."""
    title: str
    line: int
    """Line number, from 1."""
    state: ForeignState
    mark: DoneMark | None
    needs: tuple[str, ...] = ()
    """Keys of its dependencies."""
    is_group: bool = False
    """Whether its work consists of other tasks, on which it then depends."""
    paths: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    priority: str = ""
    prose: str = ""


class ForeignPlan(Struct, frozen=True):
    """One file of another tool."""

    form: Form
    tasks: tuple[ForeignTask, ...]
    left: tuple[tuple[int, str], ...] = field(default=())
    """Parts without a place in a plan: line (from 1) and text of each."""


_SUFFIX = r"\.[A-Za-z][A-Za-z0-9]{0,7}"
_QUOTED = re.compile(r"`([^`\s]+)`")
_BARE = re.compile(rf"(?<![\w`/.:@-])((?:[\w.@-]+/)+[\w.@-]*{_SUFFIX})(?![\w/`])")
_PATH = re.compile(
    rf"(?!.*://)(?!/)(?!.*(?:^|/)\.\.(?:/|$))(?:[\w.@()\[\]-]+/)*[\w.@()\[\]-]*{_SUFFIX}\Z"
)
_CALL = re.compile(r"[()=;|$<>]")
_DATA = re.compile(
    r".*\.(?:json|jsonc|ya?ml|toml|ini|cfg|conf|env|xml|csv|tsv|css|scss|html?|lock|proto|graphql|svg)\Z"
)


def paths_in(text: str) -> tuple[str, ...]:
    """Return the files named in a text, in backquotes or with folder and suffix."""
    quoted = (one for one in _QUOTED.findall(text) if _is_path(one))
    bare = (one for one in _BARE.findall(text) if _is_path(one))
    return tuple(dict.fromkeys((*quoted, *bare)))


def _is_path(text: str) -> bool:
    if _CALL.search(text) or not _PATH.match(text):
        return False
    return "/" in text or is_code(text) or is_document(text) or bool(_DATA.match(text))


def title_of(text: str) -> str:
    """Return a title on one line without comments and strong emphasis."""
    words = re.sub(r"<!--.*?-->", " ", text)
    words = re.sub(r"(\*\*|__)(.+?)\1", r"\2", words)
    return " ".join(words.split()).rstrip("#").strip(" \t:")
