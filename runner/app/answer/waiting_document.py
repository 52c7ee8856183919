"""What waits for a person: as data for `review --json`, the page and its API; how to answer it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.answer.waiting import DRAFT, PERMISSION, PLAN, as_data, find_plan, find_stale_work
from runner.lazy_module import lazy_module
from runner.run.permission_prompts import call_text
from runner.run.review import open_questions
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.app.answer.waiting import Waiting
    from runner.app.draft import draft_answers
    from runner.journal.draft_events import DraftProposed
    from runner.journal.state import RunState
    from runner.project import Project
else:
    draft_answers = lazy_module("runner.app.draft.draft_answers")


def describe_waiting(project: Project, state: RunState, one: Waiting) -> dict[str, object]:
    """One item of the document `review`."""
    known = state.task(one.task)
    changes = [
        {
            "path": change.path,
            "action": str(change.action),
            "before": change.before,
            "after": change.after,
        }
        for change in one.changes
    ]
    return {
        "id": one.task,
        "title": one.title,
        "kind": one.kind,
        "note": one.note,
        "changes": changes,
        "questions": [finding.message for finding in open_questions(known)],
        **_by_kind(project, state, one),
        **({"culprit": one.culprit, "approved": known.approved} if one.culprit else {}),
    }


def _by_kind(project: Project, state: RunState, one: Waiting) -> dict[str, object]:
    """What only this kind of waiting has."""
    match one.kind:
        case "stale":
            stale = find_stale_work(project, one.task)
            return {
                "commit": stale.commit or None,
                "asked": stale.asked,
                "edited": stale.edited,
                "tests": [{"id": test.id, "command": test.command} for test in stale.contracts],
            }
        case "plan":
            planned = find_plan(state, one.task)
            return {"plan": planned.plan, "path": planned.path, "digest": planned.digest}
        case "draft":
            return {"draft": describe_draft(draft_answers.find_draft(project, one.task))}
        case "permission":
            return {"asks": [call._asdict() for call in state.task(one.task).asks]}
        case "regression":
            return as_data(state, one.task)
    return {}


def describe_draft(one: DraftProposed) -> dict[str, object]:
    """A draft of tasks that waits."""
    covered = [
        {"asked": said, "tasks": [word for word in ids.split(", ") if word]}
        for said, ids in zip(one.asked, one.covered_by, strict=False)
    ]
    return {
        "id": f"DRAFT-{one.number}",
        "kind": "draft",
        "plan": one.plan,
        "digest": one.digest,
        "tasks": list(one.tasks),
        "text": one.text,
        "wish": one.wish,
        "source": one.source or None,
        "asked": covered,
        "takenOut": list(one.taken_out),
        "notes": list(one.notes),
        "mistakes": list(one.mistakes),
        "rounds": one.rounds,
        "by": one.by,
    }


def format_calls(state: RunState, task: str) -> Iterator[str]:
    """The calls that wait for permission, each with the rule that asks."""
    for one in state.task(task).asks:
        rule = f" ({display(one.rule)})" if one.rule else ""
        yield f"wants to call {call_text(one)}{rule}"


def how_to_answer(shown: tuple[Waiting, ...]) -> str:
    """What can be typed about what was listed."""
    if any(one.kind == "regression" for one in shown):
        return "runner review ID shows it whole; number or ID can be approved or rejected"
    if any(one.changes or one.kind in (PLAN, PERMISSION, DRAFT) for one in shown):
        return "runner review ID shows it; runner approve ID, or runner reject ID --reason …"
    if any(one.kind == "stale" for one in shown):
        return (
            "runner review ID shows what was built; runner approve ID [--reuse], "
            "or runner reject ID --reason … to leave it as it is"
        )
    return "runner why ID says more; runner retry ID has it tried again"
