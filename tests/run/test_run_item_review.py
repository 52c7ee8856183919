"""A reader's answers by item: their shape, the check of their evidence, and what follows."""

import json
from dataclasses import dataclass, field

import pytest

from runner.model import Finding, Proof, Severity, Spec, Task, Verdict, digest_of
from runner.model.work import AcceptanceRow, Doubt, ItemVerdict, Judge, with_rows
from runner.run.item_review import (
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
