"""`runner queue`: builds for a team's workers, answered from anywhere; `worker` builds them."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING

from runner.commands.catalogue import Command
from runner.commands.team_store import add_store_flags, open_team, read_settings, tell
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.report.documents import document, document_line
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from types import FrameType

    from runner.bridge import team_turn
    from runner.team import build_queue, repository_list, store_engine, team_budget, worker_round
    from runner.team.build_queue import QueuedBuild
    from runner.team.store_engine import Store
    from runner.team.work_end import WorkEnd
    from runner.team.worker_round import TeamWorker
else:
    build_queue = lazy_module("runner.team.build_queue")
    repository_list = lazy_module("runner.team.repository_list")
    store_engine = lazy_module("runner.team.store_engine")
    team_budget = lazy_module("runner.team.team_budget")
    team_turn = lazy_module("runner.bridge.team_turn")
    worker_round = lazy_module("runner.team.worker_round")

# --- asked for ------------------------------------------------------------------------


_VERBS = ("list", "show", "cancel", "retry", "approve", "reject")
_QUEUE = """\
A worker (`runner worker`) builds it on a branch of its own, feature/<short id>, pushed as it goes.
A repository that is called like a verb is queued by `runner queue -- list`.

examples:
  runner queue shop                      its whole plan
  runner queue shop "customers export their bookings as CSV"
                                         drafted by the worker; the draft waits for an answer
  runner queue shop --task TASK-003 --timeout 3600 --priority 5 --tags gpu
  runner queue list [shop] [--all]       what waits and goes on; with --all what ended, too
  runner queue show 8f3a                 one build: its tasks, its last events
  runner queue cancel 8f3a               it ends within seconds; what landed stays on its branch
  runner queue retry 8f3a                again; what is DONE on its branch is not built anew
  runner queue approve 8f3a TASK-003     an answer to what waits in it
  runner queue reject 8f3a TASK-003 --reason "keep the old name"
  runner queue budget --dollars 200/month --at-once 4 --calls 60/minute
                                         of the team (shop …: of a repository), all bounds anew;
                                         a claim has a fourth of the calls, else a tenth
"""


def queue_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner queue` takes."""
    add = parser.add_argument
    add("what", help="a repository, or list, show, cancel, retry, approve, reject, budget")
    add("more", nargs="*", metavar="ID", help="the build, and for an answer its task; or a wish")
    add("--task", action="append", default=[], metavar="ID", help="only this task; again for more")
    add("--branch", default="", metavar="NAME", help="land there (default: feature/<short id>)")
    add("--timeout", type=float, default=0, metavar="SECONDS", help="workers may have it so long")
    add("--priority", type=int, default=0, metavar="N", help="the higher the earlier (default: 0)")
    add("--tags", default="", metavar="A,B", help="a worker has to have all of them")
    add("--all", action="store_true", help="of list: what ended, too")
    add("--dollars", default="", metavar="N/day|month", help="of budget: what builds cost; none")
    add("--at-once", default="", metavar="N", help="of budget: builds that may go on; none")
    add("--calls", default="", metavar="N/minute|hour", help="of budget: model calls; none")
    add("--share", type=float, default=0, metavar="N", help="of budget: dollars of one claim")
    add("--reason", default="", metavar="WHY", help="of reject and retry of a task")
    add_store_flags(parser)


def execute_queue(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Queue, show or answer. Raises RunnerError."""
    by = store_engine.find_actor(environ)
    with open_team(given, environ) as store:
        if given.what == "list":
            return _list_queue(store, given)
        if given.what == "budget":
            return _budget(store, given, by)
        if given.what not in _VERBS:
            return _queue(store, given, environ, by)
        if not given.more:
            raise RunnerError(f"which build is to {given.what}?", hint="runner queue list")
        return _answer(store, given, environ, by)


def _queue(
    store: Store, given: argparse.Namespace, environ: Mapping[str, str], by: str
) -> ExitCode:
    wish = " ".join(given.more).strip()
    if wish and given.task:
        raise RunnerError("a wish in words has no tasks yet", hint="leave --task out")
    if wish and " " not in wish:
        raise RunnerError(
            "one repository at a time; a wish is said in words", hint="runner queue --help"
        )
    if not 0 <= given.timeout < float("inf"):
        raise RunnerError("a time is a number of seconds", where="--timeout", hint="3600")
    tags = tuple(filter(None, (tag.strip() for tag in given.tags.split(","))))
    wanted = build_queue.Wanted(
        repository_list.find_repository(store, given.what),
        by,
        tuple(given.task),
        given.branch,
        given.timeout,
        given.priority,
        tags,
        wish,
    )
    made = build_queue.queue_build(
        store, wanted, default_branch_too=read_settings(environ).worker_default_branch
    )
    text = f"{made.short} is queued: {made.repository}, to land on {display(made.branch)}"
    return tell(given, "build", text, build=made)


def _budget(store: Store, given: argparse.Namespace, by: str) -> ExitCode:
    scope = repository_list.find_repository(store, given.more[0]).name if given.more else ""
    if given.dollars or given.at_once or given.calls:
        said = (scope, given.dollars, given.at_once, given.calls, given.share, by)
        team_budget.set_bound(store, team_budget.read_bound(*said))
    known = team_budget.read_standings(store)
    lines = [*team_budget.describe_bounds(known)] or ["no bound"]
    return tell(given, "budgets", *lines, budgets=known)


def _list_queue(store: Store, given: argparse.Namespace) -> ExitCode:
    known = build_queue.list_builds(store, given.more[0] if given.more else "", every=given.all)
    bounds = team_budget.read_standings(store)
    lines = [_describe_build(one, team_budget.explain_wait(bounds, one)) for one in known]
    lines = lines or ["nothing is queued"]
    return tell(given, "builds", *lines, builds=known, budgets=bounds)


def _describe_build(one: QueuedBuild, held: str = "") -> str:
    beside = held or one.note or (f"waits: {one.waits}" if one.waits else "")
    beside = beside or (f"on {one.worker}" if one.worker and not one.is_over else "")
    line = f"{one.short}  {one.state:9}  {one.repository}  {display(one.branch)}"
    return f"{line}  {display(beside)}".rstrip()


def _answer(
    store: Store, given: argparse.Namespace, environ: Mapping[str, str], by: str
) -> ExitCode:
    build, rest = build_queue.find_build(store, given.more[0]), tuple(given.more[1:])
    if given.what == "show":
        return _show_build(store, given, build)
    if given.what in ("approve", "reject") and len(rest) != 1:
        raise RunnerError("which task?", hint=f"runner queue show {build.short}")
    if given.what == "cancel":
        state = build_queue.cancel_build(store, build, by)
        text = f"{build.short} is cancelled" if state == "CANCELLED" else f"{build.short} is ended"
    elif given.what == "retry" and not rest:
        build_queue.retry_build(store, build, by)
        text = f"{build.short} is tried again"
    else:
        asked = build_queue.Asked(four_eyes=read_settings(environ).four_eyes)
        build_queue.answer_build(store, build, (given.what, rest[0], given.reason), by, asked)
        text = f"{rest[0]} of {build.short}: {given.what}, told to whoever builds it"
    after = build_queue.find_build(store, build.id)
    return tell(given, "build", display(text), build=after)


def _show_build(store: Store, given: argparse.Namespace, build: QueuedBuild) -> ExitCode:
    seen = build_queue.look_into(store, build)
    if given.json:
        print(document("build", build=build, **_beside(seen)), end="")
        return ExitCode.OK
    build = seen.build
    held = team_budget.explain_wait(team_budget.read_standings(store), build)
    print(_describe_build(build, held))
    print(f"queued by {display(build.by)} at {build.queued}, claims: {build.token}")
    for task in seen.tasks:
        print(f"  {display(str(task['task']))}  {task['status']}  {display(str(task['reason']))}")
    for event in seen.events[-20:]:
        print(f"  {event['time']}  {event['type']}  {display(str(event['task']))}".rstrip())
    for one in seen.answers:
        outcome = one["outcome"] or "not taken yet"
        print(f"  {one['word']} {display(str(one['task']))}: {display(str(outcome))}")
    return ExitCode.OK


def _beside(seen: object) -> dict[str, object]:
    return {name: getattr(seen, name) for name in ("tasks", "events", "answers")}


# --- built ----------------------------------------------------------------------------


_WORKER = """\
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


def worker_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner worker` takes."""
    add = parser.add_argument
    add("--trust", action="store_true", help="run the commands of all registered repositories")
    add("--tags", default="", metavar="A,B", help="what this machine offers")
    add("--bridge", default="", metavar="OWNER/NAME", help="serve the issues of this clone, too")
    add("--once", action="store_true", help="end after one build, or where none waits")
    add("--until-idle", action="store_true", help="end where none waits")
    add_store_flags(parser)


def execute_worker(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Work. Raises RunnerError; ends 0 on SIGTERM, 130 on Ctrl-C, both after handing back."""
    if not given.trust:
        raise RunnerError(
            "a worker runs commands of every repository that the team registers, in the sandbox",
            hint="`runner repo list` shows them; `runner worker --trust`",
            code=ExitCode.PERSON,
        )
    settings = read_settings(environ)
    worker_round.require_pace(settings)
    worker_round.require_sandbox(settings, environ)
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


COMMANDS = {
    "queue": Command(_QUEUE, queue_arguments, execute_queue),
    "worker": Command(_WORKER, worker_arguments, execute_worker),
}
