"""Work that did not land is kept: on a draft branch, or held under a ref until a person decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import Action, Change, digest_of
from runner.repo.commit import commit_tree
from runner.repo.refs import draft, drop_ref, keep_ref, kept_ref
from runner.run.landing.lander import changes_between
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from runner.journal.task_state import Held
    from runner.model import Finding, Outcome, Task
    from runner.repo.read import Repository

IGNORE = "artifacts/build/.gitignore"
"""The file that keeps what runs leave out of commits; the runner's own."""


def keep_draft(repository: Repository, task: Task, outcome: Outcome) -> str:
    """Keep the work of a failed attempt on `draft/<id>-<slug>`; gives the branch, or nothing.

    Files that the path rules or the secret scan refused are left out: they reach no git object.
    """
    kept = [change for change in outcome.changes if change.path not in outcome.tainted]
    if not kept:
        return ""
    message = _draft_message(task, outcome, sorted(outcome.tainted))
    kept += _with_ignored(repository, outcome.base)
    return draft(repository, task.id, task.title, outcome.base or None, kept, message)


def _with_ignored(repository: Repository, base: str) -> list[Change]:
    """What keeps the files of runs out of a person's commits, where the base has it not yet.

    A person who commits everything on the draft would take the journal along, and lose it with
    the next switch of branches. Where they commit themselves, theirs is no part of the branch.
    """
    file = repository.root / IGNORE
    if repository.head().beneath is not None or not file.is_file():
        return []
    if base and repository.blob(base, IGNORE) is not None:
        return []
    content = file.read_bytes()
    return [Change(IGNORE, Action.CREATE, 0o100644, None, digest_of(content), content)]


def _draft_message(task: Task, outcome: Outcome, left_out: list[str]) -> str:
    lines = [f"draft({task.id}): attempt {outcome.attempt} did not pass", ""]
    lines += [f"- {_one_line(finding)}" for finding in outcome.findings if finding.refuses]
    if left_out:
        lines += ["", "Left out, since they were refused: " + ", ".join(map(display, left_out))]
    return redact("\n".join(lines) + "\n")  # a name can be a key


def _one_line(finding: Finding) -> str:
    place = f"{finding.path}:{finding.line}: " if finding.path else ""
    return f"{finding.check}: {place}{finding.message}".splitlines()[0]


def hold(repository: Repository, task: Task, outcome: Outcome) -> str:
    """Keep proven work that may not land yet; gives the name of its ref."""
    message = f"held({task.id}): waits to land\n"
    commit = commit_tree(repository, outcome.base or None, outcome.changes, message, sign=False)
    name = f"held/{task.id}"
    keep_ref(repository, name, commit.sha)
    return name


def held_changes(repository: Repository, held: Held) -> tuple[Change, ...] | None:
    """The changes that are held, or None when their ref is gone."""
    commit = kept_ref(repository, held.ref)
    return None if commit is None else changes_between(repository, held.base or None, commit)


def let_go(repository: Repository, task: str) -> None:
    """Forget held work that has landed or was refused."""
    drop_ref(repository, f"held/{task}")
