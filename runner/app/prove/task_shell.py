"""Run a command or a shell in the tree, sandbox, environment and folder of a task's last proof."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from runner.app.inspect.view import View
from runner.app.prove.prove_tree import open_slots
from runner.errors import RunnerError
from runner.gates.base import Check, command_limits
from runner.gates.check_run import try_check
from runner.gates.registry import checks_of
from runner.held_out import workspace
from runner.model import Network, Status
from runner.process.base import Command
from runner.process.interactive import run_on_terminal
from runner.repo.read import Repository
from runner.run.landing.drafts import load_held_changes, read_kept
from runner.run.landing.lander import changes_between
from runner.run.proof.verification_jobs import make_context
from runner.run.selection import find_id
from runner.text.wording import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runner.gates.base import GateContext
    from runner.journal.task_state import TaskState
    from runner.model import Change, Task
    from runner.project import Project


class TreeChoice(StrEnum):
    """The tree that a person chose."""

    DRAFT = "draft"
    PROPOSAL = "proposal"
    BASE = "base"


class ShellSubject(NamedTuple):
    """A commit, the changes on it, and what they are in words."""

    base: str
    changes: tuple[Change, ...]
    shown: str


class ShellExit(NamedTuple):
    """The exit of the command."""

    exit: int
    why: str = ""
    """Why the proof fails although the command exited with 0."""


def run_in_tree(
    project: Project,
    typed: str,
    wanted: TreeChoice | None,
    words: Sequence[str],
    *,
    hear: Callable[[str], None],
    say: Callable[[str], None],
    held_out: bool = False,
) -> ShellExit:
    """Run a command as the proof of a task would; a shell where there are no words.

    One word is a line for the shell, or the id of one of the task's checks; several are a program
    with its arguments. `hear` gets the output, `say` what a person should know before. With
    `held_out` the command runs in a copy of the tree that has the held-out files. Raises
    RunnerError where the task has no such tree, or the store lacks a file.
    """
    view = View.of(project)
    id_ = find_id(typed, view.states)
    task = next(one for one in project.plan(project.plan_bytes).tasks if one.id == id_)
    known = view.states[id_]
    with Repository.open(project.root) as repository:
        subject = find_subject(repository, known, wanted)
        files = project.held_out.store.read_all(task) if held_out else {}
        with (
            open_tree(project, repository, task, known, subject) as proven,
            _lay_out_held_out(project, proven, files) as context,
        ):
            sandbox = context.sandbox.name
            say(f"{id_} on {subject.shown}, sandbox: {sandbox}; changes are discarded")
            if not words:
                return ShellExit(_open_shell(context))
            return _run(words, replace(context, tell=hear))


@contextmanager
def _lay_out_held_out(
    project: Project, context: GateContext, files: Mapping[str, bytes]
) -> Iterator[GateContext]:
    """Yield the context, with held-out files in a temporary copy of its folder."""
    if not files:
        yield context
        return
    folder, mounted = project.held_out.workspaces, context.sandbox.contains
    with workspace.open_workspace(folder, context.place, mounted=mounted) as place:
        workspace.put_files(place, files)
        yield replace(context, place=place)


# --- the tree -------------------------------------------------------------------------


@contextmanager
def open_tree(
    project: Project, repository: Repository, task: Task, known: TaskState, subject: ShellSubject
) -> Iterator[GateContext]:
    """Lay a commit and the changes on it into a scratch tree, as a proof of the task has it."""
    with open_slots(project, repository) as opened:
        (site,) = opened.slots
        site.lay_out(subject.base, subject.changes)
        logs = project.cache / "shell-logs" / task.id
        yield make_context(
            site,
            task,
            environ=project.environ,
            logs=(logs, str(logs)),
            changes=subject.changes,
            before=partial(site.before, subject.base),
            base=subject.base,
            attempt=known.last_attempt,
        )


def find_subject(
    repository: Repository, known: TaskState, wanted: TreeChoice | None
) -> ShellSubject:
    """Return the subject of the last proof: held work, the draft of a failed attempt, or HEAD."""
    head = repository.head().commit or ""
    if wanted is TreeChoice.BASE:
        base = known.base if known.base and repository.resolve(known.base) else head
        return ShellSubject(base, (), f"its base {short(base)}")
    if wanted is not TreeChoice.DRAFT and known.held is not None:
        changes = load_held_changes(repository, known.held)
        if changes is not None:
            return ShellSubject(known.held.base, changes, "the waiting proposal")
    is_open = known.status not in (Status.DONE, Status.STALE)
    if wanted is TreeChoice.DRAFT or (wanted is None and is_open):
        kept = read_kept(repository, known.id, known.draft)
        if kept is not None:
            base = repository.merge_base(kept.commit, head) or ""
            changes = changes_between(repository, base or None, kept.commit)
            return ShellSubject(base, changes, kept.shown)
    if wanted is not None:
        raise RunnerError(
            f"{known.id} has no {wanted} now",
            hint=f"`runner shell {known.id}` uses the tree of its last proof",
        )
    return ShellSubject(head, (), f"HEAD {short(head)}")


# --- the command ----------------------------------------------------------------------


def _run(words: Sequence[str], context: GateContext) -> ShellExit:
    line = words[0] if len(words) == 1 else shlex.join(words)
    check = _find_check(line, context.task, context)
    trial = try_check(check or _as_check(line, context), context)
    code = trial.ran.exit
    if check is None or code or trial.passed:
        return ShellExit(code)
    return ShellExit(1, next((one.message for one in trial.findings() if one.refuses), ""))


def _find_check(line: str, task: Task, context: GateContext) -> Check | None:
    """Return the task's check with this ID or command, or None."""
    checks = [one for one in checks_of(task, context.settings) if one.command]
    return next((one for one in checks if line in (one.id, one.command)), None)


def _as_check(line: str, context: GateContext) -> Check:
    limits = command_limits(context.task, context.settings)
    network = context.settings.network_for(context.task.network)
    return Check("shell", "shell", line, limits, network=network)


def _open_shell(context: GateContext) -> int:
    check = _as_check(context.environment.get("SHELL", "/bin/sh"), context)
    command = Command(
        line=(check.command,),
        place=context.place,
        environment=context.environment,
        network=Network(check.network),
        limits=check.limits,
    )
    return run_on_terminal(command, context.sandbox)
