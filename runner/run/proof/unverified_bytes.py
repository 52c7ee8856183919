"""Find unproven content of DONE tasks: manual edits, manual commits, merges.

What a task's landing wrote is proven, and so is what a later landing made of it: their commits
tell by `Spec:` that the runner proved them, and by `Files:` that it was these bytes, in every
clone. A squash keeps the messages that it joined (`find_own_changes`). A commit whose message says
so of other bytes (amended, picked with a conflict, copied) proves nothing. Nor does one of the
first versions, which named no bytes, unless this clone's journal made it. Any other bytes are
unverified until the task's proof has run on them.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import combinations, groupby
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from runner.journal.records import commits_made
from runner.model import Status
from runner.plan.globs import is_glob
from runner.repo.commit import is_about, records_content
from runner.repo.git import text
from runner.repo.head import OWNERSHIP_MAP, PLANS
from runner.repo.landed_commits import is_unnamed, make_own_test
from runner.repo.trailers import RESTORES, UNDOES, parse_messages
from runner.run.landing.own_lines import entries_of
from runner.writes.paths import in_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model.task import PlannedTask
    from runner.repo.read import Repository
    from runner.repo.trees import Prefix, TreeChange

JOURNAL = "artifacts/build/journal.jsonl"
_GONE = ""
"""Blob of a missing path."""


class Unverified(NamedTuple):
    """The reason why a DONE task's current content is not proven."""

    paths: tuple[str, ...]
    """Files whose bytes no proof covers."""
    missing: tuple[str, ...] = ()
    """Those of them that do not exist."""
    uncommitted: bool = False
    """Whether the changes are only in the work tree: HEAD matches a proof."""
    claimed: bool = False
    """Whether their commit claims a proof without evidence."""

    @property
    def why(self) -> str:
        """In words, as it stands behind `unproven`."""
        if not self.paths:
            return "a person marked it DONE without a proof"
        gone = bool(self.missing)
        every = self.missing or self.paths
        named = every[:2]
        more = len(every) - len(named)
        shown = ", ".join(named) + (f" and {more} more" if more else "")
        if self.claimed and not gone:
            return f"the proof in its commit is for another version of {shown}"
        verb = "was" if len(every) == 1 else "were"
        became = "deleted" if gone else "changed"
        text = f"{shown} {verb} {became} since it was proven"
        moved = gone and all(path.startswith("../") for path in named)
        return f"{text} (was the plan's folder moved?)" if moved else text


class _Landing(NamedTuple):
    commit: str
    task: str
    trailers: Mapping[str, tuple[str, ...]]
    squashed: bool

    @property
    def claims(self) -> bool:
        """Whether it says that the runner proved what it holds; undo and replay are its own."""
        return not self.task or "Spec" in self.trailers


class Bytes(Struct):
    """The landed content in the history of one head, and the current content."""

    repository: Repository
    head: str
    tasks: Mapping[str, PlannedTask]
    made: Callable[[str], bool] = lambda _commit: False
    """Whether this clone's journal made a commit."""
    _wrote: dict[str, dict[str, None]] = field(default_factory=dict)
    """By task, the paths that its landings wrote."""
    _proven: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """By path, each landing that wrote it, newest first: commit and blob; `?` for manual edits."""
    _claimed: set[str] = field(default_factory=set)
    """Commits whose claimed proof is about other bytes."""

    def __post_init__(self) -> None:
        """Git is asked twice for all tasks together."""
        landings = _landings(self.repository, self.head)
        entries = entries_of(self.repository, [one.commit for one in landings])
        for one, changed in self._split_landings(landings, entries):
            is_proven = one.claims and self._is_proof(one, changed)
            if one.claims and not is_proven:
                self._claimed.add(one.commit)
            for entry in changed:
                blob = (entry.new_sha if entry.new_mode else _GONE) if is_proven else "?"
                self._proven.setdefault(entry.path, []).append((one.commit, blob))
                if one.task:
                    self._wrote.setdefault(one.task, {})[entry.path] = None

    def _split_landings(
        self, landings: Iterable[_Landing], entries: Mapping[str, Sequence[TreeChange]]
    ) -> Iterator[tuple[_Landing, Sequence[TreeChange]]]:
        """Yield each landing with its changes.

        Of a squash those first whose bytes are there; what they wrote, others of it wrote before.
        """
        for commit, group in groupby(landings, lambda one: one.commit):
            changed, rest, known = entries.get(commit, ()), list[_Landing](), set[str]()
            for one in group:
                if not one.squashed:
                    yield one, changed
                    continue
                task = self.tasks.get(one.task)
                own = find_landed_changes(self.repository, changed, one.trailers, task)
                known.update(entry.path for entry in own)
                if own:
                    yield one, own
                elif task is not None:
                    rest.append(one)
            for one in rest:
                mine = (entry for entry in changed if _may_write(self.tasks[one.task], entry.path))
                yield one, [entry for entry in mine if entry.path not in known]

    def _is_proof(self, one: _Landing, changed: Sequence[TreeChange]) -> bool:
        """Return whether a landing's proof is about the bytes in its commit."""
        if records_content(one.trailers):
            return is_about(self.repository.prefix, changed, one.trailers)
        return self.made(one.commit)

    def paths(self, task: PlannedTask, known: TaskState) -> tuple[str, ...]:
        """Return the task's own files, from its landings or its commit."""
        if task.id in self._wrote or not known.commit:
            return tuple(self._wrote.get(task.id, ()))
        if self.repository.resolve(known.commit) is None:
            return ()
        parent = self.repository.resolve(f"{known.commit}^")
        found = self.repository.diff_trees(parent, known.commit)
        for entry in found:
            blob = entry.new_sha if entry.new_mode else _GONE
            self._proven.setdefault(entry.path, []).append((known.commit, blob))
        return tuple(entry.path for entry in found if _is_its_own(task, entry.path))

    def is_proven(self, path: str, blob: str) -> bool:
        """Return whether the last landing of a file left these bytes.

        Of two branches that were merged each has a last one.
        """
        newest, *others = self._proven.get(path) or [("", blob)]
        if newest[1] == blob:
            return True
        same = (commit for commit, left in others if left == blob)
        return any(not self.repository.is_ancestor(commit, newest[0]) for commit in same)

    def is_claimed(self, path: str) -> bool:
        """Return whether a file's last landing claims a proof of other bytes."""
        return bool(self._proven.get(path)) and self._proven[path][0][0] in self._claimed

    def was_there(self, path: str) -> bool:
        """Return whether the last landing of a file left it in place."""
        return bool(self._proven.get(path)) and self._proven[path][0][1] != _GONE


def find_landed_changes(
    repository: Repository,
    entries: Sequence[TreeChange],
    trailers: Mapping[str, Sequence[str]],
    task: PlannedTask | None,
) -> tuple[TreeChange, ...]:
    """Return what a message of a squash is about of its changes; none for a task that is gone."""
    if task is None:
        return ()
    own = [one for one in entries if not _is_own_document(one.path)]
    return find_own_changes(repository.prefix, own, trailers, partial(_may_write, task))


def _may_write(task: PlannedTask, path: str) -> bool:
    return path in task.outputs or in_scope(path, task.outputs)


def _is_its_own(task: PlannedTask, path: str) -> bool:
    """Return whether a landed file is still in the task's outputs.

    What it may write no more is not: an older plan's task of that id may have left it. Of a path
    outside of the plan's folder an end of it says so: then the folder may have been moved.
    """
    if not path.startswith("../"):
        return _may_write(task, path)
    parts = path.split("/")
    return any(_may_write(task, "/".join(parts[at:])) for at in range(1, len(parts)))


def find_unverified(
    repository: Repository,
    head: str,
    tasks: Iterable[PlannedTask],
    state: RunState,
    dirty: Callable[[Mapping[str, str]], Iterable[str]] = lambda _blobs: (),
) -> Mapping[str, Unverified]:
    """Return by id the DONE tasks whose files on this head or in the work tree are unverified.

    `dirty` gives the paths of those it is asked about that differ in the work tree, by the blobs
    that the head has.
    """
    tasks = tuple(tasks)
    done = [
        (task, known)
        for task in tasks
        if (known := state.task(task.id)).status is Status.DONE and known.verified
    ]
    if not done or not head:
        return {}
    planned = {task.id: task for task in tasks}
    landed = Bytes(repository, head, planned, _make_own_commit_test(repository))
    owned = {task.id: landed.paths(task, known) for task, known in done}
    wanted = sorted({path for paths in owned.values() for path in paths})
    blobs = _blobs(repository, head, wanted)
    changed = {path for path in wanted if not landed.is_proven(path, blobs[path])}
    edited = set(dirty({path: blobs[path] for path in wanted}))
    found = {}
    for task, known in done:
        # Output files are read only for the few tasks with such a path.
        unlike = [path for path in owned[task.id] if path in changed or path in edited]
        unlike = [path for path in unlike if _is_its_own(task, path)]
        moved = [path for path in unlike if path in changed]
        if moved and _is_reproven(repository, head, moved, blobs, known, state):
            moved = []
        here = [path for path in unlike if path in moved or path in edited]
        if here:
            gone = tuple(path for path in here if blobs[path] == _GONE and landed.was_there(path))
            claimed = bool(moved) and all(map(landed.is_claimed, moved))
            found[task.id] = Unverified(tuple(here), gone, not moved, claimed)
    return found


def filter_truthful_messages(repository: Repository, commits: Sequence[str]) -> frozenset[str]:
    """Return the commits whose message is about the bytes that they contain."""
    made = _make_own_commit_test(repository)
    entries = entries_of(repository, commits)
    found = set()
    for commit in commits:
        own = entries.get(commit, ())
        for one in parse_messages(repository.message(commit)):
            trailers = one.trailers
            if one.squashed:
                prefix = repository.prefix
                is_true = bool(find_own_changes(prefix, own, trailers, _is_own_document))
            else:
                is_true = is_about(repository.prefix, own, trailers)
            if is_true or (not records_content(trailers) and made(commit)):
                found.add(commit)
    return frozenset(found)


def _is_own_document(path: str) -> bool:
    return path in (*PLANS, OWNERSHIP_MAP) or path.startswith("artifacts/build/")


def _make_own_commit_test(repository: Repository) -> Callable[[str], bool]:
    """Return a function that tests if a commit is this clone's; reads the journal lazily."""

    @cache
    def load_recorded() -> frozenset[str]:
        return frozenset(commits_made(repository.root / JOURNAL))

    return lambda commit: commit in load_recorded()


def find_never_landed(
    repository: Repository, head: str, tasks: Iterable[PlannedTask], state: RunState
) -> Mapping[str, str]:
    """Return by id the DONE tasks without a landing of which no named file exists."""
    found = {}
    for task in tasks:
        known = state.task(task.id)
        named = [path for path in task.outputs if not is_glob(path) and path != "any"]
        if known.status is Status.DONE and not known.verified and named:
            there = repository.tree_entries(head, named)
            if not there:
                found[task.id] = named[0]
    return found


def _is_reproven(
    repository: Repository,
    head: str,
    paths: list[str],
    blobs: Mapping[str, str],
    known: TaskState,
    state: RunState,
) -> bool:
    """Return whether a task's proof, or a full one, ran on a tree with these bytes."""
    whole = state.whole_head if state.whole_head and not state.failed_tree else ""
    if whole and _landed_since(repository, whole, head, known):
        whole = ""  # what took the task back may have left the bytes of that time
    for tree in (known.tree, whole):
        # The journal names trees that this clone may lack: from another branch, or deleted by `git
        # gc`.
        if tree and repository.git.ask("cat-file", "-e", tree).exit == 0:
            there = _blobs(repository, tree, paths)
            if all(there[path] == blobs[path] for path in paths):
                return True
    return False


def _landed_since(repository: Repository, commit: str, head: str, known: TaskState) -> bool:
    """Return whether the task's commit is in the history of `head` but not of `commit`.

    One that was rewritten is in none: of that nothing is known.
    """
    if not known.commit or not all(map(repository.resolve, (known.commit, commit))):
        return False
    return repository.is_ancestor(known.commit, head) and not repository.is_ancestor(
        known.commit, commit
    )


def _blobs(repository: Repository, tree: str, paths: list[str]) -> dict[str, str]:
    found = repository.tree_entries(tree, paths) if paths else {}
    return {path: found[path].sha if path in found else _GONE for path in paths}


def _landings(repository: Repository, head: str) -> list[_Landing]:
    """Return the commits with work of tasks, including undo and replay, newest first."""
    out = repository.tell_history(
        head,
        # By topology, not time (git-log(1), --topo-order): clocks of two clones may differ, and the
        # newest commit must come before its ancestors.
        *("-z", "--topo-order", "--no-color", "--no-show-signature", "--no-notes"),
        *("--fixed-strings", "--grep=Task: ", f"--grep={UNDOES}: ", f"--grep={RESTORES}: "),
        "--format=%H%n%B",
    )
    found = []
    entries = out.split(b"\0")
    unnamed = (text(one.partition(b"\n")[0]) for one in entries if one and is_unnamed(one))
    is_own = make_own_test(repository.git, repository.prefix, unnamed)
    for entry in map(text, entries):
        commit, _, message = entry.partition("\n")
        for one in parse_messages(message) if commit else ():
            trailers = one.trailers
            task = trailers.get("Task", ("",))[-1]
            if (task or UNDOES in trailers or RESTORES in trailers) and is_own(commit, trailers):
                found.append(_Landing(commit, task, trailers, one.squashed))
    return found


_MOST_TRIED = 10
"""Files of which all subsets are tried, 1023 at most; with more, only all together."""


def find_own_changes(
    prefix: Prefix,
    entries: Sequence[TreeChange],
    trailers: Mapping[str, Sequence[str]],
    may_write: Callable[[str], bool],
) -> tuple[TreeChange, ...]:
    """Return the changes that a message of a squash is about; none where its bytes are gone.

    A squash loses which message belongs to which file. The digest in a message (`Files:`) finds
    its files among those that its task may write. Of two tasks that wrote one file, only the last
    one's message matches: the bytes that the first one left are in no tree.
    """
    own = [one for one in entries if may_write(one.path)]
    least = 1 if len(own) <= _MOST_TRIED else len(own)
    for count in range(len(own), least - 1, -1):
        for some in combinations(own, count):
            if is_about(prefix, some, trailers):
                return some
    return ()
