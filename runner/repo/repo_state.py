"""The state of a person's repository: what is dirty, what is in progress, what is not carried."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.repo.git import text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.repo.configuration import Configuration
    from runner.repo.git import Git
    from runner.repo.head import Head
    from runner.repo.prefix import Prefix

_ONGOING = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
_GITLINK = re.compile(rb"(?:\A|\0)160000 [0-9a-f]+ \d\t([^\0]*)")
_ATTRIBUTES = re.compile(rb"\t((?:[^\0]*/)?\.gitattributes)\0")


@dataclass(frozen=True, slots=True)
class DirtyFile:
    """A tracked file with changes that no commit holds yet."""

    path: str
    staged: bool
    unstaged: bool


@dataclass(frozen=True, slots=True)
class RepoState:
    """What a person's repository is like; paths are relative to the project."""

    head: Head
    dirty: tuple[DirtyFile, ...]
    untracked: tuple[str, ...]
    submodules: tuple[str, ...]
    """Not carried into scratch trees."""
    lfs: bool
    """Files under `filter=lfs`: tasks see the pointer, not the content."""
    autocrlf: bool
    """Line ends or encodings are converted on checkout: tasks see what git stores."""
    sparse: bool
    """Scratch trees hold the whole tree all the same."""
    shallow: bool
    ongoing: str
    """`merge`, `rebase`, `cherry-pick`, `revert` or `bisect` in progress; else empty."""


def read_state(git: Git, head: Head, configuration: Configuration, prefix: Prefix) -> RepoState:
    """Ask git; `git` must have the repository's own programs silenced."""
    dirty, untracked = _status(git, prefix)
    listing = git.run("ls-files", "-z", "--stage") if head.commit or dirty else b""
    attributes = _attributes(git.folder, head, listing)
    return RepoState(
        head=head,
        dirty=dirty,
        untracked=untracked,
        submodules=tuple(prefix.inside(text(path)) for path in _GITLINK.findall(listing)),
        lfs="filter=lfs" in attributes,
        autocrlf=_converts(configuration, attributes),
        sparse=configuration.is_true("core.sparsecheckout"),
        shallow=(head.common_dir / "shallow").exists(),
        ongoing=describe_ongoing(head.git_dir),
    )


def describe_ongoing(git_dir: Path) -> str:
    """What a person has begun and not ended in this work tree; else empty."""
    return next((word for name, word in _ONGOING if (git_dir / name).exists()), "")


def _status(git: Git, prefix: Prefix) -> tuple[tuple[DirtyFile, ...], tuple[str, ...]]:
    out = git.run(
        *("status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"),
        *("--ignore-submodules=all", "--no-ahead-behind"),
    )
    dirty: list[DirtyFile] = []
    untracked: list[str] = []
    for kind, marks, path in _entries(text(out)):
        if kind == "?":
            untracked.append(prefix.inside(path))
        else:
            dirty.append(DirtyFile(prefix.inside(path), marks[0] != ".", marks[1] != "."))
    return tuple(dirty), tuple(untracked)


def _entries(out: str) -> Iterator[tuple[str, str, str]]:
    """Kind, XY and path of each entry of `git status --porcelain=v2 -z` (git-status(1))."""
    words_before_path = {"1": 8, "u": 10, "?": 1}
    for entry in out.split("\0"):
        kind = entry[:1]
        if kind in words_before_path:
            words = entry.split(" ", words_before_path[kind])
            yield kind, words[1] if kind != "?" else "", words[-1]


def _attributes(top: Path, head: Head, listing: bytes) -> str:
    files = [top / text(path) for path in _ATTRIBUTES.findall(listing)]
    own = head.common_dir / "info" / "attributes"
    return "\n".join(path.read_text("utf-8", "replace") for path in (*files, own) if path.is_file())


def _converts(configuration: Configuration, attributes: str) -> bool:
    said = (configuration.value("core.autocrlf") or "").lower()
    return (
        said not in {"", "false", "no", "off", "0"}
        or (configuration.value("core.eol") or "").lower() == "crlf"
        or re.search(r"\beol=crlf\b|working-tree-encoding=", attributes) is not None
    )
