"""Describe one task for a person: its report, its acceptance table and its next step.

The runner writes `artifacts/build/reports/TASK-003.md` when an attempt leaves a task BLOCKED; each
time whole, from what the journal says. Summary, console, report, `why` and `review` print the same
sentence as the next step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.gates.missing_file_causes import find_named
from runner.gates.sandbox_denials import IN_OWN_SETTINGS
from runner.journal.display_status import format_status
from runner.journal.events import AttemptFinished, TaskBlocked
from runner.journal.records import read_journal
from runner.journal.session_fold import permission_waits, plan_waits
from runner.lazy_module import lazy_module
from runner.model import Ending, Failure, Reason, Status, Verdict
from runner.model.work import Judge, items_of, rows_of
from runner.report.cost import cost
from runner.report.decisions_file import BUILD
from runner.report.summary import duration
from runner.run.limits.budget import was_one_attempts
from runner.run.limits.failure_policy import find_own_failure, loops
from runner.run.proof_sufficiency import CHECK, PROOF_HINT, WISH_HINT, lacks_proof
from runner.run.regressions.regression import find_unapproved, victims, victims_of
from runner.run.review import was_refused
from runner.secrets.redact import redact
from runner.text.display import display, display_markdown
from runner.text.wording import list_failures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Finding, Proof, Task
    from runner.model.work import AcceptanceRow
    from runner.run import preflight
else:
    preflight = lazy_module("runner.run.preflight")

FOLDER = f"{BUILD}/reports"
_TOLD = (Reason.CHECKS, Reason.STUCK, Reason.BUDGET, Reason.TOOL, Reason.POLICY)
"""Reasons for which an attempt has more details than the note."""
_SIGN = {Verdict.PASS: "passes", Verdict.FLAKY: "passes, but is flaky", Verdict.FAIL: "**fails**"}
_DETAIL_LINES = 40


def report_path(task: str) -> str:
    """Return the path of a task's report, relative to the project."""
    return f"{FOLDER}/{task}.md"


def find_report(root: Path, known: TaskState) -> str:
    """Return the path of a task's report relative to the project; empty if there is none."""
    path = report_path(known.id)
    return path if _has_report(known) and (root / path).is_file() else ""


def _has_report(known: TaskState) -> bool:
    """Return whether an attempt left the task BLOCKED, with more than the note to report."""
    return known.status is Status.BLOCKED and known.reason in _TOLD and bool(known.tries)


class ReportsDocument(Struct):
    """Hears the journal; writes a report where an attempt has left its task BLOCKED."""

    root: Path
    written: dict[str, str] = field(default_factory=dict)
    """Text of each report of this run, by task."""
    _tasks: Mapping[str, Task] = field(default_factory=dict)
    _tried: dict[str, AttemptFinished] = field(default_factory=dict)
    """Last attempt at each task in this run."""
    _proven: dict[str, tuple[int, AttemptFinished]] = field(default_factory=dict)
    """Last attempt that reached a proof, with its number."""
    _heard: set[tuple[str, int]] = field(default_factory=set)

    def know(self, tasks: Mapping[str, Task], state: RunState) -> None:
        """Set the plan's tasks, for their titles, and write reports that a crash prevented."""
        self._tasks = tasks
        for id_ in self._tasks:
            known = state.task(id_)
            if _has_report(known) and not (self.root / report_path(id_)).exists():
                self._write(known, state)

    def hear(self, record: Record, state: RunState) -> None:
        """Record the last attempt, and write the report when its task is BLOCKED."""
        event = record.event
        if isinstance(event, AttemptFinished) and event.ending is not Ending.INTERRUPTED:
            self._tried[record.task] = event
            self._heard.add((record.task, record.attempt))
            if event.proofs:
                self._proven[record.task] = (record.attempt, event)
        elif isinstance(event, TaskBlocked) and event.reason in _TOLD and record.attempt:
            self.written[record.task] = self._write(state.task(record.task), state)

    def _write(self, known: TaskState, state: RunState) -> str:
        last, proven = self._tried.get(known.id), self._proven.get(known.id)
        numbers = {one.attempt for one in known.tries}
        if proven is not None and proven[0] not in numbers:  # before a person let it begin anew
            proven = None
        if proven is None and any((known.id, number) not in self._heard for number in numbers):
            proven = _find_earlier_proof(self.root, known)
        task = self._tasks.get(known.id)
        step = next_step(known, state, task)
        text = redact(task_report(known, task.title if task else "", last, proven, step))
        file = self.root / report_path(known.id)
        effects.make_folder(file.parent)
        effects.write_file(file, text.encode("utf-8", "replace"))
        return text


def _find_earlier_proof(root: Path, known: TaskState) -> tuple[int, AttemptFinished] | None:
    """Return number and event of the task's last attempt with a proof, or None."""
    numbers, found = {one.attempt for one in known.tries}, None
    for record in read_journal(root / BUILD / "journal.jsonl", wanted={"attempt.finished"}):
        event = record.event
        if record.task != known.id or record.attempt not in numbers:
            continue
        if isinstance(event, AttemptFinished) and event.proofs:
            found = (record.attempt, event)
    return found


def task_report(
    known: TaskState,
    title: str,
    last: AttemptFinished | None,
    proven: tuple[int, AttemptFinished] | None = None,
    step: str = "",
) -> str:
    """Return the task's report as Markdown, with the next `step` for a person.

    `proven` is the last attempt that came to a proof, by its number: attempts after that one may
    have ended for a broken connection, and tell nothing of the work.
    """
    return "\n".join(_lines(known, title, last, proven, step)) + "\n"


def _lines(
    known: TaskState,
    title: str,
    last: AttemptFinished | None,
    proven: tuple[int, AttemptFinished] | None,
    step: str,
) -> Iterator[str]:
    name = display(known.id)
    yield f"# {name}: {display_markdown(title)}"
    yield ""
    yield f"{format_status(known)}: {display(known.note)}"
    yield ""
    yield from _facts(known)
    if proven is not None:
        number, attempt = proven
        of = "" if not known.tries or number == known.tries[-1].attempt else f" of attempt {number}"
        yield from _section(f"Checks{of}", (_proof(one) for one in attempt.proofs))
    refusals = [one for one in known.findings if one.refuses]
    yield from _section("Open", _findings(refusals))
    summary = last.summary if last else ""
    yield from _section("Last message of the implementer", _quote(summary))
    yield from _section("Attempts", _attempts(known))
    if step:
        yield from _section("Next step", [f"- {step}"])


def _facts(known: TaskState) -> Iterator[str]:
    if known.draft:
        yield f"- Work kept on `{display(known.draft)}`"
    yield f"- Attempts: {known.attempts_in_row}, {duration(known.seconds_in_row)}"
    if used := cost(known.usage):
        yield f"- Used: {used}"


def _section(heading: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield from ("", f"## {heading}", "", *found)


def _proof(proof: Proof) -> str:
    counts = ", ".join(f"{display(name)} {number}" for name, number in proof.counts)
    result = _SIGN.get(proof.verdict, str(proof.verdict))
    command = f": `{display(proof.command)}`" if proof.command else ""
    return f"- {display(proof.id)} {result}{f' ({counts})' if counts else ''}{command}"


def _place(one: Finding) -> str:
    """Return the file of a finding, with its line if there is one."""
    return f"{display(one.path)}:{one.line}" if one.line else display(one.path)


def _findings(findings: Iterable[Finding]) -> Iterator[str]:
    for one in findings:
        place = f"{_place(one)}: " if one.path else ""
        yield f"- {display(one.check)}: {place}{display_markdown(one.message)}"
        yield from (f"  - {display_markdown(line)}" for line in list_failures(one.detail))
        if one.hint:
            yield f"  hint: {display_markdown(one.hint)}"
        if one.detail:
            tail = one.detail.splitlines()[-_DETAIL_LINES:]
            yield from ("", *(f"      {display(line)}" for line in tail), "")


def _quote(text: str) -> Iterator[str]:
    yield from (f"> {display_markdown(line)}" for line in text.splitlines())


def _attempts(known: TaskState) -> Iterator[str]:
    for one in known.tries:
        kind = f" ({one.failure})" if one.failure else ""
        failed = ", ".join(display(check) for check in one.checks) or "no check failed"
        yield f"- attempt {one.attempt}{kind}: {failed}; {duration(one.seconds)}"
    yield from (f"- loop: {display(loop)}" for loop in loops(known.tries))


def describe_table(task: Task, proofs: Iterable[Proof]) -> list[dict[str, object]]:
    """Return the table as data: one entry a verdict, and one for each item without any."""
    return [
        {
            "item": item,
            "text": text,
            "verdict": row and row.verdict,
            "by": row and _judge(row),
            "tests": row.tests if row else (),
            "evidence": row.evidence if row else (),
            "sentence": row.sentence if row else "",
            "doubt": row.doubt if row else "",
            "counts": row is not None and row.counts,
        }
        for item, text, row in _pair_items(task, proofs)
    ]


def format_table(task: Task, proofs: Iterable[Proof]) -> Iterator[str]:
    """Yield the table as lines: an item with its text, below it each verdict."""
    last = None
    for item, text, row in _pair_items(task, proofs):
        if item != last:
            yield display(f"{item}: {text}".rstrip(": "))
        last = item
        yield f"  {display(_format_verdict(row)) if row else 'no verdict'}"
        if row and row.sentence:
            yield f"    {display(row.sentence)}"


def _pair_items(
    task: Task, proofs: Iterable[Proof]
) -> Iterator[tuple[str, str, AcceptanceRow | None]]:
    """Yield item, text and verdict in the order of the plan; nothing where no item has one."""
    rows, texts = rows_of(proofs), items_of(task)
    for item in dict.fromkeys((*texts, *(row.item for row in rows))) if rows else ():
        of_item = [row for row in rows if row.item == item]
        yield from ((item, texts.get(item, ""), row) for row in of_item or (None,))


def _format_verdict(row: AcceptanceRow) -> str:
    """Return `met, by held-out tests TC-003`, with evidence and the reason it does not count."""
    places = " ".join((*(one for one in row.tests if one != row.by), *row.evidence))
    doubt = f" (does not count: {row.doubt.words})" if row.doubt else ""
    return f"{row.verdict}, by {_judge(row)}{f': {places}' if places else ''}{doubt}"


def _judge(row: AcceptanceRow) -> str:
    """Return who judged, such as `held-out tests TC-003` or `claude (opus-5)`."""
    if row.judge is Judge.REVIEWER and row.by:
        return row.by
    return f"{row.judge} {row.by}".rstrip()


SCOPE = "scope"
"""Check whose hint is a line for the plan, if one is enough."""
_MISSING = "provide what is missing (`runner doctor` lists it), then `runner`"
LACKING = {
    # Every run checks again for what these lacked: rebuilding them changes nothing.
    Reason.SECRET: _MISSING,
    Reason.TOOL: _MISSING,
    Reason.ROOT: (
        "do the task yourself and set its Status to DONE, or remove root (Requires, "
        "sudo) from the task; then `runner`"
    ),
    Reason.POLICY: "fix the task's section (`runner validate` shows the problem), then `runner`",
    Reason.PROOF: f"{PROOF_HINT}; then `runner`",
    Reason.HELD_OUT: "put the files back (`runner hold-out --check` names them), then `runner`",
    Reason.TEST_AUTHOR: "fix the cause in the note, then `runner`: the test author retries",
    Reason.WISH: f"{WISH_HINT}; then `runner`",
}
"""What to do if a task lacks something before it can start."""
_REVIEW = (
    "`runner review` shows what needs your decision; `runner approve` or `runner reject` answers"
)
_HELD = {
    "review": _REVIEW,
    "in-the-way": "commit or move your own file, then `runner`",
    "cannot-land": "fix the cause, then `runner`: the proven work lands",
    "conflict": "switch to the branch of the run, then `runner`: the work is re-tested on it",
}
"""What to do if proven work cannot land, by the reason it is held."""


def next_step(
    known: TaskState, state: RunState, task: Task | None = None, *, in_vain: str | None = None
) -> str:
    """Return what a person can do about a BLOCKED task; `task` is its section, if it was read.

    `in_vain` says why no approval helps what its held change breaks; None where nobody looked.
    """
    name = display(known.id)
    if plan_waits(known) or permission_waits(known):
        return _REVIEW
    if broken := _find_broken(known, state):
        ids = " ".join(map(display, find_unapproved(broken, state) or broken))
        drops = f"`runner reject {name} --reason …` drops the change"
        if in_vain is None:
            return f"`runner review {name}` shows how to keep the change, {drops}"
        keeps = f"{in_vain}, then `runner approve {ids}`" if in_vain else f"`runner approve {ids}`"
        return f"{keeps} keeps the change, {drops}"
    if known.held is not None and known.reason is Reason.HELD_OUT:
        shows = f"`runner review {name}` shows what failed"
        right = f"`runner retry {name}`: the tests are right"
        waives = f"`runner approve {name} --reason …`: accept the failures"
        mends = f"`runner hold-out {name} FILE --replace`: FILE is fixed"
        return f"{shows}; {right}; {waives}; {mends}"
    if known.held is not None and known.held.kind in _HELD:
        return _HELD[known.held.kind]
    hint = next((display(one.hint) for one in known.findings if one.refuses and one.hint), "")
    if failure := find_own_failure(known):
        finish = f",{_or_finish(known)}" if known.draft else ""
        if failure is Failure.TRANSIENT:
            return f"`runner retry {name}` later: a service did not answer{finish}"
        return f"{hint or f'`runner why {name}`'}; then `runner retry {name}`{finish}"
    return _by_reason(known, task, hint)


def _find_broken(known: TaskState, state: RunState) -> tuple[str, ...]:
    """Return what its held change breaks, also before these are STALE."""
    recorded = victims(known.findings) if known.reason is Reason.REGRESSION else ()
    return recorded or victims_of(known.id, state)


def _by_reason(known: TaskState, task: Task | None, hint: str) -> str:
    name = display(known.id)
    match known.reason:
        case Reason.CHECKS | Reason.STUCK:
            return _mend(known, hint)
        case Reason.BUDGET:
            own = hint if was_one_attempts(known) else ""
            helps = own or "raise the task's Budget, or the limit in your settings"
            return f"{helps}; then `runner retry {name}`"
        case Reason.PROOF if _is_provable(known, task):
            is_wrong = task is not None and bool(preflight.no_proof(task))
            shows = "`runner validate` shows the line; " if is_wrong else ""
            return f"{shows}fix the task as the note says, then `runner`"
        case Reason.REVIEW if was_refused(known):
            return _mend(known, hint)
        case Reason.REVIEW | Reason.REGRESSION | None:
            return f"`runner why {name}` shows the reason; `runner retry {name}` retries it"
        case reason:
            return LACKING[reason]


def _mend(known: TaskState, hint: str) -> str:
    """Return the next step for a task that checks rejected."""
    name = display(known.id)
    refused = [one for one in known.findings if one.refuses]
    is_own = refused and all(one.check in (SCOPE, "implementer") for one in refused)
    if find_named(hint):
        return hint
    if hint and is_own and hint.startswith("- "):
        return f"in the plan, replace the task's Output files line, then `runner`:  {hint}"
    if hint and (is_own or hint.endswith(IN_OWN_SETTINGS)):
        return f"{hint}; then `runner retry {name}`"
    fix = f"fix the plan{_or_finish(known)}, then `runner`"
    return fix if was_refused(known) else f"{fix}; to retry unchanged: `runner retry {name}`"


def _or_finish(known: TaskState) -> str:
    """Return a hint to finish the draft branch of an attempt, or an empty string."""
    adopt = f"`runner adopt {display(known.id)}`"
    return f" or finish {display(known.draft)} ({adopt})" if known.draft else ""


def _is_provable(known: TaskState, task: Task | None) -> bool:
    """Return whether the task names a proof, so that its block has another cause."""
    named = task is None or bool(task.test_contracts or task.contracts or task.gates)
    asked = any(one.check == CHECK and one.refuses for one in known.findings)
    return named and not asked and not lacks_proof(known.note)
