"""Preserve work that did not land: on a draft branch, or under a ref until a person decides.

The first versions had the same ref names for all plans of a repository; a plan's first run moves
the refs that are surely its own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.repo import refs
from runner.repo.commit import commit_tree
from runner.repo.head import PLANS
from runner.repo.merge import carry
from runner.repo.objects import DURABLE
from runner.repo.refs import list_refs, own_name, read_ref
from runner.run.landing.lander import changes_between
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from runner.journal.task_state import HeldWork, TaskState
    from runner.model import Change, Finding, Outcome, Task
    from runner.plan import edit
    from runner.repo.read import Repository
else:
    edit = lazy_module("runner.plan.edit")


_BUILD = "artifacts/build/"
_TRIED = "tried"
_ATTEMPT = regex(r"draft\(.*\): attempt (\d+) ")
"""First line of a `_draft_message`."""


def keep_draft(repository: Repository, task: Task, outcome: Outcome) -> str:
    """Save a failed attempt on `draft/<id>-<slug>`; returns the branch, empty if nothing was saved.

    Files that the path rules or the secret scan refused are left out: they reach no git object.
    """
    kept = _find_untainted(outcome)
    if not kept:
        return ""
    message = _draft_message(task, outcome, sorted(outcome.tainted))
    return refs.draft(repository, task.id, task.title, outcome.base or None, kept, message)


def _find_untainted(outcome: Outcome) -> list[Change]:
    return [change for change in outcome.changes if change.path not in outcome.tainted]


def _draft_message(task: Task, outcome: Outcome, left_out: list[str]) -> str:
    lines = [f"draft({task.id}): attempt {outcome.attempt} did not pass", ""]
    lines += [f"- {_one_line(finding)}" for finding in outcome.findings if finding.refuses]
    if left_out:
        lines += ["", "Left out, because refused: " + ", ".join(map(display, left_out))]
    return redact("\n".join(lines) + "\n")  # a name can be a key


def _one_line(finding: Finding) -> str:
    place = f"{finding.path}:{finding.line}: " if finding.path else ""
    return f"{finding.check}: {place}{finding.message}".splitlines()[0]


# --- what an attempt left that others follow -------------------------------------------


def keep_tried(repository: Repository, task: Task, outcome: Outcome) -> bool:
    """Save a failed attempt until a later one replaces it; False if it has no changes to save.

    Under a ref: neither a crash nor an attempt that a broken connection ended loses it.
    """
    kept = _find_untainted(outcome)
    if not kept:
        return False
    message = _draft_message(task, outcome, sorted(outcome.tainted))
    commit = commit_tree(repository, outcome.base or None, kept, message, sign=False)
    refs.keep_ref(repository, _tried(repository, task.id), commit.sha)
    return True


def draft_of_tried(repository: Repository, task: Task, attempts: Container[int]) -> str:
    """Create a draft from the saved work of one of these attempts; returns the branch or empty."""
    commit = refs.read_ref(repository, _tried(repository, task.id))
    message = repository.message(commit) if commit else ""
    number = _ATTEMPT.match(message)
    if commit is None or number is None or read_number(number[1]) not in attempts:
        return ""
    base = repository.resolve(f"{commit}^")
    kept = changes_between(repository, base, commit)
    return refs.draft(repository, task.id, task.title, base, kept, message)


class DraftedWork(NamedTuple):
    """Work of an attempt that did not pass."""

    commit: str
    shown: str
    """Where it is stored, as text."""


def read_kept(repository: Repository, task: str, branch: str) -> DraftedWork | None:
    """Return the draft branch of a task, else its last failed attempt, or None."""
    if branch and (commit := refs.find_draft(repository, task, branch)):
        return DraftedWork(commit, branch)
    commit = refs.read_ref(repository, _tried(repository, task))
    return DraftedWork(commit, "its last attempt") if commit else None


def without_deleted(repository: Repository, known: TaskState) -> TaskState:
    """Return a task's state without its draft if a person deleted or renamed the branch."""
    if not known.draft or repository.resolve(f"refs/heads/{known.draft}"):
        return known
    return replace(known, draft="")


def drop_tried(repository: Repository, task: str) -> None:
    """Delete the saved attempt of a task, since a draft or a landing replaces it."""
    refs.drop_ref(repository, _tried(repository, task))


def sweep_tried(repository: Repository, is_open: Callable[[str], bool]) -> None:
    """Delete saved attempts of tasks that are reset or finished; runs no git if there are none."""
    for task in refs.list_refs(repository, refs.own_name(repository, _TRIED)):
        if not is_open(task):
            drop_tried(repository, task)


def _tried(repository: Repository, task: str) -> str:
    return refs.own_name(repository, f"{_TRIED}/{task}")


# --- what is proven --------------------------------------------------------------------


def hold(repository: Repository, task: Task, outcome: Outcome) -> str:
    """Save proven work that may not land yet, and return the name of its ref."""
    message = f"held({task.id}): waits to land\n"
    commit = commit_tree(repository, outcome.base or None, outcome.changes, message, sign=False)
    name = refs.own_name(repository, f"held/{task.id}")
    refs.keep_ref(repository, name, commit.sha)
    return name


def load_held_changes(repository: Repository, held: HeldWork) -> tuple[Change, ...] | None:
    """Return the held changes, or None if their ref is missing."""
    commit = refs.read_ref(repository, refs.find_own_name(repository, held.ref))
    return None if commit is None else changes_between(repository, held.base or None, commit)


def let_go(repository: Repository, task: str) -> None:
    """Delete held work that has landed or was rejected."""
    refs.drop_ref(repository, refs.own_name(repository, f"held/{task}"))


class Adopted(Struct, frozen=True):
    """The changes of a branch, restated against the checked-out commit."""

    branch: str
    commit: str
    """Tip of the branch as it was read."""
    changes: tuple[Change, ...]


def adopt(repository: Repository, branch: str) -> Adopted:
    """Read a branch. Raises RunnerError: it is not there, changes nothing, or does not fit HEAD."""
    head = repository.head().commit or ""
    commit = repository.resolve(f"refs/heads/{branch}") or repository.resolve(branch)
    if commit is None:
        raise RunnerError(f"branch {branch} not found", hint="git branch --list 'draft/*'")
    common = repository.git.ask("merge-base", head, commit) if head else None
    base = common.out.decode().strip() if common and not common.exit else ""
    made = changes_between(repository, base or None, commit)
    changes = tuple(change for change in made if not _is_own_document(repository, base, change))
    if not changes:
        raise RunnerError(
            f"this branch already has all changes of {branch}",
            hint=f"git log {head[:12]}..{branch}",
        )
    merged = carry(repository, (base, head), changes)
    if merged.conflicts:
        raise RunnerError(
            f"{branch} and {repository.head().shown} both changed {', '.join(merged.conflicts)}",
            hint=f"git switch {branch} && git merge {repository.head().shown}, then run again",
            code=ExitCode.CONFLICT,
        )
    return Adopted(branch, commit, tuple(merged.changes))


def _is_own_document(repository: Repository, base: str, change: Change) -> bool:
    """Return whether the runner wrote a change, such as a status in the plan."""
    if change.path in PLANS:
        before = repository.blob(base, change.path) if base else None
        after = change.content
        return bool(before and after and edit.differs_only_in_statuses(before, after))
    return change.path.startswith(_BUILD)


_KINDS = ("held", "tried", "phases", "drafts")
_PLAN_JOURNAL = "artifacts/build/journal.jsonl"


def move_old_refs(repository: Repository) -> None:
    """Move this plan's refs to its own names; asks no git where there are none."""
    if not own_name(repository, ""):  # the plain names are its own
        return
    git = repository.git.with_settings(DURABLE)
    for name in [f"{kind}/{one}" for kind in _KINDS for one in list_refs(repository, kind)]:
        own, commit = own_name(repository, name), read_ref(repository, name)
        if commit is None or read_ref(repository, own) or not _is_ours(repository, commit):
            continue
        # One transaction with the commit that was read: anyone who moves it right now keeps it.
        lines = f"create refs/runner/{own} {commit}\ndelete refs/runner/{name} {commit}\n"
        git.ask("update-ref", "--stdin", stdin=lines.encode())


def _is_ours(repository: Repository, commit: str) -> bool:
    """Return whether a commit's files are in this plan's folder and no other tree made it."""
    output = repository.git.run(
        *("diff-tree", "--root", "--no-commit-id", "-r", "-z", "--name-only", "--no-renames"),
        commit,
    )
    paths, prefix = output.split(b"\0")[:-1], os.fsencode(repository.prefix.value)
    if not paths or not all(path.startswith(prefix) for path in paths):
        return False
    base, head = repository.resolve(f"{commit}^"), repository.head().commit
    others = list(_find_other_heads(repository))
    if not others:
        return True
    if base is None or head is None or not repository.is_ancestor(base, head):
        return False
    return not any(repository.is_ancestor(base, other) for other in others)


def _find_other_heads(repository: Repository) -> Iterator[str]:
    """Yield the heads of other work trees that have a journal for this plan."""
    inside = repository.prefix.value
    own = os.path.realpath(repository.root)
    for entry in repository.git.run("worktree", "list", "--porcelain", "-z").split(b"\0\0"):
        fields = dict(line.partition(b" ")[::2] for line in entry.split(b"\0"))
        place, head = fields.get(b"worktree", b""), fields.get(b"HEAD", b"")
        folder = Path(os.fsdecode(place)) / inside
        if head and os.path.realpath(folder) != own and (folder / _PLAN_JOURNAL).exists():
            yield head.decode("ascii")
