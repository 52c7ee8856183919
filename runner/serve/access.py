"""Who may come in: links that die with their first use, and sessions of two secrets.

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
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import RunnerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_BYTES = 32
_LINK_LASTS = 3_600.0
"""Seconds in which a link can be opened."""
_BURST = 300.0
_PER_SECOND = 40.0
"""Requests of one session: a page with its parts takes five."""
_STRANGERS_BURST, _STRANGERS_PER_SECOND = 40.0, 4.0


@dataclass(slots=True)
class Bucket:
    """A token bucket: so many at once, so many a second in the long run."""

    burst: float
    per_second: float
    _left: float = -1.0
    _at: float = 0.0

    def take(self, now: float) -> float:
        """0 where one more is allowed; else the seconds until it is."""
        left = self.burst if self._left < 0 else self._left + (now - self._at) * self.per_second
        self._left, self._at = min(self.burst, left), now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self.per_second


@dataclass(slots=True)
class BrowserSession:
    """One browser that opened a link: digests of what it was given, never the secrets."""

    secret: bytes
    bucket: Bucket = field(default_factory=lambda: Bucket(_BURST, _PER_SECOND))

    @property
    def owner(self) -> str:
        """Who its requests are counted for."""
        return self.secret.hex()

    def knows(self, secret: str) -> bool:
        """Whether this is its second secret."""
        return hmac.compare_digest(_digest(secret), self.secret)


class SignInLinks:
    """Links that nobody has opened yet: empty files named by their digests, in a private folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self) -> str:
        """A new token."""
        token = secrets.token_urlsafe(_BYTES)
        effects.make_folder(self._folder)
        self._folder.chmod(0o700)
        effects.write_file(self._folder / _digest(token).hex(), b"", mode=0o600)
        return token

    def redeem(self, token: str) -> bool:
        """Whether the token is one, for the first and last time: who removes its file has it."""
        file = self._folder / _digest(token).hex()
        try:
            age = time.time() - file.stat().st_mtime
            effects.step("unlink", file)
            file.unlink()
        except OSError:
            return False
        return age < _LINK_LASTS

    def forget(self) -> None:
        """Take away what was never opened."""
        for file in self._folder.glob("*"):
            file.unlink(missing_ok=True)


class Access:
    """The sessions of one server; they end with it. This one is for the person it belongs to."""

    is_team = False
    is_secure = False
    """Whether the cookie is kept from plain http."""
    most_sessions = 64
    """Then the oldest one goes."""

    def __init__(self, links: SignInLinks, instance: str) -> None:
        self._links = links
        self.cookie = f"runner-{instance}"
        """The name of its cookie: two servers on one host do not take each other's away."""
        self._sessions: dict[bytes, BrowserSession] = {}
        self._strangers = Bucket(_STRANGERS_BURST, _STRANGERS_PER_SECOND)

    def open(self, token: str, address: str) -> tuple[str, str] | None:
        """The cookie's value and the second secret for a link; None for one that is none."""
        del address
        return self.begin(BrowserSession) if self._links.redeem(token) else None

    def begin(self, make: Callable[[bytes], BrowserSession]) -> tuple[str, str]:
        """A new session, made with the digest of its second secret."""
        cookie, secret = secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES)
        while len(self._sessions) >= self.most_sessions:
            self._sessions.pop(next(iter(self._sessions)))
        self._sessions[_digest(cookie)] = make(_digest(secret))
        return cookie, secret

    def find(self, cookie: str) -> BrowserSession | None:
        """The session of a cookie's value."""
        # Looked up by its digest: how long that takes tells nothing of the cookie itself.
        return self._sessions.get(_digest(cookie))

    def forget(self, session: BrowserSession) -> None:
        """End a session."""
        for cookie in [name for name, one in self._sessions.items() if one is session]:
            del self._sessions[cookie]

    def admit(self, session: BrowserSession) -> bool:
        """Whether it still lets somebody in; asked before every request, and may take its time."""
        del session
        return True

    def take(self, session: BrowserSession | None, address: str, request: str) -> float:
        """0 where one more `request` (`POST /session`) is allowed; else the seconds until then."""
        del address, request
        # Before any other answer: who guesses cookies or links is slowed by the one bucket of all
        # strangers.
        return (session.bucket if session else self._strangers).take(time.monotonic())


def group_address(address: str) -> str:
    """Addresses that one client has: of IPv6 it is given 2**64 at least (RFC 6177)."""
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


@dataclass(frozen=True, slots=True)
class Notice:
    """The result of an action, in words for a person."""

    text: str
    next: str = ""
    tone: str = "done"
    secret: str = ""
    """What is shown this once, and kept nowhere."""
    link: str = ""
    """The build of a team that it is about."""


@dataclass(frozen=True, slots=True)
class FormInput:
    """The fields of a form, or of a JSON object, looked at when they are asked for."""

    fields: Mapping[str, object]

    def text(self, name: str, *, needed: bool = False, most: int = _LONGEST_REASON) -> str:
        """One text. Raises RunnerError where it is none, is missing, or is too long."""
        value = self.fields.get(name, "")
        if not isinstance(value, str) or not _is_text(value):
            raise RunnerError(f"{name} must be text")
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
            raise RunnerError(f"{name} must be a list of strings")
        return tuple(value)

    def flag(self, name: str) -> bool:
        """Whether something is meant."""
        return self.fields.get(name) in (True, "yes", "on", "true")


def _is_text(value: str) -> bool:
    """Whether a file can hold it: half a surrogate pair is legal JSON (RFC 8259, 8.2)."""
    return "\0" not in value and value == value.encode("utf-8", "replace").decode("utf-8")
