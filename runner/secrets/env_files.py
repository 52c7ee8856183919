"""Values in files that look like `.env`, which are redacted as declared secrets are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

_IS_ENV_FILE = regex(r"(?:.*/)?(?:\.env(?:\..*|rc)?|\.flaskenv|\.dev\.vars(?:\..*)?|.*\.env)")
_ASSIGNMENT = regex(
    r"(?m)^[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][\w.-]*)[ \t]*=[ \t]*"
    r"(?:\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>[^']*)'|(?P<bare>[^\n]*))"
)
_IS_SECRET_NAME = regex(r"(?i).*(?:key|secret|token|pass|pwd|credential|auth|dsn).*")
_SHORTEST = 4
"""Characters of the value of a secret, as of declared ones."""
_SHORTEST_OTHER = 8
"""Characters of any other value: a shorter one would hide ordinary words."""
_IS_ORDINARY = regex(r"[A-Za-z]+|[0-9.:]+|https?://localhost[:\d]*/?")
"""`development`, `127.0.0.1:8000`: hidden, they would make output unreadable."""


class EnvValue(NamedTuple):
    """One value that is hidden wherever text leaves the runner."""

    name: str
    value: str
    is_secret: bool
    """Whether its name says that it is a secret: no proposed file may hold it."""


def is_env_file(path: str) -> bool:
    """Whether a file holds variables with secrets, by its name."""
    return _IS_ENV_FILE.fullmatch(path) is not None


def read_env_values(content: str) -> Iterator[EnvValue]:
    """The values of an `.env` file that are worth hiding, each with its variable."""
    for found in _ASSIGNMENT.finditer(content):
        bare = (found["bare"] or "").partition(" #")[0]
        value = (found["double"] or found["single"] or bare).strip()
        is_secret = _IS_SECRET_NAME.fullmatch(found["name"]) is not None
        if (is_secret and len(value) >= _SHORTEST) or (
            len(value) >= _SHORTEST_OTHER and not _IS_ORDINARY.fullmatch(value)
        ):
            yield EnvValue(found["name"], value, is_secret)
