"""The fields of held-out tests: acceptance items with ids, and files with their digests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.model import AcceptanceItem, HeldOutFile
from runner.plan import values
from runner.plan.inline import EMPTY_WORDS, plain
from runner.plan.values import BadValueError, Complaint

if TYPE_CHECKING:
    from runner.plan.fields import PlanField

_FILE = regex(
    r"(?P<tick>`?)(?P<path>[^`\s]+|(?<=`)[^`]+)(?P=tick)\s+`?(?P<digest>sha256:[0-9a-f]{64})`?"
)
GRADES = ("tests", "independent")
"""What `Assurance` may ask for."""
_HINT = "write `path` sha256:DIGEST; `runner hold-out TASK FILE` writes this line"


def read_acceptance(field: PlanField) -> tuple[str, ...]:
    """Return the sentences as they are written; raise BadValueError where two have one id."""
    found = values.sentences(field)
    ids = [item.id for item in map(AcceptanceItem.parse, found) if item.id]
    for id_ in ids:
        if ids.count(id_) > 1:
            message = f"duplicate acceptance id {id_}"
            raise values.complain(field, message, "give each item its own id")
    return found


def read_assurance(field: PlanField) -> str:
    """Return the lowest grade of a task; raise BadValueError for a word that is none."""
    found = values.word(field)
    if found not in ("", *GRADES):
        raise values.complain(field, f'unknown assurance "{found}"', f"write {' or '.join(GRADES)}")
    return found


def read_files(field: PlanField) -> tuple[HeldOutFile, ...]:
    """Return the files of the field, one an item; raise BadValueError with all complaints."""
    found: dict[str, HeldOutFile] = {}
    bad: list[Complaint] = []
    for value in field.values:
        if plain(value.text).casefold() in EMPTY_WORDS:
            continue
        match = _FILE.fullmatch(value.text.strip())
        path = match["path"].removeprefix("./") if match else ""
        if fault := _fault(path) if match else (f'bad held-out file "{value.text}"', _HINT):
            run = value.runs[0]
            bad.append(Complaint(*fault, run.line, run.column, max(1, len(run.text))))
        elif match and path in found:
            run = value.runs[0]
            message = f'"{path}" is listed twice'
            bad.append(Complaint(message, "keep one of the lines", run.line, run.column, 1))
        elif match:
            found[path] = HeldOutFile(path, match["digest"])
    if bad:
        raise BadValueError(*bad)
    return tuple(found.values())


def _fault(path: str) -> tuple[str, str] | None:
    """Why a path cannot be a held-out file, and what to write; None where it can."""
    if path.endswith("/"):
        return f'held-out file "{path}" is a folder', "list each of its files on its own line"
    if "*" in path or "?" in path:
        return f'held-out file "{path}" is a glob', "list each file on its own line"
    return values.path_complaint(path)
