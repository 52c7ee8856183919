"""A job slot's scratch tree, and the runner's own git folder that observes it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.errors import RunnerError
from runner.repo.alternates import ALONE, commit_inside, exclude_lines, lay_out, lend
from runner.repo.git import (
    Git,
    GitError,
    GitTimeoutError,
    ObjectReader,
    StoppedError,
    UnusualError,
    disk_error,
    raw,
    text,
)
from runner.repo.head import find_git
from runner.repo.objects import Objects, TreeMemory
from runner.repo.proposal_bounds import ProposalBounds, Spelling, find_left_over
from runner.repo.read import Repository
from runner.repo.tree_files import (
    StatCache,
    await_signature,
    compare_plain,
    make_readable,
    move_aside,
    parents,
    put,
    remove_special_files,
    require_no_link,
    sweep,
    take_away,
    tells_changes,
)
from runner.repo.trees import (
    EMPTY,
    GITLINK,
    Prefix,
    Snapshot,
    change_of,
    diff_index,
    leave_out_gitlinks,
    stage_base_gitlinks,
)
from runner.repo.worktree_scan import SmallTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.model import Change
    from runner.repo.alternates import Lender
    from runner.repo.head import Folders
    from runner.repo.included_files import IncludedFiles
    from runner.repo.trees import TreeChange, TreeEntry

T = TypeVar("T")
_FEW = 100  # changed files that are read here; of more git makes objects sooner
_SOON = 60.0  # seconds after which something is wrong with the tree, not with its size
_MOST = 1000


class Scratch:
    """A work tree of its own for one task at a time, remade for each.

    `tree` is what commands see, with a small `.git` they may do with as they like; `slot/git`
    is the runner's, and all questions go through it. An object belongs to one thread at a time,
    the worker's that runs in this slot; different slots share nothing that changes.
    """

    def __init__(self, slot: Path, lender: Lender, shares: tuple[str, ...]) -> None:
        self.slot = slot
        self.bounds = ProposalBounds()
        """Limits of a task's proposal; the caller that opens the slot applies the settings."""
        self.stopped: Callable[[], bool] = lambda: False
        """Whether the result is no longer needed; called by all slow operations."""
        self.count_visits: Callable[[], int | None] = lambda: None
        """Returns how many commands may have written to the tree so far; None: unknown."""
        self.included: IncludedFiles | None = None
        """Ignored files of the repository that every tree gets and that are never proposed."""
        self.tree_folder = slot / "tree"
        self.lender = lender
        self.base: str | None = None
        self._shared = shares
        self._git_folder = slot / "git"
        self.gitlinks: dict[str, str] = {}
        """Submodules of the base by path, with their commits."""
        self._listed: str | None = None
        self._paths: set[bytes] = set()  # of the base that was listed last
        self._spelling = Spelling()
        self._lent: int | None = None
        self._looked: int | None = None
        self._commits: set[str] = set()
        self._signed: StatCache | None = None
        self._base_tree: str | None = None
        named = {"GIT_DIR": self._git_folder, "GIT_WORK_TREE": self.tree_folder}
        environment = ALONE | {name: str(path) for name, path in named.items()}
        self._git = Git(slot, environment, (("core.fsync", "none"),), alone=True)
        self._git = replace(self._git, stopped=lambda: self.stopped())  # noqa: PLW0108 - set later
        self._reader = ObjectReader(self._git)
        self._objects = Objects(lender.object_format, self._reader)
        self._small = SmallTree(self.tree_folder, self._git_folder / "index", self._objects)

    @classmethod
    def open(cls, slot: Path, lender: Lender, *, shares: tuple[str, ...] = ()) -> Self:
        """Open a slot, made new or left by an earlier run; call `reset` before anything else.

        `shares` are ignored folders of the repository that commands see and that never count.
        """
        effects.make_folder(slot)
        return cls(slot, lender, shares)

    def share(self, trees: TreeMemory, content: Callable[[str], bytes | None]) -> None:
        """Read no tree that another slot has read, and blobs by the repository's own reader."""
        self._objects = self._small.objects = replace(self._objects, memory=trees)
        self._small.content = content

    def include(self, files: IncludedFiles | None) -> None:
        """Set the files that every tree has in addition to its base from the next reset on."""
        self.included = files
        self._signed = self._lent = self._looked = None

    def close(self) -> None:
        """Stop the process that reads objects; it is restarted when needed."""
        self._reader.close()

    @property
    def _shares(self) -> tuple[str, ...]:
        """Paths in the tree that are never part of a change."""
        return (*self._shared, *self.gitlinks)

    @property
    def project(self) -> Path:
        """The project's folder in the tree: where commands start."""
        return self.tree_folder / self.lender.prefix.value

    # --- from the base ---

    def reset(self, base: str | None, *, is_commit: bool = False) -> None:
        """Reset the tree to exactly `base`, a commit or tree of the repository; None: empty.

        Bytes are as git stores them. `is_commit` saves asking. Raises GitError for an unknown one.
        """
        if base and is_commit:
            self._commits.add(base)
        effects.step("scratch", self.tree_folder)
        if self._signed is not None and self.base == base and self._signed.holds:
            self._looked = None
            return  # nobody has touched it since
        self._signed = None
        try:
            self._reset(base)
        except (OSError, GitError):
            self.lender.require()
            self._move_aside()
            self._reset(base)
        if self.included is not None:
            self.included.put_into(self.tree_folder, self._paths)

    def base_tree(self) -> str:
        """Name of the base's git tree: what the tree is as long as nobody has written to it."""
        if self._base_tree is None:
            none = EMPTY[self.lender.object_format]
            self._base_tree = self._objects.tree_of(self.base) if self.base else none
        return self._base_tree

    def find_differing(self, tree: str) -> tuple[str, ...] | None:
        """Return paths that differ between an earlier tree and the base; None if unknown."""
        inside = self.lender.prefix.inside
        try:
            differing = self._objects.find_differing(tree, self.base)
            return tuple(inside(text(path)) for path, _, _ in differing)
        except GitError:
            return None

    def sign(self) -> None:
        """Record the signature of the untouched tree, so that an equal reset need do nothing."""
        if self._signed is None:
            self._signed = await_signature(self.tree_folder)

    def _reset(self, base: str | None) -> None:
        # If no command ran since, only this process can have written to either git folder.
        same = self._is_since(self._lent)
        if not same:
            self._restate()
            sweep(self._git_folder / "objects", [b"info/alternates"], self._go_on)  # refused bytes
        if not self._is_since(self._looked):
            self._small.forget_look()
        self._lent = self._looked = None
        if self._listed is None and self.lender.object_format == "sha1":
            self._small.begin()
        bases, come = (self._listed, base), self._list_base(base)
        try:
            self._small.restore(bases, come, self._go_on)
        except (UnusualError, RunnerError):
            same = False
            self._checkout(base)
        self.project.mkdir(parents=True, exist_ok=True)
        self._lend_git(base, same=same)
        self.base = base
        self._base_tree = None
        self._lent = self.count_visits()

    def _is_since(self, visits: int | None) -> bool:
        """Return whether no command has visited the tree since this count."""
        return visits is not None and visits == self.count_visits()

    def _checkout(self, base: str | None) -> None:
        """Check every file and write only those that differ from the base."""
        sweep(self.tree_folder, self._paths, self._go_on)
        git = self._on("index")
        if not tells_changes(self.slot):
            (self._git_folder / "index").unlink(missing_ok=True)
        git.run("read-tree", "--reset", "-u", base) if base else git.run("read-tree", "--empty")
        leave_out_gitlinks(git, self.tree_folder, self.gitlinks)
        if not self.gitlinks:
            self._small.learn(base, self._paths)

    def _restate(self) -> None:
        """Restore folders and settings, whatever was done to them."""
        for folder in (self.tree_folder, self._git_folder):
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                folder.unlink()
            folder.mkdir(exist_ok=True)
        lay_out(self._git_folder, self.lender, self._shares, "ref: refs/heads/runner")
        for lock in self._git_folder.glob("*.lock"):
            lock.unlink()

    def _list_base(self, base: str | None) -> dict[bytes, TreeEntry | None]:
        """List the files that `base` holds, and its gitlinks; what differs from those before."""
        come: dict[bytes, TreeEntry | None] = {}
        for path, was, now in self._objects.find_differing(self._listed, base):
            if was is not None:
                self.gitlinks.pop(text(path), None)
            if now is not None and now.mode == GITLINK:
                self.gitlinks[text(path)] = now.sha
                self._small.forget()
                now = None  # noqa: PLW2901 - no file of the listing
            come[path] = now
        self._paths -= come.keys()
        self._paths |= {path for path in come if come[path]}
        self._spelling.follow(come)
        self._listed = base
        return come

    def _lend_git(self, base: str | None, *, same: bool) -> None:
        """Create a git folder for tools and agents; `same`: that of the last base is unchanged."""
        inner = self.tree_folder / ".git"
        if not same:
            take_away(inner, self._go_on)
        at = self._commit_of(base), self._git_folder / "index"
        lend(inner, self.lender, self._shares, *at, same=same)

    def _commit_of(self, base: str | None) -> str | None:
        if base is None or base in self._commits:
            return base
        if self._objects.tree_of(base) != base:
            self._commits.add(base)
            return base
        return commit_inside(self._git, self.tree_folder / ".git", self.lender, self._shares, base)

    def _move_aside(self) -> None:
        """Move damaged folders away for new ones, and remove old ones if possible."""
        self._small.forget()
        self._reader.close()
        move_aside(self.slot, (self.tree_folder, self._git_folder))

    # --- what is there now ---

    def changes(self) -> tuple[Change, ...]:
        """Return the changes against the base; see `snapshot`."""
        return self.snapshot().changes

    def snapshot(self) -> Snapshot:
        """Ask the files what differs from the base, whatever git's index holds.

        Contents are the very bytes of `tree`, read here or made objects; it is named and not
        written. Modes are as they are: 120000 for a link, 160000 for a repository inside, its own
        type for what git cannot hold; those have empty content, for the path rules. Raises
        ProposalError for more than the bounds allow, before anything is read, and StoppedError.
        """
        self._looked = None
        return self._snapshot(None)

    def last_snapshot(self, written: Iterable[str] | None) -> Snapshot:
        """Return the final snapshot; after it only commands and this object write to the tree.

        `written` are all paths that somebody else wrote since the last reset, where that is known:
        where no command ran either, nothing else is looked at.
        """
        self._looked = self.count_visits()
        known = written is not None and self._is_since(self._lent)
        return self._snapshot(written if known else None)

    def _snapshot(self, written: Iterable[str] | None) -> Snapshot:
        prefix, inside = self.lender.prefix, self.lender.prefix.inside
        self.lender.require()
        self._small.left_out = self.included.paths - self._paths if self.included else ()
        with suppress(UnusualError):
            rules = exclude_lines(self.lender, self._shares)
            paths = None if written is None else [raw(prefix.whole(path)) for path in written]
            found = self._small.find_differing(rules, paths)
            return self._compare(self.bounds.hold_paths(found, self.tree_folder, inside))
        git = self._stage()
        left_out = self._small.left_out
        names = self._answer(partial(self.bounds.hold, git, self.tree_folder, inside, left_out))
        with suppress(UnusualError):
            require_no_link(self.tree_folder, parents(self._paths))
            return self._compare(names)
        refused = self._add_tree(git)
        stage_base_gitlinks(git, self.gitlinks)
        staged = diff_index(git, prefix, self.base or EMPTY[self.lender.object_format])
        differing = [one for one in staged if raw(prefix.whole(one.path)) not in left_out]
        tree = self._name_tree(differing)
        odd = find_left_over(git, self.tree_folder, prefix, refused) if refused else ()
        changes = [change_of(self._reader, at) for at in self._while_wanted(differing)]
        return Snapshot.of(tree, (*changes, *odd))

    def _stage(self) -> Git:
        """Return Git for a copy of the base's index, to which the tree can be added.

        The base's own is never refreshed: its times are those at which git itself wrote the files,
        so one that is changed within the same second cannot hide behind them.
        """
        index = self._git_folder / "index.work"
        self._lent = None  # it holds more from now on than what a base needs
        try:
            self._restate()
            index.unlink(missing_ok=True)
            if tells_changes(self.slot):
                os.link(self._git_folder / "index", index)
        except OSError as error:
            message = "the scratch tree was damaged while the task ran; run again"
            raise RunnerError(message, where=str(self.slot)) from error
        git = self._on("index.work")
        if not index.exists():  # an index that says nothing of times: git reads every file
            git.run("read-tree", self.base or "--empty")
            leave_out_gitlinks(git, self.tree_folder, self.gitlinks)
        return git

    def _compare(self, paths: Sequence[bytes]) -> Snapshot:
        """Compare a few plain files with the base without git. Raises UnusualError."""
        if len(paths) > _FEW or self.gitlinks:
            raise UnusualError
        known, name = partial(self._objects.entry, self.base), partial(self._objects.name, "blob")
        wanted, prefix = self._while_wanted(paths), self.lender.prefix
        differing = compare_plain(self.tree_folder, prefix, known, name, wanted)
        tree = self._name_tree(at for at, _ in differing)
        changes = (change_of(self._reader, at, content) for at, content in differing)
        return Snapshot.of(tree, changes)

    def _while_wanted(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items. Raises StoppedError once the work is cancelled."""
        for item in items:
            self._go_on()
            yield item

    def _go_on(self) -> None:
        if self.stopped():
            raise StoppedError

    def _add_tree(self, git: Git) -> str:
        """Add the whole tree; return git's error output where it could not add all of it."""
        add = partial(git.with_settings(LC_ALL="C").ask, "add", "--all", "--ignore-errors")
        answer = self._answer(add)
        if answer.exit:
            make_readable(self.tree_folder)
            answer = add()
        if answer.exit and (error := disk_error(answer.stderr, self.slot)):
            raise error
        return answer.stderr or "?" if answer.exit else ""

    def _answer(self, ask: Callable[..., T]) -> T:
        try:
            return ask(seconds=_SOON)
        except GitTimeoutError:  # a pipe where git looks for .gitattributes holds it for ever
            self._restate()
            remove_special_files(self.tree_folder)
            return ask()

    def _name_tree(self, changes: Iterable[TreeChange]) -> str:
        """Name of the base's tree with these changes."""
        entries = {self.lender.prefix.whole(at.path): at.entry for at in changes}
        return self._objects.with_files(self.base, entries)

    def same_but_case(self, changes: Iterable[Change]) -> dict[str, str]:
        """Return new paths that differ from another path only in case, with that path."""
        self._list_base(self.base)
        return self._spelling.find_clashes(tuple(changes), self._paths, self.lender.prefix)

    # --- into the tree ---

    def apply(self, changes: Iterable[Change]) -> None:
        """Apply changes to the tree. Raises RunnerError for a path outside of it."""
        self._looked = None
        ordered = sorted(changes, key=lambda change: (change.content is not None, change.path))
        for change in self._while_wanted(ordered):
            path = self.lender.prefix.value + change.path
            put(self.tree_folder, path, change.mode, change.content)

    def _on(self, index: str) -> Git:
        return self._git.with_settings(GIT_INDEX_FILE=str(self._git_folder / index))


class Slot(Struct):
    """One slot this process holds; its lock ends with `release`, or with the process."""

    number: int
    folder: Path
    _lock: int
    _held: set[int]
    """Numbers of the slots held by its pool."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Release the slot; repeated calls have no effect."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
            self._held.discard(self.number)


class Pool:
    """The slots of one repository: `<folder>/slots/0`, `1` and so on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "slots"
        self._held: set[int] = set()

    def take(self) -> Slot:
        """Take the first free slot, and create it if needed."""
        # Trees of private repositories are stored there, on a possibly shared machine.
        effects.make_folder(self.folder, mode=0o700)
        for number in range(_MOST):
            # Skip own slots: each of 64 slots would try all previous ones.
            lock = None if number in self._held else self._lock(number)
            if lock is not None:
                self._held.add(number)
                folder = self.folder / str(number)
                effects.make_folder(folder, mode=0o700)
                return Slot(number, folder, lock, self._held)
        raise RunnerError(
            "all scratch trees are in use; wait until another run ends", where=str(self.folder)
        )

    def _lock(self, number: int) -> int | None:
        """Return the open lock of a slot, or None if it is held (flock(2) frees dead owners')."""
        path = self.folder / f"{number}.lock"
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock


def is_checked_out(top: Path, path: str) -> bool:
    """Return whether a submodule is checked out."""
    return os.path.lexists(top / path / ".git")


class Submodules:
    """The submodules of one slot, each a scratch tree of its own: the person's stay untouched."""

    def __init__(self, slot: Path, folders: Folders) -> None:
        self._slot = slot / "submodules"
        self._folders = folders
        self._scratches: dict[str, Scratch | None] = {}
        """By path; None for a submodule that is not checked out."""

    def close(self) -> None:
        """Stop the processes that read objects."""
        for scratch in filter(None, self._scratches.values()):
            scratch.close()

    def reset(self, gitlinks: Mapping[str, str]) -> dict[str, Path]:
        """Reset each submodule to its commit, and return the folders of the existing ones.

        One inside another follows it.
        """
        return dict(self._reset(gitlinks, ""))

    def find_changed(self) -> Iterator[str]:
        """Yield the files of submodules that differ from their commits."""
        for path, scratch in self._scratches.items():
            if scratch is not None:
                yield from (f"{path}/{change.path}" for change in scratch.changes())

    def _reset(self, gitlinks: Mapping[str, str], above: str) -> Iterator[tuple[str, Path]]:
        for path, commit in gitlinks.items():
            whole = above + path
            if whole not in self._scratches:
                self._scratches[whole] = self._open(whole)
            scratch = self._scratches[whole]
            if scratch is None:
                continue
            try:
                scratch.reset(commit)
            except (GitError, RunnerError, OSError):  # a commit that was not fetched
                continue
            yield whole, scratch.tree_folder
            yield from self._reset(scratch.gitlinks, f"{whole}/")

    def _open(self, path: str) -> Scratch | None:
        lender = self._find_lender(path)
        name = sha256(os.fsencode(path)).hexdigest()[:16]
        return Scratch.open(self._slot / name, lender) if lender else None

    def _find_lender(self, path: str) -> Lender | None:
        """Return the lender of a submodule's own repository; None if it is not in its place."""
        top = self._folders.top / path
        folders = find_git(top) if is_checked_out(self._folders.top, path) else None
        if folders is None or folders.top != top:
            return None
        # An unpacked archive may claim any location, such as another repository of the user.
        common = os.path.realpath(folders.common)
        if not any(common.startswith(f"{own}/") for own in (self._folders.common, top)):
            return None
        try:
            with Repository.open(top) as repository:
                return replace(repository.lender(), prefix=Prefix(""))
        except RunnerError:
            return None
