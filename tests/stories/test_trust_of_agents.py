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
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], fields=["Implementer: claude"]),
        a_task("TASK-002", outputs=["b.txt"], fields=["Implementer: acp:codex"]),
    )
    assert "0 mistakes" in workplace.runner("validate").out
    ended = workplace.run(trust=False)
    assert ended.code == 3
    for id_, program in (("TASK-001", "claude"), ("TASK-002", "acp:codex")):
        asked = f"{id_}: the agent program {program}, with your login and the network"
        assert asked in ended.err
    assert not called.exists()


def test_so_is_what_the_repositorys_settings_choose(workplace, called):
    workplace.plan(a_task("TASK-001", outputs=["a.txt"]))
    for settings, shown in (
        ('build.implementer = "codex"\n', "the agent program codex"),
        (
            'build.implementer = "model"\n[model]\nexecute = "openai:dear"\n',
            "a model, with your key: openai:dear",
        ),
        ('build.command = "touch owned"\n', "TASK-001: touch owned"),
    ):
        workplace.commit({"runner.toml": settings})
        ended = workplace.run(trust=False)
        assert ended.code == 3
        assert shown in ended.err
    assert not called.exists()
    assert not workplace.has("owned")


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
