"""`runner bridge`: turn a forge's issues into drafted plans, builds and proven pull requests."""

from __future__ import annotations

import re
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.output import open_console, with_flag
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from types import FrameType

    from runner.app.draft import draft_checks, drafting
    from runner.extensions.bridge import bridge_round, forge_http, github, issue_clone, rehearsal
    from runner.extensions.bridge.bridge_round import BridgeRequest
    from runner.plan import document
    from runner.repo import read, remote
    from runner.run.review import Asker
else:
    bridge_round = lazy_module("runner.extensions.bridge.bridge_round")
    document = lazy_module("runner.plan.document")
    draft_checks = lazy_module("runner.app.draft.draft_checks")
    drafting = lazy_module("runner.app.draft.drafting")
    forge_http = lazy_module("runner.extensions.bridge.forge_http")
    github = lazy_module("runner.extensions.bridge.github")
    issue_clone = lazy_module("runner.extensions.bridge.issue_clone")
    remote = lazy_module("runner.repo.remote")
    read = lazy_module("runner.repo.read")
    rehearsal = lazy_module("runner.extensions.bridge.rehearsal")

_SHORTEST_POLL = 1
_PAGES = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._~-]+)*")
"""No character in it ends a Markdown link."""
_ADDRESS = re.compile(r"(?:https://|ssh://git@|git@)github\.com[/:]([^/\s]+/[^/\s]+?)(?:\.git)?/?")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Serve one repository. Raises RunnerError, exit 6 where another bridge does."""
    token = issue_clone.read_token(environ)
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    api = given.api or environ.get("GITHUB_API_URL") or github.DEFAULT_API
    name = given.repo or _find_repository(project, given.remote)
    asked = _read_request(given, project.settings.build.agents)
    if given.dry_run and given.follow:
        raise RunnerError("--dry-run covers one round only", hint="omit --follow")
    if given.dry_run:
        return _rehearse(project, api, token, name, asked)
    forge = github.GitHub(forge_http.ForgeHttp(api, token), name)
    with open_console(project, is_quiet=True) as (observer, asker):
        _require_trust(project, given, asker)
        bridge = bridge_round.Bridge(
            project, forge, asked, lambda line: print(line, flush=True), observer
        )
        _end_with_signal(bridge.over)
        return bridge.serve(follow=given.follow)


def _read_request(given: argparse.Namespace, agents: int) -> BridgeRequest:
    if not _SHORTEST_POLL <= given.every <= threading.TIMEOUT_MAX:  # no number is not either
        raise RunnerError("must be at least 1 second", where="--every")
    artifacts = given.artifacts.rstrip("/")
    if artifacts and not _PAGES.fullmatch(artifacts):
        raise RunnerError(
            "not a valid http:// or https:// address",
            where="--artifacts",
            hint="--artifacts https://builds.example/runner",
        )
    label = given.label.casefold()  # as a forge's labels are read
    return bridge_round.BridgeRequest(
        label, given.remote, agents, given.every, given.sub_issues, artifacts
    )


def _rehearse(project: Project, api: str, token: str, name: str, asked: BridgeRequest) -> ExitCode:
    """Print one round and do nothing; this needs neither trust nor the lease."""

    def tell(line: str) -> None:
        print(line, flush=True)

    forge = rehearsal.Rehearsal(rehearsal.RehearsalHttp(api, token, tell=tell), name)
    forge.login = forge.find_login()
    with open_console(project, is_quiet=True) as (observer, _):
        return bridge_round.Bridge(project, forge, asked, tell, observer).rehearse()


def _require_trust(project: Project, given: argparse.Namespace, asker: Asker | None) -> None:
    """Ask once, here, for all that clones of this repository may run; exit 3 without a drafter."""
    drafting.require_drafter(project)
    target = draft_checks.Target.of(project)
    plan = document.read_plan(target.data, target.path, prefixes=project.settings.build.id_prefixes)
    again = with_flag(given, "--trust")
    drafting.require_drafter_trust(project, plan, asker, trusted=given.trust, again=again)


def _find_repository(project: Project, name: str) -> str:
    """Return the remote's repository on github.com. Raises RunnerError for another address."""
    with read.Repository.open(project.root) as repository:
        found = _ADDRESS.fullmatch(remote.address_of(repository, name))
    if found is None:
        raise RunnerError(f"{name} is not a repository on github.com", hint="--repo OWNER/NAME")
    return found[1]


def _end_with_signal(over: threading.Event) -> None:
    """Install a SIGTERM handler that stops the rounds cleanly and gives the lease back."""

    def end(_number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=over.set).start()  # its lock may be held where this comes between

    signal.signal(signal.SIGTERM, end)
