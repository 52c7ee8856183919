"""Many alike values by columns: what is the same for all of them stands once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

new_tuple = tuple.__new__
"""A named tuple of all its values: `new_tuple(Kind, values)`, a third of what its call takes."""


def write_once(column: Sequence[T]) -> Sequence[T]:
    """A column as it is kept: one value where all are the same."""
    return column[:1] if column.count(column[0]) == len(column) else column


def read_each(column: list[Any], count: int, most: int) -> list[Any]:
    """The values of so many, at most `most`; raises ValueError where there are others."""
    values = column * count if len(column) == 1 and count <= most else column
    if len(values) != count:
        raise ValueError(f"a column of {len(values)} values for {count}")
    return values
