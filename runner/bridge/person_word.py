"""What a person's word does to an issue: a plan is decided, a task revised, all of it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.bridge.issue_desk import LIMIT, StoppedError
from runner.bridge.slash_commands import Verb
from runner.bridge.status_comment import Stage, format_used_up
from runner.errors import ExitCode

if TYPE_CHECKING:
    from runner.bridge.issue_desk import IssueDesk
    from runner.bridge.slash_commands import SlashCommand
    from runner.journal.draft_events import DraftProposed


def refuse_plan(desk: IssueDesk, draft: DraftProposed, reason: str) -> None:
    """Have another plan written."""
    ended = desk.builder.reject(draft, reason)
    if ended.code == ExitCode.INTERRUPTED:
        raise StoppedError
    desk.memory = desk.memory._replace(rejected=desk.memory.rejected + 1)


def obey(desk: IssueDesk, command: SlashCommand) -> None:
    """Do what somebody said, and remember that it is done; done twice, it is done once."""
    answer = command.wrong or _carry_out(desk, command)
    desk.memory = desk.memory._replace(seen=command.comment, answer=answer)
    desk.show(_find_stage(desk))


def _find_stage(desk: IssueDesk) -> Stage:
    """What to show until the next step says more."""
    if desk.memory.is_paused:
        return Stage.PAUSED
    return Stage.PERSON if desk.memory.handed else Stage.PLANNING


def _carry_out(desk: IssueDesk, command: SlashCommand) -> str:
    who = command.author
    match command.verb:
        case Verb.STOP:
            desk.memory = desk.memory._replace(is_paused=True)
            return f"Stopped by {who}."
        case Verb.RETRY:
            return _retry(desk, who)
        case Verb.CHANGE:
            return _change(desk, command)
        case _:
            return _decide(desk, command)


def _retry(desk: IssueDesk, who: str) -> str:
    if desk.memory.handed and desk.memory.revised >= LIMIT:
        return format_used_up(LIMIT, "revisions", desk.trigger)
    if Stage.PAUSED in desk.issue.labels:
        desk.forge.remove_label(desk.number, Stage.PAUSED)
    revised = desk.memory.revised + bool(desk.memory.handed)
    desk.memory = desk.memory._replace(is_paused=False, handed="", revised=revised)
    return f"Tried again, as {who} said."


def _decide(desk: IssueDesk, command: SlashCommand) -> str:
    """Approve or refuse the plan that was named."""
    draft = desk.builder.look().draft
    if draft is None or not draft.digest.removeprefix("sha256:").startswith(command.digest):
        return f"No plan with the digest {command.digest[:12]} waits: read the one that does."
    if command.verb is Verb.APPROVE:
        if draft.mistakes:
            return "That plan has to be mended first."
        desk.builder.approve(draft, f"{command.author} (comment {command.comment})")
        return f"The plan was approved by {command.author}."
    if desk.memory.rejected >= LIMIT:
        desk.memory = desk.memory._replace(handed=format_used_up(LIMIT, "plans", desk.trigger))
        return format_used_up(LIMIT, "plans", desk.trigger)
    desk.show(Stage.PLANNING)
    refuse_plan(desk, draft, command.text)
    return f"The plan was refused by {command.author}, and another one was asked for."


def _change(desk: IssueDesk, command: SlashCommand) -> str:
    facts = desk.builder.look()
    if command.task not in {one.id for one in facts.tasks}:
        return f"There is no {command.task} here."
    if desk.memory.revised >= LIMIT:
        return format_used_up(LIMIT, "revisions", desk.trigger)
    ended = desk.builder.change(command.task, f"{command.text} (comment {command.comment})")
    if ended.code == ExitCode.INTERRUPTED:
        raise StoppedError
    if ended.code:
        desk.memory = desk.memory._replace(
            handed=f"The change could not be recorded.\n{ended.said}"
        )
        return "The change could not be recorded."
    desk.memory = desk.memory._replace(revised=desk.memory.revised + 1, handed="")
    return f"{command.task} is revised, as {command.author} said."
