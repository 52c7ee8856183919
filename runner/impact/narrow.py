"""Narrows a change of what a Python file evaluates on import to the tests that can see it.

Only for test contracts of which every file that they ran is as it was: code is asked who reads a
name, and it must be the code that ran. For all others everything that ran the file counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.impact.classes import Classes
from runner.impact.exposure import find_exposure
from runner.impact.python_blocks import find_changed_blocks, spans_in
from runner.impact.readers import Readers
from runner.impact.units import parts_of
from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex
from runner.model import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from runner.impact.change import Changed
    from runner.impact.readers import Reader
    from runner.impact.reasons import Proven
    from runner.impact.units import Parts
    from runner.model import Observed

_MOST_FILES = 400
"""Files that are asked who reads a name; where more ran, all that ran the changed one count."""
_TEST = regex(r"(?:\A|/)(?:tests?/|test[^/]*\.py\Z|[^/]*_test\.py\Z|conftest\.py\Z)")
_SETTINGS = ("pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", ".pytest.ini", "conftest.py")


def narrow_contracts(
    change: Changed,
    contracts: Iterable[Proven],
    observed: Callable[[str, str], Sequence[Observed]],
    content: Callable[[str], bytes | None],
) -> Mapping[Proven, Mapping[str, Reader]]:
    """For contracts of which it can be said: the tests that see what changed on import, and where.

    `observed` gives what a contract was seen to run, `content` the bytes of a file before the
    change. A contract that is not among the answers counts as a whole.
    """
    if (
        not change.is_edited
        or not is_written_in(change.path, "python")
        or _TEST.search(change.path)
    ):
        return {}
    before, after = change.before or b"", change.after or b""
    changed = find_changed_blocks(before, after)
    if not changed or all(block.first for block in changed):
        return {}

    def read(path: str) -> Parts | None:
        data = before if path == change.path else content(path)
        return None if data is None else parts_of(data)

    exposure = find_exposure(change, Classes(read))
    old, new = read(change.path), parts_of(after)
    if exposure is None or old is None or new is None:
        return {}
    if exposure.documented and _tests_docstrings(content):
        return {}
    rows = {one: observed(*one) for one in contracts}
    files = _files(rows.values(), change, content)
    known = {one: some for one, some in rows.items() if {row.path for row in some} <= files.keys()}
    readers = Readers(change.path, old, new, exposure, files, read)
    found = {one: readers.tests(some) for one, some in known.items()}
    return {one: tests for one, tests in found.items() if tests is not None}


def _files(
    rows: Iterable[Sequence[Observed]], change: Changed, content: Callable[[str], bytes | None]
) -> dict[str, Parts]:
    """The files that ran and are as they were, each taken apart."""
    said: dict[str, set[str]] = {}
    bad: set[str] = set()
    for some in rows:
        for row in some:
            said.setdefault(row.path, set()).add(row.digest)
            if not _is_read(row.lines):
                bad.add(row.path)
    if len(said) > _MOST_FILES:
        return {}
    found = {}
    for path, digests in said.items():
        data = change.before if path == change.path else content(path)
        if data is None or path in bad or digests != {digest_of(data)}:
            continue
        parts = parts_of(data) if is_written_in(path, "python") else None
        if parts is not None:
            found[path] = parts
    return found


def _is_read(lines: str) -> bool:
    try:
        spans_in(lines)
    except ValueError:
        return False
    return True


def _tests_docstrings(content: Callable[[str], bytes | None]) -> bool:
    """Whether the settings of the tests say that docstrings are tests."""
    folders = ("", "tests/", "test/")
    every = (content(f"{folder}{name}") for folder in folders for name in _SETTINGS)
    return any(b"doctest" in one for one in every if one)
