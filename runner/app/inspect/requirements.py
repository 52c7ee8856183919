"""List what the plan needs from this machine, for `runner doctor`: tools, secrets, root."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from runner.app.inspect.diagnostic import Diagnostic, State, make_missing_sign
from runner.app.inspect.validation import find_all_problems
from runner.config.paths import expand_home
from runner.config.stack import detect_stack
from runner.contracts.entries import find_missing_packages
from runner.errors import RunnerError
from runner.implementers.agents.preset import PRESETS
from runner.implementers.agents.program import OTHER, AgentProgram
from runner.implementers.registry import agent_of, choose
from runner.implementers.requirements import needs_root
from runner.lazy_module import lazy_module
from runner.model import Finding
from runner.plan.shell.shell_commands import executables
from runner.process import mounts
from runner.process.environments import explain_lent_program, find_lent_program
from runner.process.sandbox import sandbox_of
from runner.process.tools import NAMES, find_installation, which
from runner.text import wording
from runner.text.wording import join_few, plural
from runner.writes.project_compile import CompileCommand, find_needed_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from runner.app.write import static_checks
    from runner.model import Task
    from runner.project import Project
else:
    static_checks = lazy_module("runner.app.write.static_checks")

_ROOT_ALONE = frozenset({"sudo", "doas", "pkexec"})


def plan_signs(project: Project) -> Iterator[Diagnostic]:
    """Yield diagnostics of the plan and of its requirements."""
    try:
        reading = project.check()
        problems = find_all_problems(project, reading)
    except RunnerError as error:
        yield make_missing_sign("plan", error)
        return
    errors = sum(problem.is_error for problem in problems)
    text = (
        f"{project.plan_path}: {plural(len(reading.plan.tasks), 'task')}"
        f", {plural(errors, 'mistake')}, {plural(len(problems) - errors, 'warning')}"
    )
    hint = "runner validate" if problems else ""
    yield Diagnostic("plan", State.WRONG if errors else State.OK, text, hint)
    yield from _tools(project, reading.plan.tasks)
    yield from _contracts(reading.plan.tasks)
    yield from _agents(project, reading.plan.tasks)
    yield from _compilers(project)
    outputs = (path for task in reading.plan.tasks for path in task.outputs)
    yield from static_checks.analysis_signs(project, outputs)
    yield from _secrets(project, reading.plan.tasks)
    yield from _root(project, reading.plan.tasks)


def find_missing_compilers(project: Project) -> tuple[str, ...]:
    """Return the compilers that the write pipeline needs for this project but are not on PATH."""
    commands = [CompileCommand(*one) for one in project.settings.compile]
    needed = find_needed_tools(project.root, commands)
    return tuple(tool for tool in needed if which(tool, project.environ) is None)


def _compilers(project: Project) -> Iterator[Diagnostic]:
    for tool in find_missing_compilers(project):
        text = "not on PATH; changed files that it compiles are rejected"
        yield Diagnostic(f"compiler {tool}", State.MISSING, text, f"install {tool}")


def _tools(project: Project, tasks: Iterable[Task]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each program that the plan starts or requires."""
    users: dict[str, list[str]] = {}
    required: set[str] = set()
    for task in tasks:
        named = {need.name for need in task.requires if need.kind == "tool"}
        required |= named
        for tool in dict.fromkeys((*named, *_programs(project, task))):
            if tool in _ROOT_ALONE:
                continue  # a task that calls it is BLOCKED, whether it is there or not
            users.setdefault(tool, []).append(task.id)
    needs = detect_stack(project.root).dependencies
    for tool, ids in sorted(users.items()):
        found = which(tool, project.command_environment)
        if find_lent_program((tool,), project.environ, project.root, needs):
            yield Diagnostic(
                f"tool {tool}", State.MISSING, *explain_lent_program(tool, project.root)
            )
        elif found is not None and (folders := _find_hidden_folders(project, found)):
            text = f"{found} is hidden by the sandbox; {_name_users(ids)}"
            read = json.dumps([*project.settings.sandbox.read, *folders], ensure_ascii=False)
            hint = f"sandbox.read = {read} in ~/.config/runner/runner.toml"
            yield Diagnostic(f"tool {tool}", State.MISSING, text, hint)
        elif found is not None:
            yield Diagnostic(f"tool {tool}", State.OK, str(found))
        else:
            text = f"not on PATH; {_name_users(ids)}"
            state = State.MISSING if tool in required else State.NOTE
            hint = f"install {tool}" + ("" if tool in required else ", unless a task installs it")
            yield Diagnostic(f"tool {tool}", state, text, hint)


def _name_users(ids: Sequence[str]) -> str:
    return f"{join_few(ids)} {'need' if len(ids) > 1 else 'needs'} it"


def _find_hidden_folders(project: Project, program: Path) -> tuple[str, ...]:
    """Return the folders of a program and of what it links to that the sandbox hides."""
    settings = project.settings
    read = tuple(map(expand_home, settings.sandbox.read))
    try:
        sandbox = sandbox_of(settings, project.environ)
    except RunnerError:  # reported as the state of the sandbox
        return ()
    if not sandbox.contains:
        return ()
    environ = project.command_environment
    where = frozenset((name, environ[name]) for name in NAMES if name in environ)
    places = (one for one in (program, program.resolve()) if not one.is_relative_to(project.root))
    folders = dict.fromkeys(str(find_installation(one)) for one in places)
    return tuple(one for one in folders if mounts.hides(one, where, read))


def _contracts(tasks: Iterable[Task]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each contract kind with missing packages."""
    users: dict[str, dict[str, None]] = {}
    for task in tasks:
        for one in task.contracts:
            users.setdefault(one.kind, {})[task.id] = None
    for kind, ids in sorted(users.items()):
        if packages := find_missing_packages(kind):
            are = "are" if len(packages) > 1 else "is"
            text = f"{' and '.join(packages)} {are} not installed; {_name_users(tuple(ids))}"
            hint = wording.install_hint("contracts")
            yield Diagnostic(f"contract {kind}", State.MISSING, text, hint)


def _agents(project: Project, tasks: Iterable[Task]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each agent or model that a task uses."""
    users: dict[str, Task] = {}
    for task in tasks:
        users.setdefault(agent_of(task, project.settings), task)
    users.pop("", None)
    for name, task in sorted(users.items()):
        chosen, preset = choose(task, project.settings), PRESETS.get(name)
        if isinstance(chosen, AgentProgram):
            preset = chosen.preset if chosen.preset.starts else preset
        sign = "agent" if name == OTHER else f"agent {name}"
        if isinstance(chosen, Finding):
            yield Diagnostic(sign, State.MISSING, chosen.message, chosen.hint)
        elif preset is None:
            named = project.settings.agent.command if name == OTHER else ""
            yield Diagnostic(sign, State.OK, named or project.settings.model.execute or "set")
        elif found := which(preset.starts or preset.program, project.environ):
            login = isinstance(chosen, AgentProgram) and chosen.lacks_login(project.environ)
            if login:
                message = f"{found}: {login.message}"
                yield Diagnostic(sign, State.MISSING, message, login.hint)
            else:
                yield Diagnostic(sign, State.OK, str(found))
        else:
            text = f"{preset.starts or preset.program} is not on PATH"
            yield Diagnostic(sign, State.MISSING, text, f"{preset.install}, and log in")


def _programs(project: Project, task: Task) -> Iterator[str]:
    gates = (*task.gates, *project.settings.gates_for(task.type))
    commands = (
        task.command,
        *(one.command for one in task.test_contracts),
        *(one.value for one in task.contracts if one.kind == "command"),
        *(one.command.removeprefix("sh:") for one in gates),
    )
    for command in commands:
        yield from executables(command)


def _secrets(project: Project, tasks: Iterable[Task]) -> Iterator[Diagnostic]:
    """Yield whether each secret that a task requires is set, but never its value."""
    users: dict[str, list[str]] = {}
    for task in tasks:
        for need in task.requires:
            if need.kind == "secret":
                users.setdefault(need.name, []).append(task.id)
    permitted = project.settings.sandbox.secrets
    leased = {one.name: one.kind for one in project.settings.secret}
    for name, ids in sorted(users.items()):
        if source := leased.get(name):
            yield Diagnostic(f"secret {name}", State.OK, f"from a {source}, read in each attempt")
            continue
        if permitted is not None and name not in permitted:
            text, hint = (
                "your settings do not allow tasks to use it",
                f'add "{name}" to sandbox.secrets',
            )
        elif not project.environ.get(name):
            text, hint = f"not set; {_name_users(ids)}", f"export {name}=…"
        else:
            yield Diagnostic(f"secret {name}", State.OK, "set")
            continue
        yield Diagnostic(f"secret {name}", State.MISSING, text, hint)


def _root(project: Project, tasks: Iterable[Task]) -> Iterator[Diagnostic]:
    ids = [task.id for task in tasks if needs_root(task, project.settings.gates_for(task.type))]
    if ids:
        yield Diagnostic("root", State.NOTE, f"{join_few(ids)} will be BLOCKED: do it yourself")
