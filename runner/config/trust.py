"""The repositories whose commands the person trusts, kept in the user's state folder.

A plan and its settings hold commands. The first run in a repository shows them and asks once.
A plan that `init` or `demo` wrote is trusted as it is: the first run with other commands asks.
A record that is missing, damaged or for another folder is no trust. What the repository's settings
bring, and the agents it calls, are kept as digests: what joins them later is asked about, too.
"""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.lazy_pattern import regex
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_FILE = "trust.json"
_OWN_PLANS = frozenset(("init", "demo"))
"""How trust was given for a plan that the runner itself wrote."""
_LONGEST = 500
_PLAIN = regex(r"[\w ./:=@,+-]+")
"""A command without quotes, redirections, expansions, or a second command."""
_CODE = frozenset(("-c", "-e", "--eval", "-p", "eval", "exec", "env", "sudo", "rm", "curl", "wget"))
"""Words followed by code as an argument, or harmful by themselves."""


class Trust(Struct, frozen=True):
    """The person's record of trusted repositories, under their real paths."""

    state: Path
    """The user's state folder; need not exist."""

    def is_given(self, root: Path) -> bool:
        """Return whether the person trusts this repository's commands."""
        record = self._records().get(_name(root))
        return isinstance(record, dict) and bool(record.get("how"))

    def covers_later_plans(self, root: Path) -> bool:
        """Return whether the trust covers the commands of later plans."""
        record = self._records().get(_name(root))
        how = record.get("how") if isinstance(record, dict) else None
        return bool(how) and how not in _OWN_PLANS

    def list_unseen(self, root: Path, brought: Iterable[str]) -> tuple[str, ...]:
        """Return the texts that the person was not shown when they agreed; all without a record."""
        record = self._records().get(_name(root))
        known = _load_digests(record)
        return tuple(text for text in brought if _mark(text, record) not in known)

    def give(self, root: Path, how: str, brought: Iterable[str] = ()) -> None:
        """Record that the person agreed, how (`asked`, `--trust` …) and to what beside the plan.

        What they agreed to before stays: it is not asked again when it comes back. Raises OSError.
        """
        before = self._records()
        salt = _salt(before.get(_name(root))) or effects.new_id()
        record: dict[str, object] = {"how": how, "time": effects.timestamp(), "salt": salt}
        marks = {_mark(text, record) for text in brought}
        record["shown"] = sorted(marks | _load_digests(before.get(_name(root))))
        records = before | {_name(root): record}
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
        # json recurses for each bracket, hence RecursionError: any damage means no trust.
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return {}
        return records if isinstance(records, dict) else {}


def _name(root: Path) -> str:
    # As bytes: Python's spelling of a non-ASCII name depends on the locale.
    return os.fsencode(root.resolve()).decode("utf-8", "surrogateescape")


def _load_digests(record: object) -> frozenset[str]:
    """Return the digests of the shown commands; empty for a record of an older format."""
    shown = record.get("shown") if isinstance(record, dict) else None
    texts = shown if isinstance(shown, list) else []
    return frozenset(text for text in texts if isinstance(text, str))


def _salt(record: object) -> str:
    salt = record.get("salt") if isinstance(record, dict) else None
    return salt if isinstance(salt, str) else ""


def _mark(text: str, record: object) -> str:
    """Return a digest of a command, keyed per repository because it may contain a secret."""
    # BLAKE2b takes keys of 64 bytes at most (RFC 7693, 2.1).
    key = _salt(record).encode()[:64]
    return blake2b(text.encode("utf-8", "replace"), digest_size=16, key=key).hexdigest()


def commands_shown(commands: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return commands for the trust prompt: each once, with its first user.

    `commands` are (who, command), such as `("TASK-002", "python -m pytest")`.
    """
    askers: dict[str, list[str]] = {}
    for who, command in commands:
        if command.strip():
            askers.setdefault(command.strip(), []).append(who)
    return tuple(
        f"{display(_name_first(who))}: {_cut(display(command))}" for command, who in askers.items()
    )


def _name_first(who: Sequence[str]) -> str:
    """Return the first requester of a command and the number of others."""
    more = len(set(who)) - 1
    return f"{who[0]} and {more} more" if more else who[0]


def group_alike(shown: Sequence[str]) -> tuple[str, ...]:
    """Group the lines of `commands_shown` that differ only in plain arguments.

    What a shell would read as more than one plain command stands for itself: nothing hides there.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for line in shown:
        groups.setdefault(_shape(line), []).append(line)
    return tuple(
        alike[0] if len(alike) == 1 else f"{len(alike)} similar commands: {' '.join(shape)}"
        for shape, alike in groups.items()
    )


def _shape(line: str) -> tuple[str, ...]:
    """Return a command with … for its plain arguments; the line itself if it is not simple."""
    command = line.partition(": ")[2]
    words = command.split()
    if not words or not _PLAIN.fullmatch(command) or _CODE.intersection(words):
        return (line,)
    shape = [words[0], *(word if word.startswith("-") else "…" for word in words[1:])]
    module = words.index("-m") + 1 if "-m" in words[:-1] else 0
    if module:  # which program it is
        shape[module] = words[module]
    elif len(words) > 1 and words[1].isalpha():  # npm test, cargo test
        shape[1] = words[1]
    return tuple(word for at, word in enumerate(shape) if word != "…" or shape[at - 1] != "…")


def _cut(text: str) -> str:
    more = len(text) - _LONGEST
    return text if more <= 0 else f"{text[:_LONGEST]}… ({more} more characters)"
