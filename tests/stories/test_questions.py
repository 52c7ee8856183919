"""Expectations that a change bends: a question after one repair, answered for these bytes."""

import os

import pytest
from scripted_agent import Script, writes
from workplace import a_task

CODE = "def price():\n    return 3\n"
TEST = """import unittest

import shop


class Shop(unittest.TestCase):
    def test_price(self):
        self.assertEqual(shop.price(), 3)
"""
WEAKER = TEST.replace("assertEqual(shop.price(), 3)", "assertGreater(shop.price(), 0)")
DEARER = {"shop.py": CODE.replace("3", "4"), "test_shop.py": WEAKER}
KEPT = {"shop.py": CODE.replace("3", "1 + 2")}
UNITTEST = "python3 -m unittest -q test_shop"


def planned(workplace, *fields, **more):
    workplace.commit({"shop.py": CODE, "test_shop.py": TEST})
    outputs = ["shop.py", "test_shop.py"]
    task = a_task("TASK-001", outputs=outputs, tests=[UNITTEST], fields=fields, **more)
    workplace.plan(task)


def test_a_bent_test_is_repaired_once_and_then_waits_until_a_person_lets_it_pass(
    workplace, monkeypatch
):
    script = Script({"TASK-001": [writes(DEARER)]}).installed(monkeypatch)
    planned(workplace)
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert len(script.told) == 2
    assert "test_price" in script.attempts()[1][0].text
    assert workplace.statuses == {"TASK-001": "BLOCKED"}
    assert "test_price" in workplace.status_line("TASK-001")
    assert workplace.read("test_shop.py") == TEST
    shown = workplace.runner("review", "TASK-001").out
    assert shown.index("? ") < shown.index("modify shop.py")
    (waiting,) = workplace.runner("review", "--json").document["waiting"]
    assert "test_price" in waiting["questions"][0]
    assert workplace.run().code == 3
    assert len(script.told) == 2

    # What a person lets pass lands, and says so.
    assert workplace.runner("approve", "TASK-001").code == 0
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert len(script.told) == 2
    assert workplace.read("shop.py") == DEARER["shop.py"]
    evidence = workplace.runner("evidence", "TASK-001").out
    assert "test_price" in evidence
    assert "approved by a person" in evidence
    assert "approved by a person" in workplace.read("artifacts/build/CHECKPOINT.md")
    message = workplace.git("log", "--format=%B", "-n", "3")
    assert "Proof: integrity pass exit=0 changed=" in message
    assert "Review: applied" in message
    assert workplace.runner("verify", "TASK-001").code == 0


@pytest.mark.nightly(
    sibling="tests/run/test_run_review.py::test_an_approval_is_of_these_files_and_of_the_questions_that_were_shown"
)
def test_an_approval_is_of_these_bytes_and_of_no_others(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(DEARER)]}).installed(monkeypatch)
    planned(workplace)
    workplace.run()
    workplace.runner("approve", "TASK-001")
    workplace.commit({"shop.py": "# mine\n" + CODE})
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert len(script.told) == 2  # the bytes that were carried to the new base are others
    assert "test_price" in workplace.status_line("TASK-001")


def test_a_no_is_the_next_attempts_brief(workplace, monkeypatch):
    steps = [writes(DEARER), writes(DEARER), writes(KEPT)]
    script = Script({"TASK-001": steps}).installed(monkeypatch)
    planned(workplace)
    workplace.run()
    assert workplace.runner("reject", "TASK-001", "--reason", "three it is").code == 0
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert "three it is" in script.attempts()[2][0].text
    assert workplace.read("test_shop.py") == TEST


def test_one_who_mends_it_is_not_asked(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(DEARER), writes(KEPT)]}).installed(monkeypatch)
    planned(workplace)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert len(script.told) == 2
    assert "integrity" not in workplace.git("log", "--format=%B", "-n", "2")


def a_group(monkeypatch, workplace, steps):
    """TASK-001 changed the rule that TASK-002, an agent's, was built on: its test has to change."""
    rule = a_task("TASK-001", "Rule", blocks={"rule.txt": "3\n"})
    reader = a_task(
        "TASK-002",
        "Reader",
        needs=["TASK-001"],
        outputs=["shop.py", "test_shop.py"],
        tests=[UNITTEST],
        fields=["Implementer: scripted"],
    )
    script = Script({"TASK-002": [writes({"shop.py": READS, "test_shop.py": TWO}), *steps]})
    script.installed(monkeypatch)
    monkeypatch.delenv("RUNNER_IMPLEMENTER", raising=False)
    monkeypatch.delenv("RUNNER_BUILD_IMPLEMENTER", raising=False)
    monkeypatch.setenv("RUNNER_REVIEW_MODE", "off")
    workplace.plan(rule, reader)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    change = a_task("TASK-003", "Dearer", needs=["TASK-001"], blocks={"rule.txt": "4\n"})
    done = (one.replace("PENDING", "DONE") for one in (rule, reader))
    workplace.plan(*done, change)
    ended = workplace.run()
    assert ended.code == 4, ended.said
    assert workplace.runner("approve", "TASK-002").code == 0
    return script


READS = "def price():\n    return int(open('rule.txt').read())\n"
TWO = f"{TEST}\n    def test_kind(self):\n        self.assertIsInstance(shop.price(), int)\n"
BENT = {"shop.py": READS + "\n\nNOTE = 1\n", "test_shop.py": WEAKER}


@pytest.mark.nightly(
    sibling="tests/journal/test_journal_state.py::test_held_work_keeps_its_proof_until_it_lands"
)
def test_what_is_built_on_a_held_change_may_ask_and_lands_with_it_once_answered(
    workplace, monkeypatch
):
    script = a_group(monkeypatch, workplace, [writes(BENT)])
    ended = workplace.run()
    assert ended.code == 4, ended.said
    assert len(script.told) == 3  # one repair
    assert workplace.statuses["TASK-002"] == "STALE"
    assert "it waits for your review: runner review TASK-002" in ended.said
    assert "test_kind" in workplace.status_line("TASK-002")
    (waiting,) = (
        one
        for one in workplace.runner("review", "--json").document["waiting"]
        if one["id"] == "TASK-002"
    )
    assert (waiting["kind"], waiting["culprit"]) == ("writes", "TASK-003")
    assert "test_kind" in waiting["questions"][0]
    assert "+NOTE = 1" in workplace.runner("review", "TASK-002").out
    assert workplace.runner("approve", "TASK-002").code == 0
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert len(script.told) == 3  # the very bytes that were approved
    assert workplace.landings[-2:] == ["TASK-003", "TASK-002"]
    assert set(workplace.statuses.values()) == {"DONE"}
    assert "approved by a person" in workplace.runner("evidence", "TASK-002").out
    assert not workplace.runner("staged-write", "list", "--json").document["staged"]


@pytest.mark.nightly(
    sibling="tests/app/test_app_answer.py::test_a_rejection_keeps_its_reason_for_the_next_attempt"
)
def test_a_no_to_what_is_built_on_a_held_change_has_it_built_again(workplace, monkeypatch):
    equal = TWO.replace("price(), 3)", "price(), int(open('rule.txt').read()))")
    good = {"shop.py": READS, "test_shop.py": equal}
    script = a_group(monkeypatch, workplace, [writes(BENT), writes(BENT), writes(good)])
    workplace.run()
    assert workplace.runner("reject", "TASK-002", "--reason", "four it is").code == 0
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert "four it is" in script.attempts("TASK-002")[3][0].text
    assert set(workplace.statuses.values()) == {"DONE"}


def test_a_no_to_the_held_change_lets_what_was_built_on_it_go(workplace, monkeypatch):
    a_group(monkeypatch, workplace, [writes(BENT)])
    workplace.run()
    assert workplace.runner("reject", "TASK-003", "--reason", "three it is").code == 0
    assert workplace.statuses["TASK-002"] == "DONE"
    assert not workplace.runner("staged-write", "list", "--json").document["staged"]
    assert "TASK-002" not in workplace.runner("review").out


# --- changes that a person asks for --------------------------------------------------------------

COUNT = 20 if "CAMPAIGN_SECONDS" in os.environ else 3
"""A few in the suite, all in a campaign: each is built twice."""
PYTHON = "PYTHONDONTWRITEBYTECODE=1 python3"


def files(number, value):
    code = f"def worth():\n    return {value}\n"
    test = (
        f"import unittest\n\nimport part{number}\n\n\nclass Worth(unittest.TestCase):\n"
        f"    def test_worth(self):\n        self.assertEqual(part{number}.worth(), {value})\n"
    )
    return {f"part{number}.py": code, f"test_part{number}.py": test}


def test_changes_of_behaviour_are_built_and_named_as_meant_campaign(workplace, monkeypatch):
    ids = [f"TASK-{number:03d}" for number in range(1, COUNT + 1)]
    steps = {
        id_: [writes(files(number, 1)), writes(files(number, 2))]
        for number, id_ in enumerate(ids, start=1)
    }
    script = Script(steps).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_BUILD_JOBS", "2")
    tasks = [
        a_task(
            id_,
            f"Part {number}",
            outputs=[f"part{number}.py", f"test_part{number}.py"],
            tests=[f"{PYTHON} -m unittest -q test_part{number}"],
        )
        for number, id_ in enumerate(ids, start=1)
    ]
    workplace.plan(*tasks)
    built = workplace.run()
    assert built.code == 0, built.said
    for id_ in ids:
        assert workplace.runner("change", id_, "it is worth 2", "--yes").code == 0
    assert workplace.runner("approve", "--all").code == 0
    changed = workplace.run()
    assert changed.code == 0, changed.said
    assert set(workplace.statuses.values()) == {"DONE"}
    assert len(script.told) == 2 * COUNT
    assert all("return 2" in workplace.read(f"part{number}.py") for number in (1, COUNT))
    told = workplace.runner("evidence", "TASK-001").out
    assert "test_worth` fails on the new code in its earlier version: required by the plan" in told
