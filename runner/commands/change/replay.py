"""`runner replay` and `runner undo`: back to what was, by a new commit; and landed work proven."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.app.change.change_text import (
    rebuild_document,
    rebuild_lines,
    replay_document,
    replay_lines,
    replay_preview,
    undo_document,
    undo_lines,
)
from runner.app.change.transaction import ReplayRequest, UndoRequest, replay, undo
from runner.commands.catalogue import Command
from runner.commands.consent import ask_trust, confirm
from runner.commands.output import say
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.change import rebuild
    from runner.app.change.rebuild import RebuiltStep
else:
    rebuild = lazy_module("runner.app.change.rebuild")


_REPLAY = """\
examples:
  runner replay TASK-005            back to the code right after TASK-005; asks first
  runner replay TASK-005 --yes      the same without asking; then: runner run --reuse
  runner replay --verify --all      build all that landed again, from its recorded bytes
  runner replay --verify TASK-003   that task alone
"""
_EVERY = 2.0
"""Seconds between two lines of progress."""


def replay_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner replay` takes."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="the task to go back to")
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    parser.add_argument("-n", "--dry-run", action="store_true", help="only say what would be done")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument(
        "--verify", action="store_true", help="prove what landed again, in a scratch tree"
    )
    parser.add_argument("--all", action="store_true", help="with --verify: every task")
    parser.add_argument("--trust", action="store_true", help="with --verify: run its commands")
    parser.add_argument("--no-sandbox", action="store_true", help="with --verify: enclose nothing")


def execute_replay(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Go back, or verify. Raises RunnerError: exit 6 with the list on a conflict."""
    if given.verify:
        return _verify(given, environ)
    project = Project.open(Path.cwd(), environ)
    if len(given.ids) != 1 or given.all:
        raise RunnerError("which task's checkpoint?", hint="runner replay TASK-005")
    seen = replay(project, ReplayRequest(given.ids[0], dry_run=True))
    if seen.replay.nothing or given.dry_run:
        say(seen, replay_lines, replay_document, as_json=given.json)
        return ExitCode.OK
    if not given.yes and not given.json:
        print("\n".join(replay_preview(seen.replay)))
    if not confirm("go back?", environ, yes=given.yes, again=f"runner replay {seen.task} --yes"):
        print("nothing was done", file=sys.stderr if given.json else sys.stdout)
        return ExitCode.PERSON
    done = replay(project, ReplayRequest(seen.task, head=seen.replay.back.head))
    say(done, replay_lines, replay_document, as_json=given.json)
    return ExitCode.OK


def _verify(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Rebuild all that landed, or some tasks; exit 1 at the first divergence."""
    if bool(given.ids) == given.all:
        raise RunnerError("which tasks?", hint="runner replay --verify --all, or ids")
    flags = {"sandbox": "none"} if given.no_sandbox else {}
    project = Project.open(Path.cwd(), environ, flags)
    steps = rebuild.find_landed(project, given.ids)
    again = f"runner replay --verify {' '.join(given.ids) or '--all'} --trust"
    ask_trust(project, project.plan(project.plan_bytes), trusted=given.trust, again=again)
    found = rebuild.rebuild(project, steps, _Progress(len(steps)))
    lines = partial(rebuild_lines, steps=len(steps))
    form = partial(rebuild_document, steps=len(steps))
    say(found, lines, form, as_json=given.json)
    return ExitCode.FAILED if found[-1].divergence else ExitCode.OK


class _Progress:
    """A line on standard error now and then, where it takes long."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._last = effects.monotonic()

    def __call__(self, one: RebuiltStep) -> None:
        self._done += 1
        if effects.monotonic() - self._last >= _EVERY:
            self._last = effects.monotonic()
            print(f"{self._done}/{self._total} {display(one.step.task)}", file=sys.stderr)


_UNDO = """\
examples:
  runner undo TASK-009                      a commit that reverts it; the task is PENDING
  runner undo TASK-009 --reason "too slow"  and why, for the plan and the commit
  runner undo TASK-009 -n                   what would change, and do nothing
"""


def undo_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner undo` takes."""
    parser.add_argument("id", metavar="ID", help="the task: TASK-009, or 9")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, in a few words")
    parser.add_argument("-n", "--dry-run", action="store_true", help="say what would be done")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute_undo(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Undo it. Raises RunnerError: exit 6, with the list, where somebody built on it."""
    project = Project.open(Path.cwd(), environ)
    done = undo(project, UndoRequest(given.id, given.reason, given.dry_run))
    say(done, undo_lines, undo_document, as_json=given.json)
    return ExitCode.OK


COMMANDS = {
    "replay": Command(_REPLAY, replay_arguments, execute_replay),
    "undo": Command(_UNDO, undo_arguments, execute_undo),
}
