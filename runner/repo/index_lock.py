"""Prepare the index of the next commit under git's own index.lock.

A person's own staged work stays; the rest follows the commit. While the lock exists, no other git
commits on the branch, which would take back landed files that are in neither tree nor index.

Git makes `<file>.lock` and renames it to `<file>` (lockfile.h). Ours is a second name of a file in
`<git>/runner/` that its owner holds by flock(2), so the next command recognises the lock of a
killed run and finishes or removes it.

`git gc --prune=now`, or a small `gc.pruneExpire`, deletes a commit that no branch refers to yet:
builtin/gc.c reads the refs once, and then deletes what they did not reach.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote

from msgspec import Struct

from runner import effects
from runner.repo.git import GitError, UnusualError, raw, text
from runner.repo.index_file import read_index
from runner.repo.trees import FOLDER, TreeEntry, batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.repo.read import Repository

INDEX = "index"
_FEW = 20
_PAUSE = 0.05
_PATIENCE = 5.0
"""Seconds to wait for a held lock; an editor's git holds it for a few milliseconds."""
_OURS = "runner"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
_NOTE = "@"
"""Separates the locked file's quoted name from the note."""
_COPY = ".new"
_PRUNE_PATIENCE = 60.0
"""Seconds: after a longer garbage collection the current state is used anyway."""
_PRUNE_PAUSE = 0.02


class HeldIndex(Struct):
    """The lock of the index, with the index as it is to be; use it as a context.

    What is not placed is dropped at the end, unless the branch has moved: then the lock stays on
    disk for the next command, since a commit made without it would take back what landed.
    """

    lock: LockFile | None = None
    """Lock; None if landings wait for a person's commit: then the index is only theirs."""
    kept: tuple[str, ...] = ()
    """Paths that the user staged differently: left unchanged."""
    moved: bool = False
    """Whether the branch moved to the commit of this index."""

    @property
    def inode(self) -> int:
        """The number of the lock's file; 0 for no lock."""
        return self.lock.inode if self.lock else 0

    @property
    def digest(self) -> str:
        """The SHA-256 of the prepared index; empty for no lock."""
        return self.lock.digest if self.lock else ""

    def place(self) -> None:
        """Replace the index by the prepared one."""
        if self.lock is not None:
            place_index(self.lock)
            self.lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.lock is not None and self.moved:
            self.lock.leave()
        elif self.lock is not None:
            self.lock.__exit__()


def place_index(lock: LockFile) -> None:
    """Replace the index by a prepared one; an empty one is for a repository without an index."""
    if lock.size:
        lock.place()
    else:
        lock.__exit__()


def hold_index(
    repo: Repository, paths: Sequence[str], base: str | None, landed: str | None
) -> HeldIndex | None:
    """Lock the index, and prepare it with the landed entries of `paths` where it has those of base.

    None where another process holds the lock the whole time. Raises GitError.
    """
    until = effects.monotonic() + _PATIENCE
    while (lock := LockFile.take(repo.folders.git, INDEX, f"{base or ''}@{landed or ''}")) is None:
        if effects.monotonic() > until:
            return None
        free_dead_locks(repo.folders.git)
        time.sleep(_PAUSE)
    held = HeldIndex(lock)
    try:
        held.kept, moving = _compare(repo, paths, base, landed)
        _prepare(repo, lock, moving)
    except BaseException:
        held.__exit__()
        raise
    return held


class Synced(Struct, frozen=True):
    """The result for the index entries of the landed paths."""

    kept: tuple[str, ...] = ()
    """Paths that the user staged differently: left unchanged."""
    locked: bool = False
    """Another process locked the index the whole time: nothing was replaced; try again."""


def sync_index(
    repo: Repository, paths: Sequence[str], base: str | None, landed: str | None
) -> Synced:
    """Update the index to the landed entries of `paths` where it still has those of `base`.

    Repeating it changes nothing. Raises GitError.
    """
    kept, moving = _compare(repo, paths, base, landed)
    if not moving:
        return Synced(kept)
    held = hold_index(repo, paths, base, landed)
    if held is None:
        return Synced(kept, locked=True)
    with held:
        held.place()
    return Synced(held.kept)


def _compare(
    repo: Repository, paths: Sequence[str], base: str | None, landed: str | None
) -> tuple[tuple[str, ...], Mapping[str, TreeEntry | None]]:
    """Return the paths with different staged content, and the index entries to write."""
    old, new = (_tree_entries(repo, commit, paths) for commit in (base, landed))
    changed = [path for path in paths if old.get(path) != new.get(path)]
    now = _index_entries(repo, changed)
    kept = tuple(path for path in changed if now.get(path) not in (old.get(path), new.get(path)))
    moving = {
        path: new[path][0] if path in new else None
        for path in changed
        if path not in kept and now.get(path) != new.get(path)
    }
    return kept, moving


def _tree_entries(
    repo: Repository, commit: str | None, paths: Sequence[str]
) -> dict[str, tuple[TreeEntry, ...]]:
    """Return a commit's files at these paths; a few are read without a git process."""
    found: Mapping[str, TreeEntry | None]
    if not commit or len(paths) > _FEW:
        found = repo.tree_entries(commit, paths)
    else:
        objects = repo.objects()
        found = {path: objects.entry(commit, repo.prefix.whole(path)) for path in paths}
    return {path: (at,) for path, at in found.items() if at and at.mode != FOLDER}


def _index_entries(repo: Repository, paths: Sequence[str]) -> dict[str, tuple[TreeEntry, ...]]:
    """Return the entries at these paths: several if unmerged, none for an intent to add."""
    found: dict[str, tuple[TreeEntry, ...]] = {}
    # Saves a process (6 ms of a landing); an unusual index raises.
    with suppress(UnusualError):
        index = read_index(repo.folders.git / INDEX)
        found = {path: index.at(raw(repo.prefix.whole(path))) for path in paths}
        return {path: entries for path, entries in found.items() if entries}
    for some in batches([repo.prefix.whole(path) for path in paths]):
        listed = text(repo.git.run("ls-files", "-s", "-z", "--full-name", "--", *some))
        for line in listed.split("\0")[:-1]:
            head, _, whole = line.partition("\t")
            mode, sha, stage = head.split(" ")
            path = repo.prefix.inside(whole)
            entry = TreeEntry(int(mode, 8), sha if stage == "0" else f"stage {stage}")
            found[path] = (*found.get(path, ()), entry)
    return {path: found[path] for path in paths if path in found}


def _prepare(repo: Repository, lock: LockFile, moving: Mapping[str, TreeEntry | None]) -> None:
    """Write the index with these entries into its lock; git makes it, on a copy."""
    index = repo.folders.git / INDEX
    if not moving:
        with suppress(FileNotFoundError):
            lock.write(index.read_bytes(), index.stat().st_mode & 0o777)
        return
    copy = lock.copy
    try:
        effects.step("open", copy)
        with suppress(FileNotFoundError):
            # With its mtime: git compares the content of files as old as the index, since their own
            # times could hide a change (racy-git in git's technical documentation).
            _copy(index, copy)
        _update(repo, copy, moving)
        lock.write(copy.read_bytes(), copy.stat().st_mode & 0o777)
    finally:
        copy.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    """Copy bytes, mode and times; `shutil.copystat` wants calls that macOS does not have."""
    about = source.stat()
    shutil.copyfile(source, target)
    target.chmod(about.st_mode & 0o777)
    os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))


def _update(repo: Repository, index: Path, entries: Mapping[str, TreeEntry | None]) -> None:
    ordered = sorted(entries.items(), key=lambda item: item[1] is not None)
    lines = [
        raw(
            f"{entry.mode:o} {entry.sha} 0\t{repo.prefix.whole(path)}"
            if entry
            else f"0 {repo.zeros()}\t{repo.prefix.whole(path)}"
        )
        for path, entry in ordered
    ]
    git = repo.quiet().with_settings(GIT_INDEX_FILE=os.fspath(index))
    answer = git.ask("update-index", "-z", "--index-info", stdin=b"\0".join(lines) + b"\0")
    if answer.exit:
        raise GitError("update-index", answer.stderr, answer.exit)


class LockFile:
    """The lock of one file below a git folder: written and put in its place, or dropped."""

    def __init__(self, path: Path, own: Path | None, descriptor: int) -> None:
        self._path = path
        self._lock = path.with_name(path.name + ".lock")
        self._own = own
        self._descriptor = descriptor

    @classmethod
    def take(cls, git: Path, name: str, note: str) -> Self | None:
        """Acquire the lock of `<git>/<name>`; None if another process has it.

        The `note` stays readable after a kill (`take_left_index`). Raises OSError.
        """
        # On the lock's own file system: link(2) does not work across file systems.
        folder = git / _OURS
        own = folder / f"{effects.new_id()}-{name}{_NOTE}{note}"
        effects.step("open", git / f"{name}.lock")
        try:
            descriptor = os.open(own, _NEW, 0o666)
        except FileNotFoundError:
            folder.mkdir(exist_ok=True)
            descriptor = os.open(own, _NEW, 0o666)
        taken = cls(git / name, own, descriptor)
        try:
            # Order matters: between link and a later flock another run would find the lock unheld
            # and treat it as a dead one's. link(2) fails if the name exists, like the O_EXCL of
            # git's own locks, so both exclude each other.
            fcntl.flock(taken._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.link(own, taken._lock)
        except (FileExistsError, BlockingIOError):
            taken._forget()
            return None
        except BaseException as error:
            taken._forget()
            if isinstance(error, OSError) and error.errno in _NO_LINKS:
                return cls._take_alone(git / name)
            raise
        return taken

    @classmethod
    def _take_alone(cls, path: Path) -> Self | None:
        """Acquire the lock without a second name; after a kill only the journal refers to it."""
        try:
            return cls(path, None, os.open(path.with_name(path.name + ".lock"), _NEW, 0o666))
        except FileExistsError:
            return None

    @property
    def copy(self) -> Path:
        """Path at which git may write the new content."""
        place = self._own or self._path.parent / _OURS / f"{effects.new_id()}-alone"
        return place.with_name(place.name + _COPY)

    @property
    def inode(self) -> int:
        """The number of the lock's file."""
        return os.fstat(self._descriptor).st_ino

    @property
    def size(self) -> int:
        """Size in bytes."""
        return os.fstat(self._descriptor).st_size

    @property
    def digest(self) -> str:
        """The SHA-256 of what was written."""
        content = os.pread(self._descriptor, self.size, 0)
        return hashlib.sha256(content).hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Drop what was not put in its place."""
        if self._descriptor >= 0:
            effects.step("unlink", self._lock)
            self._lock.unlink(missing_ok=True)
            self._forget()

    def write(self, content: bytes, mode: int | None = None) -> None:
        """Write the new content durably."""
        if mode is not None:
            os.fchmod(self._descriptor, mode)
        effects.append(self._descriptor, content, self._lock)
        effects.fsync(self._descriptor, self._lock)

    def place(self) -> None:
        """Replace the file by what was written."""
        effects.step("replace", self._path)
        # A flock belongs to the open file, not its name, and survives the rename.
        os.replace(self._lock, self._path)
        self._forget()

    def leave(self) -> None:
        """Close the lock but leave it on disk; the next command decides about it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _forget(self) -> None:
        if self._own is not None:
            _unlink_own(self._own)
        os.close(self._descriptor)
        self._descriptor = -1


def free_dead_locks(git: Path) -> None:
    """Remove what a killed run left of a released lock; locks of others are not touched.

    And the locks of refs that version 0.2 left: later ones have git lock refs itself.
    """
    for own, descriptor in _open_dead_locks(git):
        lock, note = _parse_own_name(git, own)
        is_same = _is_same(descriptor, lock)
        if is_same and note is not None:
            continue  # `take_left_index` decides whether that index counts
        # Its owner may have already renamed it, and another git may have made its own lock of that
        # name since: only the same file is ours.
        if is_same:
            effects.unlink(lock)
        _unlink_own(own)


def _unlink_own(own: Path) -> None:
    """Remove a second name, and the copies that git wrote for it."""
    for end in (_COPY, f"{_COPY}.lock", ""):
        own.with_name(own.name + end).unlink(missing_ok=True)


def take_left_index(git: Path, path: Path) -> tuple[LockFile, str] | None:
    """Take over a killed run's lock of a file, with its note; None if there is none."""
    lock = path.with_name(path.name + ".lock")
    for own, descriptor in _open_dead_locks(git):
        at, note = _parse_own_name(git, own)
        if note is not None and at == lock and _is_same(descriptor, lock):
            return LockFile(path, own, os.dup(descriptor)), note
    return None


def take_recorded_index(path: Path, inode: int, digest: str) -> LockFile | None:
    """Take over the lock of a file with this inode and digest; None for any other."""
    try:
        descriptor = os.open(
            path.with_name(path.name + ".lock"), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        )
    except OSError:
        return None
    found = LockFile(path, None, descriptor)
    if (found.inode, found.digest) == (inode, digest):
        return found
    found.leave()
    return None


def _open_dead_locks(git: Path) -> Iterator[tuple[Path, int]]:
    """Yield second names of locks whose owner is dead, each locked by a descriptor meanwhile."""
    try:
        names = os.listdir(git / _OURS)  # noqa: PTH208 - names alone
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        own = git / _OURS / name
        if name.endswith((_COPY, f"{_COPY}.lock")):
            continue  # they go with the lock that they belong to
        with suppress(OSError):  # held by a run that lives, or gone
            descriptor = os.open(own, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                # The kernel releases a flock when the last descriptor is closed, flock(2), even
                # after a kill: getting it proves that the owner is dead.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield own, descriptor
            finally:
                os.close(descriptor)


def _parse_own_name(git: Path, own: Path) -> tuple[Path, str | None]:
    """Return the lock that a second name belongs to, and its note."""
    quoted, has_note, note = own.name[_ID:].partition(_NOTE)
    lock = git / f"{unquote(quoted, errors='surrogateescape')}.lock"
    return lock, note if has_note else None


def _is_same(descriptor: int, lock: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), lock.lstat())
    except FileNotFoundError:
        return False


_ID = len(effects.new_id()) + 1


def is_there(repo: Repository, commit: str) -> bool:
    """Return whether a commit exists, without using cached results."""
    loose = repo.folders.objects / commit[:2] / commit[2:]
    return loose.is_file() or repo.git.ask("cat-file", "-e", f"{commit}^{{commit}}").exit == 0


def wait_for_pruning(repo: Repository) -> bool:
    """Wait until no other git deletes objects; whether one did."""
    until = time.monotonic() + _PRUNE_PATIENCE
    waited = False
    while is_pruning(repo) and time.monotonic() < until:
        waited = True
        time.sleep(_PRUNE_PAUSE)
    return waited


def is_pruning(repo: Repository) -> bool:
    """Return whether a running `git gc` may delete recent objects."""
    try:
        pid, _, host = (repo.folders.common / "gc.pid").read_text().strip().partition(" ")
        number = int(pid)
        with suppress(PermissionError):  # it is there, and another person's (kill(2), EPERM)
            os.kill(number, 0)
    # There is none, or its creator is gone: git uses the same rule.
    except (OSError, ValueError, OverflowError):
        return False
    if host != os.uname().nodename:
        return False
    with suppress(OSError):
        words = Path(f"/proc/{number}/cmdline").read_bytes()
        spares = b"--prune" not in words
        return not spares or repo.configuration().value("gc.pruneexpire") is not None
    return True
