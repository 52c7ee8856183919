"""A sequence that stays JSON text until somebody looks into it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

T = TypeVar("T")


class Stored(Sequence[T]):
    """Equal to the tuple it stands for. `read` makes one item of its JSON value.

    Reading raises ValueError, TypeError or KeyError for text nobody of ours wrote.
    """

    __slots__ = ("_items", "_read", "text")

    def __init__(self, text: bytes, read: Callable[[Any], T]) -> None:
        self.text = text
        self._read = read
        self._items: tuple[T, ...] | None = None

    def _all(self) -> tuple[T, ...]:
        if self._items is None:
            self._items = tuple(map(self._read, json.loads(self.text)))
        return self._items

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __bool__(self) -> bool:
        return self._items is None or bool(self._items)  # an empty one is never stored

    def __iter__(self) -> Iterator[T]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Stored):
            return self._all() == other._all()
        return self._all() == other

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())
