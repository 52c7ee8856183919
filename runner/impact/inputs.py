"""Gather what is known about a repository to judge a change.

That is tasks, owners, executions, references and past times. Affected test contracts that fail
soonest run first.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.impact.owners import Commands, Named, Owners
from runner.impact.reach import Entry, References
from runner.impact.reasons import Proven
from runner.impact.store import ImpactStore
from runner.impact.traces import Observations
from runner.model import digest_of
from runner.plan.markdown_text import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.model import Digest, Task
    from runner.repo.read import Repository


__all__ = ["Knowledge", "Past", "Proven"]


class Past(Struct, frozen=True):
    """The earlier results of test contracts; only their order depends on it."""

    seconds: Mapping[Proven, float] = field(default_factory=dict)
    """Last duration of each."""
    failures: Mapping[Proven, int] = field(default_factory=dict)
    """Number of failures of each."""


class Knowledge(Struct, frozen=True, dict=True):
    """The facts behind a judgement; build it once and query it often.

    `tasks` are those that may be affected, usually the DONE ones. `digest` gives what a file of the
    tree before the change holds, None where there is none.
    """

    tasks: Mapping[str, Task]
    owners: Owners
    observed: Observations
    references: References
    digest: Callable[[str], Digest | None]
    content: Callable[[str], bytes | None] = lambda _: None
    """Returns a file's content in that tree; None (unknown) makes answers wider."""
    breaking: Mapping[str, bool | None] = field(default_factory=dict)
    """By contract file, whether the change breaks its users; None or missing: possibly."""
    past: Past = field(default_factory=Past)
    collected: frozenset[str] = frozenset()
    """Test files that a tool collects itself: code outside of tests imports none of them."""

    def contracts_of(self, task: str) -> tuple[str, ...]:
        """Return the test contract IDs of a task, in order."""
        return tuple(one.id for one in self.tasks[task].test_contracts)

    @cached_property
    def outputs(self) -> Named:
        """Tasks by their Output files; one that may write anything owns nothing by that."""
        tasks = (task for task in self.tasks.values() if not task.writes_everything)
        return Named((task.id, path) for task in tasks for path in task.outputs)

    @cached_property
    def inputs(self) -> Named:
        """Tasks by their Inputs."""
        return Named((task.id, path) for task in self.tasks.values() for path in task.inputs)

    @cached_property
    def contract_files(self) -> Named:
        """Tasks by the contract files they name."""
        return Named((task.id, path) for task in self.tasks.values() for path in _files(task))

    @cached_property
    def commands(self) -> Commands:
        """The commands of all test contracts, looked up by what they name."""
        return Commands(self.tasks.values(), self.references)


def _files(task: Task) -> Iterator[str]:
    """Yield the document of each contract of a task, except commands."""
    for contract in task.contracts:
        if contract.kind != "command":
            named = words(contract.value.partition("=")[0])
            yield from (word.text.strip() for word in named[:1])


# --- order ----------------------------------------------------------------------------


_UNKNOWN_SECONDS = 1.0
_LEAST_SECONDS = 0.05


def soonest_first(proofs: Iterable[Proven], past: Past) -> list[Proven]:
    """Sort proofs so that a failure is found after the least expected time.

    That is by the odds of a failure for each second (Smith's rule for weighted completion times):
    past failures plus one, over the time it takes. Equal ones stay as they came.
    """

    def cost(proven: Proven) -> float:
        seconds = max(past.seconds.get(proven, _UNKNOWN_SECONDS), _LEAST_SECONDS)
        return seconds / (1 + past.failures.get(proven, 0))

    return sorted(proofs, key=cost)


# --- load inputs ----------------------------------------------------------------------


_KEPT_DIGESTS = 65_536


def knowledge_of(
    repository: Repository,
    cache: Path | None,
    tasks: Iterable[Task],
    treeish: str,
    *,
    owners: bytes | None,
    prefixes: tuple[str, ...] = (),
    breaking: Mapping[str, bool | None] = MappingProxyType({}),
    past: Past = Past(),
) -> Knowledge:
    """Load the knowledge about the tree before a change (a commit or a tree; empty for none).

    `cache` is the user's folder for this repository; `owners` the bytes of FILE_OWNERSHIP_MAP.md,
    None where there is none. Reads what has changed in git since it was asked last, and no more.
    `refresh` has it follow a landing.
    """
    store, references = _read(repository, cache, treeish)

    @lru_cache(maxsize=_KEPT_DIGESTS)
    def digest_of_blob(blob: str) -> Digest | None:
        content = repository.content(blob)
        return None if content is None else digest_of(content)

    def digest(path: str) -> Digest | None:
        blob = references.blob(path)  # of the tree that was read last: it follows each landing
        return digest_of_blob(blob) if blob else None

    def content(path: str) -> bytes | None:
        blob = references.blob(path)
        return repository.content(blob) if blob else None

    return Knowledge(
        tasks={task.id: task for task in tasks},
        owners=Owners(store, owners, prefixes),
        observed=Observations(store),
        references=references,
        digest=digest,
        content=content,
        breaking=breaking,
        past=past,
    )


def _read(
    repository: Repository, cache: Path | None, treeish: str
) -> tuple[ImpactStore, References]:
    """Load the references of a tree; keep them in memory if the cache is unusable."""
    store = ImpactStore(cache)
    references = References(store)
    refresh(references, repository, treeish)
    if store.lost and cache is not None:
        store.close()
        return _read(repository, None, treeish)
    repository.on_close(store.close)
    return store, references


def refresh(references: References, repository: Repository, treeish: str) -> int:
    """Read what differs from the tree that was read last; gives how many files were read."""
    tree = repository.tree_of(treeish)
    known = references.tree
    if known == tree:
        return 0
    if known and not repository.has_tree(known):
        known = ""  # git has thrown that tree away: all is read again
    entries = _entries(repository, known, tree)
    if known:
        return references.learn(entries, repository.content, tree)
    # Differences from a deleted tree can't be computed, so all its records are removed first.
    gone = (Entry(path, None) for path in references.blobs())
    return references.learn([*gone, *entries], repository.content, tree)


def _entries(repository: Repository, known: str, tree: str) -> Iterator[Entry]:
    """Yield the differences between two trees; anything but plain files counts as removed."""
    for change in repository.diff_trees(known or None, tree):
        is_file = change.new_mode in {0o100644, 0o100755}
        if not change.path.startswith("../"):
            yield Entry(change.path, change.new_sha if is_file else None)
