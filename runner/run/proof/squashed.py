"""Attribute the files of a squashed commit to the tasks in its messages.

A squash keeps the messages and loses which of them wrote which file. The digest in a message
(`Files:`) finds its files again among those that its task may write; other bytes match no digest.
Of two tasks that wrote one file, only the message of the last one matches: the bytes that the
first one left are in no tree.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from runner.repo.commit import is_about

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runner.repo.trees import Prefix, TreeChange

_MOST_TRIED = 10
"""Files of which all subsets are tried, 1023 at most; with more, only all together."""


def find_own_changes(
    prefix: Prefix,
    entries: Sequence[TreeChange],
    trailers: Mapping[str, Sequence[str]],
    may_write: Callable[[str], bool],
) -> tuple[TreeChange, ...]:
    """Return the changes that a message of a squash is about; none where its bytes are gone."""
    own = [one for one in entries if may_write(one.path)]
    least = 1 if len(own) <= _MOST_TRIED else len(own)
    for count in range(len(own), least - 1, -1):
        for some in combinations(own, count):
            if is_about(prefix, some, trailers):
                return some
    return ()
