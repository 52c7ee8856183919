"""What a run came to, for other programs: the results of its tasks, and their findings as SARIF."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.app.prove.verified_tree import grades_in
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.app.write import analysis
    from runner.journal.state import RunState
    from runner.model import Task
    from runner.project import Project
    from runner.report import sarif
    from runner.report.results import Results, ResultsListener
else:
    analysis = lazy_module("runner.app.write.analysis")
    sarif = lazy_module("runner.report.sarif")


def gather_results(
    project: Project,
    heard: ResultsListener,
    about: Sequence[Task],
    planned: Sequence[Task],
    state: RunState,
    seconds: float,
) -> Results:
    """How the tasks that a run was `about` stand, of all that are `planned`."""
    folder = project.root.relative_to(project.folders.top).as_posix()
    return heard.results(
        about,
        state,
        name=project.outline().title,
        plan=project.plan_path if folder == "." else f"{folder}/{project.plan_path}",
        seconds=seconds,
        folder="" if folder == "." else folder,
        grades=grades_in(project, planned, state),
    )


def sarif_of(results: Results, project: Project, state: RunState) -> str:
    """The findings of the run's tasks, and of what analysed them, at their places."""
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
    scanned = analysis.load_findings_of(project.root, attempts)
    places = (replace(one, path=results.place(one.path)) for one in scanned)
    return sarif.sarif_document([*checks, *map(sarif.of_sast, places)])
