"""`runner worker`: builds what the team queued, one build at a time."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING

from runner.commands.team.team_store import add_store_flags, open_team, read_settings
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.report.documents import document_line
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from types import FrameType

    from runner.bridge import team_turn
    from runner.team import worker_round
    from runner.team.build_queue import QueuedBuild
    from runner.team.work_end import WorkEnd
    from runner.team.worker_round import TeamWorker
else:
    team_turn = lazy_module("runner.bridge.team_turn")
    worker_round = lazy_module("runner.team.worker_round")

EXAMPLES = """\
It claims a build, clones its repository, takes the lease of its branch in the remote, and runs
the ordinary `runner run` there, as a process of its own. Commands run in the sandbox, as you.
SIGTERM hands the build back and ends it with exit 0; what landed stays on the build's branch.

examples:
  runner worker --trust                   until it is ended
  runner worker --trust --tags gpu,big    also for builds that ask for these
  runner worker --trust --until-idle      until nothing waits any more
  GH_TOKEN=… runner worker --trust --bridge acme/shop
                                          in a clone of it: its issues, too (docs/bridge.md)
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner worker` takes."""
    add = parser.add_argument
    add("--trust", action="store_true", help="run the commands of all registered repositories")
    add("--tags", default="", metavar="A,B", help="what this machine offers")
    add("--bridge", default="", metavar="OWNER/NAME", help="serve the issues of this clone, too")
    add("--once", action="store_true", help="end after one build, or where none waits")
    add("--until-idle", action="store_true", help="end where none waits")
    add_store_flags(parser)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Work. Raises RunnerError; ends 0 on SIGTERM, 130 on Ctrl-C, both after handing back."""
    if not given.trust:
        raise RunnerError(
            "a worker runs commands of every repository that the team registers, in the sandbox",
            hint="runner repo list shows them; runner worker --trust",
            code=ExitCode.PERSON,
        )
    settings = read_settings(environ)
    worker_round.require_pace(settings)
    worker_round.require_sandbox(settings)
    tags = tuple(filter(None, (tag.strip() for tag in given.tags.split(","))))
    asked = worker_round.WorkerRequest(tags, given.once, given.until_idle)
    with open_team(given, environ) as store:
        tell = _tell if given.json else _print
        on_end = _print_end if given.json else _stay_silent
        worker = worker_round.TeamWorker(store, settings, environ, asked, tell, on_end)
        interrupted = _end_with_signal(worker)
        if not (given.once or given.until_idle):
            tell(f"{worker.me.name} works for {store.shown}")
        turn = given.bridge and team_turn.serve_beside(worker, given.bridge)
        with turn or nullcontext():
            worker.serve()
    return ExitCode.INTERRUPTED if interrupted.is_set() else ExitCode.OK


def _print(line: str) -> None:
    print(display(line), flush=True)


def _tell(line: str) -> None:
    print(display(line), file=sys.stderr, flush=True)


def _stay_silent(_build: QueuedBuild, _end: WorkEnd) -> None:
    return


def _print_end(build: QueuedBuild, end: WorkEnd) -> None:
    said = {"state": end.state, "note": end.note, "waits": end.waits, "head": end.head}
    print(document_line("worked", build=build.id, **said), end="", flush=True)


def _end_with_signal(worker: TeamWorker) -> threading.Event:
    """SIGTERM and Ctrl-C have it end; the event is set by the second of them."""
    interrupted = threading.Event()

    def end(number: int, _frame: FrameType | None) -> None:
        def go() -> None:  # a lock may be held where this comes between
            if number == signal.SIGINT:
                interrupted.set()
            worker.end()

        threading.Thread(target=go).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    return interrupted
