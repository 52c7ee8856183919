"""Read refs of the first versions, which all plans of a repository shared.

Each plan has names of its own by now. What is surely one plan's is moved to them at its first run;
what may be another's stays where it is, and nothing is lost either way.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from runner.repo.objects import DURABLE
from runner.repo.refs import list_refs, own_name, read_ref

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.repo.read import Repository

_KINDS = ("held", "tried", "phases", "drafts")
_JOURNAL = "artifacts/build/journal.jsonl"


def move_old_refs(repository: Repository) -> None:
    """Move this plan's to its own names; asks no git where there are none."""
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
        if head and os.path.realpath(folder) != own and (folder / _JOURNAL).exists():
            yield head.decode("ascii")
