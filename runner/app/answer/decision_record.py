"""Record a person's decision in DECISIONS.md and the journal, and turn it into a pattern.

The pattern library is searched, and a decision becomes a pattern of it.
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import astuple

from runner import effects
from runner.app.change.transaction import open_transaction
from runner.app.inspect.view import View
from runner.app.prove.verified_tree import grades_in
from runner.context.patterns import (
    FOLDER,
    HEAD,
    INDEX,
    PATH,
    PatternSearch,
    file_of,
    free_id,
    pattern_ids,
    read_decisions,
    row_of,
    source_decision,
    text_of,
    with_row,
)
from runner.errors import ExitCode, RunnerError
from runner.journal.events import DecisionMade
from runner.journal.lock import make_plain_folder
from runner.journal.log import Journal
from runner.journal.session_events import TaskWaived
from runner.model import Decision
from runner.plan.patterns import PatternIndex
from runner.plan.task_types import classify, topics_of
from runner.repo.trailers import WaiverTrailer, format_waived
from runner.report.decisions_file import DecisionsDocument, IgnoreDocument
from runner.report.documents import document
from runner.report.table import table
from runner.run.selection import find_id
from runner.run.waivers import files_now, files_of, is_committed, why_no_person
from runner.writes.safe_io import read_below, write_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.app.change.transaction import Transaction
    from runner.context.patterns import Recorded
    from runner.model import Graded, Task
    from runner.plan.patterns import Pattern, PatternMatch
    from runner.project import Project


def decide(project: Project, decision: Decision, task: str = "") -> int:
    """Append the decision, and give its number; it takes no lock of the run's.

    `task` is the id it was made for, as a person types it. Raises RunnerError without a title.
    """
    if not decision.title.strip():
        raise RunnerError("a decision needs a title", hint='runner plan decide "What was chosen"')
    id_ = find_id(task, dict.fromkeys(one.id for one in project.outline().tasks)) if task else ""
    # remove secrets first: the file is committed
    clean = Decision(*(project.without_secrets(part.strip()) for part in astuple(decision)))
    return _append(project, clean, id_)


def _append(project: Project, decision: Decision, task: str) -> int:
    IgnoreDocument(project.root).exclude()
    document = DecisionsDocument(project.root)
    with _alone(project.root / document.path), Journal.open(project.journal_path) as journal:
        state = project.state()
        number = document.next_number(state.decisions)
        event = DecisionMade(number=number, decision=decision)
        # Journal first: if a kill loses the file's entry, the next run writes it.
        record = journal.append(event, task=task, durable=True)
        document.hear(record, state.after(record))
    return number


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Hold the lock that keeps other `decide` processes from taking a number."""
    make_plain_folder(file.parent)
    effects.step("open", file)
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise RunnerError(
            f"cannot write the decisions: {error.strerror}",
            where=str(file),
            hint="replace it with a regular file; the runner does not follow symbolic links",
        ) from error
    try:
        # Lock the document itself, which the runner appends to in place: after a rename, waiting
        # processes would lock a deleted file.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


_ID = re.compile(r"(?:DECISION[-_ ]?)?(\d{1,9})\Z", re.IGNORECASE)
_TRIES = 20
_MODE = 0o100644


class Accepted(Struct, frozen=True):
    """A decision that is a pattern."""

    decision: str
    pattern: str
    file: str
    is_new: bool
    """Whether a pattern was written; False: it already existed."""


def load_index(project: Project) -> PatternIndex:
    """Load the pattern index. Raises RunnerError if there is none."""
    return PatternIndex.read(_index_bytes(project))


def search_patterns(project: Project, words: Sequence[str]) -> tuple[PatternMatch, ...]:
    """Return the patterns that match the words by domain, stack, keyword or title, best first.

    Raises RunnerError without a word.
    """
    if not words:
        raise RunnerError("no search words", hint="runner plan pattern search locking sqlalchemy")
    index = load_index(project)
    stacks = {name.casefold() for one in index.patterns for name in one.stack}
    search = PatternSearch(
        domains=tuple(word.casefold() for word in words),
        stack=tuple(word for word in words if word.casefold() in stacks),
        keywords=tuple(words),
    )
    return search.matches(index, limit=len(index.patterns))


def accept(project: Project, words: Sequence[str]) -> Accepted:
    """Write a decision's pattern, then its row; what is there of both already stays.

    Raises RunnerError where no decision is named, or one that is no candidate.
    """
    recorded = _decision(project, words)
    data = _index_bytes(project)
    known = _find_accepted(project, recorded.number)
    if known is None and not recorded.is_candidate:
        raise RunnerError(
            f"{recorded.id} is not marked as a candidate",
            where="artifacts/build/DECISIONS.md",
            hint="add `Pattern: candidate` below it, then accept it again",
        )
    taken = pattern_ids(_names(project))
    pattern = known or free_id(PatternIndex.read(data), taken, recorded.decision.pattern)
    written = _write_pattern(project, pattern, recorded, is_new=known is None)
    return Accepted(recorded.id, pattern, file_of(pattern), written)


def _index_bytes(project: Project) -> bytes:
    """Return the bytes of PATTERN_INDEX.md. Raises RunnerError if there is none."""
    found = read_below(project.root, INDEX)
    if found is None:
        raise RunnerError(
            f"{INDEX} not found",
            where=INDEX,
            hint=f"create it with the header {HEAD} and below it |---|---|---|---|---|---|",
        )
    return found


def _decision(project: Project, words: Sequence[str]) -> Recorded:
    """Return the named decision. Raises RunnerError if no ID is given or it is unknown."""
    if len(words) != 1 or not (match := _ID.match(words[0])):
        raise RunnerError("expected a decision ID", hint="runner plan pattern accept DECISION-007")
    text = (read_below(project.root, PATH) or b"").decode("utf-8", "replace")
    found = {one.number: one for one in read_decisions(text)}
    number = int(match[1])
    if number not in found:
        candidates = [one.id for one in found.values() if one.is_candidate]
        hint = f"candidates: {', '.join(candidates)}" if candidates else ""
        raise RunnerError(
            f"unknown decision DECISION-{number:03d}",
            where=PATH,
            hint=hint or 'runner plan decide "What was chosen" --pattern candidate',
        )
    return found[number]


def _find_accepted(project: Project, number: int) -> str | None:
    """Return the pattern ID that was made from a decision, or None."""
    for name in _names(project):
        content = read_below(project.root, f"{FOLDER}/{name}") or b""
        if source_decision(content.decode("utf-8", "replace")) == number:
            return next(iter(pattern_ids([name])), None)
    return None


def _names(project: Project) -> list[str]:
    """Return the names of the pattern files in the library's folder."""
    folder = project.root / FOLDER
    if not folder.is_dir() or folder.is_symlink():
        return []
    found = (file for file in folder.glob("PATTERN-*.md") if file.is_file())
    return sorted(file.name for file in found if not file.is_symlink())


def _write_pattern(project: Project, pattern: str, recorded: Recorded, *, is_new: bool) -> bool:
    """Write what is missing, the text first: a row never names a file that is not there."""
    task = _task(project, recorded.task)
    row = row_of(pattern, recorded, task, _domain(task))
    if is_new:
        with_row(_index_bytes(project), row)  # says so where there is no table for it
        text = text_of(pattern, recorded, task)
        write_below(project.root, file_of(pattern), text.encode(), _MODE)
    for _ in range(_TRIES):
        data = _index_bytes(project)
        if any(one.id == pattern for one in PatternIndex.read(data).patterns):
            return is_new
        if _replace_file(project, data, row):
            return True
    raise RunnerError(
        "PATTERN_INDEX.md keeps changing: another program is saving it",
        hint=f"stop that program, then: runner plan pattern accept {recorded.id}",
        code=ExitCode.CONFLICT,
    )


def _domain(task: Task | None) -> str:
    """Return the domain of a task's pattern: its Type, else its first topic."""
    if task is None:
        return ""
    return task.type or next(iter(topics_of(task, classify(task))), "")


def _replace_file(project: Project, data: bytes, row: Mapping[str, str]) -> bool:
    file = project.root / INDEX
    mode = file.stat().st_mode & 0o777
    return effects.write_file(file, with_row(data, row), mode=mode, expected=data)


def _task(project: Project, id_: str) -> Task | None:
    """Return the task of a decision if the plan still contains it."""
    if not id_ or not (project.root / project.plan_path).is_file():
        return None
    plan = project.plan(project.plan_bytes)
    return next((task for task in plan.tasks if task.id == id_), None)


# --- in words, and as documents -----------------------------------------------------------


def pattern_lines(patterns: Sequence[Pattern]) -> Iterator[str]:
    """Yield the pattern library as a table."""
    rows = [
        (one.id, one.title, one.domain, ", ".join(one.stack), ", ".join(one.keywords))
        for one in patterns
    ]
    yield table(("PATTERN", "TITLE", "DOMAIN", "STACK", "KEYWORDS"), rows).removesuffix("\n")


def pattern_document(patterns: Sequence[Pattern]) -> str:
    """Return the `patterns` JSON document."""
    return document("patterns", patterns=list(patterns))


def match_lines(found: Sequence[PatternMatch], words: Sequence[str]) -> Iterator[str]:
    """Yield the patterns that match the words, best match first, with the reasons."""
    if found:
        rows = [(one.pattern.id, one.pattern.title, ", ".join(one.because)) for one in found]
        yield table(("PATTERN", "TITLE", "BECAUSE"), rows).removesuffix("\n")
    else:
        yield f"no pattern matches {' '.join(words)}"


def match_document(found: Sequence[PatternMatch], words: Sequence[str]) -> str:
    """Return the `pattern-search` JSON document."""
    rows = [{"score": one.score, "because": one.because, "pattern": one.pattern} for one in found]
    return document("pattern-search", words=list(words), patterns=rows)


def acceptance_lines(one: Accepted) -> Iterator[str]:
    """Yield which pattern a decision has become or already is."""
    if one.is_new:
        yield f"{one.decision} is now {one.pattern}: {one.file}, listed in {INDEX}"
    else:
        yield f"{one.decision} is already {one.pattern}: {one.file}"


def acceptance_document(one: Accepted) -> str:
    """Return the `pattern-accepted` JSON document."""
    facts = {"decision": one.decision, "pattern": one.pattern, "file": one.file}
    return document("pattern-accepted", **facts, written=one.is_new)


class Waive(Struct, frozen=True):
    """The task, as a person types its id, and why it needs no proof."""

    task: str
    reason: str


class WaiverResult(Struct, frozen=True):
    """A waiver that is in the journal."""

    task: str
    reason: str
    is_new: bool
    """Whether the waiver is new; in CI an existing one is not an error."""


def waive(project: Project, asked: Waive) -> WaiverResult:
    """Write a waiver into the journal and into the plan.

    Raises RunnerError (exit 3) where no person can have given it.
    """
    reason = " ".join(project.without_secrets(asked.reason).split())
    if not reason:
        raise RunnerError("a waiver needs a reason", hint='runner waive ID --reason "…"')
    id_ = find_id(asked.task, [task.id for task in project.outline().tasks])
    if why := why_no_person(project.environ):
        if why.ci and _is_held(project, id_, reason):
            return WaiverResult(id_, reason, is_new=False)
        raise RunnerError(
            f"only a person may waive: {why.text}",
            hint="a person must run it in their own terminal",
            code=ExitCode.PERSON,
        )
    with open_transaction(project) as transaction:
        transaction.begin("waive")
        _waive(transaction, id_, reason)
        transaction.finish()
    return WaiverResult(id_, reason, is_new=True)


def _is_held(project: Project, id_: str, reason: str) -> bool:
    """Return whether a waiver with this reason is in effect for the task."""
    view = View.of(project)
    graded, waived = view.grades.get(id_), view.states[id_].waived
    is_waived = graded is not None and view.worth(id_) == "waived"
    return is_waived and waived is not None and waived.reason == reason


def _waive(transaction: Transaction, id_: str, reason: str) -> None:
    session = transaction.session
    task = next(one for one in transaction.plan.tasks if one.id == id_)
    known = transaction.state.task(id_)
    graded = _grade_task(transaction, id_)
    if graded is None or graded.is_proven:
        # Finish the transaction: without an end the next run would treat it as killed.
        transaction.finish()
        standing = f"is {known.status}" if graded is None else f"is {graded.words}"
        raise RunnerError(
            f"nothing to waive: {id_} {standing}",
            hint="only tasks that are DONE and unproven can be waived: runner status",
            code=ExitCode.USAGE,
        )
    head = session.repository.head().commit
    paths = files_of(session.repository, task.outputs, known.commit, head)
    files = files_now(session.project.root, paths)
    event = TaskWaived(reason=reason, by="person", what=task.spec.what, files=files)
    session.journal.note(event, task=id_, durable=True)
    if is_committed(session.repository, files):
        session.waived.append(format_waived(WaiverTrailer(id_, task.spec.what, reason)))
    transaction.regraded.add(id_)


def _grade_task(transaction: Transaction, id_: str) -> Graded | None:
    session = transaction.session
    tasks, state = transaction.plan.tasks, transaction.state
    return grades_in(session.project, tasks, state, session.repository).get(id_)
