"""Which fields of a task were edited: it is compared with how a commit's plan has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import Task
from runner.repo.head import PLANS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.model import Digest
    from runner.repo.read import Repository

UNKNOWN = ("what",)
"""What is said where the old text is nowhere any more."""
_OLDER = 10
"""Commits of the plan that are looked through for the old text."""
_WHAT = (
    ("Title", "title"),
    ("prose", "prose"),
    ("blocks", "blocks"),
    ("Acceptance", "acceptance"),
    ("Output files", "outputs"),
    ("Changes tests", "changes_tests"),
    ("Depends on", "depends_on"),
    ("Implementer", "implementer"),
    ("Command", "command"),
)
"""The parts of a task that its first digest is of, as FORMATS name them, and in the model."""


def find_changed_fields(old: Task, new: Task) -> tuple[str, ...]:
    """The names of what was edited, of all that says what is to be built."""
    found = [name for name, field in _WHAT if _value(old, field) != _value(new, field)]
    return tuple(found) or UNKNOWN


def _value(task: Task, field: str) -> object:
    value: object = getattr(task, field)
    if field == "blocks":
        return tuple((block.kind, block.path, block.text) for block in task.blocks)
    return " ".join(value.split()) if field in ("title", "prose") else value  # type: ignore[attr-defined]  # both are texts


def fields_since(
    repository: Repository, task: object, proven: Digest, landed: str
) -> tuple[str, ...]:
    """What of a task was edited since it was built under the digest `proven`.

    Its old text is looked for in the plans of HEAD, of the commit that landed it, and of some
    commits before.
    """
    if not isinstance(task, Task):
        return UNKNOWN
    for data in _texts(repository, landed):
        old = _task_in(data, task.id)
        if old is not None and old.spec.what == proven:
            return find_changed_fields(old, task)
    return UNKNOWN


def _task_in(data: bytes, id_: str) -> Task | None:
    from runner.plan.document import read_plan

    return next((one for one in read_plan(data, PLANS[0]).tasks if one.id == id_), None)


def _texts(repository: Repository, landed: str) -> Iterator[bytes]:
    """Every older text of the plan, each once, the likeliest first."""
    seen: set[bytes] = set()
    for commit in _commits(repository, landed):
        for path in PLANS:
            data = repository.blob(commit, path)
            if data and data not in seen:
                seen.add(data)
                yield data


def _commits(repository: Repository, landed: str) -> Iterator[str]:
    head = repository.head().commit
    if head is None:
        return
    yield head
    if landed and repository.resolve(landed):
        yield landed
    paths = [repository.prefix.whole(path) for path in PLANS]
    words = ("log", f"--max-count={_OLDER}", "--format=%H", "--end-of-options", head, "--", *paths)
    yield from repository.git.run(*words).decode().split()
