"""`runner team repo` and `team people`: manage repositories and people.

Who belongs to it, what they may do at its page, and their tokens.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from runner.errors import ExitCode, RunnerError
from runner.extensions.team.store_commands import open_team, read_settings, tell
from runner.lazy_module import lazy_module
from runner.report.documents import document
from runner.text.display import display, format_error
from runner.text.wording import moment, seconds_of_age

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.extensions.team import people, repository_list, store_engine
    from runner.extensions.team.people import Act, Doer, Person, Token
    from runner.extensions.team.store_engine import Store
else:
    repository_list = lazy_module("runner.extensions.team.repository_list")
    store_engine = lazy_module("runner.extensions.team.store_engine")
    people = lazy_module("runner.extensions.team.people")

# --- repositories ---------------------------------------------------------------------


def execute_repo(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Run `team repo`. Raises RunnerError; `check` exits with 1 for an unreachable repository."""
    if given.verb in ("add", "remove") and not given.what:
        raise RunnerError(f"repo {given.verb} needs a URL or name", hint="runner team repo --help")
    with open_team(given, environ) as store:
        match given.verb:
            case "add":
                return _add_repository(store, given, environ)
            case "remove":
                return _remove_repository(store, given)
            case "check":
                return _check_repository(store, given, environ)
            case _:
                return _list_repositories(store, given)


def _add_repository(
    store: Store, given: argparse.Namespace, environ: Mapping[str, str]
) -> ExitCode:
    who = store_engine.find_actor(environ)
    asked = repository_list.Registered(
        given.name, given.what, given.branch, given.plan, given.credential, "", who
    )
    made, commit = repository_list.add_repository(store, asked, environ)
    text = f"{made.name}: {display(made.url)}, {display(made.branch)} at {commit[:12]}"
    return tell(given, "repository", text, repository=made)


def _remove_repository(store: Store, given: argparse.Namespace) -> ExitCode:
    repository_list.remove_repository(store, given.what)
    text = f"{display(given.what)} was removed; its builds are still listed"
    return tell(given, "repository", text, removed=given.what)


def _list_repositories(store: Store, given: argparse.Namespace) -> ExitCode:
    known = repository_list.list_repositories(store)
    lines = [f"{one.name}  {display(one.url)}  {display(one.branch)}" for one in known]
    lines = lines or ["no repository yet: runner team repo add URL"]
    return tell(given, "repositories", *lines, repositories=known)


def _check_repository(
    store: Store, given: argparse.Namespace, environ: Mapping[str, str]
) -> ExitCode:
    chosen = (
        (repository_list.find_repository(store, given.what),)
        if given.what
        else repository_list.list_repositories(store)
    )
    rows, mine = [], read_settings(environ).team
    permitted = (mine.worker_credentials, mine.worker_folders)
    for one in chosen:
        try:
            rows.append((one.name, repository_list.try_access(one, environ, *permitted)[1], ""))
        except RunnerError as error:
            rows.append((one.name, "", format_error(error).removeprefix("runner: ")))
    checked = [{"name": name, "commit": commit, "fault": why} for name, commit, why in rows]
    lines = [f"{name}  {commit[:12] or display(why, lines=True)}" for name, commit, why in rows]
    tell(given, "repositories", *lines, repositories=checked)
    return ExitCode.FAILED if any(why for _, _, why in rows) else ExitCode.OK


# --- people ---------------------------------------------------------------------------


_PEOPLE_VERBS = ("add", "list", "role", "token", "revoke", "remove", "log")
_TAKES = {"add": 1, "list": 0, "role": 2, "token": 1, "revoke": 1, "remove": 1, "log": 0}
_DEFAULT_ROLE = "viewer"


def execute_people(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Run `team people`. Raises RunnerError."""
    takes = _TAKES[given.verb]
    if len(given.what) != takes:
        words = ("no argument", "one name or ID", "a name and a role")[takes]
        raise RunnerError(f"people {given.verb} takes {words}", hint="runner team people --help")
    _require_fitting(given)
    doer = people.Doer(store_engine.find_actor(environ))
    with open_team(given, environ) as store:
        match given.verb:
            case "add":
                person = people.add_person(store, given.what[0], given.role or _DEFAULT_ROLE, doer)
                name = person.name
                text = f"{name} is {person.role}; next: runner team people token {name}"
                return tell(given, "people", text, person=_describe(person))
            case "token":
                return _make(store, given, doer)
            case "list":
                return _list_people(store, given)
            case "log":
                return _show_log(store, given)
            case _:
                return _change(store, given, doer)


def _require_fitting(given: argparse.Namespace) -> None:
    """Raise RunnerError for a flag of another verb."""
    for flag, verb in (("role", "add"), ("label", "token"), ("days", "token")):
        if getattr(given, flag) and given.verb != verb:
            raise RunnerError(
                f"--{flag} is only for people {verb}",
                hint=f"use --{flag} with `runner team people {verb}`",
            )


def _change(store: Store, given: argparse.Namespace, doer: Doer) -> ExitCode:
    name = given.what[0]
    if given.verb == "role":
        role = given.what[1]
        people.set_role(store, name, role, doer)
        return tell(given, "people", display(f"{name} is now {role}"), person=name, role=role)
    if given.verb == "remove":
        people.remove_person(store, name, doer)
        text = f"{display(name)} was removed; their tokens no longer work"
        return tell(given, "people", text, removed=name)
    token = people.revoke_token(store, name, doer)
    text = f"token {token.id} of {token.person} is revoked"
    return tell(given, "people", text, token=_describe_token(token))


def _make(store: Store, given: argparse.Namespace, doer: Doer) -> ExitCode:
    seconds = seconds_of_age(given.days, "--days") if given.days else 0.0
    made, token = people.make_token(store, given.what[0], doer, label=given.label, seconds=seconds)
    if given.json:
        print(document("people", secret=made, token=_describe_token(token)), end="")
        return ExitCode.OK
    print(made)
    until = f", until {moment(token.ends)}" if token.ends else ""
    print(
        f"this is token {token.id} of {token.person}{until}; copy it now: it is not shown again",
        file=sys.stderr,
    )
    return ExitCode.OK


def _list_people(store: Store, given: argparse.Namespace) -> ExitCode:
    known = people.list_people(store)
    lines = [line for one in known for line in _format_person(one)]
    lines = lines or ["no people yet: runner team people add NAME --role admin"]
    return tell(given, "people", *lines, people=[_describe(one) for one in known])


def _format_person(one: Person) -> Iterator[str]:
    yield f"{one.name}  {one.role}"
    yield from ("  " + "  ".join(_format_token(token)) for token in one.tokens)


def _format_token(token: Token) -> Iterator[str]:
    yield token.id
    if token.label:
        yield display(token.label)
    yield f"created {moment(token.made)}"
    yield f"used {moment(token.used)}" if token.used else "never used"
    if token.revoked:
        yield f"revoked by {display(token.revoked_by)}"
    elif token.ends:
        yield f"{'until' if token.is_live else 'expired'} {moment(token.ends)}"


def _show_log(store: Store, given: argparse.Namespace) -> ExitCode:
    known = people.list_acts(store)
    lines = [_format_act(one) for one in reversed(known)] or ["no changes yet"]
    rows = [asdict(one) for one in known]
    return tell(given, "people", *lines, acts=rows)


def _format_act(one: Act) -> str:
    words = (moment(one.time), one.kind, one.about, one.note)
    line = "  ".join(filter(None, map(display, words)))
    return f"{line}  by {display(one.by)} ({one.via})"


def _describe(one: Person) -> dict[str, object]:
    fields = {name: getattr(one, name) for name in ("name", "role", "added", "by")}
    return {**fields, "tokens": [_describe_token(token) for token in one.tokens]}


def _describe_token(one: Token) -> dict[str, object]:
    return {**asdict(one), "live": one.is_live}
