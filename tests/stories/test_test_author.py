"""A separate author writes held-out tests before the task starts."""

import json
import shutil

import pytest
from agent_program import install_agent
from workplace import a_task

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
def shop(workplace, tmp_path, monkeypatch):
    """Sets an agent that writes tests, a command that implements, and a plan with two items."""
    monkeypatch.setenv("RUNNER_BACKOFF", "0")

    def start(*rounds, **settings):
        context = tmp_path / "agent"
        script = {"TASK-001": {"attempts": [[]], "author": rounds}}
        install_agent(workplace, context, script, mutation="off", **settings)
        (context / "app.py").write_text("\n".join(CODE) + "\n")
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
    "wrong",
    [
        [  # an answer that says nothing, and one without a test for an item
            a_round(say="done"),
            a_round(say=answer(A1=[f"{FILE}::test_half"])),
        ],
        [  # a file that Python cannot read, and one that is no test
            a_round(["def test_x(:"]),
            a_round(path="app.py", say=answer(["app.py"])),
        ],
        [  # tests of which none fails without the work, or none can run
            a_round(["def test_half(): pass", "def test_below(): pass"]),
            a_round(["import nothing_of_it", *TESTS]),
        ],
        [],
    ],
    ids=["answer", "file", "tests", "nothing"],
)
def test_what_is_wrong_goes_back_and_is_repaired(shop, wrong):
    good = (
        a_round() if wrong else a_round(say=answer(A1=[f"{FILE}::no"], A2=[f"{FILE}::test_below"]))
    )
    shop = shop(*wrong, good)
    shop.run("--jobs", "1")
    [event] = shop.happened("tests.written")
    assert event["repairs"] == len(wrong)


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
