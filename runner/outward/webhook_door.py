"""Signed webhooks: a POST an event, with the headers of the Standard Webhooks specification.

`webhook-signature: v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`
(standard-webhooks.com, "Signature scheme"): a receiver refuses what is old or has another key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import RunnerError
from runner.outward.door import MOST_BYTES, DoorAwayError
from runner.outward.http_post import Poster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.outward.outbox import Message

_PREFIX = "whsec_"
_LEAST_KEY = 16


class WebhookDoor:
    """One address, with the key that both sides know."""

    name = "webhook"

    def __init__(self, url: str, key: bytes) -> None:
        self.shown = url.partition("?")[0]  # what stands behind it may be a token
        self._key = key
        self._poster = Poster(url)

    def send(self, messages: Sequence[Message]) -> None:
        """Raises DoorAwayError at the first that is not acknowledged."""
        for place, message in enumerate(messages):
            # A lone surrogate becomes six ASCII signs, which within a JSON string are the escape
            # of itself.
            body = message.text(MOST_BYTES).encode("utf-8", "backslashreplace")
            # Of this attempt and not of the event: a receiver refuses what is some minutes old
            # (Standard Webhooks), and a delivery may be tried for hours.
            stamp = str(int(effects.now().timestamp()))
            headers = {
                "Content-Type": "application/json",
                "webhook-id": message.key,
                "webhook-timestamp": stamp,
                "webhook-signature": sign(self._key, message.key, stamp, body),
            }
            try:
                self._poster.post(body, headers)
            except DoorAwayError as away:
                raise DoorAwayError(away.why, place, away.wait) from away

    def close(self) -> None:
        """Let go of the connection."""
        self._poster.close()


def sign(key: bytes, id_: str, stamp: str, body: bytes) -> str:
    """The signature of one message."""
    digest = hmac.digest(key, f"{id_}.{stamp}.".encode() + body, hashlib.sha256)
    return "v1," + base64.b64encode(digest).decode()


def find_key(name: str, environ: Mapping[str, str]) -> bytes:
    """The key in a variable of this name: `whsec_` and base64, or any text. Raises RunnerError."""
    hint = 'webhook_key_env = "NAME" names it; make one: echo whsec_$(openssl rand -base64 32)'
    if not name or not environ.get(name):
        what = f"the variable {name} is not set" if name else "no variable is named"
        raise RunnerError(f"webhooks are signed, and {what}", where="webhook_key_env", hint=hint)
    said = environ[name]
    key = said.encode()
    if said.startswith(_PREFIX):
        try:
            # Without `validate` signs outside of the alphabet are dropped, and a mistyped key is
            # another key.
            key = base64.b64decode(said.removeprefix(_PREFIX), validate=True)
        except (ValueError, binascii.Error):
            key = b""
    if len(key) < _LEAST_KEY:
        raise RunnerError(
            f"the key in {name} is shorter than {_LEAST_KEY} bytes, or no base64",
            where="webhook_key_env",
            hint=hint,
        )
    return key
