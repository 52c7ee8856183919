"""Which record commit the next one may take the place of, so that quiet runs leave no row of them.

Anything that could know the old one keeps it: a commit that somebody else may hold is never
rewritten. Where in doubt the next record stands on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.repo.git import text

if TYPE_CHECKING:
    from collections.abc import Collection

    from runner.repo.head import Head
    from runner.repo.read import Repository

_SIGNED = ("gpgsig", "gpgsig-sha256", "mergetag")
"""Headers of a commit that somebody signed for (gitformat-signature(5))."""


def find_amendable(
    repository: Repository, head: Head, recorded: str, message: str, bases: Collection[str]
) -> str | None:
    """The parent of HEAD's record commit, where that may be replaced; else None.

    `recorded` is the last record that this clone's journal knows to be its own, `message` what a
    record says that tells of statuses alone: one with evidence may stand in a statement that was
    handed out. `bases` are commits that tasks were proven on.
    """
    commit = head.commit
    if not commit or commit != recorded or commit in bases:
        return None
    if head.branch is None or head.beneath is not None or repository.publish is not None:
        return None
    parent = _find_only_parent(repository, commit, message)
    if parent is None or _is_named(repository, head, commit):
        return None
    return parent


def _find_only_parent(repository: Repository, commit: str, message: str) -> str | None:
    """The parent, of a commit with exactly one and no signature that says just this."""
    # as it is stored: grafts, replacements and the encoding of logs change what `git log` says
    git = repository.git.with_settings(GIT_NO_REPLACE_OBJECTS="1")
    header, _, body = text(git.run("cat-file", "commit", commit)).partition("\n\n")
    fields = [line.split(" ", 1) for line in header.split("\n")]
    parents = [field[1] for field in fields if field[0] == "parent"]
    signed = any(field[0] in _SIGNED for field in fields)
    return parents[0] if len(parents) == 1 and not signed and body == message else None


def _is_named(repository: Repository, head: Head, commit: str) -> bool:
    """Whether anything but HEAD's own branch knows it.

    Branches, tags, what a remote was seen to have, stashes, drafts and held work that stand on it;
    another work tree that has it checked out; a note about it.
    """
    git = repository.git
    refs = text(git.run("for-each-ref", "--format=%(refname)", f"--contains={commit}"))
    if set(refs.split()) != {head.ref}:
        return True
    beside = text(git.run("for-each-ref", "--format=%(refname)", "refs/notes", "refs/replace"))
    for ref in beside.split():
        is_note = ref.startswith("refs/notes/")
        if not is_note and ref.endswith(commit):
            return True
        if is_note and git.ask("notes", f"--ref={ref}", "list", commit).exit == 0:
            return True
    listed = text(git.run("worktree", "list", "--porcelain")).splitlines()
    # The HEADs of linked work trees are in no list of refs: one that is detached on this commit
    # shows here alone.
    heads = [line[5:] for line in listed if line.startswith("HEAD ")]
    if commit in heads:
        heads.remove(commit)  # the one here
    return any(repository.is_ancestor(commit, other) for other in heads)
