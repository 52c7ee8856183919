"""What leaves this machine on a person's word: a branch pushed, a pull request opened by `gh`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.commands.errand import errand
from runner.errors import ExitCode, RunnerError
from runner.process.tools import which

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.process.command import Ran
    from runner.repo.read import Repository

_SECONDS = 120.0
"""The longest that a push, or a word with the forge, may take."""
_ADDRESS = re.compile(r"https?://\S+")
_QUIET = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "GIT_TERMINAL_PROMPT": "0"}
_REJECTED = ("[rejected]", "[remote rejected]", "non-fast-forward", "stale info")


@dataclass(frozen=True, slots=True)
class Publisher:
    """Speaks to one remote; nothing is ever forced, and nothing is taken back."""

    root: Path
    environ: Mapping[str, str]
    remote: str

    def push(self, *refs: str) -> None:
        """Push refs under their own names. Raises RunnerError, exit 6 where it is refused."""
        names = [f"{ref}:{ref}" for ref in refs]
        # as a person would type it, but for hooks, which a repository may have brought along
        git = ("git", "-c", "core.hooksPath=/dev/null", "push", "--porcelain")
        # neither does its configuration name what runs at the other end, nor a remote an option
        ran = self._run((*git, "--receive-pack=git-receive-pack", "--", self.remote, *names))
        if ran.passed:
            return
        refused = any(word in ran.tail for word in _REJECTED)
        raise RunnerError(
            f"{self.remote} does not take the push",
            detail=ran.tail.strip(),
            hint=f"git fetch {self.remote}: it may have what is not here; nothing was forced"
            if refused
            else f"git push {self.remote} says more",
            code=ExitCode.CONFLICT if refused else ExitCode.PERSON,
        )

    def request_of(self, branch: str) -> str:
        """The address of the open pull request of a branch; empty where there is none."""
        words = ("--head", branch, "--state", "open", "--json", "url", "--limit", "1")
        ran = self._run(("gh", "pr", "list", *words))
        found = _ADDRESS.search(ran.tail) if ran.passed else None
        return found[0].rstrip('"}],') if found else ""

    def open_request(self, branch: str, title: str, body: str, *options: str) -> str:
        """Open a pull request; its address. Raises RunnerError with what `gh` says."""
        said = ("--head", branch, "--title", title, "--body-file", "-")
        ran = self._run(("gh", "pr", "create", *said, *options), body)
        if not ran.passed:
            raise RunnerError(
                f"gh opened no pull request for {branch}",
                detail=ran.tail.strip(),
                hint="gh auth status",
                code=ExitCode.PERSON,
            )
        found = _ADDRESS.findall(ran.tail)
        return found[-1] if found else ""

    def _run(self, argv: tuple[str, ...], stdin: str = "") -> Ran:
        told = {**self.environ, **_QUIET}
        data = stdin.encode("utf-8", "replace")
        return errand(argv, self.root, told, stdin=data, seconds=_SECONDS)


def publisher(root: Path, repository: Repository, environ: Mapping[str, str]) -> Publisher | str:
    """Who publishes from here, or what is missing for that, in words."""
    remote = _remote(repository)
    if not remote:
        return "there is no remote (git remote add origin …)"
    if which("gh", environ) is None:
        return "gh is not installed (https://cli.github.com)"
    return Publisher(root, environ, remote)


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


def default_branch(repository: Repository, remote: str) -> str:
    """The branch that a remote's clone begins on, as far as this clone knows; else empty."""
    asked = repository.git.ask("symbolic-ref", "-q", f"refs/remotes/{remote}/HEAD")
    return asked.out.decode("utf-8", "replace").strip().removeprefix(f"refs/remotes/{remote}/")
