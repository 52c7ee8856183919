"""Compare and reset a slot's tree without a git process.

Git needs five milliseconds to start and end. This scan also skips folders whose times did not
change. It handles only the cases that are provably equal to git: everything else, and every larger
tree, raises UnusualError, and git decides.

It also decides what ignore rules certainly say of a path (gitignore(5)); git decides the rest. A
pattern can match a path only if its last part matches a part of the path. If none does, the path is
not ignored. Only plain names are known to be ignored.
"""

# ruff: noqa: PTH118, PTH208 - names are bytes, as git has them

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from runner import effects
from runner.lazy_pattern import regex
from runner.repo.git import UnusualError, text
from runner.repo.index_file import EMPTY_INDEX, read_index
from runner.repo.tree_files import put, read_regular, tells_changes
from runner.repo.trees import (
    KnownFolder,
    Stamp,
    TreeEntry,
    add_path,
    drop_path,
    files_below,
    is_unchanged,
    split_path,
    stamp_of,
    status_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.repo.objects import Objects

_MOST = 100_000
"""Maximum files of a tree handled here; each takes about 280 bytes."""
_SEEN = 20_000
"""Names not in the base that are handled here; more are left to git."""
_FEW = 100  # files that are written here; more are git's
_RULES = b".gitignore"
_LARGE = 1 << 16  # bytes of rules that nobody wrote by hand
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_STARS = 2
"""Maximum stars of an expression, whose time grows by a power for each (255 bytes)."""
_BOM = b"\xef\xbb\xbf"
_PLAIN = regex(rb"[\w.+@=,~-][\w.+@=,~ -]*(?<! )")

# A class starts after its bracket, so that a closing bracket is no member (fnmatch(3)); a nested
# one (`[[:alpha:]]`), an escape and an open bracket may match anything.
_PART = regex(rb"\*+|\?|\[[!^]?[^\[\]\\]+\]|\[|\\|[^*?\[\\]+", 0)


class _Look(Struct):
    """In what a tree differs from its base."""

    changed: set[bytes] = field(default_factory=set)
    """Files of the base that are missing, or not certainly unchanged."""
    others: dict[bytes, bool] = field(default_factory=dict)
    """All other entries except folders, and whether each is a plain file."""
    loose: list[bytes] = field(default_factory=list)
    """Those of them in folders of the base."""
    strange: list[bytes] = field(default_factory=list)
    """Folders unknown to the base, inside known ones."""
    closed: list[bytes] = field(default_factory=list)
    """Folders of the base to which their owner lacks full access."""


class SmallTree:
    """The files of a tree as they looked when they were certainly those of a base.

    An object belongs to the thread that its slot belongs to.
    """

    def __init__(self, tree: Path, index: Path, objects: Objects) -> None:
        self.objects = objects
        self._tree = tree
        self._top = os.fsencode(tree)
        self._index = index
        self._base: str | None = None
        self._folders: dict[bytes, KnownFolder] | None = None
        """By path, which ends in a slash; the tree's own path is empty."""
        self._count = 0
        self._look: _Look | None = None
        self.content: Callable[[str], bytes | None] = lambda _: None  # by no process of the slot
        self.left_out: Collection[bytes] = ()
        """Files in the tree that are not in its base and are never proposed."""
        self._indexed = b""
        self._clock = (0, 0)

    def forget(self) -> None:
        """Forget the tree, so that git examines it the next time."""
        self._folders = self._look = None

    def forget_look(self) -> None:
        """Forget the last look, since files may have been written since then."""
        self._look = None

    def begin(self) -> None:
        """Start with the empty index of a new, empty slot."""
        if not (os.listdir(self._top) or self._index.exists()):
            self._index.write_bytes(EMPTY_INDEX)
            self.learn(None, ())

    def learn(self, base: str | None, paths: Collection[bytes]) -> None:
        """Record a tree that git has just created: exactly `base`, with these files."""
        self.forget()
        self._base, self._count = base, len(paths)
        if not self._has_room():
            return
        folders = {b"": KnownFolder()}
        try:
            self._set_clock()
            self._indexed = self._index.read_bytes()[-_SUM:]
            for path in paths:
                above, name = add_path(folders, path)
                folders[above].files[name] = _NOTHING
            for above, folder in folders.items():
                before, inside = self._now(), self._open(above)
                try:
                    for name in folder.files:
                        folder.files[name] = stamp_of(status_in(name, inside), before)
                finally:
                    os.close(inside)
        except OSError:  # a name too long to be opened from here
            return
        self._folders = folders

    def _has_room(self) -> bool:
        memory = self.objects.memory
        return self._count <= _MOST and (memory is None or memory.admit(id(self), self._count))

    # --- what is there --------------------------------------------------------------------

    def find_differing(self, exclude: bytes, written: Iterable[bytes] | None = None) -> list[bytes]:
        """Return new, changed and deleted files like `git ls-files --others --modified`.

        `exclude` are the rules beside those of the tree's own `.gitignore` files; `written` all
        paths that were written since the base was put there, where that is known. Raises
        UnusualError where only git can tell.
        """
        self._look = None
        try:
            look = self._walk(deep=True) if written is None else self._look_at(written)
            rules = self._read_rules(exclude, look)
        except OSError as error:
            raise UnusualError from error
        self._look = look
        others = {path: one for path, one in look.others.items() if path not in self.left_out}
        return [*rules.select_new(others), *look.changed]

    def _look_at(self, paths: Iterable[bytes]) -> _Look:
        """Return the result of a look at these paths only."""
        folders, look = self._require(), _Look()
        for path in paths:
            if not {b"", b".", b".."}.isdisjoint(path.split(b"/")):
                raise UnusualError
            above, name = split_path(path)
            if above in folders and name in folders[above].files:
                look.changed.add(path)
                continue
            # Also for a missing one: folders may have been made for it.
            look.loose.append(path)
            with suppress(FileNotFoundError, NotADirectoryError):
                look.others[path] = stat.S_ISREG(os.lstat(self._at(path)).st_mode)
                # On a case-insensitive file system it may be another existing name.
                if name not in os.listdir(self._at(above)):
                    raise UnusualError
        return look

    def _walk(self, *, deep: bool) -> _Look:
        """Examine the whole tree without following links, except the tree's own git folder.

        `deep`: at what is in folders that the base does not know, too. Raises OSError.
        """
        folders, look, pending = self._require(), _Look(), [b""]
        while pending:
            path = pending.pop()
            folder = folders[path]
            before, inside = self._now(), self._open(path)
            try:
                found = os.fstat(inside)
                files: Collection[bytes] = folder.files
                below = folder.folders
                if folder.row is None or not is_unchanged(folder.row, found):
                    folder.row = None
                    names, alone = self._list(path, folder, look, deep=deep)
                    files, below = folder.files.keys() & names, folder.folders & names
                    alone = alone and len(files) == len(folder.files)
                    if stat.S_IMODE(found.st_mode) & stat.S_IRWXU != stat.S_IRWXU:
                        look.closed.append(path)
                    elif alone and len(below) == len(folder.folders):
                        folder.row = stamp_of(found, before)
                self._compare(path, folder, files, inside, look)
            finally:
                os.close(inside)
            if len(files) < len(folder.files):
                look.changed.update(path + name for name in folder.files.keys() - files)
            # Not checked by path: below a folder that is now a link are foreign files.
            for name in folder.folders - below:
                look.changed.update(files_below(folders, b"%b%b/" % (path, name)))
            pending += [b"%b%b/" % (path, name) for name in below]
        return look

    def _list(
        self, path: bytes, folder: KnownFolder, look: _Look, *, deep: bool
    ) -> tuple[set[bytes], bool]:
        """Return the base's names in a folder, and whether it has no others."""
        names, alone = set(), True
        with os.scandir(self._at(path)) as entries:
            for entry in entries:
                name, is_folder = entry.name, entry.is_dir(follow_symlinks=False)
                if name == b".git" and not path:
                    continue
                # A file that replaces a folder, or the reverse, is a different one.
                if name in (folder.folders if is_folder else folder.files):
                    names.add(name)
                    continue
                alone = False
                if deep:
                    _require_no_repository(name)
                if len(look.others) > _SEEN:
                    raise UnusualError
                if not is_folder:
                    look.others[path + name] = entry.is_file(follow_symlinks=False)
                    look.loose.append(path + name)
                else:
                    look.strange.append(path + name)
                    if deep:
                        self._list_strange(path + name, look)
        return names, alone

    def _list_strange(self, top: bytes, look: _Look) -> None:
        pending, seen = [top], 0
        while pending:
            path = pending.pop()
            with os.scandir(self._at(path)) as entries:
                for entry in entries:
                    seen += 1
                    if seen + len(look.others) > _SEEN:
                        raise UnusualError
                    _require_no_repository(entry.name)
                    below = b"%b/%b" % (path, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(below)
                    else:
                        look.others[below] = entry.is_file(follow_symlinks=False)

    def _compare(
        self, path: bytes, folder: KnownFolder, names: Collection[bytes], inside: int, look: _Look
    ) -> None:
        """Record the files of a folder that differ from the base."""
        before, is_reliable = self._now(), tells_changes(self._index.parent)
        for name in names:
            found, row = status_in(name, inside), folder.files[name]
            if is_reliable and is_unchanged(row, found):
                continue
            # A different size means a different file, which may be too large to read.
            if found.st_size != row.size or not self._is_as_in_base(path + name):
                look.changed.add(path + name)
            else:
                folder.files[name] = stamp_of(found, before)

    def _read_rules(self, exclude: bytes, look: _Look) -> ExcludeRules:
        rules = ExcludeRules(exclude)
        paths = [path + _RULES for path, one in self._require().items() if _RULES in one.files]
        paths += [path for path in look.others if split_path(path)[1] == _RULES]
        for path in paths:
            with suppress(FileNotFoundError):
                if os.lstat(self._at(path)).st_size > _LARGE:
                    raise UnusualError
                rules.add(read_regular(self._tree, path)[1], at_top=path == _RULES)
        return rules

    # --- put back -------------------------------------------------------------------------

    def restore(
        self,
        bases: tuple[str | None, str | None],
        come: Mapping[bytes, TreeEntry | None],
        go_on: Callable[[], None],
    ) -> None:
        """Change the tree from the first of two bases to the second.

        `come` is what the two differ in, None for a file that is gone. `go_on` is called before
        each removal and may raise. Raises UnusualError, or what a path in the way raises, where
        git has to: then nothing is known any more.
        """
        folders, look = self._require(), self._look
        try:
            index = read_index(self._index)
            if self._base != bases[0] or index.data[-_SUM:] != self._indexed:
                raise UnusualError
            look = look or self._walk(deep=False)
            wanted = [path for path in look.changed if path not in come]
            wanted += [path for path, entry in come.items() if entry]
            if len(wanted) > _FEW:
                raise UnusualError
            self.forget()
            self._clear(look, go_on)
            for path in (path for path, entry in come.items() if not entry):
                put(self._tree, text(path), 0, None)
            for path in wanted:
                self._write(bases[1], path)
            if come:
                self._patch(index.with_entries(come))
            self._follow(folders, come, wanted)
        except OSError as error:
            raise UnusualError from error
        finally:
            self.forget()
        if self._has_room():
            self._base, self._folders = bases[1], folders

    def _clear(self, look: _Look, go_on: Callable[[], None]) -> None:
        """Remove everything that is not part of the base."""
        for path in look.closed:
            effects.unlock(self._at(path))
        for path in look.strange:
            effects.remove_tree(self._at(path), go_on)
        for path in look.loose:
            go_on()
            put(self._tree, text(path), 0, None)

    def _follow(
        self,
        folders: dict[bytes, KnownFolder],
        come: Mapping[bytes, TreeEntry | None],
        written: Iterable[bytes],
    ) -> None:
        """Record the files of the new base, of which `written` were just written."""
        for path, entry in come.items():
            if entry is None:
                self._count -= drop_path(folders, path)
        for path in written:
            above, name = add_path(folders, path)
            self._count += name not in folders[above].files
            before = self._now()
            folders[above].files[name] = stamp_of(os.lstat(self._at(path)), before)

    def _patch(self, content: bytes) -> None:
        """Write the index of the new base; new entries have no times, so git reads their files."""
        beside = self._index.with_name("index.lock")
        with os.fdopen(os.open(beside, _NEW, 0o666), "wb") as file:
            file.write(content)
        beside.replace(self._index)
        self._set_clock()
        self._indexed = content[-_SUM:]

    # --- one file -------------------------------------------------------------------------

    def _is_as_in_base(self, path: bytes) -> bool:
        """Return whether a file has the base's mode and bytes."""
        with suppress(UnusualError):  # what cannot be compared is another one
            mode, content = read_regular(self._tree, path)
            entry = TreeEntry(mode, self.objects.name("blob", content))
            return self.objects.entry(self._base, text(path)) == entry
        return False

    def _write(self, base: str | None, path: bytes) -> None:
        entry = self.objects.entry(base, text(path))
        content = self.content(entry.sha) if entry else None
        if entry and content is None:
            content = self.objects.blob(entry.sha)
        if entry is None or content is None:
            raise UnusualError
        put(self._tree, text(path), entry.mode, content)

    def _set_clock(self) -> None:
        """Set the clock to the file system's time, read from the index just written."""
        self._clock = self._index.stat().st_ctime_ns, time.monotonic_ns()

    def _now(self) -> int:
        """Return a time that is not after now by the clock of the file system."""
        stamped, read = self._clock
        return stamped + time.monotonic_ns() - read

    def _open(self, folder: bytes) -> int:
        # With a trailing slash a link would be followed anyway (path_resolution(7)).
        return os.open(self._at(folder)[:-1], _FOLDER)

    def _at(self, path: bytes) -> bytes:
        return os.path.join(self._top, path)

    def _require(self) -> dict[bytes, KnownFolder]:
        if self._folders is None:
            raise UnusualError
        return self._folders


_SUM = 20  # bytes of the digest that an index ends in
_NOTHING = Stamp(0, 0, 0, 0, settled=False)


def _require_no_repository(name: bytes) -> None:
    # Git treats a nested repository as one name, and rejects other spellings of it.
    if name.lower() == b".git":
        raise UnusualError


class _Rules(NamedTuple):
    """One file of rules."""

    may: re.Pattern[bytes]
    """Matches at least every name that the last part of one of its patterns can match."""
    takes_back: bool
    names: frozenset[bytes]
    folders: frozenset[bytes]
    endings: tuple[bytes, ...]
    paths: tuple[bytes, ...]


class ExcludeRules:
    """The rules of one tree: those of `exclude`, and those of the files that are added."""

    def __init__(self, exclude: bytes) -> None:
        self._top = [_read(exclude)]
        self._below: list[_Rules] = []

    def add(self, content: bytes, *, at_top: bool) -> None:
        """Add the rules of a `.gitignore`, in the tree's own folder or below it."""
        (self._top if at_top else self._below).append(_read(content))

    def judge(self, path: bytes) -> bool | None:
        """Return whether a file path is ignored; None if only git can decide."""
        parts = path.split(b"/")
        rules = (*self._top, *self._below)
        if not any(one.may.fullmatch(part) for one in rules for part in parts):
            return False
        # The position of a negated rule matters, and it has no effect inside an ignored folder.
        if any(one.takes_back for one in rules):
            return None
        return True if any(_is_named(one, path, parts) for one in self._top) else None

    def select_new(self, others: Mapping[bytes, bool]) -> Iterator[bytes]:
        """Yield the paths that git would add. Raises UnusualError if only git can decide.

        Raises UnusualError where only git can tell.
        """
        for path, is_plain in others.items():
            ignored = self.judge(path)
            if ignored is None or not (ignored or is_plain):
                raise UnusualError
            if not ignored:
                yield path


def _is_named(rules: _Rules, path: bytes, parts: list[bytes]) -> bool:
    return (
        not rules.names.isdisjoint(parts)
        or not rules.folders.isdisjoint(parts[:-1])
        or any(part.endswith(rules.endings) for part in parts)
        or any(path == one or path.startswith(one + b"/") for one in rules.paths)
    )


@lru_cache(maxsize=256)
def _read(content: bytes) -> _Rules:
    may: list[bytes] = []
    names: set[bytes] = set()
    folders: set[bytes] = set()
    endings: list[bytes] = []
    paths: list[bytes] = []
    takes_back = False
    for raw in content.removeprefix(_BOM).split(b"\n"):
        # Git strips a CR before the line end (dir.c, add_patterns_from_buffer).
        line = raw.removesuffix(b"\r")
        if not line.strip(b" ") or line.startswith(b"#"):
            continue
        takes_back = takes_back or line.startswith(b"!")
        rule = line.rstrip(b" ").removeprefix(b"!")
        bare = rule.removesuffix(b"/")
        above, _, last = bare.rpartition(b"/")
        # A slash within a class is no separator, so the text after it is no part of its own.
        odd = b"[" in above or b"\\" in above or last.count(b"*") > _MOST_STARS
        may.append(b".*" if odd else _widen(last))
        if _PLAIN.fullmatch(bare):
            (folders if bare != rule else names).add(bare)
        elif bare == rule and bare.startswith(b"*.") and _PLAIN.fullmatch(bare[1:]):
            endings.append(bare[1:])
        elif bare == rule and all(map(_PLAIN.fullmatch, bare.split(b"/")[1:])) and bare[:1] == b"/":
            paths.append(bare[1:])
    whole = b"|".join(may) or rb"(?!)"
    return _Rules(
        regex(whole, re.DOTALL),
        takes_back,
        frozenset(names),
        frozenset(folders),
        tuple(endings),
        tuple(paths),
    )


def _widen(last: bytes) -> bytes:
    """Return an expression that matches at least every name a pattern's last part matches."""
    found = []
    for match in _PART.finditer(last):
        part = match[0]
        if part[:1] == b"*":
            found.append(b".*")
        elif part == b"?" or (len(part) > 1 and part[:1] == b"["):
            found.append(b".")
        elif part in (b"[", b"\\"):
            return b"".join(found) + b".*"
        else:
            found.append(_escape(part))
    return b"".join(found)


def _escape(part: bytes) -> bytes:
    return b"".join(b"\\x%02x" % byte for byte in part)
