"""Find, read or fetch task files of other tools, and detect their format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.errors import RunnerError
from runner.plan.foreign import find_form
from runner.plan.foreign.tasks import Form
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Iterator

_USUAL = (
    "tasks.md",
    "specs/*/tasks.md",
    ".kiro/specs/*/tasks.md",
    "openspec/changes/*/tasks.md",
    "changes/*/tasks.md",
    ".taskmaster/tasks/tasks.json",
    "tasks/tasks.json",
    "tasks.json",
    ".beads/issues.jsonl",
    "issues.jsonl",
    "backlog/tasks/*.md",
    "tasks/*.md",
)
"""Default places of the tools; each folder is searched in this order, the first match counts."""
_LARGEST = 10_000_000
"""Maximum size of one file, in bytes."""
_SECONDS = 20


class ForeignFile(Struct, frozen=True):
    """A file that holds tasks."""

    shown: str
    """Path as in Source: relative to the project if the file is in it."""
    text: str
    form: Form

    @property
    def space(self) -> str:
        """Within what its keys are unique: one file, or all tasks of a Backlog.md."""
        return "" if self.form is Form.BACKLOG else self.shown


def gather(root: Path, source: str, form: Form | None, stdin: str) -> list[ForeignFile]:
    """Return the files of `source`. Raises RunnerError if none holds tasks in a known format."""
    if source == "-":
        return [_file("stdin", stdin, form)]
    if source.startswith(("https://", "http://")):
        return [_file(source.partition("?")[0].partition("#")[0], _fetch(source), form)]
    place = Path(source)
    if place.is_dir():
        found = list(_in_folder(root, place, form))
        if found:
            return found
        raise RunnerError(
            "no tasks of another tool found in this folder",
            where=source,
            hint="name the file; known formats: " + ", ".join(Form),
        )
    return [_file(_shown(root, place), read_text(place), form)]


def _in_folder(root: Path, folder: Path, form: Form | None) -> Iterator[ForeignFile]:
    for pattern in _USUAL:
        found = [one for one in sorted(folder.glob(pattern), key=_natural) if one.is_file()]
        read = [(one, read_text(one)) for one in found]
        files = [
            ForeignFile(_shown(root, one), text, known)
            for one, text in read
            if (known := form or find_form(text))
        ]
        if files:
            yield from files
            return


def _natural(path: Path) -> tuple[object, ...]:
    parts = re.split(r"(\d+)", path.as_posix())
    numbers = ((read_number(one), one) for one in parts)
    return tuple((1, number, "") if number >= 0 else (0, 0, one) for number, one in numbers)


def _shown(root: Path, place: Path) -> str:
    try:
        return place.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return place.as_posix()


def read_text(place: Path) -> str:
    """Read a file as text with undecodable bytes preserved. Raises RunnerError."""
    try:
        if place.stat().st_size > _LARGEST:
            raise RunnerError("this file is larger than 10 MB", where=str(place), hint="split it")
        return place.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise RunnerError(
            f"cannot read it: {error.strerror}", where=str(place), hint="name a file or folder"
        ) from None


def _file(shown: str, text: str, form: Form | None) -> ForeignFile:
    known = form or find_form(text)
    if known is None:
        raise RunnerError(
            "no tasks found in a known format",
            where=shown,
            hint=f"name the format with --from: {', '.join(Form)}",
        )
    return ForeignFile(shown, text, known)


def _fetch(address: str) -> str:
    """Fetch a URL and return its text. Raises RunnerError if that fails."""
    from http.client import HTTPException
    from urllib.error import URLError
    from urllib.request import Request

    from runner.process.timed_http import open_timed

    headers = {"User-Agent": "task-graph-runner"}
    try:
        request = Request(address, headers=headers)  # noqa: S310  # http and https alone come here
        with open_timed().open(request, timeout=_SECONDS) as answer:
            # One byte over the limit: detects a larger response, whatever its headers say.
            data: bytes = answer.read(_LARGEST + 1)
    except (URLError, OSError, ValueError, HTTPException) as error:
        raise RunnerError(
            f"cannot fetch it: {error}", where=address, hint="save it, then name the file"
        ) from None
    if len(data) > _LARGEST:
        raise RunnerError("the download is larger than 10 MB", where=address, hint="split it")
    return data.decode("utf-8", "replace")
