"""How a setting is declared: one field with its default, its shape and who may set it."""

from __future__ import annotations

from dataclasses import MISSING, field, fields
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


class SettingMark(Enum):
    """What is special about a setting."""

    COMMON = auto()
    """Shown first; the others are rarely needed."""
    OWN = auto()
    """Only the person's own file, environment and flags set it."""
    OWN_FILE = auto()
    """Only the person's own file sets it: it runs code in this process."""
    BOUND = auto()
    """A repository sets it no higher than the person."""
    CAPPED = auto()
    """The same, also against the default."""
    FLOOR = auto()
    """A repository's value stands beside the person's, and only tightens."""


class Declaration(NamedTuple):
    """One setting, as its field declares it."""

    name: str
    """`limits.soft_seconds`; of a table of its own, such as `[gates]`, the table."""
    old: str
    shape: str
    """What `schema` holds its value to; words between bars are all that it may be."""
    marks: tuple[SettingMark, ...]
    default: object


def setting(default: T, *about: SettingMark | str, old: str = "") -> T:
    """Declare a field: its default, its shape (else that of its type) and its marks."""
    made: T = field(default=default, metadata={"about": about, "old": old})
    return made


def declare(kind: Any, table: str = "") -> Iterator[Declaration]:
    """Every setting of a class and of the tables in it."""
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
