"""List the operations of an OpenAPI document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

_PARAMETER = re.compile(r"\{[^{}/]*\}")
_MOST_DIGITS = 10
"""No list has a longer index, and Python rejects numbers with thousands of digits."""
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def operations_of(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield method and path of each operation."""
    paths = document.get("paths")
    for path, item in (paths if isinstance(paths, dict) else {}).items():
        for _ in range(20):  # a path item may stand elsewhere
            if not isinstance(item, dict) or "$ref" not in item:
                break
            item = resolve_reference(document, item["$ref"])  # noqa: PLW2901 - followed to what it is
        for method in _METHODS:
            if isinstance(item, dict) and method in item:
                yield method.upper(), path


def resolve_reference(document: Any, reference: str) -> Any:
    """Return the target of a local reference (RFC 6901); None if it does not exist."""
    node = document
    for part in unquote(reference).removeprefix("#").split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list):
            at = int(key) if key.isdecimal() and len(key) < _MOST_DIGITS else len(node)
            node = node[at] if at < len(node) else None
        else:
            node = node.get(key) if isinstance(node, dict) else None
    return node


def references_of(node: Any) -> Iterator[str]:
    """Yield every `#/…` reference below a node."""
    if isinstance(node, dict):
        target = node.get("$ref")
        if isinstance(target, str) and target.startswith("#/"):
            yield target
        for child in node.values():
            yield from references_of(child)
    elif isinstance(node, list):
        for child in node:
            yield from references_of(child)


def path_shape(path: str) -> str:
    """Return a path without its parameter names."""
    return _PARAMETER.sub("{}", path).rstrip("/") or "/"


def parameter_names(path: str) -> list[str]:
    """Return the parameter names of a path template in order."""
    return [name[1:-1] for name in _PARAMETER.findall(path)]
