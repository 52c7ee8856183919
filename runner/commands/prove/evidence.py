"""`runner evidence ID`: what a task's DONE rests on, from the journal or from git alone."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.commands.one_task import add_arguments, one_task
from runner.errors import ExitCode, RunnerError
from runner.journal.grading import grade_alone
from runner.model.grades import proof_kind
from runner.run.proven_first import find_unproven_beneath
from runner.text.counting import count_words
from runner.text.display import display
from runner.text.wording import moment, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from runner.app.inspect.view import View
    from runner.journal.evidence import Evidence, Standing
    from runner.journal.task_state import TaskState
    from runner.model import Level, Proof, Task, Usage
    from runner.project import Project

_EXAMPLES = """\
examples:
  runner evidence TASK-003
  runner evidence 3 --json
"""
_STANDING = {
    "current": "it stands for the task as it is written now",
    "proof-changed": "how the task is proven was changed since",
    "work-changed": "the task was changed since",
}


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner evidence` takes."""
    del name
    add_arguments(parser, _EXAMPLES)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show the evidence; exit 1 for a task that has none."""
    from runner.journal.evidence import evaluate_standing
    from runner.secrets.redact import redact

    asked = one_task(given, environ)
    project, view = asked.project, asked.view
    task = asked.task
    evidence = evidence_for(project, view, task)
    stands = evaluate_standing(view.states[task.id], task.spec)
    if given.json:
        print(redact(_document(task, view, evidence, stands)), end="")
    elif evidence is not None:
        sys.stdout.write(redact("\n".join(_lines(task, view, evidence, stands))) + "\n")
    if evidence is None:
        if not given.json:
            raise _nothing(task.id, view.states[task.id])
        return ExitCode.FAILED
    return ExitCode.OK


def evidence_for(project: Project, view: View, task: Task) -> Evidence | None:
    """What the journal tells of a task's DONE; what the commits tell where it does not."""
    from runner.journal.evidence import WANTED, evidence_of, from_journal
    from runner.journal.read_journal import read_journal

    known = view.states[task.id]
    if known.spec is None:
        return None
    told = from_journal(known, read_journal(project.journal_path, wanted=WANTED))
    return told or _from_git(project, task, known) or evidence_of(known)


def _from_git(project: Project, task: Task, known: TaskState) -> Evidence | None:
    """What the newest commit tells that landed, or recorded, the task under these digests."""
    from runner.journal.evidence import from_commit, with_commands
    from runner.repo.read import Repository

    with Repository.open(project.root) as repository:
        head = repository.head().commit
        for commit in repository.log_trailers(head) if head else ():
            found = from_commit(commit) if commit.task == task.id else None
            if found is not None and found.spec == known.spec:
                return with_commands(found, _own_commands(project, task, found))
    return None


def _own_commands(
    project: Project, task: Task, evidence: Evidence
) -> dict[str, tuple[str, Level | None]]:
    """The commands the task itself names: its proof's digest says that they are still the same."""
    from runner.gates.registry import checks_of
    from runner.secrets.redact import redact

    if evidence.spec.proof != task.spec.proof:
        return {}
    bare = replace(project.settings, gates=(), gates_by_type=())
    return {check.id: (redact(check.command), check.level) for check in checks_of(task, bare)}


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


def _document(task: Task, view: View, evidence: Evidence | None, stands: Standing) -> str:
    from runner.report.documents import document, grade_part

    status = view.status(task.id)
    return document(
        "evidence",
        task=task.id,
        status=status,
        **grade_part(view.grades.get(task.id)),
        standing=stands,
        unverified=view.unverified[task.id].why if task.id in view.unverified else None,
        evidence=_evidence_document(evidence, view.states[task.id].usage),
    )


def _evidence_document(evidence: Evidence | None, usage: Usage) -> dict[str, object] | None:
    from runner.report.cost import cost_part

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


def _lines(task: Task, view: View, evidence: Evidence, stands: Standing) -> Iterator[str]:
    yield f"{display(task.id)}: {display(task.title)}"
    graded = view.grades.get(task.id) or grade_alone(view.states[task.id], task.outputs)
    yield f"{view.status(task.id)}, {display(graded.words)}; {_STANDING[stands]}"
    if task.id in view.unverified:
        yield f"have it proven on what is committed: runner verify {display(task.id)}"
    elif ran := ran_by_us(evidence.proofs):
        yield f"proven by the runner: {ran}"
    for need, why in find_unproven_beneath(task.depends_on, view.states).items():
        yield f"it was built on {display(need)}, {display(why)}"
    where = f"commit {short(evidence.told_in)}" if evidence.told_in else "the journal"
    yield f"told by {where}"
    yield ""
    yield from _fields(evidence, view.states[task.id].usage)
    yield "Proofs" if evidence.proofs else "Proofs          none"
    for proof in evidence.proofs:
        yield from _proof(proof)
    if evidence.lacks:
        yield ""
        yield "not carried by the commit's trailers:"
        yield from (f"  {display(one)}" for one in evidence.lacks)


def ran_by_us(proofs: Iterable[Proof]) -> str:
    """The ids of what the runner ran and what passed; empty where that is nothing."""
    return ", ".join(display(one.id) for one in proofs if proof_kind(one) is not None)


def _fields(evidence: Evidence, usage: Usage) -> Iterator[str]:
    from runner.repo.trailers import coverage_line, tools_line
    from runner.report.cost import cost

    decisions = (f"DECISION-{number:03d} {title}" for number, title in evidence.decisions)
    fields = (
        ("Done at", moment(evidence.done_at) if evidence.done_at else ""),
        ("Attempt", str(evidence.attempt or "")),
        ("Commit", evidence.commit or "none: it changed nothing"),
        ("Tree", evidence.tree),
        ("Digest, what", evidence.spec.what),
        ("Digest, proof", evidence.spec.proof),
        ("Regression", evidence.regression or "—"),
        ("Coverage", coverage_line(evidence.coverage) or "—"),
        ("Review", evidence.review),
        ("Cost", cost(usage)),
        ("Tools", tools_line(evidence.tools)),
        ("Patterns", ", ".join(evidence.patterns)),
        ("Decisions", "; ".join(decisions)),
    )
    yield from (f"{name:<16}{display(value)}" for name, value in fields if value)


def _proof(proof: Proof) -> Iterator[str]:
    counts = ", ".join(count_words(number, display(name)) for name, number in proof.counts)
    level = f" ({proof.level})" if proof.level else ""
    said = f"{proof.verdict}, exit {proof.exit}, {proof.seconds:.2f} s"
    yield f"  {display(proof.id)}{level}: {said}" + (f", {counts}" if counts else "")
    if proof.command:
        yield f"    $ {display(proof.command)}"
    yield f"    output {proof.output}"
    yield from (f"    {display(word)}" for word in (proof.note, proof.log) if word)
