"""`runner repo`: the repositories that a team builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.commands.team.team_store import add_store_flags, open_team, read_settings, tell
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.display import display, format_error

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.team import repository_list, store_engine
    from runner.team.store_engine import Store
else:
    repository_list = lazy_module("runner.team.repository_list")
    store_engine = lazy_module("runner.team.store_engine")

EXAMPLES = """\
Whether it can be reached is tried at once, with your own login; whoever builds it needs one, too.
--credential NAME names a variable of the worker's environment with a token for an https address.

examples:
  runner repo add git@forge.example:acme/shop.git
  runner repo add https://forge.example/acme/shop.git --branch main --credential SHOP_TOKEN
  runner repo check            every one of them is asked again
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner repo` takes."""
    add = parser.add_argument
    add("verb", choices=("add", "list", "check", "remove"), help="what is to be done")
    add("what", nargs="?", default="", metavar="URL|NAME", help="the address, later its name")
    add("--name", default="", metavar="NAME", help="what it is called (default: by its address)")
    add("--branch", default="", metavar="NAME", help="builds begin on it (default: the remote's)")
    add("--plan", default="", metavar="PATH", help="another plan than TASK-GRAPH.md")
    add("--credential", default="", metavar="VARIABLE", help="where a worker finds the token")
    add_store_flags(parser)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Do it. Raises RunnerError; `check` ends 1 where one does not answer."""
    if given.verb in ("add", "remove") and not given.what:
        raise RunnerError(f"which one is to {given.verb}?", hint="runner repo --help")
    with open_team(given, environ) as store:
        match given.verb:
            case "add":
                return _add(store, given, environ)
            case "remove":
                return _remove(store, given)
            case "check":
                return _check(store, given, environ)
            case _:
                return _list(store, given)


def _add(store: Store, given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    who = store_engine.find_actor(environ)
    asked = repository_list.Registered(
        given.name, given.what, given.branch, given.plan, given.credential, "", who
    )
    made, commit = repository_list.add_repository(store, asked, environ)
    text = f"{made.name}: {display(made.url)}, {display(made.branch)} at {commit[:12]}"
    return tell(given, "repository", text, repository=made)


def _remove(store: Store, given: argparse.Namespace) -> ExitCode:
    repository_list.remove_repository(store, given.what)
    text = f"{display(given.what)} is no longer built; its builds are still told"
    return tell(given, "repository", text, removed=given.what)


def _list(store: Store, given: argparse.Namespace) -> ExitCode:
    known = repository_list.list_repositories(store)
    lines = [f"{one.name}  {display(one.url)}  {display(one.branch)}" for one in known]
    lines = lines or ["no repository yet: runner repo add URL"]
    return tell(given, "repositories", *lines, repositories=known)


def _check(store: Store, given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    chosen = (
        (repository_list.find_repository(store, given.what),)
        if given.what
        else repository_list.list_repositories(store)
    )
    rows, mine = [], read_settings(environ)
    permitted = (mine.worker_credentials, mine.worker_folders)
    for one in chosen:
        try:
            rows.append((one.name, repository_list.try_access(one, environ, *permitted)[1], ""))
        except RunnerError as error:
            rows.append((one.name, "", format_error(error).removeprefix("runner: ")))
    told = [{"name": name, "commit": commit, "fault": why} for name, commit, why in rows]
    lines = [f"{name}  {commit[:12] or display(why, lines=True)}" for name, commit, why in rows]
    tell(given, "repositories", *lines, repositories=told)
    return ExitCode.FAILED if any(why for _, _, why in rows) else ExitCode.OK
