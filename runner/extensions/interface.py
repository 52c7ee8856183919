"""The interface between the core and an extension: everything that an extension offers.

Everything is named by a reference, `module` or `module:attribute`, and imported at its first use.
docs/extensions.md shows how to write one.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_NONE: Mapping[str, str] = MappingProxyType({})


class FlagGroup(NamedTuple):
    """Flags that an extension adds to an operation of the core, and executes itself."""

    operation: str
    fields: str
    """Reference to a tuple of `runner.operations.row.Field`."""
    execute: str
    """Reference to `execute(given, environ)`, which returns None if its flag is not set."""


class Extension(NamedTuple):
    """The offer of an extension. Only `name` and `summary` are required."""

    name: str
    summary: str
    extras: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Modules of other packages that it needs, by the extra that installs them."""
    operations: str = ""
    """Reference to a tuple of `runner.operations.row.Operation`: commands of `runner`."""
    flags: tuple[FlagGroup, ...] = ()
    """Only for built-in extensions: core commands are parsed before settings are read."""
    executors: Mapping[str, str] = _NONE
    """`run.choose_executor.ExecutorKind` by the first word of the `executor` setting."""
    implementers: Mapping[str, str] = _NONE
    """`implementers.base.ImplementerKind` by the name used in a plan."""
    pages: Mapping[str, str] = _NONE
    """By page path, a function from `runner.serve.application.PageContext` to an answer."""
    settings: str = ""
    """Pydantic model of its table `[extension.NAME]` in the user's settings file."""
    migrations: str = ""
    """Package with alembic revisions for the team's store, applied by `team store init`."""


def load(reference: str) -> Any:
    """Import what a reference names. Raises ImportError and AttributeError."""
    module, _, attribute = reference.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
