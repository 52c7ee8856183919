"""Builders of values for the rooms of a run: no disk, no git."""

from runner.journal.state import RunState
from runner.model import Resource, Spec, Task
from runner.run.journal_writer import rehearse

SPEC = Spec("sha256:what", "sha256:proof")


def a_task(id_="TASK-001", **fields):
    """A task that is made of a few fields; `uses` as words: `gpu 1, port 80`."""
    uses = fields.pop("uses", "")
    resources = tuple(Resource(*one.split()) for one in uses.split(", ") if one)
    fields.setdefault("title", f"Task {id_}")
    fields.setdefault("spec", SPEC)
    return Task(id=id_, line=1, uses=resources, **fields)


def a_graph(text):
    """`A; B needs A; C needs A, B` as tasks."""
    tasks = []
    for part in text.split(";"):
        id_, _, needs = part.strip().partition(" needs ")
        tasks.append(a_task(id_, depends_on=tuple(one.strip() for one in needs.split(",") if one)))
    return tasks


def a_ledger():
    """A journal that forgets."""
    return rehearse(RunState.empty())
