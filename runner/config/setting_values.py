"""Validated settings: convert them from and to JSON, and cache them.

The cache is keyed by the digest of all inputs, so pydantic is not loaded again. Its folder is the
person's own: a clone cannot write there. A damaged or unreadable entry counts as none.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, convert

from runner import __version__, effects
from runner.config.layers import Layer, Origin
from runner.config.shell_rules import Permission, Permit
from runner.lazy_module import lazy_module
from runner.model import GateSpec, Network, Resource, ReviewMode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from runner.config import permissions
    from runner.config.declarations import Declaration
    from runner.secrets import load_rules
else:
    load_rules = lazy_module("runner.secrets.load_rules")
    permissions = lazy_module("runner.config.permissions")


def count_cores() -> int:
    """Return the number of processors that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


GATE_KEYS = ("command", "seconds", "network", "types")
"""Keys of a gate that is written as a table."""
INSISTED = {"review.mode": "review.insisted", "review.plan": "review.plan_insisted"}
"""Settings that environment and flag override, and the settings that record this."""

_REVIEWS = tuple(ReviewMode)


class MergedSettings(NamedTuple):
    """The merged settings of all layers: JSON values, their origins, and the ignored ones."""

    values: Mapping[str, object]
    sources: Mapping[str, str]
    notes: tuple[str, ...] = ()


def tightest(first: ReviewMode, *others: ReviewMode | None) -> ReviewMode:
    """Return the strictest of these review modes; None is ignored."""
    return min((first, *(mode for mode in others if mode)), key=_REVIEWS.index)


def is_plain(layer: Layer, known: Iterable[Declaration]) -> bool:
    """Return whether a layer has only valid flags, so that no validation is needed."""
    if layer.origin is not Origin.FLAG:
        return False
    shapes = {one.old: one.shape for one in known}
    return all(_is_right(shapes.get(name, ""), value) for name, value in layer.given.items())


def _is_right(shape: str, value: object) -> bool:
    if shape == "bool":
        return isinstance(value, bool)
    if shape == "int":
        return type(value) is int and value > 0
    return value in (_REVIEWS if shape == "Review" else shape.split("|")) and value != ""


def plainly_merged(layers: Sequence[Layer], known: Iterable[Declaration]) -> MergedSettings:
    """Merge plain layers into one."""
    names = {one.old: one.name for one in known}
    given = {name: value for layer in layers for name, value in layer.given.items()}
    values = {names[name]: value for name, value in given.items()}
    insisted = {mode: True for name, mode in INSISTED.items() if name in values}
    return MergedSettings(values | insisted, {names[name]: flag_of(name) for name in given})


def flag_of(name: str) -> str:
    """Return the command-line flag of a setting."""
    return "--" + name.replace("_", "-")


def to_field_types(values: Mapping[str, object]) -> dict[str, Any]:
    """Convert validated values to the types of the settings' fields."""
    fields: dict[str, Any] = {name: _to_field_type(name, value) for name, value in values.items()}
    if "gates" in values:
        tables: Any = values["gates"]
        gates = [_read_gate(name, table) for name, table in tables.items()]
        fields["gates"] = tuple(gate for gate, types in gates if not types)
        fields["gates_by_type"] = tuple(
            (word, tuple(gate for gate, types in gates if word in types))
            for word in dict.fromkeys(word for _, types in gates for word in types)
        )
    return fields


def _to_field_type(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in ("review.mode", "floor.review", "review.plan", "floor.plan_review"):
        return ReviewMode(value)
    if name == "sandbox.network":
        return Network(value)
    if name == "compile":
        return tuple(value.items())
    if name == "resources":
        return tuple(Resource(what, amount) for what, amount in value.items())
    if name in ("permission", "floor.permission"):
        return tuple(
            Permission(tool, rule.get("pattern", "**"), Permit(rule["action"]))
            for rule in value
            for tool in permissions.ALIASES.get(rule["tool"], (rule["tool"],))
        )
    if name in ("secret_formats", "floor.secret_formats"):
        return tuple(
            load_rules.shape_of({**table, "redacts": name == "secret_formats"}) for table in value
        )
    if name in ("mcp", "secret"):
        kind: Any = McpServer if name == "mcp" else SecretSource
        return tuple(convert({**table, "name": each}, kind) for each, table in value.items())
    return tuple(value) if isinstance(value, list) else value


def _read_gate(name: str, table: dict[str, Any]) -> tuple[GateSpec, tuple[str, ...]]:
    """Return a gate and its task types; no types means all."""
    spec = GateSpec(
        name=name.rpartition(".")[2],
        command=table["command"],
        network=Network(table.get("network") or Network.NO),
        seconds=table.get("seconds") or 0.0,
    )
    return spec, tuple(str(word).casefold() for word in table.get("types") or ())


class McpServer(Struct, frozen=True):
    """One `[mcp.NAME]` of a person's own settings: a program that speaks on its pipes."""

    name: str
    command: str
    """Shell line that starts the server."""
    env: tuple[str, ...] = ()
    """Names of the user's variables that the server gets."""
    network: Network = Network.NO
    seconds: float = 60.0
    """Timeout of one call."""

    def __str__(self) -> str:
        return f"{self.name}: {self.command}"


class SecretSource(Struct, frozen=True):
    """One `[secret.NAME]` of a person's own settings: a command that says a secret."""

    name: str
    command: str
    """Shell line; excluded from the settings that a run records."""
    ttl: float = 900.0
    """Seconds after which a newly started command gets a new secret."""

    @property
    def kind(self) -> str:
        """Program name for the journal, without arguments, which may reveal too much."""
        return f"command {self.command.split()[0].rpartition('/')[2]}"

    def __repr__(self) -> str:
        return f"SecretSource({self.name!r})"

    def __str__(self) -> str:
        return f"{self.name}: {self.command}"


_FOLDER = "settings"
_MOST_KEPT = 32
_SHAPE = 3
"""Incremented when the stored format changes."""


def key_of(layers: Sequence[Layer], names: Iterable[str]) -> str:
    """Return the digest of all setting sources."""
    layer_values = [
        [
            layer.origin.value,
            layer.path,
            layer.table,
            layer.content.hex(),
            sorted(layer.given.items()),
        ]
        for layer in layers
    ]
    text = json.dumps([_SHAPE, __version__, sorted(names), layer_values], default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def read(cache: Path | None, key: str) -> MergedSettings | None:
    """Return the cached result for this key, or None."""
    if cache is None:
        return None
    try:
        kept = json.loads(_file(cache, key).read_bytes())
        # The file name has half of the digest; the content must match all of it.
        if kept["key"] != key:
            return None
        return MergedSettings(dict(kept["values"]), dict(kept["sources"]), tuple(kept["notes"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(cache: Path | None, key: str, merged: MergedSettings) -> None:
    """Save a result in the cache; a cache that cannot be written is ignored."""
    if cache is None:
        return
    try:
        file, content = _file(cache, key), json.dumps({"key": key, **merged._asdict()}).encode()
        effects.make_folder(file.parent)
        effects.write_file(file, content, mode=0o600, durable=False)
        files = sorted(file.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for oldest in files[:-_MOST_KEPT]:
            effects.unlink(oldest)
    except OSError:
        return


def _file(cache: Path, key: str) -> Path:
    return cache / _FOLDER / f"{key[:32]}.json"
