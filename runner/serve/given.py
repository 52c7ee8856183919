"""What came with a form or an object, and what is said to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.errors import RunnerError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_REASON = 10_000


@dataclass(frozen=True, slots=True)
class Said:
    """What an action came to, in words for a person."""

    text: str
    next: str = ""
    tone: str = "done"
    secret: str = ""
    """What is shown this once, and kept nowhere."""
    link: str = ""
    """The build of a team that it is about."""


@dataclass(frozen=True, slots=True)
class Given:
    """The fields of a form, or of a JSON object, looked at when they are asked for."""

    fields: Mapping[str, object]

    def text(self, name: str, *, needed: bool = False, most: int = _LONGEST_REASON) -> str:
        """One text. Raises RunnerError where it is none, is missing, or is too long."""
        value = self.fields.get(name, "")
        if not isinstance(value, str) or not _is_text(value):
            raise RunnerError(f"{name} is no text")
        if len(value) > most:
            raise RunnerError(f"{name} has more than {most} characters")
        if needed and not value.strip():
            raise RunnerError(f"{name} is missing")
        return value.strip() if most == _LONGEST_REASON else value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; words of one text, too."""
        value = self.fields.get(name, [])
        if isinstance(value, str) and _is_text(value):
            return tuple(value.replace(",", " ").split())
        if not isinstance(value, list) or not all(
            isinstance(one, str) and _is_text(one) for one in value
        ):
            raise RunnerError(f"{name} is no list of texts")
        return tuple(value)

    def flag(self, name: str) -> bool:
        """Whether something is meant."""
        return self.fields.get(name) in (True, "yes", "on", "true")


def _is_text(value: str) -> bool:
    """Whether a file can hold it: half a surrogate pair is legal JSON (RFC 8259, 8.2)."""
    return "\0" not in value and value == value.encode("utf-8", "replace").decode("utf-8")
