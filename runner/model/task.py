"""A task of the plan, as its section defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from msgspec import Struct
from msgspec.structs import force_setattr

from runner.lazy_pattern import regex
from runner.model.words import BlockKind, Digest, Level, Network, ReviewMode, Status

if TYPE_CHECKING:
    from typing import Self

PRIORITIES = ("critical", "high", "medium", "low", "lowest")
"""Order of ready tasks, most urgent first; P0 to P4 and 0 to 4 are the same."""
MILESTONE = "milestone"
"""Type of a task that only waits for others."""
_CHECK = "check"
"""Implementer that does nothing."""
_ACCEPTANCE_ID = regex(
    r"(?P<mark>\*\*|`)?(?P<id>A\d+)(?(mark)(?:(?P=mark):|:(?P=mark))|:)\s+(?=\S)"
)
"""`A1: text`; the ID may be bold or code."""


class AcceptanceItem(Struct, frozen=True):
    """A sentence that has to be true when a task is DONE; `id` is empty where none is written."""

    id: str
    text: str

    @classmethod
    def parse(cls, written: str) -> Self:
        """Return the item of one line of the field Acceptance."""
        match = _ACCEPTANCE_ID.match(written)
        return cls(match["id"], written[match.end() :]) if match else cls("", written)


class HeldOutFile(Struct, frozen=True):
    """A file of the field Held-out files: its path and the digest of its raw bytes."""

    path: str
    digest: Digest
    """`sha256:` and 64 hexadecimal digits."""


class TestContract(Struct, frozen=True):
    """A command that must pass, with the level it tests at."""

    __test__ = False

    id: str
    level: Level
    command: str
    line: int = 0
    fails: bool = False
    """Whether its tests are expected to fail: `TC-002 (unit, fails): command`."""
    held_out: bool = False
    """Whether the implementer must not see its tests: `TC-003 (unit, held out): command`."""

    @property
    def shown_level(self) -> str:
        """`unit`, `unit, fails` or `unit, held out`."""
        return f"{self.level}{', fails' * self.fails}{', held out' * self.held_out}"

    @property
    def title(self) -> str:
        """The name that a text for the implementer may use: `TC-003` or `TC-003 (held out)`."""
        return f"{self.id} (held out)" if self.held_out else self.id


class Contract(Struct, frozen=True):
    """An `openapi:`, `schema:` or `command:` entry, its value as written."""

    kind: str
    value: str
    line: int = 0


class GateSpec(Struct, frozen=True):
    """A named command that must pass before a task lands."""

    name: str
    command: str
    network: Network = Network.NO
    seconds: float = 0.0
    """Hard timeout; 0: the default for its name."""
    line: int = 0
    origin: str = ""
    """Manifest that declares it, if no gate was configured (`pyproject.toml`)."""


class Block(Struct, frozen=True):
    """A fenced block of a task's section; `text` has LF line ends."""

    kind: BlockKind
    path: str
    text: str
    line: int = 0


class Budget(Struct, frozen=True):
    """Limits of one task; `None` takes the project's."""

    attempts: int | None = None
    minutes: float | None = None
    tokens: int | None = None
    dollars: float | None = None


class Requirement(Struct, frozen=True):
    """A requirement of a task: kind is `root`, `secret` or `tool`."""

    kind: str
    name: str = ""


class Resource(Struct, frozen=True):
    """A scarce thing a task holds while it runs (`gpu 1`, `port 5432`, `memory 4GB`)."""

    name: str
    amount: str


class Spec(bytes):
    """The two digests of a task: what is to be built, and how it is proven.

    A plan of a hundred thousand tasks has as many, and the journal again: they are kept as the
    bytes that the digests say, 128 a task instead of 304, and are texts when they are asked for.
    """

    __slots__ = ()
    _fields = ("what", "proof")
    _field_defaults: ClassVar[dict[str, object]] = {}

    what: Digest
    proof: Digest

    def __new__(cls, what: Digest, proof: Digest) -> Self:
        """Both as texts; what is no SHA-256, such as nothing, is kept as it is written."""
        return bytes.__new__(cls, _pack_digests(what, proof))

    @classmethod
    def of_bytes(cls, packed: bytes) -> Self:
        """Create a Spec from two digests of 32 bytes. Raises ValueError for another size."""
        if len(packed) != _PACKED:
            raise ValueError(f"two digests have {_PACKED} bytes, not {len(packed)}")
        return bytes.__new__(cls, packed)

    @property
    def packed(self) -> bytes | None:
        """Those bytes; None where either is no SHA-256."""
        return bytes(self) if len(self) == _PACKED else None

    def __init__(self, what: Digest, proof: Digest) -> None:
        """Do nothing: `__new__` has made the bytes."""

    def __getattr__(self, name: str) -> Digest:
        """Return `what` or `proof`."""
        if name not in {"what", "proof"}:
            raise AttributeError(f"Spec has no {name}")
        if len(self) == _PACKED:
            half = self[: _PACKED // 2] if name == "what" else self[_PACKED // 2 :]
            return _SHA256 + half.hex()
        length, _, texts = self[_PACKED + 1 :].decode("utf-8", "surrogatepass").partition(":")
        return texts[: int(length)] if name == "what" else texts[int(length) :]

    def __getnewargs__(self) -> tuple[Digest, Digest]:  # type: ignore[override]  # of `__new__`
        """Return the arguments for `copy` and `pickle`."""
        return self.what, self.proof

    def __repr__(self) -> str:
        """As any noun: bytes have a way of their own."""
        return f"Spec(what={self.what!r}, proof={self.proof!r})"

    __str__ = __repr__


_SHA256, _PACKED = "sha256:", 64


def _pack_digests(what: Digest, proof: Digest) -> bytes:
    """Pack two SHA-256 digests into 64 bytes; other texts become longer."""
    digits = what.removeprefix(_SHA256) + proof.removeprefix(_SHA256)
    try:
        packed = bytes.fromhex(digits)
    except ValueError:
        packed = b""
    half = packed[: _PACKED // 2].hex(), packed[_PACKED // 2 :].hex()
    if len(packed) == _PACKED and (what, proof) == (_SHA256 + half[0], _SHA256 + half[1]):
        return packed
    texts = f"{len(what)}:{what}{proof}".encode("utf-8", "surrogatepass")
    return bytes(_PACKED + 1) + texts


class LiteralPath(str):
    """A path that is meant as it stands, whatever it looks like: `app/[slug]/page.tsx`."""

    __slots__ = ()

    def removeprefix(self, prefix: str, /) -> LiteralPath:
        """Return the path without the prefix, still literal."""
        return LiteralPath(str.removeprefix(self, prefix))


_NO_BUDGET = Budget()


class Task(Struct, frozen=True, omit_defaults=True):
    """One task of the plan, as its section says it."""

    id: str
    title: str
    line: int
    """Line of the heading, from 1."""
    spec: Spec
    status: Status = Status.PENDING
    note: str = ""
    type: str = ""
    depends_on: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    """Paths and globs the task may write; `("any",)` for all but control files."""
    inputs: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    changes_tests: tuple[str, ...] = ()
    """Paths, IDs or globs of tests whose expectations the task may change."""
    test_contracts: tuple[TestContract, ...] = ()
    contracts: tuple[Contract, ...] = ()
    gates: tuple[GateSpec, ...] = ()
    coverage: float | None = None
    """Percent; `None`: the project's."""
    implementer: str = ""
    command: str = ""
    red_first: bool | None = None
    uses: tuple[Resource, ...] = ()
    network: Network = Network.NO
    timeout: float | None = None
    """Timeout of a command of this task, in seconds."""
    keywords: tuple[str, ...] = ()
    stack: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    requires: tuple[Requirement, ...] = ()
    budget: Budget = _NO_BUDGET
    review: ReviewMode | None = None
    prose: str = ""
    blocks: tuple[Block, ...] = ()
    changes: tuple[str, ...] = ()
    """Text of the `> CHANGE-NNN` quotes in the section."""
    no_proof: str = ""
    """Why it has no proof, if the plan says `Proof: none — reason`."""
    priority: int | None = None
    """Rank among ready tasks, from 0 (critical) to 4; None is 2, in the middle."""
    source: str = ""
    """Origin of an imported task as `FILE:LINE`."""
    model: str = ""
    """Model of its agent; empty: the project's."""
    no_contracts: str = ""
    """Why it has no contracts, if the plan says `Contracts: none — reason`."""
    literal: tuple[str, ...] = ()
    """Those of `outputs` and `inputs` that look like globs and are paths; they are kept there as
    `LiteralPath`, so that whoever asks for a glob learns that they are none."""
    held_out_files: tuple[HeldOutFile, ...] = ()
    """Files of all its held-out contracts; the runner's store has their bytes."""
    test_author: str = ""
    """Implementer that writes held-out tests before the task starts."""
    assurance: str = ""
    """Minimum grade to land without a question; empty: as in the settings."""

    def __post_init__(self) -> None:
        if self.literal:
            for name in ("outputs", "inputs"):
                paths = (LiteralPath(p) if p in self.literal else p for p in getattr(self, name))
                force_setattr(self, name, tuple(paths))  # frozen: only while it is made

    def __hash__(self) -> int:
        """Hash the id alone: caches look each task up many times."""
        return hash(self.id)

    @property
    def acceptance_items(self) -> tuple[AcceptanceItem, ...]:
        """The lines of Acceptance, each with its id; older lines have none."""
        return tuple(map(AcceptanceItem.parse, self.acceptance))

    @property
    def held_out_contracts(self) -> tuple[TestContract, ...]:
        """The test contracts whose files the implementer must not see."""
        return tuple(one for one in self.test_contracts if one.held_out)

    @property
    def writes_anything(self) -> bool:
        """Whether the task may change files at all; otherwise it is a check."""
        return bool(self.outputs)

    @property
    def writes_everything(self) -> bool:
        """Whether Output files says `any`: such a task runs alone."""
        return self.outputs == ("any",)

    @property
    def is_bare(self) -> bool:
        """Whether nothing in the section can be done or checked: prose, and what it depends on.

        Gates of the project are no check of it: they say nothing of what it asks for.
        """
        proven = self.test_contracts or self.contracts or self.gates
        done = self.outputs or self.blocks or self.command
        return not (proven or done) and self.implementer in ("", _CHECK)

    @property
    def is_milestone(self) -> bool:
        """Whether it is DONE as soon as what it depends on is."""
        return self.type == MILESTONE and self.is_bare and bool(self.depends_on)

    @property
    def has_nothing_to_build(self) -> bool:
        """Whether it can neither be built nor checked."""
        return self.is_bare and not self.is_milestone


class PlannedTask(Protocol):
    """A task as the plan's own tasks and those of its outline are known."""

    @property
    def id(self) -> str:
        """The task's id."""

    @property
    def type(self) -> str:
        """The written type."""

    @property
    def status(self) -> Status:
        """The status in the file."""

    @property
    def note(self) -> str:
        """The note behind it."""

    @property
    def spec(self) -> Spec:
        """Both digests."""

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Dependencies of the task."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Files that the task may write."""
