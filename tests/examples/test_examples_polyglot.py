"""The polyglot example builds with the tools that are here, and says which are not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "polyglot"
TOOLS = {"TASK-003": ("node", "tsc"), "TASK-004": ("cargo",)}
CALLER = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def run(folder: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    environment |= CALLER | {"XDG_CACHE_HOME": str(folder.parent / "cache"), "CI": "true"}
    environment |= {"XDG_STATE_HOME": str(folder.parent / "state")}
    environment["PATH"] = path or environment["PATH"]
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "polyglot"
    shutil.copytree(EXAMPLE, folder)
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "Ada"),
        ("config", "user.email", "ada@example.org"),
        ("add", "."),
        ("commit", "-qm", "docs: the plan"),
    ):
        assert run(folder, "git", *words).returncode == 0
    return folder


def outcome(folder: Path, path: str = "") -> tuple[int, dict[str, tuple[str, str | None]]]:
    """The exit code, and status and reason of every task."""
    runner = (sys.executable, "-m", "runner")
    ran = run(folder, *runner, "run", "--no-sandbox", "--json", path=path)
    said = json.loads(run(folder, *runner, "status", "--json").stdout)
    return ran.returncode, {task["id"]: (task["status"], task["reason"]) for task in said["tasks"]}


def test_what_has_its_tools_is_built_and_what_has_not_says_so(project):
    there = {tool for tools in TOOLS.values() for tool in tools if shutil.which(tool)}
    broken = [tool for tool in sorted(there) if run(project, tool, "--version").returncode]
    if broken:  # such as a rustup proxy without a toolchain in this home folder
        pytest.skip(f"on PATH, but do not start here: {', '.join(broken)}")
    missing = {
        task for task, tools in TOOLS.items() if any(shutil.which(tool) is None for tool in tools)
    }
    code, tasks = outcome(project)
    expected = {f"TASK-00{number}": ("DONE", None) for number in range(1, 7)}
    expected |= dict.fromkeys(missing, ("BLOCKED", "tool"))
    if missing:
        expected["TASK-006"] = ("PENDING", None)
    assert tasks == expected
    assert code == (3 if missing else 0)


def test_a_machine_with_none_of_the_tools_builds_the_rest(project, tmp_path):
    """Only what the plan's other commands need is on PATH here."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "git", "awk", "cut", "tr", "sed", "diff", "dirname", "rm", "cat"):
        (folder / tool).symlink_to(shutil.which(tool))
    # the one on PATH may be a version manager's shim, which needs more than there is here
    (folder / "python3").symlink_to(os.path.realpath(sys.executable))
    code, tasks = outcome(project, path=str(folder))
    assert code == 3
    assert tasks == {
        "TASK-001": ("DONE", None),
        "TASK-002": ("DONE", None),
        "TASK-003": ("BLOCKED", "tool"),
        "TASK-004": ("BLOCKED", "tool"),
        "TASK-005": ("DONE", None),
        "TASK-006": ("PENDING", None),
    }


@pytest.mark.skipif(
    any(shutil.which(tool) is None for tools in TOOLS.values() for tool in tools),
    reason="node, tsc or cargo is not on PATH",
)
def test_all_four_languages_say_the_same(project):
    assert outcome(project)[0] == 0
    titles = (project / "cases.tsv").read_text().replace("\t", "\n")
    ran = subprocess.run(
        ["sh", "agree.sh"], cwd=project, input=titles, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
