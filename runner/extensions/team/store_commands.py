"""Administer a team's store: `team store`, `team repo`, `team people` and `stats --team`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from runner.commands.output import say
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.report.documents import document
from runner.terminal.screen import patience
from runner.text.display import display, format_error
from runner.text.wording import moment, plural, seconds_of_age

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.config import loading, paths
    from runner.config.settings import Settings
    from runner.extensions.team import (
        people,
        projections,
        repository_list,
        store_engine,
        store_upkeep,
        tables,
        team_budget,
    )
    from runner.extensions.team.people import Act, Doer, Person, Token
    from runner.extensions.team.store_engine import Store
else:
    paths = lazy_module("runner.config.paths")
    projections = lazy_module("runner.extensions.team.projections")
    loading = lazy_module("runner.config.loading")
    store_upkeep = lazy_module("runner.extensions.team.store_upkeep")
    store_engine = lazy_module("runner.extensions.team.store_engine")
    tables = lazy_module("runner.extensions.team.tables")
    repository_list = lazy_module("runner.extensions.team.repository_list")
    people = lazy_module("runner.extensions.team.people")
    team_budget = lazy_module("runner.extensions.team.team_budget")


def tell(given: argparse.Namespace, kind: str, *lines: str, **content: object) -> ExitCode:
    """Print the lines, or with `--json` the document in their place."""
    print(document(kind, **content) if given.json else "".join(f"{x}\n" for x in lines), end="")
    return ExitCode.OK


def address_of_store(given: argparse.Namespace, environ: Mapping[str, str]) -> str:
    """Return the address of the selected store. Raises RunnerError."""
    address = given.store or read_settings(environ).team.store
    return store_engine.find_address(paths.Places.of(environ).state, address)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Load the settings for the current folder, in a repository or outside. Raises RunnerError."""
    return loading.load_settings(Path.cwd(), environ, {}).settings


@contextmanager
def open_team(given: argparse.Namespace, environ: Mapping[str, str]) -> Iterator[Store]:
    """Open the configured store for the block. Raises RunnerError if it is not ready."""
    with store_engine.open_store(address_of_store(given, environ)) as store:
        yield store


def execute_store(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Run `team store`. Raises RunnerError; `check` exits with 1 if it finds a fault."""
    needs_file = given.verb in ("backup", "restore")
    if needs_file != bool(given.file):
        why = "needs a file" if needs_file else "takes no file"
        raise RunnerError(f"store {given.verb} {why}", hint="runner team store --help")
    is_prune = given.verb == "prune"
    if is_prune != bool(given.older_than) or (given.dry_run and not is_prune):
        why = "needs --older-than" if is_prune else "takes no --older-than or --dry-run"
        raise RunnerError(
            f"store {given.verb} {why}", hint="runner team store prune --older-than 90d"
        )
    match given.verb:
        case "init":
            return _init(given, environ)
        case "restore":
            return _restore(given, environ)
        case "backup":
            return _back_up(given, environ)
        case "rebuild":
            return _rebuild(given, environ)
        case "prune":
            return _prune(given, environ)
        case _:
            return _check(given, environ)


def _init(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    new = tables.REVISION
    with store_engine.new_store(address_of_store(given, environ)) as store:
        before = store_upkeep.migrate_schema(store)
        how = f"was upgraded from {before} to {new}" if before else "is ready"
        how = "is up to date" if before == new else how
        text = f"the store {how}: {display(store.shown)}"
        return tell(given, "store", text, store=store.shown, schema=new)


def _restore(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    with store_engine.new_store(address_of_store(given, environ)) as store:
        rows = store_upkeep.restore(store, Path(given.file))
    text = f"restored {rows} rows into {display(store.shown)}"
    return tell(given, "store", text, store=store.shown, rows=rows)


def _back_up(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    with open_team(given, environ) as store:
        rows = store_upkeep.back_up(store, Path(given.file))
    text = f"saved {rows} rows to {display(given.file)}"
    return tell(given, "store", text, file=given.file, rows=rows)


def _rebuild(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    with open_team(given, environ) as store:
        made = projections.rebuild(store)
    lines = [f"rebuilt {made.builds} builds and {made.events} events from journals on this machine"]
    lines += [
        f"unchanged, since its journal is not on this machine: {id_} ({display(at)})"
        for id_, at in made.unreached
    ]
    lines += [f"{_describe_pruned(made.pruned)}: unchanged"] if made.pruned else []
    return tell(given, "store", *lines, **asdict(made))


def _check(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    with open_team(given, environ) as store:
        faults = list(projections.find_faults(store))
        pruned = store_upkeep.count_pruned(store)
    lines = [*map(display, faults)] or [f"the store is intact: {display(store.shown)}"]
    lines += [f"{_describe_pruned(pruned)}: not compared"] if pruned else []
    tell(given, "store", *lines, store=store.shown, faults=faults, pruned=pruned)
    return ExitCode.FAILED if faults else ExitCode.OK


def _describe_pruned(pruned: int) -> str:
    return f"the journal copies of {plural(pruned, 'build')} were pruned"


def _prune(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    seconds = seconds_of_age(given.older_than, "--older-than")
    by = store_engine.find_actor(environ)
    with open_team(given, environ) as store, patience("checking finished builds"):
        gone = list(store_upkeep.prune_copies(store, seconds, by, dry_run=given.dry_run))
    lines = [
        f"{one.id}  {one.state:<9}  {display(one.repository)}, ended {moment(one.ended)}:"
        f" {plural(one.events, 'event')}"
        for one in gone
    ]
    number = sum(one.events for one in gone)
    how = "would be removed; nothing was changed" if given.dry_run else "removed; build events stay"
    lines += [f"{plural(number, 'event')} of {plural(len(gone), 'build')} {how}"]
    builds = [asdict(one) for one in gone]
    return tell(given, "store", *lines, dry_run=given.dry_run, builds=builds, events=number)


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


def count(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode | None:
    """Count the team's builds; None without `--team`. Raises RunnerError."""
    if not given.team:
        return None
    if given.time:
        raise RunnerError("--time cannot be combined with --team", hint="omit one")
    if given.since:
        raise RunnerError("--team counts current builds only", hint="omit --since")
    given.store = ""
    with open_team(given, environ) as store:
        counted = team_budget.count_team(store)
    say(counted, team_budget.team_lines, team_budget.team_document, as_json=given.json)
    return ExitCode.OK
