"""The messages between coordinator and worker, in a fixed and versioned format.

Never a pickled object: a result that is one could run code in the coordinator. A message is `RUNJ`,
format (1 byte), CRC-32 of all that follows (4 bytes), length of the JSON (4 bytes), the JSON, and
the blobs, one after the other. Numbers are big-endian. The JSON is a list of two: the blobs'
lengths, and the message.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

from runner import model
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.model.codec import Codec, Shape, ShapeError
from runner.model.work import AcceptanceRow

if TYPE_CHECKING:
    from runner.config import permissions, settings, shell_rules, values
    from runner.config.settings import Settings
    from runner.context import brief, patterns, skills
    from runner.gates import regression
    from runner.gates.regression import Suspects
    from runner.implementers import base
    from runner.model import Finding, Observed, Outcome, Proof
    from runner.run import assignment
    from runner.run.assignment import Assignment
    from runner.secrets import allowlist, load_rules
    from runner.writes import compile_check, pipeline, project_compile
else:
    allowlist = lazy_module("runner.secrets.allowlist")
    assignment = lazy_module("runner.run.assignment")
    base = lazy_module("runner.implementers.base")
    brief = lazy_module("runner.context.brief")
    compile_check = lazy_module("runner.writes.compile_check")
    load_rules = lazy_module("runner.secrets.load_rules")
    patterns = lazy_module("runner.context.patterns")
    permissions = lazy_module("runner.config.permissions")
    pipeline = lazy_module("runner.writes.pipeline")
    project_compile = lazy_module("runner.writes.project_compile")
    regression = lazy_module("runner.gates.regression")
    settings = lazy_module("runner.config.settings")
    shell_rules = lazy_module("runner.config.shell_rules")
    skills = lazy_module("runner.context.skills")
    values = lazy_module("runner.config.values")


FORMAT = 1
LARGEST = 512 << 20
"""Bytes of a whole message; a larger one is not read."""
_LONGEST_HEAD = 32 << 20
_MARK = b"RUNJ"
_START = struct.Struct(">4sBII")


def encode_frame(body: object, blobs: list[bytes]) -> bytes:
    """Encode a message as one frame; surrogates in text are preserved."""
    head = json.dumps([[len(blob) for blob in blobs], body], separators=(",", ":")).encode()
    rest = b"".join((head, *blobs))
    return _START.pack(_MARK, FORMAT, crc32(rest), len(head)) + rest


def decode_frame(data: object) -> tuple[object, tuple[bytes, ...]]:
    """Decode a frame into its message and blobs. Raises ShapeError."""
    if type(data) is not bytes:
        raise ShapeError(f"expected bytes, got {type(data).__name__}")
    if not _START.size <= len(data) <= LARGEST:
        raise ShapeError(f"{len(data):,} bytes is not a valid message size")
    mark, number, crc, length = _START.unpack_from(data)
    if mark != _MARK:
        raise ShapeError("it does not begin with the marker of a message")
    if number != FORMAT:
        raise ShapeError(
            f"its format is {number}, expected {FORMAT}: install the same version of runner"
        )
    # Protects against transmission errors, not against the sender: `recheck` checks the content of
    # an answer.
    if crc32(memoryview(data)[_START.size :]) != crc:
        raise ShapeError("its checksum does not match")
    return _open_frame(data, length)


def _open_frame(data: bytes, length: int) -> tuple[object, tuple[bytes, ...]]:
    start = _START.size + length
    if length > _LONGEST_HEAD or start > len(data):
        raise ShapeError("its head is too long")
    try:
        lengths, body = json.loads(data[_START.size : start])
    except (ValueError, TypeError, RecursionError) as error:
        raise ShapeError("its head is not valid JSON") from error
    if type(lengths) is not list or any(type(one) is not int or one < 0 for one in lengths):
        raise ShapeError("its blob lengths are not valid")
    if start + sum(lengths) != len(data):
        raise ShapeError("its blobs do not match their lengths")
    return body, tuple(_cut(data, start, lengths))


def _cut(data: bytes, at: int, lengths: list[int]) -> list[bytes]:
    found = []
    for length in lengths:
        found.append(data[at : at + length])
        at += length
    return found


N = TypeVar("N")

OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""Name of a git object."""
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
"""A name that is safe as a single path component."""


# --- to the worker --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ground:
    """The repository, as far as a worker has to know it; its history stays at home."""

    key: str
    """Name of the repository's folder in the worker's cache."""
    name: str
    """Name of the folder itself, for displayed paths."""
    object_format: str
    prefix: str
    """Project folder in its repository: empty, or `sub/`."""
    branch: str
    """Ref that HEAD names; empty when detached."""
    ignored: bytes
    """The user's own ignore rules."""
    who: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Pack:
    """Objects that a worker lacks, as git packs them (gitformat-pack(5))."""

    data: bytes
    makes: str
    """Tree that is complete with these objects."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a pack that is too large for one message."""

    pack: str
    """ID of the pack among the incoming ones."""
    number: int
    count: int
    data: bytes
    makes: str


@dataclass(frozen=True, slots=True)
class SentFile:
    """An ignored file of the repository that the worker's trees get."""

    path: str
    mode: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Hired:
    """An implementer by its name: the worker has it from its own registry."""

    name: str


@dataclass(frozen=True, slots=True)
class Work:
    """One attempt at one task; its base is named by the tree, its implementer by its name."""

    assignment: Assignment
    suspects: Suspects | None = None
    """Other tasks' tests, to run on the carried changes instead of an attempt."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that go along and must never be shown."""
        traced = self.suspects.traced if self.suspects else ()
        pairs = (self.assignment.secrets, *(one.secrets for one in traced))
        return tuple(value for some in pairs for _, value in some)


@dataclass(frozen=True, slots=True)
class Job:
    """A request to a worker: build, prove, or store a piece of a pack."""

    ticket: str
    """ID of this job: the answer carries it, and only one answer counts."""
    topic: str
    """Topic to which its output is streamed."""
    ground: Ground
    tree: str
    """Base, as the name of its git tree."""
    settings: Settings
    work: Work | None = None
    pack: Pack | None = None
    part: Part | None = None
    included: tuple[SentFile, ...] = ()
    """Ignored files; sent only with `worktree_include_remote`."""

    def with_ticket(self, ticket: str) -> Job:
        """Return a copy of the job with this ticket."""
        return replace(self, ticket=ticket)


# --- back -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lacks:
    """The worker has not the base; `has` are trees it has whole."""

    has: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trouble:
    """The worker could not even try: its disk, its tools, its version."""

    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Others:
    """Results of tests of other tasks."""

    proofs: tuple[Proof, ...]
    findings: tuple[Finding, ...]
    observed: tuple[Observed, ...]


@dataclass(frozen=True, slots=True)
class Log:
    """The kept output of a command, under its file's name."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """A worker's answer to one job: one of the first five fields, or a stored piece."""

    ticket: str
    worker: str
    outcome: Outcome | None = None
    others: Others | None = None
    lacks: Lacks | None = None
    trouble: Trouble | None = None
    kept: bool = False
    events: tuple[str, ...] = ()
    """Journal lines of the attempt (see `journal.codec`), in order."""
    logs: tuple[Log, ...] = ()
    lines: tuple[str, ...] = ()
    """Its last output lines, which the coordinator may not have received yet."""
    said: int = 0
    """Number of all its output lines, including earlier ones."""


# --- as bytes -------------------------------------------------------------------------


def as_bytes(noun: Job | JobAnswer) -> bytes:
    """Encode a message for sending."""
    blobs: list[bytes] = []
    body = codec().to_json(noun, blobs)
    return encode_frame(body, blobs)


def read_job(data: object) -> Job:
    """Decode a job. Raises ShapeError."""
    return _read(Job, data)


def read_answer(data: object) -> JobAnswer:
    """Decode an answer with all fields validated. Raises ShapeError."""
    return _read(JobAnswer, data)


def _read(kind: type[N], data: object) -> N:
    body, blobs = decode_frame(data)
    try:
        return codec().read(kind, body, blobs)
    except RecursionError as error:
        raise ShapeError("it is nested too deeply") from error


@cache
def codec() -> Codec:
    """Return the strict codec for messages, since the other side is not trusted."""
    return Codec(Shape.WHOLE, _vocabulary)


def _vocabulary() -> dict[str, object]:
    """Return the message types by name, imported on first use."""
    rooms = (
        *(
            model,
            values,
            shell_rules,
            permissions,
            settings,
            brief,
            patterns,
            skills,
            regression,
            base,
            assignment,
        ),
        *(allowlist, load_rules, compile_check, pipeline, project_compile),
    )
    nouns = {
        noun.__name__: noun
        for room in rooms
        for noun in vars(room).values()
        if isinstance(noun, type) and f"{noun.__module__}.".startswith(f"{room.__name__}.")
    }
    return {**nouns, "AcceptanceRow": AcceptanceRow, "Digest": str, "Implementer": Hired}
