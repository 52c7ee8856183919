"""The plan in an issue's clone: on its branch, whose its tasks are, which commands ran before.

The plan of an issue on its branch: what a person approved stands there before it is built.

A run commits statuses and what tasks wrote, never a person's edit of the plan. In the clone of an
issue nobody else saves it: without this, what is merged would lack the plan that it was built by.

Which tasks of a clone's plan are its issue's, and how they stand.

Which commands of a draft somebody let run here before: those alone go on without a person.

Known is what stands in the repository's own plan, settings and manifests, word for word, and the
test programs that its analysis finds, called on plain paths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.draft.draft_checks import Target
from runner.app.inspect.repository_analysis import analyse
from runner.app.inspect.view import View
from runner.extensions.bridge.builder import IssueTask
from runner.journal.lock import RunLock
from runner.model import Status, Verdict
from runner.plan.document import read_plan
from runner.plan.edit import find_spans, set_statuses
from runner.project import BUILD
from runner.repo.clone import ORIGIN, make_refusal
from runner.repo.commit import commit_tree
from runner.repo.remote import Move, Remote, Swap
from runner.run.landing.git_locks import move_branch, prepare_index

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.plan.document import Plan
    from runner.plan.outline import OutlineTask
    from runner.project import Project
    from runner.repo.head import Head
    from runner.repo.read import Repository

# --- on its branch --------------------------------------------------------------------


MESSAGE = "docs: add the approved plan\n"
_FILE = 0o100644


@dataclass(frozen=True, slots=True)
class _Plan:
    """The plan as it is to be committed."""

    path: str
    content: bytes
    mode: int = _FILE


def publish_plan(project: Project, repository: Repository) -> None:
    """Commit the plan of a clone on its branch, in the remote first, where HEAD says another.

    Statuses aside: those are for a run to record. Nothing is done while one goes on, and nothing
    where somebody pushed to the branch: who looks next sees that. After a kill between the two
    moves the branch here follows. Raises RunnerError: the remote refuses it, or does not answer.
    """
    target, head = Target.of(project), repository.find_head()
    if head.commit is None or RunLock(project.root / BUILD).holder() is not None:
        return
    known, prefixes = repository.blob(head.commit, target.path), project.settings.build.id_prefixes
    if _blank(target.data, prefixes) == _blank(known or b"", prefixes):
        return
    plan = _Plan(target.path, target.data)
    new = _push(project, repository, head, plan)
    if not new:
        return
    with prepare_index(repository, head, [plan.path], head.commit, new) as index:
        if move_branch(repository, head, new, "runner: plan", index):
            index.place()


def _blank(data: bytes, prefixes: tuple[str, ...]) -> bytes:
    """A plan in which every status is the same."""
    spans = find_spans(data, prefixes)
    same = dict.fromkeys(spans, (Status.PENDING, ""))
    return set_statuses(data, same, prefixes=prefixes, spans=spans)


def _push(project: Project, repository: Repository, head: Head, plan: _Plan) -> str:
    """The commit that the remote's branch is on then; empty where somebody else moved it."""
    made = commit_tree(repository, head.commit, [plan], MESSAGE)
    with Remote(repository, ORIGIN, project.environ) as remote:
        tip = remote.read(head.ref).get(head.ref, "")
        if tip != head.commit:  # ours has its parent and its tree, and lies here already
            is_ours = repository.parents_of(tip) == (head.commit,)
            return tip if is_ours and repository.tree_of(tip) == made.tree else ""
        moved = remote.swap(Move(head.ref, tip, made.sha, is_branch=True))
    if moved.swap is Swap.REFUSED:
        branch = head.ref.removeprefix("refs/heads/")
        raise make_refusal(f"the plan on {branch}", moved.output)
    return made.sha if moved.swap is Swap.DONE else ""


# --- tasks of the issue ---------------------------------------------------------------


_GOOD = (Verdict.PASS, Verdict.FLAKY, Verdict.KNOWN)


def place_inside(project: Project, path: str) -> str:
    """A path of the project as the repository, and so the forge, has it."""
    return f"{project.inside}/{path}" if project.inside else path


def read_base(project: Project, repository: Repository) -> frozenset[str]:
    """Ids of the plan as it was where the branch began: those tasks are not the issue's."""
    head = repository.git.ask("rev-parse", "--verify", f"refs/remotes/{ORIGIN}/HEAD")
    onto = head.out.decode().strip() if head.exit == 0 else ""
    began = repository.merge_base("HEAD", onto) if onto else None
    path = Target.of(project).path
    data = repository.blob(began, path) if began else None
    plan = read_plan(data or b"", path, prefixes=project.settings.build.id_prefixes)
    return frozenset(task.id for task in plan.tasks)


def find_rows(project: Project, others: frozenset[str]) -> tuple[IssueTask, ...]:
    """The tasks of the plan but those."""
    if not project.has_plan:
        return ()
    view = View.of(project)
    return tuple(_make_row(project, view, task) for task in view.tasks if task.id not in others)


def _make_row(project: Project, view: View, task: OutlineTask) -> IssueTask:
    known, graded = view.states[task.id], view.grades.get(task.id)
    passed = sum(one.verdict in _GOOD for one in known.proofs)
    return IssueTask(
        task.id,
        task.title,
        known.status,
        view.note(task) or known.reason or "",
        graded.words if graded else "",
        known.commit,
        f"{passed} of {len(known.proofs)} pass" if known.proofs else "",
        tuple(place_inside(project, one) for one in task.outputs),
    )


# --- commands that ran before ---------------------------------------------------------


_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:\[\]-]*")
"""No option, no quote, no expansion, nothing that a shell reads as more than a word."""
_HARMLESS = frozenset({"-q", "-v", "-x"})
_MODULE = "-m"


def find_unknown(project: Project, plan: Plan, draft: Plan) -> tuple[str, ...]:
    """Commands of `draft` that neither `plan` nor the repository at its commit has."""
    there = frozenset(_list_known(project, plan))
    programs = tuple(one.command.split() for one in analyse(project).test_frameworks)
    asked = (test.command for task in draft.tasks for test in task.test_contracts)
    return tuple(
        dict.fromkeys(one for one in asked if one not in there and not is_plain_test(one, programs))
    )


def _list_known(project: Project, plan: Plan) -> Iterator[str]:
    yield from (gate.command for gate in project.settings.gates)
    yield from (gate.command for gate in analyse(project).gates)
    for task in plan.tasks:
        yield from (test.command for test in task.test_contracts)
        yield from (gate.command for gate in task.gates)


def is_plain_test(command: str, programs: Sequence[Sequence[str]]) -> bool:
    """Whether a command is one of these test programs on plain paths below the repository."""
    words = command.split()
    if command != " ".join(words):
        return False
    for program in programs:
        if program and words[: len(program)] == list(program):
            rest = words[len(program) :]
            return all(one in _HARMLESS or _is_path(one) for one in rest)
    return False


def _is_path(word: str) -> bool:
    return _PATH.fullmatch(word) is not None and ".." not in word
