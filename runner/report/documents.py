"""JSON documents: one a command, with `schemaVersion` and `kind` first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from runner.model import Graded

SCHEMA_VERSION = 1

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def document(kind: str, **content: object) -> str:
    """One JSON document with a line end: dataclasses become objects, names camelCase.

    Keys of mappings stay as they are, for they are data (ids, paths, names of settings).
    """
    return _dump(kind, content, indent=2)


def document_line(kind: str, **content: object) -> str:
    """The same on one line, many times faster: for what is large and read by programs."""
    return _dump(kind, content, indent=None)


def _dump(kind: str, content: Mapping[str, object], indent: int | None) -> str:
    body = {camel(name): plain(value) for name, value in content.items()}
    whole = {"schemaVersion": SCHEMA_VERSION, "kind": kind, **body}
    # ASCII: nothing invisible reaches a terminal, no lone surrogate a file
    return json.dumps(whole, ensure_ascii=True, indent=indent) + "\n"


def plain(value: object) -> Json:
    """A value as JSON knows it; raises TypeError for what has no such shape."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, PurePath):
        return str(value)
    named = _to_object(value)
    if named is not None:
        return {name: plain(item) for name, item in named.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _to_object(value: object) -> dict[str, object] | None:
    """What becomes an object, by the names it will have there."""
    if isinstance(value, Mapping):
        return {str(plain(key)): item for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {camel(field.name): getattr(value, field.name) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {camel(name): item for name, item in value._asdict().items()}
    return None


def camel(name: str) -> str:
    """`depends_on` as `dependsOn`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def grade_part(graded: Graded | None) -> dict[str, object]:
    """What a DONE is worth, as every document says it; nothing of a task that is not DONE."""
    if graded is None:
        return {"grade": None, "provenBy": None, "gradeReason": "", "notMeasured": ()}
    return {
        "grade": graded.grade,
        "provenBy": graded.by,
        "gradeReason": graded.why,
        "notMeasured": graded.gaps,
    }
