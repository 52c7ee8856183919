"""What leaves this machine on a person's word: a branch pushed, a pull request opened by `gh`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.user_command import errand
from runner.errors import ExitCode, RunnerError
from runner.process.tools import which
from runner.repo import safe_config
from runner.repo.push import find_left_out, head_said, prepare_push, prepare_question, record_push

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.process.base import Ran
    from runner.repo.read import Repository

_SECONDS = 120.0
"""The longest that a push, or a word with the forge, may take."""
_ADDRESS = re.compile(r"https?://\S+")
_UNKNOWN_PERSON = re.compile(r"gh auth|log ?in|credential|\btoken|401", re.IGNORECASE)
_QUIET = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "GIT_TERMINAL_PROMPT": "0"}
_REJECTED = ("[rejected]", "[remote rejected]", "non-fast-forward", "stale info")


@dataclass(frozen=True, slots=True)
class Publisher:
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
            f"{self.remote} does not take the push",
            detail=ran.tail.strip(),
            hint=f"git fetch {self.remote}: it may have what is not here; nothing was forced"
            if refused
            else self._hint(find_left_out(self.repository)),
            code=ExitCode.CONFLICT if refused else ExitCode.PERSON,
        )

    def default_branch(self) -> str:
        """The branch that the remote's clones begin on; empty where it has none.

        Raises RunnerError, exit 3, where this clone does not know and the remote does not answer.
        """
        if known := _default_branch(self.repository, self.remote):
            return known
        with prepare_question(self.repository, self.remote, self.environ) as question:
            ran = self._run(question.argv, question.environment)
        if ran.passed:
            return head_said(ran.tail)
        raise RunnerError(
            f"{self.remote} does not say which branch it takes pull requests into",
            detail=ran.tail.strip(),
            hint=self._hint(find_left_out(self.repository)),
            code=ExitCode.PERSON,
        )

    def _hint(self, unheeded: tuple[str, ...]) -> str:
        """What may help where the other end cannot be reached."""
        if unheeded:
            said = f"this repository's own {', '.join(unheeded)} is not heeded"
            return f"{said}: what you need of it belongs into ~/.gitconfig"
        return f"look at the address: git remote get-url --push {self.remote}"

    def request_of(self, branch: str) -> str:
        """The address of the open pull request of a branch; empty where there is none."""
        words = ("--head", branch, "--state", "open", "--json", "url", "--limit", "1")
        ran = self._run(("gh", "pr", "list", *words), self._plain_environment())
        found = _ADDRESS.search(ran.tail) if ran.passed else None
        return found[0].rstrip('"}],') if found else ""

    def open_request(self, branch: str, title: str, body: str, *options: str) -> str:
        """Open a pull request; its address. Raises RunnerError with what `gh` says."""
        said = ("--head", branch, "--title", title, "--body-file", "-")
        ran = self._run(("gh", "pr", "create", *said, *options), self._plain_environment(), body)
        if not ran.passed:
            raise RunnerError(
                f"gh opened no pull request for {branch}",
                detail=ran.tail.strip(),
                hint="gh auth status"
                if _UNKNOWN_PERSON.search(ran.tail)
                else f"gh pr create --head {branch} says more; the push is done",
                code=ExitCode.PERSON,
            )
        found = _ADDRESS.findall(ran.tail)
        return found[-1] if found else ""

    def _plain_environment(self) -> Mapping[str, str]:
        """The person's environment, in which the git that `gh` asks runs nothing it finds here."""
        settings = safe_config.SETTINGS + self.repository.configuration().silence()
        return {**self.environ, **safe_config.as_environment(settings, self.environ)}

    def _run(self, argv: tuple[str, ...], environ: Mapping[str, str], stdin: str = "") -> Ran:
        data = stdin.encode("utf-8", "replace")
        told = {**environ, **_QUIET}
        return errand(argv, self.root, told, stdin=data, seconds=_SECONDS)


def publisher(root: Path, repository: Repository, environ: Mapping[str, str]) -> Publisher | str:
    """Who publishes from here, or what is missing for that, in words."""
    remote = _remote(repository)
    if not remote:
        return "there is no remote (git remote add origin …)"
    if which("gh", environ) is None:
        return "gh is not installed (https://cli.github.com)"
    return Publisher(root, environ, remote, repository)


def _remote(repository: Repository) -> str:
    """The remote of the branch that is checked out, else `origin`, else the only one."""
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
    """The branch that a remote's clone begins on, where this clone was made from it; else empty."""
    asked = repository.git.ask("symbolic-ref", "-q", f"refs/remotes/{remote}/HEAD")
    return asked.out.decode("utf-8", "replace").strip().removeprefix(f"refs/remotes/{remote}/")
