"""Expectations that a change bends: a question after one repair, answered for these bytes."""

import pytest
from scripted_agent import Script, writes
from workplace import a_task

CODE = "def price():\n    return 3\n"
TEST = "import shop\n\n\ndef test_price():\n    assert shop.price() == 3\n"
DEARER = {"shop.py": CODE.replace("3", "4"), "test_shop.py": TEST.replace("== 3", "> 0")}
KEPT = {"shop.py": CODE.replace("3", "1 + 2")}
PYTEST = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q -p no:cacheprovider test_shop.py"


def planned(workplace, *fields, **more):
    workplace.commit({"shop.py": CODE, "test_shop.py": TEST})
    outputs = ["shop.py", "test_shop.py"]
    task = a_task("TASK-001", outputs=outputs, tests=[PYTEST], fields=fields, **more)
    workplace.plan(task)


def test_a_bent_test_is_repaired_once_and_then_waits_with_its_work_kept(workplace, monkeypatch):
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


def test_what_a_person_lets_pass_lands_and_says_so(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(DEARER)]}).installed(monkeypatch)
    planned(workplace)
    workplace.run()
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
        tests=[PYTEST],
        fields=["Implementer: scripted"],
    )
    script = Script({"TASK-002": [writes({"shop.py": READS, "test_shop.py": TWO}), *steps]})
    script.installed(monkeypatch)
    monkeypatch.delenv("RUNNER_BUILD_IMPLEMENTER")
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
TWO = TEST + "\n\ndef test_kind():\n    assert type(shop.price()) is int\n"
BENT = {"shop.py": READS + "\n\nNOTE = 1\n", "test_shop.py": TEST.replace("== 3", "> 0")}


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
    equal = TWO.replace("== 3", "== int(open('rule.txt').read())")
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
