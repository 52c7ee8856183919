"""The messages between coordinator and worker, in a fixed and versioned format.

Never a pickled object: a result that is one could run code in the coordinator. A message is `RUNJ`,
format (1 byte), CRC-32 of all that follows (4 bytes, big-endian), and the noun as JSON, its bytes
as base64.
"""

from __future__ import annotations

import re
import struct
from functools import cache
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from runner import model
from runner.lazy_module import lazy_module
from runner.model.codec import Codec, ShapeError, encode_json, loads
from runner.model.work import AcceptanceRow

if TYPE_CHECKING:
    from runner.config import permissions, setting_values, settings, shell_rules
    from runner.config.settings import Settings
    from runner.context import brief, patterns, skills
    from runner.gates import regression
    from runner.gates.regression import Suspects
    from runner.implementers import base
    from runner.model import Finding, Observed, Outcome, Proof
    from runner.run import worker_assignment
    from runner.run.worker_assignment import Assignment
    from runner.secrets import allowlist, load_rules
    from runner.writes import compile_check, pipeline, project_compile
else:
    allowlist = lazy_module("runner.secrets.allowlist")
    worker_assignment = lazy_module("runner.run.worker_assignment")
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
    setting_values = lazy_module("runner.config.setting_values")


FORMAT = 2
LARGEST = 512 << 20
"""Bytes of a whole message; a larger one is not read."""
_MOST_VALUES = 4 << 20
"""Commas and opening brackets of a message: a value takes many times its bytes once it is read."""
_MARK = b"RUNJ"
_START = struct.Struct(">4sBI")


def encode_frame(body: bytes) -> bytes:
    """Encode the JSON of a message as one frame."""
    return _START.pack(_MARK, FORMAT, crc32(body)) + body


def decode_frame(data: object) -> bytes:
    """Decode a frame into the JSON of its message. Raises ShapeError."""
    if type(data) is not bytes:
        raise ShapeError(f"expected bytes, got {type(data).__name__}")
    if not _START.size <= len(data) <= LARGEST:
        raise ShapeError(f"{len(data):,} bytes is not a valid message size")
    mark, number, crc = _START.unpack_from(data)
    if mark != _MARK:
        raise ShapeError("it does not begin with the marker of a message")
    if number != FORMAT:
        raise ShapeError(
            f"its format is {number}, expected {FORMAT}: install the same version of runner"
        )
    body = data[_START.size :]
    # Protects against transmission errors, not against the sender: `recheck` checks the content of
    # an answer.
    if crc32(body) != crc:
        raise ShapeError("its checksum does not match")
    if sum(map(body.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise ShapeError("it holds too many values")
    return body


N = TypeVar("N")

OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""Name of a git object."""
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
"""A name that is safe as a single path component."""


# --- to the worker --------------------------------------------------------------------


class Ground(Struct, frozen=True):
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


class Pack(Struct, frozen=True):
    """Objects that a worker lacks, as git packs them (gitformat-pack(5))."""

    data: bytes
    makes: str
    """Tree that is complete with these objects."""


class Part(Struct, frozen=True):
    """A piece of a pack that is too large for one message."""

    pack: str
    """ID of the pack among the incoming ones."""
    number: int
    count: int
    data: bytes
    makes: str


class SentFile(Struct, frozen=True):
    """An ignored file of the repository that the worker's trees get."""

    path: str
    mode: int
    content: bytes


class Hired(Struct, frozen=True):
    """An implementer by its name: the worker has it from its own registry."""

    name: str


class Work(Struct, frozen=True):
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


class Job(Struct, frozen=True):
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


class Lacks(Struct, frozen=True):
    """The worker has not the base; `has` are trees it has whole."""

    has: tuple[str, ...]


class Trouble(Struct, frozen=True):
    """The worker could not even try: its disk, its tools, its version."""

    message: str
    hint: str = ""


class Others(Struct, frozen=True):
    """Results of tests of other tasks."""

    proofs: tuple[Proof, ...]
    findings: tuple[Finding, ...]
    observed: tuple[Observed, ...]


class Log(Struct, frozen=True):
    """The kept output of a command, under its file's name."""

    name: str
    content: bytes


class JobAnswer(Struct, frozen=True):
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
    return encode_frame(encode_json(noun))


def read_job(data: object) -> Job:
    """Decode a job. Raises ShapeError."""
    return _read(Job, data)


def read_answer(data: object) -> JobAnswer:
    """Decode an answer with all fields validated. Raises ShapeError."""
    return _read(JobAnswer, data)


def _read(kind: type[N], data: object) -> N:
    body = decode_frame(data)
    try:
        return codec().read_exactly(kind, loads(body))
    except ShapeError:
        raise
    except ValueError as error:
        raise ShapeError("it is not valid JSON") from error
    except RecursionError as error:
        raise ShapeError("it is nested too deeply") from error


@cache
def codec() -> Codec:
    """Return the codec of messages."""
    return Codec(_vocabulary)


def _vocabulary() -> dict[str, object]:
    """Return the message types by name, imported on first use."""
    rooms = (
        *(
            model,
            setting_values,
            shell_rules,
            permissions,
            settings,
            brief,
            patterns,
            skills,
            regression,
            base,
            worker_assignment,
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
