"""`runner ship --pr`: what was shipped is pushed, and one pull request is opened for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.prove.publish import Publisher, publisher
from runner.app.prove.unverified_tasks import grades_in
from runner.errors import ExitCode, RunnerError
from runner.journal.read_journal import read_journal
from runner.journal.tree_events import TreeVerified
from runner.repo.read import Repository
from runner.repo.refs import slug
from runner.report.pull_request import request_text
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.journal.state import RunState
    from runner.model import Task
    from runner.project import Project

_USUAL = ("main", "master")
"""What a remote without any branch is likely to take pull requests into."""


@dataclass(frozen=True, slots=True)
class Request:
    """A pull request that can be opened: everything it needs is there."""

    publisher: Publisher
    branch: str

    def open(self, title: str, body: str, tag: str) -> str:
        """Push the branch and the tag, and open it; the address of the one that is open already."""
        self.publisher.push(f"refs/heads/{self.branch}", f"refs/tags/{tag}")
        known = self.publisher.request_of(self.branch)
        return known or self.publisher.open_request(self.branch, title, redact(body))


def find_request(project: Project) -> Request:
    """Look before anything is shipped. Raises RunnerError (exit 2) for what is missing."""
    with Repository.open(project.root) as repository:
        return _find_request(project, repository)


def _find_request(project: Project, repository: Repository) -> Request:
    there = publisher(project.root, repository, project.environ)
    if isinstance(there, str):
        raise RunnerError(
            f"no pull request can be opened: {there}", hint="runner ship, without --pr"
        )
    head = repository.head()
    if not head.ref.startswith("refs/heads/"):
        raise RunnerError("no branch is checked out", hint="git switch -c NAME")
    branch = head.ref.removeprefix("refs/heads/")
    default = there.default_branch()
    if branch == default or (not default and branch in _USUAL):
        raise RunnerError(
            f"{branch} is where {there.remote} takes pull requests into",
            hint=f"git switch -c {_suggest_branch(project)}, then ship that branch",
            code=ExitCode.PERSON,
        )
    return Request(there, branch)


def publish_ship(project: Project, request: Request, tag: str) -> str:
    """Push what was shipped as `tag` and open its pull request; gives the address.

    Raises RunnerError where the remote or `gh` refuses; nothing is forced.
    """
    plan, state = project.plan(project.plan_bytes), project.state()
    verified = last_verification(project) if state.seq else None
    body = body_of(project, tag, plan.tasks, state, verified)
    return request.open(plan.title or project.root.name, body, tag)


def last_verification(project: Project) -> TreeVerified:
    """The last proof of a whole tree that passed."""
    records = read_journal(project.journal_path, wanted=frozenset({"tree.verified"}))
    found = [one.event for one in records if isinstance(one.event, TreeVerified)]
    return next(one for one in reversed(found) if one.passed)


def body_of(
    project: Project,
    tag: str,
    tasks: Sequence[Task],
    state: RunState,
    verified: TreeVerified | None,
) -> str:
    """What the pull request says."""
    states = {task.id: state.task(task.id) for task in tasks}
    return request_text(tag, tasks, states, verified, grades_in(project, tasks, state))


def _suggest_branch(project: Project) -> str:
    return f"ship-{slug(project.outline().title or project.root.name)}"
