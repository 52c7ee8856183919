"""Compile and analyse single proposed files, and report analysers to `doctor`."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.app.inspect import diagnostic
from runner.app.prove import prove_tree
from runner.app.write.staged_states import BY_HAND
from runner.app.write.workplace import Unreadable, Workplace, display_path, read_named
from runner.config.paths import Places
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import ExitCode, RunnerError
from runner.model import Action, Change, Finding, Severity, digest_of
from runner.plan.task_ids import task_id
from runner.process import base, limits, supervise
from runner.process.base import Place, command_environment
from runner.process.environments import find_shared_folders
from runner.process.sandbox import choose_sandbox, sandbox_of
from runner.repo import read
from runner.repo.read import Repository
from runner.report import sarif
from runner.report.documents import document
from runner.secrets import redact
from runner.text.display import display
from runner.writes import sast
from runner.writes.analyser_copies import ScanWorkspace
from runner.writes.compile_check import CHECK, MISSING, compile_file, language_of
from runner.writes.project_compile import (
    CompileCommand,
    command_jobs,
    compile_projects,
    compilers,
    project_jobs,
)
from runner.writes.safe_io import read_below
from runner.writes.sast_report import SastFinding, SastReport, make_unscanned
from runner.writes.scanners import select_advised, select_scanners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from runner.process.base import Ran, RunCommand, Sandbox
    from runner.project import Project
    from runner.report.documents import Json
    from runner.run.worker_assignment import WorkerContext


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


_UNTRUSTED = Finding(
    CHECK,
    "not all compilers ran: this repository's commands are not trusted yet",
    severity=Severity.NOTE,
    hint="runner run --dry-run shows the commands; then: runner --trust",
)


def compile_single_file(change: Change, workplace: Workplace) -> tuple[Finding, ...]:
    """Return the syntax errors of the file in its own language; `bash -n` checks scripts."""
    if change.content is None:
        return ()
    with TemporaryFolder("compile") as folder:
        tree, box = Path(folder, "tree"), Path(folder, "box")
        tree.mkdir()
        box.mkdir()
        run_command = _runs(
            base.Place(tree=tree, shown=tree, box=box),
            sandbox_here(workplace),
            base.command_environment(workplace.environ),
        )
        found = compile_file(change, run_command)
    return () if found is None else (_here(found),)


def compile_in_project(change: Change, workplace: Workplace) -> tuple[Finding, ...]:
    """Return what the project's compilers find in a copy of the tree with the change.

    It is tried in a copy of the tree as it stands, uncommitted files too. What was wrong there
    before is a warning: this change is not to blame for it. Before a person trusts the repository,
    its settings' commands are left out, and nothing runs without a sandbox.
    """
    if not workplace.in_git or change.content is None:
        return ()
    project = workplace.project()
    commands = tuple(CompileCommand(*one) for one in project.settings.compile)
    name, path = PurePosixPath(change.path).name, (change.path,)
    is_manifest = any(name == compiler.manifest for compiler in compilers())
    if not (is_manifest or project_jobs(workplace.root, path) or command_jobs(path, commands)):
        return ()
    sandbox = sandbox_of(project.settings, project.environ)
    trusted = _is_trusted(project)
    left_out = () if trusted or (sandbox.encloses and not commands) else (_UNTRUSTED,)
    if not trusted and not sandbox.encloses:
        return left_out
    return (*left_out, *_try_compile(project, change, commands if trusted else ()))


def require_compiled(change: Change, workplace: Workplace) -> None:
    """Raise RunnerError (exit 1) for a change that does not compile: it goes no further."""
    found = compile_single_file(change, workplace)
    if not any(one.refuses for one in found):
        found = compile_in_project(change, workplace)
    for one in found:
        if one.refuses:
            path = redact.redact(one.path or change.path)
            place = f":{one.line}" + (f":{one.column}" if one.column else "")
            raise RunnerError(
                f"the file does not compile: {redact.redact(one.message)}",
                where=path + place if one.line else path,
                hint=f"{one.hint or 'fix it'}, and stage it again",
                code=ExitCode.FAILED,
            )


# --- details --------------------------------------------------------------------------


def _is_trusted(project: Project) -> bool:
    """Return whether a person trusts the repository's compile commands; always true in CI."""
    from runner.config.trust import Trust

    if project.environ.get("CI", "").lower() == "true":
        return True
    # Exactly as `require_trust` showed them: trust is stored as their digest.
    brought = [
        f"{command} (compiles {glob})"
        for glob, command in project.settings.compile
        if project.loaded.is_from_repository(f"compile.{glob}")
    ]
    trust = Trust(project.places.state)
    return trust.is_given(project.root) and not trust.list_unseen(project.root, brought)


def _try_compile(
    project: Project, change: Change, commands: tuple[CompileCommand, ...]
) -> tuple[Finding, ...]:
    with (
        read.Repository.open(project.root) as repository,
        prove_tree.open_slots(project, repository) as opened,
    ):
        (site,) = opened.slots
        prove_tree.WorkTreeSnapshot.of(repository).put_into(site)
        return _compare_with_base(site, change, commands)


def _compare_with_base(
    site: WorkerContext, change: Change, commands: tuple[CompileCommand, ...]
) -> tuple[Finding, ...]:
    """Return the compile findings of the change; findings that exist without it become warnings."""
    run_command = _runs(site.place, site.sandbox, site.base_environment)
    tree = site.scratch.project
    old = tree / change.path
    before = old.read_bytes() if old.is_file() else None
    site.scratch.apply((change,))
    found = compile_projects(tree, (change.path,), commands, run_command)
    if not any(one.refuses for one in found):
        return found
    # Only for rejected changes: most changes compile and need no second run.
    site.scratch.apply((replace(change, content=before),))
    # Compare messages, not lines, which the change itself may have moved.
    known = {
        (one.path, one.message)
        for one in compile_projects(tree, (change.path,), commands, run_command)
    }
    return tuple(
        replace(one, severity=Severity.WARNING, hint="this error existed before the change")
        if (one.path, one.message) in known and one.check != MISSING
        else _here(one)
        for one in found
    )


def _here(found: Finding) -> Finding:
    """Turn a missing compiler into a warning: in a manual check it is no reason to reject."""
    if found.check != MISSING:
        return found
    return replace(found, severity=Severity.WARNING, hint=found.hint.replace(", then: runner", ""))


def _runs(place: Place, sandbox: Sandbox, environment: Mapping[str, str]) -> RunCommand:
    def run_command(line: str | tuple[str, ...], *, stdin: bytes = b"", folder: str = "") -> Ran:
        command = base.Command(
            line=line,
            place=place,
            environment=environment,
            stdin=stdin,
            limits=limits.Limits(soft=0),
            folder=folder,
        )
        return supervise.run(command, sandbox)

    return run_command
