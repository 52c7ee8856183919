"""The interface between the core and an extension: what an extension offers, as one value.

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
    """Reference to `execute(given, environ)`, which returns None without its flag."""


class Extension(NamedTuple):
    """What an extension offers. Only `name` and `summary` are required."""

    name: str
    summary: str
    extras: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Modules of other packages that it needs, by the extra of ours that installs them."""
    operations: str = ""
    """Reference to a tuple of `runner.operations.row.Operation`: commands of `runner`."""
    flags: tuple[FlagGroup, ...] = ()
    """Of our own extensions alone: a command of the core is parsed before settings are read."""
    executors: Mapping[str, str] = _NONE
    """`run.choose_executor.ExecutorKind` by the first word of the setting `executor`."""
    implementers: Mapping[str, str] = _NONE
    """`implementers.base.ImplementerKind` by the name that a plan uses."""
    pages: Mapping[str, str] = _NONE
    """A function by the path of its page: `runner.serve.application.PageContext` to an answer."""
    settings: str = ""
    """A pydantic model of its table `[extension.NAME]` in the person's own settings file."""
    migrations: str = ""
    """A package with alembic revisions for the team's store, which `team store init` applies."""


def load(reference: str) -> Any:
    """Import what a reference names. Raises ImportError and AttributeError."""
    module, _, attribute = reference.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
