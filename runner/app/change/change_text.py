"""Format the output of `change`, `undo`, `replay` and `commit-by-task` as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import Status
from runner.report.cost import cost, cost_part
from runner.report.documents import document
from runner.report.summary import duration
from runner.text.display import display
from runner.text.wording import plural, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.app.change.commit_writes import CommittedWrites
    from runner.app.change.rebuild import LandedStep, RebuiltStep
    from runner.app.change.transaction import RecordedChange, Replayed, Undone
    from runner.history.change import ChangePreview
    from runner.history.revert import Replay

_SHOWN = 20
"""Names and files listed individually."""


# --- change -------------------------------------------------------------------------------


def change_preview(seen: ChangePreview) -> Iterator[str]:
    """Yield the tasks that a change would make STALE, and the cost."""
    if seen.stale:
        yield f"{plural(len(seen.stale), 'task')} would become STALE:"
    for one in seen.stale:
        tests = f"; runs again: {', '.join(map(display, one.tests))}" if one.tests else ""
        yield f"  {display(one.id)} {display(one.title)}: {display(one.reason)}{tests}"
    for noted in seen.noted:
        yield f"{display(noted.id)} is {noted.status}: {_describe_note(noted.id, noted.status)}"
    if seen.stale:
        yield f"estimated from past attempts: {_cost(seen)}"


def _describe_note(id_: str, status: Status) -> str:
    if status is Status.BLOCKED:
        return (
            f"the change is noted in its section; to build the task with it: runner approve {id_}"
        )
    if status is Status.STALE:
        return f"the change is noted in its section; to rebuild the task: runner approve {id_}"
    return "the change is noted in its section"


def _cost(seen: ChangePreview) -> str:
    known = [one for one in seen.stale if one.seconds]
    unknown = len(seen.stale) - len(known)
    more = f", and {plural(unknown, 'task')} without a recorded time" if unknown else ""
    return f"{seen.seconds:.1f} s{more}" if known else "unknown"


def change_lines(entry: RecordedChange) -> Iterator[str]:
    """Yield the recorded change and the next command to type."""
    seen, number = entry.change, entry.number
    if not number:
        yield "nothing was recorded"
        return
    yield f"CHANGE-{number:03d} recorded"
    named = [one.id for one in seen.stale if not one.via]
    yield f"next: runner review; runner approve {' '.join(named)}" if named else "next: runner"
    if named and len(seen.stale) > len(named):
        yield "dependents are re-tested, and rebuilt only if an interface changes"


def change_document(entry: RecordedChange) -> str:
    """Return the `change` JSON document."""
    seen, number = entry.change, entry.number
    return document(
        "change",
        recorded=bool(number),
        change=f"CHANGE-{number:03d}" if number else None,
        text=seen.text,
        tasks=seen.tasks,
        stale=seen.stale,
        noted=seen.noted,
        seconds=round(seen.seconds, 3),
    )


# --- undo ---------------------------------------------------------------------------------


def undo_preview(done: Undone) -> Iterator[str]:
    """Yield what an undo changes, and what that makes of other tasks."""
    back = done.back
    yield from (f"{change.action} {display(change.path)}" for change in back.changes)
    for held in back.tasks[1:]:
        yield f"PENDING {display(held)} — its held change is dropped; its draft stays"
    yield from (f"STALE {display(one.task)} — {display(one.reason)}" for one in back.stale)
    yield from (f"{display(one)} imports {display(path)}" for one, path in done.importers)


def undo_lines(done: Undone) -> Iterator[str]:
    """Yield the same, and whether it was done."""
    yield from undo_preview(done)
    name, count = display(done.back.tasks[0]), plural(len(done.back.changes), "file")
    if done.commit:
        yield f"{name} undone as {short(done.commit)} ({count}); it is PENDING"
    else:
        yield f"{name} would be undone ({count}); nothing was changed"


def undo_document(done: Undone) -> str:
    """Return the `undo` JSON document."""
    back = done.back
    return document(
        "undo",
        task=back.tasks[0],
        commit=done.commit or None,
        done=bool(done.commit),
        files=[{"path": one.path, "action": str(one.action)} for one in back.changes],
        stale=[{"id": one.task, "note": one.reason, "via": one.via} for one in back.stale],
        importers=[{"path": one, "imports": path} for one, path in done.importers],
    )


# --- replay -------------------------------------------------------------------------------


def replay_preview(seen: Replay) -> Iterator[str]:
    """Yield the effects of a replay before it runs."""
    back = seen.back
    yield f"back to {short(seen.checkpoint)}:"
    yield f"  {plural(len(back.tasks), 'task')} PENDING again: {_first(back.tasks)}"
    yield f"  {plural(len(back.changes), 'file')} restored:"
    yield from (f"    {one.action} {display(one.path)}" for one in back.changes[:_SHOWN])
    if len(back.changes) > _SHOWN:
        yield f"    … and {len(back.changes) - _SHOWN} more"
    if seen.by_hand:
        yield f"  files of {plural(len(seen.by_hand), 'manual commit')} since then stay"
    yield f"  current HEAD saved as refs/runner/{back.kept}"
    took = f"about {duration(seen.seconds)}" if seen.seconds else ""
    spent = ", ".join(filter(None, [took, cost(seen.usage)]))
    yield f"  cost of rebuilding them, by past attempts: {spent or 'unknown'}"
    yield "  runner run --reuse lands their recorded work again, without calling implementers"


def _first(names: tuple[str, ...]) -> str:
    shown = ", ".join(display(name) for name in names[:_SHOWN])
    return shown + (" …" if len(names) > _SHOWN else "") if names else "none"


def replay_lines(done: Replayed) -> Iterator[str]:
    """Yield the effects of a replay, done or in a dry run."""
    seen, back, commit = done.replay, done.replay.back, done.commit
    if seen.nothing:
        yield f"nothing landed after {short(seen.checkpoint)}"
    elif not commit:
        yield from replay_preview(seen)
        yield "nothing was changed"
    else:
        tasks, files = plural(len(back.tasks), "task"), plural(len(back.changes), "file")
        yield f"back to {short(seen.checkpoint)} as {short(commit)}: {tasks} PENDING, {files}"
        yield f"previous HEAD saved as refs/runner/{display(back.kept)}"
        yield "next: runner run --reuse (lands recorded work again), or runner"


def replay_document(done: Replayed) -> str:
    """Return the `replay` JSON document."""
    seen, back, commit = done.replay, done.replay.back, done.commit
    return document(
        "replay",
        checkpoint=seen.checkpoint,
        done=bool(commit),
        commit=commit or None,
        pending=back.tasks,
        files=[{"path": one.path, "action": str(one.action)} for one in back.changes],
        by_hand=[one.commit for one in seen.by_hand],
        kept=f"refs/runner/{back.kept}" if commit else None,
        seconds=round(seen.seconds, 3),
        **cost_part(seen.usage),
    )


def rebuild_lines(found: Sequence[RebuiltStep], steps: int) -> Iterator[str]:
    """Yield the result of a rebuild: identical steps, or the first one that diverges."""
    last = found[-1]
    for one in found:
        if one.unproven:
            yield f"{_name(one.step)}: files compared, not re-tested: {display(one.unproven)}"
    if last.divergence:
        yield f"{_name(last.step)} diverges: {display(last.divergence)}"
        yield from (f"  {display(line)}" for line in last.detail.splitlines()[-8:])
        yield f"identical before this step: {len(found) - 1} of {plural(steps, 'step')}"
        return
    seconds = _seconds(found)
    yield (
        f"identical: {plural(steps, 'step')} rebuilt in {seconds:.1f} s "
        f"({seconds / steps:.3f} s each), no implementer called"
    )


def rebuild_document(found: Sequence[RebuiltStep], steps: int) -> str:
    """Return the `verify` JSON document of a replay."""
    last = found[-1]
    return document(
        "verify",
        identical=not last.divergence,
        implementer_calls=0,
        steps=steps,
        seconds=_seconds(found),
        divergence=last if last.divergence else None,
        verified=found,
    )


def _seconds(found: Sequence[RebuiltStep]) -> float:
    return round(sum(one.seconds for one in found), 3)


def _name(step: LandedStep) -> str:
    return f"{display(step.task)} attempt {step.attempt} ({short(step.commit)})"


# --- commit-by-task -----------------------------------------------------------------------


def commit_lines(writes: CommittedWrites) -> Iterator[str]:
    """Yield one line a commit with its files, and the writes that are not committed."""
    found = writes.grouped
    for group, commit in zip(found.groups, _commits_of(writes), strict=True):
        name = f"{display(group.task)} {display(writes.titles.get(group.task, ''))}".strip()
        yield f"{short(commit) or 'would commit'} {name}: {plural(len(group.changes), 'file')}"
        yield from (f"  {change.action} {display(change.path)}" for change in group.changes)
    for path, task in found.joined:
        why = "only its last version is logged, so all of it goes to"
        yield f"{display(path)}: {why} {display(task)}"
    for path, reason in found.left:
        yield f"not committed: {display(path)} ({display(reason)})"
    if not found.groups:
        yield "no logged writes to commit"


def commit_document(writes: CommittedWrites) -> str:
    """Return the `commit-by-task` JSON document."""
    found = writes.grouped
    return document(
        "commit-by-task",
        done=bool(writes.commits),
        commits=[
            {
                "task": group.task,
                "commit": commit or None,
                "files": [change.path for change in group.changes],
            }
            for group, commit in zip(found.groups, _commits_of(writes), strict=True)
        ],
        left=[{"path": path, "reason": reason} for path, reason in found.left],
        joined=[{"path": path, "task": task} for path, task in found.joined],
    )


def _commits_of(writes: CommittedWrites) -> tuple[str, ...]:
    return writes.commits or ("",) * len(writes.grouped.groups)
