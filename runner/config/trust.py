"""Which repositories' commands the person agreed to run; kept in the user's own state folder.

A plan and its settings hold commands. The first run in a repository shows them and asks once.
A record that is missing, damaged or for another folder is no trust.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import effects
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_FILE = "trust.json"
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Trust:
    """The person's record of trusted repositories, under their real paths."""

    state: Path
    """The user's state folder; need not exist."""

    def given(self, root: Path) -> bool:
        """Whether the person agreed to run this repository's commands."""
        record = self._records().get(_name(root))
        return isinstance(record, dict) and bool(record.get("how"))

    def give(self, root: Path, how: str) -> None:
        """Record that the person agreed, and how (`asked`, `--trust` …). Raises OSError."""
        records = self._records() | {_name(root): {"how": how, "time": effects.timestamp()}}
        effects.make_folder(self.state, mode=0o700)
        document = json.dumps({"v": 1, "repositories": records}, indent=1, sort_keys=True)
        effects.write_file(self._file, document.encode() + b"\n", mode=0o600)

    @property
    def _file(self) -> Path:
        return self.state / _FILE

    def _records(self) -> dict[str, object]:
        try:
            document = json.loads(self._file.read_bytes())
            records = document["repositories"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return {}
        return records if isinstance(records, dict) else {}


def _name(root: Path) -> str:
    return str(root.resolve())


def commands_shown(commands: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Commands as the question for trust shows them: each once, with the first that runs it.

    `commands` are (who, command), such as `("TASK-002", "python -m pytest")`.
    """
    first: dict[str, str] = {}
    for who, command in commands:
        if command.strip():
            first.setdefault(command.strip(), who)
    return tuple(f"{display(who)}: {_cut(display(command))}" for command, who in first.items())


def _cut(text: str) -> str:
    more = len(text) - _LONGEST
    return text if more <= 0 else f"{text[:_LONGEST]}… ({more} more characters)"
