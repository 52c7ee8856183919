"""`runner change ID… "text"`: ask for something new; what was built on the old becomes STALE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.change.transaction import ChangeRequest, change
from runner.commands.consent import confirm
from runner.errors import ExitCode, RunnerError
from runner.model import Status
from runner.project import Project
from runner.report.documents import document
from runner.run.selection import find_id
from runner.text.display import display
from runner.text.wording import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from runner.app.change.transaction import RecordedChange
    from runner.history.change import Change

EXAMPLES = """\
examples:
  runner change TASK-005 "sessions expire after 30 minutes"
                            what that makes STALE, then asks; runner '!change' is the same
  runner change TASK-005 TASK-006 "all times in UTC" --yes
  a line `!change all times in UTC` in the task's section is taken by the next run
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner change` takes."""
    parser.add_argument("words", nargs="+", metavar="ID … TEXT", help="tasks, then what changes")
    parser.add_argument("--yes", action="store_true", help="record it without asking")
    parser.add_argument("-n", "--dry-run", action="store_true", help="only say what it would do")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Preview, ask, record. While a run goes on it is refused: its lock is held."""
    project = Project.open(Path.cwd(), environ)
    ids, text = _parse_words(project, given.words)
    seen = change(project, ChangeRequest(ids, text, dry_run=True))
    if not given.json:
        print("\n".join(_preview(seen.change)))
    if given.dry_run:
        return _say(seen, as_json=given.json)
    again = f'runner change {" ".join(ids)} "…" --yes'
    if not given.yes and given.json:
        _say(seen, as_json=True)
    if not confirm("record it?", environ, yes=given.yes, again=again):
        print("nothing was recorded")
        return ExitCode.PERSON
    return _say(change(project, ChangeRequest(ids, text)), as_json=given.json)


def _parse_words(project: Project, words: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The tasks that are named first, and the text that follows."""
    known = [task.id for task in project.outline().tasks]
    ids = [find_id(words[0], known)]
    rest = list(words[1:])
    while len(rest) > 1:
        try:
            ids.append(find_id(rest[0], known))
        except RunnerError:  # the text begins here
            break
        rest.pop(0)
    return tuple(dict.fromkeys(ids)), " ".join(rest)


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


def _say(told: RecordedChange, *, as_json: bool) -> ExitCode:
    seen, number = told.change, told.number
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
