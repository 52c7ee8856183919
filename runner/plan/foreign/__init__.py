"""Task files of other tools: detect their format and parse them, without I/O."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.plan.foreign.checklists import read_checklist
from runner.plan.foreign.tasks import Form
from runner.plan.foreign.trackers import read_backlog, read_beads, read_task_master

if TYPE_CHECKING:
    from runner.plan.foreign.tasks import ForeignPlan

_BOX = r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX~/>-]?\]"
_SPEC_KIT = re.compile(rf"{_BOX}[ \t]+(?:\*\*)?T\d{{3,}}\b", re.MULTILINE)
_NUMBERED = re.compile(rf"{_BOX}\*?[ \t]+\d+(?:\.\d+)*[.)]?[ \t]", re.MULTILINE)
_OPENSPEC = re.compile(r"^##[ \t]+\d+\.[ \t]", re.MULTILINE)
_KIRO = re.compile(rf"_Requirements:|{_BOX}\*", re.MULTILINE)
_ANY = re.compile(rf"{_BOX}[ \t]+\S", re.MULTILINE)
_BEADS = re.compile(r'\A\s*\{(?=[^\n]*"id"\s*:)(?=[^\n]*"title"\s*:)')
_BACKLOG = re.compile(r"\A---[ \t]*\r?\n(?=(?:.*\n)*?id:)(?=(?:.*\n)*?status:)")
_TASK_MASTER = re.compile(r'\A\s*\{.*"tasks"\s*:\s*\[', re.DOTALL)
_LOOKED_AT = 200_000
"""Characters searched to detect the format."""


def find_form(text: str) -> Form | None:
    """Detect the format of a file by its content; return None if it is unknown."""
    head = text[:_LOOKED_AT]
    if head.lstrip()[:1] == "{":
        if _BEADS.match(head) and not _TASK_MASTER.match(head.partition("\n")[0]):
            return Form.BEADS
        return Form.TASK_MASTER if _TASK_MASTER.match(head) else None
    if _BACKLOG.match(head):
        return Form.BACKLOG
    if _SPEC_KIT.search(head):
        return Form.SPEC_KIT
    if _NUMBERED.search(head):
        is_openspec = _OPENSPEC.search(head) and not _KIRO.search(head)
        return Form.OPENSPEC if is_openspec else Form.KIRO
    return Form.CHECKLIST if _ANY.search(head) else None


def read_foreign(text: str, form: Form) -> ForeignPlan:
    """Parse the tasks of a foreign file. Raises RunnerError if it is invalid."""
    match form:
        case Form.TASK_MASTER:
            return read_task_master(text)
        case Form.BEADS:
            return read_beads(text)
        case Form.BACKLOG:
            return read_backlog(text)
        case _:
            return read_checklist(text, form)
