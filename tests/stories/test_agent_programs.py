"""A scripted agent program builds tasks: planned, enclosed, held to its plan, and not believed."""

import pytest
from agent_program import install_agent
from workplace import a_task

GOOD = {"write": "app.py", "lines": ["def one():", "    return 1"]}
TESTED = 'python3 -c "import app; assert app.one() == 1"'


@pytest.fixture
def agent(workplace, tmp_path, monkeypatch):
    """Sets the person's agent: the stand-in with a script."""
    monkeypatch.setenv("RUNNER_BUILD_BACKOFF", "0")
    monkeypatch.setenv("RUNNER_BUILD_JOBS", "1")

    def script(tasks, **settings):
        install_agent(workplace, tmp_path / "agent", tasks, **settings)
        return workplace

    return script


def one_task(workplace, **fields):
    fields = {"outputs": ["app.py"], "tests": [TESTED], **fields}
    workplace.plan(a_task("TASK-001", "One", **fields))


def test_it_plans_writes_and_lands_with_its_cost(agent):
    hooked = {"hook": "app.py", "content": "def one(:", "instead": "def one():\n    return 1\n"}
    shop = agent({"TASK-001": {"attempts": [[hooked, {"use": 880, "dollars": 0.25}]]}})
    one_task(shop)
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert [one["mode"] for one in shop.happened("attempt.started")] == ["plan", "build"]
    assert shop.happened("plan.proposed")[0]["plan"]["files"] == ["app.py"]
    assert [one["name"] for one in shop.happened("tool.called")] == ["Write"]
    said = "".join(
        shop.read(f"artifacts/build/logs/TASK-001/{n}/implementer.log") for n in ("plan-1", 1)
    )
    assert "the hook says: app.py:1: invalid syntax (compile)" in said
    usage = shop.happened("attempt.finished")[-1]["usage"]
    assert (usage["input_tokens"], usage["dollars"]) == (980, 0.251)
    assert shop.read("app.py").startswith("def one")


def test_a_leak_and_a_write_out_of_scope_are_told_and_mended(agent):
    attempts = [[GOOD, {"leak": "app.py"}], [GOOD, {"write": "b.py"}], [GOOD]]
    shop = agent({"TASK-001": {"attempts": attempts}})
    one_task(shop)
    ended = shop.run()
    assert ended.code == 0, ended.said
    found = [one["findings"] for one in shop.happened("attempt.finished")]
    checks = [[each["check"] for each in findings] for findings in found]
    assert checks[0] == [], "its plan"
    assert "secret-scan" in checks[1]
    assert "scope" in checks[2]
    assert checks[3] == []
    assert not shop.has("b.py")


def test_another_model_reviews_what_was_proven(agent):
    tasks = {"TASK-001": {"attempts": [[GOOD]], "review": "REJECT: it needs a docstring"}}
    shop = agent(tasks, review="auto", model_review="strict")
    one_task(shop, fields=("Budget: 1 attempts",))
    ended = shop.run()
    assert ended.code == 1, ended.said
    assert "agent rejects the change: it needs a docstring" in ended.said
    tasks["TASK-001"]["review"] = "Good work.\n\nAPPROVE"
    agent(tasks, review="auto", model_review="strict")
    shop.edit_plan("BLOCKED", "PENDING")
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert shop.happened("write.reviewed")[-1]["review"] == "auto"


def test_another_model_reviews_a_plan_before_anything_is_written(agent):
    """By `[model] review` alone: no command has to be set for it."""
    tasks = {"TASK-001": {"attempts": [[GOOD]], "review": "REJECT: it tests nothing"}}
    shop = agent(tasks, plan_review="auto", model_review="strict", review="off")
    one_task(shop)
    ended = shop.run()
    assert ended.code == 3, ended.said
    assert "agent rejects the plan: it tests nothing" in ended.said
    assert {one["mode"] for one in shop.happened("attempt.started")} == {"plan"}
    assert not shop.has("app.py")
    tasks["TASK-001"]["review"] = "It will do.\n\nAPPROVE"
    agent(tasks, plan_review="auto", model_review="strict", review="off")
    shop.edit_plan("BLOCKED", "PENDING")
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert shop.happened("plan.reviewed")[-1]["review"] == "auto"


def test_a_program_that_is_named_by_its_place_is_found(agent, tmp_path):
    tool = tmp_path / "tools" / "my-agent"
    tool.parent.mkdir()
    tool.write_text(
        "#!/bin/sh\n"
        "if [ $RUNNER_MODE = plan ]; then echo '1. Write `app.py`'\n"
        "else printf 'def one():\\n    return 1\\n' > app.py; fi\n"
    )
    tool.chmod(0o755)
    shop = agent({}, agent_command=str(tool))
    one_task(shop)
    ended = shop.run()
    assert ended.code == 0, ended.said
