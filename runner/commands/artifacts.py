"""`runner team artifacts` and `prune`: list and store artifacts, remove old leftovers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from runner.config.sizes import format_size
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.report.documents import document
from runner.report.table import table
from runner.terminal.screen import patience
from runner.text.display import display
from runner.text.wording import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.artifacts import artifact_export, prune_leftovers
    from runner.app.artifacts.artifact_export import Fetched, Listed
    from runner.app.artifacts.prune_leftovers import Leftover, PruneRecord
else:
    artifact_export = lazy_module("runner.app.artifacts.artifact_export")
    prune_leftovers = lazy_module("runner.app.artifacts.prune_leftovers")

# --- the store ------------------------------------------------------------------------


def _open_project(
    given: argparse.Namespace, environ: Mapping[str, str], *, plan_needed: bool = False
) -> Project:
    flags = {"task_graph": given.task_graph, "artifacts_store": given.store}
    settings = {name: value for name, value in flags.items() if value}
    return Project.open(Path.cwd(), environ, settings, plan_needed=plan_needed)


def list_artifacts(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show what is stored, and what waits. Raises RunnerError where no store is set."""
    project = _open_project(given, environ)
    with patience("querying the artifact store"):
        found = artifact_export.list_artifacts(project, given.run, remote=given.remote)
    trouble = artifact_export.read_trouble(project)
    if given.json:
        where = artifact_export.store_name(project)
        print(document("artifact-list", store=where, trouble=trouble, artifacts=found), end="")
        return ExitCode.OK
    if trouble:
        print(f"note: {display(trouble)}; to retry: runner team artifacts push", file=sys.stderr)
    if not found:
        store = project.settings.artifacts.store
        message = "nothing is stored yet" if store else "no artifact store is set"
        print(message, file=sys.stderr)
        return ExitCode.OK
    print(table(("run", "file", "", "bytes", "sha256"), [_row(one) for one in found]), end="")
    return ExitCode.OK


def _row(one: Listed) -> tuple[str, ...]:
    state = f"{one.state}: {display(one.why)}" if one.why else one.state
    size = str(one.bytes) if one.bytes else ""
    return (one.run[:13], display(one.path), state, size, one.sha256[:12])


def fetch_artifacts(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Fetch a run's files. Raises RunnerError where the store is away."""
    project = _open_project(given, environ)
    run, paths = given.run, list(given.paths)
    if "/" in run or "." in run:  # a path alone: of the last run
        run, paths = "", [run, *paths]
    with patience("fetching"):
        to = Path.cwd() / (given.to or f"artifacts-{run[:13] or 'last'}")
        got = artifact_export.fetch_artifacts(project, run, paths, to)
    if given.json:
        print(document("artifacts-fetched", **_facts(got)), end="")
    else:
        count = plural(len(got.paths), "file")
        print(f"{count} of run {got.run[:13]}, {got.bytes} bytes, in {got.folder}")
    return ExitCode.OK


def _facts(got: Fetched) -> dict[str, object]:
    return {"run": got.run, "folder": got.folder, "paths": got.paths, "bytes": got.bytes}


def push_artifacts(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Store now what waits. Raises RunnerError where other bytes are stored there."""
    project = _open_project(given, environ, plan_needed=True)

    def say(line: str) -> None:
        if not (given.quiet or given.json):
            print(line, file=sys.stderr, flush=True)

    done = artifact_export.export_artifacts(project, say)
    if given.json:
        print(document("artifacts-pushed", **asdict(done)), end="")
    elif not given.quiet:
        print(artifact_export.summarise(done))
        for one in done.refused:
            print(f"  not stored: {display(one.path)}: {display(one.why)}")
    if done.standing:
        raise RunnerError(
            f"{plural(len(done.standing), 'object')} in the store already have other content",
            detail="\n".join(f"  {display(key)}" for key in done.standing),
            hint="nothing was overwritten; set another prefix in [artifacts] store",
            code=ExitCode.CONFLICT,
        )
    return ExitCode.OK


# --- taken away -----------------------------------------------------------------------


def execute_prune(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """List leftovers, remove them and print the counts. Raises RunnerError during a run."""
    age = prune_leftovers.parse_age(given.older_than)
    project = Project.open(Path.cwd(), environ)

    def tell(found: tuple[Leftover, ...]) -> None:
        for one in () if given.json else found:
            size = f", {_size(one.bytes)}" if one.bytes else ""
            why = f" ({display(one.why)})" if one.why else ""
            print(f"{one.kind}: {display(one.name)}{size}{why}", file=sys.stderr)

    done = prune_leftovers.prune(project, age, tell, dry_run=given.dry_run)
    if given.json:
        counts = {kind: done.count(kind) for kind in ("logs", "draft", "slot", "packs")}
        facts = {"found": done.found, "gone": counts, "bytes": done.bytes}
        print(document("prune", before=done.before, dry_run=given.dry_run, **facts), end="")
    else:
        print(_summary(done, dry_run=given.dry_run))
    return ExitCode.OK


def _summary(done: PruneRecord, *, dry_run: bool) -> str:
    if not done.found:
        return f"nothing older than {done.before[:10]} to remove"
    if dry_run:
        return f"{plural(len(done.found), 'item')} would be removed; nothing was changed"
    left = len(done.found) - len(done.gone)
    stayed = f"; {left} still in use" if left else ""
    return f"{plural(len(done.gone), 'item')} removed, {_size(done.bytes)} freed{stayed}"


def _size(amount: int) -> str:
    """Return a size in whole kilobytes, or in larger units from a megabyte on."""
    return format_size(amount) if amount >= 1 << 20 else f"{-(-amount // 1024)} kB"
