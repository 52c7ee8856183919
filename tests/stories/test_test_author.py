"""A separate author writes held-out tests before the task starts."""

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from workplace import a_task

STAND_IN = Path(__file__).parents[1] / "implementers/agents/stand_in.py"
FILE = "tests/test_half_acceptance.py"
CODE = ["def half(x):", "    if x < 0:", "        raise ValueError", "    return x / 2"]
TESTS = [
    "import pytest",
    "from app import half",
    "def test_half():",
    "    assert half(4) == 2",
    "def test_below():",
    "    with pytest.raises(ValueError):",
    "        half(-1)",
]


def answer(files=(FILE,), **items):
    items = items or {"A1": [f"{FILE}::test_half"], "A2": [f"{FILE}::test_below"]}
    return f"```json\n{json.dumps({'files': list(files), 'items': items})}\n```"


def a_round(lines=TESTS, path=FILE, say=None):
    return {"steps": [{"write": path, "lines": lines}], "say": say or answer()}


@pytest.fixture
def shop(workplace, alone, tmp_path, monkeypatch):
    """Sets an agent that writes tests, a command that implements, and a plan with two items."""
    monkeypatch.setenv("RUNNER_BUILD_BACKOFF", "0")

    def start(*rounds, **settings):
        context = tmp_path / "desk"
        context.mkdir(exist_ok=True)
        shutil.copy(STAND_IN, context)
        script = {"TASK-001": {"attempts": [[]], "author": rounds}}
        (context / "script.json").write_text(json.dumps({"tasks": script}))
        (context / "app.py").write_text("\n".join(CODE) + "\n")
        words = [sys.executable, str(context / "stand_in.py"), str(context / "script.json")]
        told = {
            "agent_command": shlex.join(words),
            "sandbox_read": [str(context)],
            "sandbox": "auto" if shutil.which("bwrap") else "none",
            "mutation": "off",
            **settings,
        }
        lines = [f"{name} = {json.dumps(value)}" for name, value in told.items()]
        file = alone / "config/runner/runner.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n")
        workplace.commit({"pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n"})
        workplace.plan(
            a_task(
                "TASK-001",
                "Half",
                outputs=["app.py"],
                command=f"cp {context}/app.py . && ls -R > seen.txt && rm seen.txt",
                fields=[
                    "Acceptance:\n  - A1: half() halves a number\n  - A2: below zero is refused",
                    "Test author: agent",
                ],
            )
        )
        return workplace

    return start


def test_its_tests_are_in_the_plan_before_the_implementer_starts(shop, alone):
    shop = shop(a_round())
    ended = shop.run("--jobs", "1")
    plan = shop.read("TASK-GRAPH.md")
    assert "  - TC-001 (unit, held out): `python -m pytest -q tests/test_half_" in plan
    assert f"  - `{FILE}` sha256:" in plan
    assert shop.happened("tests.written")[0]["tests"] == 2
    assert "DONE" in shop.status_line("TASK-001"), ended.said
    assert shop.has(FILE)
    [task] = json.loads(shop.runner("status", "--json").out)["tasks"]
    assert task["provenBy"] == ("independent" if shutil.which("bwrap") else "tests")
    journal = (shop.root / "artifacts/build/journal.jsonl").read_text()
    assert "test_below" not in journal
    assert not list(alone.rglob("authors/*"))


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (a_round(say="done"), "end with the JSON object"),
        (a_round(say=answer(A1=[f"{FILE}::test_half"])), "A2: name a test for it"),
        (a_round(say=answer(A1=[f"{FILE}::test_no"], A2=[f"{FILE}::test_below"])), ""),
        (a_round(["def test_x(:"]), "invalid syntax"),
        (a_round(path="app.py", say=answer(["app.py"])), "app.py is not named like"),
        (a_round(["def test_half(): pass", "def test_below(): pass"]), "none of its tests fails"),
        (a_round(["import nothing_of_it", *TESTS]), "none of its tests fails"),
    ],
)
def test_what_is_wrong_goes_back_and_is_repaired(shop, first, why):
    shop = shop(first, a_round())
    shop.run("--jobs", "1")
    [event] = shop.happened("tests.written")
    assert event["repairs"] == (1 if why else 0)


def test_after_two_repairs_the_task_waits(shop):
    shop = shop(a_round(say="done"))
    ended = shop.run()
    assert ended.code == 3, ended.said
    assert "BLOCKED" in shop.status_line("TASK-001")
    assert "still wrong after 2 repairs" in shop.status_line("TASK-001")
    assert shop.happened("attempt.started") == []
    assert shop.happened("task.blocked")[0]["reason"] == "test-author"


def test_an_author_that_is_not_there_makes_the_task_wait(shop):
    shop = shop(a_round())
    shop.edit_plan("Test author: agent", "Test author: codex")
    ended = shop.run()
    assert ended.code == 3, ended.said
    assert shop.happened("attempt.started") == []
    assert shop.happened("task.blocked")[0]["reason"] == "test-author"
