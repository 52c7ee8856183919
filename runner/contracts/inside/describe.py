"""Describe a Python type as JSON Schema.

Usage: describe.py MODULE:TYPE OUT. Runs on the project's own Python, in the project's folder. OUT
becomes JSON: `schemas` (each one way to read the type), `loose` (whether the type's language has
no words for bounds) and `by`; or `error`. pydantic says it where the project has it; else the
annotations of a dataclass or TypedDict are read here.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime as dt
import decimal
import enum
import importlib
import json
import sys
import traceback
import types
import typing
import uuid
from pathlib import Path
from typing import Any

PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bytes: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    dt.datetime: {"type": "string", "format": "date-time"},
    dt.date: {"type": "string", "format": "date"},
    dt.time: {"type": "string", "format": "time"},
    dt.timedelta: {"type": "string", "format": "duration"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    decimal.Decimal: {"type": "string"},
    dict: {"type": "object"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array", "uniqueItems": True},
}
ARRAYS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable)
OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def main() -> None:
    """Write what there is to say of a type."""
    target, out = sys.argv[1:3]
    sys.path[:0] = [str(path) for path in (Path.cwd(), Path.cwd() / "src") if path.is_dir()]
    try:
        document = describe(load(target), target)
    except BaseException as problem:  # noqa: BLE001 - an import may also call sys.exit
        show(problem)
        code = f"it called sys.exit({problem.code!r})" if isinstance(problem, SystemExit) else ""
        document = {"error": f"{target}: {code or f'{type(problem).__name__}: {problem}'}"}
    beside = Path(out + ".new")
    beside.write_text(json.dumps(document, default=str), "utf-8")
    # Atomic, whenever this process is killed (POSIX, rename).
    beside.replace(out)
    sys.exit("error" in document)


def show(problem: BaseException) -> None:
    """Print a failure with the project's own frames alone; nothing where it has none."""
    frames = problem.__traceback__
    while frames and is_ours(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    if frames or isinstance(problem, SyntaxError):
        traceback.print_exception(type(problem), problem, frames)


def is_ours(file: str) -> bool:
    """Return whether a file is this script or part of Python's import system."""
    return file in (__file__, importlib.__file__) or file.startswith("<frozen importlib")


def load(target: str) -> Any:
    """Import the object at an import path."""
    module, _, names = target.partition(":")
    found: Any = importlib.import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found


def describe(kind: Any, target: str) -> dict[str, Any]:
    """Describe a type as JSON Schema, once for each mode."""
    shaped = dataclasses.is_dataclass(kind) or typing.is_typeddict(kind)
    if hasattr(kind, "model_json_schema"):
        # A field with a default is optional in input and always present in output: these are two
        # schemas (pydantic, JSON Schema, `mode`).
        both = [kind.model_json_schema(mode=mode) for mode in ("validation", "serialization")]
        return {"schemas": both, "loose": False, "by": "pydantic"}
    if hasattr(kind, "__pydantic_validator__") or shaped:
        adapted = by_adapter(kind)
        if adapted:
            loose = not hasattr(kind, "__pydantic_validator__")
            return {"schemas": adapted, "loose": loose, "by": "pydantic"}
    if shaped:
        return {"schemas": [Annotations().whole(kind)], "loose": True, "by": "annotations"}
    raise TypeError(f"{target} is not a pydantic model, dataclass or TypedDict")


def by_adapter(kind: Any) -> list[dict[str, Any]]:
    """Return the schemas of pydantic's TypeAdapter; empty if pydantic is missing or has none."""
    try:
        from pydantic import TypeAdapter

        adapter = TypeAdapter(kind)
        return [adapter.json_schema(mode=mode) for mode in ("validation", "serialization")]
    # For a type without a schema pydantic raises PydanticUserError, a RuntimeError; for an unknown
    # name PydanticUndefinedAnnotation, a NameError.
    except (ImportError, TypeError, ValueError, RuntimeError, AttributeError, NameError):
        return []


class Annotations:
    """A JSON Schema out of annotations; types that are met again are referred to."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def whole(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type with all referenced definitions."""
        return {**self.schema(kind), "$defs": self.known}

    def schema(self, kind: Any) -> dict[str, Any]:
        """Return the JSON Schema of one annotation."""
        if kind in (Any, object):
            return {}
        if isinstance(kind, type) and kind in PLAIN:
            return PLAIN[kind]
        if hasattr(kind, "__supertype__"):
            return self.schema(kind.__supertype__)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return {"enum": [member.value for member in kind]}
        if dataclasses.is_dataclass(kind) or typing.is_typeddict(kind):
            return self.reference_to(kind)
        return self.generic(kind)

    def generic(self, kind: Any) -> dict[str, Any]:
        """Return the JSON Schema of an annotation with arguments."""
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        # Compared by name: this runs on the project's Python, and `typing` has both only since
        # 3.11.
        if origin is typing.Annotated or str(origin) in ("typing.Required", "typing.NotRequired"):
            return self.schema(arguments[0])
        if origin is typing.Literal:
            return {"enum": list(arguments)}
        if origin is typing.Union or origin is getattr(types, "UnionType", None):
            return {"anyOf": [self.schema(one) for one in arguments]}
        if origin in ARRAYS:
            return self.array(origin, arguments)
        if origin in OBJECTS:
            return {"type": "object", "additionalProperties": self.schema(arguments[1])}
        raise TypeError(f"{kind} has no JSON Schema form; install pydantic in the project")

    def array(self, origin: Any, arguments: tuple[Any, ...]) -> dict[str, Any]:
        """Return the JSON Schema of a list, set or tuple."""
        unique = {"uniqueItems": True} if origin in (set, frozenset) else {}
        if origin is tuple and arguments[-1:] != (...,):
            items = [self.schema(one) for one in arguments]
            count = len(items)
            return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}
        return {"type": "array", "items": self.schema(arguments[0]), **unique}

    def reference_to(self, kind: Any) -> dict[str, Any]:
        """Return a reference to the schema of a dataclass or TypedDict."""
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name not in self.known:
            # Register the name before reading the fields, so that a recursive type ends.
            self.known[name] = {}
            hints = typing.get_type_hints(kind, include_extras=True)
            fields, required = fields_of(kind, hints)
            self.known[name] = {
                "type": "object",
                "properties": {field: self.schema(hints[field]) for field in fields},
                "required": required,
            }
        return {"$ref": f"#/$defs/{name}"}


def fields_of(kind: Any, hints: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the names of all fields and of the required ones."""
    if typing.is_typeddict(kind):
        return list(hints), [name for name in hints if name in kind.__required_keys__]
    fields = [field for field in dataclasses.fields(kind) if field.init]
    missing = dataclasses.MISSING
    given = [
        field.name
        for field in fields
        if field.default is missing and field.default_factory is missing
    ]
    return [field.name for field in fields], given


if __name__ == "__main__":
    main()
