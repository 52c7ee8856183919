"""The state of a person's repository: uncommitted files and operations in progress.

It also recognises a drive of Windows as WSL shows it, where no build can run: through 9p (WSL 2)
and drvfs (WSL 1) not every process sees a lock of flock(2), files have no modes of their own,
names that differ only in case collide, and a rename over an open file fails.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from runner.errors import ExitCode, RunnerError
from runner.lazy_pattern import regex
from runner.repo.git import text
from runner.repo.head import describe_ongoing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.repo.configuration import Configuration
    from runner.repo.git import Git
    from runner.repo.head import Head
    from runner.repo.trees import Prefix, TreeChange

_GITLINK = regex(rb"(?:\A|\0)160000 [0-9a-f]+ \d\t([^\0]*)")
_ATTRIBUTES = regex(rb"\t((?:[^\0]*/)?\.gitattributes)\0")
_MOUNTS = Path("/proc/self/mounts")


class DirtyFile(Struct, frozen=True):
    """A tracked file with changes that no commit holds yet."""

    path: str
    staged: bool
    unstaged: bool


class RepoState(Struct, frozen=True):
    """The state of a person's repository; paths are relative to the project."""

    head: Head
    dirty: tuple[DirtyFile, ...]
    untracked: tuple[str, ...]
    submodules: tuple[str, ...]
    """Submodules that are not checked out: scratch trees lack their content."""
    lfs: bool
    """Files under `filter=lfs`: tasks see the pointer, not the content."""
    autocrlf: bool
    """Whether checkout converts line ends or encodings: tasks see git's stored bytes."""
    sparse: bool
    """Whether sparse checkout is on; scratch trees contain the whole tree anyway."""
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
        submodules=tuple(
            prefix.inside(path)
            for path in map(text, _GITLINK.findall(listing))
            if not os.path.lexists(git.folder / path / ".git")
        ),
        lfs="filter=lfs" in attributes,
        autocrlf=_converts(configuration, attributes),
        sparse=configuration.is_true("core.sparsecheckout"),
        shallow=(head.common_dir / "shallow").exists(),
        ongoing=describe_ongoing(head.git_dir),
    )


def _status(git: Git, prefix: Prefix) -> tuple[tuple[DirtyFile, ...], tuple[str, ...]]:
    out = git.run(
        # Version 2 and -z: these fields are guaranteed to be stable (git-status(1)), the ones for
        # people are not.
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
    """Yield kind, XY and path of each entry of `git status --porcelain=v2 -z` (git-status(1))."""
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
    setting = (configuration.value("core.autocrlf") or "").lower()
    return (
        setting not in {"", "false", "no", "off", "0"}
        or (configuration.value("core.eol") or "").lower() == "crlf"
        or re.search(r"\beol=crlf\b|working-tree-encoding=", attributes) is not None
    )


# --- uncommitted ----------------------------------------------------------------------


class WorkTrees(Protocol):
    """The part of a repository that is needed here."""

    root: Path

    def configuration(self) -> Configuration:
        """Return git's configuration."""

    def blob(self, treeish: str, path: str) -> bytes | None:
        """Return the bytes of a file in a commit, or None."""

    def diff_trees(self, old: str | None, new: str | None) -> tuple[TreeChange, ...]:
        """Return the changes between two commits."""


def since_waiting_landing(repository: WorkTrees, state: RepoState) -> RepoState:
    """Return the state relative to the last uncommitted landing.

    A file that is what a landing made of it is no person's change; one that differs is.
    """
    head = state.head
    changed = repository.diff_trees(head.beneath, head.commit)
    ours = {one.path for one in changed}
    differing = set(find_differing(repository, head.commit, ours))
    kept = [one for one in state.dirty if one.path not in ours]
    mine = [DirtyFile(path, staged=False, unstaged=True) for path in sorted(differing)]
    return replace(
        state,
        dirty=(*kept, *mine),
        untracked=tuple(path for path in state.untracked if path not in ours),
    )


def find_differing(
    repository: WorkTrees, commit: str | None, paths: Iterable[str]
) -> tuple[str, ...]:
    """Return the paths whose working tree content differs from a commit."""
    converts = repository.configuration().is_true("core.autocrlf")
    found = []
    for path in paths:
        there = repository.blob(commit, path) if commit else None
        here = _working(repository, path)
        if here != there and not (converts and here and here.replace(b"\r\n", b"\n") == there):
            found.append(path)
    return tuple(found)


def _working(repository: WorkTrees, path: str) -> bytes | None:
    """Return the bytes of a file in the work tree as git stores them, or None."""
    file = repository.root / path
    try:
        return bytes(file.readlink()) if file.is_symlink() else file.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def require_no_windows_drive(folder: Path, mounts: Path = _MOUNTS) -> None:
    """Raise RunnerError where the folder lies on a drive of Windows."""
    try:
        text = mounts.read_text("utf-8", "replace")
    except OSError:
        return  # no Linux
    if at := find_windows_drive(os.path.realpath(folder), text):
        raise RunnerError(
            f"this folder is on a Windows drive ({at}), where files cannot be locked",
            where=str(folder),
            hint="clone it into WSL's own file system, such as ~/src, and run there",
            code=ExitCode.PERSON,
        )


def find_windows_drive(path: str, mounts: str) -> str:
    """Return the mount point of the Windows drive with this path, from proc(5), mounts; or ""."""
    best, drive = "", False
    for line in mounts.splitlines():
        words = line.split(" ")
        if len(words) < 4:  # noqa: PLR2004 - fstab(5)
            continue
        at = _plain(words[1])
        holds = path == at or path.startswith(at.rstrip("/") + "/")
        if holds and len(at) >= len(best):  # of two on one place the later one is seen
            best, drive = at, _is_drive(words[2], words[3])
    return best if drive else ""


def _is_drive(kind: str, options: str) -> bool:
    """Return whether a mount is a Windows drive; other systems use 9p, too."""
    return kind == "drvfs" or (kind in {"9p", "virtiofs"} and "drvfs" in options)


def _plain(word: str) -> str:
    """Decode the octal escapes of a path in fstab(5)."""
    for number, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        word = word.replace(number, letter)
    return word
