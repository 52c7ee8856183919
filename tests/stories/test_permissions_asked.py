"""What a permission rule wants a person asked about waits as data, or is asked at the terminal."""

import sys
from typing import ClassVar

import pytest
from commands_terminal import Terminal
from drafter import NAME, Drafter, a_plan, a_script, says
from workplace import a_task

from runner.config.shell_rules import PermissionAnswer
from runner.implementers.base import WorkResult
from runner.implementers.registry import IMPLEMENTERS
from runner.model import Finding

RULE = '[[permission]]\ntool = "write_file"\npattern = "docs/**"\naction = "ask"\n'
ONE = "TASK-001"


class Asking:
    """Writes what it is allowed to, after it has asked about a call with a bidi sign in it."""

    name, repeatable, is_agent = "asking", False, False
    heard: ClassVar[list] = []

    @classmethod
    def for_task(cls, _task, _settings):
        return cls()

    def implement(self, _brief, context):
        said = next((one for one in context.answers), None) or context.ask(
            "mcp__docs__get", '{"u": "\u202e"}', "the rule"
        )
        self.heard.append(said)
        if said is None or not said.allowed:
            return WorkResult(findings=(Finding("asking", "it was not allowed"),))
        (context.place.project / "a.txt").write_text("a")
        return WorkResult()


@pytest.fixture
def shop(workplace):
    """A task that writes where a rule of the repository wants a person asked."""
    workplace.write({"runner.toml": RULE})
    workplace.plan(a_task(ONE, "Write", blocks={"docs/a.md": "a", "b.txt": "b"}))
    return workplace


@pytest.fixture
def asking(workplace, monkeypatch):
    monkeypatch.setitem(IMPLEMENTERS, "asking", Asking)
    monkeypatch.setattr(Asking, "heard", [])
    monkeypatch.setenv("RUNNER_BUILD_BACKOFF", "0")
    fields = ("Implementer: asking",)
    workplace.plan(a_task(ONE, "Ask", outputs=["a.txt"], tests=["test -s a.txt"], fields=fields))
    return workplace


def test_without_a_terminal_the_question_waits_and_an_approval_is_remembered(shop):
    ended = shop.run("--no-verify-at-end")
    assert ended.code == 3, ended.said
    assert 'the rule "ask write_file docs/**" of the repository' in ended.said
    assert shop.statuses == {ONE: "BLOCKED"}
    assert shop.landings == []
    listed = shop.runner("review")
    assert f"1. {ONE} Write — write_file docs/a.md waits for your answer" in listed.out
    assert "wants to call write_file docs/a.md (the rule" in listed.out
    (waiting,) = shop.runner("review", "--json").document["waiting"]
    assert waiting["kind"] == "permission"
    assert waiting["asks"][0]["subject"] == "docs/a.md"
    assert shop.run("--no-verify-at-end").code == 3, "it still waits, and nothing is tried"
    assert len(shop.happened("attempt.started")) == 1
    assert shop.runner("approve", "1").out == f"{ONE} approved\nnext: runner\n"
    ended = shop.run("--no-verify-at-end")
    assert ended.code == 0, ended.said
    assert shop.read("docs/a.md").strip() == "a"


def test_a_no_is_told_with_its_reason_and_is_not_asked_again(asking):
    assert asking.run("--no-verify-at-end").code == 3
    assert Asking.heard == [None]
    assert asking.runner("edit", "1").code == 2
    said = asking.runner("reject", "1", "--reason", "read the copy")
    assert said.out.startswith(f"{ONE}: permission denied; the agent continues without it\n")
    ended = asking.run("--no-verify-at-end")
    assert ended.code == 1
    assert set(Asking.heard[1:]) == {
        PermissionAnswer("mcp__docs__get", '{"u": "\u202e"}', allowed=False, reason="read the copy")
    }
    assert len(asking.happened("permission.asked")) == 1
    asking.runner("approve", "1")
    assert asking.run("--no-verify-at-end").code == 3, "who has it tried again is asked again"


def test_other_words_of_the_task_are_asked_about_anew(asking):
    assert asking.run("--no-verify-at-end").code == 3
    asking.runner("approve", "1")
    text = asking.read("TASK-GRAPH.md")
    asking.commit(
        {"TASK-GRAPH.md": text.replace("- Output files: `a.txt`", "- Output files: `a.*`")}
    )
    assert asking.run("--no-verify-at-end").code == 3
    assert Asking.heard == [None, None]


def test_a_plan_that_names_a_denied_file_is_refused_at_once_with_the_rule(workplace, monkeypatch):
    monkeypatch.setitem(IMPLEMENTERS, NAME, Drafter)
    denied = RULE.replace("docs/**", "a.txt").replace("ask", "deny")
    workplace.write(
        {
            "agent.sh": a_script(says(a_plan("a.txt", "there.txt", "docs/b.md")), "echo a > a.txt"),
            "runner.toml": f"{RULE}\n{denied}\n{denied.replace('a.txt', 'there.txt')}",
            "there.txt": "a change of it is no new file",
        }
    )
    fields = (f"Implementer: {NAME}",)
    outputs = ["*.txt", "docs/**"]
    workplace.plan(
        a_task(ONE, "Write", outputs=outputs, command="sh agent.sh", tests=["true"], fields=fields)
    )
    ended = workplace.run("--no-sandbox", "-j", "1")
    assert ended.code == 3
    (found,) = workplace.happened("attempt.finished")[0]["findings"]
    assert (found["check"], found["path"]) == ("plan", "a.txt")
    assert found["message"] == (
        'the rule "deny write_file a.txt" of the repository\'s settings forbids writing this file'
    )
    assert "build" not in [one["mode"] for one in workplace.happened("attempt.started")]


def test_at_a_terminal_a_person_is_asked_at_once_and_may_allow_it(shop):
    words = (sys.executable, "-m", "runner", "run", "--trust", "--no-sandbox", "--review", "off")
    never = {"RUNNER_PROOF_VERIFY_AT_END": "never"}
    with Terminal(words, columns=200, cwd=shop.root, **never) as terminal:
        terminal.until(f"{ONE} wants to call write_file docs/a.md")
        terminal.until("[w]ait?")
        terminal.send("t\n")
        terminal.wait()
    assert terminal.code == 0
    assert [one["allowed"] for one in shop.happened("permission.answered")] == [True]
    assert shop.read("docs/a.md").strip() == "a"
