"""What is known of earlier trees, kept as small files in the user's cache: forgetting is free."""

from __future__ import annotations

import hashlib
import json
from dataclasses import field
from typing import TYPE_CHECKING

from runner import effects
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TypeAlias

    from runner.gates.junit import Reports
    from runner.process.base import Place, Ran

    Key: TypeAlias = tuple[object, ...]

_LARGEST = 4 * 1024 * 1024
_MOST = 1000
_FORGOTTEN = 200
_FOLDER = "earlier"


@dataclass(frozen=True, slots=True)
class PassedCommand:
    """A command that passed on a tree."""

    task: str
    """Whose proof it was."""
    ran: Ran
    report: Reports
    expected: bool
    log: str


@dataclass(slots=True)
class ProofMemory:
    """What passed in one run, by command and tree; asked from every worker's thread.

    Only of trees that were as they are committed when the command began: what an earlier command
    left there may be why it passed. Nothing is kept of what reaches outside (network, secrets,
    scarce things), and nothing from one run to the next.
    """

    trees: dict[str, str] = field(default_factory=dict)
    """The tree of each commit on which a check began."""
    _passed: dict[Key, PassedCommand] = field(default_factory=dict)
    _clean: dict[Path, bool] = field(default_factory=dict)
    _here: dict[Path, dict[Key, PassedCommand]] = field(default_factory=dict)
    """What passed in the proof that a slot is at."""
    _lines: set[Key] = field(default_factory=set)
    """Tree and command of each key, which begins with them."""

    def begin(self, place: Place, *, clean: bool) -> None:
        """A proof begins in a slot, on a tree without anything beside the proposal, or not."""
        self._clean[place.tree] = clean
        self._here[place.tree] = {}

    def note_left(self, place: Place) -> None:
        """A command left something behind."""
        self._clean[place.tree] = False

    def find(self, key: Key) -> PassedCommand | None:
        """What passed before."""
        return self._passed.get(key)

    def find_here(self, place: Place, key: Key) -> PassedCommand | None:
        """What passed earlier in this very proof, beside whatever was left there."""
        return self._here.get(place.tree, {}).get(key)

    def keep_here(self, place: Place, key: Key, passed: PassedCommand) -> None:
        """Remember what passed for the rest of this proof: what it left behind is still there."""
        self._here.setdefault(place.tree, {}).setdefault(key, passed)

    def has_passed(self, tree: str, line: str) -> bool:
        """Whether `find` may know of a line on a tree: asked before a key is put together."""
        return (tree, line) in self._lines

    def is_clean(self, place: Place) -> bool:
        """Whether what runs there now finds the tree as it is committed."""
        return self._clean.get(place.tree, False)

    def keep(self, key: Key, passed: PassedCommand) -> None:
        """Remember what passed; who was first is who is named."""
        self._passed.setdefault(key, passed)
        self._lines.add(key[:2])


def load_entry(folder: Path | None, *key: str) -> dict[str, object]:
    """What was kept under a key; empty where nothing was, or nothing that can be read."""
    if folder is None:
        return {}
    try:
        with _file(folder, key).open("rb") as file:
            entry = json.loads(file.read(_LARGEST))
    except (OSError, ValueError):
        return {}
    return entry if isinstance(entry, dict) else {}


def remember(folder: Path | None, entry: dict[str, object], *key: str) -> None:
    """Keep something under a key; a cache that cannot be written is done without."""
    content = json.dumps(entry).encode()
    if folder is None or len(content) > _LARGEST:
        return
    file = _file(folder, key)
    try:
        effects.make_folder(file.parent)
        # What a crash tears is no JSON, and counts as unknown: not worth waiting for a disk.
        effects.write_file(file, content, durable=False)
        _forget_some(file.parent)
    except OSError:
        return


def _file(folder: Path, key: tuple[str, ...]) -> Path:
    # Joined by what no path and no command can hold: else two keys could come to one name.
    name = hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).hexdigest()
    return folder / _FOLDER / f"{name}.json"


def _forget_some(folder: Path) -> None:
    """Take away the oldest where too much is known."""
    files = list(folder.iterdir())
    if len(files) > _MOST:
        # Another run may take the same ones away: that is an OSError, and they are forgotten
        # anyway.
        files.sort(key=lambda file: file.stat().st_mtime)
        for file in files[:_FORGOTTEN]:
            effects.unlink(file)
