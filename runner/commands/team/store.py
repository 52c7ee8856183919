"""`runner store`: where a team's repositories, queue and events are kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.team.team_store import add_store_flags, address_of_store, open_team
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.report.documents import document
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.team import projections, schema_steps, store_copy, store_engine, tables
else:
    projections = lazy_module("runner.team.projections")
    schema_steps = lazy_module("runner.team.schema_steps")
    store_copy = lazy_module("runner.team.store_copy")
    store_engine = lazy_module("runner.team.store_engine")
    tables = lazy_module("runner.team.tables")

_EPILOG = """\
Without --store it is a file of SQLite in your state folder, for this machine alone; several
machines share one of PostgreSQL: `store = "postgresql://runner@db/runner"` in your own settings.

examples:
  runner store init                 make it, or bring an older one up to this version
  runner store backup FILE          everything, as JSON lines; restore takes it anywhere
  runner store rebuild              events and tasks again, from the journals of this machine
  runner store check                whether it is whole, and says what the journals say
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner store` takes."""
    del name
    parser.epilog = _EPILOG
    add = parser.add_argument
    add(
        "verb", choices=("init", "backup", "restore", "rebuild", "check"), help="what is to be done"
    )
    add("file", nargs="?", default="", metavar="FILE", help="of backup and restore")
    add_store_flags(parser)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Do it. Raises RunnerError; `check` ends 1 where something is wrong."""
    needs_file = given.verb in ("backup", "restore")
    if needs_file != bool(given.file):
        said = "needs a file" if needs_file else "takes no file"
        raise RunnerError(f"store {given.verb} {said}", hint="runner store --help")
    match given.verb:
        case "init":
            return _init(given, environ)
        case "restore":
            return _restore(given, environ)
        case "backup":
            return _back_up(given, environ)
        case "rebuild":
            return _rebuild(given, environ)
        case _:
            return _check(given, environ)


def _say(given: argparse.Namespace, text: str, **content: object) -> None:
    print(document("store", **content) if given.json else text + "\n", end="")


def _init(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    address = address_of_store(given, environ)
    store_engine.make_place(address)
    store = store_engine.open_engine(address)
    try:
        before = store_engine.read_revision(store)
        if before:
            schema_steps.require_known(before)
        with store.write() as connection:
            schema_steps.go_up(connection)
        how = "was there already" if before == tables.REVISION else "is ready"
        how = (
            f"was brought from {before} to {tables.REVISION}"
            if before not in ("", tables.REVISION)
            else how
        )
        _say(
            given,
            f"the store {how}: {display(store.shown)}",
            store=store.shown,
            schema=tables.REVISION,
        )
    finally:
        store.close()
    return ExitCode.OK


def _restore(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    address = address_of_store(given, environ)
    store_engine.make_place(address)
    store = store_engine.open_engine(address)
    try:
        rows = store_copy.restore(store, Path(given.file))
    finally:
        store.close()
    _say(given, f"{rows} rows are in {display(store.shown)}", store=store.shown, rows=rows)
    return ExitCode.OK


def _back_up(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    with open_team(given, environ) as store:
        rows = store_copy.back_up(store, Path(given.file))
    _say(given, f"{rows} rows are in {display(given.file)}", file=given.file, rows=rows)
    return ExitCode.OK


def _rebuild(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    with open_team(given, environ) as store:
        made = projections.rebuild(store)
    lines = [f"{made.builds} builds, {made.events} events from journals of this machine"]
    lines += [f"not reached, kept as it was: {id_} ({display(at)})" for id_, at in made.unreached]
    _say(given, "\n".join(lines), **{name: getattr(made, name) for name in made.__slots__})
    return ExitCode.OK


def _check(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    with open_team(given, environ) as store:
        faults = list(projections.find_faults(store))
    text = "\n".join(map(display, faults)) or f"the store is whole: {display(store.shown)}"
    _say(given, text, store=store.shown, faults=faults)
    return ExitCode.FAILED if faults else ExitCode.OK
