"""Check a task's requirements before any part of it runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runner.config.stack import detect_stack
from runner.contracts.entries import find_missing_tools
from runner.errors import RunnerError
from runner.gates.script_targets import find_started_files
from runner.implementers.agents.program import AgentProgram
from runner.implementers.registry import choose
from runner.implementers.requirements import find_unmet_requirements
from runner.lazy_module import lazy_module
from runner.model import Finding, Reason
from runner.plan.globs import is_glob
from runner.plan.markdown_text import spans
from runner.plan.shell.exit_status import no_proof_in
from runner.plan.shell.shell_commands import executables
from runner.process.environments import (
    TEST_PROGRAMS,
    explain_lent_program,
    find_lent_program,
    is_in_dependencies,
)
from runner.process.tools import which
from runner.repo.read import Repository
from runner.run import choose_executor
from runner.run.proof_sufficiency import unprovable
from runner.run.resource_locks import capacities, too_much
from runner.run.worktree_include import match_included
from runner.writes.project_compile import find_missing_compiler

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.gates import missing_file_causes
    from runner.implementers.base import Implementer
    from runner.journal.task_state import TaskState
    from runner.model import Task
else:
    missing_file_causes = lazy_module("runner.gates.missing_file_causes")


def find_lacking(
    task: Task,
    settings: Settings,
    environ: Mapping[str, str],
    root: Path,
    *,
    implements: bool = True,
) -> tuple[Reason, str] | None:
    """Return why a task cannot start in this project, with a reason code; None if it can.

    Without `implements` only its proof is to run, on what is there.
    """
    if task.is_milestone:
        return None

    def find_program(name: str) -> str | None:
        place = which(name, environ)
        return None if place is None else str(place)

    if why := no_proof(task):
        return Reason.PROOF, why
    unmet = find_unmet_requirements(
        task,
        environ,
        find_program,
        gates=settings.gates_for(task.type),
        permitted=settings.sandbox.secrets,
        leased=frozenset(one.name for one in settings.secret),
    )
    if unmet:
        return unmet[0][0], "; ".join(text for _, text in unmet)
    if task.contracts and (missing := find_missing_tools(task, environ)):
        return Reason.TOOL, "; ".join(missing)
    if lent := _of_its_environment(task, settings, environ, root):
        return Reason.TOOL, lent
    outputs = [path for path in task.outputs if not is_glob(path)]
    if uncompiled := find_missing_compiler(root, outputs, find_program):
        return Reason.TOOL, uncompiled.message
    if implements and (unseen := find_unseen_script(task, settings, root)):
        return Reason.TOOL, unseen
    much = too_much(task, capacities(settings.resources))
    if unable := _of_its_implementer(task, settings, environ, root, implements=implements):
        return unable
    return (Reason.POLICY, much) if much else None


def _of_its_implementer(
    task: Task, settings: Settings, environ: Mapping[str, str], root: Path, *, implements: bool
) -> tuple[Reason, str] | None:
    """Return why no implementer could build the task, or only in vain."""
    chosen = choose(task, settings)
    if isinstance(chosen, Finding):
        return (Reason.POLICY, _format_advice(chosen)) if implements else None
    kind = choose_executor.find_executor(settings)
    if kind and (exposed := kind.explain_exposure(task, chosen, settings)):
        return Reason.POLICY, exposed
    if not implements:
        return None
    if unproven := unprovable(task, settings, chosen):
        return unproven
    if unable := _of_its_agent(chosen, settings, environ, root):
        return Reason.TOOL, _format_advice(unable)
    return None


def _of_its_environment(
    task: Task, settings: Settings, environ: Mapping[str, str], root: Path
) -> str:
    """Return a note if tests would run in the runner's own environment; else empty."""
    if ":" in settings.cluster.executor:  # the workers' environments are not known here
        return ""
    contracts, gates = task.test_contracts, task.gates
    lines = (*(one.command for one in contracts), *(one.command for one in gates))
    programs = {name for line in lines if "test" in line for name in executables(line)}
    if programs.isdisjoint(TEST_PROGRAMS):
        return ""
    lent = find_lent_program(programs, environ, root, detect_stack(root).dependencies)
    return "; ".join(explain_lent_program(lent, root)) if lent else ""


def find_unseen_script(task: Task, settings: Settings, root: Path) -> str:
    """Return why the script of a task's command is missing in a scratch tree; else empty.

    Asked anew each time: a script that was committed meanwhile is seen.
    """
    line = task.command or (settings.build.command if not task.implementer else "")
    named = find_started_files(line, lambda _: None) if line and task.writes_anything else ()
    there = sorted(
        path for path in named if (root / path).is_file() and not is_in_dependencies(root, path)
    )
    if not there:
        return ""
    with Repository.open(root) as repository:
        paths = (os.path.relpath(root / path, repository.folders.top) for path in there)
        own = [path for path in paths if not path.startswith("../")]
        return next(filter(None, (_explain_unseen(repository, one, settings) for one in own)), "")


def _explain_unseen(repository: Repository, path: str, settings: Settings) -> str:
    """Return why a path is in no scratch tree of this run, and a remedy; else empty."""
    why = missing_file_causes.explain_path(repository, path)
    matches = match_included(repository, settings) if why else None
    return "" if matches and path in matches.paths else why


def is_obstacle_gone(known: TaskState, settings: Settings, root: Path) -> bool:
    """Return whether each file whose absence failed the last attempt is in scratch trees now."""
    if known.reason is not Reason.CHECKS:
        return False
    hints = [one.hint for one in known.findings if one.refuses]
    paths = [path for hint in hints if (path := missing_file_causes.find_named(hint))]
    if not paths:
        return False
    with Repository.open(root) as repository:
        return not any(_is_unseen(repository, path, settings) for path in paths)


def _is_unseen(repository: Repository, path: str, settings: Settings) -> bool:
    """Return whether a path is neither in the last commit nor copied into scratch trees."""
    head = repository.head().commit
    inside = repository.prefix.inside(path)
    is_committed = bool(head) and repository.has_file(head or "", inside)
    return not is_committed and bool(_explain_unseen(repository, path, settings))


def no_proof(task: Task) -> str:
    """Return why its test contracts prove nothing: one cannot fail or skips checks; else empty."""
    for contract in task.test_contracts:
        if why := no_proof_in(contract):
            # In quotes: a code span would show entities of a note in the plan literally.
            parts = spans(f"{contract.id} {why.message}; {why.hint}")
            return "".join(f'"{one.text}"' if one.code else one.text for one in parts)
    return ""


def _of_its_agent(
    chosen: Implementer, settings: Settings, environ: Mapping[str, str], root: Path
) -> Finding | None:
    """Return why the agent program of a task cannot start on this machine, or None."""
    if not chosen.is_agent or ":" in settings.cluster.executor:  # a cluster of their own
        return None
    from runner.process.sandbox import sandbox_of

    if not isinstance(chosen, AgentProgram):
        return None
    if unable := chosen.lacks_program(environ, root):  # before a sandbox is tried out
        return unable
    try:
        sandbox = sandbox_of(settings, environ)
    except RunnerError as error:
        return Finding(chosen.name, error.message, hint=error.hint)
    return chosen.lacks(sandbox, environ, root)


def _format_advice(finding: Finding) -> str:
    """Return a finding's message on one line, with its hint unless that has backticks."""
    short = finding.hint and "`" not in finding.hint
    return f"{finding.message}; {finding.hint}" if short else finding.message
