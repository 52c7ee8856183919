"""Ask a person for permission at the terminal, or store the question for later.

Failed held-out tests become such a question, too: after some rounds a person decides.

Permission rules ask before something is done. A proof's question (`Severity.QUESTION`) is no failed
check: after one repair it is put once. The answer is a review of the proposal as a whole, by its
digest and that of each question that was shown: it holds for no other bytes and no other question
(the same bytes may ask one on another base), and outlives runs and crashes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.config.permissions import CHECK, Rulebook, format_subject, write_tool
from runner.config.shell_rules import PermissionAnswer, Permit
from runner.gates.base import INTEGRITY
from runner.gates.integrity import integrity_proof
from runner.journal.events import TaskApproved, WriteRejected, WriteReviewed
from runner.journal.session_events import PermissionAnswered, PermissionAsked
from runner.journal.session_fold import permission_waits
from runner.model import Action, Ending, Failure, Finding, Reason, Severity, Verdict
from runner.model.words import HELD_OUT, HELD_OUT_FAILED, UNRUN
from runner.model.work import Doubt, ItemVerdict, rows_of, with_rows
from runner.run.review import WHOLE, proposal_digest, question_digest
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Change, Outcome, Task
    from runner.run.journal_writer import JournalWriter
    from runner.run.outcome_recorder import OutcomeRecorder
    from runner.run.review import Asker
    from runner.run.worker_assignment import Assignment, WorkerContext
    from runner.writes.pipeline import WriteRules


APPROVED = "approved by a person"
MORE = " more ("
"""Continuation of a note that names some of the answered questions."""
PROMPT = "accept this change? [y]es, [r]eject, or [w]ait? "
_SHOWN = 3
_DETAIL = 12


def approvals(
    changes: Sequence[Change], questions: Iterable[Finding], reason: str = ""
) -> tuple[WriteReviewed, ...]:
    """Return events that approve each question about a proposal."""
    whole = proposal_digest(changes)
    digests = dict.fromkeys(map(question_digest, questions))
    return tuple(WriteReviewed(WHOLE, one, whole, "applied", "person", reason) for one in digests)


def rejection(changes: Sequence[Change], reason: str) -> WriteRejected:
    """Return the event that rejects a proposal."""
    return WriteRejected(WHOLE, None, proposal_digest(changes), reason, "person")


def was_shown(known: TaskState, questions: Iterable[Finding]) -> bool:
    """Return whether an earlier attempt failed the checks in question, so it had its retry."""
    asked = {finding.check for finding in questions}
    return any(asked <= set(one.checks) for one in known.tries)


def with_approval(outcome: Outcome, reason: str = "") -> Outcome:
    """Return an outcome with approved questions: passed, with a note on the approval."""
    questions = outcome.questions
    findings = tuple(
        replace(one, severity=Severity.WARNING, message=f"{one.message} ({APPROVED})", hint="")
        if one.asks
        else one
        for one in outcome.findings
    )
    of_bytes = tuple(one for one in questions if one.check != UNRUN)
    if not of_bytes:  # nobody was asked about these bytes: whoever reviews them still does
        return replace(outcome, ending=Ending.PASSED, findings=findings)
    why = f": {reason}" if reason else ""
    note = f"{note_of(of_bytes)}{why} ({APPROVED})"
    others = tuple(one for one in outcome.proofs if one.kind != INTEGRITY)
    proofs = (*others, integrity_proof(note, len(of_bytes)))
    return replace(outcome, ending=Ending.PASSED, findings=findings, proofs=proofs)


def was_answered(outcome: Outcome) -> bool:
    """Return whether a person approved the outcome's questions."""
    ours = (one for one in outcome.proofs if one.kind == INTEGRITY)
    return any(one.note.endswith(f"({APPROVED})") for one in ours)


def note_on_done(outcome: Outcome) -> str:
    """Return the note on tests that were changed intentionally; empty if there are none."""
    return next((one.note for one in outcome.proofs if one.kind == INTEGRITY), "")


def note_of(questions: Sequence[Finding]) -> str:
    """Return the questions on one line."""
    shown = "; ".join(one.message for one in questions[:_SHOWN])
    more = len(questions) - _SHOWN
    return f"{shown} … and {more} more" if more > 0 else shown


def format_questions(questions: Iterable[Finding]) -> Iterator[str]:
    """Yield the questions for a person with their details, one a line."""
    for one in questions:
        where = f"{one.path}:{one.line}: " if one.path and one.line else ""
        yield f"? {display(where + one.message)}"
        yield from (f"    {display(line)}" for line in one.detail.splitlines()[-_DETAIL:])


WAITS = "waits for your answer: runner review"
_CHOICES = "allow [o]nce, allow for this [t]ask, [d]eny, or [w]ait? "


class Questions(Struct):
    """Those of one attempt, in its worker; what was answered holds until the attempt is over."""

    assignment: Assignment
    site: WorkerContext
    answers: list[PermissionAnswer] = field(default_factory=list)
    _waiting: set[PermissionAsked] = field(default_factory=set)
    """Questions left open at the prompt: they are not asked a second time."""

    def ask(self, tool: str, subject: str, rule: str) -> PermissionAnswer | None:
        """Return a person's answer about one call; None if the question has to wait."""
        question = PermissionAsked(tool, subject, rule)
        if question in self._waiting:
            return None
        task, attempt = self.assignment.task.id, self.assignment.attempt
        given = self.site.workers.permit(task, attempt, question)
        if given is None:
            self._waiting.add(question)
            return None
        answer = PermissionAnswer(tool, subject, given.allowed, given.reason, given.once)
        self.answers.append(answer)
        return answer

    @property
    def rules(self) -> WriteRules:
        """Write rules of the attempt, including the answers so far."""
        rules = self.assignment.rules
        if not self.answers:
            return rules
        return replace(rules, answers=(*rules.answers, *self.answers))


class PermissionPrompts(Struct, frozen=True):
    """The place where the coordinator's questions are answered, one at a time, or stored."""

    journal: JournalWriter
    asker: Asker | None = None

    def ask(
        self, task: str, attempt: int, question: PermissionAsked, *, for_later: bool = False
    ) -> PermissionAnswered | None:
        """Ask a person and record the answer or the question; return None without an answer.

        An answer `for_later` cannot be for once: there is no attempt yet for which it would hold.
        """
        answer = self._ask_person(task, question)
        if answer is not None and for_later:
            answer = replace(answer, once=False)
        # Without an answer the question itself is stored: `runner review` finds it there, in
        # another process.
        self.journal.note(answer or question, task=task, attempt=attempt, durable=True)
        return answer

    def release(self, tasks: Iterable[Task]) -> None:
        """Ask about what waited for a person, where one is here now."""
        if self.asker is None:
            return
        for task in tasks:
            known = self.journal.state.task(task.id)
            for question in known.asks if permission_waits(known) else ():
                if self.ask(task.id, known.last_attempt, question, for_later=True) is None:
                    break

    def _ask_person(self, task: str, question: PermissionAsked) -> PermissionAnswered | None:
        asker = self.asker
        if asker is None:
            return None
        text = question_text(task, question)
        try:
            while True:
                typed = asker.choose(text, _CHOICES)[:1]
                if typed in ("o", "t"):
                    return _answer(question, allowed=True, once=typed == "o")
                if typed == "d":
                    reason = asker.choose("", "why? ")
                    return _answer(question, allowed=False, reason=reason)
                if typed in ("", "w"):
                    return None
        except KeyboardInterrupt:  # the run ends: nobody has answered
            return None


def question_text(task: str, question: PermissionAsked) -> str:
    """Return the text of a permission question: the escaped call and the rule."""
    rule = f"\n  reason: {display(question.rule)}" if question.rule else ""
    return f"{display(task)} wants to call {call_text(question)}{rule}"


def call_text(question: PermissionAsked) -> str:
    """Return the call of a question, escaped for display."""
    return display(f"{question.tool} {question.subject}")


def answers_of(state: RunState, task: Task) -> tuple[PermissionAnswer, ...]:
    """Return a person's answers for a task as it is written now."""
    known = state.task(task.id)
    if known.tried not in (None, task.spec):
        return ()
    return tuple(
        PermissionAnswer(one.tool, one.subject, one.allowed, one.reason) for one in known.answers
    )


def find_questions(outcome: Outcome, rules: WriteRules) -> Iterator[PermissionAsked]:
    """Yield the permission questions of writes that the pipeline rejected."""
    refused = {one.path for one in outcome.findings if one.refuses and one.check == CHECK}
    book = Rulebook(rules.permission, rules.permission_floor, rules.answers)
    for change in outcome.changes if refused else ():
        tool = write_tool(is_new=change.action is Action.CREATE)
        word, subject = book.word(tool, change.path), format_subject(tool, change.path)
        if word.permit is Permit.ASK and subject in refused:
            yield PermissionAsked(tool, subject, str(word))


def wait_for_answers(
    task: Task,
    outcome: Outcome,
    rules: WriteRules,
    books: OutcomeRecorder,
    context: PermissionPrompts,
) -> bool:
    """Let a failed attempt's task wait for its open questions; False if it has none.

    It goes on at once where a person allows what the pipeline refused. False where no question is
    open, or where the provider failed: then it is tried again first.
    """
    if outcome.failure is Failure.TRANSIENT:
        return False
    answers = [
        context.ask(task.id, outcome.attempt, one, for_later=True)
        for one in find_questions(outcome, rules)
    ]
    asks = context.journal.state.task(task.id).asks
    if not asks and any(one is not None and one.allowed for one in answers):
        books.record_finished(task, outcome)
        again = TaskApproved(by="review", note="you allowed the call: retrying")
        context.journal.note(again, task=task.id, attempt=outcome.attempt)
        return True
    if not asks:
        return False
    more = f" and {len(asks) - 1} more" if len(asks) > 1 else ""
    books.record_finished(task, outcome)
    books.block(task, outcome, Reason.REVIEW, f"{call_text(asks[0])}{more} {WAITS}")
    return True


def _answer(
    question: PermissionAsked, *, allowed: bool, once: bool = False, reason: str = ""
) -> PermissionAnswered:
    tool, subject = question.tool, question.subject
    return PermissionAnswered(tool, subject, allowed, reason, by="person", once=once)


_PRIVATE = (HELD_OUT, HELD_OUT_FAILED)


def as_question(outcome: Outcome) -> Outcome:
    """Return the outcome with failed held-out tests as a question for a person.

    It is the same object where no such test failed, or where another check refuses, too.
    """
    failed = {one.id for one in outcome.proofs if one.held_out and one.verdict is Verdict.FAIL}
    refusals = [one for one in outcome.findings if one.refuses and not one.asks]
    known = {one.check for one in refusals}
    if outcome.ending is not Ending.FAILED or not known or not known <= failed:
        return outcome
    findings = tuple(_ask(one) if one in refusals else one for one in outcome.findings)
    return replace(outcome, findings=findings)


def _ask(failure: Finding) -> Finding:
    return replace(
        failure,
        check=HELD_OUT_FAILED,
        message=f"{failure.check}: {failure.message}",
        severity=Severity.QUESTION,
    )


def waive(outcome: Outcome, reason: str) -> Outcome:
    """Return the outcome with its failed held-out contracts as waived by a person."""
    failed = {one.id for one in outcome.proofs if one.held_out and one.verdict is Verdict.FAIL}
    rows = tuple(
        replace(row, verdict=ItemVerdict.CANNOT_TELL, doubt=Doubt.WAIVED)
        if row.by in failed
        else row
        for row in rows_of(outcome.proofs)
    )
    note = f"waived by a person: {reason}"
    proofs = tuple(
        replace(one, verdict=Verdict.KNOWN, note=note) if one.id in failed else one
        for one in outcome.proofs
        if one.row is None
    )
    items = {row.item for row in rows}
    return replace(outcome, proofs=with_rows(proofs, rows, items)) if failed else outcome


def needs_reason(questions: Iterable[Finding]) -> bool:
    """Return whether a person must say why they let these questions pass."""
    return any(one.check in _PRIVATE for one in questions)


def reason_of(questions: Iterable[Finding]) -> Reason:
    """Return why a task waits that asks these questions."""
    return Reason.HELD_OUT if needs_reason(questions) else Reason.REVIEW


def without_private(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings that an implementer may read."""
    return tuple(one for one in findings if one.check != HELD_OUT)
