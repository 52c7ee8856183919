"""Issues of which all was seen and for which nothing more could be done: they cost nothing again.

It outlives the bridge: with a thousand issues that wait, a start would else ask for more than a
forge answers in an hour. What is lost or damaged here costs a look.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner import __version__, effects
from runner.model import digest_of
from runner.text.wording import read_number

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST = 8 << 20


@dataclass
class SeenIssues:
    """By issue the digest of all that would be news."""

    file: Path
    asked: str
    """The options of the bridge; after a change it looks at every issue again."""
    _now: dict[int, str] = field(default_factory=dict)
    _kept: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Digest and words of those that are on disk."""

    def load(self) -> None:
        """Take in what the last bridge left."""
        try:
            with self.file.open("rb") as opened:
                document = json.loads(opened.read(_LARGEST))
            if document["of"] != self._stamp:
                return
            for number, (digest, words) in document["issues"].items():
                if (at := read_number(number)) >= 0:
                    self._kept[at] = (str(digest), str(words))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._kept.clear()
        self._now = {number: digest for number, (digest, _) in self._kept.items()}

    @property
    def _stamp(self) -> str:
        return f"{__version__} {self.asked}"

    @property
    def words(self) -> dict[int, str]:
        """Return the last report of each waiting issue."""
        return {number: words for number, (_, words) in self._kept.items()}

    def is_new(self, number: int, news: object) -> bool:
        """Whether something is there that was not seen."""
        return self._now.get(number) != _digest(news)

    def note(self, number: int, news: object) -> None:
        """It is looked at now; on disk it is new until nothing more can be done."""
        self._now[number] = _digest(news)
        if self._kept.pop(number, None) is not None:
            self._save()

    def settle(self, number: int, words: str) -> None:
        """Nothing more can be done for it until there is news."""
        if number in self._now:
            self._kept[number] = (self._now[number], words)
            self._save()

    def forget(self, number: int) -> None:
        """Look again, though there is no news."""
        self._now.pop(number, None)

    def _save(self) -> None:
        issues = {str(number): list(one) for number, one in sorted(self._kept.items())}
        body = json.dumps({"of": self._stamp, "issues": issues})
        effects.write_file(self.file, body.encode(), mode=0o600, durable=False)


def _digest(news: object) -> str:
    return digest_of(repr(news).encode("utf-8", "backslashreplace"))
