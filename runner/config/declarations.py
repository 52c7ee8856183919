"""The declaration of a setting: a field with its default, its type and who may set it."""

from __future__ import annotations

from dataclasses import MISSING, field, fields
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


class SettingMark(Enum):
    """Special properties of a setting."""

    COMMON = auto()
    """Listed first; the others are rarely needed."""
    OWN = auto()
    """Set only by the user's own file, environment and flags."""
    OWN_FILE = auto()
    """Set only by the user's own file: it runs code in this process."""
    BOUND = auto()
    """A repository sets it no higher than the user's value."""
    CAPPED = auto()
    """As BOUND, also relative to the default."""
    FLOOR = auto()
    """A repository's value adds to the user's and can only tighten it."""


class Declaration(NamedTuple):
    """One setting, as its field declares it."""

    name: str
    """Name such as `limits.soft_seconds`; for a table such as `[gates]`, the table's name."""
    old: str
    shape: str
    """Shape that `schema` checks; words between bars are the only values."""
    marks: tuple[SettingMark, ...]
    default: object


def setting(default: T, *about: SettingMark | str, old: str = "") -> T:
    """Declare a field with its default, its marks and its shape (by default that of its type)."""
    made: T = field(default=default, metadata={"about": about, "old": old})
    return made


def declare(kind: Any, table: str = "") -> Iterator[Declaration]:
    """Yield every setting of a class and of its nested tables."""
    for one in fields(kind):
        default = one.default if one.default_factory is MISSING else one.default_factory()
        if "about" in one.metadata:
            about = one.metadata["about"]
            shape = next((word for word in about if isinstance(word, str)), "")
            yield Declaration(
                table + one.name,
                one.metadata["old"] or one.name,
                shape or str(one.type).removesuffix(" | None"),
                tuple(mark for mark in about if isinstance(mark, SettingMark)),
                default,
            )
        elif not table and one.default_factory is not MISSING:
            yield from declare(type(default), f"{one.name}.")
