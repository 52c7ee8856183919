"""A plan with a separate author of tests, whose program plays its rounds."""

import json

from agent_program import install_agent
from workplace import a_task

FILE = "tests/test_half_acceptance.py"
MORE = "tests/test_half_more.py"
CODE = [
    "def half(x):",
    "    below = x < 0",
    "    if below:",
    "        raise ValueError",
    "    return x / 2",
]
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
    steps = [{"show": "brief"}, {"write": path, "lines": lines}]
    return {"steps": steps, "say": say or answer()}


def a_mutant_round(expected=0, path=MORE, say=None):
    """Writes a test of half(0), which no test of the first round calls."""
    lines = ["from app import half", "def test_zero():", f"    assert half(0) == {expected}"]
    return a_round(lines, path, say or answer([path], A2=[f"{path}::test_zero"]))


def plan_half(workplace, folder, rounds, mutants=(), **settings):
    """Set an agent that writes tests, a command that implements, and a plan with two items."""
    script = {"TASK-001": {"attempts": [[]], "author": rounds, "mutants": mutants}}
    install_agent(workplace, folder, script, **{"mutation": "off", **settings})
    (folder / "app.py").write_text("\n".join(CODE) + "\n")
    workplace.commit({"pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n"})
    workplace.plan(
        a_task(
            "TASK-001",
            "Half",
            outputs=["app.py"],
            command=f"cp {folder}/app.py . && ls -R > seen.txt && rm seen.txt",
            fields=[
                "Acceptance:\n  - A1: half() halves a number\n  - A2: below zero is refused",
                "Test author: agent",
            ],
        )
    )
