"""Read events from the journal, all at once or as they happen, as short lines."""

from __future__ import annotations

import time
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.journal import events, session_events
from runner.journal.journal_cache import RecordIndex, read_at, select_records
from runner.journal.records import (
    BadRecordError,
    Mark,
    NewerRecordError,
    UnfitRecordError,
    decode,
    read_places,
)
from runner.journal.session_events import (
    ArtifactStored,
    AuthorFinished,
    DraftLanded,
    DraftProposed,
    DraftReviewed,
    HistoryMoved,
    HistoryMoving,
    LeaseMoved,
    Pruned,
    SecretLeased,
    SecretReturned,
    ShipDeclared,
    TaskWaived,
    TreeVerified,
)
from runner.lazy_module import lazy_module
from runner.report.event_lines import format_attempt
from runner.text.display import display
from runner.text.wording import join_few, name_attempt, plural, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.journal.events import Record
    from runner.journal.session_events import Operation
    from runner.project import Project
    from runner.run import selection
else:
    selection = lazy_module("runner.run.selection")


_POLL_SECONDS = 0.2


def read_log(
    project: Project,
    task: str = "",
    after: int = 0,
    first: int | None = None,
    last: int | None = None,
) -> Iterator[Record]:
    """Yield records after number `after`, the `first` or `last` ones, or of one `task`.

    Raises RunnerError where the journal is damaged.
    """
    tasks = (_find_task(project, task),) if task else None
    index = RecordIndex.load(project.journal_path, project.cache)
    found = index.find(None, tasks, after)
    some = found if first is None else islice(found, max(0, first))
    offsets = some if last is None else iter(deque(some, max(0, last)))
    return read_at(project.journal_path, offsets)


def follow_log(
    project: Project,
    task: str = "",
    after: int = 0,
    first: int | None = None,
    last: int | None = None,
) -> Iterator[Record]:
    """Yield existing records (the newest `last`), then new ones, up to `first` records.

    Of what is there now, `last` takes the newest so many.
    """
    id_ = _find_task(project, task) if task else ""
    old = 0
    if last is not None:
        found = [one.seq for one in read_log(project, task, after)]
        old = len(found) - min(max(0, last), len(found))
    every = (one for one in _follow(project, id_) if one.seq > after)
    return islice(every, old, None if first is None else old + max(0, first))


def _follow(project: Project, id_: str) -> Iterator[Record]:
    journal, place = project.journal_path, Mark()
    while True:
        for record, reached in read_places(journal, place):
            place = reached
            if id_ in ("", record.task):
                yield record
        time.sleep(_POLL_SECONDS)
        if journal.exists() and journal.stat().st_size < place.offset:
            place = Mark()  # somebody began a new journal


def _find_task(project: Project, typed: str) -> str:
    """Return the ID of a task in the plan or only in the journal."""
    known = dict.fromkeys(project.state().tasks)
    known.update(dict.fromkeys(task.id for task in project.outline().tasks))
    return selection.find_id(typed, known)


# --- an event in a few words ----------------------------------------------------------


def gist(record: Record) -> str:  # noqa: C901, PLR0911, PLR0912, PLR0915  one line an event, flat
    """Return a one-line description of the event; empty if its type is enough."""
    match record.event:
        case events.RunStarted(head=head, branch=branch, pid=pid):
            return f"on {display(branch)} at {short(head) or 'no commit'}, process {pid}"
        case events.RunFinished(exit=code, seconds=seconds, counts=counts):
            line = ", ".join(f"{number} {display(name)}" for name, number in counts.items())
            return f"exit {code} in {seconds:.1f} s: {line}"
        case events.RunStuck(waiting=waiting):
            return f"waiting: {_list_names(waiting)}"
        case events.AttemptStarted(implementer=implementer, mode=mode, model=model):
            how = format_attempt(mode, implementer) + (f", {model}" if model else "")
            return f"{name_attempt(record.attempt)} ({display(how)})"
        case events.AttemptFinished() as finished:
            return _summarize_finished(record.attempt, finished)
        case session_events.PlanProposed(plan=plan, path=path):
            return f"{len(plan.steps)} steps, {_list_names(plan.files)}: {display(path)}"
        case session_events.PlanReviewed(approved=approved, review=review, reason=reason, by=by):
            line = f"approved ({display(review)})" if approved else "rejected"
            return _both(f"{line} by {display(by)}" if by else line, reason)
        case session_events.PermissionAsked(tool=tool, subject=subject, rule=rule):
            return _both(display(f"{tool} {subject}"), rule)
        case session_events.PermissionAnswered(tool=tool, subject=subject) as line:
            word = "may" if line.allowed else "may not"
            return _both(f"{word} call {display(f'{tool} {subject}')}", line.reason)
        case events.GateStarted(gate=gate, command=command):
            return f"{display(gate)} $ {display(command)}"
        case events.GateCompleted(proof=proof):
            ended = proof.note if proof.was_cut_off else proof.verdict
            return f"{display(proof.id)}: {ended}, exit {proof.exit}, {proof.seconds:.2f} s"
        case events.StageCompleted(stage=stage, seconds=seconds):
            return f"{display(stage)}: {seconds:.2f} s"
        case events.WriteStaged(path=path, action=action):
            return f"{action} {display(path)}"
        case events.WriteReviewed(path=path, review=review):
            return f"{display(path) or 'its questions'}: {display(review)}"
        case events.WriteRejected(path=path, reason=reason):
            return f"{display(path)}: {display(reason)}"
        case events.TaskLanding(paths=paths):
            return _list_names(paths)
        case events.TaskLanded(commit=commit, paths=paths, late=late):
            kept = f"; kept your own {_list_names(late)}" if late else ""
            return f"as {short(commit) or 'nothing'}: {_list_names(paths) or 'no files'}{kept}"
        case events.TaskDone(commit=commit, note=note, unproven=unproven):
            line = f"as {short(commit)}" if commit else "it changed nothing"
            line += f", unproven ({display(unproven)})" if unproven else ""
            return _both(line, note)
        case events.TaskFailed(findings=findings):
            return _list_names([finding.check for finding in findings])
        case events.TaskBlocked(reason=reason, note=note):
            return f"({reason}) {display(note)}"
        case events.TaskAdopted(source=source, verified=verified, note=note):
            word = "" if verified else ", unproven"
            return _both(f"by {display(source)}{word}", note)
        case events.TaskStaled(note=note):
            return display(note)
        case events.TaskApproved(by=by, note=note) | events.TaskReopened(by=by, note=note):
            return _both(f"by {display(by)}" if by else "", note)
        case AuthorFinished(by=by, files=files, tests=tests, repairs=repairs):
            more = f", {plural(repairs, 'repair')}" if repairs else ""
            return f"{plural(tests, 'test')} in {plural(files, 'file')} by {display(by)}{more}"
        case TaskWaived(reason=reason, by=by):
            return _both(f"by {display(by)}" if by else "", reason)
        case events.StatusesPublished(statuses=statuses):
            return _list_names([f"{id_} {status}" for id_, status in statuses.items()])
        case events.ChangeRecorded(number=number, text=text):
            return f"CHANGE-{number:03d}: {display(text)}"
        case events.CheckpointWritten(kind=kind, number=number):
            return f"checkpoint {number}" if kind == "full" else "status line"
        case events.DecisionMade(number=number, decision=decision):
            return f"DECISION-{number:03d}: {display(decision.title)}"
        case HistoryMoving(kind=kind, tasks=tasks) | HistoryMoved(kind=kind, tasks=tasks):
            return f"{display(kind)}: {_list_names(tasks)}"
        case TreeVerified(passed=passed, ran=number):
            verdict = "passed" if passed else "not passed"
            return f"{verdict}, {plural(number, 'command')} run"
        case LeaseMoved(branch=branch, old=old, new=new, reason=reason):
            whose = f"from {display(old) or 'nobody'} to {display(new) or 'nobody'}"
            return _both(f"{display(branch)}, {whose}", reason)
        case ShipDeclared(tag=tag):
            return display(tag)
        case ArtifactStored() | Pruned() | SecretLeased() | SecretReturned():
            return _describe_operation(record.event)
        case DraftProposed(number=number, tasks=tasks) | DraftLanded(number=number, tasks=tasks):
            return f"DRAFT-{number}: {_list_names(tasks)}"
        case DraftReviewed(number=number, approved=approved, reason=reason):
            return _both(f"DRAFT-{number} {'approved' if approved else 'rejected'}", reason)
        case events.ModeSwitched(mode=mode):
            return display(mode)
        case session_events.ReviewSwitched(review=review, scope=scope):
            return f"reviews of the {display(scope)}: {display(review)}"
        case session_events.ToolCalled(name=name, path=path):
            return display(f"{name} {path}".rstrip())
        case session_events.ToolReturned(name=name):
            return display(name)
    return ""


def _summarize_finished(attempt: int, event: events.AttemptFinished) -> str:
    text = f"{name_attempt(attempt)} {event.ending} in {event.seconds:.2f} s"
    refusals = [finding.check for finding in event.findings if finding.refuses]
    if refusals:
        text += f": {plural(len(refusals), 'finding')} ({_list_names(refusals)})"
    return text + (f", held ({display(event.held)})" if event.held else "")


def _list_names(names: tuple[str, ...] | list[str]) -> str:
    return join_few([display(name) for name in names], 5)


def _both(text: str, note: str) -> str:
    return ": ".join(filter(None, (text, display(note))))


def _describe_operation(event: Operation) -> str:
    """Describe an event about kept or removed parts of a run."""
    if isinstance(event, ArtifactStored):
        return f"{display(event.path)}, {plural(event.bytes, 'byte')}"
    if isinstance(event, SecretLeased):
        return f"{display(event.name)} from {display(event.source)}"
    if isinstance(event, SecretReturned):
        return display(event.name)
    drafts = len(event.drafts)
    counts = ((event.logs, "log folder"), (drafts, "draft"), (event.slots, "slot"))
    each = (*counts, (event.packs, "pack"))
    return ", ".join(plural(number, noun) for number, noun in each if number)


_MOST_BYTES = 256 << 10


def read_latest(project: Project, number: int) -> tuple[Record, ...]:
    """Return up to `number` records, newest last; incomplete or invalid lines are left out."""
    try:
        with project.journal_path.open("rb") as file:
            size = file.seek(0, 2)
            # From the end: the page polls, and the journal may be large.
            start = max(0, size - _MOST_BYTES)
            file.seek(start)
            lines = file.read(_MOST_BYTES).splitlines()
    except OSError:
        return ()
    if start:
        lines = lines[1:]
    found: list[Record] = []
    for line in lines[-number:]:
        try:
            found.append(decode(line))
        except (BadRecordError, UnfitRecordError, NewerRecordError):
            continue
    return tuple(found)


_WANTED = frozenset({"secret.leased", "secret.returned"})


class SecretUse(Struct, frozen=True):
    """One secret, lent once."""

    name: str
    task: str
    attempt: int
    """Attempt number; 0 outside of an attempt, as in a manual proof."""
    source: str
    since: str
    """Start time, RFC 3339 in UTC, like `until`."""
    until: str
    """Time of its return; if the runner was killed before, its expiry."""
    returned: bool

    @property
    def span(self) -> tuple[str, str]:
        """From and until, for a person."""
        shown = [time[:19].replace("T", " ") for time in (self.since, self.until)]
        return shown[0], shown[1] if self.returned else f"{shown[1]} at the latest"


def list_secret_uses(project: Project) -> tuple[SecretUse, ...]:
    """Return every use of a secret, oldest first. Raises RunnerError if damaged."""
    uses: list[SecretUse] = []
    open_ones: dict[tuple[str, int, str], int] = {}
    for record in select_records(project.journal_path, project.cache, types=_WANTED):
        event = record.event
        if isinstance(event, SecretLeased):
            where = (event.name, record.task, record.attempt)
            open_ones[record.task, record.attempt, event.name] = len(uses)
            uses.append(SecretUse(*where, event.source, record.time, event.until, returned=False))
        elif isinstance(event, SecretReturned):
            at = open_ones.pop((record.task, record.attempt, event.name), None)
            if at is not None:
                one = uses[at]
                where = (one.name, one.task, one.attempt)
                ended = SecretUse(*where, one.source, one.since, record.time, returned=True)
                uses[at] = ended
    return tuple(uses)
