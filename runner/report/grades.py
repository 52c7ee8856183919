"""How many tasks are proven, and which are not and why, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import Grade
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.model import Graded


def grade_lines(grades: Mapping[str, Graded]) -> Iterator[str]:
    """`7 of 9 proven`, then a line for each of the others; nothing where there are no tasks."""
    if not grades:
        return
    yield f"{sum(one.is_proven for one in grades.values())} of {len(grades)} proven"
    for id_, one in grades.items():
        if not one.is_proven:
            yield f"  {display(id_)}: {display(one.words)}"


def find_unproven(grades: Mapping[str, Graded]) -> dict[str, Graded]:
    """Those that are neither proven nor waived."""
    return {id_: one for id_, one in grades.items() if one.grade is Grade.UNPROVEN}
