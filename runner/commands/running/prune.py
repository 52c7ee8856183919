"""`runner prune`: takes away old logs, drafts and slots that nothing needs, told before."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.config.sizes import format_size
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.artifacts import leftovers
    from runner.app.artifacts.leftovers import Leftover, PruneRecord
else:
    leftovers = lazy_module("runner.app.artifacts.leftovers")

EXAMPLES = """\
What goes: logs of attempts at tasks that are DONE, draft branches that are merged or whose task is
over, scratch trees that nobody used, and objects that workers of a cluster kept. What stays: the
logs that evidence names, everything of an open task, what is still to be stored as an artifact,
branches that are checked out or have commits of yours.

examples:
  runner prune --older-than 90d --dry-run
  runner prune --older-than 12w
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner prune` takes."""
    parser.add_argument(
        "--older-than", required=True, metavar="AGE", help="such as 90d, 12w or 36h"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
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
