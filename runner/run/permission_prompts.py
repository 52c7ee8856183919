"""What permission rules have a person asked: at the terminal, else kept until it is answered."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runner.config.permissions import CHECK, Rulebook, format_subject, write_tool
from runner.config.shell_rules import PermissionAnswer, Permit
from runner.journal.events import TaskApproved
from runner.journal.permission_fold import waits
from runner.journal.sessions import PermissionAnswered, PermissionAsked
from runner.model import Action, Failure, Reason
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.journal.state import RunState
    from runner.model import Outcome, Task
    from runner.run.assignment import Assignment, WorkerContext
    from runner.run.journal_writer import JournalWriter
    from runner.run.outcome_recorder import OutcomeRecorder
    from runner.run.review import Asker
    from runner.writes.pipeline import WriteRules

WAITS = "waits for your word: runner review"
_CHOICES = "allow [o]nce, allow for this [t]ask, [d]eny, or [w]ait? "


@dataclass
class Questions:
    """Those of one attempt, in its worker; what was answered holds until the attempt is over."""

    assignment: Assignment
    site: WorkerContext
    answers: list[PermissionAnswer] = field(default_factory=list)
    _waiting: set[PermissionAsked] = field(default_factory=set)
    """What nobody wanted to answer now: it is not put a second time."""

    def ask(self, tool: str, subject: str, rule: str) -> PermissionAnswer | None:
        """A person's word about one call; None where nobody gives one now, and it waits."""
        question = PermissionAsked(tool, subject, rule)
        if question in self._waiting:
            return None
        task, attempt = self.assignment.task.id, self.assignment.attempt
        said = self.site.crew.permit(task, attempt, question)
        if said is None:
            self._waiting.add(question)
            return None
        answer = PermissionAnswer(tool, subject, said.allowed, said.reason, said.once)
        self.answers.append(answer)
        return answer

    @property
    def rules(self) -> WriteRules:
        """What the attempt may write by now."""
        rules = self.assignment.rules
        if not self.answers:
            return rules
        return replace(rules, answers=(*rules.answers, *self.answers))


@dataclass(frozen=True, slots=True)
class PermissionPrompts:
    """Where the coordinator has questions answered, one at a time, or lets them wait."""

    ledger: JournalWriter
    asker: Asker | None = None

    def ask(
        self, task: str, attempt: int, question: PermissionAsked, *, for_later: bool = False
    ) -> PermissionAnswered | None:
        """A person's word, kept as an event; None where the question waits.

        An answer `for_later` cannot be for once: there is no attempt yet for which it would hold.
        """
        said = self._ask_person(task, question)
        if said is not None and for_later:
            said = said._replace(once=False)
        self.ledger.note(said or question, task=task, attempt=attempt, durable=True)
        return said

    def release(self, tasks: Iterable[Task]) -> None:
        """Ask about what waited for a person, where one is here now."""
        if self.asker is None:
            return
        for task in tasks:
            known = self.ledger.state.task(task.id)
            for question in known.asks if waits(known) else ():
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
    """A question as a person reads it: the call, made safe to show, and the rule that asks."""
    rule = f"\n  since {display(question.rule)} says so" if question.rule else ""
    return f"{display(task)} wants to call {call_text(question)}{rule}"


def call_text(question: PermissionAsked) -> str:
    """The call of a question, made safe to show."""
    return display(f"{question.tool} {question.subject}")


def answers_of(state: RunState, task: Task) -> tuple[PermissionAnswer, ...]:
    """What a person said for a task as it is written now."""
    known = state.task(task.id)
    if known.tried not in (None, task.spec):
        return ()
    return tuple(
        PermissionAnswer(one.tool, one.subject, one.allowed, one.reason) for one in known.answers
    )


def find_questions(outcome: Outcome, rules: WriteRules) -> Iterator[PermissionAsked]:
    """The questions of writes that the pipeline refused, whoever made them."""
    refused = {one.path for one in outcome.findings if one.refuses and one.check == CHECK}
    book = Rulebook(rules.permission, rules.permission_floor, rules.answers)
    for change in outcome.changes if refused else ():
        tool = write_tool(is_new=change.action is Action.CREATE)
        word, subject = book.word(tool, change.path), format_subject(tool, change.path)
        if word.permit is Permit.ASK and subject in refused:
            yield PermissionAsked(tool, subject, str(word))


def wait_for_answers(
    task: Task, outcome: Outcome, rules: WriteRules, books: OutcomeRecorder, desk: PermissionPrompts
) -> bool:
    """Let a task wait whose attempt came to nothing while questions of it are open.

    It goes on at once where a person allows what the pipeline refused. False where no question is
    open, or where the provider failed: then it is tried again first.
    """
    if outcome.failure is Failure.TRANSIENT:
        return False
    said = [
        desk.ask(task.id, outcome.attempt, one, for_later=True)
        for one in find_questions(outcome, rules)
    ]
    asks = desk.ledger.state.task(task.id).asks
    if not asks and any(one is not None and one.allowed for one in said):
        books.record_finished(task, outcome)
        again = TaskApproved(by="review", note="a person was asked, and allows it")
        desk.ledger.note(again, task=task.id, attempt=outcome.attempt)
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
