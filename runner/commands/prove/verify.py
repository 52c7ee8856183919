"""`runner verify`: proves again what is DONE, on HEAD as it is, and says what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.prove.verify_done import verify_task, verify_whole
from runner.commands.consent import add_proof_flags, load_trusted_plan, open_with_gates, tell
from runner.errors import ExitCode, RunnerError
from runner.report.documents import document, grade_part
from runner.report.ship import grade_lines
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import finding_lines

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from runner.app.prove.verify_done import VerifiedTask, VerifiedWhole
    from runner.model import Graded
    from runner.run.proof.verification import Inspected, Verified

_EXAMPLES = """\
examples:
  runner verify TASK-003   its tests, contracts, gates and coverage, against its evidence
  runner verify --all      every check of everything that is DONE, each command once
"""
_MARKS = {"pass": "✓", "fail": "✗", "flaky": "⚠", "known": "⚠", "skipped": "—"}


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner verify` takes."""
    del name
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("id", metavar="ID", nargs="?", default="", help="the task: TASK-003, or 3")
    add("--all", action="store_true", help="everything that is DONE, and the project's coverage")
    add_proof_flags(parser)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Prove again; exit 1 where anything falls short of what was promised."""
    if bool(given.id) == given.all:
        raise RunnerError(
            "one task or --all, not both" if given.all else "nothing says what to prove",
            hint="runner verify --all proves everything, runner verify TASK-001 one task",
        )
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    project = open_with_gates(environ, flags)
    load_trusted_plan(project, trusted=given.trust)
    if given.all:
        whole = verify_whole(project, tell)
        said = _whole_document(whole) if given.json else "\n".join(_whole_lines(whole)) + "\n"
        passed = whole.verified.passed
    else:
        one = verify_task(project, given.id, tell)
        said = _document(one) if given.json else "\n".join(_lines(one)) + "\n"
        passed = one.passed
    print(redact(said), end="")
    return ExitCode.OK if passed else ExitCode.FAILED


# --- as JSON --------------------------------------------------------------------------


def _document(found: VerifiedTask) -> str:
    return document(
        "verify",
        task=found.now.task,
        head=found.verified.head,
        passed=found.passed,
        evidence=found.evidence.source if found.evidence else None,
        proofs=found.now.proofs,
        coverage=found.now.coverage,
        findings=found.now.findings,
        differences=found.differences,
        notLookedAt=found.unseen,
        stale=found.stale,
        seconds=found.verified.seconds,
    )


def _whole_document(found: VerifiedWhole) -> str:
    verified, grades = found.verified, found.grades
    return document(
        "verify",
        head=verified.head,
        tree=found.tree,
        passed=verified.passed,
        proven=sum(one.is_proven for one in grades.values()),
        grades={id_: grade_part(one) for id_, one in grades.items()},
        tasks=verified.tasks,
        coverage=verified.coverage,
        threshold=verified.threshold,
        shortfalls=verified.shortfalls,
        notDone=found.not_done,
        notLookedAt=found.unseen,
        stale=found.stale,
        ran=verified.ran,
        seconds=verified.seconds,
    )


# --- in words -------------------------------------------------------------------------


def _lines(found: VerifiedTask) -> Iterator[str]:
    yield from _task_lines(found.now)
    if found.differences:
        yield "differs from its evidence:"
        yield from (f"  {one.check}: {one.text}" for one in found.differences)
    elif found.evidence is None:
        yield "no evidence to compare with"
    else:
        yield "it agrees with its evidence"
    yield _verdict(found.verified, passed=found.passed)


def _whole_lines(found: VerifiedWhole) -> Iterator[str]:
    return whole_lines(found.verified, found.not_done, found.grades)


def whole_lines(
    verified: Verified, missing: Sequence[str] = (), grades: Mapping[str, Graded] | None = None
) -> Iterator[str]:
    """A task a line with its checks, findings of what failed, then the total."""
    for one in verified.tasks:
        yield from _task_lines(one) if not one.passed else [_task_line(one)]
    if missing:
        yield f"not DONE, so not proven: {', '.join(map(display, missing))}"
    whole = verified.coverage
    if whole is not None:
        sign = "✓" if whole.percent >= whole.threshold else "✗"
        yield f"{sign} coverage of the project: {whole.shown} (threshold {whole.threshold:g}%)"
    yield from grade_lines(grades or {})
    yield _verdict(verified, passed=verified.passed)


def _verdict(verified: Verified, *, passed: bool) -> str:
    word = "verified" if passed else "NOT verified"
    head = verified.head[:12] or "nothing committed"
    commands = f"{verified.ran} command{'' if verified.ran == 1 else 's'}"
    return f"{word}: {head}, {commands}, {verified.seconds:.1f} s"


def _task_line(one: Inspected) -> str:
    sign = ("✓" if one.proofs else "-") if one.passed else "✗"
    checks = " ".join(f"{_MARKS[proof.verdict]} {display(proof.id)}" for proof in one.proofs)
    cover = f" · {one.coverage.shown}" if one.coverage else ""
    before = " (on this very tree before)" if one.proofs and not one.ran else ""
    checks = checks or "nothing to run"
    return f"{sign} {display(one.task)} {display(one.title)}: {checks}{cover}{before}"


def _task_lines(one: Inspected) -> Iterator[str]:
    yield _task_line(one)
    for finding in one.findings:
        yield from (f"    {line}" for line in finding_lines(finding))
