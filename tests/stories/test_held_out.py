"""Held-out tests: the implementer never sees them, and they decide before the work lands."""

import json
import sys

import pytest
from commands_terminal import Terminal
from held_out_plans import (
    HELD_OUT,
    PYTEST,
    RIGHT,
    SECRET,
    SEEN,
    TESTS,
    VISIBLE,
    WRONG,
    failed,
    hold_out,
    planned,
    store_of,
    told,
)
from scripted_agent import Script, writes

THIRD = {"shop.py": "def price(count):\n    return 2 + count\n"}
FOURTH = {"shop.py": "def price(count):\n    return 1 + count + 1\n"}


@pytest.fixture(autouse=True)
def no_mutants(monkeypatch):
    """Leave out mutants of the work: each runs its tests, and no story here is about them."""
    monkeypatch.setenv("RUNNER_PROOF_MUTATION", "off")


@pytest.fixture(params=["bubblewrap", "none"])
def sandbox(request, monkeypatch):
    """Each way in which commands are enclosed on this machine."""
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", request.param)
    return request.param


def notes(workplace):
    return workplace.status_line("TASK-001")


def test_right_work_lands_with_the_files_and_undo_puts_them_back(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(RIGHT)]}).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "bubblewrap")
    monkeypatch.delenv("RUNNER_PROOF_MUTATION")
    planned(workplace, program=PYTEST)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert len(script.told) == 1
    assert workplace.read(TESTS) == HELD_OUT
    landed = workplace.git("show", "--name-only", "--format=", "HEAD~1").split()
    assert {TESTS, "shop.py"} <= set(landed)
    assert not list(store_of(workplace).folder_of("TASK-001").rglob("*.py"))
    assert workplace.dirt == []
    message = workplace.git("log", "--format=%B", "-n", "2")
    assert "Proof: TC-002 pass exit=0 passed=3" in message
    assert f"Held-out: {TESTS} sha256:" in message
    assert "Grade: proven, independent" in message
    assert f"`{TESTS}`" in workplace.read("FILE_OWNERSHIP_MAP.md")
    assert workplace.run().code == 0
    assert workplace.runner("verify", "TASK-001").code == 0

    assert workplace.runner("undo", "TASK-001", "--yes").code == 0
    assert not workplace.has(TESTS)
    assert store_of(workplace).read("TASK-001", TESTS) == HELD_OUT.encode()
    assert workplace.runner("retry", "TASK-001").code == 0
    assert workplace.read(TESTS) == HELD_OUT
    message = workplace.git("log", "--format=%B", "-n", "2")
    assert "once in git" in message
    assert "Grade: proven, independent" not in message


def test_the_same_bytes_keep_their_grade_when_they_land_again(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(RIGHT)]}).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "bubblewrap")
    planned(workplace)
    assert workplace.run().code == 0
    assert workplace.runner("undo", "TASK-001", "--yes").code == 0
    assert not workplace.has(TESTS)
    ended = workplace.run("--reuse")
    assert ended.code == 0, ended.said
    assert workplace.read(TESTS) == HELD_OUT
    assert len(script.told) == 1
    message = workplace.git("log", "--format=%B", "-n", "2")
    assert "Grade: proven, independent" in message
    assert "Acceptance: A1 met 'judge=held-out tests'" in message


def test_an_attempt_that_could_read_the_files_counts_until_they_change(workplace, monkeypatch):
    Script({"TASK-001": [writes(WRONG), writes(RIGHT)]}).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    monkeypatch.setenv("RUNNER_PROOF_HELD_OUT_ROUNDS", "1")
    planned(workplace)
    ended = workplace.run()
    assert ended.code == 3
    assert ended.said.count("held-out files are not hidden") == 1
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "bubblewrap")
    ended = workplace.runner("retry", "TASK-001")
    assert ended.code == 0, ended.said
    assert "not enclosed" in workplace.git("log", "--format=%B", "-n", "2")


def test_a_secret_in_a_held_out_file_is_a_question(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(RIGHT)]}).installed(monkeypatch)
    key = "HGFDSAPOIUYTREWQAIKA"[::-1]
    planned(workplace, files={TESTS: f"{HELD_OUT}\n\nKEY = '{key}'\n"})
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert len(script.told) == 1
    assert key not in json.dumps(workplace.events)
    assert not workplace.has(TESTS)


def test_a_lint_gate_that_held_out_files_fail_is_a_question(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(RIGHT)]}).installed(monkeypatch)
    planned(workplace)
    workplace.commit({"runner.toml": '[gates]\nlint = "! grep -rq nobody tests"\n'})
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert len(script.told) == 1
    assert "gate lint passes without the held-out files and fails with them" in notes(workplace)
    assert not workplace.has(TESTS)


def test_a_cluster_gets_no_held_out_bytes(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_CLUSTER_EXECUTOR", "dask")
    monkeypatch.setenv("RUNNER_REVIEW_MODE", "off")
    script = "".join(
        f"import pathlib; pathlib.Path({path!r}).write_text({text!r})\n"
        for path, text in RIGHT.items()
    )
    workplace.write({"build.py": script})
    planned(workplace, command="python3 build.py")
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert workplace.read(TESTS) == HELD_OUT
    assert "Proof: TC-002 pass" in workplace.git("log", "--format=%B", "-n", "2")


def test_wrong_work_hears_counts_and_items_alone(workplace, monkeypatch, sandbox):
    script = Script({"TASK-001": [writes(WRONG), writes(RIGHT)]}).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", sandbox)
    planned(workplace)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    told = script.attempts()[1][0].text
    assert "TC-002" in told
    assert "3 of 3 held-out tests fail: A1, A2" in told
    assert "test_many_items" not in told
    assert SECRET not in told
    journal = json.dumps(workplace.events)
    assert SECRET not in journal
    assert "test_many_items" not in journal
    assert SECRET not in ended.said


def exhausted(workplace, monkeypatch):
    steps = [writes(WRONG), writes(WRONG | THIRD), writes(WRONG | FOURTH), writes(RIGHT)]
    script = Script({"TASK-001": steps}).installed(monkeypatch)
    planned(workplace)
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert len(script.told) == 3
    return script


def test_after_three_rounds_a_person_is_asked_and_may_approve(workplace, monkeypatch):
    exhausted(workplace, monkeypatch)
    assert "3 of 3 held-out tests fail: A1, A2" in notes(workplace)
    assert "`runner retry TASK-001`: the tests are right" in workplace.runner("why", "TASK-001").out
    shown = workplace.runner("list", "--json").document["tasks"][0]
    assert shown["reason"] == "held-out"
    assert not workplace.has(TESTS)
    failed = [test for test, _ in store_of(workplace).read_failures("TASK-001")]
    assert "tests.test_acceptance.Prices.test_many_items" in failed
    elsewhere = [
        workplace.runner("review", "TASK-001").out,
        workplace.runner("review", "TASK-001", "--json").out,
        workplace.runner("show", "TASK-001", "--json").out,
    ]
    assert "`runner hold-out TASK-001 FILE --replace`" in elsewhere[0]
    assert "run this on a terminal to see the output" in elsewhere[0]
    assert all("test_many_items" not in one for one in elsewhere)
    words = [sys.executable, "-P", "-m", "runner", "review", "TASK-001"]
    with Terminal(words, columns=120, cwd=workplace.root) as terminal:
        assert terminal.wait(30) == 0, terminal.said
    assert "failed in the last proof: tests.test_acceptance.Prices.test_many_items" in terminal.said
    assert "return count + 2" not in terminal.said
    assert "1 + count + 1" in terminal.said
    assert "102 != 300" in terminal.said
    refused = workplace.runner("approve", "TASK-001")
    assert refused.code != 0
    assert "needs a reason" in refused.err
    with monkeypatch.context() as by_an_agent:
        by_an_agent.setenv("CLAUDECODE", "1")
        refused = workplace.runner("approve", "TASK-001", "--reason", "fine")
        assert refused.code == 3
        assert "only a person" in refused.err
    ended = workplace.runner("approve", "TASK-001", "--reason", "the price list is fixed")
    assert ended.code == 0, ended.said
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert workplace.read("shop.py") == FOURTH["shop.py"]
    message = workplace.git("log", "--format=%B", "-n", "2")
    assert "Proof: TC-002 known exit=1" in message
    assert "Grade: proven by tests" in message
    assert "the price list is fixed" in workplace.runner("evidence", "TASK-001").out


def test_a_retry_of_a_person_alone_says_that_the_tests_are_right(workplace, monkeypatch):
    script = exhausted(workplace, monkeypatch)
    script.steps["TASK-001"] = [writes(WRONG)]
    with monkeypatch.context() as by_a_program:
        by_a_program.setenv("CLAUDECODE", "1")
        ended = workplace.runner("retry", "TASK-001")
    assert ended.code == 3, ended.said
    assert len(script.told) == 4, "no new rounds"
    script.steps["TASK-001"] = [writes(RIGHT)]
    ended = workplace.runner("retry", "TASK-001")
    assert ended.code == 0, ended.said
    assert len(script.told) == 5
    assert "the held-out tests are right: TC-002: 3 of 3" in script.attempts()[4][0].text
    assert workplace.read(TESTS) == HELD_OUT


IDLE = '''import unittest

import shop


class Idle(unittest.TestCase):
    def test_it_is_a_module(self):
        """A1 A2"""
        self.assertEqual(shop.__name__, "shop")
'''


def test_tests_that_cannot_fail_are_a_question_that_no_brief_tells(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(RIGHT)]}).installed(monkeypatch)
    workplace.write({"shop.py": "def price(count):\n    return 1\n"})
    planned(workplace, files={TESTS: IDLE})
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert len(script.told) == 1
    assert "TC-002 passes without the task's work: its held-out tests cannot fail" in notes(
        workplace
    )
    ended = workplace.runner("approve", "TASK-001", "--reason", "the visible test does")
    assert ended.code == 0, ended.said
    assert workplace.run().code == 0
    assert len(script.told) == 1


def test_no_implementer_names_or_writes_a_held_out_file(workplace, monkeypatch):
    named = RIGHT | {"shop.py": f"{RIGHT['shop.py']}SKIP = 'test_acceptance.py'\n"}
    own = RIGHT | {TESTS: "def test_nothing():\n    pass\n"}
    steps = [writes(named), writes(own), writes(RIGHT)]
    script = Script({"TASK-001": steps}).installed(monkeypatch)
    planned(workplace)
    workplace.edit_plan("- Output files: ", "- Output files: `tests/**`, ")
    workplace.commit()
    ended = workplace.run()
    assert ended.code == 0, ended.said
    briefs = [brief.text for brief, _ in script.attempts()]
    assert f"an added line names the held-out file {TESTS}" in briefs[1]
    assert "is a held-out file, which no implementer may write" in briefs[2]
    assert workplace.read("shop.py") == RIGHT["shop.py"]
    assert workplace.read(TESTS) == HELD_OUT


def test_a_task_waits_until_its_files_are_on_this_machine(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(RIGHT)]}).installed(monkeypatch)
    planned(workplace)
    store_of(workplace).drop("TASK-001", TESTS)
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert script.told == []
    assert f"held-out {TESTS} is not on this machine" in notes(workplace)
    assert "runner hold-out TASK-001" in notes(workplace)
    hold_out(workplace, {TESTS: HELD_OUT})
    assert workplace.run().code == 0


def test_held_out_tests_alone_prove_a_task(workplace, monkeypatch):
    wrong = {"shop.py": WRONG["shop.py"]}
    right = {"shop.py": RIGHT["shop.py"]}
    script = Script({"TASK-001": [writes(wrong), writes(right)]}).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_PROOF_REQUIRE_PROOF", "always")
    planned(workplace, visible=())
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert len(script.told) == 2


def test_too_little_coverage_of_held_out_tests_tells_no_line(workplace, monkeypatch):
    """Without a visible contract their coverage counts, and only "too few" leaves the proof."""
    unseen = "".join(f"    count += {number}\n" for number in range(20))
    half = {"shop.py": f"{RIGHT['shop.py']}\n\ndef unseen(count):\n{unseen}    return count\n"}
    right = {"shop.py": RIGHT["shop.py"]}
    script = Script({"TASK-001": [writes(half), writes(right)]}).installed(monkeypatch)
    planned(workplace, visible=())
    ended = workplace.run()
    assert ended.code == 0, ended.said
    heard = script.attempts("TASK-001")[1][0].text
    assert "the held-out tests cover too few lines of the change" in heard
    assert "shop.py:" not in heard
    assert "%" not in heard.partition("the held-out tests cover")[2].splitlines()[0]
    assert told(heard) == []


def test_landed_files_are_ordinary_tests_for_a_rebuild(workplace, monkeypatch):
    """The implementer can read them now, so they no longer make the task independent."""
    again = {"shop.py": "def price(count):\n    return count * 3\n", VISIBLE: SEEN}
    Script({"TASK-001": [writes(RIGHT), writes(again)]}).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "bubblewrap")
    planned(workplace)
    assert workplace.run().code == 0
    assert "Grade: proven, independent" in workplace.git("log", "--format=%B", "-n", "2")
    assert workplace.runner("change", "TASK-001", "count first", "--yes").code == 0
    ended = workplace.run("--rebuild")
    assert ended.code == 0, ended.said
    assert workplace.read("shop.py") == again["shop.py"]
    message = workplace.git("log", "--format=%B", "-n", "2")
    assert "Grade: proven" in message
    assert "independent" not in message


def test_documents_and_kept_files_tell_states_and_counts_alone(workplace, monkeypatch):
    failed(workplace, monkeypatch)
    own = (["hold-out", "--list"], ["hold-out", "--check"], ["hold-out", "--show", "1"])
    for words in (["show", "1"], ["log"], ["evidence", "1"], ["why", "1"], ["brief", "1"], *own):
        ended = [workplace.runner(*words), workplace.runner(*words, "--json")]
        assert told("".join(one.said + one.out for one in ended)) == [], words
    kept = [one for one in (workplace.root / "artifacts").rglob("*") if one.is_file()]
    assert kept
    assert [one for one in kept if told(one.read_text(errors="replace"))] == []
