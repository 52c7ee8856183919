"""The nouns of the house: frozen, without I/O, known to every room."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

Digest: TypeAlias = str
"""`sha256:` and 64 hex digits."""


def digest_of(content: bytes) -> Digest:
    """The digest under which bytes are named everywhere."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Status(StrEnum):
    """What TASK-GRAPH.md says of a task."""

    PENDING = "PENDING"
    IN_PROGRESS = "IN-PROGRESS"
    DONE = "DONE"
    BLOCKED = "BLOCKED"
    STALE = "STALE"


class Reason(StrEnum):
    """Why a task is BLOCKED."""

    CHECKS = "checks"
    STUCK = "stuck"
    SECRET = "secret"
    TOOL = "tool"
    ROOT = "root"
    POLICY = "policy"
    REVIEW = "review"
    REGRESSION = "regression"


class Level(StrEnum):
    """How much of the system a test contract exercises."""

    UNIT = "unit"
    INTEGRATION = "integration"
    E2E = "e2e"


class Network(StrEnum):
    """What a command may reach."""

    NO = "no"
    LOOPBACK = "loopback"
    REGISTRIES = "registries"
    """Hosts that packages come from, by name, through a proxy of ours."""
    YES = "yes"


class ReviewMode(StrEnum):
    """Who approves a task's writes; later members are looser."""

    PROMPT = "prompt"
    AUTO = "auto"
    OFF = "off"


class BlockKind(StrEnum):
    """What a fenced block of a task's section asks for."""

    FILE = "file"
    PATCH = "patch"
    DELETE = "delete"
    RUN = "run"


class Action(StrEnum):
    """What a change does to a file."""

    CREATE = "create"
    MODIFY = "modify"
    DELETE = "delete"


class Severity(StrEnum):
    """How bad a finding is; `ERROR` refuses, the others inform."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


# --- the plan -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TestContract:
    """A command that must pass, with the level it tests at."""

    __test__ = False

    id: str
    level: Level
    command: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Contract:
    """An `openapi:`, `schema:` or `command:` entry, its value as written."""

    kind: str
    value: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class GateSpec:
    """A named command that must pass before a task lands."""

    name: str
    command: str
    network: Network = Network.NO
    seconds: float = 0.0
    """Hard timeout; 0 takes the default for its name."""
    line: int = 0
    origin: str = ""
    """The manifest that declares it, where nobody configured a gate (`pyproject.toml`)."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a task's section; `text` has LF line ends."""

    kind: BlockKind
    path: str
    text: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one task; `None` takes the project's."""

    attempts: int | None = None
    minutes: float | None = None
    tokens: int | None = None
    dollars: float | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a task needs of its surroundings: kind is `root`, `secret` or `tool`."""

    kind: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """A scarce thing a task holds while it runs (`gpu 1`, `port 5432`, `memory 4GB`)."""

    name: str
    amount: str


@dataclass(frozen=True, slots=True)
class Spec:
    """The two digests of a task: what is to be built, and how it is proven."""

    what: Digest
    proof: Digest


@dataclass(frozen=True, slots=True)
class Task:
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
    test_contracts: tuple[TestContract, ...] = ()
    contracts: tuple[Contract, ...] = ()
    gates: tuple[GateSpec, ...] = ()
    coverage: float | None = None
    """Percent; `None` takes the project's."""
    implementer: str = ""
    command: str = ""
    red_first: bool | None = None
    uses: tuple[Resource, ...] = ()
    network: Network = Network.NO
    timeout: float | None = None
    """Seconds a command of this task may run."""
    keywords: tuple[str, ...] = ()
    stack: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    requires: tuple[Requirement, ...] = ()
    budget: Budget = field(default_factory=Budget)
    review: ReviewMode | None = None
    prose: str = ""
    blocks: tuple[Block, ...] = ()
    changes: tuple[str, ...] = ()
    """Texts of the `> CHANGE-NNN` quotes in the section."""

    @property
    def writes_anything(self) -> bool:
        """Whether the task may change files at all; otherwise it is a check."""
        return bool(self.outputs)

    @property
    def writes_everything(self) -> bool:
        """Whether Output files says `any`: such a task runs alone."""
        return self.outputs == ("any",)


# --- the work -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """What a task did to one file, as the tree says; `content` is None for a deletion."""

    path: str
    action: Action
    mode: int
    """Octal file mode as git records it: 0o100644 or 0o100755 (0 for a deletion)."""
    before: Digest | None
    after: Digest | None
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a check has to say, written so that an implementer can act on it."""

    check: str
    """Which check speaks: `secret-scan`, `scope`, `compile`, `TC-002`, `gate:lint` …"""
    message: str
    path: str = ""
    line: int = 0
    column: int = 0
    severity: Severity = Severity.ERROR
    hint: str = ""
    detail: str = ""
    """Longer text, such as the tail of a command's output; already redacted."""

    @property
    def refuses(self) -> bool:
        """Whether this finding keeps the work from landing."""
        return self.severity is Severity.ERROR


class Verdict(StrEnum):
    """How one proof ended."""

    PASS = "pass"
    FAIL = "fail"
    FLAKY = "flaky"
    KNOWN = "known"
    """It fails, and did so before the change too."""
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Proof:
    """One command of a task's proof, as the runner saw it end."""

    id: str
    """`TC-002`, `gate:lint`, `contract:schema` …"""
    kind: str
    """`test`, `gate`, `contract`, `coverage`, or `regression`: a test of another task."""
    command: str
    verdict: Verdict
    exit: int
    seconds: float
    output: Digest
    level: Level | None = None
    counts: tuple[tuple[str, int], ...] = ()
    """What the tool itself counted, such as `(("passed", 3), ("failed", 0))`."""
    log: str = ""
    """Path of the kept output, relative to the repository."""
    note: str = ""
    """What a person should know of a verdict that is no plain pass or fail."""

    @property
    def is_of_another_task(self) -> bool:
        """Whether it says that the change broke nothing, rather than that the task is done."""
        return self.kind == "regression"


@dataclass(frozen=True, slots=True)
class Observed:
    """Lines of one file that one test of a task's test contracts ran."""

    contract: str
    """`TC-002`."""
    test: str
    """The test's own name where the tool tells it, else empty: then it is the whole contract."""
    path: str
    digest: Digest
    """The bytes of the file that ran."""
    lines: str
    """Line numbers as ranges, `1-5,9`; empty where only the file is known."""


class Coverage(NamedTuple):
    """How much of a task's own code its test contracts ran."""

    percent: float
    lines: int
    """Executable lines of the task: files it created whole, of others the lines it changed."""
    threshold: float
    whole: float | None = None
    """Percent of all lines of the files the task touched, for comparison."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A non-obvious choice, as it goes into DECISIONS.md."""

    title: str
    context: str = ""
    decision: str = ""
    tradeoff: str = ""
    pattern: str = ""


class Failure(StrEnum):
    """What kind of failure ended an attempt: what is done next depends on it alone."""

    TRANSIENT = "transient"
    """A time-out, a rate limit, an overload, a connection: the same again, a little later."""
    DETERMINISTIC = "deterministic"
    """Bad input, no right, a missing tool, policy: the same again would end the same."""
    SEMANTIC = "semantic"
    """An answer nobody can read, or work that a check refuses: again, with what failed."""
    INFRASTRUCTURE = "infrastructure"
    """The runner or a worker died: the journal says where to go on."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an implementer used, as far as it tells; zero where it says nothing."""

    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    tool_calls: int = 0

    @property
    def tokens(self) -> int:
        """Read and written together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.dollars + other.dollars,
            self.tool_calls + other.tool_calls,
        )


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a task's plan that is proven and kept before the next one begins."""

    title: str
    steps: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """How an implementer means to build one task; nothing is written before it is approved."""

    steps: tuple[str, ...]
    files: tuple[str, ...] = ()
    """Paths it will create or modify: execution is held to them."""
    context: tuple[str, ...] = ()
    """Paths it needs to read."""
    type: str = ""
    gates: tuple[str, ...] = ()
    """Checks it expects to pass."""
    phases: tuple[Phase, ...] = ()


class Ending(StrEnum):
    """How an attempt ended, before anything has landed."""

    PASSED = "passed"
    FAILED = "failed"
    BLOCKED = "blocked"
    WAITS = "waits"
    """It cannot go on before a person has reviewed its writes."""
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What comes back over the worker's border from one attempt."""

    task: str
    attempt: int
    ending: Ending
    base: str
    """Commit the scratch tree was made from; empty before the first commit."""
    tree: str
    """Git tree of the proposal; the base's own tree when nothing changed."""
    changes: tuple[Change, ...] = ()
    findings: tuple[Finding, ...] = ()
    proofs: tuple[Proof, ...] = ()
    decisions: tuple[Decision, ...] = ()
    coverage: Coverage | None = None
    tools: tuple[tuple[str, str], ...] = ()
    """Programs that proved it, with their versions."""
    observed: tuple[Observed, ...] = ()
    """What the task's tests ran, file by file: later changes are traced back by it."""
    tainted: frozenset[str] = frozenset()
    """Paths that path rules, scope or the secret scan refused: they are kept nowhere."""
    reason: Reason | None = None
    seconds: float = 0.0
    summary: str = ""
    """What the implementer said of itself; shown, never believed."""
    usage: Usage = Usage()
    failure: Failure | None = None
    """The kind of failure, where something else than a check ended the attempt."""
    retry_after: float = 0.0
    """Seconds that a provider asked to wait before the next attempt; 0 where it asked nothing."""
    plan: TaskPlan | None = None
    """What an attempt in plan mode came to."""
