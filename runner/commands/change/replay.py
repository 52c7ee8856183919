"""`runner replay ID`: the code as it was when a task had landed; `--verify` proves what landed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.app.change.transaction import ReplayRequest, replay
from runner.commands.consent import ask_trust, confirm
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import plural, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from runner.app.change import rebuild
    from runner.app.change.rebuild import RebuiltStep, Step
    from runner.app.change.transaction import Replayed
    from runner.history.replay import Replay
else:
    rebuild = lazy_module("runner.app.change.rebuild")

EXAMPLES = """\
examples:
  runner replay TASK-005            back to the code right after TASK-005; asks first
  runner replay TASK-005 --yes      the same without asking; then: runner run --reuse
  runner replay --verify --all      build all that landed again, from its recorded bytes
  runner replay --verify TASK-003   that task alone
"""
_SHOWN = 20
_EVERY = 2.0
"""Seconds between two lines of progress."""


def arguments(parser: argparse.ArgumentParser) -> None:
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


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Go back, or verify. Raises RunnerError: exit 6 with the list on a conflict."""
    if given.verify:
        return _verify(given, environ)
    project = Project.open(Path.cwd(), environ)
    if len(given.ids) != 1 or given.all:
        raise RunnerError("which task's checkpoint?", hint="runner replay TASK-005")
    seen = replay(project, ReplayRequest(given.ids[0], dry_run=True))
    if seen.replay.nothing or given.dry_run:
        _say(seen, as_json=given.json)
        return ExitCode.OK
    if not given.yes and not given.json:
        _preview(seen.replay)
    if not confirm("go back?", environ, yes=given.yes, again=f"runner replay {seen.task} --yes"):
        print("nothing was done")
        return ExitCode.PERSON
    done = replay(project, ReplayRequest(seen.task, head=seen.replay.back.head))
    _say(done, as_json=given.json)
    return ExitCode.OK


def _verify(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Rebuild all that landed, or some tasks; exit 1 at the first divergence."""
    if bool(given.ids) == given.all:
        raise RunnerError("which tasks?", hint="runner replay --verify --all, or ids")
    flags = {"sandbox": "none"} if given.no_sandbox else {}
    project = Project.open(Path.cwd(), environ, flags)
    steps = rebuild.find_landed(project, given.ids)
    ask_trust(project, project.plan(project.plan_bytes), trusted=given.trust)
    found = rebuild.rebuild(project, steps, _Progress(len(steps)))
    return _print_rebuilt(found, len(steps), as_json=given.json)


# --- in words -------------------------------------------------------------------------


def _preview(seen: Replay) -> None:
    back = seen.back
    print(f"back to {short(seen.checkpoint)}:")
    print(f"  {plural(len(back.tasks), 'task')} PENDING again: {_first(back.tasks)}")
    print(f"  {plural(len(back.changes), 'file')} as they were then:")
    for change in back.changes[:_SHOWN]:
        print(f"    {change.action} {display(change.path)}")
    if len(back.changes) > _SHOWN:
        print(f"    … and {len(back.changes) - _SHOWN} more")
    if seen.by_hand:
        print(f"  {plural(len(seen.by_hand), 'commit')} by hand since then: their files stay")
    print(f"  the head of now is kept as refs/runner/{back.kept}")


def _first(names: tuple[str, ...]) -> str:
    shown = ", ".join(display(name) for name in names[:_SHOWN])
    return shown + (" …" if len(names) > _SHOWN else "") if names else "none"


def _say(done: Replayed, *, as_json: bool) -> None:
    seen, back, commit = done.replay, done.replay.back, done.commit
    if as_json:
        files = [{"path": one.path, "action": str(one.action)} for one in back.changes]
        print(
            document(
                "replay",
                checkpoint=seen.checkpoint,
                done=bool(commit),
                commit=commit or None,
                pending=back.tasks,
                files=files,
                by_hand=[one.commit for one in seen.by_hand],
                kept=f"refs/runner/{back.kept}" if commit else None,
            ),
            end="",
        )
    elif seen.nothing:
        print(f"nothing came after {short(seen.checkpoint)}")
    elif not commit:
        _preview(seen)
        print("nothing was done")
    else:
        print(
            f"back to {short(seen.checkpoint)} as {short(commit)}: "
            f"{plural(len(back.tasks), 'task')} PENDING, {plural(len(back.changes), 'file')}"
        )
        print(f"the head of before is kept as refs/runner/{display(back.kept)}")
        print("next: runner run --reuse (lands recorded work again), or runner")


# --- what was rebuilt -----------------------------------------------------------------


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


def _print_rebuilt(found: Sequence[RebuiltStep], steps: int, *, as_json: bool) -> ExitCode:
    last = found[-1]
    code = ExitCode.FAILED if last.divergence else ExitCode.OK
    seconds = round(sum(one.seconds for one in found), 3)
    if as_json:
        said = document(
            "verify",
            identical=code is ExitCode.OK,
            implementer_calls=0,
            steps=steps,
            seconds=seconds,
            divergence=last if last.divergence else None,
            verified=found,
        )
        print(said, end="")
        return code
    for one in found:
        if one.unproven:
            print(f"{_name(one.step)}: bytes compared, not proven: {display(one.unproven)}")
    if code is not ExitCode.OK:
        print(f"{_name(last.step)} diverges: {display(last.divergence)}")
        print("".join(f"  {display(line)}\n" for line in last.detail.splitlines()[-8:]), end="")
        print(f"{len(found) - 1} of {plural(steps, 'step')} before it identical")
        return code
    print(
        f"identical: {plural(steps, 'step')} rebuilt in {seconds:.1f} s "
        f"({seconds / steps:.3f} s each), no implementer called"
    )
    return code


def _name(step: Step) -> str:
    return f"{display(step.task)} attempt {step.attempt} ({short(step.commit)})"
