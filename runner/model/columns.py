"""Store many similar values by column, so that repeated fields appear once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

new_tuple = tuple.__new__
"""Makes a named tuple from all its values: `new_tuple(Kind, values)`, in a third of the time."""


def write_once(column: Sequence[T]) -> Sequence[T]:
    """Return a column for storage, with one value if all are equal."""
    return column[:1] if column.count(column[0]) == len(column) else column


def read_each(column: list[Any], count: int, most: int) -> list[Any]:
    """Expand a column to `count` values. Raises ValueError if the number differs."""
    values = column * count if len(column) == 1 and count <= most else column
    if len(values) != count:
        raise ValueError(f"a column of {len(values)} values for {count}")
    return values
