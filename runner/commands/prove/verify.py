"""`runner verify`: proves again what is DONE, on HEAD as it is, and says what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.prove.prove_again import inspection_of, make_done_event
from runner.app.prove.verify_tree import (
    gates_alone,
    grades_after,
    key_of_tree,
    subjects_of,
    verify_all,
)
from runner.commands.consent import load_trusted_plan, open_with_gates, tell
from runner.errors import ExitCode, RunnerError
from runner.report.documents import document, grade_part
from runner.report.grades import grade_lines
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from runner.app.inspect.view import View
    from runner.journal.events import TaskDone
    from runner.journal.tree_events import TreeVerified
    from runner.model import Graded, Task
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.run.proof.differences import Difference
    from runner.run.proof.verification import Inspected, Subject, Verified

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
    add("--trust", action="store_true", help="run this plan's commands without asking")
    add(
        "--sandbox",
        choices=("auto", "bubblewrap", "landlock", "none"),
        help="what encloses commands",
    )
    add("-j", "--jobs", type=int, metavar="N", help="commands at once (default: cores)")
    add("--json", action="store_true", help="one JSON document")
    add("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Prove again; exit 1 where anything falls short of what was promised."""
    from runner.app.inspect.view import View
    from runner.repo.read import Repository

    if bool(given.id) == given.all:
        raise RunnerError("name one task, or --all", hint="runner verify --help")
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    project = open_with_gates(environ, flags)
    plan = load_trusted_plan(project, trusted=given.trust).plan.tasks
    view = View.of(project)
    with Repository.open(project.root) as repository:
        unseen = _list_unseen_files(project, repository)
        if given.all:
            return _whole(given, project, repository, plan, view, unseen)
        return _one(given, project, repository, plan, view, unseen)


def _list_unseen_files(project: Project, repository: Repository) -> tuple[str, ...]:
    """Files of the work tree that are not as HEAD has them: they are not looked at."""
    own = project.documents
    facts = repository.state()
    paths = [*(file.path for file in facts.dirty), *facts.untracked]
    found = tuple(path for path in paths if path not in own)
    if found:
        shown = ", ".join(found[:3]) + (" …" if len(found) > 3 else "")  # noqa: PLR2004 - three fit in a line
        tell(f"note: HEAD is proven; not looked at, since not committed: {shown}")
    return found


# --- one task -------------------------------------------------------------------------


def _one(
    given: argparse.Namespace,
    project: Project,
    repository: Repository,
    tasks: Sequence[Task],
    view: View,
    unseen: tuple[str, ...],
) -> ExitCode:
    from runner.commands.prove.evidence import evidence_for
    from runner.run.proof.differences import differences
    from runner.run.proof.verification import Subject, plan_for
    from runner.run.selection import find_id

    id_ = find_id(given.id, view.states)
    task = next(task for task in tasks if task.id == id_)
    evidence = evidence_for(project, view, task)
    inspection = inspection_of(project, repository, tell)
    verified = inspection.verify(plan_for([Subject(task, view.states[id_])], project.settings))
    (now,) = verified.tasks
    differing: tuple[Difference, ...] = ()
    if evidence is not None:
        covered = (evidence.coverage, now.coverage)
        differing = differences(evidence.proofs, now.proofs, covered)
    passed = now.passed and not any(one.worse for one in differing)
    by_hand = view.unverified.get(id_)
    if passed and by_hand is not None and not (by_hand.uncommitted or by_hand.missing):
        known = view.states[id_]
        event = make_done_event(task, known, now, repository.tree_of(verified.head))
        remember(project, event, id_, known.last_attempt)
    if given.json:
        said = document(
            "verify",
            task=id_,
            head=verified.head,
            passed=passed,
            evidence=evidence.source if evidence else None,
            proofs=now.proofs,
            coverage=now.coverage,
            findings=now.findings,
            differences=differing,
            notLookedAt=unseen,
            seconds=verified.seconds,
        )
        print(_redact(said), end="")
    else:
        told = "no evidence to compare with" if evidence is None else "it agrees with its evidence"
        ending = [f"  {one.check}: {one.text}" for one in differing]
        heading = "differs from its evidence:" if ending else told
        lines = [*_task_lines(now), heading, *ending, _verdict(verified, passed=passed)]
        print(_redact("\n".join(lines)))
    return ExitCode.OK if passed else ExitCode.FAILED


# --- everything -----------------------------------------------------------------------


def _whole(
    given: argparse.Namespace,
    project: Project,
    repository: Repository,
    tasks: Sequence[Task],
    view: View,
    unseen: tuple[str, ...],
) -> ExitCode:
    subjects = subjects_of(tasks, view.states)
    missing = tuple(task.id for task in tasks if task.id not in {one.task.id for one in subjects})
    documents = project.documents
    if subjects:
        verified, event = verify_all(project, repository, subjects, documents, say=tell)
        remember(project, event)
    else:
        verified, event = gates_alone(project, repository, documents, tell)
    grades = grades_after(project, tasks, view.states, verified) if subjects else {}
    if given.json:
        said = document(
            "verify",
            head=verified.head,
            tree=event.tree,
            passed=verified.passed,
            proven=sum(one.is_proven for one in grades.values()),
            grades={id_: grade_part(one) for id_, one in grades.items()},
            tasks=verified.tasks,
            coverage=verified.coverage,
            threshold=verified.threshold,
            shortfalls=verified.shortfalls,
            notDone=missing,
            notLookedAt=unseen,
            ran=verified.ran,
            seconds=verified.seconds,
        )
        print(_redact(said), end="")
    else:
        print(_redact("\n".join(whole_lines(verified, missing, grades))))
    return ExitCode.OK if verified.passed else ExitCode.FAILED


def is_verified(
    project: Project, repository: Repository, subjects: Sequence[Subject], verified_tree: str
) -> bool:
    """Whether exactly this tree was proven whole before, and passed."""
    if not verified_tree:
        return False
    head = repository.head().commit or ""
    documents = project.documents
    return key_of_tree(project, repository, head, subjects, documents) == verified_tree


def remember(
    project: Project, event: TreeVerified | TaskDone, task: str = "", attempt: int = 0
) -> None:
    """Let the journal know; where there is none, or a run holds it, nothing is written."""
    from runner import effects
    from runner.journal.lock import RunLock
    from runner.journal.log import Journal
    from runner.project import BUILD

    if not project.journal_path.exists():
        return
    try:
        with (
            RunLock(project.root / BUILD),
            Journal.open(project.journal_path, run=effects.new_id()) as journal,
        ):
            journal.append(event, task=task, attempt=attempt, durable=True)
    except RunnerError as error:
        tell(f"note: not written down: {error.message}")


# --- in words -------------------------------------------------------------------------


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
    sign = "✓" if one.passed else "✗"
    checks = " ".join(f"{_MARKS[proof.verdict]} {display(proof.id)}" for proof in one.proofs)
    cover = f" · {one.coverage.shown}" if one.coverage else ""
    before = "" if one.ran else " (on this very tree before)"
    return f"{sign} {display(one.task)} {display(one.title)}: {checks or '—'}{cover}{before}"


def _task_lines(one: Inspected) -> Iterator[str]:
    from runner.text.wording import finding_lines

    yield _task_line(one)
    for finding in one.findings:
        yield from (f"    {line}" for line in finding_lines(finding))


def _redact(text: str) -> str:
    from runner.secrets.redact import redact

    return redact(text)
