"""What others speak with: `runner mcp` for an assistant, `lsp` for an editor, `bridge` for a forge.

By the bridge, issues of a forge become drafted plans, builds and proven pull requests.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.catalogue import Command
from runner.commands.output import open_console, type_again
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.text.wording import install_hint

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from types import FrameType

    from runner.app.draft import draft_checks, drafting
    from runner.bridge import bridge_round, forge_http, github, issue_clone, rehearsal
    from runner.bridge.bridge_round import BridgeRequest
    from runner.editor import language_server
    from runner.mcp_server import calls, server
    from runner.plan import document
    from runner.repo import push, read
    from runner.run.review import Asker
else:
    calls = lazy_module("runner.mcp_server.calls")
    language_server = lazy_module("runner.editor.language_server")
    server = lazy_module("runner.mcp_server.server")
    bridge_round = lazy_module("runner.bridge.bridge_round")
    document = lazy_module("runner.plan.document")
    draft_checks = lazy_module("runner.app.draft.draft_checks")
    drafting = lazy_module("runner.app.draft.drafting")
    forge_http = lazy_module("runner.bridge.forge_http")
    github = lazy_module("runner.bridge.github")
    issue_clone = lazy_module("runner.bridge.issue_clone")
    push = lazy_module("runner.repo.push")
    read = lazy_module("runner.repo.read")
    rehearsal = lazy_module("runner.bridge.rehearsal")

# --- assistants and editors -----------------------------------------------------------


_MCP = """\
examples:
  claude mcp add runner -- runner mcp
  codex mcp add runner -- runner mcp
  runner mcp --folder ../service        for a client that starts programs elsewhere
"""


def mcp_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner mcp` takes."""
    parser.add_argument("--folder", metavar="PATH", help="the project, where it is not this folder")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute_mcp(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Answer until the input ends. Raises RunnerError for a folder that is none."""
    folder = Path(given.folder or ".").absolute()
    if not folder.is_dir():
        raise RunnerError("there is no such folder", where=str(folder), hint="runner mcp --help")
    if sys.stdin.isatty():
        said = "this speaks with a program, a JSON message a line; runner mcp --help says how"
        print(f"note: {said}", file=sys.stderr)
    caller = calls.Caller(folder, environ, given.task_graph or "")
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
        server.Server(caller, output).serve(sys.stdin.buffer)
    return ExitCode.OK


_LSP = """\
examples:
  runner lsp                  started by an editor; docs/editors.md has the lines to set it up
"""


def lsp_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner lsp` takes; `--stdio` is what many editors add by themselves."""
    parser.add_argument("--stdio", action="store_true", help="over stdin and stdout, as always")


def execute_lsp(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Serve until the client goes; exit 1 where it goes without a shutdown."""
    del given
    if find_spec("pygls") is None:
        raise RunnerError("the language server needs pygls", hint=install_hint("lsp"))
    signal.signal(signal.SIGINT, lambda *_: language_server.leave(ExitCode.INTERRUPTED))
    code = ExitCode.OK if language_server.serve(environ) else ExitCode.FAILED
    language_server.leave(code)
    return code


# --- a forge --------------------------------------------------------------------------


_BRIDGE = """\
examples:
  GH_TOKEN=… runner bridge github --repo acme/shop            one round
  GH_TOKEN=… runner bridge github --repo acme/shop --follow   until it is ended
  GH_TOKEN=… runner bridge github --dry-run                   what a round would write

An issue that somebody who may push labels `runner` is drafted into a plan. The plan waits in the
issue's one comment, for `/runner approve DIGEST` of such a person; then it is built on a branch
such as runner/42-csv-export, proven together, and proposed as a pull request. Run it in a clone
that you trust.
docs/bridge.md has the rights that the token needs, and what is never done.
"""
_SHORTEST_POLL = 1
_PAGES = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._~-]+)*")
"""Nothing in it ends a link of markdown."""
_ADDRESS = re.compile(r"(?:https://|ssh://git@|git@)github\.com[/:]([^/\s]+/[^/\s]+?)(?:\.git)?/?")


def bridge_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner bridge` takes."""
    add = parser.add_argument
    add("forge", choices=("github",), help="whose API it is")
    add("--repo", default="", metavar="OWNER/NAME", help="(default: by the remote's address)")
    add("--follow", action="store_true", help="go on, and look again and again")
    add("--every", type=float, default=60, metavar="SECONDS", help="between looks (default: 60)")
    add("--dry-run", action="store_true", help="tell each call that writes, and make none")
    add("--sub-issues", action="store_true", help="show tasks as issues below theirs, one way")
    add("--artifacts", default="", metavar="URL", help="where people read the artifact store")
    add("--label", default="runner", metavar="NAME", help="by which it is asked (default: runner)")
    add("--remote", default="origin", metavar="NAME", help="of this clone (default: origin)")
    add("--api", default="", metavar="URL", help="of the API (default: https://api.github.com)")
    add("--trust", action="store_true", help="run this repository's commands without asking")


def execute_bridge(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Serve one repository. Raises RunnerError, exit 6 where another bridge does."""
    token = issue_clone.read_token(environ)
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    api = given.api or environ.get("GITHUB_API_URL") or github.DEFAULT_API
    name = given.repo or _find_repository(project, given.remote)
    asked = _read_request(given, project.settings.agents)
    if given.dry_run and given.follow:
        raise RunnerError("--dry-run tells of one round", hint="leave --follow out")
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
        raise RunnerError("a forge is not asked more than once a second", where="--every")
    artifacts = given.artifacts.rstrip("/")
    if artifacts and not _PAGES.fullmatch(artifacts):
        raise RunnerError(
            "this is no address of pages",
            where="--artifacts",
            hint="--artifacts https://builds.example/runner",
        )
    label = given.label.casefold()  # as a forge's labels are read
    return bridge_round.BridgeRequest(
        label, given.remote, agents, given.every, given.sub_issues, artifacts
    )


def _rehearse(project: Project, api: str, token: str, name: str, asked: BridgeRequest) -> ExitCode:
    """One round of which all is told and nothing done: it needs neither trust nor the lease."""

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
    plan = document.read_plan(target.data, target.path, prefixes=project.settings.id_prefixes)
    again = type_again(given, "--trust")
    drafting.require_drafter_trust(project, plan, asker, trusted=given.trust, again=again)


def _find_repository(project: Project, remote: str) -> str:
    """What a remote's address on github.com names. Raises RunnerError for any other."""
    with read.Repository.open(project.root) as repository:
        found = _ADDRESS.fullmatch(push.address_of(repository, remote))
    if found is None:
        raise RunnerError(f"{remote} is no repository of github.com", hint="--repo OWNER/NAME")
    return found[1]


def _end_with_signal(over: threading.Event) -> None:
    """SIGTERM ends it as a round ends: what goes on is ended, and the lease given back."""

    def end(_number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=over.set).start()  # its lock may be held where this comes between

    signal.signal(signal.SIGTERM, end)


COMMANDS = {
    "mcp": Command(_MCP, mcp_arguments, execute_mcp),
    "lsp": Command(_LSP, lsp_arguments, execute_lsp),
    "bridge": Command(_BRIDGE, bridge_arguments, execute_bridge),
}
