"""A stand-in agent that plans before it writes: a shell script, told by $MODE what is asked."""

import sys
from dataclasses import dataclass
from pathlib import Path

from runner.context.task_plan import read_plan
from runner.implementers import registry
from runner.implementers.base import Mode, WorkResult
from runner.implementers.command import failure, output_of, summarize, work

NAME = "drafter"


@dataclass(frozen=True, slots=True)
class Drafter:
    """Runs a shell line in both modes; what it prints in plan mode is its plan."""

    line: str
    name: str = NAME
    is_agent: bool = True
    repeatable: bool = False

    @classmethod
    def for_task(cls, task, settings):
        return cls(task.command or settings.build.command)

    def implement(self, brief, context):
        told = {"MODE": context.mode.value, "RUNNER_ATTEMPT": str(brief.attempt)}
        ran = work(self.line, context, told, stdin=brief.text.encode())
        failed = failure(ran, context, "the agent")
        text = output_of(ran)
        plan = read_plan(text) if context.mode is Mode.PLAN and "## Steps" in text else None
        return WorkResult(summarize(text), findings=(failed,) if failed else (), plan=plan)


def a_plan(*files, steps=("Write it",), phases=()):
    """The text of a plan; a phase is a title and its files."""
    lines = ["## Steps", *(f"{n}. {step}" for n, step in enumerate(steps, start=1))]
    lines += ["## Files", *(f"- `{path}`" for path in files)]
    lines += ["## Phases"] if phases else []
    for title, *paths in phases:
        lines += [f"### {title}", f"- Files: {', '.join(paths)}", f"1. {title} it"]
    return "\n".join(lines) + "\n"


def says(text):
    """Shell that prints a text."""
    return f"cat <<'SAID'\n{text}SAID\n"


def a_script(plan, execute, before=""):
    """The stand-in's script: shell for plan mode, and for executing the plan."""
    return f"{before}\ncase $MODE in\nplan)\n{plan}\n;;\nexecute)\n{execute}\n;;\nesac\n"


def install(settings=registry.IMPLEMENTERS):
    """Let plans name it."""
    settings[NAME] = Drafter


if __name__ == "__main__":  # the real command line, with this stand-in in the list
    sys.path.insert(0, str(Path(__file__).parents[2]))
    install()
    from runner.cli import main

    sys.exit(main(sys.argv[1:]))
