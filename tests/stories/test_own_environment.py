"""A contract that says `pytest` is run by the project's own environment, activated or not."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from workplace import a_task

PROBE = "import sys\nassert sys.prefix.endswith('/.venv'), sys.prefix\n"


@pytest.fixture
def shop(workplace, monkeypatch):
    """A project with an environment of its own, which git ignores and nobody activated."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    environment = workplace.root / ".venv"
    command = [sys.executable, "-m", "venv", "--without-pip", str(environment)]
    subprocess.run(command, check=True)
    (found,) = environment.glob("lib/python*/site-packages")
    (found / "own.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    workplace.commit({".gitignore": ".venv/\n", "probe.py": PROBE})
    return workplace


@pytest.mark.parametrize("sandbox", ["--no-sandbox", "--sandbox=auto"])
def test_it_is_found_and_evidence_says_so(shop, sandbox):
    test = "import probe\n\n\ndef test_it():\n    assert probe\n"
    shop.plan(
        a_task(
            "TASK-001",
            "Probe",
            blocks={"test_probe.py": test},
            tests=["python3 -m pytest -q test_probe.py"],
        )
    )
    ended = shop.run(sandbox)
    assert ended.code == 0, ended.said
    tools = shop.runner("evidence", "1", "--json").document["evidence"]["tools"]
    assert tools["environment"] == ".venv"


def test_one_that_came_with_the_clone_is_not_run_without_a_sandbox(shop):
    python = shop.root / ".venv" / "bin" / "python3"
    python.unlink()
    python.write_text("#!/bin/sh\ntouch ../../stolen\nexit 0\n")
    python.chmod(0o755)
    shop.git("add", "-f", ".venv")
    shop.git("commit", "-qm", "theirs")
    shop.plan(a_task("TASK-001", "Probe", tests=["python3 -c 'print(1)' | grep -q 1"]))
    assert shop.run("--no-sandbox").code == 0  # theirs prints nothing
    assert not list(Path(shop.root).rglob("stolen"))
