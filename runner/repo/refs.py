"""Refs that preserve commits: draft branches, the runner's own refs and tags."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from runner.errors import ExitCode, RunnerError
from runner.repo.commit import commit_tree
from runner.repo.git import GitError
from runner.repo.objects import DURABLE
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from runner.repo.read import Repository
    from runner.repo.trees import WrittenChange

_SLUG_WIDTH = 50
_REFUSALS = 3
"""Names tried for a draft that git refuses."""
_DRAFTS = "drafts"
"""Refs with the commit from which each draft was made: `<task>/<branch>`."""
_BELOW = "refs/runner"
_OF = "of-"


def keep_ref(repo: Repository, name: str, commit: str) -> None:
    """Keep a commit under `refs/runner/<name>`, durably. Raises GitError."""
    repo.git.with_settings(DURABLE).run("update-ref", f"refs/runner/{name}", commit)


def read_ref(repo: Repository, name: str) -> str | None:
    """Return the commit of `refs/runner/<name>`, or None."""
    return repo.resolve(f"refs/runner/{name}")


def drop_ref(repo: Repository, name: str) -> None:
    """Delete `refs/runner/<name>`; a missing one is no error. Raises GitError."""
    repo.git.with_settings(DURABLE).run("update-ref", "-d", f"refs/runner/{name}")


def branch_exists(repo: Repository, branch: str) -> bool:
    """Return whether a local branch exists."""
    return repo.resolve(f"refs/heads/{branch}") is not None


def slug(title: str) -> str:
    """Return a title as a part of a branch name: `booking-model`; never empty."""
    words = re.sub(r"[^\w]+", "-", title.lower(), flags=re.ASCII).strip("-_")
    return words[:_SLUG_WIDTH].strip("-_") or "work"


def draft(
    repo: Repository,
    task: str,
    title: str,
    parent: str | None,
    changes: Sequence[WrittenChange],
    message: str,
) -> str:
    """Save rejected work on a branch `draft/TASK-003-slug`, and return the branch's name.

    Older work is never replaced: another tree on the same parent takes the next number. Work
    that is there already is not kept twice. Raises GitError.
    """
    made = commit_tree(repo, parent, changes, message, sign=False)
    start = f"{slug(task).upper()}-{slug(title)}"
    # a branch called `draft` prevents refs below it (git stores refs as files)
    start = f"draft-{start}" if branch_exists(repo, "draft") else f"draft/{start}"
    refused = 0
    for number in count(1):
        branch = start if number == 1 else f"{start}-{number}"
        there = repo.resolve(f"refs/heads/{branch}")
        if there is None:
            try:
                _create(repo, task, branch, made.sha)
            except GitError:  # a branch above or below has the name, or git's lock is left there
                refused += 1
                if refused == _REFUSALS:
                    raise
                continue
            return branch
        if repo.tree_of(there) == made.tree and _parent(repo, there) == parent:
            return branch
    raise AssertionError


def _notes(repo: Repository) -> str:
    return f"refs/runner/{own_name(repo, _DRAFTS)}"


def find_draft(repo: Repository, task: str, branch: str) -> str | None:
    """Return the commit of a draft branch, even if the branch was deleted."""
    names = (f"refs/heads/{branch}", f"{_notes(repo)}/{task}/{branch}")
    return next(filter(None, map(repo.resolve, names)), None)


def _create(repo: Repository, task: str, branch: str, commit: str) -> None:
    """Create the branch and a note of its first commit in one transaction."""
    # One transaction (git-update-ref(1), --stdin): a branch without its note would count as a
    # person's own and stay forever. The note of a branch that a person deleted or renamed is
    # replaced.
    lines = f"create refs/heads/{branch} {commit}\nupdate {_notes(repo)}/{task}/{branch} {commit}\n"
    git = repo.git.with_settings(DURABLE)
    git.run("update-ref", "-m", "runner: keep", "--stdin", stdin=lines.encode())


def drop_drafts(repo: Repository, task: str) -> None:
    """Delete a task's draft branches that were not changed since their creation.

    One whose tip is another by now, or that is checked out somewhere, is a person's and stays.
    """
    noted = f"{_notes(repo)}/{task}/"
    form = "--format=%(refname) %(objectname)"
    for line in repo.git.run("for-each-ref", form, noted).decode().splitlines():
        ref, _, commit = line.partition(" ")
        branch = f"refs/heads/{ref.removeprefix(noted)}"
        lines = f"delete {ref} {commit}\n"
        if repo.resolve(branch) == commit and not _is_checked_out(repo, branch):
            # With the commit that was read: a person who moves the branch right now keeps it, and
            # the note as well.
            lines += f"delete {branch} {commit}\n"
        repo.git.with_settings(DURABLE).ask("update-ref", "--stdin", stdin=lines.encode())


def sweep_drafts(repo: Repository, is_done: Callable[[str], bool]) -> None:
    """Delete the unchanged drafts of all finished tasks; runs no git if there are no drafts."""
    noted = list_refs(repo, own_name(repo, _DRAFTS))
    for task in dict.fromkeys(one.partition("/")[0] for one in noted):
        if is_done(task):
            drop_drafts(repo, task)


class DraftBranch(NamedTuple):
    """A draft branch that may go."""

    branch: str
    commit: str
    """Its commit; if the branch is elsewhere now, it is a person's."""
    note: str
    """Ref with the commit from which it was made."""
    time: int
    """Time of its last commit, in seconds since 1970."""
    why: str


def find_drafts(repo: Repository, is_over: Callable[[str], bool]) -> Iterator[DraftBranch]:
    """Yield drafts that can be deleted: merged into HEAD, or unchanged and of a finished task.

    None that is checked out somewhere. One of an open task goes only where it is merged.
    """
    form = "--format=%(refname) %(objectname)"
    head = repo.head().commit
    notes = f"{_notes(repo)}/"
    for line in repo.git.run("for-each-ref", form, notes).decode().splitlines():
        note, _, made = line.partition(" ")
        task, _, branch = note.removeprefix(notes).partition("/")
        tip = repo.resolve(f"refs/heads/{branch}")
        if tip is None or _is_checked_out(repo, f"refs/heads/{branch}"):
            continue
        merged = head is not None and repo.is_ancestor(tip, head)
        if merged or (tip == made and is_over(task)):
            stamp = repo.git.line("log", "-1", "--format=%ct", "--end-of-options", tip, "--")
            time = max(0, read_number(stamp))
            yield DraftBranch(
                branch, tip, note, time, "merged" if merged else f"{task} is DONE or removed"
            )


def forget_draft(repo: Repository, one: DraftBranch) -> bool:
    """Delete it and its note together; False where it was moved meanwhile."""
    made = repo.resolve(one.note)
    lines = f"delete refs/heads/{one.branch} {one.commit}\n"
    lines += f"delete {one.note} {made}\n" if made else ""
    git = repo.git.with_settings(DURABLE)
    return git.ask("update-ref", "--stdin", stdin=lines.encode()).exit == 0


def _is_checked_out(repo: Repository, branch: str) -> bool:
    """Return whether any work tree has a branch checked out."""
    # `git branch -D` refuses a branch that is checked out; git-update-ref(1), which deletes it
    # here, does not check.
    listed = repo.git.run("worktree", "list", "--porcelain").decode("utf-8", "replace")
    return f"branch {branch}" in listed.splitlines()


def _parent(repo: Repository, commit: str) -> str | None:
    return repo.resolve(f"{commit}^")


# --- tags -----------------------------------------------------------------------------


def tag_exists(repo: Repository, name: str) -> bool:
    """Return whether a tag of this name exists."""
    return repo.git.ask("rev-parse", "-q", "--verify", f"refs/tags/{name}").exit == 0


def free_tag(repo: Repository, name: str) -> str:
    """Return the first unused tag of `name`, `name-2`, `name-3` …."""
    number, found = 1, name
    while tag_exists(repo, found):
        number += 1
        found = f"{name}-{number}"
    return found


def require_free(repo: Repository, name: str) -> None:
    """Raise RunnerError for a name that git does not take, or that a tag has already."""
    asked = repo.git.ask("check-ref-format", f"refs/tags/{name}")
    # git-check-ref-format(1) checks the whole ref, in which a dash may start a part; `git tag`
    # rejects a name that starts with one.
    if asked.exit or name.startswith("-"):
        raise RunnerError("not a valid tag name", where=name, hint="use a name such as v1.0.0")
    if tag_exists(repo, name):
        raise RunnerError(
            "this tag already exists, and the runner does not move it",
            where=name,
            hint="choose another name: runner ship --tag NAME",
            code=ExitCode.CONFLICT,
        )


def make_tag(repo: Repository, name: str, commit: str, message: str) -> None:
    """Create an annotated tag durably. Raises GitError if it exists by now."""
    who = repo.identity()
    git = repo.git.with_settings(DURABLE, ("tag.gpgSign", "false")).with_settings(
        GIT_COMMITTER_NAME=who.name, GIT_COMMITTER_EMAIL=who.email
    )
    git.run(
        # Verbatim: by default lines that start with # are comments and removed (git-tag(1),
        # --cleanup).
        *("tag", "--annotate", "--cleanup=verbatim", "--file=-", "--end-of-options", name, commit),
        stdin=message.encode(),
    )


def own_name(repo: Repository, name: str) -> str:
    """Return the ref name below `refs/runner/` for the plan of this folder and work tree.

    They all share the refs of the repository, and each plan has its own TASK-001. The plan at the
    top of the first work tree has the plain name.
    """
    linked = repo.folders.git != repo.folders.common
    tree = repo.folders.git.name if linked else ""
    if not tree and not repo.prefix.value:
        return name
    place = sha256(os.fsencode(f"{tree}\0{repo.prefix.value}")).hexdigest()[:12]
    return f"{_OF}{place}/{name}"


def find_own_name(repo: Repository, name: str) -> str:
    """Return the existing ref name for a journal's name, which may be an older one.

    The first versions gave all plans of a repository the plain names; see `old_refs`.
    """
    if name.startswith(_OF):
        return name
    own = own_name(repo, name)
    return own if repo.resolve(f"{_BELOW}/{own}") is not None else name


def list_refs(repo: Repository, name: str) -> tuple[str, ...]:
    """Return all refs below `refs/runner/<name>/`, without starting git if possible.

    Git keeps a ref as a file, or after `git pack-refs` as a line (gitrepository-layout(5)).
    """
    common, below = repo.folders.common, f"{_BELOW}/{name}/"
    if (common / "reftable").is_dir():  # refs are then neither
        out = repo.git.run("for-each-ref", "--format=%(refname)", below)
        found = os.fsdecode(out).splitlines()
        return tuple(sorted(one.removeprefix(below) for one in found))
    return tuple(sorted({*_list_loose(common / below), *_list_packed(common, below)}))


def _list_loose(folder: Path) -> Iterator[str]:
    for top, _, files in os.walk(folder):
        for file in files:
            # While a ref is written, git's lock is next to it, which is no ref.
            if not file.endswith(".lock"):
                yield os.path.relpath(os.path.join(top, file), folder)  # noqa: PTH118 - names alone


def _list_packed(common: Path, below: str) -> Iterator[str]:
    packed = b""
    with suppress(OSError):
        packed = (common / "packed-refs").read_bytes()
    mark = f" {below}".encode()
    at = packed.find(mark)
    while at >= 0:
        line = packed[at + 1 :].partition(b"\n")[0]
        yield os.fsdecode(line).removeprefix(below)
        at = packed.find(mark, at + len(line))
