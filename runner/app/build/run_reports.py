"""What a run came to, for other programs: JUnit, SARIF, and what GitHub Actions shows."""

from __future__ import annotations

import os
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.app.prove.verified_tree import grades_in
from runner.errors import RunnerError
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.report.results import ResultsListener

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runner.app.build.types import BuildResult
    from runner.app.write import analysis
    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.model import Task
    from runner.project import Project
    from runner.report import annotations as github_annotations
    from runner.report import junit, sarif
    from runner.report.console import Console
    from runner.report.results import Results
else:
    analysis = lazy_module("runner.app.write.analysis")
    github_annotations = lazy_module("runner.report.annotations")
    junit = lazy_module("runner.report.junit")
    sarif = lazy_module("runner.report.sarif")


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
    """How the tasks that a run was `about` stand, of all that are `planned` under a title."""
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


class RunObserver:
    """Shows a run on the console; what is reported at its end hears the events, too."""

    def __init__(self, console: Console, reported: ResultsListener) -> None:
        self._reported, self._console = reported, console
        self.say, self.progress, self.announce = console.say, console.progress, console.announce
        self.expect, self.close = console.expect, console.close

    def hear(self, record: Record, state: RunState) -> None:
        """An event, for both."""
        self._console.hear(record, state)
        self._reported.hear(record, state)


@dataclass(slots=True)
class Exports:
    """The reports that were asked for; hears the run, writes them at its end."""

    junit: Path | None
    sarif: Path | None
    github: Mapping[str, str] | None
    """The environment of a GitHub Actions step, where this is one."""
    listener: ResultsListener = field(default_factory=ResultsListener)

    def write(self, project: Project, result: BuildResult, tell: Callable[[str], None]) -> None:
        """Write them all; annotations go to `tell`. Raises RunnerError for a file that cannot."""
        if self.junit is None and self.sarif is None and self.github is None:
            return
        plan = result.reading.plan
        where = (result.tasks, plan.tasks, result.state, result.seconds)
        results = gather_results(project, self.listener, *where, title=plan.title)
        if self.junit is not None:
            write_report(self.junit, junit.junit(results))
        if self.sarif is not None:
            write_report(self.sarif, sarif_of(results, project, result.state).encode())
        if self.github is not None:
            _tell_github(results, self.github, tell)


def _tell_github(results: Results, environ: Mapping[str, str], tell: Callable[[str], None]) -> None:
    """Annotations to `tell`, for the step's log; the page into its file."""
    for line in github_annotations.workflow_commands(results):
        tell(line)
    page = environ.get("GITHUB_STEP_SUMMARY")
    if page:
        append_report(Path(page), github_annotations.step_summary(results).encode())


def write_report(file: Path, content: bytes) -> None:
    """A report for another program. Raises RunnerError for a file that cannot be written."""

    def write() -> None:
        effects.make_folder(file.parent)
        effects.write_file(file, content)

    _as_asked(file, write)


def append_report(file: Path, content: bytes) -> None:
    """More of a page that a CI server keeps. Raises RunnerError as above."""

    def write() -> None:
        # Appended, never replaced: other commands of the same step write into that page, too
        # (GitHub Docs, "Workflow commands", on a job summary).
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
            f"the run is over, but its report cannot be written: {error.strerror}",
            where=str(file),
            hint="runner log, and runner status, say what came of it",
        ) from error
