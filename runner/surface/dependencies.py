"""Dependencies that a change adds or removes, and whether the lock file knows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.surface.facts import Fact, Trees, skip_file
from runner.surface.manifests import find_lock, is_locked, manifest_kind, read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

_ELSEWHERE = re.compile(r"(?:git|https?|ssh|github)[:+@]|'(?:git|url)'")


_IN_TESTS = re.compile(r"(?:^|/)(?:bench(?:es|marks?)?|examples?|fuzz|docs?|site|website)/")


def find_changes(trees: Trees) -> Iterator[Fact]:
    """Yield a fact for each dependency that was added, removed, or comes from another place."""
    for change in trees.changes:
        if not manifest_kind(change.path):
            continue
        old = read_manifest(change.path, trees.before(change.path))
        new = read_manifest(change.path, change.content)
        if old is None or new is None:
            yield skip_file(change.path, "it cannot be read")
            continue
        yield from _compare(change.path, old, new, trees)


def _compare(
    path: str,
    old: dict[str, tuple[str, bool]],
    new: dict[str, tuple[str, bool]],
    trees: Trees,
) -> Iterator[Fact]:
    is_new_file = trees.before(path) is None
    in_tests = trees.is_test(path) or _IN_TESTS.search(path) is not None
    lock = find_lock(path, trees.after)
    for name, (want, own) in new.items():
        dev = own or in_tests
        if name in old:
            if _ELSEWHERE.search(want) and want != old[name][0]:
                message = f"takes {name} from another place: {want}"
                yield Fact("dependency", message, path, 0, (name,), is_breaking=True)
            continue
        missing = lock is not None and not is_locked(lock, name, trees.after)
        what = f"{name} ({lock} does not know it)" if missing else name
        breaks = not (dev or is_new_file)
        title = "adds development dependencies" if dev else "adds dependencies"
        yield Fact("dependency", what, path, 0, _names(name), is_breaking=breaks, title=title)
    for name in old.keys() - new.keys():
        yield Fact("dependency", name, path, 0, _names(name), title="removes dependencies")


def _names(name: str) -> tuple[str, ...]:
    """Return how a text may call a package: with its scope or host, and without."""
    spelled = {name, name.rpartition("/")[2], name.replace("-", "_"), name.capitalize()}
    return tuple(sorted(spelled))
