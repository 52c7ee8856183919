"""A second reader answers a task item by item, in a whole run."""

import json

import pytest
from agent_program import install_agent
from built import copy
from workplace import a_task

CODE = ["def half(x):", "    if x < 0:", "        raise ValueError", "    return x / 2"]
TESTS = [
    "import unittest",
    "from app import half",
    "class Half(unittest.TestCase):",
    "    def test_half(self):",
    "        self.assertEqual(half(4), 2)",
    "    def test_below(self):",
    "        with self.assertRaises(ValueError):",
    "            half(-1)",
    "    def test_idle(self):",
    "        self.assertEqual(half.__name__, 'half')",
]
GOOD = [{"write": "app.py", "lines": CODE}, {"write": "test_app.py", "lines": TESTS}]


def item(verdict="met", line=4, test="half", sentence="It does."):
    place = [f"app.py:{line}"]
    return {
        "verdict": verdict,
        "evidence": place,
        "test": f"test_app.Half.test_{test}",
        "sentence": sentence,
    }


def answer(**changed):
    first = {"A1": item(), "A2": item(line=3, test="below")}
    return f"I read it.\n\n```json\n{json.dumps({'items': first | changed})}\n```\n"


@pytest.fixture
def shop(workplace, tmp_path, monkeypatch):
    """Sets the person's agent, which builds and reviews, and a plan with two items."""
    monkeypatch.setenv("RUNNER_BUILD_BACKOFF", "0")

    def start(review, *, attempts=(GOOD,), **settings):
        context = tmp_path / "agent"
        own = {
            "review": "auto",
            "plan_first": False,
            "mutation": "off",
            "attempts": 2,
            **settings,
        }
        if line := own.get("review_command"):
            own["review_command"] = line.format(context=context / "answer.md")
        script = {"TASK-001": {"attempts": attempts, "review": review}}
        install_agent(workplace, context, script, **own)
        (context / "answer.md").write_text(review)
        acceptance = "Acceptance:\n  - A1: a number is halved\n  - A2: below zero is refused"
        command = "python3 -m unittest -q test_app"
        workplace.plan(
            a_task(
                "TASK-001",
                "Half",
                outputs=["app.py", "test_app.py"],
                tests=[command],
                fields=[acceptance],
            )
        )
        return workplace

    return start


def grade(shop):
    [task] = json.loads(shop.runner("status", "--json").out)["tasks"]
    return task["provenBy"], task["notMeasured"]


def test_another_model_that_answers_every_item_makes_it_independent(shop):
    shop = shop(answer(), assurance="independent", model_review="strict", model_execute="writer")
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert grade(shop)[0] == "independent"
    message = shop.git("log", "-1", "--format=%B", "main", "--", "app.py")
    assert "Grade: proven, independent" in message
    assert message.count("Acceptance: A") == 2
    for command in ("show", "evidence"):
        said = shop.runner(command, "TASK-001").said
        assert "  A2: below zero is refused" in said
        assert "met, by" in said
        assert "acceptance:A" not in said
        found = json.loads(shop.runner(command, "TASK-001", "--json").out)["evidence"]
        assert [(row["item"], row["verdict"]) for row in found["acceptance"]] == [
            ("A1", "met"),
            ("A2", "met"),
        ]
        assert all(one["kind"] != "acceptance" for one in found["proofs"])
    assert shop.runner("ship", "--assurance", "independent").code == 0


def test_what_is_not_met_goes_back_with_the_sentence(shop):
    bad = item("not met", 3, sentence="Minus zero is accepted.")
    shop = shop(answer(A2=bad), model_review="strict")
    ended = shop.run()
    assert ended.code != 0
    brief = shop.happened("attempt.finished")[0]["findings"]
    assert [one["message"] for one in brief] == ["A2 is not met: Minus zero is accepted."]
    assert (brief[0]["path"], brief[0]["line"]) == ("app.py", 3)


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        ({"A2": item("cannot tell")}, "A2: the reviewer cannot tell whether it is met"),
        ({"A2": item(test="idle")}, "A2: the reviewer's evidence is not valid"),
    ],
)
def test_what_a_reader_cannot_show_waits_for_a_person(shop, changed, asked):
    shop = shop(answer(**changed), model_review="strict")
    ended = shop.run()
    assert ended.code == 3, ended.said
    assert asked in shop.runner("review").said
    assert "  A2: below zero is refused" in shop.runner("review", "TASK-001").said
    [waits] = json.loads(shop.runner("review", "--json").out)["waiting"]
    assert [row["item"] for row in waits["acceptance"]] == ["A1", "A2"]
    assert len(shop.happened("attempt.started")) == 1
    assert shop.runner("approve", "TASK-001").code == 0
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert grade(shop)[0] == "tests"


def test_a_command_may_answer_by_item_too(shop):
    shop = shop(
        answer(), review_command="grep -q A2 $RUNNER_REVIEW && grep -q +def && cat {context}"
    )
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert grade(shop) == ("tests", ["reviewed by a model that is not known"])


def test_assurance_has_what_is_not_independent_wait_for_a_person(shop):
    shop = shop(answer(), assurance="independent", review_command="cat {context}")
    ended = shop.run()
    assert ended.code == 3, ended.said
    assert "needs independent evidence" in shop.runner("review").said
    assert len(shop.happened("attempt.started")) == 1
    by_item = copy(shop.root, shop.root.with_name("by-item"), shop.home)

    assert shop.runner("approve", "TASK-001").code == 0
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert grade(shop)[0] == "tests"
    refused = shop.runner("ship", "--assurance", "independent")
    assert refused.code == 3
    assert "1 task is not independent" in refused.said
    assert shop.runner("ship").code == 0

    # A person who answers each item makes it independent.
    refused = by_item.runner("approve", "TASK-001", "--met", "A1,A9")
    assert refused.code != 0
    assert "TASK-001 has no acceptance item A9" in refused.said
    assert by_item.runner("approve", "TASK-001", "--met", "all").code == 0
    ended = by_item.run()
    assert ended.code == 0, ended.said
    assert grade(by_item)[0] == "independent"
    assert "met, by person" in by_item.runner("show", "TASK-001").out


def test_assurance_refuses_a_task_without_acceptance_items(shop):
    for assurance in ("independent", "tests"):
        place = shop(answer(), assurance=assurance)
        if assurance == "tests":  # then the plan asks for it
            place.edit_plan("- Acceptance:", "- Assurance: independent\n- Acceptance:")
        place.edit_plan("- A1: ", "- ")
        place.edit_plan("- A2: ", "- ")
        found = place.runner("validate")
        assert found.code != 0
        assert "no line of Acceptance has an ID" in found.said
        assert place.run().code != 0
        assert not place.has("artifacts") or not place.happened("attempt.started")
