"""`runner team queue` and `worker`: queue, answer and run builds for a team."""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.extensions.team.store_commands import open_team, read_settings, tell
from runner.lazy_module import lazy_module
from runner.report.documents import document, document_line
from runner.text.display import display
from runner.text.wording import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from types import FrameType

    from runner.extensions.team import (
        build_queue,
        build_work,
        repository_list,
        store_engine,
        team_budget,
    )
    from runner.extensions.team.build_claim import WorkEnd
    from runner.extensions.team.build_queue import QueuedBuild
    from runner.extensions.team.build_work import TeamWorker
    from runner.extensions.team.store_engine import Store
else:
    build_queue = lazy_module("runner.extensions.team.build_queue")
    repository_list = lazy_module("runner.extensions.team.repository_list")
    store_engine = lazy_module("runner.extensions.team.store_engine")
    team_budget = lazy_module("runner.extensions.team.team_budget")
    build_work = lazy_module("runner.extensions.team.build_work")

# --- asked for ------------------------------------------------------------------------


_VERBS = ("list", "show", "cancel", "retry", "approve", "reject")


def execute_queue(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Queue, show or answer. Raises RunnerError."""
    _refuse_calls(given)
    by = store_engine.find_actor(environ)
    with open_team(given, environ) as store:
        if given.what == "list":
            return _list_queue(store, given)
        if given.what == "budget":
            return _budget(store, given, by)
        if given.what not in _VERBS:
            return _queue(store, given, environ, by)
        if not given.more:
            raise RunnerError(f"queue {given.what} needs a build", hint="runner team queue list")
        return _answer(store, given, environ, by)


def _queue(
    store: Store, given: argparse.Namespace, environ: Mapping[str, str], by: str
) -> ExitCode:
    wish = " ".join(given.more).strip()
    if wish and given.task:
        raise RunnerError("--task cannot be combined with a request", hint="omit one")
    if wish and " " not in wish:
        raise RunnerError(
            f"a request has at least two words, got {wish!a}",
            hint="runner team queue --help",
        )
    if not 0 <= given.timeout < float("inf"):
        raise RunnerError("invalid number of seconds", where="--timeout", hint="--timeout 3600")
    tags = tuple(filter(None, (tag.strip() for tag in given.tags.split(","))))
    wanted = build_queue.BuildOrder(
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
        store, wanted, default_branch_too=read_settings(environ).team.worker_default_branch
    )
    text = f"{made.short} is queued: {made.repository}, to land on {display(made.branch)}"
    return tell(given, "build", text, build=made)


def _refuse_calls(given: argparse.Namespace) -> None:
    if given.calls:
        raise RunnerError(
            "queue budget --calls was removed: a team limits dollars and running builds",
            where="--calls",
            hint=f'use --at-once; set model.calls = "{given.calls}" in the own settings of workers',
        )


def _budget(store: Store, given: argparse.Namespace, by: str) -> ExitCode:
    scope = repository_list.find_repository(store, given.more[0]).name if given.more else ""
    if given.dollars or given.at_once:
        bound = (scope, given.dollars, given.at_once, given.share, by)
        team_budget.set_bound(store, team_budget.read_bound(*bound))
    known = team_budget.read_standings(store)
    lines = [*team_budget.describe_bounds(known)] or ["no limit"]
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
        raise RunnerError(
            f"{given.what} needs one item, such as TASK-003 or DRAFT-1",
            hint=f"runner team queue show {build.short}",
        )
    if given.what == "cancel":
        state = build_queue.cancel_build(store, build, by)
        text = f"{build.short} is {'cancelled' if state == 'CANCELLED' else 'stopping'}"
    elif given.what == "retry" and not rest:
        build_queue.retry_build(store, build, by)
        text = f"{build.short} will be retried"
    else:
        asked = build_queue.Asked(four_eyes=read_settings(environ).team.four_eyes)
        build_queue.answer_build(store, build, (given.what, rest[0], given.reason), by, asked)
        text = f"recorded for the worker of {build.short}: {given.what} {rest[0]}"
    after = build_queue.find_build(store, build.id)
    return tell(given, "build", display(text), build=after)


def _show_build(store: Store, given: argparse.Namespace, build: QueuedBuild) -> ExitCode:
    seen = build_queue.read_build(store, build)
    if given.json:
        print(document("build", build=build, **_beside(seen)), end="")
        return ExitCode.OK
    build = seen.build
    held = team_budget.explain_wait(team_budget.read_standings(store), build)
    print(_describe_build(build, held))
    print(f"queued by {display(build.by)} at {build.queued}, claimed {plural(build.token, 'time')}")
    for task in seen.tasks:
        print(f"  {display(str(task['task']))}  {task['status']}  {display(str(task['reason']))}")
    for event in seen.events[-20:]:
        print(f"  {event['time']}  {event['type']}  {display(str(event['task']))}".rstrip())
    for one in seen.answers:
        outcome = one["outcome"] or "not applied yet"
        print(f"  {one['word']} {display(str(one['task']))}: {display(str(outcome))}")
    return ExitCode.OK


def _beside(seen: object) -> dict[str, object]:
    return {name: getattr(seen, name) for name in ("tasks", "events", "answers")}


# --- built ----------------------------------------------------------------------------


def execute_worker(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Run a worker. Raises RunnerError; exits with 0 on SIGTERM and 130 on Ctrl-C."""
    if given.bridge:
        raise RunnerError(
            "worker --bridge was removed: the bridge is a separate process",
            where="--bridge",
            hint=f"also start: runner team bridge github --repo {given.bridge} --follow",
        )
    if not given.trust:
        raise RunnerError(
            "worker needs --trust: it runs commands of all registered repositories, in the sandbox",
            hint="check `runner team repo list`, then run `runner team worker --trust`",
            code=ExitCode.PERSON,
        )
    settings = read_settings(environ)
    build_work.require_pace(settings)
    build_work.require_sandbox(settings, environ)
    tags = tuple(filter(None, (tag.strip() for tag in given.tags.split(","))))
    asked = build_work.WorkerRequest(tags, given.once, given.until_idle)
    with open_team(given, environ) as store:
        tell = _tell if given.json else _print
        on_end = _print_end if given.json else _stay_silent
        worker = build_work.TeamWorker(store, settings, environ, asked, tell, on_end)
        interrupted = _end_with_signal(worker)
        if not (given.once or given.until_idle):
            tell(f"{worker.me.name} takes builds from {store.shown}")
        worker.serve()
    return ExitCode.INTERRUPTED if interrupted.is_set() else ExitCode.OK


def _print(line: str) -> None:
    print(display(line), flush=True)


def _tell(line: str) -> None:
    print(display(line), file=sys.stderr, flush=True)


def _stay_silent(_build: QueuedBuild, _end: WorkEnd) -> None:
    return


def _print_end(build: QueuedBuild, end: WorkEnd) -> None:
    fields = {"state": end.state, "note": end.note, "waits": end.waits, "head": end.head}
    print(document_line("worked", build=build.id, **fields), end="", flush=True)


def _end_with_signal(worker: TeamWorker) -> threading.Event:
    """Install handlers that stop the worker on SIGTERM and Ctrl-C; the event is set by Ctrl-C."""
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
