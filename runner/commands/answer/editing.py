"""`runner edit ID`: held proposals in a person's own editor, before they may land."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.journal.events import WriteReviewed
from runner.model import digest_of
from runner.text.display import display

if TYPE_CHECKING:
    from runner.commands.answer.review import Waiting
    from runner.journal.state import RunState
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.secrets.allowlist import AllowList


def edit_held(
    project: Project, repository: Repository, state: RunState, chosen: tuple[Waiting, ...]
) -> ExitCode:
    """Let a person change held proposals; the next run takes them through pipeline and proof."""
    from runner.commands.running.asking import edited
    from runner.commands.running.building import allowed_here
    from runner.journal.log import Journal
    from runner.repo.commit import commit_tree
    from runner.repo.refs import keep_ref

    for one in chosen:
        held = state.task(one.task).held
        if held is None:
            raise RunnerError(f"{one.task} has no writes to edit", hint=f"runner why {one.task}")
        if one.kind == "regression":
            raise RunnerError(
                f"{one.task} breaks other tasks: what it changes cannot be edited while it is held",
                hint=f"runner reject {one.task} --reason …, or approve what it breaks",
            )
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
        with Journal.open(project.journal_path) as journal:
            for old, new in zip(one.changes, made, strict=True):
                if old != new:
                    event = WriteReviewed(new.path, new.before, new.after, "edited", "person")
                    attempt = state.task(one.task).last_attempt
                    journal.append(event, task=one.task, attempt=attempt, durable=True)
        print(f"{display(one.task)} edited; next: runner")
    return ExitCode.OK


def _refuse_secrets(content: bytes, path: str, allowed: AllowList | None) -> None:
    """A person's own slip must not reach a git object either."""
    from runner.secrets.scan import scan_content

    found = [finding for finding in scan_content(content, path, allowed=allowed) if finding.refuses]
    if found:
        lines = "\n".join(f"{one.path}:{one.line}: {one.message}" for one in found)
        raise RunnerError("the edited file holds a secret", detail=lines, hint=found[0].hint)
