"""The receivers: signed webhooks, and NATS JetStream.

A signed webhook is a POST for each event, with the headers of the Standard Webhooks specification.
`webhook-signature: v1,` precedes the base64 of HMAC-SHA256 over `id.timestamp.body`
(standard-webhooks.com, "Signature scheme"). A receiver refuses what is old or has another key.

NATS JetStream keeps events in a stream for days and knows repeated ones. Events are sent one at a
time, each acknowledged by the stream. Otherwise one could fail and the next be kept, and the
journal's order would be lost.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hashlib
import hmac
import importlib.util
import re
from typing import TYPE_CHECKING, Any

from runner import effects
from runner.errors import RunnerError
from runner.extensions.telemetry.door import MOST_BYTES, DoorAwayError, Poster
from runner.lazy_module import lazy_module
from runner.text.display import display
from runner.text.wording import install_hint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import nats
    from nats import errors
    from nats.js import api
    from nats.js import errors as stream_errors

    from runner.extensions.telemetry.outbox import Outgoing
else:
    nats = lazy_module("nats")
    api = lazy_module("nats.js.api")
    errors = lazy_module("nats.errors")
    stream_errors = lazy_module("nats.js.errors")

# --- webhooks -------------------------------------------------------------------------


_PREFIX = "whsec_"
_LEAST_KEY = 16


class WebhookDoor:
    """One address, with the key that both sides know."""

    name = "webhook"

    def __init__(self, url: str, key: bytes) -> None:
        self.shown = url.partition("?")[0]  # what stands behind it may be a token
        self._key = key
        self._poster = Poster(url)

    def send(self, messages: Sequence[Outgoing]) -> None:
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
    hint = 'set events.webhook_key_env = "NAME"; make a key: echo whsec_$(openssl rand -base64 32)'
    if not name or not environ.get(name):
        what = f"the variable {name} is not set" if name else "webhook_key_env is not set"
        raise RunnerError(f"no key to sign webhooks: {what}", where="webhook_key_env", hint=hint)
    value = environ[name]
    key = value.encode()
    if value.startswith(_PREFIX):
        try:
            # Without `validate` signs outside of the alphabet are dropped, and a mistyped key is
            # another key.
            key = base64.b64decode(value.removeprefix(_PREFIX), validate=True)
        except (ValueError, binascii.Error):
            key = b""
    if len(key) < _LEAST_KEY:
        raise RunnerError(
            f"the key in {name} is shorter than {_LEAST_KEY} bytes, or not valid base64",
            where="webhook_key_env",
            hint=hint,
        )
    return key


# --- NATS -----------------------------------------------------------------------------


STREAM, SUBJECTS = "RUNNER", "runner.events"
WINDOW = 3600.0
"""Seconds in which the stream knows a repeated message by its id."""
_DAY = 86_400.0
_SECONDS = 5.0
_PASSWORD = re.compile(r"(://)[^/@\s]*@")
_NOT_IN_SUBJECT = re.compile(r"[^A-Za-z0-9_-]+")
_ROOM = 1024
"""Bytes that headers take of what a server lets one message have."""


class NatsDoor:
    """One server, or several of a cluster between commas."""

    name = "nats"

    def __init__(self, url: str, days: int, token: str = "") -> None:
        _require_library()
        self.shown = _PASSWORD.sub(r"\1…@", url)
        self._url, self._days, self._token = url, days, token
        self._loop = asyncio.new_event_loop()
        self._client: Any = None  # Any: the library's own types are known where it is installed
        self._stream: Any = None

    def send(self, messages: Sequence[Outgoing]) -> None:
        """Raises DoorAwayError at the first that is not acknowledged."""
        is_kept = self._client is not None
        try:
            self._loop.run_until_complete(self._send(messages))
        except DoorAwayError as away:
            # Between two calls nobody answers a server's pings, and it gives such a client up
            # (docs.nats.io, "Ping/Pong Protocol").
            if not is_kept or away.acknowledged:
                raise
            self._loop.run_until_complete(self._send(messages))

    def close(self) -> None:
        """Let go of the connection."""
        self._loop.run_until_complete(self._leave())
        self._loop.close()

    async def _send(self, messages: Sequence[Outgoing]) -> None:
        acknowledged = 0
        try:
            if self._client is None:
                await asyncio.wait_for(self._connect(), 4 * _SECONDS)
            most = min(MOST_BYTES, self._client.max_payload - _ROOM)
            for message in messages:
                body = message.text(most).encode("utf-8", "backslashreplace")
                # The stream drops a second message of one Nats-Msg-Id within its window
                # (docs.nats.io, JetStream, message deduplication): what is sent twice is kept
                # once.
                headers = {api.Header.MSG_ID: message.key}
                subject = subject_of(message)
                await self._stream.publish(subject, body, timeout=_SECONDS, headers=headers)
                acknowledged += 1
        except (errors.Error, OSError, TimeoutError, ValueError) as error:
            await self._leave()
            why = str(error) or type(error).__name__
            raise DoorAwayError(display(why)[:200], acknowledged) from error

    async def _connect(self) -> None:
        options: dict[str, Any] = {"token": self._token} if self._token else {}
        self._client = await nats.connect(
            self._url.split(","),
            allow_reconnect=False,  # the delivery tries again, and says so
            max_reconnect_attempts=1,  # the first connection heeds these, too
            reconnect_time_wait=0.1,
            connect_timeout=int(_SECONDS),
            error_cb=_hear_nothing,
            name="task-graph-runner",
            **options,
        )
        self._stream = self._client.jetstream(timeout=_SECONDS)
        await self._prepare()

    async def _prepare(self) -> None:
        """Have a stream that takes the events; one of another name is its owner's business."""
        try:
            name = await self._stream.find_stream_name_by_subject(f"{SUBJECTS}.>")
        except stream_errors.NotFoundError:
            wanted = api.StreamConfig(
                name=STREAM,
                subjects=[f"{SUBJECTS}.>"],
                description="events of builds; message ids are JOURNAL:SEQ",
                max_age=self._days * _DAY,
                duplicate_window=WINDOW,
            )
            await self._stream.add_stream(wanted)
            return
        if name != STREAM:
            return
        config = (await self._stream.stream_info(STREAM)).config
        if (config.max_age, config.duplicate_window) != (self._days * _DAY, WINDOW):
            config.max_age, config.duplicate_window = self._days * _DAY, WINDOW
            await self._stream.update_stream(config)

    async def _leave(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(errors.Error, OSError, TimeoutError):
                await asyncio.wait_for(client.close(), _SECONDS)


async def _hear_nothing(_: Exception) -> None:
    """Ignore the error: the failed call raises it, too."""


def subject_of(message: Outgoing) -> str:
    """`runner.events.shop.task.done`; what has a meaning in a subject has none in a name."""
    name = _NOT_IN_SUBJECT.sub("-", message.repository)[:64].strip("-") or "unnamed"
    kind = ".".join(_NOT_IN_SUBJECT.sub("-", one)[:40] or "-" for one in message.type.split("."))
    return f"{SUBJECTS}.{name}.{kind[:100].strip('.') or '-'}"


def _require_library() -> None:
    if importlib.util.find_spec("nats") is None:
        raise RunnerError(
            "events to NATS need nats-py, which is not installed",
            hint=install_hint("events"),
        )
