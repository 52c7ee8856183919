"""Before the first run in a repository: its commands are shown, and a person says yes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.config.trust import Trust, commands_shown
from runner.errors import ExitCode, RunnerError
from runner.model import BlockKind
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.model import Task
    from runner.plan.document import Plan
    from runner.project import Project
    from runner.report.console import Console


def require_trust(
    project: Project,
    plan: Plan,
    *,
    trusted: bool,
    terminal: bool,
    console: Console,
    again: str = "runner --trust",
) -> None:
    """Raise RunnerError (exit 3) unless a person lets this repository's commands run.

    Asked once a repository, kept in the user's state folder. `--trust` and `CI=true` are a yes.
    `again` is what to type to say so: it starts no more than what was asked for.
    """
    trust = Trust(project.places.state)
    if trust.given(project.root):
        return
    shown = commands_shown(_commands(project, plan))
    if not shown or project.environ.get("CI", "").lower() == "true":
        return
    if trusted:
        trust.give(project.root, "--trust")
        return
    lines = [f"  {display(redact(line))}" for line in shown]
    if terminal:
        console.say("this plan runs commands on your machine:\n" + "\n".join(lines))
        if _yes("run them, now and in later runs of this repository? [y/N] "):
            trust.give(project.root, "asked")
            return
    raise RunnerError(
        "this repository's commands are not trusted yet; nothing has run",
        detail="\n".join(lines),
        hint=f"read them, then: {again}",
        code=ExitCode.PERSON,
    )


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
    from runner.implementers.registry import agent_of

    name = agent_of(task, settings)
    if name == "model":
        yield f"a model, with your key: {settings.model_execute or 'none is named yet'}"
    elif name:
        yield f"the agent program {name}, with your login and the network"
    if task.command:
        yield task.command
    elif not name:
        yield settings.command


def _yes(question: str) -> bool:
    import sys

    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
