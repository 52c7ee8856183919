"""`runner evidence ID`: what a task's DONE rests on, from the journal or from git alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.prove.attest import attest_task
from runner.app.prove.find_evidence import find_evidence
from runner.commands.one_task import add_arguments, add_verbose
from runner.errors import ExitCode, RunnerError
from runner.journal.grading import grade_alone
from runner.model.grades import proof_kind
from runner.project import Project
from runner.repo.trailers import coverage_line, tools_line
from runner.report.attestations import encode
from runner.report.cost import cost, cost_part
from runner.report.documents import document, grade_part
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import count_words, moment, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from runner.app.prove.find_evidence import TaskEvidence
    from runner.journal.evidence import Evidence
    from runner.journal.task_state import TaskState
    from runner.model import Proof, Usage

_EXAMPLES = """\
examples:
  runner evidence TASK-003
  runner evidence 3 -v              with commits, trees and digests in full
  runner evidence 3 --json
  runner evidence 3 --format in-toto > proof.json   for whoever has a clone, and not your word
"""
_NO_COMMIT = "none: it changed nothing"
_STANDING = {
    "current": "it stands for the task as it is written now",
    "proof-changed": "how the task is proven was changed since",
    "work-changed": "the task was changed since",
}


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner evidence` takes."""
    del name
    add_arguments(parser, _EXAMPLES)
    add_verbose(parser)
    parser.add_argument(
        "--format",
        choices=("text", "json", "in-toto"),
        default="text",
        help="in-toto: a statement of its proof that others can check, as its commit tells it",
    )


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show the evidence; exit 1 for a task that has none."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    found = find_evidence(project, given.id)
    if given.format == "in-toto":
        print(encode(attest_task(project, found.task.id, found.known.spec)), end="")
        return ExitCode.OK
    if given.json or given.format == "json":
        print(redact(_document(found)), end="")
        return ExitCode.OK if found.evidence else ExitCode.FAILED
    if found.evidence is None:
        raise _nothing(found.task.id, found.known)
    sys.stdout.write(redact("\n".join(_lines(found, found.evidence, digests=given.verbose))) + "\n")
    return ExitCode.OK


def _nothing(id_: str, known: TaskState) -> RunnerError:
    word = "it is DONE on somebody's word" if known.status == "DONE" else f"it is {known.status}"
    return RunnerError(
        f"there is no evidence for {id_}: {word}",
        hint=f"have it proven: runner run {id_}"
        if known.status in ("PENDING", "DONE")
        else f"runner why {id_}",
        code=ExitCode.FAILED,
    )


# --- as JSON --------------------------------------------------------------------------


def _document(found: TaskEvidence) -> str:
    return document(
        "evidence",
        task=found.task.id,
        status=found.status,
        **grade_part(found.graded),
        standing=found.standing,
        unverified=found.unverified,
        evidence=_evidence_document(found.evidence, found.known.usage),
    )


def _evidence_document(evidence: Evidence | None, usage: Usage) -> dict[str, object] | None:
    if evidence is None:
        return None
    return {
        "source": evidence.source,
        "toldIn": evidence.told_in,
        "verified": evidence.verified,
        "attempt": evidence.attempt,
        "commit": evidence.commit,
        "tree": evidence.tree,
        "spec": evidence.spec,
        "doneAt": evidence.done_at,
        "proofs": evidence.proofs,
        "regression": evidence.regression or None,
        "coverage": evidence.coverage,
        "review": evidence.review,
        "tools": dict(evidence.tools),
        "decisions": [{"number": number, "title": title} for number, title in evidence.decisions],
        "patterns": evidence.patterns,
        **cost_part(usage),
        "record": evidence.record,
        "lacks": evidence.lacks,
    }


# --- in words -------------------------------------------------------------------------


def _lines(found: TaskEvidence, evidence: Evidence, *, digests: bool) -> Iterator[str]:
    task = found.task
    yield f"{display(task.id)}: {display(task.title)}"
    graded = found.graded or grade_alone(found.known, task.outputs)
    yield f"{found.status}, {display(graded.words)}; {_STANDING[found.standing]}"
    if found.unverified is not None:
        yield f"have it proven on what is committed: runner verify {display(task.id)}"
    elif ran := _list_ran(evidence.proofs):
        yield f"proven by the runner: {ran}"
    for need, why in found.built_on.items():
        yield f"it was built on {display(need)}, {display(why)}"
    where = f"commit {short(evidence.told_in)}" if evidence.told_in else "the journal"
    yield f"told by {where}"
    yield ""
    yield from _fields(evidence, found.known.usage, digests=digests)
    yield "Proofs" if evidence.proofs else "Proofs          none"
    for proof in evidence.proofs:
        yield from _proof(proof, digests=digests)
    if evidence.lacks:
        yield ""
        yield "not carried by the commit's trailers:"
        yield from (f"  {display(one)}" for one in evidence.lacks)


def _list_ran(proofs: Iterable[Proof]) -> str:
    """The ids of what the runner ran and what passed; empty where that is nothing."""
    return ", ".join(display(one.id) for one in proofs if proof_kind(one) is not None)


def _fields(evidence: Evidence, usage: Usage, *, digests: bool) -> Iterator[str]:
    decisions = (f"DECISION-{number:03d} {title}" for number, title in evidence.decisions)
    named = (
        ("Tree", evidence.tree),
        ("Digest, what", evidence.spec.what),
        ("Digest, proof", evidence.spec.proof),
    )
    fields = (
        ("Done at", moment(evidence.done_at) if evidence.done_at else ""),
        ("Attempt", str(evidence.attempt or "")),
        ("Commit", (evidence.commit if digests else short(evidence.commit)) or _NO_COMMIT),
        *(named if digests else ()),
        ("Regression", evidence.regression or "—"),
        ("Coverage", coverage_line(evidence.coverage) or "—"),
        ("Review", evidence.review),
        ("Cost", cost(usage)),
        ("Tools", tools_line(evidence.tools)),
        ("Patterns", ", ".join(evidence.patterns)),
        ("Decisions", "; ".join(decisions)),
    )
    yield from (f"{name:<16}{display(value)}" for name, value in fields if value)


def _proof(proof: Proof, *, digests: bool) -> Iterator[str]:
    counts = ", ".join(count_words(number, display(name)) for name, number in proof.counts)
    level = f" ({proof.level})" if proof.level else ""
    said = f"{proof.verdict}, exit {proof.exit}, {proof.seconds:.2f} s"
    yield f"  {display(proof.id)}{level}: {said}" + (f", {counts}" if counts else "")
    if proof.command:
        yield f"    $ {display(proof.command)}"
    if digests:
        yield f"    output {proof.output}"
    yield from (f"    {display(word)}" for word in (proof.note, proof.log) if word)
