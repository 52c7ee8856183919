"""A whole run by the real command: a task without blocks is built by a model on loopback."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from llm_server import Server, says

pytest.importorskip("pydantic_ai", reason="the extra `llm` is not installed")

CODE = (
    "import greet, os; open('made', 'w').close(); assert greet.hello() == 'hello'; "
    "assert 'ANTHROPIC_API_KEY' not in os.environ"
)
PLAN = f"""\
# Greetings

## TASK-001: Say hello

- Status: PENDING
- Output files: `greet.py`
- Test contracts:
  - TC-001 (unit): `python3 -c "{CODE}"`

A module `greet` with a function `hello` that returns its own name.
"""
BAD = "def hello():\n    return 'hi'\n"


def model(asked):
    """Plans where it cannot write; else writes, tries, mends, tries again, and ends."""
    if "write_file" not in str(asked["tools"]):
        plan = {"steps": ["write greet.py"], "files": ["greet.py"], "gates": ["TC-001"]}
        return says(("final_result", plan))
    turns = sum(message["role"] == "assistant" for message in asked["messages"])
    gate, lint = ("run_gate", {"name": "tc-001"}), ("run_gate", {"name": "lint"})
    mend = ("modify_file", {"path": "greet.py", "old": "'hi'", "new": "'hello'"})
    steps = (
        [("write_file", {"path": "greet.py", "content": BAD}), lint, gate],
        [mend, gate],
        ["Wrote greet.py.\n\nDECISION: a constant\nContext: the task asks for no more\n"],
    )
    return says(*steps[turns])


EXAMPLE = Path(__file__).parents[3] / "examples" / "bookings" / "TASK-GRAPH.md"
BLOCK = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


@pytest.fixture
def shop(tmp_path):
    """A repository of Ada's with the plan in it, and her environment."""
    root, home = tmp_path / "shop", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    own = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    environment = own | {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    (root / "TASK-GRAPH.md").write_text(PLAN)
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "Ada"),
        ("config", "user.email", "ada@example.org"),
        ("add", "-A"),
        ("commit", "-q", "-m", "plan"),
    ):
        subprocess.run(["git", *words], cwd=root, check=True, env=environment)
    return root, environment


def built(shop, answers):
    """Build it with a model on loopback; the server that was asked."""
    root, environment = shop
    settings = {
        "RUNNER_BUILD_IMPLEMENTER": "model",
        "RUNNER_MODEL_EXECUTE": "anthropic:claude-x",
        "RUNNER_PROOF_VERIFY_AT_END": "false",
    }
    with Server(answers) as server:
        ended = subprocess.run(
            [sys.executable, "-m", "runner", "run", "--trust"],
            cwd=root,
            env=environment | server.environment | settings,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return server


@pytest.mark.nightly(
    sibling="tests/extensions/llm/test_llm_providers.py::test_a_task_is_built_over_the_wire"
)
def test_a_task_of_the_bookings_example_is_built_among_those_of_blocks(shop):
    root, _ = shop
    before, rule = EXAMPLE.read_text("utf-8").split("## TASK-004:")[0].split("## TASK-003:")
    files = dict(BLOCK.findall(rule))
    (root / "TASK-GRAPH.md").write_text(f"{before}## TASK-003:{BLOCK.sub('', rule)}")
    subprocess.run(["git", "commit", "-qam", "plan"], cwd=root, check=True)

    def writes(asked):
        if "write_file" not in str(asked["tools"]):
            return says(("final_result", {"steps": ["the rule"], "files": [*files]}))
        turns = sum(message["role"] == "assistant" for message in asked["messages"])
        calls = [("write_file", {"path": path, "content": files[path]}) for path in files]
        return says(*([*calls, ("run_gate", {"name": "TC-003"})], ["Done."])[turns])

    server = built(shop, writes)
    assert {path: (root / path).read_text() for path in files} == files
    assert (root / "TASK-GRAPH.md").read_text().count("Status: DONE") == 3
    assert "passed" in str(server.asked[-1][2]["messages"][-1])


def test_a_task_is_planned_written_mended_and_landed(shop):
    root, _ = shop
    server = built(shop, model)
    assert (root / "greet.py").read_text() == BAD.replace("'hi'", "'hello'")
    assert "Status: DONE" in (root / "TASK-GRAPH.md").read_text()
    journal = (root / "artifacts/build/journal.jsonl").read_text()
    events = [json.loads(line) for line in journal.splitlines()]
    called = [event["name"] for event in events if event["type"] == "tool.called"]
    assert called == ["write_file", "run_gate", "run_gate", "modify_file", "run_gate"]
    assert "a constant" in (root / "artifacts/build/DECISIONS.md").read_text()
    key = server.environment["ANTHROPIC_API_KEY"]
    kept = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert key.encode() not in kept
    tried = str(server.asked[-2][2]["messages"][-1])
    assert "unknown check 'lint'" in tried
    assert "ended with exit code 1" in tried
