"""`runner brief ID`: exactly what an implementer of the task would be told by the next attempt."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.commands.one_task import add_arguments, one_task
from runner.errors import ExitCode
from runner.implementers.base import Mode
from runner.model import Finding

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.commands.one_task import OneTask
    from runner.context.brief import Brief
    from runner.implementers.base import Implementer
    from runner.model import TaskPlan

_EXAMPLES = """\
examples:
  runner brief TASK-003                 the brief; what its parts cost on standard error
  runner brief 3 --parts                only what its parts cost, in tokens
  runner brief 3 --json
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner brief` takes."""
    del name
    add_arguments(parser, _EXAMPLES)
    parser.add_argument("--parts", action="store_true", help="only the tokens of each part")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the brief, made by the very code that makes a run's."""
    asked = one_task(given, environ)
    brief, mode = _render_brief(asked)
    if given.json:
        print(_document(asked.id, brief, mode), end="")
        return ExitCode.OK
    if given.parts:
        print(_format_sizes(brief), end="")
    else:
        sys.stdout.write(brief.text.rstrip("\n") + "\n")
        sys.stdout.flush()
        print(_format_sizes(brief), end="", file=sys.stderr)
    _warn(brief)
    return ExitCode.OK


def _render_brief(asked: OneTask) -> tuple[Brief, str]:
    """The brief with all that stands behind it in the next session, and what that is for."""
    from runner.app.answer.task_plans import task_plans
    from runner.app.build.preparation_preview import preparation_of
    from runner.context.brief import Part, tokens_of
    from runner.repo.read import Repository

    task, attempt = asked.task, asked.view.states[asked.id].last_attempt + 1
    preparation = preparation_of(asked.project, asked.plan, asked.view.state)
    with Repository.open(asked.project.root) as repository:
        step = task_plans(preparation, repository).step(task, preparation.base())
    brief = preparation.brief(task, attempt, step)
    # a plan that waits for its review is asked for no more: it is executed once it is approved
    mode = step.mode if step.plan is None else Mode.EXECUTE
    words = _around(preparation.implementer(task), brief, mode, step.plan)
    if not words:
        return brief, str(mode)
    part = Part("session", tokens_of(words))
    return replace(brief, text=brief.text + words, parts=(*brief.parts, part)), str(mode)


def _around(
    implementer: Implementer | Finding, brief: Brief, mode: Mode, plan: TaskPlan | None
) -> str:
    """What an agent or a model is told beside the brief; nothing of what is no such."""
    name = getattr(implementer, "name", "")
    if isinstance(implementer, Finding) or not implementer.is_agent:
        return ""
    if name == "model":
        from runner.implementers.llm import system_prompt

        said = system_prompt.PLAN if mode is Mode.PLAN else system_prompt.EXECUTE
        return f"\n---\n\n# Its instructions\n\n{said}"
    from runner.implementers.agents import prompts

    return prompts.planning_prompt() if mode is Mode.PLAN else prompts.execution(brief, plan)


def _document(id_: str, brief: Brief, mode: str) -> str:
    from runner.report.documents import document

    return document(
        "brief",
        task=id_,
        attempt=brief.attempt,
        mode=mode,
        task_type=brief.kind,
        patterns=[pattern.id for pattern in brief.patterns],
        searched=brief.searched,
        skills=list(brief.skills),
        tokens=brief.tokens,
        parts=[part._asdict() for part in brief.parts],
        warnings=list(brief.warnings),
        text=brief.text,
    )


def _format_sizes(brief: Brief) -> str:
    """What each part costs, and the whole."""
    from runner.report.table import table

    rows = [(part.name, str(part.tokens)) for part in brief.parts]
    return table(("PART", "TOKENS"), [*rows, ("all", str(brief.tokens))])


def _warn(brief: Brief) -> None:
    from runner.text.display import display

    for one in brief.warnings:
        print(f"warning: {display(one.path)}:{one.line}: {display(one.message)}", file=sys.stderr)
