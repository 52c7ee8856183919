"""What a case is: a change, the task it claims to fulfil, and what must become of it."""

from __future__ import annotations

import hashlib
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Edit: TypeAlias = "Callable[[Tree], None]"

HALVES = ("mend", "check")


class Tree:
    """The files of a prepared repository, as one case changes them."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = dict(files)
        self._before = files

    def replace(self, path: str, old: str, new: str) -> None:
        """Put `new` where `old` stands; it must stand there exactly once."""
        text = self.files[path]
        if text.count(old) != 1:
            raise ValueError(f"{path} holds {old!r} {text.count(old)} times")
        self.files[path] = text.replace(old, new)

    def everywhere(self, path: str, old: str, new: str) -> None:
        """Put `new` wherever `old` stands; it must stand somewhere."""
        if old not in self.files[path]:
            raise ValueError(f"{path} does not hold {old!r}")
        self.files[path] = self.files[path].replace(old, new)

    def append(self, path: str, text: str) -> None:
        self.files[path] += textwrap.dedent(text)

    def write(self, path: str, text: str) -> None:
        self.files[path] = textwrap.dedent(text).lstrip("\n")

    def delete(self, path: str) -> None:
        del self.files[path]

    def move(self, path: str, to: str) -> None:
        self.files[to] = self.files.pop(path)

    def cut(self, path: str, first: str, until: str) -> None:
        """Take out the text from `first` up to, but not including, `until`."""
        start = self.files[path].index(first)
        end = self.files[path].index(until, start + len(first))
        self.files[path] = self.files[path][:start] + self.files[path][end:]

    @property
    def edits(self) -> dict[str, str | None]:
        """Whole texts of the files that changed; None for one that is gone."""
        paths = sorted(self.files.keys() | self._before.keys())
        return {
            path: self.files.get(path)
            for path in paths
            if self.files.get(path) != self._before.get(path)
        }


@dataclass(frozen=True)
class Case:
    """One change. `by` is what must refuse it; empty: it is good and must become DONE."""

    name: str
    ground: str
    edit: Callable[[Tree], None]
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


class Catalogue:
    """The cases over one ground, in the order in which they are written."""

    def __init__(
        self,
        ground: str,
        *,
        bad_outputs: tuple[str, ...],
        good_outputs: tuple[str, ...],
        prefix: str = "",
    ) -> None:
        self.ground = ground
        self.bad_outputs = bad_outputs
        self.good_outputs = good_outputs
        self.prefix = prefix
        self.cases: list[Case] = []

    def bad(
        self, by: str, *tests: str, outputs: tuple[str, ...] | None = None, **more: object
    ) -> Callable[[Edit], Edit]:
        """Register an edit as a fault, under its own name; `by` is what must refuse it."""
        return self._registered(tests, outputs or self.bad_outputs, {"by": by, **more})

    def good(
        self, *tests: str, outputs: tuple[str, ...] | None = None, **more: object
    ) -> Callable[[Edit], Edit]:
        """Register an edit as a good change, under its own name."""
        return self._registered(tests, outputs or self.good_outputs, more)

    def _registered(
        self, tests: tuple[str, ...], outputs: tuple[str, ...], more: dict
    ) -> Callable[[Edit], Edit]:
        def register(edit: Edit) -> Edit:
            name = f"{self.prefix}{edit.__name__.replace('_', '-')}"
            self.cases.append(Case(name, self.ground, edit, outputs, tests, **more))
            return edit

        return register
