"""Paths that only look like globs: `app/[slug]/page.tsx` is a file where there is such a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from runner.plan.globs import is_glob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def literal_paths(fields: Mapping[str, object], is_file: Callable[[str], bool]) -> tuple[str, ...]:
    """Those of the outputs and inputs among a task's fields that look like globs and are files."""
    paths = (path for key in ("outputs", "inputs") for path in _paths(fields.get(key)))
    return tuple(dict.fromkeys(path for path in paths if _looks_odd(path) and is_file(path)))


def _paths(value: object) -> Iterable[str]:
    return cast("tuple[str, ...]", value or ())


def _looks_odd(path: str) -> bool:
    return is_glob(path) and not path.endswith("/")
