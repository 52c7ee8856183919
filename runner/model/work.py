"""What comes of work on a task: changes, findings, proofs, and the outcome of an attempt."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_dataclass import dataclass
from runner.model.words import Action, Digest, Level, ProvenBy, Reason, Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from runner.model.task import Task


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
        """Whether this finding keeps the work from landing, for good or until a person says so."""
        return self.severity in {Severity.ERROR, Severity.QUESTION}

    @property
    def asks(self) -> bool:
        """Whether it is a question: a person may let these very bytes pass."""
        return self.severity is Severity.QUESTION


class ItemVerdict(StrEnum):
    """What a test or a reader says of one acceptance item."""

    MET = "met"
    NOT_MET = "not met"
    CANNOT_TELL = "cannot tell"


class Judge(StrEnum):
    """What kind of judge a verdict is from."""

    TESTS = "held-out tests"
    """Tests that are held out, or that a separate author wrote."""
    REVIEWER = "reviewer"
    """An agent, a model, or the person's `review.command`."""
    PERSON = "person"


class Doubt(StrEnum):
    """Why a verdict is shown and does not count for the grade `independent`."""

    NONE = ""
    CANNOT_FAIL = "not seen to fail"
    """The contract passed on the base, and on the stubbed tree."""
    NOT_ENCLOSED = "not enclosed"
    """The implementer ran without a sandbox, and could have read the tests."""
    ONCE_IN_GIT = "once in git"
    LANDED = "landed before"
    """The tests are public since an earlier build of the task."""
    WAIVED = "waived"
    """A person waived the contract for these bytes."""
    UNCHECKED = "evidence not checked"
    SAME_MODEL = "reviewed by the implementer's model"
    UNKNOWN_MODEL = "reviewed by a model that is not known"


@dataclass(frozen=True, slots=True)
class AcceptanceRow:
    """One verdict on one acceptance item."""

    item: str
    """`A1`."""
    verdict: ItemVerdict
    judge: Judge
    by: str = ""
    """Who judged, such as `claude (opus-5)`; of tests their contract, `TC-003`."""
    tests: tuple[str, ...] = ()
    """Ids of tests; of held-out tests the contract's id alone may leave the proof."""
    evidence: tuple[str, ...] = ()
    """Places in the proposal: `src/booking.py:12`."""
    sentence: str = ""
    doubt: Doubt = Doubt.NONE
    prompt: Digest = ""
    """The digest of the prompt that the reviewer answered."""

    @property
    def counts(self) -> bool:
        """Whether the verdict counts for the grade `independent`."""
        return self.doubt is Doubt.NONE

    @property
    def words(self) -> str:
        """`A1 met: held-out tests TC-003`, with evidence and what lowers its worth."""
        shown = " ".join((*self.evidence, *self.tests))
        judge = self.by if self.judge is Judge.REVIEWER and self.by else str(self.judge)
        more = f" {self.by}" if self.judge is Judge.TESTS and self.by not in self.tests else ""
        doubt = f" ({self.doubt})" if self.doubt else ""
        return f"{self.item} {self.verdict}: {judge}{more}{f' {shown}' if shown else ''}{doubt}"


class Verdict(StrEnum):
    """How one proof ended."""

    PASS = "pass"
    FAIL = "fail"
    FLAKY = "flaky"
    KNOWN = "known"
    """It fails, and did so before the change too."""
    SKIPPED = "skipped"


UNREAD = "not run: "
"""How the note of a gate begins that a change need not pass: it runs with the whole, at the end."""
WAITS_FOR_BATCH = f"{UNREAD}it runs once for all tasks that land together"
"""The note on a gate that runs on the merged tree of several tasks."""
CUT_OFF = "interrupted"
"""The note of a proof that was ended with the run, or with its task: it says nothing."""
STANDS = "stands from "
"""How the note of a proof begins that did not run again."""


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
    base: str = ""
    """The commit it was proven on, where that is not what it landed on: nothing that it ran has
    changed between the two."""
    by: ProvenBy | None = None
    """What it shows, where that is not to be seen from the rest: tests that ran nothing of the
    task are a command to it."""
    row: AcceptanceRow | None = None
    """What it says of one acceptance item, where its kind is `acceptance`."""
    held_out: tuple[tuple[str, Digest], ...] = ()
    """The held-out files that it ran with, by path and digest; none for a visible contract."""

    @property
    def stands_from(self) -> str:
        """The task whose run of the same command on the same tree says it; empty where it ran."""
        _, found, rest = self.note.rpartition(STANDS)
        return rest.partition("'s proof")[0] if found else ""

    @property
    def was_cut_off(self) -> bool:
        """Whether somebody ended it before it could say anything."""
        return self.note == CUT_OFF

    @property
    def is_of_another_task(self) -> bool:
        """Whether it says that the change broke nothing, rather than that the task is done."""
        return self.kind == "regression"


def items_of(task: Task) -> dict[str, str]:
    """Return the texts of a task's acceptance items by their ids."""
    return {item.id: item.text for item in task.acceptance_items if item.id}


def is_independent(items: Collection[str], rows: Iterable[AcceptanceRow]) -> bool:
    """Return whether tests, or a review, that count cover every acceptance item.

    One verdict that an item is not met, or one waived contract, makes it false.
    """
    rows = tuple(rows)
    if not items or any(row.doubt is Doubt.WAIVED for row in rows):
        return False
    counted = [row for row in rows if row.counts]
    if any(row.verdict is ItemVerdict.NOT_MET for row in counted):
        return False
    met = [row for row in counted if row.verdict is ItemVerdict.MET]
    by_tests = {row.item for row in met if row.judge is Judge.TESTS}
    by_review = {row.item for row in met if row.judge is not Judge.TESTS}
    return set(items) <= by_tests or set(items) <= by_review


def rows_of(proofs: Iterable[Proof]) -> tuple[AcceptanceRow, ...]:
    """Return the acceptance table among these proofs."""
    return tuple(proof.row for proof in proofs if proof.row is not None)


def with_rows(
    proofs: Iterable[Proof], rows: Iterable[AcceptanceRow], items: Collection[str]
) -> tuple[Proof, ...]:
    """Return the proofs with more rows in their table, which is graded again.

    A row takes the place of one by the same judge on the same item. `items` are the ids of all
    acceptance items of the task.
    """
    proofs = tuple(proofs)
    known = {(row.item, row.judge, row.by): row for row in (*rows_of(proofs), *rows)}
    table = tuple(known.values())
    independent = is_independent(items, table)
    others = (proof for proof in proofs if proof.row is None)
    return (*others, *(_proof_of_row(row, independent=independent) for row in table))


ACCEPTANCE = "acceptance"
"""The kind of a proof that holds a row; its id is `acceptance:A1`."""
_ENDINGS = {ItemVerdict.MET: Verdict.PASS, ItemVerdict.NOT_MET: Verdict.FAIL}


def _proof_of_row(row: AcceptanceRow, *, independent: bool) -> Proof:
    return Proof(
        id=f"{ACCEPTANCE}:{row.item}",
        kind=ACCEPTANCE,
        command="",
        verdict=_ENDINGS.get(row.verdict, Verdict.SKIPPED),
        exit=0,
        seconds=0.0,
        output="",
        by=ProvenBy.INDEPENDENT if independent and row.counts else None,
        row=row,
    )


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

    @property
    def shown(self) -> str:
        """`84% of 120 lines`: rounded down, but where that would hide that a threshold is met."""
        met = int(self.percent) < self.threshold <= self.percent
        percent = self.percent if met else int(self.percent)
        return f"{percent:g}% of {self.lines} line{'' if self.lines == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Decision:
    """A non-obvious choice, as it goes into DECISIONS.md."""

    title: str
    context: str = ""
    decision: str = ""
    tradeoff: str = ""
    pattern: str = ""


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
    """The implementer's own summary; shown, never believed."""
    usage: Usage = Usage()
    failure: Failure | None = None
    """The kind of failure, where something else than a check ended the attempt."""
    retry_after: float = 0.0
    """Seconds that a provider asked to wait before the next attempt; 0 where it asked nothing."""
    plan: TaskPlan | None = None
    """What an attempt in plan mode came to."""
    enclosed: bool = False
    """Whether its implementer was seen to be kept from held-out files before it started."""

    @property
    def questions(self) -> tuple[Finding, ...]:
        """What only a person can answer, where nothing else keeps the work from landing."""
        refusals = tuple(finding for finding in self.findings if finding.refuses)
        return refusals if all(finding.asks for finding in refusals) else ()

    @property
    def is_good(self) -> bool:
        """Whether it passed, or would but for what a person has to say."""
        return self.ending is Ending.PASSED or (
            self.ending is Ending.FAILED and bool(self.questions)
        )
