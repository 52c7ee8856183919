"""`runner team store`: manage the store of a team's repositories, queue and events."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.report.documents import document
from runner.terminal.screen import patience
from runner.text.display import display
from runner.text.wording import moment, plural, seconds_of_age

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.config import loading, paths
    from runner.config.settings import Settings
    from runner.extensions.team import projections, store_engine, store_upkeep, tables
    from runner.extensions.team.store_engine import Store
else:
    paths = lazy_module("runner.config.paths")
    projections = lazy_module("runner.extensions.team.projections")
    loading = lazy_module("runner.config.loading")
    store_upkeep = lazy_module("runner.extensions.team.store_upkeep")
    store_engine = lazy_module("runner.extensions.team.store_engine")
    tables = lazy_module("runner.extensions.team.tables")


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


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
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
