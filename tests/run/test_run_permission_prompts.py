"""What a person is asked since a permission rule wants it, and what becomes of the answer."""

import threading
from types import SimpleNamespace

import pytest
from msgspec.structs import astuple, replace
from run_build import SPEC, a_ledger, a_task

from runner.config.shell_rules import PermissionAnswer
from runner.journal.events import AttemptStarted, TaskBlocked
from runner.journal.session_events import PermissionAnswered, PermissionAsked
from runner.model import Reason, Status
from runner.run.permission_prompts import PermissionPrompts, Questions, answers_of
from runner.run.workers import Permitting, WorkerPool

ONE = "TASK-001"
CALL = PermissionAsked("mcp__docs__get", '{"u": "\u202eevil\x1b[2J"}', 'the rule "ask mcp__* **"')


class Person:
    """Types what is given, and remembers what was shown; a signal is an exception."""

    def __init__(self, *typed):
        self.typed = list(typed)
        self.shown = []

    def choose(self, text, question):
        self.shown.append(text + question)
        said = self.typed.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said


@pytest.fixture
def journal():
    made = a_ledger()
    started = AttemptStarted(base="", implementer="model", spec=SPEC, patterns=(), slot=0)
    made.note(started, task=ONE, attempt=1)
    return made


def asked(journal, *typed):
    person = Person(*typed)
    return PermissionPrompts(journal, person).ask(ONE, 1, CALL), person


def test_a_question_shows_nothing_that_hides_and_is_put_until_there_is_an_answer(journal):
    said, person = asked(journal, "huh?", "t")
    assert said == PermissionAnswered(CALL.tool, CALL.subject, allowed=True, by="person")
    assert len(person.shown) == 2
    assert person.shown[0].startswith(f"{ONE} wants to call mcp__docs__get")
    assert not {"\u202e", "\x1b"} & set(person.shown[0])
    assert "reason: the rule" in person.shown[0]
    assert answers_of(journal.state, a_task(ONE)) == (
        PermissionAnswer(CALL.tool, CALL.subject, allowed=True),
    )


def test_a_yes_for_once_is_kept_in_the_journal_and_remembered_for_nothing(journal):
    said, _ = asked(journal, "o")
    assert said.once
    assert answers_of(journal.state, a_task(ONE)) == ()


@pytest.mark.parametrize("typed", ["w", "", KeyboardInterrupt()])
def test_a_question_that_nobody_answers_waits(journal, typed):
    said, _ = asked(journal, typed)
    assert said is None
    assert journal.state.task(ONE).asks == (CALL,)


def test_one_that_waits_is_asked_when_a_person_is_there_and_the_task_goes_on(journal):
    PermissionPrompts(journal).ask(ONE, 1, CALL)
    other = replace(CALL, subject="{}")
    PermissionPrompts(journal).ask(ONE, 1, other)
    journal.note(TaskBlocked(reason=Reason.REVIEW, note="waits"), task=ONE, attempt=1)
    PermissionPrompts(journal, Person("o", "w")).release([a_task(ONE)])
    assert journal.state.task(ONE).asks == (other,)
    assert journal.state.task(ONE).status is Status.BLOCKED
    PermissionPrompts(journal, Person("d", "not the docs")).release([a_task(ONE)])
    known = journal.state.task(ONE)
    assert (known.status, known.asks) == (Status.PENDING, ())
    assert known.findings[0].message.endswith(": not the docs")
    first, second = answers_of(journal.state, a_task(ONE))
    assert (first.allowed, first.once) == (True, False), "no attempt was there for which it holds"
    assert (second.allowed, second.reason) == (False, "not the docs")


def test_a_worker_waits_for_the_coordinator_and_no_longer_than_the_run(journal):
    workers = WorkerPool(1, lambda _number, _crew: None)
    site = SimpleNamespace(workers=workers)
    assignment = SimpleNamespace(task=a_task(ONE), attempt=1)
    questions = Questions(assignment, site)
    heard = []
    worker = threading.Thread(target=lambda: heard.append(questions.ask(*astuple(CALL))))
    worker.start()
    message = workers.wait(60)
    assert isinstance(message, Permitting)
    message.answer(None)
    worker.join(60)
    assert heard == [None]
    assert questions.ask(*astuple(CALL)) is None, "it is not put a second time"
    workers.cancel()
    assert questions.ask("read_file", "a", "") is None
    workers.close()
