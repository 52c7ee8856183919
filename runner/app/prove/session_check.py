"""Prove the changes of an assistant's session when it is about to stop.

At its start the files that differ from HEAD are noted, so that a person's own unfinished work is
nobody's fault; at its stop the test contracts that the rest may affect run. The note lies in the
user's cache. Nothing here is asked: commands that no person has trusted do not run.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from runner import effects
from runner.app.build.preconditions import require_trust
from runner.app.change import change_source
from runner.app.change.impact_question import ImpactRequest, find_impact
from runner.app.prove.prove_tree import reprove
from runner.errors import RunnerError
from runner.implementers.command import read_regular
from runner.project import Project
from runner.repo.read import Repository
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import finding_lines, join_few, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.app.prove.prove_tree import Reproven
    from runner.impact.change import Changed

MOST_SENT_BACK = 3
"""How often one session is kept from stopping: one that cannot repair its work may stop."""
_KEPT = 20
_SESSION = re.compile(r"[^A-Za-z0-9_-]+")


class StopAnswer(Struct, frozen=True):
    """The answer to a session that wants to stop."""

    failed: tuple[Reproven, ...] = ()
    """Proofs that fail on its changes; it must continue and repair them."""
    changed: tuple[str, ...] = ()
    note: str = ""
    """Message for the person if nothing could be proven, or no more is sent back."""


def note_begin(folder: Path, environ: Mapping[str, str], session: str) -> None:
    """Record the tree's state at the start of a session; does nothing without a plan."""
    project = _open(folder, environ)
    if project is None:
        return
    with Repository.open(project.root) as repository:
        head = repository.head().commit or ""
        before = {one.path: _digest(one) for one in change_source.of_working_tree(repository)}
    _write(project, session, {"head": head, "before": before, "sent_back": 0})


def check_stop(folder: Path, environ: Mapping[str, str], session: str) -> StopAnswer:
    """Run what the session's changes may affect; nothing where there are none, or no plan."""
    project = _open(folder, environ)
    if project is None:
        return StopAnswer()
    note = _read(project, session)
    changes = _changes(project, note)
    if not changes:
        return StopAnswer()
    paths = tuple(one.path for one in changes)
    try:
        require_trust(
            project, project.plan(project.plan_bytes), trusted=False, asker=None,
            again="runner impact --run",
        )  # fmt: skip
    except RunnerError as error:
        return StopAnswer(changed=paths, note=f"not tested: {error.message}")
    found = find_impact(project, ImpactRequest(changes=changes))
    ran = reprove(project, found.answer.affected, lambda _: None)
    failed = tuple(one for one in ran if one.failed)
    if not failed:
        unrun = (finding.message for one in ran for finding in one.unrun)
        return StopAnswer(changed=paths, note="; ".join(unrun))
    times = int(note.get("sent_back", 0)) if isinstance(note.get("sent_back"), int) else 0
    if times >= MOST_SENT_BACK:
        tests = plural(len(failed), "test")
        message = f"{tests} still failing after {times} reminders: runner impact --run"
        return StopAnswer(changed=paths, note=message)
    _write(project, session, {**note, "sent_back": times + 1})
    return StopAnswer(failed, paths)


def _changes(project: Project, note: Mapping[str, Any]) -> tuple[Changed, ...]:
    """Return the changes since the start of the session."""
    head, before = note.get("head"), note.get("before")
    # If the note was lost, all differences from HEAD count: rather too many tests than too few.
    known = before if isinstance(before, dict) else {}
    with Repository.open(project.root) as repository:
        # Compare with the start commit: what the session committed no longer differs from HEAD.
        if isinstance(head, str) and head and repository.resolve(head) is not None:
            _, found = change_source.since(repository, head)
        else:
            found = change_source.of_working_tree(repository)
    new = (one for one in found if one.before != one.after and known.get(one.path) != _digest(one))
    return tuple(dict.fromkeys(new))


def _open(folder: Path, environ: Mapping[str, str]) -> Project | None:
    """Open the project if it has a readable plan, else return None."""
    try:
        project = Project.open(folder, environ, {})
        project.plan(project.plan_bytes)
    except (RunnerError, OSError):
        return None
    return project


def _digest(one: Changed) -> str:
    return "" if one.after is None else hashlib.sha256(one.after).hexdigest()


def _place(project: Project, session: str) -> Path:
    # The program chose it, and it becomes a file name.
    name = _SESSION.sub("", session)[:64] or "session"
    return project.cache / "sessions" / f"{name}.json"


def _read(project: Project, session: str) -> dict[str, Any]:
    try:
        note = json.loads(read_regular(_place(project, session)) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


def _write(project: Project, session: str, note: Mapping[str, Any]) -> None:
    place = _place(project, session)
    effects.make_folder(place.parent)
    effects.write_file(place, json.dumps(note).encode())
    old = sorted(place.parent.glob("*.json"), key=_find_age)
    for one in old[:-_KEPT]:
        effects.unlink(one)


def _find_age(note: Path) -> float:
    """Return the modification time of a note; 0 if another session has just removed it."""
    try:
        return note.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def format_failures(answer: StopAnswer) -> Iterator[str]:
    """Yield the failing tests and their output for the agent."""
    changed = join_few([display(path) for path in answer.changed])
    yield f"the plan's tests fail after this session's changes ({changed}):"
    for one in answer.failed:
        yield f"{display(one.task)} {display(one.contract)} failed"
        for finding in one.findings:
            yield from (f"  {redact(line)}" for line in finding_lines(finding))
    yield "fix the code, and never weaken a test; or explain why the change is intended"
