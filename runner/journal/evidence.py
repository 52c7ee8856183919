"""The evidence of a DONE task, and whether it still holds for the task as written."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.journal.events import DecisionMade, RunStarted, TaskDone, TaskLanding
from runner.lazy_pattern import regex
from runner.model import Grade, Proof, ProvenBy, Spec, Verdict
from runner.model.work import with_rows
from runner.repo.trailers import (
    HELD_OUT,
    parse_coverage,
    parse_proof,
    parse_row,
    parse_tools,
    regression_line,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.journal.events import Record
    from runner.journal.task_state import TaskState
    from runner.model import Coverage, Digest, Level
    from runner.repo.landed_commits import LandedCommit


class EvidenceState(StrEnum):
    """The relation of a task's evidence to its present digests."""

    NONE = "none"
    """No evidence: at most a person's claim."""
    CURRENT = "current"
    PROOF_CHANGED = "proof-changed"
    """The same work with another proof: re-test without approval."""
    WORK_CHANGED = "work-changed"
    """The specification differs from the finished work: STALE."""


class EvidenceSource(StrEnum):
    """The source of evidence."""

    JOURNAL = "journal"
    TRAILERS = "trailers"
    """Trailers of the task's commit, or of a record commit for a task without changes."""


class Evidence(Struct, frozen=True):
    """The commit, tree and proofs under which a task became DONE."""

    task: str
    spec: Spec
    commit: str
    """Commit; empty if the task changed nothing."""
    tree: str
    verified: bool
    """Whether it was proven; False for a task adopted on a person's claim."""
    proofs: tuple[Proof, ...]
    coverage: Coverage | None
    patterns: tuple[str, ...]
    done_at: str
    """RFC 3339 in UTC."""
    record: str
    """ID of the journal record; empty if only git has it."""
    attempt: int = 0
    review: str = ""
    """How its writes were approved: `applied`, `edited`, `auto` or `off`."""
    tools: tuple[tuple[str, str], ...] = ()
    """Programs used in the proof, with their versions."""
    decisions: tuple[tuple[int, str], ...] = ()
    """Number and title of each decision recorded during the work."""
    source: EvidenceSource = EvidenceSource.JOURNAL
    recorded_in: str = ""
    """Commit whose trailers record it; empty if the journal does."""
    lacks: tuple[str, ...] = ()
    """What its source does not contain, as text."""
    regression: str = ""
    """How many tests of other tasks ran on its change, as text."""
    run: str = ""
    """Run that proved it; empty if only git has it."""
    included: tuple[str, ...] = ()
    """Ignored files that this run copied into its trees."""

    @property
    def outputs(self) -> tuple[Digest, ...]:
        """Digests of what the proofs printed."""
        return tuple(proof.output for proof in self.proofs)


def evidence_of(task: TaskState) -> Evidence | None:
    """Return the evidence of a DONE or STALE task, or None."""
    if task.spec is None:
        return None
    return Evidence(
        task.id,
        task.spec,
        task.commit,
        task.tree,
        task.verified,
        tuple(proof for proof in task.proofs if not proof.is_of_another_task),
        task.coverage,
        task.patterns,
        task.done_at,
        task.cause,
        regression=regression_line(task.proofs),
    )


WANTED = frozenset({"run.started", "task.done", "task.landing", "decision.made"})
"""Kinds of records that `from_journal` reads."""
_FILE = regex(r"(.+) (sha256:[0-9a-f]{64}) (\S+)\Z")
"""A held-out file with its digest, and the ids of the proofs that ran with it."""
_UNPROVEN = f"{Grade.UNPROVEN}: "
_OWN = frozenset({"acceptance", "coverage", "integrity", "mutation"})
"""The runner's own checks: their ID is their kind, and they have no command."""


def from_journal(task: TaskState, records: Iterable[Record]) -> Evidence | None:
    """Return the full evidence of a task that became DONE in this journal, or None."""
    records = list(records)
    mine = [record for record in records if record.task == task.id]
    # By spec and commit, not simply the last: a task that was DONE, reopened and reverted to an
    # older commit is based on the older record.
    done = next((one for one in reversed(mine) if _is_of(one, task)), None)
    evidence = evidence_of(task)
    if done is None or evidence is None or not isinstance(done.event, TaskDone):
        return None
    landings = (one for one in reversed(mine) if one.attempt == done.attempt)
    approved = (one.event.review for one in landings if isinstance(one.event, TaskLanding))
    started = (one.event for one in records if one.run == done.run)
    included = (one.included for one in started if isinstance(one, RunStarted))
    return replace(
        evidence,
        record=done.id,
        attempt=done.attempt,
        review=next(approved, ""),
        tools=tuple(done.event.tools.items()),
        run=done.run,
        included=next(included, ()),
        decisions=tuple(
            (one.event.number, one.event.decision.title)
            for one in mine
            if isinstance(one.event, DecisionMade)
        ),
    )


def _is_of(record: Record, task: TaskState) -> bool:
    event = record.event
    recorded = isinstance(event, TaskDone) and (event.spec, event.commit)
    return recorded == (task.spec, task.commit)


def from_commit(commit: LandedCommit) -> Evidence | None:
    """Return the evidence in a commit's trailers; None if they lack the specification."""
    if not (commit.spec_what and commit.spec_proof):
        return None
    fields = {name: values[-1] for name, values in commit.trailers.items() if values}
    return Evidence(
        task=commit.task,
        spec=Spec(commit.spec_what, commit.spec_proof),
        commit="" if commit.checked else commit.commit,
        tree=commit.tree,
        verified=True,
        proofs=read_proofs(commit.trailers),
        coverage=parse_coverage(fields.get("Coverage", "")),
        patterns=(),
        done_at=commit.time.isoformat(timespec="seconds").replace("+00:00", "Z"),
        record="",
        attempt=commit.attempt,
        review=fields.get("Review", ""),
        tools=parse_tools(fields.get("Tools", "")),
        source=EvidenceSource.TRAILERS,
        recorded_in=commit.commit,
        lacks=tuple(_find_lacking(commit)),
        regression=fields.get("Regression", ""),
    )


def _find_lacking(commit: LandedCommit) -> Iterator[str]:
    yield "the logs of the task's commands"
    yield "the patterns in the brief"
    yield "the task's entries in DECISIONS.md"
    if commit.checked:
        yield "versions of tools"
        yield "coverage"
    if commit.cut:
        yield "some proofs: a record commit does not list all of them"


def parse_proofs(lines: Iterable[str]) -> Iterator[Proof]:
    """Yield the proofs in commit trailers, which have no commands."""
    for line in lines:
        parsed = parse_proof(line)
        if parsed is not None and parsed.verdict in tuple(Verdict):
            yield Proof(
                id=parsed.id,
                kind=kind_of(parsed.id),
                command="",
                verdict=Verdict(parsed.verdict),
                exit=parsed.exit,
                seconds=parsed.seconds,
                output=parsed.output,
                counts=parsed.counts,
                base=parsed.base,
                by=parsed.by,
            )


def read_proofs(trailers: Mapping[str, tuple[str, ...]]) -> tuple[Proof, ...]:
    """Return the proofs and the acceptance table that the trailers of a commit hold."""
    parsed = map(parse_row, trailers.get("Acceptance", ()))
    lines = map(_FILE.match, trailers.get(HELD_OUT, ()))
    files = [(line[1], line[2], line[3].split(",")) for line in lines if line is not None]
    proofs = tuple(
        replace(one, held_out=tuple((path, digest) for path, digest, ids in files if one.id in ids))
        for one in parse_proofs(trailers.get("Proof", ()))
    )
    rows = tuple(one for one in parsed if one is not None)
    items = [row.item for row, by in rows if by is ProvenBy.INDEPENDENT]
    return with_rows(proofs, (row for row, _ in rows), items) if rows else proofs


def parse_unproven(lines: Iterable[str]) -> str:
    """Return why a `Grade:` trailer calls a task unproven; else empty."""
    line = next(iter(lines), "")
    return line.removeprefix(_UNPROVEN) if line.startswith(_UNPROVEN) else ""


def kind_of(proof: str) -> str:
    """Return the kind in a proof's ID: `gate` of `gate:lint`, `test` of `TC-002`."""
    prefix, colon, _ = proof.partition(":")
    return prefix if colon or prefix in _OWN else "test"


def with_commands(evidence: Evidence, known: Mapping[str, tuple[str, Level | None]]) -> Evidence:
    """Return the evidence with the known commands and levels of its proofs.

    Right where the proof's digest is still the one it was proven under.
    """
    proofs = tuple(
        replace(one, command=known[one.id][0], level=known[one.id][1]) if one.id in known else one
        for one in evidence.proofs
    )
    bare = any(not proof.command and proof.kind not in _OWN for proof in proofs)
    lacks = (*evidence.lacks, *(("the commands of some proofs",) if bare else ()))
    return replace(evidence, proofs=proofs, lacks=lacks)


def evaluate_standing(task: TaskState, spec: Spec) -> EvidenceState:
    """Compare the evidence with the current specification of the task."""
    if task.spec is None:
        return EvidenceState.NONE
    if task.spec.what != spec.what:
        return EvidenceState.WORK_CHANGED
    return EvidenceState.CURRENT if task.spec.proof == spec.proof else EvidenceState.PROOF_CHANGED
