"""`runner replay ID`: the code as it was when a task had landed; `--verify` proves what landed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import plural, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.history.replay import Replay
    from runner.project import Project

_EXAMPLES = """\
examples:
  runner replay TASK-005            back to the code right after TASK-005; asks first
  runner replay TASK-005 --yes      the same without asking; then: runner run --reuse
  runner replay --verify --all      build all that landed again, from its recorded bytes
  runner replay --verify TASK-003   that task alone
"""
_SHOWN = 20


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner replay` takes."""
    del name
    parser.epilog = _EXAMPLES
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
        from runner.commands.change.rebuild import verify

        return verify(given, environ)
    from runner.project import Project

    project = Project.open(Path.cwd(), environ)
    if len(given.ids) != 1 or given.all:
        raise RunnerError("which task's checkpoint?", hint="runner replay TASK-005")
    seen = _look_ahead(project, _id(project, given.ids[0]))
    if seen.nothing or given.dry_run:
        _say(seen, "", as_json=given.json)
        return ExitCode.OK
    return _go_back(project, seen, given, environ)


def _id(project: Project, typed: str) -> str:
    from runner.run.selection import find_id

    return find_id(typed, dict.fromkeys(task.id for task in project.outline().tasks))


def _look_ahead(project: Project, id_: str) -> Replay:
    """What it would do, read without the lock: nothing is written."""
    from runner.app.inspect.view import View
    from runner.history.replay import plan_replay
    from runner.history.revert import require_free
    from runner.repo.read import Repository

    with Repository.open(project.root) as repository:
        seen = plan_replay(repository, View.of(project).state, id_, project.documents)
        require_free(repository, seen.back)
        return seen


def _go_back(
    project: Project, seen: Replay, given: argparse.Namespace, environ: Mapping[str, str]
) -> ExitCode:
    from runner.app.change.transaction import open_transaction
    from runner.commands.consent import confirm
    from runner.history.replay import plan_replay
    from runner.history.revert import take_back

    id_ = seen.back.message.split("\n", 1)[0].rpartition(" ")[2]
    if not given.yes and not given.json:
        _preview(seen)
    again = f"runner replay {id_} --yes"
    if not confirm("go back?", environ, yes=given.yes, again=again):
        print("nothing was done")
        return ExitCode.PERSON
    with open_transaction(project) as amendment:
        session = amendment.session
        now = plan_replay(session.repository, amendment.state, id_, session.own_documents)
        if now.back.head != seen.back.head:
            raise RunnerError(
                "the branch moved meanwhile; nothing was done",
                hint=again,
                code=ExitCode.CONFLICT,
            )
        amendment.begin(f"replay {id_}")
        commit = take_back(session.lander, now.back)
        amendment.told.update(now.back.tasks)
        amendment.finish()
    _say(now, commit, as_json=given.json)
    return ExitCode.OK


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


def _say(seen: Replay, commit: str, *, as_json: bool) -> None:
    back = seen.back
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
