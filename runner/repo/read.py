"""Read a person's repository: state, contents, history. Nothing is changed."""

from __future__ import annotations

import os
import time
from collections import deque
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeGuard

from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.repo import landed_commits
from runner.repo.alternates import Lender, address_without_login
from runner.repo.git import Git, GitError, ObjectReader, text
from runner.repo.head import find_git, find_head, read_head
from runner.repo.objects import DURABLE, Objects, ObjectWriter, TreeMemory
from runner.repo.tree_files import signature
from runner.repo.trees import (
    EMPTY,
    FOLDER,
    GITLINK,
    TICK,
    Prefix,
    TreeChange,
    TreeEntry,
    diff_trees,
    tree_entries,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.repo import configuration, repo_state
    from runner.repo.configuration import Configuration, Identity, Signing
    from runner.repo.head import Folders, Head
    from runner.repo.landed_commits import LandedCommit
    from runner.repo.repo_state import RepoState
    from runner.repo.tree_files import StatCache
else:
    configuration = lazy_module("runner.repo.configuration")
    repo_state = lazy_module("runner.repo.repo_state")


_FEW = 16
"""Paths that are looked up here; for more, git is called at once."""
_NEAR = 24
"""Commits read here before git is asked about a history."""
_NAME = regex(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Repository:
    """An open repository, for one thread: the coordinator's. `blob` may be called from any.

    `root` is the project's folder, which may lie below the repository's top. Every path that
    goes in or comes out is relative to the project; what is outside of it begins with `../`.
    """

    def __init__(self, root: Path, folders: Folders) -> None:
        self.root = root
        self.folders = folders
        inside = root.relative_to(folders.top).as_posix()
        self.prefix = Prefix("" if inside == "." else inside + "/")
        # a repository's core.worktree could lead anywhere
        # And `git status` would write the person's index anew and hold its lock while they work
        # (git(1), GIT_OPTIONAL_LOCKS).
        variables = {"GIT_OPTIONAL_LOCKS": "0", "GIT_WORK_TREE": str(folders.top)}
        self.git = Git(folders.top, environment=variables)
        self._objects = ObjectReader(self.git)
        self._writer = ObjectWriter(self.git.with_settings(DURABLE), folders.objects)
        self.trees = TreeMemory()
        """Cached trees; also for scratch slots, which borrow its objects."""
        self._last_log: tuple[tuple[str, ...], bytes] = ((), b"")
        self._configuration: Configuration | None = None
        self._configured: tuple[StatCache, ...] | None = None
        self._closed_with: list[Callable[[], None]] = []
        self.sign_seconds = 30.0
        """Timeout of a signing program, in seconds."""
        self.signs_off: bool | None = None
        """Whether commits are signed off; None: as in `format.signoff`."""
        self.publish: Callable[[Head, str], object] | None = None
        """Moves a remote's branch from a head to a commit before the local branch follows."""

    @classmethod
    def open(cls, root: Path) -> Self:
        """Open the repository of a project; starts no process. Raises RunnerError without git."""
        folders = find_git(root)
        if folders is None:
            hint = "git init"
            raise RunnerError("this folder is not in a git repository", where=str(root), hint=hint)
        return cls(Path(os.path.realpath(root)), folders)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all helper processes and close other resources of the repository."""
        self._objects.close()
        self._writer.close()
        for close in self._closed_with:
            close()
        self._closed_with.clear()

    def on_close(self, close: Callable[[], None]) -> None:
        """Register a function to be called when the repository is closed."""
        self._closed_with.append(close)

    def quiet(self) -> Git:
        """Return Git without the repository's filters, for commands that read file contents.

        That is `status`, and any write of the index, which compares files that were written in
        the same second (racy git). Asked anew whenever its own configuration may have changed.
        """
        return self.git.with_settings(*self._look_at_configuration().silence())

    def _look_at_configuration(self) -> Configuration:
        now = self._configuration_files()
        if self._configuration is None or now is None or now != self._configured:
            self._configuration = configuration.read_configuration(self.git)
            self._configured = None if self._configuration.includes else now
        return self._configuration

    def _configuration_files(self) -> tuple[StatCache, ...] | None:
        """Return the stat of the repository's configuration; None if it just changed."""
        places = (self.folders.common / "config", self.folders.git / "config.worktree")
        found = tuple(map(signature, places))
        newest = max(at.newest for at in found) / 1e9
        # A file written within a clock tick may be written again and look the same.
        return found if abs(time.time() - newest) > TICK else None

    # --- what is there now ---

    def head(self) -> Head:
        """Return the current HEAD, including landings that wait for a person's commit."""
        return read_head(self.folders.top, self.folders)

    def find_head(self) -> Head:
        """Return the current HEAD without waiting landings."""
        return find_head(self.folders.top, self.folders)

    def state(self) -> RepoState:
        """Return the current state of the repository."""
        head = self.head()
        found = repo_state.read_state(self.quiet(), head, self.configuration(), self.prefix)
        if head.beneath is None:
            return found
        return repo_state.since_waiting_landing(self, found)

    def configuration(self) -> Configuration:
        """Return git's configuration, read once and again by each `state()`."""
        return self._configuration or self._look_at_configuration()

    def identity(self) -> Identity:
        """Return the committer; `invented` if none is configured."""
        return self.configuration().identity()

    def load_signing(self) -> Signing | None:
        """Return how commits are signed, if the person's configuration requires it."""
        return self.configuration().load_signing()

    def object_format(self) -> str:
        """Return the object format, `sha1` or `sha256`."""
        return self.configuration().value("extensions.objectformat") or "sha1"

    def zeros(self) -> str:
        """Return the null object name in the length of this repository's hashes."""
        return "0" * (64 if self.object_format() == "sha256" else 40)

    def write_object(self, kind: str, content: bytes) -> str:
        """Write an object durably; its name. Raises GitError, and OSError of a disk."""
        return self._writer.write(kind, content)

    def objects(self, *, writes: bool = False) -> Objects:
        """Return the object database; new trees are only named unless it `writes`."""
        writer = self._writer if writes else None
        return Objects(self.object_format(), self._objects, writer, self.trees)

    def empty_tree(self) -> str:
        """Return the name of the empty tree."""
        return EMPTY[self.object_format()]

    def lender(self) -> Lender:
        """Return the parts that scratch trees borrow, as a value for any thread."""
        head, who = self.head(), self.identity()
        return Lender(
            objects=self.folders.objects,
            object_format=self.object_format(),
            shallow=self.folders.common / "shallow",
            branch=None if head.detached else head.named,
            prefix=self.prefix,
            ignored=self.ignore_rules(),
            origin=address_without_login(self.configuration().value("remote.origin.url") or ""),
            **({} if who.invented else {"who": (who.name, who.email)}),
        )

    # --- contents ---

    def blob(self, treeish: str, path: str) -> bytes | None:
        """Return a file's stored bytes in a commit or tree, or None."""
        whole = self.prefix.whole(path)
        if self.trees.has(treeish):
            return self._known_blob(treeish, whole)
        # The reader gets one request per line, so such a name would be two requests.
        if "\n" in whole:
            entry = self.tree_entries(treeish, (path,)).get(path)
            name = entry.sha if entry else ""
        else:
            name = f"{treeish}:{whole}"
        found = self._objects.read(name) if treeish and name else None
        return found[1] if found and found[0] == "blob" else None

    def _known_blob(self, treeish: str, whole: str) -> bytes | None:
        """Return a file's bytes from a cached tree without a git process, or None."""
        entry = self.objects().entry(treeish, whole)
        return self.content(entry.sha) if entry and entry.mode not in (FOLDER, GITLINK) else None

    def content(self, sha: str) -> bytes | None:
        """Return the bytes of a blob by its name, or None."""
        return self.objects().blob(sha)

    def has_file(self, treeish: str, path: str) -> bool:
        """Return whether a commit or tree has something at a path."""
        return bool(treeish) and path in self.tree_entries(treeish, (path,))

    def tree_entries(self, treeish: str | None, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """Return mode and object of these paths that exist in the tree; empty without a commit."""
        if not self._is_name(treeish) or len(paths) > _FEW:
            return tree_entries(self.git, self.prefix, treeish, paths)
        objects = self.objects()
        found = {path: objects.entry(treeish, self.prefix.whole(path)) for path in paths}
        return {path: entry for path, entry in found.items() if entry}

    def _is_name(self, name: str | None) -> TypeGuard[str]:
        """Return whether a name is a full object name, which never changes its meaning."""
        return name is not None and bool(_NAME.fullmatch(name))

    def list_tree(self, treeish: str) -> tuple[str, ...]:
        """Return all paths of a tree in the project, files and gitlinks."""
        out = text(self.git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", treeish))
        inside = (self.prefix.inside(path) for path in out.split("\0")[:-1])
        return tuple(path for path in inside if not path.startswith("../"))

    def tree_of(self, commit: str | None) -> str:
        """Return the tree of a commit or tree; the empty one for no commit. Raises GitError."""
        if not commit:
            return self.empty_tree()
        if commit in self.trees.commits:
            return self.trees.commits[commit]
        if self._is_name(commit):
            with suppress(GitError):
                self.objects().entries(commit)
                return self.trees.commits.get(commit, commit)
        return self.git.line("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")

    def diff_trees(self, old: str | None, new: str | None) -> tuple[TreeChange, ...]:
        """Return the changes between two commits or trees; renames become delete and create."""
        known = self.trees
        if old and new and all(known.has(one) for one in (old, new)):
            found = sorted(self.objects().find_differing(old, new), key=itemgetter(0))
            return tuple(self._change(*one) for one in found)
        names = (old or self.empty_tree(), new or self.empty_tree())
        return diff_trees(self.git, self.prefix, *names)

    def _change(self, path: bytes, was: TreeEntry | None, now: TreeEntry | None) -> TreeChange:
        old, new = (one or TreeEntry(0, self.zeros()) for one in (was, now))
        return TreeChange(self.prefix.inside(text(path)), old.mode, new.mode, old.sha, new.sha)

    def has_tree(self, tree: str) -> bool:
        """Return whether a tree exists in the repository."""
        return self.trees.has(tree) or not self.git.ask("cat-file", "-e", f"{tree}^{{tree}}").exit

    # --- history ---

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Return whether `newer` descends from or equals `older`; False if one is unknown."""
        if self._is_name(older) and self._is_name(newer) and self._has_true_parents():
            near = self._find_near(older, newer)
            if near is not None:
                return near
        return self.git.ask("merge-base", "--is-ancestor", older, newer).exit == 0

    def _find_near(self, older: str, newer: str) -> bool | None:
        """Search the nearest ancestors of `newer` for `older`; return None if inconclusive."""
        seen, pending = {newer}, deque((newer,))
        while pending and len(seen) <= _NEAR:
            commit = pending.popleft()
            found = self._objects.read(commit)
            if found is None or found[0] != "commit":
                return None
            if commit == older:
                return True
            come = [one for one in _parents(found[1]) if one not in seen]
            seen.update(come)
            pending.extend(come)
        return None if pending else False

    def _has_true_parents(self) -> bool:
        """Return whether parents are unaltered by shallow clones and grafts (gitglossary(7))."""
        common = self.folders.common
        return not ((common / "shallow").exists() or (common / "info" / "grafts").exists())

    def is_unmerged(self, path: str) -> bool:
        """Return whether the index has an unresolved merge conflict for a file."""
        return bool(self.git.run("ls-files", "--unmerged", "-z", "--", self.prefix.whole(path)))

    def merge_base(self, one: str, other: str) -> str | None:
        """Return the best common ancestor of two commits, or None."""
        answer = self.git.ask("merge-base", one, other)
        return answer.out.decode().strip() or None

    def resolve(self, name: str) -> str | None:
        """Return the commit of a name, or None."""
        if self._is_name(name) and (found := self._objects.read(name)) and found[0] == "commit":
            return name
        answer = self.git.ask("rev-parse", "-q", "--verify", "--end-of-options", name + "^{commit}")
        return answer.out.decode().strip() or None

    def commit_that_added(self, tip: str, path: str) -> str:
        """Return the last commit reachable from `tip` that added this file; else empty."""
        words = ("log", "--max-count=1", "--diff-filter=A", "--no-renames", "--format=%H")
        options = ("--no-show-signature", "--end-of-options", tip, "--", self.prefix.whole(path))
        return text(self.git.run(*words, *options)).strip()

    def tell_history(self, tip: str, *options: str) -> bytes:
        """Return `git log` output of a commit's history; the last result is cached.

        Git is asked once of the same; only the last answer is kept.
        """
        asked = (tip, *options)
        if self._last_log[0] != asked:
            output = self.git.run("log", *options, "--end-of-options", tip, "--")
            self._last_log = (asked, output)
            return output
        return self._last_log[1]

    def parents_of(self, commit: str) -> tuple[str, ...]:
        """Return the parents of a commit; empty if it is not a commit."""
        found = self._objects.read(commit)
        return _parents(found[1]) if found and found[0] == "commit" else ()

    def message(self, commit: str) -> str:
        """Return the full message of a commit. Raises GitError."""
        form = ("--no-show-signature", "--no-notes", "--format=%B")
        return text(self.git.run("log", "-1", *form, "--end-of-options", commit)).strip() + "\n"

    def log_trailers(self, tip: str, *, since: str | None = None) -> Iterator[LandedCommit]:
        """Yield the tasks' commits reachable from `tip` but not from `since`, newest first."""
        tips = (tip, f"^{since}") if since else (tip,)
        return landed_commits.find_landed_commits(self.git, self.prefix, tips)

    def find_landing(
        self, tip: str, task: str, attempt: int, *, since: str | None = None, limit: int = 2000
    ) -> str | None:
        """Return the commit that landed an attempt, within `limit` commits back from `tip`."""
        tips = (tip, f"^{since}") if since and self.resolve(since) else (tip,)
        found = landed_commits.find_landed_commits(self.git, self.prefix, tips, limit)
        wanted = (task, attempt, False)
        landings = ((at.commit, (at.task, at.attempt, at.checked)) for at in found)
        return next((commit for commit, key in landings if key == wanted), None)

    def attributes(self, paths: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the attributes such as `filter`, for each path that has any."""
        whole = "".join(self.prefix.whole(path) + "\0" for path in paths)
        out = self.git.run(
            "check-attr", "-z", "--stdin", *names, stdin=whole.encode("utf-8", "surrogateescape")
        )
        fields = text(out).split("\0")
        found: dict[str, dict[str, str]] = {}
        for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            if value not in {"unspecified", "unset"}:
                found.setdefault(self.prefix.inside(path), {})[name] = value
        return found

    def ignore_rules(self) -> bytes:
        """Return the user's ignore rules outside the tree's .gitignore files.

        Commands see them in scratch trees: of what a clone's own `.git` names, or links to, only
        what lies in the repository is read.
        """
        configuration = self.configuration()
        own, named = (configuration.value("core.excludesfile", own=only) for only in (True, False))
        default = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111
        mine = self.folders.top / os.path.expanduser(own or f"{default}/git/ignore")  # noqa: PTH111
        theirs = self.folders.top / os.path.expanduser(named or "")  # noqa: PTH111 - it never raises
        is_theirs = named != own and self._holds(theirs)
        exclude = self.folders.common / "info" / "exclude"
        files = (theirs if is_theirs else mine, *([exclude] if self._holds(exclude) else []))
        return b"\n".join(path.read_bytes() for path in files if path.is_file())

    def _holds(self, path: Path) -> bool:
        """Return whether a file is inside the work tree or the git folder, with links resolved."""
        real, places = Path(os.path.realpath(path)), (self.folders.top, self.folders.common)
        return real.is_file() and any(real.is_relative_to(place) for place in places)


def _parents(commit: bytes) -> tuple[str, ...]:
    """Return the parents listed in a commit object."""
    lines = text(commit.partition(b"\n\n")[0]).split("\n")
    return tuple(line[7:] for line in lines if line.startswith("parent "))
