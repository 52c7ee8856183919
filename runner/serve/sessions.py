"""Access to the page: one-time links, and sessions of two secrets.

A cookie alone reads pages and nothing else: cookies ignore ports (RFC 6265, section 8.5), so every
other server on this host is sent it. What changes or streams carries a second secret, too, which
only this origin's scripts have.

The fields of a form or a JSON object, and the result of an action.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.errors import RunnerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_BYTES = 32
_LINK_LASTS = 3_600.0
"""Seconds for which a link can be opened."""
_BURST = 300.0
_PER_SECOND = 40.0
"""Requests per second of one session: a page with its parts takes five."""
_STRANGERS_BURST, _STRANGERS_PER_SECOND = 40.0, 4.0


class Bucket(Struct):
    """A token bucket: so many at once, so many a second in the long run."""

    burst: float
    per_second: float
    _left: float = -1.0
    _at: float = 0.0

    def take(self, now: float) -> float:
        """Take one token and return 0, or return the seconds until one is available."""
        left = self.burst if self._left < 0 else self._left + (now - self._at) * self.per_second
        self._left, self._at = min(self.burst, left), now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self.per_second


class BrowserSession(Struct):
    """One browser that opened a link: digests of what it was given, never the secrets."""

    secret: bytes
    bucket: Bucket = field(default_factory=lambda: Bucket(_BURST, _PER_SECOND))

    @property
    def owner(self) -> str:
        """Key by which its requests are counted."""
        return self.secret.hex()

    def knows(self, secret: str) -> bool:
        """Return whether `secret` is the session's second secret."""
        return hmac.compare_digest(_digest(secret), self.secret)


class SignInLinks:
    """Links that nobody has opened yet: empty files named by their digests, in a private folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self) -> str:
        """Create a sign-in token."""
        token = secrets.token_urlsafe(_BYTES)
        effects.make_folder(self._folder)
        self._folder.chmod(0o700)
        effects.write_file(self._folder / _digest(token).hex(), b"", mode=0o600)
        return token

    def redeem(self, token: str) -> bool:
        """Redeem a sign-in token once; return whether it was valid."""
        file = self._folder / _digest(token).hex()
        try:
            age = time.time() - file.stat().st_mtime
            effects.step("unlink", file)
            file.unlink()
        except OSError:
            return False
        return age < _LINK_LASTS

    def forget(self) -> None:
        """Delete the unopened links."""
        for file in self._folder.glob("*"):
            file.unlink(missing_ok=True)


class Access:
    """The sessions of one server; they end with it. This one is for the person it belongs to."""

    is_team = False
    is_secure = False
    """Whether the cookie is withheld from plain http."""
    most_sessions = 64
    """Maximum sessions; beyond it the oldest one ends."""

    def __init__(self, links: SignInLinks, instance: str) -> None:
        self._links = links
        self.cookie = f"runner-{instance}"
        """Name of its cookie: two servers on one host don't overwrite each other's."""
        self._sessions: dict[bytes, BrowserSession] = {}
        self._strangers = Bucket(_STRANGERS_BURST, _STRANGERS_PER_SECOND)

    def open(self, token: str, address: str) -> tuple[str, str] | None:
        """Return the cookie value and the second secret for a link; None if it is invalid."""
        del address
        return self.begin(BrowserSession) if self._links.redeem(token) else None

    def begin(self, make: Callable[[bytes], BrowserSession]) -> tuple[str, str]:
        """Create a session and return its cookie and its second secret."""
        cookie, secret = secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES)
        while len(self._sessions) >= self.most_sessions:
            self._sessions.pop(next(iter(self._sessions)))
        self._sessions[_digest(cookie)] = make(_digest(secret))
        return cookie, secret

    def find(self, cookie: str) -> BrowserSession | None:
        """Return the session of a cookie, or None."""
        # Looked up by digest: the duration reveals nothing about the cookie itself.
        return self._sessions.get(_digest(cookie))

    def forget(self, session: BrowserSession) -> None:
        """End a session."""
        for cookie in [name for name, one in self._sessions.items() if one is session]:
            del self._sessions[cookie]

    def admit(self, session: BrowserSession) -> bool:
        """Return whether a session is still valid; called before every request."""
        del session
        return True

    def take(self, session: BrowserSession | None, address: str, request: str) -> float:
        """Return 0 if another `request` (`POST /session`) is allowed, else the seconds to wait."""
        del address, request
        # Before any other answer: the single bucket of all strangers slows down guessing of cookies
        # or links.
        return (session.bucket if session else self._strangers).take(time.monotonic())


def group_address(address: str) -> str:
    """Return the address range of one client: for IPv6 a /64 network (RFC 6177)."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(ip_network((found, 64), strict=False))
    return str(found)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


# --- what is given --------------------------------------------------------------------


_LONGEST_REASON = 10_000


class Notice(Struct, frozen=True):
    """The result of an action, in words for a person."""

    text: str
    next: str = ""
    tone: str = "done"
    secret: str = ""
    """Secret that is shown once and not stored."""
    link: str = ""
    """Related build of a team."""


class FormInput(Struct, frozen=True):
    """The fields of a form, or of a JSON object, looked at when they are asked for."""

    fields: Mapping[str, object]

    def text(self, name: str, *, needed: bool = False, most: int = _LONGEST_REASON) -> str:
        """Return a text field. Raises RunnerError if it is missing, too long or no text."""
        value = self.fields.get(name, "")
        if not isinstance(value, str) or not _is_text(value):
            raise RunnerError(f"the field {name} must be text")
        if len(value) > most:
            raise RunnerError(f"the field {name} has more than {most} characters")
        if needed and not value.strip():
            raise RunnerError(f"the field {name} is missing")
        return value.strip() if most == _LONGEST_REASON else value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list field, or the words of a text. Raises RunnerError."""
        value = self.fields.get(name, [])
        if isinstance(value, str) and _is_text(value):
            return tuple(value.replace(",", " ").split())
        if not isinstance(value, list) or not all(
            isinstance(one, str) and _is_text(one) for one in value
        ):
            raise RunnerError(f"the field {name} must be a list of strings")
        return tuple(value)

    def flag(self, name: str) -> bool:
        """Return whether a field is set to true, in a form or JSON."""
        return self.fields.get(name) in (True, "yes", "on", "true")


def _is_text(value: str) -> bool:
    """Return whether a file can contain the text (RFC 8259, 8.2 permits lone surrogates)."""
    return "\0" not in value and value == value.encode("utf-8", "replace").decode("utf-8")
