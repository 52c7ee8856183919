"""Find a task's own lines in a later commit, to measure their coverage."""

from __future__ import annotations

from difflib import SequenceMatcher
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.model import Action, Change, digest_of
from runner.repo.git import text
from runner.repo.trees import TreeChange
from runner.run.outdated_plan import find_reverts, is_undone
from runner.writes.paths import in_scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.repo.read import Repository

_FEW = 4
"""Commits that are compared here; for more, git is called at once."""
_MOST_LINES = 20_000
"""In longer files every existing line counts as old; comparing them takes too long."""
_EXACT = 4_000
"""Lines of both texts up to which every common line is matched."""


class OwnWork(Struct, frozen=True):
    """A task's landed lines as they are in a later commit, and their surroundings."""

    changes: tuple[Change, ...] = ()
    others: Mapping[str, bytes | None] = field(default_factory=dict)
    """By path the file without the task's own lines; None for a file that the task made and that
    has no lines of others."""

    def within(self, outputs: tuple[str, ...]) -> OwnWork:
        """Return only the work in the task's current output files.

        A file that its Output files do not name any more is its work no longer: the id may have
        been another task's in an older plan, which left the file.
        """
        changes = tuple(one for one in self.changes if in_scope(one.path, outputs))
        kept = {one.path for one in changes}
        return OwnWork(changes, {path: at for path, at in self.others.items() if path in kept})


class Landings(Struct):
    """The commits that landed each task, asked of git once for each tip; for all threads."""

    repository: Repository
    _commits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _asked: str = ""
    _work: dict[tuple[str, str], OwnWork] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, task: str, tip: str) -> tuple[str, ...]:
        """Return the task's commits below `tip` that were not undone, newest first."""
        with self._lock:
            if tip and tip != self._asked:
                for id_, commits in self._since(tip).items():
                    self._commits[id_] = (*commits, *self._commits.get(id_, ()))
                self._asked = tip
            return self._commits.get(task, ())

    def work(self, task: str, tip: str) -> OwnWork:
        """Return what remains of all landings of a task in the commit `tip`."""
        if (task, tip) not in self._work:
            found = own_work(self.repository, {task: self.of(task, tip)}, tip)
            self._work[task, tip] = found.get(task, OwnWork())
        return self._work[task, tip]

    def _since(self, tip: str) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for one in self.repository.log_trailers(tip, since=self._asked or None):
            if not one.checked:
                found[one.task] = (*found.get(one.task, ()), one.commit)
        gone = find_reverts(self.repository, tip) if found else {}
        return {
            task: tuple(one for one in some if not is_undone(self.repository, gone, task, one))
            for task, some in found.items()
        }


def own_work(
    repository: Repository, landings: Mapping[str, Iterable[str]], head: str
) -> Mapping[str, OwnWork]:
    """Return by task what remains in `head` of the commits that landed it, newest first.

    Git is asked once for all of them; what this clone does not have, it passes over.
    """
    commits = dict.fromkeys(commit for some in landings.values() for commit in some if commit)
    entries = entries_of(repository, list(commits))
    found = {
        task: _work(repository, [one for commit in some for one in entries.get(commit, ())], head)
        for task, some in landings.items()
    }
    return {task: work for task, work in found.items() if work.changes}


def _work(repository: Repository, entries: Iterable[TreeChange], head: str) -> OwnWork:
    by_path: dict[str, list[TreeChange]] = {}
    for entry in entries:
        by_path.setdefault(entry.path, []).append(entry)
    left = (_find_left(repository, some, head) for some in by_path.values())
    found = [one for one in left if one]
    changes = tuple(change for change, _ in found)
    return OwnWork(changes, {change.path: before for change, before in found})


def entries_of(repository: Repository, commits: Sequence[str]) -> dict[str, list[TreeChange]]:
    """Return the changes of each commit (git-diff-tree(1), --stdin and raw output format).

    A few are compared here: most of their folders are known from landing them.
    """
    if len(commits) <= _FEW:
        before = {commit: repository.parents_of(commit) for commit in commits}
        if all(len(parents) == 1 for parents in before.values()):
            return {commit: _compare(repository, before[commit][0], commit) for commit in commits}
    answer = repository.git.ask(
        # --root: otherwise it prints nothing for the first commit, which has no parent
        # (git-diff-tree(1)).
        *("diff-tree", "--stdin", "--root", "-r", "-z", "--raw", "--no-renames"),
        *("--no-ext-diff", "--no-textconv", "--no-color"),
        stdin="".join(f"{commit}\n" for commit in commits).encode("ascii"),
    )
    found: dict[str, list[TreeChange]] = {}
    fields = iter(text(answer.out).split("\0"))
    some: list[TreeChange] = []
    for one in fields:
        if one.startswith(":"):
            old_mode, new_mode, old, new, _ = one[1:].split(" ")
            path = repository.prefix.inside(next(fields))
            some.append(TreeChange(path, int(old_mode, 8), int(new_mode, 8), old, new))
        elif one:
            some = found.setdefault(one.strip(), [])
    return found


def _compare(repository: Repository, old: str, new: str) -> list[TreeChange]:
    """Return the differences of two commits, whose trees are then cached."""
    for one in (old, new):
        repository.tree_of(one)
    return list(repository.diff_trees(old, new))


def _find_left(
    repository: Repository, entries: Sequence[TreeChange], head: str
) -> tuple[Change, bytes | None] | None:
    """Return the remaining own change of a file and its other content; None if none is left."""
    path = entries[0].path
    wrote = [one for one in entries if one.new_mode]
    now = repository.blob(head, path) if wrote else None
    if now is None:
        return None
    landed = list(_pairs(repository, wrote))
    if not landed:
        return None
    before: bytes | None = _without_own(landed, now)
    if not before and any(not one.old_mode for one in wrote):
        before = None
    return _change(path, wrote[0].new_mode, before, now), before


def _pairs(repository: Repository, wrote: Iterable[TreeChange]) -> Iterator[tuple[bytes, bytes]]:
    """Yield old and new content of each change that exists in this clone."""
    for one in wrote:
        old = repository.content(one.old_sha) if one.old_mode else b""
        made = repository.content(one.new_sha)
        if old is not None and made is not None:
            yield old, made


def _change(path: str, mode: int, before: bytes | None, now: bytes) -> Change:
    return Change(
        path=path,
        action=Action.CREATE if before is None else Action.MODIFY,
        mode=mode,
        before=None if before is None else digest_of(before),
        after=digest_of(now),
        content=now,
    )


def _without_own(landed: Sequence[tuple[bytes, bytes]], now: bytes) -> bytes:
    """Return the current file without the lines that the task's commits added."""
    here = now.splitlines(keepends=True)
    texts = [[text.splitlines(keepends=True) for text in pair] for pair in landed]
    if max(len(here), *(len(text) for pair in texts for text in pair)) > _MOST_LINES:
        return landed[-1][0]
    mine: set[int] = set()
    for old, own in texts:
        added = set(range(len(own))) - set(_find_kept_lines(old, own).values())
        if added:
            mine |= {at for line, at in _find_kept_lines(own, here).items() if line in added}
    return b"".join(line for at, line in enumerate(here) if at not in mine)


def _find_kept_lines(old: Sequence[bytes], new: Sequence[bytes]) -> dict[int, int]:
    """Return the line numbers in `new` of the lines of `old` that are unchanged."""
    if old == new:
        return {line: line for line in range(len(old))}
    # From 200 lines on the heuristic treats lines that make up more than 1 % of a file, such as
    # blank ones, as junk (difflib's documentation; CPython gh-47235). Without it, a lock file of
    # 9,000 lines takes 38 seconds.
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) + len(new) > _EXACT)
    return {
        block.a + step: block.b + step
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    }
