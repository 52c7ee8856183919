"""Validated settings, kept by the digest of all they came from, so that pydantic stays asleep.

The folder is the user's own cache: a clone cannot put anything there. A damaged or unreadable
file is the same as none.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from runner import __version__, effects
from runner.config.values import Merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from runner.config.layers import Layer

_FOLDER = "settings"
_MOST_KEPT = 32
_SHAPE = 2
"""Goes up when what is kept changes its shape."""


def key_of(layers: Sequence[Layer], names: Iterable[str]) -> str:
    """The digest of everything that the settings come from."""
    told = [
        [
            layer.origin.value,
            layer.path,
            layer.table,
            layer.content.hex(),
            sorted(layer.given.items()),
        ]
        for layer in layers
    ]
    text = json.dumps([_SHAPE, __version__, sorted(names), told], default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def read(cache: Path | None, key: str) -> Merged | None:
    """What was kept under this key, or None."""
    if cache is None:
        return None
    try:
        kept = json.loads(_file(cache, key).read_bytes())
        # The file's name has half of the digest; what it holds must be of all of it.
        if kept["key"] != key:
            return None
        return Merged(dict(kept["values"]), dict(kept["sources"]), tuple(kept["notes"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(cache: Path | None, key: str, merged: Merged) -> None:
    """Keep a result; a cache that cannot be written to is done without."""
    if cache is None:
        return
    document = {
        "key": key,
        "values": merged.values,
        "sources": merged.sources,
        "notes": merged.notes,
    }
    try:
        effects.make_folder(_file(cache, key).parent)
        content = json.dumps(document).encode()
        effects.write_file(_file(cache, key), content, mode=0o600, durable=False)
        _drop_oldest(cache / _FOLDER)
    except OSError:
        return


def _file(cache: Path, key: str) -> Path:
    return cache / _FOLDER / f"{key[:32]}.json"


def _drop_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[_MOST_KEPT:]:
        effects.unlink(path)
