"""Refuses a change that names a held-out file: such code could treat its tests in a special way."""

from __future__ import annotations

import re
from posixpath import basename
from typing import TYPE_CHECKING

from runner.model import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from runner.model import Change


def find_names(
    changes: Sequence[Change],
    before: Callable[[str], bytes | None],
    held: Collection[str],
    files: Collection[str],
) -> Iterator[Finding]:
    """Return a finding for each change whose added lines name a held-out file.

    `held` are the paths of held-out files, `files` all other paths of the proposal. A base name
    counts only where no other file has it.
    """
    taken = {basename(path) for path in files}
    words = {path: path for path in held}
    words |= {basename(path): path for path in held if basename(path) not in taken}
    for change in changes:
        added = _added_lines(before(change.path), change.content)
        found = next((path for word, path in words.items() if _has_word(added, word)), "")
        if found:
            yield Finding(
                check="scope",
                message=f"an added line names the held-out file {found}",
                path=change.path,
                hint="remove the name; the work must not depend on a particular test file",
            )


def _added_lines(before: bytes | None, after: bytes | None) -> str:
    known = set((before or b"").splitlines())
    added = (line for line in (after or b"").splitlines() if line not in known)
    return b"\n".join(added).decode("utf-8", "replace")


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None
