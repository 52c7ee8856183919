"""The artifacts of one run: patches, analysis, logs, proof reports and the journal.

All of it is drawn from journal, git and logs after the run, so that the run does nothing for it.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.build.run_reports import gather_results, sarif_of
from runner.app.inspect.status_document import describe_graph
from runner.app.inspect.view import View
from runner.gates.coverage.lines import read_lines
from runner.journal.events import RunFinished, RunStarted, TaskLanded
from runner.journal.records import read_journal
from runner.journal.session_events import ShipDeclared
from runner.repo.read import Repository
from runner.report.documents import document
from runner.report.results import ResultsListener
from runner.report.xml_reports import cobertura, html_archive, junit
from runner.run.worker_setup import LOGS
from runner.text.wording import attempt_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from runner.gates.coverage.lines import Lines
    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.model import Task
    from runner.project import Project

_LARGEST = 256 << 20
"""Bytes of one artifact: it is in memory while it is scanned and sent."""
# Settings such as diff.external and textconv (gitattributes(5)) would run programs, and produce
# patches that `git am` rejects.
_PATCH = (
    *("format-patch", "-1", "--stdout", "--binary", "--full-index", "--no-signature"),
    *("--no-ext-diff", "--no-textconv", "--no-renames", "--end-of-options"),
)
_DIFF = (
    *("diff", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames"),
    "--end-of-options",
)


class Artifact(Struct, frozen=True):
    """One file; what is packed in it is looked through by `parts`."""

    path: str
    content: bytes
    parts: tuple[tuple[str, bytes], ...] = ()
    """Name and bytes of each file of an archive."""
    too_large: bool = False


class RunStory(Struct, frozen=True):
    """One run, as far as the journal has it."""

    run: str
    records: tuple[Record, ...]

    @property
    def started(self) -> RunStarted | None:
        """Start event of the run; None for a ship, which is no run."""
        return next((one.event for one in self.records if isinstance(one.event, RunStarted)), None)

    @property
    def finished(self) -> RunFinished | None:
        """End event of the run; None if it was killed or is a ship."""
        return next((one.event for one in self.records if isinstance(one.event, RunFinished)), None)

    @property
    def shipped(self) -> ShipDeclared | None:
        """Ship event of these records, if any."""
        found = (one.event for one in self.records if isinstance(one.event, ShipDeclared))
        return next(found, None)

    @property
    def attempts(self) -> frozenset[tuple[str, int]]:
        """The attempts that it made."""
        return frozenset((one.task, one.attempt) for one in self.records if one.attempt)


def read_story(journal: Path, run: str) -> RunStory:
    """Return all journal records of a run."""
    return RunStory(run, tuple(one for one in read_journal(journal) if one.run == run))


def collect_artifacts(project: Project, story: RunStory) -> Iterator[Artifact]:
    """Yield the artifacts of a run one at a time, to limit memory use."""
    tasks = project.plan(project.plan_bytes).tasks
    state = project.state()
    with Repository.open(project.root) as repository:
        yield from _patches(project, repository, story)
        yield from _analysis(project, tasks, state)
        yield from _reports(project, tasks, state, story)
        yield from _coverage(project, repository, story)
    yield from _logs(project.root, story)
    # Up to the last complete line: another process may be writing the next one.
    content = project.journal_path.read_bytes()
    yield _bounded("journal.jsonl", content[: content.rfind(b"\n") + 1])


def _bounded(path: str, content: bytes) -> Artifact:
    large = len(content) > _LARGEST
    return Artifact(path, b"" if large else content, too_large=large)


# --- patches --------------------------------------------------------------------------


def _patches(project: Project, repository: Repository, story: RunStory) -> Iterator[Artifact]:
    """Yield one patch per landed task for `git am`, and one of all changes for `git apply`."""
    landed = _load_landings(project, story)
    for task, commits in landed.items():
        known = [one for one in commits if repository.resolve(f"{one}^{{commit}}")]
        text = b"".join(repository.git.run(*_PATCH, one) for one in known)
        if text:
            yield _bounded(f"patches/{task}.patch", text)
    old, new = _span(repository, story, landed)
    if new and old != new and repository.resolve(f"{new}^{{commit}}"):
        whole = repository.git.run(*_DIFF, old or repository.empty_tree(), new, "--")
        yield _bounded("patches/final.patch", whole)


def _load_landings(project: Project, story: RunStory) -> dict[str, list[str]]:
    """Return landing commits by task, of this run or, for a ship, of all runs."""
    records: Sequence[Record] | Iterator[Record] = story.records
    if story.shipped:
        records = read_journal(project.journal_path, wanted=("task.landed",))
    found: dict[str, list[str]] = {}
    for record in records:
        if isinstance(record.event, TaskLanded) and record.event.commit:
            found.setdefault(record.task, []).append(record.event.commit)
    return found


def _span(repository: Repository, story: RunStory, landed: dict[str, list[str]]) -> tuple[str, str]:
    """Return the first and last commit of a run or ship; empty strings if unknown."""
    if story.shipped:
        commits = [one for several in landed.values() for one in several]
        first = min(commits, key=lambda one: _depth(repository, one), default="")
        parents = repository.parents_of(first) if first else ()
        return (parents[0] if parents else ""), story.shipped.commit
    started, finished = story.started, story.finished
    return (started.head if started else ""), (finished.head if finished else "")


def _depth(repository: Repository, commit: str) -> int:
    asked = repository.git.ask("rev-list", "--count", "--end-of-options", commit)
    return int(asked.out or b"0") if asked.exit == 0 else 1 << 62


# --- analysis -------------------------------------------------------------------------


def _analysis(project: Project, tasks: Sequence[Task], state: RunState) -> Iterator[Artifact]:
    graph = document("graph", **describe_graph(View.of(project)))
    yield Artifact("analysis/dependency-graph.json", graph.encode())
    wrote = _load_written_paths(project)
    owners: dict[str, list[str]] = {}
    for id_, paths in wrote.items():
        for path in paths:
            owners.setdefault(path, []).append(id_)
    scope = document(
        "scope-analysis",
        tasks=[
            {
                "id": task.id,
                "status": state.task(task.id).status,
                "may_write": ("**",) if task.writes_everything else task.outputs,
                "reads": task.inputs,
                "wrote": sorted(wrote.get(task.id, ())),
            }
            for task in tasks
        ],
        shared={path: ids for path, ids in sorted(owners.items()) if len(ids) > 1},
    )
    yield Artifact("analysis/scope-analysis.json", scope.encode())


def _load_written_paths(project: Project) -> dict[str, set[str]]:
    """Return all paths that each task ever landed."""
    found: dict[str, set[str]] = {}
    for record in read_journal(project.journal_path, wanted=("task.landed",)):
        if isinstance(record.event, TaskLanded):
            found.setdefault(record.task, set()).update(record.event.paths)
    return found


# --- verification ---------------------------------------------------------------------


def _reports(
    project: Project, tasks: Sequence[Task], state: RunState, story: RunStory
) -> Iterator[Artifact]:
    """Yield the reports that `--junit` and `--sarif` write."""
    heard = ResultsListener()
    for record in story.records:
        heard.hear(record, state)
    seconds = story.finished.seconds if story.finished else 0.0
    title = project.outline().title
    results = gather_results(project, heard, tasks, tasks, state, seconds, title=title)
    yield _bounded("verification/junit.xml", junit(results))
    yield _bounded("verification/findings.sarif", sarif_of(results, project, state).encode())


def _coverage(project: Project, repository: Repository, story: RunStory) -> Iterator[Artifact]:
    """Yield the coverage of this run's tests, if any was measured."""
    folders = (project.root / LOGS / task / attempt_folder(n) for task, n in _in_order(story))
    lines: dict[str, Lines] = {}
    for folder in folders:
        lines |= read_lines(folder)
    if not lines:
        return
    head = story.finished.head if story.finished else repository.head().commit or ""
    content = {path: (repository.blob(head, path) if head else None) or b"" for path in lines}
    yield _bounded("verification/coverage.xml", cobertura(lines))
    packed, parts = html_archive(lines, content)
    yield Artifact("verification/coverage-html.zip", packed, parts)


def _logs(root: Path, story: RunStory) -> Iterator[Artifact]:
    """Yield the command logs of this run's attempts as they are: redacted when written."""
    for task, number in _in_order(story):
        folder = root / LOGS / task / attempt_folder(number)
        for path in sorted(folder.rglob("*.log")):
            found = path.lstat()
            # Following a link would copy files from elsewhere on the machine.
            if not stat.S_ISREG(found.st_mode):
                continue
            shown = f"verification/logs/{task}/{attempt_folder(number)}/"
            name = shown + path.relative_to(folder).as_posix()
            large = found.st_size > _LARGEST
            yield Artifact(name, b"" if large else path.read_bytes(), too_large=large)


def _in_order(story: RunStory) -> list[tuple[str, int]]:
    return sorted(story.attempts)
