"""JSON documents: one per command, with `schemaVersion` and `kind` first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias

from runner.model.codec import names_of

if TYPE_CHECKING:
    from runner.model import Graded

SCHEMA_VERSION = 1

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def document(kind: str, **content: object) -> str:
    """Return a JSON document with a line end; field names become camelCase.

    Keys of mappings stay as they are, for they are data (ids, paths, names of settings).
    """
    return _dump(kind, content, indent=2)


def document_line(kind: str, **content: object) -> str:
    """Return a document as one line of JSON, which is faster for large content."""
    return _dump(kind, content, indent=None)


def _dump(kind: str, content: Mapping[str, object], indent: int | None) -> str:
    body = {camel(name): plain(value) for name, value in content.items()}
    whole = {"schemaVersion": SCHEMA_VERSION, "kind": kind, **body}
    # ASCII: no invisible characters reach a terminal, and no lone surrogates a file
    return json.dumps(whole, ensure_ascii=True, indent=indent) + "\n"


def plain(value: object) -> Json:
    """Convert a value to plain JSON types; raises TypeError if that is not possible."""
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
    """Return the fields of a value that becomes a JSON object; None for any other."""
    if isinstance(value, Mapping):
        return {str(plain(key)): item for key, item in value.items()}
    names = names_of(type(value))
    return None if names is None else {camel(name): getattr(value, name) for name in names}


def camel(name: str) -> str:
    """Convert a name to camel case: `depends_on` to `dependsOn`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def grade_part(graded: Graded | None) -> dict[str, object]:
    """Return the grade of a DONE task for a document; empty fields for other tasks."""
    if graded is None:
        return {"grade": None, "provenBy": None, "gradeReason": "", "notMeasured": ()}
    return {
        "grade": graded.grade,
        "provenBy": graded.by,
        "gradeReason": graded.why,
        "notMeasured": graded.gaps,
    }
