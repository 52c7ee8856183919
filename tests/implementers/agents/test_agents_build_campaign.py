"""A build at a terminal with the real Claude Code: two tasks, each reviewed before it lands.

The program is npm's, the model is a script on loopback, the review is answered by single keys.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from agents_provider import Provider, call
from test_agents_campaign import KEY, installed, shelf  # noqa: F401  a fixture among them

sys.path.insert(0, str(Path(__file__).parents[2] / "commands"))
from commands_terminal import Terminal

PLAN = """# Shop

## TASK-001: Money

- Implementer: claude
- Output files: `money.py`
- Tests: `python3 -c 'from money import cents; assert cents(1.5) == 150'`
- Red first: no

Amounts in cents.

## TASK-002: Prices

- Depends on: TASK-001
- Implementer: claude
- Output files: `price.py`
- Tests: `python3 -c 'from price import price; assert price(2, 1.5) == 300'`
- Red first: no

What several of a thing cost.
"""
MONEY = "def cents(x):\n    return round(x * 100)\n"
PRICE = "from money import cents\n\n\ndef price(count, each):\n    return count * cents(each)\n"
A_PLAN = '```json plan\n{"steps": ["Write it"], "files": ["%s.py"]}\n```\n'
WRONG = PRICE.replace("count * ", "")

pytestmark = pytest.mark.skipif(
    not os.environ.get("CAMPAIGN_SECONDS"), reason="the real programs run in make campaign alone"
)


class TwoTasks(Provider):
    """A model that builds what a brief asks for; the second is wrong until its proof says so."""

    def turn(self, body):
        said = json.dumps(body)
        if "Write" not in {tool["name"] for tool in body.get("tools", ())}:
            return A_PLAN % ("price" if "TASK-002: Prices" in said else "money")
        if '"tool_result"' in said:
            return "Written."
        if "TASK-002: Prices" not in said:
            return call("Write", file_path=str(self.root / "money.py"), content=MONEY)
        text = PRICE if "AssertionError" in said else WRONG
        return call("Write", file_path=str(self.root / "price.py"), content=text)


@pytest.fixture
def shop(tmp_path, shelf):  # noqa: F811
    """A repository with the plan, and the variables of a person who has the program."""
    root, home = tmp_path / "shop", tmp_path / "home"
    for folder in (root, home):
        folder.mkdir()
    (root / "TASK-GRAPH.md").write_text(PLAN)
    path = f"{installed(shelf, 'claude')}:{os.environ['PATH']}"
    who = {f"GIT_{one}_NAME": "Ada" for one in ("AUTHOR", "COMMITTER")}
    who |= {f"GIT_{one}_EMAIL": "ada@example.org" for one in ("AUTHOR", "COMMITTER")}
    environ = {"HOME": str(home), "PATH": path, "ANTHROPIC_API_KEY": KEY, "PAGER": "cat", **who}
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "plan")):
        subprocess.run(["git", *words], cwd=root, env=environ, check=True, capture_output=True)
    return root, environ


def test_campaign_two_tasks_by_the_real_program_are_reviewed_by_single_keys(shop):
    root, environ = shop
    words = (sys.executable, "-P", "-m", "runner", "run", "--trust", "--review", "prompt")
    with TwoTasks() as provider:
        provider.root = root
        environ["ANTHROPIC_BASE_URL"] = provider.url
        with Terminal(words, columns=120, rows=60, cwd=root, **environ) as terminal:
            heard = terminal.until("yes to a[l]l plans", seconds=180)
            assert "plan of TASK-001" in terminal.said
            terminal.send("l")
            terminal.until("TASK-001 wants to create", after=heard, seconds=180)
            heard = terminal.until("[w]ait?", after=heard)
            terminal.send("a")
            terminal.until("TASK-002 wants to create", after=heard, seconds=240)
            shown, heard = heard, terminal.until("[w]ait?", after=heard)
            assert "return count * cents(each)" in terminal.said[shown:]
            terminal.send("a")
            terminal.wait(seconds=180)
    assert terminal.code == 0, terminal.said[-3000:]
    assert (root / "money.py").read_text() == MONEY
    assert (root / "price.py").read_text() == PRICE  # what was wrong was never shown
    landed = subprocess.run(
        ["git", "log", "--format=%s %(trailers:key=Review,valueonly)"],
        cwd=root, env=environ, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert landed.count("TASK-00") == 2
    assert KEY not in terminal.raw
    attempts = (root / "artifacts/build/journal.jsonl").read_text()
    assert attempts.count('"attempt.started"') >= 5  # two plans, and the mended proposal
    assert KEY not in attempts
