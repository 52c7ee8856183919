"""Which bytes a commit's evidence is about: a digest of its files and of what it says of them.

A commit message can outlive its bytes: `git commit --amend`, a squash, a conflict that was resolved
and a copied message keep it. So the runner's commits say what their proof was about.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.repo.trailers import FILES, SAID, parse_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.repo.read import Repository
    from runner.repo.trees import Prefix, TreeChange, WrittenChange

_LINE = regex(rf"^{FILES}: .*\n?", re.MULTILINE)


def with_digest(
    repository: Repository, parent: str | None, changes: Sequence[WrittenChange], message: str
) -> str:
    """A message that ends in trailers, with the digest of what `changes` make of `parent`."""
    objects = repository.objects()
    files: dict[str, tuple[int, str]] = {}
    for change in changes:
        path = repository.prefix.whole(change.path)
        gone = change.content is None
        now = (0, "") if gone else (change.mode, objects.name("blob", change.content or b""))
        was = objects.entry(parent, path) if parent else None
        if now != ((was.mode, was.sha) if was else (0, "")):  # git tells what differs, too
            files[path] = now
    head, blank, last = message.rstrip("\n").rpartition("\n\n")
    last = _LINE.sub("", last + "\n")
    message = f"{head}{blank}{last}"
    return f"{message}{FILES}: {_digest(files, parse_message(_as_kept(message)).trailers)}\n"


def is_about(
    prefix: Prefix, entries: Iterable[TreeChange], trailers: Mapping[str, Sequence[str]]
) -> bool:
    """Return whether the message of a commit describes the very changes that it holds."""
    files = {
        prefix.whole(one.path): (one.new_mode, one.new_sha if one.new_mode else "")
        for one in entries
    }
    return tuple(trailers.get(FILES, ()))[-1:] == (_digest(files, trailers),)


def says_files(trailers: Mapping[str, Sequence[str]]) -> bool:
    """Whether a commit names its bytes at all: those of the first versions did not."""
    return FILES in trailers


def _as_kept(message: str) -> str:
    """A message as it is read back: what is no UTF-8 is replaced when it is written."""
    return message.encode("utf-8", "replace").decode("utf-8", "replace")


def _digest(files: Mapping[str, tuple[int, str]], trailers: Mapping[str, Sequence[str]]) -> str:
    digest = hashlib.sha256()
    # Ended by NUL, which no path holds: two lists of files never read the same.
    for path, (mode, sha) in sorted(files.items()):
        digest.update(f"{mode:o} {sha or '-'} {path}\0".encode("utf-8", "surrogateescape"))
    for name in SAID:
        for value in trailers.get(name, ()):
            digest.update(f"{name}: {value}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{digest.hexdigest()}"
