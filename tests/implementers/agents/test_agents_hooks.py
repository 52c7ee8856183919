"""What the hook of a session kept back is asked of a person, whatever else stands in its file."""

import json
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from runner.config.shell_rules import Permission, PermissionAnswer, Permit
from runner.implementers.agents.hooks import Rules, ask_about_blocked, install, save_question
from runner.implementers.agents.preset import Hooks
from runner.model import Spec, Task


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


def test_a_file_whose_name_looks_like_a_glob_is_among_the_rules(tmp_path):
    path = tmp_path / "hook.json"
    home = SimpleNamespace(put=lambda name, data: (tmp_path / name).write_bytes(data))
    name = "app/[slug]/page.tsx"
    task = Task("TASK-001", "Page", 1, Spec("", ""), outputs=(name,), literal=(name,))
    install(Hooks.NONE, home, Rules("TASK-001", task.outputs), path, str(path))
    assert Rules.read(path).outputs == (name,)
