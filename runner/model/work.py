"""The results of work on a task: changes, findings, proofs, and an attempt's outcome."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.model.words import Action, Digest, Level, ProvenBy, Reason, Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from runner.model.task import Task


class Failure(StrEnum):
    """The kind of failure that ended an attempt; the reaction depends on it alone."""

    TRANSIENT = "transient"
    """Timeout, rate limit, overload, connection: retry unchanged, a little later."""
    DETERMINISTIC = "deterministic"
    """Bad input, no permission, a missing tool, policy: a retry would end the same."""
    SEMANTIC = "semantic"
    """An unreadable answer, or work that a check rejects: retry with the findings."""
    INFRASTRUCTURE = "infrastructure"
    """The runner or a worker died: the journal tells where to continue."""


class Usage(Struct, frozen=True):
    """An implementer's reported usage; zero where it reports nothing."""

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


class Phase(Struct, frozen=True):
    """A part of a task's plan that is proven and kept before the next one begins."""

    title: str
    steps: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class TaskPlan(Struct, frozen=True):
    """An implementer's plan for one task; nothing is written before it is approved."""

    steps: tuple[str, ...]
    files: tuple[str, ...] = ()
    """Paths it will create or modify; execution is limited to them."""
    context: tuple[str, ...] = ()
    """Paths it needs to read."""
    type: str = ""
    gates: tuple[str, ...] = ()
    """Checks it expects to pass."""
    phases: tuple[Phase, ...] = ()


class Change(Struct, frozen=True):
    """A task's change of one file, from the tree; `content` is None for a deletion."""

    path: str
    action: Action
    mode: int
    """Octal file mode as in git: 0o100644 or 0o100755 (0 for a deletion)."""
    before: Digest | None
    after: Digest | None
    content: bytes | None = None


class Finding(Struct, frozen=True):
    """Something a check has to say, written so that an implementer can act on it."""

    check: str
    """Name of the check: `secret-scan`, `scope`, `compile`, `TC-002`, `gate:lint` …"""
    message: str
    path: str = ""
    line: int = 0
    column: int = 0
    severity: Severity = Severity.ERROR
    hint: str = ""
    detail: str = ""
    """Longer text, such as the end of a command's output; already redacted."""

    @property
    def refuses(self) -> bool:
        """Whether this finding keeps the work from landing, for good or until a person says so."""
        return self.severity in {Severity.ERROR, Severity.QUESTION}

    @property
    def asks(self) -> bool:
        """Whether it is a question: a person may let these very bytes pass."""
        return self.severity is Severity.QUESTION


class ItemVerdict(StrEnum):
    """A test's or reviewer's verdict on one acceptance item."""

    MET = "met"
    NOT_MET = "not met"
    CANNOT_TELL = "cannot tell"


class Judge(StrEnum):
    """The kind of judge behind a verdict."""

    TESTS = "held-out tests"
    """Held-out tests, or tests of a separate author."""
    REVIEWER = "reviewer"
    """An agent, a model, or the person's `review.command`."""
    PERSON = "person"


class Doubt(StrEnum):
    """The reason why a verdict does not count for the grade `independent`."""

    NONE = ""
    CANNOT_FAIL = "not seen to fail"
    """The contract passed on the base and on the stubbed tree."""
    NOT_ENCLOSED = "not enclosed"
    """The implementer ran without a sandbox, and could have read the tests."""
    ONCE_IN_GIT = "once in git"
    LANDED = "landed before"
    """The tests have been public since an earlier build of the task."""
    WAIVED = "waived"
    """A person waived the contract for these bytes."""
    UNCHECKED = "evidence not checked"
    SAME_MODEL = "reviewed by the implementer's model"
    UNKNOWN_MODEL = "reviewed by a model that is not known"

    @property
    def words(self) -> str:
        """The doubt for people; the value of CANNOT_FAIL is stored, but not clear."""
        return "not shown to fail without the work" if self is Doubt.CANNOT_FAIL else str(self)


class AcceptanceRow(Struct, frozen=True):
    """One verdict on one acceptance item."""

    item: str
    """Item ID, such as `A1`."""
    verdict: ItemVerdict
    judge: Judge
    by: str = ""
    """Who judged, such as `claude (opus-5)`; for tests their contract, `TC-003`."""
    tests: tuple[str, ...] = ()
    """Test IDs; for held-out tests only the contract's ID may leave the proof."""
    evidence: tuple[str, ...] = ()
    """Locations in the proposal: `src/booking.py:12`."""
    sentence: str = ""
    doubt: Doubt = Doubt.NONE
    prompt: Digest = ""
    """Digest of the prompt that the reviewer answered."""

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
        doubt = f" ({self.doubt.words})" if self.doubt else ""
        return f"{self.item} {self.verdict}: {judge}{more}{f' {shown}' if shown else ''}{doubt}"


class Verdict(StrEnum):
    """The result of one proof."""

    PASS = "pass"
    FAIL = "fail"
    FLAKY = "flaky"
    KNOWN = "known"
    """It fails, and also failed before the change."""
    SKIPPED = "skipped"


UNREAD = "not run: "
"""Note prefix of a gate that a change need not pass: it runs on the whole tree at the end."""
WAITS_FOR_BATCH = f"{UNREAD}it runs once for all tasks that land together"
"""The note on a gate that runs on the merged tree of several tasks."""
CUT_OFF = "interrupted"
"""Note of a proof that was ended with the run or its task: it has no result."""
STANDS = "stands from "
"""Note prefix of a proof that was reused."""


class Proof(Struct, frozen=True):
    """One command of a task's proof, as the runner saw it end."""

    id: str
    """Check ID: `TC-002`, `gate:lint`, `contract:schema` …"""
    kind: str
    """`test`, `gate`, `contract`, `coverage`, or `regression`: a test of another task."""
    command: str
    verdict: Verdict
    exit: int
    seconds: float
    output: Digest
    level: Level | None = None
    counts: tuple[tuple[str, int], ...] = ()
    """Counts reported by the tool, such as `(("passed", 3), ("failed", 0))`."""
    log: str = ""
    """Path of the stored output, relative to the repository."""
    note: str = ""
    """Explanation of a verdict that is neither a plain pass nor fail."""
    base: str = ""
    """The commit it was proven on, where that is not what it landed on: nothing that it ran has
    changed between the two."""
    by: ProvenBy | None = None
    """What it shows, where that is not to be seen from the rest: tests that ran nothing of the
    task are a command to it."""
    row: AcceptanceRow | None = None
    """Result for one acceptance item, if its kind is `acceptance`."""
    held_out: tuple[tuple[str, Digest], ...] = ()
    """Held-out files of its run, by path and digest; empty for a visible contract."""

    @property
    def stands_from(self) -> str:
        """The task whose run of the same command on the same tree says it; empty where it ran."""
        _, found, rest = self.note.rpartition(STANDS)
        return rest.partition("'s proof")[0] if found else ""

    @property
    def shown_note(self) -> str:
        """The note as people read it: the stored prefix of a reused proof is not clear."""
        return self.note.replace(STANDS, "reused from ")

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
"""Kind of a proof with a row; its ID is `acceptance:A1`."""
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


class Observed(Struct, frozen=True):
    """Lines of one file that one test of a task's test contracts ran."""

    contract: str
    """Contract ID, such as `TC-002`."""
    test: str
    """Test name if the tool reports it; empty: the whole contract."""
    path: str
    digest: Digest
    """Digest of the file that ran."""
    lines: str
    """Line numbers as ranges, `1-5,9`; empty if only the file is known."""


class Coverage(Struct, frozen=True):
    """The share of a task's own code that its test contracts ran."""

    percent: float
    lines: int
    """Executable lines of the task: all of files it created, else only lines it changed."""
    threshold: float
    whole: float | None = None
    """Percent of all lines of the files the task touched, for comparison."""

    @property
    def shown(self) -> str:
        """`84% of 120 lines`: rounded down, but where that would hide that a threshold is met."""
        met = int(self.percent) < self.threshold <= self.percent
        percent = self.percent if met else int(self.percent)
        return f"{percent:g}% of {self.lines} line{'' if self.lines == 1 else 's'}"


class Decision(Struct, frozen=True):
    """A non-obvious choice, as it goes into DECISIONS.md."""

    title: str
    context: str = ""
    decision: str = ""
    tradeoff: str = ""
    pattern: str = ""


class Ending(StrEnum):
    """The ending of an attempt, before anything has landed."""

    PASSED = "passed"
    FAILED = "failed"
    BLOCKED = "blocked"
    WAITS = "waits"
    """Cannot continue before a person has reviewed its writes."""
    INTERRUPTED = "interrupted"


class Outcome(Struct, frozen=True):
    """The result of one attempt, as a worker returns it."""

    task: str
    attempt: int
    ending: Ending
    base: str
    """Commit on which the scratch tree is based; empty before the first commit."""
    tree: str
    """Git tree of the proposal; the base's own tree if nothing changed."""
    changes: tuple[Change, ...] = ()
    findings: tuple[Finding, ...] = ()
    proofs: tuple[Proof, ...] = ()
    decisions: tuple[Decision, ...] = ()
    coverage: Coverage | None = None
    tools: tuple[tuple[str, str], ...] = ()
    """Programs used in the proof, with their versions."""
    observed: tuple[Observed, ...] = ()
    """What the task's tests ran, by file: used to trace later changes back to it."""
    tainted: frozenset[str] = frozenset()
    """Paths that path rules, scope or the secret scan rejected: they are not stored."""
    reason: Reason | None = None
    seconds: float = 0.0
    summary: str = ""
    """The implementer's own summary; shown, never trusted."""
    usage: Usage = Usage()
    failure: Failure | None = None
    """Kind of failure, if the attempt was not ended by a check."""
    retry_after: float = 0.0
    """Seconds that a provider asked to wait before the next attempt; 0 if it did not."""
    plan: TaskPlan | None = None
    """Result of an attempt in plan mode."""
    enclosed: bool = False
    """Whether its implementer was verifiably denied held-out files before it started."""

    @property
    def questions(self) -> tuple[Finding, ...]:
        """Questions for a person, if nothing else prevents the work from landing."""
        refusals = tuple(finding for finding in self.findings if finding.refuses)
        return refusals if all(finding.asks for finding in refusals) else ()

    @property
    def is_good(self) -> bool:
        """Whether it passed, or would but for what a person has to say."""
        return self.ending is Ending.PASSED or (
            self.ending is Ending.FAILED and bool(self.questions)
        )
