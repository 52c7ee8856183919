"""The declaration of a setting: a field with its default, its type and who may set it."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast

from msgspec import Struct, StructMeta

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
    return cast(
        "T",
        Declaration(
            name="",
            old=old,
            shape=next((word for word in about if isinstance(word, str)), ""),
            marks=tuple(mark for mark in about if isinstance(mark, SettingMark)),
            default=default,
        ),
    )


class _SettingsTableMeta(StructMeta):
    """Keeps the declarations of settings: a field of a Struct has only a default."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any
    ) -> Any:
        types = body.get("__annotations__", {})
        declared = {
            key: one._replace(
                old=one.old or key, shape=one.shape or types[key].removesuffix(" | None")
            )
            for key, one in body.items()
            if isinstance(one, Declaration)
        }
        body |= {key: one.default for key, one in declared.items()}
        return super().__new__(mcs, name, bases, {**body, "declared": declared}, **options)


class SettingsTable(Struct, metaclass=_SettingsTableMeta, frozen=True):
    """A table of settings; each field is a `setting(...)` or such a table."""

    declared: ClassVar[dict[str, Declaration]]


def declare(table: SettingsTable, prefix: str = "") -> Iterator[Declaration]:
    """Yield every setting of a table with default values and of its nested tables."""
    for name in table.__struct_fields__:
        default = getattr(table, name)
        if name in table.declared:
            yield table.declared[name]._replace(name=prefix + name, default=default)
        elif isinstance(default, SettingsTable):
            yield from declare(default, f"{name}.")
