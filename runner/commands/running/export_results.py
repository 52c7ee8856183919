"""What a run leaves for other programs: JUnit, SARIF, and what GitHub Actions shows."""

from __future__ import annotations

import os
import sys
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import RunnerError
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.report.results import ResultsListener

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from typing import Self

    from runner.app.build import run_reports
    from runner.app.build.types import BuildResult
    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.project import Project
    from runner.report import junit
    from runner.report.console import Console
    from runner.report.results import Results
else:
    junit = lazy_module("runner.report.junit")
    run_reports = lazy_module("runner.app.build.run_reports")


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

    @classmethod
    def of(cls, given: argparse.Namespace, environ: Mapping[str, str]) -> Self:
        """What flags and environment ask for."""
        return cls(
            junit=Path.cwd() / given.junit if given.junit else None,
            sarif=Path.cwd() / given.sarif if given.sarif else None,
            github=environ if environ.get("GITHUB_ACTIONS") == "true" else None,
        )

    def write(self, project: Project, result: BuildResult) -> None:
        """Write them all. Raises RunnerError for a file that cannot be written."""
        plan = result.reading.plan
        where = (result.tasks, plan.tasks, result.state)
        results = run_reports.gather_results(project, self.listener, *where, result.seconds)
        if self.junit is not None:
            write_report(self.junit, junit.junit(results))
        if self.sarif is not None:
            write_report(self.sarif, run_reports.sarif_of(results, project, result.state).encode())
        if self.github is not None:
            _tell_github(results, self.github)


def _tell_github(results: Results, environ: Mapping[str, str]) -> None:
    """Annotations on standard error, which the step's log reads too; the page into its file."""
    from runner.report.annotations import step_summary, workflow_commands

    for line in workflow_commands(results):
        print(line, file=sys.stderr)
    page = environ.get("GITHUB_STEP_SUMMARY")
    if page:
        append_report(Path(page), step_summary(results).encode())


def write_report(file: Path, content: bytes) -> None:
    """A report for another program. Raises RunnerError for a file that cannot be written."""

    def write() -> None:
        effects.make_folder(file.parent)
        effects.write_file(file, content)

    _as_asked(file, write)


def append_report(file: Path, content: bytes) -> None:
    """More of a page that a CI server keeps. Raises RunnerError as above."""

    def write() -> None:
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
