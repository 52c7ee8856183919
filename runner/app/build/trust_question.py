"""Before the first run in a repository: its commands are shown, and a person says yes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.config.trust import Trust, commands_shown, group_alike
from runner.errors import ExitCode, RunnerError
from runner.implementers.registry import AGENTS, agent_of
from runner.model import BlockKind, Network
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.config.settings import Settings
    from runner.model import GateSpec, Task
    from runner.plan.document import Plan
    from runner.project import Project
    from runner.run.review import Asker

_FIRST = "this plan runs commands on your machine"
_NEW = "this repository runs more than what you agreed to"
_QUESTION = "run them, now and in later runs of this repository? [y/N] "
_QUESTION_DETAILS = "run them, now and in later runs of this repository? [y/N], [d]etails "
_AGENT = "the agent program {}, with your login and the network"


def require_trust(
    project: Project,
    plan: Plan,
    *,
    trusted: bool,
    asker: Asker | None,
    again: str = "runner --trust",
) -> None:
    """Raise RunnerError (exit 3) unless a person lets this repository's commands run.

    Asked once a repository, kept in the user's state folder, and once more for what its settings
    bring later and for agents that it calls later. `--trust` and `CI=true` are a yes.
    `again` is what to type to say so: it starts no more than what was asked for.
    """
    trust = Trust(project.places.state)
    brought = {line: who for who, line in reversed(tuple(_list_brought_commands(project, plan)))}
    given = trust.is_given(project.root)
    if given:
        unseen = trust.list_unseen(project.root, reversed(brought))
        shown = commands_shown((brought[line], line) for line in unseen)
    else:
        shown = commands_shown(_commands(project, plan))
    if not shown or project.environ.get("CI", "").lower() == "true":
        return
    if trusted:
        trust.give(project.root, "--trust", brought)
        return
    if asker is not None and _ask(asker, f"{_NEW if given else _FIRST}:", shown):
        trust.give(project.root, "asked", brought)
        return
    raise RunnerError(
        f"{_NEW}; nothing has run"
        if given
        else "this repository's commands are not trusted yet; nothing has run",
        detail="\n".join(f"  {display(redact(line))}" for line in shown),
        hint=f"read them, then: {again}",
        code=ExitCode.PERSON,
    )


def _ask(asker: Asker, head: str, shown: tuple[str, ...]) -> bool:
    """Put the question; commands that are alike are told once, each of them at a word."""
    grouped = group_alike(shown)
    question = _QUESTION if len(grouped) == len(shown) else _QUESTION_DETAILS
    lines = grouped
    while True:
        text = "\n".join([head, *(f"  {display(redact(line))}" for line in lines)])
        said = asker.choose(text, question)
        if said not in ("d", "details") or question == _QUESTION:
            return said in ("y", "yes")
        lines, question = shown, _QUESTION


def _list_brought_commands(project: Project, plan: Plan) -> Iterator[tuple[str, str]]:
    """What the repository's own settings run, and every agent that it calls, with who says so.

    A plan's commands are not among them: it is edited all the time, and each of them runs in the
    sandbox. Neither are gates that its manifests declare, since their words are ours.
    """
    settings, sources = project.settings, project.loaded.sources
    files = {name: file for name, said in sources.items() if (file := _file(said))}
    keys = {
        name.rpartition(".")[2]: file for name, file in files.items() if name.startswith("gates.")
    }
    gates = (*settings.gates, *(gate for _, typed in settings.gates_by_type for gate in typed))
    yield from ((keys[gate.name], _gate(gate)) for gate in gates if gate.name in keys)
    for glob, command in settings.compile:
        if (name := f"compile.{glob}") in files:
            yield files[name], f"{command} (compiles {glob})"
    if "command" in files:
        yield files["command"], settings.command
    yield from _agents(settings, files, plan)


def _gate(gate: GateSpec) -> str:
    network = "" if gate.network is Network.NO else f" (network: {gate.network})"
    return f"{gate.command}{network}"


def _agents(settings: Settings, files: Mapping[str, str], plan: Plan) -> Iterator[tuple[str, str]]:
    """The agents that settings or plan call, and the models that the settings name for them."""
    named = {task.implementer.casefold(): task.id for task in reversed(plan.tasks)}
    if file := files.get("implementer"):
        named.setdefault(settings.implementer.casefold(), file)
    for name in AGENTS:
        if name in named:
            with_key = name == "model"
            yield named[name], "a model, with your key" if with_key else _AGENT.format(name)
    for setting in ("model_plan", "model_execute", "model_review", "model_draft"):
        if file := files.get(setting):
            yield file, f"{setting} = {getattr(settings, setting)}"


def _file(said: str) -> str:
    """The repository's file that a setting comes from; empty where it is not the repository's."""
    file = said.partition(":")[0]
    return file if file in ("runner.toml", "pyproject.toml") else ""


def _commands(project: Project, plan: Plan) -> Iterator[tuple[str, str]]:
    """Every command that a run would start, with who asks for it."""
    for gate in project.settings.gates:
        yield "settings", gate.command
    for _, gates in project.settings.gates_by_type:
        yield from (("settings", gate.command) for gate in gates)
    yield from (("settings", command) for _, command in project.settings.compile)
    for task in plan.tasks:
        yield from ((task.id, line) for line in _worker(task, project.settings))
        for block in task.blocks:
            if block.kind is BlockKind.RUN:
                yield task.id, block.text
        yield from ((task.id, contract.command) for contract in task.test_contracts)
        yield from ((task.id, c.value) for c in task.contracts if c.kind == "command")
        yield from ((task.id, gate.command) for gate in task.gates)


def _worker(task: Task, settings: Settings) -> Iterator[str]:
    """Who works on a task, where that is a command, or somebody with the person's login."""
    name = agent_of(task, settings)
    if name == "model":
        yield f"a model, with your key: {settings.model_execute or 'none is named yet'}"
    elif name:
        yield _AGENT.format(name)
    if task.command:
        yield task.command
    elif not name:
        yield settings.command
