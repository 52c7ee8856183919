"""What the hook of a session kept back is asked of a person, whatever else stands in its file."""

import json

import pytest
from msgspec.structs import replace

from runner.config.shell_rules import Permission, PermissionAnswer, Permit
from runner.implementers.agents.hooks import Rules, ask_about_blocked, save_question


@pytest.fixture
def asked(shop):
    """The session's bench, and what a person was asked at it."""
    found = []
    rules = (Permission("*", "docs/**", Permit.ASK), Permission("*", "core/**", Permit.DENY))
    context = replace(shop.context, permission=rules, ask=lambda *call: found.append(call))
    return context, found


def test_only_writes_that_a_rule_asks_about_are_asked_each_once(asked, tmp_path):
    context, found = asked
    rules = tmp_path / "hook.json"
    ask_about_blocked(context, rules)
    for tool, subject in (
        ("write_file", "docs/a.md"),
        ("write_file", "docs/a.md"),
        ("modify_file", "core/a.py"),
        ("read_file", "docs/a.md"),
        ("write_file", "src/a.py"),
    ):
        save_question(rules, tool, subject)
    with rules.with_name("hook-asked.jsonl").open("a") as file:
        file.write('not json\n[1]\n{"a": 1}\nnull\n')
    ask_about_blocked(context, rules)
    assert found == [("write_file", "docs/a.md", 'the rule "ask * docs/**" of your settings')]
    ask_about_blocked(replace(context, reviewed=True), rules)
    answer = PermissionAnswer("write_file", "docs/a.md", allowed=True)
    ask_about_blocked(replace(context, answers=(answer,)), rules)
    assert len(found) == 1


def test_rules_of_before_there_were_permissions_are_still_read(tmp_path):
    path = tmp_path / "hook.json"
    path.write_text(json.dumps({"task": "TASK-001", "outputs": ["a"]}))
    assert Rules.read(path) == Rules("TASK-001", ("a",))
