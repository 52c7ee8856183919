"""Check whether one proposed file compiles, alone and in a copy of its project."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.app.prove import prove_tree
from runner.app.write import analysis
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import ExitCode, RunnerError
from runner.model import Finding, Severity
from runner.process import base, limits, supervise
from runner.process.sandbox import sandbox_of
from runner.repo import read
from runner.secrets import redact
from runner.writes.compile_check import CHECK, MISSING, compile_file
from runner.writes.project_compile import (
    CompileCommand,
    command_jobs,
    compile_projects,
    compilers,
    project_jobs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.app.write.workplace import Workplace
    from runner.model import Change
    from runner.process.base import Place, Ran, RunCommand, Sandbox
    from runner.project import Project
    from runner.run.assignment import WorkerContext

_UNTRUSTED = Finding(
    CHECK,
    "not all compilers ran: this repository's commands are not trusted yet",
    severity=Severity.NOTE,
    hint="read them: runner run --dry-run, then: runner --trust",
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
            analysis.sandbox_here(workplace),
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
