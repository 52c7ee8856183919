"""Allowed false positives, in a tracked file that no task may write.

An entry keeps a salted digest of the value, who allowed it, why, and until when. The value
itself is nowhere, and equal values under two salts do not look alike.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from datetime import date, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.text.foreign_documents import parse_toml

if TYPE_CHECKING:
    import json
    import tomllib
else:
    json = lazy_module("json")
    tomllib = lazy_module("tomllib")

FILE_NAME = "secrets-allowed.toml"
"""At the root of the repository, versioned; a control file that no task may write."""

_HEAD = (
    "# Exceptions of the secret scan, approved by a person: runner pipeline secrets allow\n"
    "# Entries hold a salted digest, never a value. Expired entries are ignored.\n"
)
_HINT = "fix the entry, or remove it and run `runner pipeline secrets allow` again"
_FIELDS = frozenset({"salt", "digest", "reason", "author", "expires"})
_SALT = 16


class Allowed(Struct, frozen=True):
    """One value a person allowed, until and including the day `expires` (None: without end)."""

    salt: str
    digest: str
    reason: str
    author: str
    expires: date | None = None

    def holds(self, value: str, today: date) -> bool:
        """Return whether this entry permits `value` today."""
        if self.expires is not None and today > self.expires:
            return False
        # As bytes: it rejects text with non-ASCII letters, which a clone may contain.
        return hmac.compare_digest(self.digest.encode(), _digest(value, self.salt).encode())


class AllowList(Struct, frozen=True):
    """The entries of the file, and the day they are asked on."""

    entries: tuple[Allowed, ...] = ()
    today: date = date.min

    def match(self, value: str) -> bool:
        """Return whether `value` is on the list and its entry has not expired."""
        return any(entry.holds(value, self.today) for entry in self.entries)

    def list_expired(self) -> tuple[Allowed, ...]:
        """Return the expired entries."""
        return tuple(e for e in self.entries if e.expires is not None and self.today > e.expires)

    def render(self) -> bytes:
        """Return the allow list as TOML for `read_allow_list`."""
        return (_HEAD + "".join(_entry_text(entry) for entry in self.entries)).encode()


def entry(
    value: str, *, reason: str, author: str, expires: date | None, salt: bytes | None = None
) -> Allowed:
    """Create an entry for `value`. Raises RunnerError without a reason or an author.

    `salt` is for tests; without it 16 random bytes are drawn.
    """
    if not reason.strip() or not author.strip():
        raise RunnerError(
            "an allowed secret needs a reason and an author",
            where=FILE_NAME,
            hint='give a reason: runner pipeline secrets allow … --reason "…"',
        )
    drawn = (os.urandom(_SALT) if salt is None else salt).hex()
    return Allowed(drawn, _digest(value, drawn), reason.strip(), author.strip(), expires)


def read_allow_list(content: bytes, today: date) -> AllowList:
    """Parse the TOML allow list in `content`. Raises RunnerError for an invalid entry."""
    try:
        table = parse_toml(content.decode("utf-8-sig"))
    except ValueError as error:
        raise RunnerError(f"invalid TOML: {error}", where=FILE_NAME, hint=_HINT) from None
    rows = table.pop("allowed", [])
    if table or not isinstance(rows, list):
        raise RunnerError("only [[allowed]] entries are allowed here", where=FILE_NAME, hint=_HINT)
    return AllowList(tuple(_read(row, n) for n, row in enumerate(rows, 1)), today)


def _read(row: object, number: int) -> Allowed:
    if not isinstance(row, dict) or not row.keys() <= _FIELDS:
        raise _bad(number, f"known fields are {', '.join(sorted(_FIELDS))}")
    texts = {name: row.get(name) for name in ("salt", "digest", "reason", "author")}
    missing = [name for name, text in texts.items() if not isinstance(text, str) or not text]
    expires = row.get("expires")
    if missing:
        raise _bad(number, f"{', '.join(missing)} must be a non-empty string")
    # isinstance counts a datetime as a date, but the two can't be compared.
    if expires is not None and (isinstance(expires, datetime) or not isinstance(expires, date)):
        raise _bad(number, "expires must be a date such as 2027-01-31")
    return Allowed(**{name: str(text) for name, text in texts.items()}, expires=expires)


def _bad(number: int, why: str) -> RunnerError:
    return RunnerError(f"entry {number} cannot be read: {why}", where=FILE_NAME, hint=_HINT)


def _digest(value: str, salt: str) -> str:
    return hashlib.sha256(f"{salt}:{value}".encode("utf-8", "surrogatepass")).hexdigest()


def _entry_text(one: Allowed) -> str:
    # A JSON text without surrogate pairs and DEL is a TOML basic string (TOML 1.0).
    rows = [f"{name} = {json.dumps(_plain(text), ensure_ascii=False)}"
            for name, text in (("salt", one.salt), ("digest", one.digest),
                               ("reason", one.reason), ("author", one.author))]  # fmt: skip
    if one.expires is not None:
        rows.append(f"expires = {one.expires.isoformat()}")
    return "\n[[allowed]]\n" + "\n".join(rows) + "\n"


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\x7f", "?")
