"""Report a run: a summary for a person, and JUnit, SARIF and GitHub Actions for programs.

The summary shows how every task stands, what waits for whom, and what helps.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.app.answer import waiting
from runner.app.prove.verified_tree import grades_in
from runner.errors import ExitCode, RunnerError
from runner.implementers.registry import has_no_implementer
from runner.lazy_module import lazy_module
from runner.model import Grade, Status
from runner.report.cost import cost, cost_part, per_proven
from runner.report.results import ResultsListener
from runner.report.summary import BlockedTask, Summary
from runner.report.task_report import find_report, next_step
from runner.run.landing.drafts import without_deleted
from runner.run.landing.moved_branch import PlanConflict
from runner.run.regressions.regression import find_unapproved, victims_of
from runner.text.wording import refusal_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runner.app.build.build_request import BuildResult
    from runner.app.build.session import Session
    from runner.app.write import static_checks
    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Task, Usage
    from runner.plan.document import Plan
    from runner.project import Project
    from runner.report import annotations as github_annotations
    from runner.report import sarif, xml_reports
    from runner.report.console import Console
    from runner.report.results import Results
else:
    static_checks = lazy_module("runner.app.write.static_checks")
    github_annotations = lazy_module("runner.report.annotations")
    xml_reports = lazy_module("runner.report.xml_reports")
    sarif = lazy_module("runner.report.sarif")

# --- for people -----------------------------------------------------------------------


_FINDINGS = 2
"""Findings of a BLOCKED task in the summary; the report has all."""


def summary_of(session: Session, plan: Plan, code: ExitCode) -> Summary:
    """Return the summary of a finished run."""
    summary = _summary(session, plan, code)
    root, state = session.project.root, session.journal.state
    blocked = tuple(
        replace(
            one,
            report=find_report(root, state.task(one.id)),
            in_vain=waiting.explain_futile_approval(plan.tasks, state, one.id, session.repository),
        )
        for one in summary.blocked
    )
    notes = _format_uncommitted(session)
    grades = grades_in(session.project, plan.tasks, state, session.repository)
    tasks = ((state.task(id_).usage, one.is_proven) for id_, one in grades.items())
    worth = ((state.drafted, False), *tasks)
    used = cost(session.manifest.usage)
    used = ", ".join(filter(None, (used, per_proven(worth)))) if used else ""
    unproven = tuple(id_ for id_, one in grades.items() if one.grade is Grade.UNPROVEN)
    proofs = session.manifest.proofs
    took = proofs.words if proofs.stood else ""
    edited = _find_edited(session.project, plan, summary)
    stale, settings = {id_ for id_, _ in summary.stale}, session.project.settings
    nobodys = (
        one.id for one in plan.tasks if one.id in stale and has_no_implementer(one, settings)
    )
    summary = replace(summary, edited=edited, nobodys=frozenset(nobodys))
    return replace(summary, blocked=blocked, notes=notes, cost=used, unproven=unproven, proofs=took)


def facts_of(summary: Summary, usage: Usage) -> dict[str, object]:
    """Return the summary of a run as JSON data."""
    return {
        "exit": int(summary.exit),
        "seconds": round(summary.seconds, 3),
        "counts": {str(status): number for status, number in summary.counts.items()},
        "landed": summary.landed,
        "unproven": list(summary.unproven),
        "blocked": [
            {
                "id": one.id,
                "reason": one.reason and str(one.reason),
                "note": one.note,
                "draft": one.draft,
                "report": one.report,
                "victims": list(one.victims),
            }
            for one in summary.blocked
        ],
        "stale": [{"id": id_, "note": note} for id_, note in summary.stale],
        "waiting": [{"id": id_, "needs": list(needs)} for id_, needs in summary.waiting],
        **cost_part(usage),
    }


def _find_edited(project: Project, plan: Plan, summary: Summary) -> dict[str, str]:
    """Return how unstarted tasks were edited during the run; reads the plan again."""
    left = {id_ for id_, needs in summary.waiting if not needs}
    if summary.exit is not ExitCode.CONFLICT or not left:
        return {}
    now = PlanConflict(project.root / project.plan_path, lambda _text: False, project.plan)
    edits = {task.id: now.describe_edit(task) for task in plan.tasks if task.id in left}
    return {id_: how for id_, how in edits.items() if how}


def _format_uncommitted(session: Session) -> tuple[str, ...]:
    """Return a line on landed files that are not committed yet (`git.commit = "manual"`)."""
    count = len(session.shadow.paths)
    files = f"{count} file{'' if count == 1 else 's'}"
    return (f"{files} landed but not committed: runner pipeline commit-by-task",) if count else ()


def _make_blocked_task(known: TaskState, state: RunState, task: Task) -> BlockedTask:
    victims = victims_of(known.id, state)
    return BlockedTask(
        known.id,
        known.note,
        known.reason,
        known.draft,
        victims,
        find_unapproved(victims, state),
        next=next_step(known, state, task),
        findings=tuple(refusal_lines(known.findings, _FINDINGS)),
    )


def _summary(session: Session, plan: Plan, code: ExitCode) -> Summary:
    # Only tasks with events: the others have nothing to report.
    state = session.journal.state
    known = state.tasks
    statuses = {task.id: state.task(task.id).status for task in plan.tasks}
    return Summary(
        exit=code,
        counts=dict(Counter(statuses.values())),
        seconds=session.elapsed,
        landed=session.landed,
        blocked=tuple(
            _make_blocked_task(without_deleted(session.repository, known[task.id]), state, task)
            for task in plan.tasks
            if statuses[task.id] is Status.BLOCKED
        ),
        stale=tuple(
            (id_, known[id_].note) for id_, status in statuses.items() if status is Status.STALE
        ),
        waiting=tuple(
            (
                task.id,
                tuple(
                    [
                        id_
                        for id_ in task.depends_on
                        if statuses.get(id_, Status.DONE) is not Status.DONE
                    ]
                ),
            )
            for task in plan.tasks
            if statuses[task.id] is Status.PENDING
        ),
    )


# --- for programs ---------------------------------------------------------------------


def gather_results(
    project: Project,
    heard: ResultsListener,
    about: Sequence[Task],
    planned: Sequence[Task],
    state: RunState,
    seconds: float,
    *,
    title: str,
) -> Results:
    """Return the results of the tasks of a run, named by the given title."""
    folder = project.root.relative_to(project.folders.top).as_posix()
    return heard.results(
        about,
        state,
        name=title,
        plan=project.plan_path if folder == "." else f"{folder}/{project.plan_path}",
        seconds=seconds,
        folder="" if folder == "." else folder,
        grades=grades_in(project, planned, state),
    )


def sarif_of(results: Results, project: Project, state: RunState) -> str:
    """Return the findings of the run's checks and analysers as a SARIF document."""
    checks = (
        sarif.of_finding(
            replace(finding, path=results.place(finding.path))
            if finding.path
            else replace(finding, path=results.plan, line=task.line, column=0)
        )
        for task in results.tasks
        for finding in task.findings
    )
    attempts = {task.id: state.task(task.id).last_attempt for task in results.tasks}
    scanned = static_checks.load_findings_of(project.root, attempts)
    places = (replace(one, path=results.place(one.path)) for one in scanned)
    return sarif.sarif_document([*checks, *map(sarif.of_sast, places)])


class RunObserver:
    """Shows a run on the console; what is reported at its end hears the events, too."""

    def __init__(self, console: Console, reported: ResultsListener) -> None:
        self._reported, self._console = reported, console
        self.say, self.progress, self.announce = console.say, console.progress, console.announce
        self.expect, self.close = console.expect, console.close

    def hear(self, record: Record, state: RunState) -> None:
        """Pass an event to the console and to the report."""
        self._console.hear(record, state)
        self._reported.hear(record, state)


class Exports(Struct):
    """The reports that were asked for; hears the run, writes them at its end."""

    junit: Path | None
    sarif: Path | None
    github: Mapping[str, str] | None
    """Environment of the GitHub Actions step; None outside of one."""
    listener: ResultsListener = field(default_factory=ResultsListener)

    def write(self, project: Project, result: BuildResult, tell: Callable[[str], None]) -> None:
        """Write them all; annotations go to `tell`. Raises RunnerError for a file that cannot."""
        if self.junit is None and self.sarif is None and self.github is None:
            return
        plan = result.reading.plan
        where = (result.tasks, plan.tasks, result.state, result.seconds)
        results = gather_results(project, self.listener, *where, title=plan.title)
        if self.junit is not None:
            write_report(self.junit, xml_reports.junit(results))
        if self.sarif is not None:
            write_report(self.sarif, sarif_of(results, project, result.state).encode())
        if self.github is not None:
            _annotate_github(results, self.github, tell)


def _annotate_github(
    results: Results, environ: Mapping[str, str], tell: Callable[[str], None]
) -> None:
    """Pass annotations to `tell` for the step's log, and append the summary to its page."""
    for line in github_annotations.workflow_commands(results):
        tell(line)
    page = environ.get("GITHUB_STEP_SUMMARY")
    if page:
        append_report(Path(page), github_annotations.step_summary(results).encode())


def write_report(file: Path, content: bytes) -> None:
    """Write a report for another program. Raises RunnerError for a file that cannot be written."""

    def write() -> None:
        effects.make_folder(file.parent)
        effects.write_file(file, content)

    _as_asked(file, write)


def append_report(file: Path, content: bytes) -> None:
    """Append to a report file of a CI server. Raises RunnerError if it cannot be written."""

    def write() -> None:
        # Append, never replace: other commands of the same step also write to that page (GitHub
        # Docs, "Workflow commands", on a job summary).
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            effects.append(descriptor, content, file)
        finally:
            os.close(descriptor)

    _as_asked(file, write)


def _as_asked(file: Path, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        raise RunnerError(
            f"the run ended, but its report cannot be written: {error.strerror}",
            where=str(file),
            hint="`runner log` and `runner status` show the result",
        ) from error
