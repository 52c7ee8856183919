"""The review of a task's changes: who is asked, in which order, and what an answer comes to."""

import json
import subprocess
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace
from run_build import SPEC, a_ledger, a_task
from settings_of import settings_of

from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    TaskBlocked,
    WriteRejected,
    WriteReviewed,
)
from runner.journal.task_fold import APPROVED, REJECTED
from runner.model import (
    Action,
    Change,
    Ending,
    Finding,
    Proof,
    Reason,
    ReviewMode,
    Severity,
    Spec,
    Status,
    Task,
    Verdict,
    digest_of,
)
from runner.model.work import AcceptanceRow, Doubt, ItemVerdict, Judge, with_rows
from runner.plan.document import read_plan
from runner.run.acceptance_review import (
    AnswerError,
    ItemReview,
    Reader,
    ReviewReading,
    compose_material,
    find_object,
    load_prompt,
    parse_answer,
    prompt_digest,
    review_items,
)
from runner.run.proof_sufficiency import lacks_items, wants_independence
from runner.run.review import (
    WHOLE,
    Answer,
    ChangeReview,
    Reply,
    follow_up_events,
    is_approved,
    note_answer,
    proposal_digest,
    question_digest,
)
from runner.run.reviewers import diff_of

ONE = "TASK-001"
YES, NO, LATER = Reply(Answer.APPROVED), Reply(Answer.REJECTED, "no"), Reply(Answer.WAITS)
NEXT, PREVIOUS = Reply(Answer.NEXT), Reply(Answer.PREVIOUS)


class Person:
    """Says what is given, and remembers what was shown."""

    def __init__(self, *said):
        self.said = list(said)
        self.shown = []

    def ask(self, task, change, before, spot):
        assert (task.id, before) == (ONE, None)
        told = f" {spot.note}" if spot.note else ""
        self.shown.append(f"{change.path} {spot.number}/{spot.count} left {spot.left}{told}")
        return self.said.pop(0)


def changes(*paths):
    return [
        Change(path, Action.CREATE, 0o100644, None, digest_of(path.encode()), path.encode())
        for path in paths
    ]


def ruled(journal, person, *paths, mode=ReviewMode.PROMPT, insisted=False):
    review = ChangeReview(journal, person, insisted)
    return review.rule(a_task(ONE), 1, changes(*paths), mode, lambda _: None)


def held(journal, *paths):
    """Work that waits for a review before it was proven."""
    started = AttemptStarted(base="", implementer="command", spec=SPEC, patterns=(), slot=0)
    ended = AttemptFinished(
        ending=Ending.WAITS, tree="t", seconds=1.0, held="review", ref="held/TASK-001"
    )
    for event in (started, ended, TaskBlocked(reason=Reason.REVIEW, note="waits")):
        journal.note(event, task=ONE, attempt=1)
    return changes(*paths)


def answered(journal, change, said):
    note_answer(journal, ONE, 1, change, said)


# --- who is asked ---------------------------------------------------------------------


@pytest.mark.parametrize("mode", [ReviewMode.AUTO, ReviewMode.OFF])
def test_a_control_file_is_shown_to_a_person(mode):
    person = Person(LATER)
    assert ruled(a_ledger(), person, "a.txt", ".envrc", mode=mode).answer is Answer.WAITS
    assert len(person.shown) == 1


def test_only_a_persons_own_off_lets_control_files_land_unseen():
    journal = a_ledger()
    assert (
        ruled(journal, None, ".envrc", mode=ReviewMode.AUTO, insisted=True).answer is Answer.WAITS
    )
    ruling = ruled(journal, None, ".envrc", mode=ReviewMode.OFF, insisted=True)
    assert (ruling.answer, ruling.how) == (Answer.APPROVED, "off")


def test_files_that_steer_nothing_land_by_the_commands_word():
    ruling = ruled(a_ledger(), None, "a.txt", mode=ReviewMode.AUTO, insisted=True)
    assert (ruling.answer, ruling.how) == (Answer.APPROVED, "auto")


def test_a_change_that_is_proven_twice_in_one_attempt_is_recorded_once():
    journal = a_ledger()
    review = ChangeReview(journal, None, insisted=False)

    def rule(attempt, *paths):
        before = journal.state.seq
        review.rule(a_task(ONE), attempt, changes(*paths), ReviewMode.OFF, lambda _: None)
        return journal.state.seq - before

    assert [rule(1, "a.txt"), rule(1, "a.txt", "b.txt"), rule(2, "a.txt")] == [1, 1, 1]


# --- in which order -------------------------------------------------------------------


def test_one_goes_through_all_files_and_answers_where_one_likes():
    person = Person(NEXT, NEXT, NEXT, PREVIOUS, YES, PREVIOUS, NEXT, YES, YES)
    assert ruled(a_ledger(), person, "a", "b", "c").answer is Answer.APPROVED
    assert person.shown == [
        "a 1/3 left 3",
        "b 2/3 left 3",
        "c 3/3 left 3",
        "a 1/3 left 3",
        "c 3/3 left 3",
        "a 1/3 left 2",
        "c 3/3 left 2 applied",
        "a 1/3 left 2",
        "b 2/3 left 1",
    ]


def test_a_file_that_was_applied_can_be_looked_at_again_and_refused():
    person = Person(YES, PREVIOUS, NO)
    ruling = ruled(a_ledger(), person, "a", "b")
    assert person.shown == ["a 1/2 left 2", "b 2/2 left 1", "a 1/2 left 1 applied"]
    assert ruling.answer is Answer.REJECTED
    assert [finding.path for finding in ruling.findings] == ["a"]


def test_one_yes_for_all_that_are_left_is_heard():
    person = Person(YES, Reply(Answer.APPROVED, for_all=True))
    assert ruled(a_ledger(), person, "a", "b", "c").answer is Answer.APPROVED


# --- what an answer given later comes to ----------------------------------------------


def test_what_waits_before_its_proof_is_held():
    journal = a_ledger()
    held(journal, "a")
    known = journal.state.task(ONE)
    assert (known.status, known.held.kind, known.held.attempt) == (Status.BLOCKED, "review", 1)
    assert known.passed is None


def test_nothing_follows_before_every_file_is_answered():
    journal = a_ledger()
    proposed = held(journal, "a", "b")
    answered(journal, proposed[0], YES)
    assert follow_up_events(journal.state, ONE, proposed) == ()


@pytest.mark.parametrize(("said", "note"), [(YES, APPROVED), (NO, REJECTED)])
def test_once_all_is_said_the_task_stands_as_it_was_said(said, note):
    journal = a_ledger()
    (proposed,) = held(journal, "a")
    answered(journal, proposed, said)
    for event in follow_up_events(journal.state, ONE, [proposed]):
        journal.note(event, task=ONE, attempt=1)
    known = journal.state.task(ONE)
    assert (known.status, known.note, known.tries) == (Status.PENDING, note, ())
    assert (known.held is None) == (said is NO)
    assert follow_up_events(journal.state, ONE, [proposed]) == ()


def test_a_no_after_a_yes_is_heard():
    journal = a_ledger()
    (proposed,) = held(journal, "a")
    for said in (YES, NO):
        answered(journal, proposed, said)
        for event in follow_up_events(journal.state, ONE, [proposed]):
            journal.note(event, task=ONE, attempt=1)
    known = journal.state.task(ONE)
    assert (known.note, known.held) == (REJECTED, None)
    assert isinstance(journal.state.review(ONE, "a", None, proposed.after), WriteRejected)


def test_an_approval_is_of_these_files_and_of_the_questions_that_were_shown():
    journal, files = a_ledger(), changes("a.txt", "b.txt")
    asked = Finding(
        "integrity",
        "`test_price` fails on the new code in its earlier version",
        line=3,
    )
    answer = WriteReviewed(WHOLE, question_digest(asked), proposal_digest(files), "applied")
    journal.note(answer, task=ONE, attempt=1)
    assert is_approved(journal.state, ONE, files, [asked])
    assert is_approved(journal.state, ONE, files, [replace(asked, line=99)])
    assert not is_approved(journal.state, ONE, files, [asked, replace(asked, message="another")])
    assert not is_approved(journal.state, ONE, files[:1], [asked])
    assert not is_approved(journal.state, "TASK-002", files, [asked])


# --- what whoever reviews reads -------------------------------------------------------


ENDS = [b"one\ntwo", b"one\ntwo\n", b"one\ntwo\nthree", b"a\x0cb\nc\x85\nd", b"one\r\ntwo", b"x"]


def a_diff(contents):
    """Of files by their bytes before and now, as it is put together for who reads it."""
    changes = [
        Change(path, Action.MODIFY, 0o100644, digest_of(old), digest_of(new), new)
        for path, (old, new) in contents.items()
    ]
    return "".join(
        part for change in changes for part in diff_of(change, lambda path: contents[path][0])
    )


@pytest.mark.parametrize("before", ENDS)
@pytest.mark.parametrize("now", ENDS)
def test_it_makes_of_the_files_what_it_was_made_of(tmp_path, before, now):
    before, now = (one.decode("latin-1").encode() for one in (before, now))
    contents = {"a.txt": (before, now), "b.txt": (b"kept\nold", b"kept\nnew")}
    for path, (old, _) in contents.items():
        (tmp_path / path).write_bytes(old)
    diff = a_diff(contents)
    assert diff.count("\n--- a/b.txt\n") == (before != now)
    words = ["git", "apply", "--whitespace=nowarn", "-"]
    done = subprocess.run(
        words, cwd=tmp_path, input=diff.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert {path: (tmp_path / path).read_bytes() for path in contents} == {
        path: new for path, (_, new) in contents.items()
    }


# --- a reader's answers by item -------------------------------------------------------


ITEMS = {"A1": "an end before its start is refused", "A2": "bookings do not overlap"}
TEST = "tests/test_b.py::test_end"


@dataclass
class Known:
    """A proposal of one module, one document and one test."""

    fallible: dict = field(default_factory=lambda: {TEST: True, "TC-001": True})

    def count_lines(self, path):
        return {"src/b.py": 9, "README.md": 3, "old.md": 3}.get(path, 0)

    def is_changed(self, path):
        return path != "old.md"

    def has_passed(self, test):
        return test in self.fallible

    def can_fail(self, test):
        return self.fallible[test]


def met(**more):
    return {"verdict": "met", "evidence": ["src/b.py:9"], "test": TEST, "sentence": "Yes."} | more


def answer(**changed):
    return json.dumps({"items": {"A1": met(), "A2": met()} | changed})


@dataclass
class Script:
    """A reader that gives one text after the other, and keeps what it was asked."""

    texts: list
    asked: list = field(default_factory=list)

    def __call__(self, material):
        self.asked.append(material)
        return ReviewReading(self.texts[min(len(self.asked), len(self.texts)) - 1])


def review(*texts, author="opus", model="sonnet", evidence=None, repairs=1):
    script = Script(list(texts))
    reader = Reader("claude", script, model, repairs)
    return review_items(reader, "the change", ITEMS, evidence or Known(), author), script


def test_every_item_is_met_with_checked_evidence():
    reviewed, _ = review(f"I looked.\n```json\n{answer()}\n```\n")
    assert reviewed.findings == ()
    assert [row.words for row in reviewed.rows] == [
        f"{id_} met: claude (sonnet) src/b.py:9 {TEST}" for id_ in ITEMS
    ]
    assert {row.prompt for row in reviewed.rows} == {prompt_digest()}
    assert all(row.counts for row in reviewed.rows)


@pytest.mark.parametrize(
    ("author", "model", "doubt"),
    [
        ("opus", "opus", Doubt.SAME_MODEL),
        ("", "opus", Doubt.UNKNOWN_MODEL),
        ("opus", "", Doubt.UNKNOWN_MODEL),
        ("opus", "sonnet", Doubt.NONE),
    ],
)
def test_only_another_model_that_is_known_counts(author, model, doubt):
    reviewed, _ = review(answer(), author=author, model=model)
    assert {row.doubt for row in reviewed.rows} == {doubt}
    assert reviewed.findings == ()


DOCUMENT = {"evidence": ["README.md:3"], "test": ""}


@pytest.mark.parametrize(
    ("changed", "severity", "message"),
    [
        ({"verdict": "not met", "sentence": "No check."}, Severity.ERROR, "A1 is not met: No ch"),
        ({"verdict": "cannot tell", "evidence": []}, Severity.QUESTION, "A1: the reviewer cannot"),
        ({"evidence": ["src/b.py:10"]}, Severity.QUESTION, "A1: the reviewer's evidence is"),
        ({"evidence": ["src/none.py:1"]}, Severity.QUESTION, "A1: the reviewer's evidence is"),
        ({"test": "tests/test_b.py::gone"}, Severity.QUESTION, "A1: the reviewer's evidence is"),
        ({"test": ""}, Severity.QUESTION, "A1: the reviewer's evidence is not valid"),
        (DOCUMENT | {"evidence": ["old.md:1"]}, Severity.QUESTION, "A1: the reviewer's evidence"),
        (DOCUMENT | {"evidence": ["README.md:4"]}, Severity.QUESTION, "A1: the reviewer's evid"),
        (DOCUMENT, None, ""),
        ({"test": "TC-001"}, None, ""),
    ],
)
def test_what_follows_of_an_answer(changed, severity, message):
    reviewed, _ = review(answer(A1=met(**changed)))
    found = [(one.severity, one.message[: len(message)]) for one in reviewed.findings]
    assert found == ([(severity, message)] if severity else [])
    assert reviewed.rows[1].counts


def test_a_not_met_item_names_the_line():
    reviewed, _ = review(answer(A2=met(verdict="not met")))
    assert [(one.path, one.line) for one in reviewed.findings] == [("src/b.py", 9)]


@pytest.mark.parametrize(("fallible", "asks"), [(False, True), (None, False), (True, False)])
def test_a_test_that_cannot_fail_is_no_evidence(fallible, asks):
    reviewed, _ = review(answer(), evidence=Known({TEST: fallible}))
    assert bool(reviewed.findings) is asks
    assert {row.doubt for row in reviewed.rows} == {Doubt.NONE if fallible else Doubt.UNCHECKED}


def test_a_question_says_the_same_whatever_the_reader_writes():
    first, _ = review(answer(A1=met(verdict="cannot tell", sentence="Hm.")))
    again, _ = review(answer(A1=met(verdict="cannot tell", sentence="I do not know.")))
    assert first.findings[0].message == again.findings[0].message


BAD = [
    "I approve.",
    "{}",
    '{"items": []}',
    answer(A3=met()),
    json.dumps({"items": {"A1": met()}}),
    answer(A1="met"),
    answer(A1=met(verdict="fine")),
    answer(A1=met(evidence=[])),
    answer(A1=met(evidence=["src/b.py"])),
    answer(A1=met(evidence=["src/b.py:0"])),
    answer(A1=met(evidence="src/b.py:1")),
    answer(A1=met(sentence="")),
    answer(A1=met(test=[])),
    answer(A1=met(command="rm -rf /")),
    json.dumps({"items": {"A1": met(), "A2": met()}, "approve": True}),
]


@pytest.mark.parametrize("text", BAD)
def test_an_answer_that_does_not_fit_is_repaired_once(text):
    with pytest.raises(AnswerError):
        parse_answer(text, ITEMS)
    reviewed, script = review(text, answer())
    assert reviewed.findings == ()
    assert len(script.asked) == 2
    assert "was not valid" in script.asked[1]


@pytest.mark.parametrize("text", BAD)
def test_the_second_that_does_not_fit_is_a_question(text):
    reviewed, script = review(text)
    assert [one.severity for one in reviewed.findings] == [Severity.QUESTION]
    assert (len(script.asked), reviewed.rows) == (2, ())


def test_a_command_is_asked_once_and_without_json_it_answers_by_its_exit_code():
    reading, script = review("fine\n", repairs=0)
    assert isinstance(reading, ReviewReading)
    assert len(script.asked) == 1
    reviewed, script = review("{}", repairs=0)
    assert isinstance(reviewed, ItemReview)
    assert [one.severity for one in reviewed.findings] == [Severity.QUESTION]
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("{", None),
        ("{not} []", None),
        ('{"a": 1} then {"b": {"c": 2}} end', '{"b": {"c": 2}}'),
        ("{" * 5000, None),
    ],
)
def test_the_last_object_of_a_text_is_the_answer(text, found):
    assert find_object(text) == found


def test_the_reader_sees_nothing_of_held_out_tests_but_their_verdict():
    held = AcceptanceRow("A2", ItemVerdict.MET, Judge.TESTS, "TC-003", ("TC-003",))
    plain = Proof("TC-001", "test", "pytest", Verdict.PASS, 0, 1.0, digest_of(b""))
    task = Task("TASK-001", "Bookings", 1, Spec("", ""), prose="Refuse them.", outputs=("b.py",))
    material = compose_material(
        task,
        ITEMS,
        base="abc",
        diff="+x = 1\n",
        tests=(TEST,),
        proofs=with_rows([plain], [held], ITEMS),
        facts=[Finding("surface", "`end` was removed", path="b.py", line=3)],
    )
    assert material.startswith(load_prompt())
    for shown in (
        "A1: an end before its start is refused",
        "- TC-001 pass",
        "- A2 met: held-out tests TC-003",
        "- surface: b.py:3: `end` was removed",
        f"- {TEST}",
        "+x = 1",
        "Refuse them.",
        "Base: abc",
    ):
        assert shown in material


# --- assurance of the settings and of a task ------------------------------------------


def task_of(*fields):
    lines = "\n".join(f"- {one}" for one in ("Output files: `a.py`", *fields))
    plan = read_plan(f"## TASK-001: A\n\n{lines}\n".encode(), "P")
    assert not plan.problems
    return plan.tasks[0]


@pytest.mark.parametrize(
    ("setting", "field", "wanted"),
    [
        ("tests", (), False),
        ("independent", (), True),
        ("tests", ("Assurance: independent",), True),
        ("independent", ("Assurance: tests",), True),
        ("tests", ("Assurance: tests",), False),
    ],
)
def test_the_plan_only_asks_for_more(setting, field, wanted):
    task = task_of(*field)
    settings = settings_of(assurance=setting)
    assert wants_independence(task, settings) is wanted
    assert lacks_items(task, settings) is wanted


def test_another_word_is_a_mistake_of_the_plan():
    plan = read_plan(b"## TASK-001: A\n\n- Output files: `a.py`\n- Assurance: high\n", "P")
    (problem,) = plan.problems
    assert problem.message == 'unknown assurance "high"'
