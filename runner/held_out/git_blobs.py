"""Check whether git has a file's content: the implementer's tree borrows its objects."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from runner.repo.read import Repository


class BlobPlace(NamedTuple):
    """The places where git has a blob, and how to remove it; empty where nothing safe does."""

    where: str
    cleaning: str = ""


def find_blob(repository: Repository, path: str, content: bytes) -> BlobPlace | None:
    """Return where the repository or its alternates have a file's bytes; None for nowhere.

    Nothing is fetched from a remote.
    """
    # Older versions of git don't know the variable, but also fetch by no protocol.
    git = repository.git.with_settings(("protocol.allow", "never"), GIT_NO_LAZY_FETCH="1")
    blob = git.run("hash-object", "--no-filters", "--stdin", stdin=content).decode().strip()
    if git.ask("cat-file", "-e", blob).exit:
        return None
    name = shlex.quote(path)
    if f" {blob} ".encode() in git.run("ls-files", "--stage"):
        return BlobPlace("staged", f"git rm --cached -f {name} && git prune --expire=now")
    for stash in git.ask("stash", "list", "--format=%gd %H").out.decode().splitlines():
        entry, _, commit = stash.partition(" ")
        parents = git.run("rev-list", "--parents", "-n", "1", commit).decode().split()
        trees = (git.run("ls-tree", "-r", one) for one in dict.fromkeys(parents))
        if any(f" {blob}\t".encode() in tree for tree in trees):
            return BlobPlace(f"in {entry}", f"git stash drop {entry} && git prune --expire=now")
    found = git.ask("log", "--all", "-1", "--format=%h", f"--find-object={blob}").out.decode()
    if found.strip():
        return BlobPlace(f"in commit {found.strip()}")
    return BlobPlace("as an unreferenced object", "git prune --expire=now")
