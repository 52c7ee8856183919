"""What runs left: `runner artifacts` lists, fetches, stores it; `prune` takes away what is old."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.catalogue import Command
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

    from runner.app.artifacts import artifact_export, artifact_list, leftovers
    from runner.app.artifacts.artifact_export import Exported
    from runner.app.artifacts.artifact_list import Fetched, Listed
    from runner.app.artifacts.leftovers import Leftover, PruneRecord
else:
    artifact_export = lazy_module("runner.app.artifacts.artifact_export")
    artifact_list = lazy_module("runner.app.artifacts.artifact_list")
    leftovers = lazy_module("runner.app.artifacts.leftovers")

# --- the store ------------------------------------------------------------------------


_ARTIFACTS = """\
With `[artifacts] store = "s3://BUCKET/PREFIX"`, or a folder, a process of its own stores what each
run and each ship left once it is over: patches, analysis, logs and reports of the proofs, the
journal, and metadata.json with all digests. No run waits for it. What is stored is never written
again; what the secret scan refuses stays here, and is told.

examples:
  runner artifacts list
  runner artifacts get --to kept
  runner artifacts get 019a2 patches/final.patch --to kept
  runner artifacts push
"""


def artifacts_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner artifacts` takes."""
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    listing = commands.add_parser("list", help="what is stored, and what waits", allow_abbrev=False)
    listing.add_argument(
        "run", nargs="?", default="", metavar="RUN", help="the beginning of its id"
    )
    listing.add_argument("--remote", action="store_true", help="ask the store, not the journal")
    getting = commands.add_parser("get", help="fetch a run's files", allow_abbrev=False)
    getting.add_argument(
        "run", nargs="?", default="", metavar="RUN", help="the beginning of its id; else the last"
    )
    getting.add_argument("paths", nargs="*", metavar="PATH", help="single files; else all")
    getting.add_argument(
        "--to", default="", metavar="FOLDER", help="where to (default: the run's id)"
    )
    pushing = commands.add_parser("push", help="store now what waits", allow_abbrev=False)
    pushing.add_argument("--quiet", action="store_true", help="say nothing but what went wrong")
    for one in (listing, getting, pushing):
        one.add_argument("--json", action="store_true", help="one JSON document")
        one.add_argument("--store", metavar="PLACE", help="another store than the one that is set")
        one.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute_artifacts(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """List, fetch or store. Raises RunnerError where no store is set, or it is away."""
    flags = {"task_graph": given.task_graph, "artifacts_store": given.store}
    needed = given.command == "push"
    project = Project.open(
        Path.cwd(), environ, {k: v for k, v in flags.items() if v}, plan_needed=needed
    )
    if given.command == "list":
        return _list(given, project)
    return _get(given, project) if given.command == "get" else _push(given, project)


def _list(given: argparse.Namespace, project: Project) -> ExitCode:
    with patience("asking the artifact store"):
        found = artifact_list.list_artifacts(project, given.run, remote=given.remote)
    trouble = artifact_export.read_trouble(project)
    if given.json:
        where = artifact_export.store_name(project)
        print(document("artifact-list", store=where, trouble=trouble, artifacts=found), end="")
        return ExitCode.OK
    if trouble:
        print(f"note: {display(trouble)}; runner artifacts push", file=sys.stderr)
    if not found:
        said = "nothing is stored yet" if project.settings.artifacts_store else "no store is set"
        print(said, file=sys.stderr)
        return ExitCode.OK
    print(table(("run", "file", "", "bytes", "sha256"), [_row(one) for one in found]), end="")
    return ExitCode.OK


def _row(one: Listed) -> tuple[str, ...]:
    state = f"{one.state}: {display(one.why)}" if one.why else one.state
    size = str(one.bytes) if one.bytes else ""
    return (one.run[:13], display(one.path), state, size, one.sha256[:12])


def _get(given: argparse.Namespace, project: Project) -> ExitCode:
    run, paths = given.run, list(given.paths)
    if "/" in run or "." in run:  # a path alone: of the last run
        run, paths = "", [run, *paths]
    with patience("fetching"):
        to = Path.cwd() / (given.to or f"artifacts-{run[:13] or 'last'}")
        got = artifact_list.fetch_artifacts(project, run, paths, to)
    if given.json:
        print(document("artifacts-fetched", **_facts(got)), end="")
    else:
        count = plural(len(got.paths), "file")
        print(f"{count} of run {got.run[:13]}, {got.bytes} bytes, in {got.folder}")
    return ExitCode.OK


def _facts(got: Fetched) -> dict[str, object]:
    return {"run": got.run, "folder": got.folder, "paths": got.paths, "bytes": got.bytes}


def _push(given: argparse.Namespace, project: Project) -> ExitCode:
    def say(line: str) -> None:
        if not (given.quiet or given.json):
            print(line, file=sys.stderr, flush=True)

    done = artifact_export.export_artifacts(project, say)
    if given.json:
        print(document("artifacts-pushed", **_pushed(done)), end="")
    elif not given.quiet:
        print(artifact_export.summarise(done))
        for one in done.refused:
            print(f"  kept back: {display(one.path)}: {display(one.why)}")
    if done.standing:
        raise RunnerError(
            f"{plural(len(done.standing), 'object')} of other bytes stand there, and stay",
            detail="\n".join(f"  {display(key)}" for key in done.standing),
            hint="another prefix: [artifacts] store; nothing was overwritten",
            code=ExitCode.CONFLICT,
        )
    return ExitCode.OK


def _pushed(done: Exported) -> dict[str, object]:
    return {one.name: getattr(done, one.name) for one in fields(done)}


# --- taken away -----------------------------------------------------------------------


_PRUNE = """\
What goes: logs of attempts at tasks that are DONE, draft branches that are merged or whose task is
over, scratch trees that nobody used, and objects that workers of a cluster kept. What stays: the
logs that evidence names, everything of an open task, what is still to be stored as an artifact,
branches that are checked out or have commits of yours.

examples:
  runner prune --older-than 90d --dry-run
  runner prune --older-than 12w
"""


def prune_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner prune` takes."""
    parser.add_argument(
        "--older-than", required=True, metavar="AGE", help="such as 90d, 12w or 36h"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute_prune(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Tell, take away, count. Raises RunnerError while a run goes on here."""
    age = leftovers.parse_age(given.older_than)
    project = Project.open(Path.cwd(), environ)

    def tell(found: tuple[Leftover, ...]) -> None:
        for one in () if given.json else found:
            size = f", {_size(one.bytes)}" if one.bytes else ""
            why = f" ({display(one.why)})" if one.why else ""
            print(f"{one.kind}: {display(one.name)}{size}{why}", file=sys.stderr)

    done = leftovers.prune(project, age, tell, dry_run=given.dry_run)
    if given.json:
        counts = {kind: done.count(kind) for kind in ("logs", "draft", "slot", "packs")}
        facts = {"found": done.found, "gone": counts, "bytes": done.bytes}
        print(document("prune", before=done.before, dry_run=given.dry_run, **facts), end="")
    else:
        print(_summary(done, dry_run=given.dry_run))
    return ExitCode.OK


def _summary(done: PruneRecord, *, dry_run: bool) -> str:
    if not done.found:
        return f"nothing is older than {done.before[:10]} that may go"
    if dry_run:
        return f"{plural(len(done.found), 'thing')} would go; nothing was taken away"
    left = len(done.found) - len(done.gone)
    stayed = f"; {left} stayed: somebody uses them" if left else ""
    return f"{plural(len(done.gone), 'thing')} gone, {_size(done.bytes)} free{stayed}"


def _size(amount: int) -> str:
    """Whole kilobytes, and larger units where they are reached."""
    return format_size(amount) if amount >= 1 << 20 else f"{-(-amount // 1024)} kB"


COMMANDS = {
    "artifacts": Command(_ARTIFACTS, artifacts_arguments, execute_artifacts),
    "prune": Command(_PRUNE, prune_arguments, execute_prune),
}
