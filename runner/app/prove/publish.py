"""Push a branch and open a pull request with `gh`, at a person's request.

`runner ship --pr` pushes what was shipped and opens one pull request for it. The programs run with
the person's own rights, in bounded time, without a sandbox or task.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.prove.verified_tree import grades_in
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import ExitCode, RunnerError
from runner.journal.records import read_journal
from runner.journal.session_events import TreeVerified
from runner.lazy_pattern import regex
from runner.model import Network
from runner.process.base import Command, Place
from runner.process.limits import Limits
from runner.process.sandbox import NoSandbox
from runner.process.supervise import run
from runner.process.tools import which
from runner.repo.git import SAFE_SETTINGS, as_environment
from runner.repo.read import Repository
from runner.repo.refs import slug
from runner.repo.remote import find_left_out, head_name, prepare_push, prepare_question, record_push
from runner.report import ship
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.journal.state import RunState
    from runner.model import Task
    from runner.process.base import Ran
    from runner.project import Project


_SECONDS = 120.0
"""Timeout of a push or a forge call, in seconds."""
_ADDRESS = regex(r"https?://\S+")
_UNKNOWN_PERSON = regex(r"gh auth|log ?in|credential|\btoken|401", re.IGNORECASE)
# No prompt is visible here (`gh help environment`, git(1)): fail instead of waiting.
_QUIET = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "GIT_TERMINAL_PROMPT": "0"}
# Texts of git's transport.c, which git does not translate.
_REJECTED = ("[rejected]", "[remote rejected]", "non-fast-forward", "stale info")


class Publisher(Struct, frozen=True):
    """Speaks to one remote; nothing is ever forced, and nothing is taken back."""

    root: Path
    environ: Mapping[str, str]
    remote: str
    repository: Repository

    def push(self, *refs: str) -> None:
        """Push refs under their own names. Raises RunnerError, exit 6 where it is refused."""
        with prepare_push(self.repository, self.remote, refs, self.environ) as push:
            ran = self._run(push.argv, push.environment)
        if ran.passed:
            for ref in refs:
                record_push(self.repository, self.remote, ref)
            return
        refused = any(word in ran.tail for word in _REJECTED)
        raise RunnerError(
            f"the push to {self.remote} failed",
            detail=ran.tail.strip(),
            hint=f"git fetch {self.remote}: it may have new commits; nothing was force-pushed"
            if refused
            else self._hint(find_left_out(self.repository)),
            code=ExitCode.CONFLICT if refused else ExitCode.PERSON,
        )

    def default_branch(self) -> str:
        """Return the default branch of the remote; empty if it has none. Raises RunnerError.

        Raises RunnerError, exit 3, where this clone does not know and the remote does not answer.
        """
        if known := _default_branch(self.repository, self.remote):
            return known
        with prepare_question(self.repository, self.remote, self.environ) as question:
            ran = self._run(question.argv, question.environment)
        if ran.passed:
            return head_name(ran.tail)
        raise RunnerError(
            f"cannot find the default branch of {self.remote}",
            detail=ran.tail.strip(),
            hint=self._hint(find_left_out(self.repository)),
            code=ExitCode.PERSON,
        )

    def _hint(self, unheeded: tuple[str, ...]) -> str:
        """Return a hint for a remote that cannot be reached."""
        if unheeded:
            message = f"this repository's own {', '.join(unheeded)} is ignored"
            return f"{message}: copy what you need to ~/.gitconfig"
        return f"check the address: git remote get-url --push {self.remote}"

    def request_of(self, branch: str) -> str:
        """Return the URL of a branch's open pull request; empty if there is none."""
        words = ("--head", branch, "--state", "open", "--json", "url", "--limit", "1")
        ran = self._run(("gh", "pr", "list", *words), self._plain_environment())
        found = _ADDRESS.search(ran.tail) if ran.passed else None
        # The address is inside JSON; the expression also matches the closing characters.
        return found[0].rstrip('"}],') if found else ""

    def open_request(self, branch: str, title: str, body: str, *options: str) -> str:
        """Open a pull request; its address. Raises RunnerError with what `gh` says."""
        flags = ("--head", branch, "--title", title, "--body-file", "-")
        ran = self._run(("gh", "pr", "create", *flags, *options), self._plain_environment(), body)
        if not ran.passed:
            raise RunnerError(
                f"gh could not open a pull request for {branch}",
                detail=ran.tail.strip(),
                hint="gh auth status"
                if _UNKNOWN_PERSON.search(ran.tail)
                else f"`gh pr create --head {branch}` shows why; the push succeeded",
                code=ExitCode.PERSON,
            )
        found = _ADDRESS.findall(ran.tail)
        return found[-1] if found else ""

    def _plain_environment(self) -> Mapping[str, str]:
        """Return the environment with safe git settings, for the git processes that `gh` starts."""
        settings = SAFE_SETTINGS + self.repository.configuration().silence()
        return {**self.environ, **as_environment(settings, self.environ)}

    def _run(self, argv: tuple[str, ...], environ: Mapping[str, str], stdin: str = "") -> Ran:
        data = stdin.encode("utf-8", "replace")
        variables = {**environ, **_QUIET}
        return errand(argv, self.root, variables, stdin=data, seconds=_SECONDS)


def publisher(root: Path, repository: Repository, environ: Mapping[str, str]) -> Publisher | str:
    """Return the publisher for this repository, or a message about a missing requirement."""
    remote = _remote(repository)
    if not remote:
        return "git has no remote (git remote add origin …)"
    if which("gh", environ) is None:
        return "gh is not installed (https://cli.github.com)"
    return Publisher(root, environ, remote, repository)


def _remote(repository: Repository) -> str:
    """Return the remote of the current branch, else `origin`, else the only one."""
    names = repository.git.line("remote").split()
    branch = repository.head().shown
    asked = repository.git.ask("config", "--get", f"branch.{branch}.remote")
    own = asked.out.decode("utf-8", "replace").strip()
    if own in names:
        return own
    if "origin" in names:
        return "origin"
    return names[0] if len(names) == 1 else ""


def _default_branch(repository: Repository, remote: str) -> str:
    """Return the default branch of the remote as recorded in this clone; empty if unknown."""
    asked = repository.git.ask("symbolic-ref", "-q", f"refs/remotes/{remote}/HEAD")
    return asked.out.decode("utf-8", "replace").strip().removeprefix(f"refs/remotes/{remote}/")


# --- user command ---------------------------------------------------------------------


def errand(
    line: str | tuple[str, ...],
    root: Path,
    environ: Mapping[str, str],
    *,
    stdin: bytes = b"",
    seconds: float = 30.0,
) -> Ran:
    """Run a shell line, or a program with its arguments, in the project's folder.

    It is ended after `seconds`, with all that it started. It gets the person's environment, but
    nothing that a git hook around this process would tell it.
    """
    variables = {name: value for name, value in environ.items() if name not in _OF_A_HOOK}
    with TemporaryFolder("errand") as box:
        command = Command(
            line=line,
            place=Place(tree=root, shown=root, box=Path(box)),
            environment=variables,
            stdin=stdin,
            network=Network.YES,
            limits=Limits(soft=0, idle=seconds, hard=seconds),
        )
        return run(command, NoSandbox())


_OF_A_HOOK = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})
"""Variables that git sets for hooks and that would misdirect another git."""


# --- ship request ---------------------------------------------------------------------


_USUAL = ("main", "master")
"""Likely target branches of a remote without any branch."""


class PullRequestDraft(Struct, frozen=True):
    """A pull request that can be opened: everything it needs is there."""

    publisher: Publisher
    branch: str

    def open(self, title: str, body: str, tag: str) -> str:
        """Push the branch and the tag, and open it; the address of the one that is open already."""
        self.publisher.push(f"refs/heads/{self.branch}", f"refs/tags/{tag}")
        # An earlier or killed ship may have opened it: a forge accepts no second one.
        known = self.publisher.request_of(self.branch)
        return known or self.publisher.open_request(self.branch, title, redact(body))


def find_request(project: Project) -> PullRequestDraft:
    """Prepare the pull request before a ship. Raises RunnerError (exit 2) if that fails."""
    with Repository.open(project.root) as repository:
        return _find_request(project, repository)


def _find_request(project: Project, repository: Repository) -> PullRequestDraft:
    there = publisher(project.root, repository, project.environ)
    if isinstance(there, str):
        raise RunnerError(
            f"cannot open a pull request: {there}", hint="ship without it: runner ship"
        )
    head = repository.head()
    if not head.ref.startswith("refs/heads/"):
        raise RunnerError("no branch is checked out", hint="git switch -c NAME")
    branch = head.ref.removeprefix("refs/heads/")
    default = there.default_branch()
    if branch == default or (not default and branch in _USUAL):
        name = slug(project.outline().title or project.root.name)
        raise RunnerError(
            f"{branch} is the branch that pull requests to {there.remote} target",
            hint=f"git switch -c ship-{name}, then ship that branch",
            code=ExitCode.PERSON,
        )
    return PullRequestDraft(there, branch)


def publish_ship(project: Project, request: PullRequestDraft, tag: str) -> str:
    """Push what was shipped as `tag` and open its pull request; gives the address.

    Raises RunnerError where the remote or `gh` refuses; nothing is forced.
    """
    plan, state = project.plan(project.plan_bytes), project.state()
    verified = last_verification(project) if state.seq else None
    body = body_of(project, tag, plan.tasks, state, verified)
    return request.open(plan.title or project.root.name, body, tag)


def last_verification(project: Project) -> TreeVerified:
    """Return the last passed verification of a whole tree."""
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
    """Return the text of the pull request."""
    states = {task.id: state.task(task.id) for task in tasks}
    grades = grades_in(project, tasks, state)
    return ship.request_text(tag, tasks, states, verified, grades, state.drafted)
