"""The plug-in in a real session of Claude Code, against a provider on loopback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from agents_provider import Provider, call
from test_agents_campaign import KEY, installed, shelf  # noqa: F401  a fixture among them

ROOT = Path(__file__).parents[3]
GOOD, BAD = "def cents(x):\n    return round(x * 100)\n", "def cents(x):\n    return 0\n"
PLAN = f"""# Shop

## TASK-001: Money

- Status: PENDING
- Output files: `money.py`
- Test contracts:
  - TC-001 (unit): `python3 -c 'from money import cents; assert cents(1.5) == 150'`

```text file=money.py
{GOOD}```
"""

pytestmark = pytest.mark.skipif(
    not os.environ.get("CAMPAIGN_SECONDS"), reason="the real programs run in make campaign alone"
)


class Mending(Provider):
    """A model that breaks a file, says that it is done, and mends it when it is told."""

    def turn(self, body):
        said = json.dumps(body)
        count, path = said.count('"tool_result"'), str(self.file)
        if "the plan's tests fail" in said:
            return (
                call("Write", file_path=path, content=f"{GOOD}# mended\n") if count < 3 else "Ok."
            )
        turns = (call("Read", file_path=path), call("Write", file_path=path, content=BAD))
        return turns[count] if count < len(turns) else "Done."


def test_campaign_a_session_that_breaks_a_proof_hears_of_it_and_mends_it(tmp_path, shelf):  # noqa: F811
    home, repository, own = (tmp_path / name for name in ("home", "shop", "bin"))
    for folder in (home, repository, own):
        folder.mkdir()
    (own / "runner").write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m runner "$@"\n')
    (own / "runner").chmod(0o755)
    (repository / "TASK-GRAPH.md").write_text(PLAN)
    path = f"{own}:{installed(shelf, 'claude')}:{os.environ['PATH']}"
    environ = {**os.environ, "HOME": str(home), "PATH": path, "ANTHROPIC_API_KEY": KEY}
    environ |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}

    def ran(*words):
        done = subprocess.run(
            words, cwd=repository, env=environ, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "plan")):
        ran("git", *words)
    ran("runner", "run", "--trust")
    ran("claude", "plugin", "marketplace", "add", str(ROOT))
    ran("claude", "plugin", "install", "runner@task-graph-runner")
    with Mending() as provider:
        provider.file = repository / "money.py"
        environ["ANTHROPIC_BASE_URL"] = provider.url
        tools = ("--permission-mode", "acceptEdits", "--allowedTools", "Read,Write")
        said = ran("claude", "-p", "change it", *tools, "--model", "claude-sonnet-4-5")
    assert said.strip() == "Ok."
    assert (repository / "money.py").read_text() == f"{GOOD}# mended\n"
