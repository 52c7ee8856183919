"""`runner blame FILE[:LINE]`: the task, attempt, change, review and proof behind a line."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.change.file_owners import BlameRequest, blame
from runner.errors import ExitCode, RunnerError
from runner.project import Project
from runner.report.documents import document
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.history.blame import Source, Stretch

_EXAMPLES = """\
examples:
  runner blame src/booking/models.py      whose the lines of a file are
  runner blame src/booking/models.py:41   all that is known of one line
"""
_LINE = re.compile(r"(?P<file>.+):(?P<line>\d+)")


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner blame` takes."""
    del name
    parser.epilog = _EXAMPLES
    parser.add_argument("place", metavar="FILE[:LINE]", help="a file that git knows")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Ask git and the commits' trailers; the journal is not needed."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    path, line = _place(given.place, project)
    found = blame(project, BlameRequest(path, line))
    if given.json:
        print(document("blame", path=path, line=line or None, lines=found), end="")
    else:
        told = _whole(found) if not line else (row for one in found for row in _one(one))
        print(redact("\n".join(told)) if found else f"{display(path)} is empty")
    return ExitCode.OK


def _place(typed: str, project: Project) -> tuple[str, int]:
    """The file, relative to the project, and the line or 0."""
    match = _LINE.fullmatch(typed)
    file, line = typed, 0
    if match and not (Path.cwd() / typed).exists():
        file, line = match["file"], int(match["line"])
        if line == 0:
            raise RunnerError("lines are counted from 1", where=typed)
    here = Path(os.path.realpath(Path.cwd() / file))
    if not here.is_relative_to(project.folders.top):
        raise RunnerError("the file lies outside the repository", where=str(here))
    if here.is_dir():
        raise RunnerError("this is a folder", where=file, hint="runner blame FILE")
    return os.path.relpath(here, os.path.realpath(project.root)), line


# --- in words -------------------------------------------------------------------------


def _whole(found: tuple[Stretch, ...]) -> Iterator[str]:
    width = len(str(found[-1].last)) * 2 + 1 if found else 0
    for one in found:
        span = f"{one.first}" if one.first == one.last else f"{one.first}-{one.last}"
        yield f"{span:>{width}}  {_format_source(one.source, one.author)}{_format_restored(one)}"


def _one(one: Stretch) -> Iterator[str]:
    """One line, with everything that is known of it."""
    source = one.source
    yield f"{one.first}: {display(one.lines[0])}"
    yield f"  {_format_source(source, one.author)}{_format_restored(one)}"
    yield from (f"  change: {display(note)}" for note in source.changes)
    if source.kind != "task":
        return
    yield f"  review: {display(source.review) or 'not told'}"
    yield from (f"  proof: {display(proof)}" for proof in source.proofs)
    if not source.proofs:
        yield "  proof: none told"
    if source.coverage:
        yield f"  coverage: {display(source.coverage)}"


def _format_source(source: Source, author: str) -> str:
    """Whose a line is, in a few words."""
    where = f"{short(source.commit)} {display(source.subject)}"
    match source.kind:
        case "task":
            change = "".join(f" {note.split(' ')[0]}" for note in source.changes[-1:])
            number = source.attempt or "unknown"
            return f"{display(source.task)} attempt {number}{display(change)} · {where}"
        case "undo":
            return f"taken back: {display(source.task)} · {where}"
        case "record":
            return f"the runner's own document · {where}"
        case "person":
            return f"{display(author)}, by hand · {where}"
        case _:
            return "not committed yet"


def _format_restored(one: Stretch) -> str:
    return f" (brought back by {short(one.restored)})" if one.restored else ""
