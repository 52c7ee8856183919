"""A contract that says `pytest` is run by the project's own environment, activated or not."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from workplace import a_task

PROBE = "import sys\nassert sys.prefix.endswith('/.venv'), sys.prefix\n"


def an_environment(folder):
    """An environment with a pytest of its own, and whatever this one has."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True)
    (found,) = folder.glob("lib/python*/site-packages")
    (found / "own.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    program = folder / "bin" / "pytest"
    program.write_text(f"#!{folder}/bin/python\nimport pytest\nraise SystemExit(pytest.main())\n")
    program.chmod(0o755)


@pytest.fixture
def shop(workplace, monkeypatch):
    """A project with an environment of its own, which git ignores and nobody activated."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    an_environment(workplace.root / ".venv")
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


@pytest.fixture
def few_programs(monkeypatch, tmp_path):
    """A PATH without any pytest: what is left is the one of the environment that tests run in."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("git", "sh", "env", "cat", "bwrap"):
        if (place := shutil.which(name)) is not None:
            (folder / name).symlink_to(place)
    monkeypatch.setenv("PATH", str(folder))


own_environment = pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="it has none")
CHECK = a_task(
    "TASK-001",
    "Check",
    blocks={"test_it.py": "def test_it():\n    pass\n"},
    tests=["pytest -q test_it.py"],
)


@own_environment
@pytest.mark.parametrize("activated", [False, True])
def test_the_runners_own_pytest_is_a_mistake_with_the_fix(
    workplace, monkeypatch, few_programs, activated
):
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    if activated:  # as it is where `runner` was installed; the project needs what is not in it
        monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    project = '[project]\nname = "shop"\nversion = "1"\ndependencies = ["no-such-package"]\n'
    workplace.commit({"pyproject.toml": project, ".gitignore": ".venv/\n"})
    workplace.plan(CHECK)
    fix = "python3 -m venv .venv && .venv/bin/python -m pip install pytest -e ."
    for said in (workplace.runner("validate"), workplace.runner("doctor")):
        assert said.code in (2, 3), said.said
        assert f"hint: {fix}" in said.out.replace("hint: tool pytest: ", "hint: ")
    ended = workplace.run("--no-sandbox")
    assert (ended.code, workplace.statuses["TASK-001"]) == (3, "BLOCKED")
    assert "TASK-GRAPH.md:8:" in ended.err
    assert fix in workplace.status_line("TASK-001")
    an_environment(workplace.root / ".venv")
    assert workplace.runner("validate").code == 0
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    tools = workplace.runner("evidence", "1", "--json").document["evidence"]["tools"]
    assert tools["environment"] == ".venv"


@own_environment
@pytest.mark.parametrize("held", ["activated, and it has all", "in the repository, without it"])
def test_an_environment_that_is_the_projects_too_is_none(
    workplace, monkeypatch, few_programs, held
):
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    workplace.commit({"requirements.txt": "rich\n"})
    workplace.plan(CHECK)
    if held.startswith("in"):
        empty = workplace.root / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(empty)], check=True)
        said = workplace.runner("validate")
        assert (said.code, "not in .venv" in said.out) == (2, True), said.said
        assert "hint: .venv/bin/python -m pip install pytest" in said.out
    else:
        assert workplace.runner("validate").code == 0
