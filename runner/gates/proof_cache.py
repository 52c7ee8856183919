"""Cache facts about earlier trees in the user's cache; losing them is harmless."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects

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


class PassedCommand(Struct, frozen=True):
    """A command that passed on a tree."""

    task: str
    """Task whose proof it was."""
    ran: Ran
    report: Reports
    expected: bool
    log: str


class ProofMemory(Struct):
    """The passed checks of one run, by command and tree; thread-safe.

    Only of trees that were as they are committed when the command began: what an earlier command
    left there may be why it passed. Nothing is kept of what reaches outside (network, secrets,
    scarce things), and nothing from one run to the next.
    """

    trees: dict[str, str] = field(default_factory=dict)
    """Tree of each commit on which a check began."""
    _passed: dict[Key, PassedCommand] = field(default_factory=dict)
    _clean: dict[Path, bool] = field(default_factory=dict)
    _here: dict[Path, dict[Key, PassedCommand]] = field(default_factory=dict)
    """Commands that passed in the current proof of each slot."""
    _lines: set[Key] = field(default_factory=set)
    """Tree and command of each key, which are its first parts."""

    def begin(self, place: Place, *, clean: bool) -> None:
        """Start a proof in a slot, whose tree is clean or not."""
        self._clean[place.tree] = clean
        self._here[place.tree] = {}

    def note_left(self, place: Place) -> None:
        """Record that a command left files in the tree."""
        self._clean[place.tree] = False

    def find(self, key: Key) -> PassedCommand | None:
        """Return the earlier passing run of a command, or None."""
        return self._passed.get(key)

    def find_here(self, place: Place, key: Key) -> PassedCommand | None:
        """Return an earlier passing run in the same proof, or None."""
        return self._here.get(place.tree, {}).get(key)

    def keep_here(self, place: Place, key: Key, passed: PassedCommand) -> None:
        """Remember a passing run for this proof, while its leftovers are in the tree."""
        self._here.setdefault(place.tree, {}).setdefault(key, passed)

    def has_passed(self, tree: str, line: str) -> bool:
        """Return whether a line has passed on a tree, as a cheap test before `find`."""
        return (tree, line) in self._lines

    def is_clean(self, place: Place) -> bool:
        """Return whether a scratch tree is in its committed state."""
        return self._clean.get(place.tree, False)

    def keep(self, key: Key, passed: PassedCommand) -> None:
        """Remember a passing run; the first one for a key is kept."""
        self._passed.setdefault(key, passed)
        self._lines.add(key[:2])


def load_entry(folder: Path | None, *key: str) -> dict[str, object]:
    """Load an entry; empty if it is missing or invalid."""
    if folder is None:
        return {}
    try:
        with _file(folder, key).open("rb") as file:
            entry = json.loads(file.read(_LARGEST))
    except (OSError, ValueError):
        return {}
    return entry if isinstance(entry, dict) else {}


def remember(folder: Path | None, entry: dict[str, object], *key: str) -> None:
    """Save an entry; errors of the cache are ignored."""
    content = json.dumps(entry).encode()
    if folder is None or len(content) > _LARGEST:
        return
    file = _file(folder, key)
    try:
        effects.make_folder(file.parent)
        # A file torn by a crash is invalid JSON and counts as unknown: no fsync needed.
        effects.write_file(file, content, durable=False)
        _forget_some(file.parent)
    except OSError:
        return


def _file(folder: Path, key: tuple[str, ...]) -> Path:
    # Joined by a character that no path or command contains: else two keys could collide.
    name = hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).hexdigest()
    return folder / _FOLDER / f"{name}.json"


def _forget_some(folder: Path) -> None:
    """Remove the oldest entries if there are too many."""
    files = list(folder.iterdir())
    if len(files) > _MOST:
        # Another run may delete the same files: that raises OSError, and they are gone anyway.
        files.sort(key=lambda file: file.stat().st_mtime)
        for file in files[:_FORGOTTEN]:
            effects.unlink(file)
