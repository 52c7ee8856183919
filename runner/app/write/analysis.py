"""Run static analysis on single files, read its history, and report analysers to `doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.inspect import diagnostic
from runner.app.write.staged_states import BY_HAND
from runner.app.write.workplace import Unreadable, Workplace, display_path, read_named
from runner.config.paths import Places
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import RunnerError
from runner.model import Action, Change, digest_of
from runner.plan.task_ids import task_id
from runner.process.base import Place, command_environment
from runner.process.environments import find_shared_folders
from runner.process.sandbox import choose_sandbox
from runner.repo.read import Repository
from runner.report import sarif
from runner.report.documents import document
from runner.text.display import display
from runner.writes import sast
from runner.writes.compile_check import language_of
from runner.writes.safe_io import read_below
from runner.writes.sast_report import SastFinding, SastReport, make_unscanned
from runner.writes.scan_workspace import ScanWorkspace
from runner.writes.scanners import select_advised, select_scanners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from runner.process.base import Sandbox
    from runner.project import Project
    from runner.report.documents import Json


class Analysed(Struct, frozen=True):
    """Static analysis findings on the files that were named."""

    report: SastReport
    """Report with a note for each file that no analyser reads."""
    unreadable: tuple[Unreadable, ...] = ()
    lost: RunnerError | None = None
    """Why the findings were not saved to the history."""
    none_seen: bool = False
    """Whether nothing at all was analysed."""


class HistoryFinding(Struct, frozen=True):
    """A finding of the history: when it was found, and in which attempt of which task."""

    finding: SastFinding
    time: str
    task: str
    attempt: int


def find_task_id(workplace: Workplace, typed: str) -> tuple[str, RunnerError | None]:
    """Return the task ID, and the error if the plan does not contain it."""
    try:
        return workplace.task(typed)[0], None
    except RunnerError as error:
        named = task_id(typed)
        if named is None:
            raise
        return named, error


def analyse_files(
    workplace: Workplace, files: Iterable[str], task: str, read_input: Callable[[int], bytes]
) -> Analysed:
    """Scan each file once, and keep what is found in the history; it never refuses anything."""
    report = SastReport()
    unreadable, unseen, names = [], [], tuple(dict.fromkeys(files))
    for name in names:
        content = read_named(name, read_input)
        if isinstance(content, Unreadable):
            unreadable.append(content)
        elif (scanned := _scan_file(workplace, name, content)) is not None:
            report = report.join(scanned)
        else:
            unseen.append(make_unscanned(name, _advise(workplace, name), tool="sast"))
    return Analysed(
        report=report.join(SastReport(notes=tuple(unseen))),
        unreadable=tuple(unreadable),
        lost=_keep(workplace, report, task),
        none_seen=len(unreadable) + len(unseen) == len(names),
    )


def _scan_file(workplace: Workplace, name: str, content: bytes) -> SastReport | None:
    """Scan one file with bandit if it is Python, and with installed tools for its language."""
    path = display_path(workplace.near(Path(name)))
    python = language_of(path, content) == "python"
    report = sast.scan_file(content, path) if python else None
    others = _scan_by_tools(workplace, path, content)
    return report.join(others) if report and others else report or others


def _advise(workplace: Workplace, name: str) -> str:
    """Return why no analyser read a file, and what to install if one could."""
    laboratory = _laboratory(workplace, workplace.root)
    advice = laboratory.find_unread((display_path(workplace.near(Path(name))),))
    return next(advice, "no installed analyser reads this file")


def _keep(workplace: Workplace, report: SastReport, task: str) -> RunnerError | None:
    """Append to the history; why that could not be done, where it could not."""
    try:
        sast.record_findings(workplace.root, report, task=task, attempt=BY_HAND)
    except RunnerError as error:
        return error
    return None


# --- the history ----------------------------------------------------------------------


def list_kept(workplace: Workplace, task: str = "") -> tuple[HistoryFinding, ...]:
    """Return past findings of scans, optionally of one task, including notes on unscanned files."""
    kept = []
    for record in sast.load_findings(workplace.root, workplace.task(task)[0] if task else ""):
        time, whose, attempt = (record.get(name) for name in ("time", "task", "attempt"))
        kept.append(
            HistoryFinding(
                _finding(record),
                time if isinstance(time, str) else "",
                whose if isinstance(whose, str) else "",
                attempt if isinstance(attempt, int) else 0,
            )
        )
    return tuple(kept)


def load_findings_of(root: Path, attempts: Mapping[str, int]) -> tuple[SastFinding, ...]:
    """Return the distinct findings and notes of one attempt of each of these tasks."""
    kept = (
        _finding(record)
        for record in sast.load_findings(root)
        if attempts.get(str(record.get("task"))) == record.get("attempt")
    )
    return tuple(dict.fromkeys(kept))


def _finding(record: Mapping[str, object]) -> SastFinding:
    """Parse a finding of the history; fields of a wrong type become empty or 0."""
    texts = {
        name: value if isinstance(value := record.get(name), str) else ""
        for name in ("path", "rule", "severity", "confidence", "message", "tool", "digest")
    }
    line, column = (
        value if isinstance(value := record.get(name), int) else 0 for name in ("line", "column")
    )
    return SastFinding(line=line, column=column, **texts)


# --- analysers of other languages -----------------------------------------------------


def _scan_by_tools(workplace: Workplace, path: str, content: bytes) -> SastReport | None:
    """Scan a copy of one project file with the installed analysers; None if none of them ran."""
    inside = not Path(path).is_absolute() and (workplace.root / path).is_file()
    if not inside or not select_scanners((path,)):
        return None
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(content), content)
    with TemporaryFolder("sast") as folder:
        specimen = _laboratory(workplace, Path(folder)).specimen((change,))
        return specimen.examine() if specimen else None


def analysis_signs(project: Project, outputs: Iterable[str]) -> Iterator[diagnostic.Diagnostic]:
    """Yield the analysers that existing and planned files need, for `doctor`."""
    laboratory = _laboratory(Workplace.of(project.root, project.environ), project.cache)
    with Repository.open(project.root) as repository:
        commit = repository.head().commit
        paths = repository.list_tree(commit) if commit else ()
    paths = (*paths, *outputs)
    for unread in laboratory.find_unread(paths):
        yield diagnostic.Diagnostic("static analysis", diagnostic.State.NOTE, unread)
    for tool in select_advised(paths):
        lacks = laboratory.lacks(tool)
        if lacks:
            text = f"{lacks}, so {tool.tool} does not run"
            state = diagnostic.State.NOTE
            yield diagnostic.Diagnostic(f"analyser {tool.tool}", state, text, tool.install)
        else:
            yield diagnostic.Diagnostic(
                f"analyser {tool.tool}", diagnostic.State.OK, str(laboratory.program(tool))
            )


def _laboratory(workplace: Workplace, folder: Path) -> ScanWorkspace:
    """Create a scan workspace around the project in the sandbox that the person chose."""
    root = workplace.root
    return ScanWorkspace(
        folder=folder,
        tree=root,
        base=lambda path: read_below(root, path),
        place=Place(tree=root, shown=root, box=folder, shares=find_shared_folders(root)),
        sandbox=sandbox_here(workplace),
        environment=command_environment(workplace.environ),
    )


def sandbox_here(workplace: Workplace) -> Sandbox:
    """Return the sandbox for manual commands. Raises RunnerError if it is not available."""
    return choose_sandbox(_sandbox(workplace), (), (Places.of(workplace.environ).held_out,))


def _sandbox(workplace: Workplace) -> str:
    try:
        return workplace.project().settings.sandbox.kind if workplace.in_git else "auto"
    except RunnerError:  # broken settings are not this command's to report
        return "auto"


def finding_line(one: SastFinding) -> str:
    """Return one finding on one line."""
    place = f"{display_path(one.path)}:{one.line}:{one.column}"
    return f"{place}: {display(one.severity)}: {display(one.rule)} {display(one.message)}"


def sast_document(found: Iterable[tuple[SastFinding, dict[str, Json]]]) -> str:
    """Return findings with their writes as a JSON document."""
    findings: list[Json] = []
    notes: list[Json] = []
    for one, whose in found:
        if one.severity == "note":
            notes.append({**whose, **_note(one)})
        else:
            findings.append({**whose, **_as_data(one)})
    return document("sast", findings=findings, notes=notes)


def _as_data(one: SastFinding) -> dict[str, Json]:
    return {
        "path": display_path(one.path),
        "line": one.line,
        "column": one.column,
        "rule": display(one.rule),
        "severity": one.severity,
        "confidence": one.confidence,
        "message": display(one.message),
        "tool": display(one.tool),
        "digest": one.digest,
    }


def _note(one: SastFinding) -> dict[str, Json]:
    message = display(one.message)
    return {"path": display_path(one.path), "tool": display(one.tool), "message": message}


def sast_sarif(report: SastReport, failures: tuple[str, ...]) -> str:
    """Return the report of an analysis as SARIF."""
    results = map(sarif.of_sast, (*report.findings, *report.notes))
    return sarif.sarif_document(results, tools=("bandit",), failures=failures)
