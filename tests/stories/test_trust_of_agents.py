"""Who works with the person's login is among what the question for trust shows."""

import os

import pytest
from workplace import a_task

from runner.implementers.agents.preset import PRESETS


@pytest.fixture
def called(tmp_path, monkeypatch):
    """The file that a program called `claude` leaves when it is started."""
    programs, left = tmp_path / "programs", tmp_path / "called"
    programs.mkdir()
    (programs / "claude").write_text(f"#!/bin/sh\ntouch {left}\n")
    (programs / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    return left


def test_a_plan_that_holds_no_command_but_wants_an_agent_is_asked_about(workplace, called):
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], fields=["Implementer: claude"]))
    ended = workplace.run(trust=False)
    assert ended.code == 3
    assert "TASK-001: the agent program claude, with your login and the network" in ended.err
    assert not called.exists()


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ('build.implementer = "codex"\n', "the agent program codex"),
        (
            'build.implementer = "model"\n[model]\nexecute = "openai:dear"\n',
            "a model, with your key: openai:dear",
        ),
        ('build.command = "touch owned"\n', "TASK-001: touch owned"),
    ],
)
def test_so_is_what_the_repositorys_settings_choose(workplace, called, settings, shown):
    workplace.commit({"runner.toml": settings})
    workplace.plan(a_task("TASK-001", outputs=["a.txt"]))
    ended = workplace.run(trust=False)
    assert ended.code == 3
    assert shown in ended.err
    assert not called.exists()
    assert not workplace.has("owned")


def test_an_agent_of_the_protocol_that_a_plan_calls_is_part_of_the_question(workplace):
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], fields=["Implementer: acp:codex"]))
    assert "0 mistakes" in workplace.runner("validate").out
    said = workplace.run(trust=False)
    assert said.code == 3
    assert "TASK-001: the agent program acp:codex, with your login and the network" in said.err


@pytest.mark.parametrize("login", ["", "variable", "file"])
def test_a_login_is_looked_for_before_anything_begins(workplace, called, monkeypatch, login):
    for name in PRESETS["claude"].logins:
        monkeypatch.delenv(name, raising=False)
    if login == "variable":
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    elif login == "file":
        (workplace.home / ".claude").mkdir()
        (workplace.home / ".claude/.credentials.json").write_text("{}")
    fields = ["Implementer: claude", "Red first: no"]
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], tests=["test -s a.txt"], fields=fields))
    doctor = workplace.runner("doctor")
    said = "claude is not logged in"
    advice = "start claude and log in, or set ANTHROPIC_API_KEY"
    assert (said in doctor.out, f"agent claude: {advice}" in doctor.out) == (not login, not login)
    ended = workplace.run()
    assert called.exists() is bool(login), ended.said
    assert (f"BLOCKED — {said}; {advice}" in workplace.status_line("TASK-001")) is (not login)
    assert bool(workplace.happened("attempt.started")) is bool(login)
