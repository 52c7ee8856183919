"""`runner ship`: everything proven together, SHIP declared in CHECKPOINT.md, the commit tagged."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from runner import effects
from runner.app.build.reopen import SHIP, last_ship_tag
from runner.app.prove.verify_tree import grades_after, subjects_of, verify_all
from runner.commands.consent import load_trusted_plan, open_with_gates, tell
from runner.commands.prove.verify import is_verified, whole_lines
from runner.errors import ExitCode, RunnerError
from runner.journal.grading import grades_of
from runner.model import Grade, ProvenBy
from runner.model.grades import is_code
from runner.report.documents import document
from runner.report.grades import find_unproven
from runner.run.waivers import stands
from runner.text.display import display
from runner.text.wording import join_few, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from runner.app.build.session import Session
    from runner.app.prove.ship_request import Request
    from runner.journal.tree_events import TreeVerified
    from runner.model import Graded, Task
    from runner.project import Project, Reading
    from runner.run.proof.verification import Subject

_EXAMPLES = """\
examples:
  runner ship               verify --all, then the tag runner-ship-2026-11-21
  runner ship --tag v1.0.0
  runner ship --pr          then pushes the branch and opens one pull request, with gh
  runner run --reopen       afterwards, to go on with the plan
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner ship` takes."""
    del name
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("--tag", metavar="NAME", default="", help="the tag (default: runner-ship-<date>)")
    add("--unproven", action="store_true", help="ship tasks that are DONE and unproven, too")
    add(
        "--strict",
        action="store_true",
        help="what wrote code needs tests or a contract, and tests that notice mutants of it",
    )
    add("--pr", action="store_true", help="push the branch and open a pull request, with gh")
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
    """Ship, or say what stands in the way."""
    from runner.app.build.session import Session
    from runner.app.build.suitability import require_suitable

    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    flags["mutation"] = "strict" if given.strict else None
    project = open_with_gates(environ, flags)
    reading = load_trusted_plan(project, trusted=given.trust)
    request = _request(given, project)
    if request is not None and (tag := last_ship_tag(project, project.state())):
        return _publish(project, reading, request, tag, as_json=given.json)
    _refuse_twice(project)
    with Session(project, reading.plan.tasks) as session:
        _refuse_uncommitted(session)
        for line in require_suitable(session.repository, session.own_documents, allow_dirty=False):
            tell(f"note: {line}")
        _begin(session, reading)
        subjects = _all_done(session, reading.plan.tasks)
        found = _verify_tree(session, subjects, as_json=given.json)
        if found is None:
            _finish(session, subjects, ExitCode.FAILED)
            return ExitCode.FAILED
        verified, grades = found
        _refuse_unproven(session, subjects, grades, given)
        tag, commit = _declare(session, reading, verified, grades, given.tag)
        _finish(session, subjects, ExitCode.OK)
    if request is None or not given.json:
        _say(tag, commit, verified, as_json=given.json)
    if request is not None:
        return _publish(project, reading, request, tag, as_json=given.json)
    return ExitCode.OK


def _request(given: argparse.Namespace, project: Project) -> Request | None:
    """The pull request that is asked for. Raises RunnerError where none can be opened."""
    from runner.app.prove.ship_request import require_request
    from runner.repo.read import Repository

    if not given.pr:
        return None
    with Repository.open(project.root) as repository:
        return require_request(project, repository, project.environ)


def _publish(
    project: Project, reading: Reading, request: Request, tag: str, *, as_json: bool
) -> ExitCode:
    """Push what was shipped and open its pull request; it may be shipped before."""
    from runner.app.prove.ship_request import body_of

    tasks, title = reading.plan.tasks, reading.plan.title or project.root.name
    verified = _last_verification(project) if project.state().seq else None
    address = request.open(title, body_of(project, tag, tasks, project.state(), verified), tag)
    if as_json:
        commit = project.head().commit
        print(document("ship", shipped=True, tag=tag, commit=commit, pull_request=address), end="")
    else:
        print(f"pull request: {address}")
    return ExitCode.OK


def _refuse_twice(project: Project) -> None:
    """Raise RunnerError where nothing happened since the last ship."""
    tag = last_ship_tag(project, project.state())
    if tag:
        raise RunnerError(
            f"this plan was shipped already, as {display(tag)}",
            hint="to go on with it: runner run --reopen",
        )


def _refuse_uncommitted(session: Session) -> None:
    """Raise RunnerError where the branch does not have what the tag would be put on."""
    if session.branch.beneath is not None:
        waits = bool(session.shadow.paths)
        raise RunnerError(
            "what landed is not committed" if waits else "a ship makes a commit of its own",
            hint="runner commit-by-task"
            if waits
            else 'set commit = "task" for it: RUNNER_COMMIT=task runner ship',
            code=ExitCode.PERSON,
        )


def _begin(session: Session, reading: Reading) -> None:
    """A ship is written down like a run: file, journal and git are read together first."""
    from runner.model import digest_of
    from runner.run import recovery
    from runner.run.engine import begin

    branch = session.branch
    plan = digest_of(reading.data)
    begin(session.ledger, head=branch.commit or "", branch=branch.shown, plan=plan, settings={})
    tasks = reading.plan.tasks
    facts = recovery.gather_facts(
        session.repository, session.ledger.state, tasks, session.project.plan_file
    )
    recovery.reconcile(tasks, session.ledger, facts)


def _finish(session: Session, subjects: Sequence[Subject], code: ExitCode) -> None:
    from runner.run.engine import finish

    finish(
        session.ledger,
        exit_code=code,
        head=session.repository.head().commit or "",
        began=session.began,
        ids=[one.task.id for one in subjects],
    )


def _all_done(session: Session, tasks: Sequence[Task]) -> tuple[Subject, ...]:
    """Every task, since all are DONE. Raises RunnerError (exit 3) otherwise."""
    state = session.ledger.state
    subjects = subjects_of(tasks, {task.id: state.task(task.id) for task in tasks})
    done = {one.task.id for one in subjects}
    missing = [task.id for task in tasks if task.id not in done]
    if missing or not tasks:
        _finish(session, subjects, ExitCode.PERSON)
        lacking = f"{join_few(missing)} {'is' if len(missing) == 1 else 'are'} not DONE"
        raise RunnerError(
            f"nothing was shipped: {lacking if tasks else 'the plan has no tasks'}",
            hint="runner status",
            code=ExitCode.PERSON,
        )
    if session.repository.head().commit is None:
        _finish(session, subjects, ExitCode.PERSON)
        raise RunnerError("nothing was shipped: there is no commit yet", code=ExitCode.PERSON)
    _refuse_what_is_not_there(session, tasks, subjects)
    return subjects


def _refuse_what_is_not_there(
    session: Session, tasks: Sequence[Task], subjects: Sequence[Subject]
) -> None:
    """Raise RunnerError (exit 3) where the file of a DONE task does not exist."""
    from runner.app.prove.unverified_tasks import find_unverified_tasks
    from runner.run.proof.unverified_bytes import never_made

    repository, state = session.repository, session.ledger.state
    head = repository.head().commit or ""
    found = find_unverified_tasks(session.project, tasks, state, repository)
    gone = {id_: one.why for id_, one in found.items() if one.missing}
    for id_, path in never_made(repository, head, tasks, state).items():
        gone[id_] = f"{path} is in no commit"
    if gone:
        _finish(session, subjects, ExitCode.PERSON)
        raise RunnerError(
            f"nothing was shipped: {join_few(list(gone))} is DONE without its files",
            detail="\n".join(f"  {display(id_)}: {display(why)}" for id_, why in gone.items()),
            hint="bring the files back and commit them, or have the task built again: "
            f"runner change {next(iter(gone))} ...",
            code=ExitCode.PERSON,
        )


def _verify_tree(
    session: Session, subjects: Sequence[Subject], *, as_json: bool
) -> tuple[TreeVerified, dict[str, Graded]] | None:
    """The proof of this very tree, run now where none is known; None where it falls short.

    With it, what each task is worth.
    """
    tasks = [one.task for one in subjects]
    states = {one.task.id: one.known for one in subjects}
    project, known = session.project, session.ledger.state.verified_tree
    if is_verified(project, session.repository, subjects, known):
        tell("this very tree was verified before")
        stand = partial(stands, project.root)
        return _last_verification(project), grades_of(tasks, states, stand)
    verified, event = verify_all(
        project, session.repository, subjects, session.own_documents, say=tell
    )
    session.ledger.note(event, durable=True)
    if verified.passed:
        return event, grades_after(project, tasks, states, verified)
    if as_json:
        shortfalls = verified.shortfalls
        print(document("ship", shipped=False, tag=None, shortfalls=shortfalls), end="")
    else:
        print("\n".join(whole_lines(verified)))
        print("nothing was shipped: the whole tree falls short")
    return None


def _refuse_unproven(
    session: Session,
    subjects: Sequence[Subject],
    grades: Mapping[str, Graded],
    given: argparse.Namespace,
) -> None:
    """Raise RunnerError (exit 3) for tasks whose DONE is worth less than is asked for."""
    lacking = {} if given.unproven else find_unproven(grades)
    weak = [one.task.id for one in subjects if given.strict and _is_weak(one, grades)]
    named = [id_ for id_ in grades if id_ in lacking or id_ in weak]
    if not named:
        return
    _finish(session, subjects, ExitCode.PERSON)
    lines = "\n".join(f"  {id_}: {grades[id_].words}" for id_ in named)
    asked = "code without tests or a contract" if given.strict else "unproven"
    both = "`runner waive ID --reason …`" + (
        "" if given.strict else ", or `runner ship --unproven`"
    )
    raise RunnerError(
        f"nothing was shipped: {plural(len(named), 'task')} {'is' if len(named) == 1 else 'are'}"
        f" {asked}",
        detail=lines,
        hint=f"give what is named a proof and run again; {both}",
        code=ExitCode.PERSON,
    )


def _is_weak(one: Subject, grades: Mapping[str, Graded]) -> bool:
    """Whether a task wrote code that neither tests nor a contract prove; a waiver stands."""
    graded = grades.get(one.task.id)
    if graded is None or graded.grade is Grade.WAIVED or not any(map(is_code, one.task.outputs)):
        return False
    return graded.by not in (ProvenBy.TESTS, ProvenBy.CONTRACT) or not graded.is_proven


def _last_verification(project: Project) -> TreeVerified:
    from runner.journal.read_journal import read_journal
    from runner.journal.tree_events import TreeVerified

    records = read_journal(project.journal_path, wanted=frozenset({"tree.verified"}))
    found = [one.event for one in records if isinstance(one.event, TreeVerified)]
    return next(one for one in reversed(found) if one.passed)


def _declare(
    session: Session,
    reading: Reading,
    verified: TreeVerified,
    grades: Mapping[str, Graded],
    wanted: str,
) -> tuple[str, str]:
    """Say SHIP in CHECKPOINT.md, commit that, tag the commit, tell the journal; in this order.

    What a crash leaves out, the next ship makes up for: until the journal knows, nothing is
    shipped.
    """
    from runner.journal.tree_events import ShipDeclared
    from runner.repo.tags import free_tag, make_tag, require_free
    from runner.report import checkpoint
    from runner.report.decisions_file import append_text
    from runner.report.ship import ship_text, tag_message

    date = effects.timestamp()[:10]
    if wanted:
        require_free(session.repository, wanted)
    tag = wanted or free_tag(session.repository, f"runner-ship-{date}")
    file = session.project.root / session.checkpoint.path
    session.checkpoint.close(session.ledger)
    append_text(file, ship_text(tag, date, verified, grades), head=checkpoint.HEAD)
    commit = _commit_declaration(session, reading, tag)
    message = tag_message(reading.plan.title, verified, grades)
    make_tag(session.repository, tag, commit, message)
    event = ShipDeclared(tag=tag, commit=commit, tasks=verified.tasks)
    session.ledger.note(event, durable=True)
    return tag, commit


def _commit_declaration(session: Session, reading: Reading, tag: str) -> str:
    """The commit that holds the declaration. Raises RunnerError where the branch has moved."""
    from runner.run.landing.plan_documents import PlanDocument
    from runner.run.landing.record_commit import record
    from runner.run.landing.status_notes import find_differing, statuses_of
    from runner.run.landing.status_writer import StatusWriter

    project = session.project
    board = StatusWriter(project.root / project.plan_path, project.settings.id_prefixes)
    for id_, said in find_differing(reading.plan.tasks, session.ledger).items():
        board.say(id_, *said)
    if board.due(now=True):
        board.publish(session.ledger.note, head=session.head().commit or "")
    known = statuses_of(reading.plan.tasks, session.ledger)
    plan = PlanDocument(project.plan_path, lambda: known, board.edit)
    documents = (plan, session.ownership, session.checkpoint, session.decisions, session.ignore)
    trailers = [("Checked", line) for line in session.checked]
    commit = record(
        session.repository, project.root, session.branch, documents, [*trailers, (SHIP, tag)]
    )
    if commit is None:
        raise RunnerError(
            "nothing was shipped: the branch was moved meanwhile",
            hint="runner ship",
            code=ExitCode.CONFLICT,
        )
    return commit


def _say(tag: str, commit: str, verified: TreeVerified, *, as_json: bool) -> None:
    if as_json:
        said = document("ship", shipped=True, tag=tag, commit=commit, verified=verified)
        print(said, end="")
        return
    print(f"SHIP: {plural(verified.tasks, 'task')} as {display(tag)} on {commit[:12]}")
    print(f"publish it: git push --follow-tags; what is in it: git show {display(tag)}")
