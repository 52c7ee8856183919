"""Read HEAD and the project's folder from files alone: no process, no import."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.errors import RunnerError
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Mapping

PLANS = ("TASK-GRAPH.md", "artifacts/build/TASK-GRAPH.md")
OWNERSHIP_MAP = "FILE_OWNERSHIP_MAP.md"
WAITING_TIP = "refs/worktree/runner/manual/tip"
"""Last uncommitted landing in this work tree (git-worktree(1), REFS)."""
WAITING_BASE = "refs/worktree/runner/manual/base"
"""Commit below those landings: they count while it is checked out."""
UNPUBLISHED = "unpublished/"
"""Prefix of a branch that is built here and published at the end."""
_DEPTH = 5
"""Maximum symbolic refs that git follows (refs.c, SYMREF_MAXDEPTH)."""
_LEVELS = 3
"""Folder levels searched for plans to name in a hint."""
_LOOKED = 200
"""Maximum folders of a level searched for that."""
_TOLD = 3
_CHUNK = 1 << 16
_OBJECT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ONGOING = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


class Folders(Struct, frozen=True):
    """The folders of one work tree; `git` and `common` differ in a linked worktree."""

    top: Path
    git: Path
    common: Path

    @property
    def objects(self) -> Path:
        """Path of the repository's objects."""
        return self.common / "objects"


class Head(Struct, frozen=True):
    """The content of HEAD: a branch, perhaps without a commit, or a commit alone.

    Where landings wait for a person to commit them (`git.commit = "manual"`), `commit` is the last
    of these: everything is built, looked at and proven as if it stood on the branch already.
    """

    branch: str | None
    """`main`; a symbolic HEAD outside `refs/heads/` with its full name; None when detached."""
    commit: str | None
    """Commit; None before the first one."""
    detached: bool
    git_dir: Path
    common_dir: Path
    beneath: str | None = None
    """Checked-out commit, if uncommitted landings are above it; else None."""

    @property
    def ref(self) -> str:
        """The ref that a landing moves: the branch, HEAD when detached, or what waits above."""
        return self.named if self.beneath is None else WAITING_TIP

    @property
    def named(self) -> str:
        """The ref that HEAD names; HEAD itself when detached."""
        if self.branch is None:
            return "HEAD"
        return self.branch if self.branch.startswith("refs/") else f"refs/heads/{self.branch}"

    @property
    def shown(self) -> str:
        """Name of HEAD for display."""
        return self.branch or f"detached head {(self.commit or '')[:12]}"


def find_project(start: Path) -> Path:
    """Return the nearest parent folder with a plan in the work tree. Raises RunnerError.

    Raises RunnerError when there is no git repository or no plan.
    """
    folders = find_git(start)
    if folders is None:
        raise RunnerError(
            "this folder is not in a git repository", where=str(start), hint="git init"
        )
    here = Path(os.path.realpath(start))
    for folder in (here, *here.parents):
        if any((folder / plan).is_file() for plan in PLANS):
            return folder
        if folder == folders.top:
            break
    below = _find_below(here)
    hint = f"cd {shlex.quote(below[0])}, which has a plan" if below else "runner init"
    hint += f"; or {', '.join(below[1:])}" if below[1:] else ""
    raise RunnerError("TASK-GRAPH.md not found", where=str(start), hint=hint)


def _find_below(top: Path) -> list[str]:
    """Return the nearest subfolders that have a plan, for a hint.

    Not far, and not in many folders: it is a hint alone.
    """
    level, left = [top], _LOOKED
    for _ in range(_LEVELS):
        below = []
        for folder in level:
            try:
                below += sorted(one for one in folder.iterdir() if _may_hold(one))[:left]
            except OSError:  # one that we may not read
                continue
            left = _LOOKED - len(below)
        if found := [one for one in below if any((one / plan).is_file() for plan in PLANS)]:
            return [one.relative_to(top).as_posix() for one in found[:_TOLD]]
        level = below
    return []


def _may_hold(folder: Path) -> bool:
    hidden = folder.name.startswith(".") or folder.name == "node_modules"
    return not hidden and folder.is_dir() and not folder.is_symlink()


def find_git(start: Path) -> Folders | None:
    """Return the git folders of the work tree around `start`, or None; bare ones do not count."""
    here = Path(os.path.realpath(start))
    for folder in (here, *here.parents):
        git = _git_folder(folder / ".git")
        if git is not None:
            return Folders(folder, git, _common_folder(git))
    return None


def read_head(root: Path, folders: Folders | None = None) -> Head:
    """Read the current HEAD, including landings that wait for a person's commit.

    `folders` are those of `root`, where they are known: looking for them takes far longer.
    Raises RunnerError when `root` is in no git repository.
    """
    head = find_head(root, folders)
    above = find_waiting_above(head)
    return replace(head, commit=above, beneath=head.commit) if above else head


def find_waiting_above(head: Head) -> str | None:
    """Return the last uncommitted landing above the checked-out commit, or None."""
    base, tip = read_waiting(head)
    return tip or None if base and base == head.commit else None


def read_waiting(head: Head) -> tuple[str, str]:
    """Return the commit below the waiting landings and the last of them; empty without any."""
    # refs of a single work tree are never in packed-refs
    base = _read(f"{head.git_dir}/{WAITING_BASE}")
    return base, _read(f"{head.git_dir}/{WAITING_TIP}") if base else ""


def find_head(root: Path, folders: Folders | None = None) -> Head:
    """Return HEAD without waiting landings. Raises RunnerError outside of a git repository."""
    folders = folders or find_git(root)
    if folders is None:
        raise RunnerError(
            "this folder is not in a git repository", where=str(root), hint="git init"
        )
    # Refs are then no files, and HEAD is a stub with `ref: refs/heads/.invalid` (git's reftable
    # documentation).
    if os.path.isdir(f"{folders.common}/reftable"):  # noqa: PTH112 - asked for every task
        return _ask_head(folders)
    content = _head_text(folders.git)
    if not content.startswith("ref:"):
        return Head(
            None, content or None, detached=True, git_dir=folders.git, common_dir=folders.common
        )
    ref = content.removeprefix("ref:").strip()
    return _symbolic(folders, ref, read_ref(folders, ref))


def read_ref(folders: Folders, ref: str) -> str | None:
    """Return the commit of a ref, or None; does not support reftable."""
    for _ in range(_DEPTH):
        # In git's order: a loose ref is newer than its line in packed-refs
        # (gitrepository-layout(5)).
        value = _loose(folders, ref) or _find_packed(folders, ref)
        if not value.startswith("ref:"):
            return value if _OBJECT.fullmatch(value) else None
        ref = value.removeprefix("ref:").strip()
    return None


def _symbolic(folders: Folders, ref: str, commit: str | None) -> Head:
    branch = ref.removeprefix("refs/heads/")
    return Head(branch, commit, detached=False, git_dir=folders.git, common_dir=folders.common)


def _git_folder(dot_git: Path) -> Path | None:
    if (dot_git / "HEAD").exists() or (dot_git / "HEAD").is_symlink():
        return Path(os.path.realpath(dot_git))
    content = _read(dot_git) if dot_git.is_file() else ""
    if not content.startswith("gitdir:"):
        return None
    named = dot_git.parent / content.removeprefix("gitdir:").strip()
    return Path(os.path.realpath(named)) if (named / "HEAD").exists() else None


def _common_folder(git: Path) -> Path:
    content = _read(git / "commondir")
    return Path(os.path.realpath(git / content)) if content else git


def _head_text(git: Path) -> str:
    # git before 1.5 and some tools still store HEAD as a symbolic link to the branch's file
    head = f"{git}/HEAD"
    try:
        target = os.readlink(head)  # noqa: PTH115 - asked for every task
    except OSError:
        return _read(head)
    return f"ref: {target}" if target.startswith("refs/") else _read(head)


def _loose(folders: Folders, ref: str) -> str:
    # Each work tree has its own; all other refs are shared (git-worktree(1), REFS).
    own = ref.startswith(("refs/bisect/", "refs/worktree/", "refs/rewritten/"))
    # A ref in HEAD is a path below the git folder: HEAD of an unpacked clone may contain anything.
    if ".." in ref.split("/"):
        return ""
    return _read(f"{folders.git if own else folders.common}/{ref}")


def describe_ongoing(git_dir: Path) -> str:
    """Return the operation that is in progress in this work tree, such as a merge; else empty."""
    return next((word for name, word in _ONGOING if (git_dir / name).exists()), "")


def _find_packed(folders: Folders, ref: str) -> str:
    packed = _read(f"{folders.common}/packed-refs")
    found = re.search(rf"^([0-9a-f]+) {re.escape(ref)}$", packed, re.MULTILINE)
    return found[1] if found else ""


def _read(path: Path | str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    try:
        content = b""
        while more := os.read(descriptor, _CHUNK):
            content += more
    # A folder opens but can't be read (read(2), EISDIR): with a branch `a/b` the name `a` is one.
    except IsADirectoryError:
        return ""
    finally:
        os.close(descriptor)
    return content.decode("utf-8", "surrogateescape").strip()


def _ask_head(folders: Folders) -> Head:
    """Return HEAD by asking git, for reftable repositories (git 2.45 and later)."""
    from runner.repo.git import Git

    git = Git(folders.top)
    ref = os.fsdecode(git.ask("symbolic-ref", "-q", "HEAD").out).strip()
    commit = git.ask("rev-parse", "-q", "--verify", "HEAD^{commit}").out.decode().strip() or None
    if ref:
        return _symbolic(folders, ref, commit)
    return Head(None, commit, detached=True, git_dir=folders.git, common_dir=folders.common)


def name_plan(environ: Mapping[str, str]) -> str:
    """Return the plan in the environment, including its former variable; empty if unset."""
    return environ.get("RUNNER_BUILD_TASK_GRAPH") or environ.get("RUNNER_TASK_GRAPH") or ""
