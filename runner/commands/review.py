"""`runner review`, `approve`, `reject`, `edit`: a person's word on what waits, given any time."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.journal.events import TaskApproved, WriteRejected, WriteReviewed
from runner.model import Status, digest_of
from runner.report.console import wants_colour
from runner.report.documents import document
from runner.run.review import WHOLE, proposal_digest
from runner.run.selection import find_id
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.journal.log import Journal
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Change
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.secrets.allowlist import AllowList

_EPILOGS = {
    "review": """\
examples:
  runner review             what waits for you, numbered
  runner review TASK-003    what that task wants to change, as a diff
""",
    "approve": """\
examples:
  runner approve TASK-003   its writes land, or it runs again, with the next `runner`
  runner approve 1          the first of `runner review`
  runner approve --all      everything
""",
    "reject": """\
example:
  runner reject TASK-003 --reason "keep the old name of the function"
""",
    "edit": """\
example:
  runner edit TASK-003      its proposed files in your editor; the next `runner` proves them
""",
}


@dataclass(frozen=True, slots=True)
class Waiting:
    """One thing that waits for a person."""

    task: str
    title: str
    kind: str
    """`writes`, `stale` or `blocked`."""
    note: str
    changes: tuple[Change, ...] = ()


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What the four commands take."""
    parser.epilog = _EPILOGS[name]
    parser.set_defaults(command=name)
    parser.add_argument("what", nargs="*", metavar="ID", help="task, or number in `runner review`")
    if name == "approve":
        parser.add_argument("--all", action="store_true", help="everything that waits")
    if name == "reject":
        parser.add_argument("--reason", default="", help="what the next attempt is to do better")
    if name == "review":
        parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """List or show what waits, or answer it."""
    from runner.project import Project
    from runner.repo.read import Repository

    project = Project.open(Path.cwd(), environ)
    with Repository.open(project.root) as repository:
        state = project.state()
        waiting = _waiting(project, repository, state)
        if given.command == "review":
            return _review(given, project, repository, waiting)
        chosen = waiting if getattr(given, "all", False) else _chosen(given, project, waiting)
        match given.command:
            case "approve":
                return _approve(project, state, chosen)
            case "reject":
                return _reject(project, state, chosen, given.reason)
            case _:
                return _edit(project, repository, state, chosen)


def _waiting(project: Project, repository: Repository, state: RunState) -> tuple[Waiting, ...]:
    """Everything that waits for a person, in the plan's order."""
    from runner.run.drafts import held_changes

    found = []
    for task in project.outline().tasks:
        known = state.task(task.id)
        if known.held is not None and known.status is not Status.DONE:
            changes = held_changes(repository, known.held) or ()
            found.append(Waiting(task.id, task.title, "writes", known.note, changes))
        elif known.status is Status.STALE:
            found.append(Waiting(task.id, task.title, "stale", known.note))
        elif known.status is Status.BLOCKED:
            found.append(Waiting(task.id, task.title, "blocked", known.note))
    return tuple(found)


def _chosen(
    given: argparse.Namespace, project: Project, waiting: tuple[Waiting, ...]
) -> tuple[Waiting, ...]:
    """What a person named, by number or id. Raises RunnerError for what does not wait."""
    if not given.what:
        raise RunnerError("which one?", hint="runner review numbers what waits")
    ids = [task.id for task in project.outline().tasks]
    chosen = []
    for typed in given.what:
        if typed.isdigit() and 1 <= int(typed) <= len(waiting):
            chosen.append(waiting[int(typed) - 1])
            continue
        id_ = find_id(typed, ids)
        found = [one for one in waiting if one.task == id_]
        if not found:
            raise RunnerError(f"{id_} does not wait for you", hint=f"runner why {id_}")
        chosen += found
    return tuple(chosen)


# --- showing --------------------------------------------------------------------------


def _review(
    given: argparse.Namespace,
    project: Project,
    repository: Repository,
    waiting: tuple[Waiting, ...],
) -> ExitCode:
    shown = _chosen(given, project, waiting) if given.what else waiting
    if given.json:
        print(document("review", waiting=[_as_data(one) for one in shown]))
        return ExitCode.OK
    if not shown:
        print("nothing waits for you")
    for number, one in enumerate(waiting, start=1):
        if one in shown:
            print(f"{number}. {display(one.task)} {display(one.title)} — {display(one.note)}")
            for change in one.changes:
                print(f"     {change.action} {display(change.path)}")
            if given.what:
                _show_diffs(project, repository, one)
    if shown and not given.what:
        print(f"\n{_how_to_answer(shown)}")
    return ExitCode.OK


def _how_to_answer(shown: tuple[Waiting, ...]) -> str:
    """What can be typed about what was listed: only writes can be refused."""
    if any(one.changes for one in shown):
        return "runner review ID shows it; runner approve ID, or runner reject ID --reason …"
    return "runner why ID says more; runner approve ID has it tried again"


def _as_data(one: Waiting) -> dict[str, object]:
    changes = [
        {
            "path": change.path,
            "action": str(change.action),
            "before": change.before,
            "after": change.after,
        }
        for change in one.changes
    ]
    return {
        "id": one.task,
        "title": one.title,
        "kind": one.kind,
        "note": one.note,
        "changes": changes,
    }


def _show_diffs(project: Project, repository: Repository, one: Waiting) -> None:
    from runner.report.diff_view import diff_text

    held = project.state().task(one.task).held
    base = held.base if held else ""
    colour = wants_colour(sys.stdout, project.environ)
    width = shutil.get_terminal_size().columns
    for change in one.changes:
        before = repository.blob(base, change.path) if base else None
        print(diff_text(before, change, colour=colour, width=width))


# --- answering ------------------------------------------------------------------------


def _approve(project: Project, state: RunState, chosen: tuple[Waiting, ...]) -> ExitCode:
    with _journal(project) as journal:
        for one in chosen:
            known = state.task(one.task)
            for change in one.changes:
                event = WriteReviewed(change.path, change.before, change.after, "applied", "person")
                _note(journal, known, event)
            if not one.changes:
                event_ = TaskApproved(by="person", note=f"{known.status} was approved")
                _note(journal, known, event_)
            print(f"{display(one.task)} approved")
    print("next: runner")
    return ExitCode.OK


def _reject(
    project: Project, state: RunState, chosen: tuple[Waiting, ...], reason: str
) -> ExitCode:
    reason = reason or _asked("why? ")
    if not reason:
        raise RunnerError(
            "a rejection needs a reason", hint="--reason TEXT: the next attempt reads it"
        )
    for one in chosen:
        if not one.changes:
            raise RunnerError(
                f"{one.task} has no writes to reject",
                hint=f"runner why {one.task}; runner approve {one.task} has it tried again",
            )
    with _journal(project) as journal:
        for one in chosen:
            event = WriteRejected(WHOLE, None, proposal_digest(one.changes), reason, "person")
            _note(journal, state.task(one.task), event)
            print(f"{display(one.task)} rejected")
    print("next: runner")
    return ExitCode.OK


def _edit(
    project: Project, repository: Repository, state: RunState, chosen: tuple[Waiting, ...]
) -> ExitCode:
    """Let a person change held proposals; the next run takes them through pipeline and proof."""
    from runner.commands.asking import edited
    from runner.commands.building import allowed_here
    from runner.repo.commit import commit_tree
    from runner.repo.refs import keep_ref

    for one in chosen:
        held = state.task(one.task).held
        if held is None:
            raise RunnerError(f"{one.task} has no writes to edit", hint=f"runner why {one.task}")
        made = []
        for change in one.changes:
            content = None
            if change.content is not None:
                content = edited(change.path, change.content, project.environ)
            if content is None:
                made.append(change)
            else:
                _refuse_secrets(content, change.path, allowed_here(project.root))
                made.append(replace(change, content=content, after=digest_of(content)))
        if made == list(one.changes):
            print(f"{display(one.task)} is as it was")
            continue
        message = f"held({one.task}): edited by a person\n"
        commit = commit_tree(repository, held.base or None, made, message, sign=False)
        keep_ref(repository, held.ref, commit.sha)
        with _journal(project) as journal:
            for old, new in zip(one.changes, made, strict=True):
                if old != new:
                    event = WriteReviewed(new.path, new.before, new.after, "edited", "person")
                    _note(journal, state.task(one.task), event)
        print(f"{display(one.task)} edited; next: runner")
    return ExitCode.OK


def _refuse_secrets(content: bytes, path: str, allowed: AllowList | None) -> None:
    """A person's own slip must not reach a git object either."""
    from runner.secrets.scan import scan_content

    found = [finding for finding in scan_content(content, path, allowed=allowed) if finding.refuses]
    if found:
        lines = "\n".join(f"{one.path}:{one.line}: {one.message}" for one in found)
        raise RunnerError("the edited file holds a secret", detail=lines, hint=found[0].hint)


def _journal(project: Project) -> Journal:
    from runner.journal.log import Journal

    return Journal.open(project.journal_path)


def _note(
    journal: Journal, known: TaskState, event: TaskApproved | WriteReviewed | WriteRejected
) -> None:
    journal.append(event, task=known.id, attempt=known.last_attempt, durable=True)


def _asked(question: str) -> str:
    if not sys.stdin.isatty():
        return ""
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()
