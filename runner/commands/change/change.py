"""`runner change ID… "text"`: ask for something new; what was built on the old becomes STALE."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.model import Status
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from runner.history.change import Change
    from runner.project import Project

_EXAMPLES = """\
examples:
  runner change TASK-005 "sessions expire after 30 minutes"
                            what that makes STALE, then asks; runner '!change' is the same
  runner change TASK-005 TASK-006 "all times in UTC" --yes
  a line `!change all times in UTC` in the task's section is taken by the next run
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner change` takes."""
    del name
    parser.epilog = _EXAMPLES
    parser.add_argument("words", nargs="+", metavar="ID … TEXT", help="tasks, then what changes")
    parser.add_argument("--yes", action="store_true", help="record it without asking")
    parser.add_argument("-n", "--dry-run", action="store_true", help="only say what it would do")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Preview, ask, record. While a run goes on it is refused: its lock is held."""
    from runner.commands.consent import confirm
    from runner.project import Project

    project = Project.open(Path.cwd(), environ)
    ids, text = _parse_request(project, given.words)
    seen = _look_ahead(project, ids, text)
    if not given.json:
        print("\n".join(_preview(seen)))
    if given.dry_run:
        return _print_change(seen, 0, as_json=given.json)
    again = f'runner change {" ".join(ids)} "…" --yes'
    if not given.yes and given.json:
        _print_change(seen, 0, as_json=True)
    if not confirm("record it?", environ, yes=given.yes, again=again):
        print("nothing was recorded")
        return ExitCode.PERSON
    return _print_change(*_record(project, ids, text), as_json=given.json)


def _parse_request(project: Project, words: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The tasks that are named first, and the text that follows, without a secret in it."""
    from runner.run.selection import find_id
    from runner.secrets.redact import redact

    known = dict.fromkeys(task.id for task in project.outline().tasks)
    ids = [find_id(words[0], known)]
    rest = list(words[1:])
    while len(rest) > 1 and (again := _id(rest[0], known)):
        ids.append(again)
        rest.pop(0)
    text = " ".join(" ".join(redact(word) for word in rest).split())
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise RunnerError("a change is plain text: this one holds control characters")
    if not text:
        raise RunnerError("what changes?", hint=f'runner change {ids[0]} "what is asked for now"')
    return tuple(dict.fromkeys(ids)), text


def _id(word: str, known: Mapping[str, None]) -> str:
    from runner.run.selection import find_id

    try:
        return find_id(word, known)
    except RunnerError:
        return ""


def _look_ahead(project: Project, ids: Sequence[str], text: str) -> Change:
    """What it would do, read without the lock: nothing is written."""
    from runner.app.change.transaction import require_readable
    from runner.app.inspect.view import View
    from runner.history.change import plan_change

    view = View.of(project)
    if view.live is not None:
        raise RunnerError(
            f"a run is going on ({view.live}); nothing was recorded",
            hint=f"write `!change {text}` as a line into the section of {ids[0]}: the next run "
            "takes it; or wait and try again",
        )
    plan = project.plan(project.plan_bytes)
    require_readable(plan)
    return plan_change(plan.tasks, view.state.task, ids, text)


def _record(project: Project, ids: Sequence[str], text: str) -> tuple[Change, int]:
    from runner.app.change.transaction import open_transaction
    from runner.history.change import plan_change, record_change

    with open_transaction(project) as amendment:
        now = plan_change(amendment.plan.tasks, amendment.state.task, ids, text)
        amendment.begin("change")
        number = record_change(amendment.session.desk, now)
        amendment.finish()
    return now, number


# --- in words -------------------------------------------------------------------------


def _preview(seen: Change) -> Iterator[str]:
    if seen.stale:
        yield f"{plural(len(seen.stale), 'task')} would become STALE:"
    for one in seen.stale:
        tests = f"; runs again: {', '.join(map(display, one.tests))}" if one.tests else ""
        yield f"  {display(one.id)} {display(one.title)}: {display(one.reason)}{tests}"
    for noted in seen.noted:
        yield f"{display(noted.id)} is {noted.status}: {_describe_note(noted.id, noted.status)}"
    if seen.stale:
        yield f"cost by past attempts: {_cost(seen)}"


def _describe_note(id_: str, status: Status) -> str:
    if status is Status.BLOCKED:
        return f"it gets the note and stays BLOCKED; runner approve {id_} has it tried again"
    if status is Status.STALE:
        return f"it gets the note; runner approve {id_} has it built again"
    return "it gets the note"


def _cost(seen: Change) -> str:
    known = [one for one in seen.stale if one.seconds]
    unknown = len(seen.stale) - len(known)
    more = f", and {plural(unknown, 'task')} that nobody timed" if unknown else ""
    return f"{seen.seconds:.1f} s{more}" if known else "not known"


def _print_change(seen: Change, number: int, *, as_json: bool) -> ExitCode:
    if as_json:
        print(
            document(
                "change",
                recorded=bool(number),
                change=f"CHANGE-{number:03d}" if number else None,
                text=seen.text,
                tasks=seen.tasks,
                stale=seen.stale,
                noted=seen.noted,
                seconds=round(seen.seconds, 3),
            ),
            end="",
        )
    elif number:
        print(f"CHANGE-{number:03d} recorded")
        named = [one.id for one in seen.stale if not one.via]
        print(f"next: runner review; runner approve {' '.join(named)}" if named else "next: runner")
        if named and len(seen.stale) > len(named):
            print("what is behind that is only proven again then, if it offers what it did")
    else:
        print("nothing was recorded")
    return ExitCode.OK
