"""What a case is: a change, the task it claims to fulfil, and what must become of it."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from archive import cases_folder, patched

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from archive import Edits, Texts

HALVES = ("mend", "check")


@dataclass(frozen=True)
class Case:
    """One change. `by` is what must refuse it; empty: it is good and must become DONE."""

    name: str
    ground: str
    edit: Callable[[Texts], Edits]
    """What it writes, for the texts that it starts from."""
    outputs: tuple[str, ...]
    tests: tuple[str, ...] = ()
    by: str = ""
    """Regular expression of `check: message` of a finding that names the fault."""
    warns: str = ""
    """Why the design only warns of it; then the finding must be shown though it is DONE."""
    type: str = "feature"
    fields: tuple[str, ...] = field(default=())
    """More lines of the task."""
    by_person: bool = False
    """Whether the plan itself holds the files, as a person who knows them would write it: only
    then may a test file that the task lists lose tests."""

    @property
    def bad(self) -> bool:
        return bool(self.by)

    @property
    def half(self) -> str:
        """Which half it belongs to, by its name alone."""
        return HALVES[hashlib.sha256(self.name.encode()).digest()[0] % 2]

    def section(self, number: int, work: list[str]) -> str:
        """The task as the plan has it; `work` says how it is done."""
        lines = [
            f"## TASK-{number:03d}: {self.name.replace('-', ' ')}",
            "",
            "- Status: PENDING",
            f"- Type: {self.type}",
            f"- Depends on: TASK-{number - 1:03d}",
            f"- Output files: {', '.join(f'`{path}`' for path in self.outputs)}",
        ]
        if self.tests:
            lines.append("- Test contracts:")
            lines += [
                f"  - TC-{at} (integration): `{test}`" for at, test in enumerate(self.tests, 901)
            ]
        lines += [*self.fields, *work, ""]
        return "\n".join(lines)


def read_cases() -> list[Case]:
    """Read the cases of the archive, in the order in which they were written."""
    return [_read(folder) for folder in sorted(cases_folder("bookings_and_library").iterdir())]


def _read(folder: Path) -> Case:
    about = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    lists = {name: tuple(one) for name, one in about.items() if isinstance(one, list)}
    patch = (folder / "change.patch").read_bytes()
    return Case(edit=lambda before: patched(before, patch), **{**about, **lists})
