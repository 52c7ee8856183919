"""`runner store`: where a team's repositories, queue and events are kept; which one is meant."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.report.documents import document
from runner.terminal.screen import patience
from runner.text.display import display
from runner.text.wording import moment, plural, seconds_of_age

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.config import paths, settings
    from runner.config.settings import Settings
    from runner.team import projections, store_engine, store_upkeep, tables
    from runner.team.store_engine import Store
else:
    paths = lazy_module("runner.config.paths")
    projections = lazy_module("runner.team.projections")
    settings = lazy_module("runner.config.settings")
    store_upkeep = lazy_module("runner.team.store_upkeep")
    store_engine = lazy_module("runner.team.store_engine")
    tables = lazy_module("runner.team.tables")


def add_store_flags(parser: argparse.ArgumentParser) -> None:
    """`--store` and `--json`."""
    parser.add_argument("--store", default="", metavar="URL", help="another store, or its path")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def tell(given: argparse.Namespace, kind: str, *lines: str, **content: object) -> ExitCode:
    """Print the lines, or with `--json` the document in their place."""
    print(document(kind, **content) if given.json else "".join(f"{x}\n" for x in lines), end="")
    return ExitCode.OK


def address_of_store(given: argparse.Namespace, environ: Mapping[str, str]) -> str:
    """The address of the store that is meant. Raises RunnerError."""
    said = given.store or read_settings(environ).store
    return store_engine.find_address(paths.Places.of(environ).state, said)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """What holds here, in a repository or outside. Raises RunnerError."""
    return settings.load_settings(Path.cwd(), environ, {}).settings


@contextmanager
def open_team(given: argparse.Namespace, environ: Mapping[str, str]) -> Iterator[Store]:
    """The store that is meant, while entered. Raises RunnerError where it is not ready."""
    with store_engine.open_store(address_of_store(given, environ)) as store:
        yield store


EXAMPLES = """\
Without --store it is a file of SQLite in your state folder, for this machine alone; several
machines share one of PostgreSQL: `store = "postgresql://runner@db/runner"` in your own settings.

examples:
  runner store init                 make it, or bring an older one up to this version
  runner store backup FILE          everything, as JSON lines; restore takes it anywhere
  runner store rebuild              events and tasks again, from the journals of this machine
  runner store check                whether it is whole, and says what the journals say
  runner store prune --older-than 90d --dry-run
                                    which builds that are over would lose their journals' copies

prune takes whole builds, never of one that is not over, and leaves a build's own events, its tasks
and what is in clones; a build that is tried again has its journal copied again.
"""


_VERBS = ("init", "backup", "restore", "rebuild", "check", "prune")


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner store` takes."""
    add = parser.add_argument
    add("verb", choices=_VERBS, help="what is to be done")
    add("file", nargs="?", default="", metavar="FILE", help="of backup and restore")
    add("--older-than", default="", metavar="AGE", help="of prune: builds that ended 90d, 12w ago")
    add("--dry-run", action="store_true", help="of prune: only say what would go")
    add_store_flags(parser)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Do it. Raises RunnerError; `check` ends 1 where something is wrong."""
    needs_file = given.verb in ("backup", "restore")
    if needs_file != bool(given.file):
        said = "needs a file" if needs_file else "takes no file"
        raise RunnerError(f"store {given.verb} {said}", hint="runner store --help")
    is_prune = given.verb == "prune"
    if is_prune != bool(given.older_than) or (given.dry_run and not is_prune):
        said = "needs an age" if is_prune else "takes no age, and no --dry-run"
        raise RunnerError(f"store {given.verb} {said}", hint="runner store prune --older-than 90d")
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
        before = store_upkeep.bring_up(store)
        how = f"was brought from {before} to {new}" if before else "is ready"
        how = "was there already" if before == new else how
        text = f"the store {how}: {display(store.shown)}"
        return tell(given, "store", text, store=store.shown, schema=new)


def _restore(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    with store_engine.new_store(address_of_store(given, environ)) as store:
        rows = store_upkeep.restore(store, Path(given.file))
    text = f"{rows} rows are in {display(store.shown)}"
    return tell(given, "store", text, store=store.shown, rows=rows)


def _back_up(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    with open_team(given, environ) as store:
        rows = store_upkeep.back_up(store, Path(given.file))
    text = f"{rows} rows are in {display(given.file)}"
    return tell(given, "store", text, file=given.file, rows=rows)


def _rebuild(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    with open_team(given, environ) as store:
        made = projections.rebuild(store)
    lines = [f"{made.builds} builds, {made.events} events from journals of this machine"]
    lines += [f"not reached, kept as it was: {id_} ({display(at)})" for id_, at in made.unreached]
    lines += [f"{_told(made.pruned)}: left so"] if made.pruned else []
    return tell(given, "store", *lines, **{name: getattr(made, name) for name in made.__slots__})


def _check(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    with open_team(given, environ) as store:
        faults = list(projections.find_faults(store))
        pruned = store_upkeep.count_pruned(store)
    lines = [*map(display, faults)] or [f"the store is whole: {display(store.shown)}"]
    lines += [f"{_told(pruned)}: not compared"] if pruned else []
    tell(given, "store", *lines, store=store.shown, faults=faults, pruned=pruned)
    return ExitCode.FAILED if faults else ExitCode.OK


def _told(pruned: int) -> str:
    return f"the copies of the journals of {plural(pruned, 'build')} were pruned"


def _prune(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    seconds = seconds_of_age(given.older_than, "--older-than")
    by = store_engine.find_actor(environ)
    with open_team(given, environ) as store, patience("looking at builds that are over"):
        gone = list(store_upkeep.prune_copies(store, seconds, by, dry_run=given.dry_run))
    lines = [
        f"{one.id}  {one.state:<9}  {display(one.repository)}, ended {moment(one.ended)}:"
        f" {plural(one.events, 'event')}"
        for one in gone
    ]
    number = sum(one.events for one in gone)
    how = "would go; nothing was taken away" if given.dry_run else "went; their own events stay"
    lines += [f"{plural(number, 'event')} of {plural(len(gone), 'build')} {how}"]
    builds = [{name: getattr(one, name) for name in one.__slots__} for one in gone]
    return tell(given, "store", *lines, dry_run=given.dry_run, builds=builds, events=number)
