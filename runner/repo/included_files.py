"""Copy ignored files that `.worktreeinclude` names into scratch trees.

The format is that of other tools: patterns as in gitignore(5); a file counts if it matches one and
git ignores it. The bytes are read once, when a run begins, into one file without a name: every
scratch tree of the run gets the same ones, whatever happens to the work tree meanwhile.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
import tempfile
from contextlib import suppress
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, NamedTuple

from msgspec import Struct

from runner import effects
from runner.config.sizes import format_size
from runner.repo.git import GitError, GitTimeoutError, raw, text
from runner.repo.tree_files import open_folders, put_file
from runner.text.wording import join_few

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    from runner.repo.git import Git
    from runner.repo.read import Repository

LARGEST = 500 << 20
"""Maximum bytes of a copied ignored folder or file."""
_SECONDS = 10.0
"""Seconds for each git call."""
_PIECE = 1 << 20
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_COPIED = 0o600
"""Mode of a copy; executable if the file is."""


class RefusedMatch(NamedTuple):
    """A match that is not copied."""

    name: str
    why: str

    @property
    def shown(self) -> str:
        """One line about it."""
        return f"not copied into scratch trees: {self.name}: {self.why}"


class Matches(Struct, frozen=True):
    """The ignored files that match the patterns. Paths are relative to the repository's top."""

    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """By the outermost folder that git ignores whole (`data/`), else by the file itself."""
    refused: tuple[RefusedMatch, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines that a run prints about the matches at its start."""
        copied = f"ignored files are copied into scratch trees: {join_few(self.names)}"
        return (*((copied,) if self.names else ()), *(one.shown for one in self.refused))

    @property
    def paths(self) -> tuple[str, ...]:
        """All files."""
        return tuple(path for _, paths in self.groups for path in paths)

    @property
    def names(self) -> tuple[str, ...]:
        """The groups, as a person is shown them."""
        return tuple(name for name, _ in self.groups)


def find_matches(
    repository: Repository, patterns: bytes, leaves_out: Callable[[str], bool] = lambda _: False
) -> Matches:
    """Return the ignored files that match these patterns, without those to leave out.

    Git itself matches, within ten seconds a question.
    """
    try:
        return _match(repository, patterns, leaves_out)
    except GitTimeoutError:
        why = f"git did not find all matches within {_SECONDS:.0f} seconds"
        return Matches(refused=(RefusedMatch("files in .worktreeinclude", why),))


def _match(repository: Repository, patterns: bytes, leaves_out: Callable[[str], bool]) -> Matches:
    named = [path for path in _list(repository.git, patterns) if not leaves_out(path)]
    above = {folder for path in named for folder in _folders_above(path)}
    ignored = _ignored(repository.git, (*named, *above))
    groups: dict[str, list[str]] = {}
    refused = []
    for path in (path for path in named if path in ignored):
        if why := _find_obstacle(repository.folders.top, path):
            refused.append(RefusedMatch(path, why))
            continue
        whole = next((one for one in _folders_above(path) if one in ignored), path)
        groups.setdefault(whole, []).append(path)
    for name in list(groups):
        size = sum(_size(repository.folders.top, path) for path in groups[name])
        if size > LARGEST:
            why = f"its size is {format_size(size)}; the limit is {format_size(LARGEST)}"
            refused.append(RefusedMatch(name, why))
            del groups[name]
    return Matches(tuple((name, tuple(paths)) for name, paths in groups.items()), tuple(refused))


def _list(git: Git, patterns: bytes) -> list[str]:
    """Return the untracked files that match; a nested repository is one entry with a slash."""
    with tempfile.NamedTemporaryFile(prefix="runner-include-") as rules:
        rules.write(patterns)
        rules.flush()
        words = ("--others", "--ignored", f"--exclude-from={rules.name}", "-z")
        out = git.run("ls-files", *words, seconds=_SECONDS)
    return sorted(filter(None, text(out).split("\0")))


def _ignored(git: Git, paths: Iterable[str]) -> frozenset[str]:
    """Return those of the paths that git ignores."""
    # It rejects literal pathspecs; `./` removes the special meaning of a leading colon.
    plain = git.with_settings(GIT_LITERAL_PATHSPECS="0")
    asked = b"".join(b"./%b\0" % raw(path) for path in paths)
    answer = plain.ask("check-ignore", "-z", "--stdin", stdin=asked, seconds=_SECONDS)
    if answer.exit not in (0, 1):  # 1: none of them (git-check-ignore(1))
        raise GitError("check-ignore", answer.stderr, answer.exit)
    found = text(answer.out).split("\0")
    return frozenset(path.removeprefix("./") for path in found if path)


def _folders_above(path: str) -> Iterator[str]:
    """Yield the parent folders of a path, outermost first, each with a final slash."""
    parts = path.rstrip("/").split("/")[:-1]
    yield from ("/".join(parts[: end + 1]) + "/" for end in range(len(parts)))


def _find_obstacle(top: Path, path: str) -> str:
    """Return why a match is not copied; empty for a plain file."""
    if path.endswith("/") or ".git" in path.casefold().split("/"):
        return "it is a separate git repository"
    try:
        mode = (top / path).lstat().st_mode
    except OSError:
        return "it cannot be read"
    if stat.S_ISLNK(mode):
        return "it is a symbolic link"
    return "" if stat.S_ISREG(mode) else "it is not a regular file"


def _size(top: Path, path: str) -> int:
    try:
        return (top / path).lstat().st_size
    except OSError:
        return 0


# --- the copies -----------------------------------------------------------------------


class IncludedFile(NamedTuple):
    """One file, whose bytes stand in the store."""

    path: str
    mode: int
    start: int
    size: int


class IncludedFiles:
    """The bytes of matched files as they were when a run began. Any thread may use it."""

    def __init__(self, store: IO[bytes], files: tuple[IncludedFile, ...]) -> None:
        self._store = store
        self.files = files
        self.paths = frozenset(raw(one.path) for one in files)

    @classmethod
    def read(cls, top: Path, paths: Iterable[str], folder: Path) -> IncludedFiles:
        """Read these files below `top`, following no link, into a file without a name."""
        effects.make_folder(folder, mode=0o700)
        store = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open as long as the run
        files, start = [], 0
        for path in paths:
            with suppress(OSError):  # it is gone since git listed it, or a link is in its place
                mode, size = _read_into(store, top, raw(path))
                files.append(IncludedFile(path, mode, start, size))
                start += size
        store.flush()
        return cls(store, tuple(files))

    @classmethod
    def of_contents(cls, contents: Iterable[tuple[str, int, bytes]], folder: Path) -> IncludedFiles:
        """Store received paths, modes and contents as included files."""
        effects.make_folder(folder, mode=0o700)
        store = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open as long as the slot
        files, start = [], 0
        for path, mode, content in contents:
            store.write(content)
            files.append(IncludedFile(path, mode, start, len(content)))
            start += len(content)
        store.flush()
        return cls(store, tuple(files))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(one.size for one in self.files)

    def content(self, file: IncludedFile) -> bytes:
        """Return the bytes of an included file."""
        return os.pread(self._store.fileno(), file.size, file.start)

    @cached_property
    def mark(self) -> str:
        """Tells these files from other ones, within this machine's cache."""
        return self.digest(b"cache")

    def digest(self, key: bytes) -> str:
        """Return a keyed digest of names, modes and bytes (HMAC-SHA-256), for comparison only."""
        digest = hmac.new(key, digestmod=hashlib.sha256)
        for one in self.files:
            digest.update(b"%b\0%o\0%d\0" % (raw(one.path), one.mode, one.size))
            for at in range(0, one.size, _PIECE):
                size = min(_PIECE, one.size - at)
                digest.update(os.pread(self._store.fileno(), size, one.start + at))
        return f"hmac-sha256:{digest.hexdigest()}"

    def put_into(self, tree: Path, known: Collection[bytes]) -> None:
        """Copy these files into a tree, except for paths `known` to its commit.

        A path that the tree has no room for (a file where a folder has to be, a link) is left out.
        """
        for one in self.files:
            if (path := raw(one.path)) not in known:
                with suppress(OSError):
                    put_file(tree, path, one.mode, partial(self._copy, one))

    def _copy(self, file: IncludedFile, out: int) -> None:
        for at in range(0, file.size, _PIECE):
            size = min(_PIECE, file.size - at)
            effects.append(out, os.pread(self._store.fileno(), size, file.start + at), file.path)


def _read_into(store: IO[bytes], top: Path, path: bytes) -> tuple[int, int]:
    """Append one plain file to the store; its mode and size. Raises OSError for all else."""
    *folders, name = path.split(b"/")
    opened = open_folders(top, folders, make=False)
    try:
        if len(opened) <= len(folders):
            raise FileNotFoundError(path)
        opened.append(os.open(name, _READ, dir_fd=opened[-1]))
        mode = os.fstat(opened[-1]).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(path)
        size = 0
        while piece := os.read(opened[-1], _PIECE):
            store.write(piece)
            size += len(piece)
        return _COPIED | mode & stat.S_IXUSR, size
    finally:
        for descriptor in opened:
            os.close(descriptor)
