"""Read surviving mutants from a report in the mutation-testing-elements schema.

Source: github.com/stryker-mutator/mutation-testing-elements, mutation-testing-report-schema.json.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.text.foreign_documents import parse_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from runner.gates.base import GateContext

_PLACES = ("mutation.json", "reports/mutation/mutation.json", "reports/mutation.json")
_UNNOTICED = frozenset({"Survived", "NoCoverage"})
_LARGEST = 50_000_000
"""Maximum bytes of a report."""


def find_reported_survivors(context: GateContext, paths: Collection[str]) -> tuple[str, ...]:
    """Return `path:line` of each surviving mutant in these files from the proposal's report."""
    for place in _PLACES:
        file = context.place.tree / context.place.start / place
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST:
            continue
        return tuple(dict.fromkeys(_survivors(_read(file.read_bytes()), paths)))
    return ()


def _read(content: bytes) -> object:
    try:
        return parse_json(content)
    except ValueError:
        return None


def _survivors(report: object, paths: Collection[str]) -> Iterator[str]:
    files = report.get("files") if isinstance(report, dict) else None
    for path, row in files.items() if isinstance(files, dict) else ():
        mutants = row.get("mutants") if isinstance(row, dict) else None
        for one in mutants if path in paths and isinstance(mutants, list) else ():
            match one:
                case {"status": str(word), "location": {"start": {"line": int(line)}}}:
                    if word in _UNNOTICED:
                        yield f"{path}:{line}"
                case _:
                    pass
