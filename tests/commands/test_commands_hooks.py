"""The hooks for pre-commit and the action for GitHub do what their files say."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from commands_build import a_ground, a_plan

from runner.operations.table import find_operation

TOP = Path(__file__).parents[2]
RUNNER = Path(sys.executable).parent / "runner"
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text())}
ACTION = yaml.safe_load((TOP / "action.yml").read_text())


def hook(ground, name, *files):
    """Run a hook as pre-commit does: its entry, and the names of the files behind it."""
    words = shlex.split(HOOKS[name]["entry"])
    assert words[0] == "runner"
    passed = files if HOOKS[name].get("pass_filenames", True) else ()
    return ground.runner(*words[1:], *passed)


def test_every_hook_is_a_command_that_there_is():
    for one in HOOKS.values():
        assert find_operation(one["entry"].split()[1:], {}).operation.does
        assert one["language"] == ("system" if one["id"].endswith("-system") else "python")


def test_a_light_hook_is_its_twin_without_an_environment():
    for name, one in HOOKS.items():
        twin = HOOKS.get(name.removesuffix("-system"))
        if twin is not None and twin is not one:
            assert {**one, "id": "", "language": ""} == {**twin, "id": "", "language": ""}


def test_a_mistake_in_the_plan_stops_a_commit(ground):
    a_ground(ground)
    assert hook(ground, "runner-validate", "TASK-GRAPH.md").code == 0
    ground.write("TASK-GRAPH.md", a_plan("A needs B"))
    said = hook(ground, "runner-validate", "TASK-GRAPH.md")
    assert said.code == 2
    assert "TASK-001 depends on unknown task TASK-002" in said.out


def test_a_secret_in_a_file_of_any_name_stops_a_commit(ground):
    a_ground(ground)
    ground.write("fine.py", "x = 1\n")
    assert hook(ground, "runner-secrets", "fine.py").code == 0
    sample = "r8q7p6o5n4m3l2K1j0I9H8G7f6E5D4C3b2A1_phg"[::-1]
    ground.write("-odd.py", f'key = "{sample}"\n')
    said = hook(ground, "runner-secrets", "fine.py", "-odd.py")
    assert said.code == 1
    assert sample not in said.out + said.err


# --- the action -----------------------------------------------------------------------


def scripts():
    return {step.get("id", step["name"]): step for step in ACTION["runs"]["steps"] if "run" in step}


def test_no_input_is_text_in_a_script():
    for step in scripts().values():
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"


@pytest.fixture
def acted(ground, tmp_path):
    """Runs the action's own script as a step of GitHub Actions does."""
    a_ground(ground, "A; B needs A")
    temp = tmp_path / "temp"
    (temp / "task-graph-runner" / "bin").mkdir(parents=True)
    (temp / "task-graph-runner" / "bin" / "runner").symlink_to(RUNNER)

    def act(**inputs):
        environ = dict.fromkeys(scripts()["run"]["env"], "") | inputs
        environ |= {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_OUTPUT": str(temp / "output"),
            "GITHUB_STEP_SUMMARY": str(temp / "summary.md"),
            "RUNNER_TEMP": str(temp),
        }
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", scripts()["run"]["run"]],
            cwd=ground.folder,
            env=os.environ | environ,
            capture_output=True,
            text=True,
            check=False,
        )
        return ran, (temp / "output").read_text(), (temp / "summary.md").read_text()

    return act


def test_the_action_builds_and_leaves_its_reports(acted, ground):
    ran, output, summary = acted(INPUT_ARGUMENTS="--no-sandbox", INPUT_JUNIT="out/junit.xml")
    assert ran.returncode == 0, ran.stderr
    assert output == "exit-code=0\n"
    assert "2 tasks: 2 DONE" in summary
    assert (ground.folder / "out" / "junit.xml").read_bytes().startswith(b"<?xml")
    assert "::error" not in ran.stderr


def test_the_action_fails_as_the_run_does_and_says_where(acted, ground):
    ground.write("TASK-GRAPH.md", a_plan("A; B needs A").replace("`true`", "`false`", 1))
    ground.commit("fails")
    ran, output, summary = acted(INPUT_ARGUMENTS="--no-sandbox", INPUT_SARIF="out.sarif")
    assert ran.returncode == 1
    assert output == "exit-code=1\n"
    assert "::error file=TASK-GRAPH.md,line=3,title=TASK-001 TC-001::" in ran.stderr
    assert "| TASK\\-001 task A | ❌ BLOCKED |" in summary
    assert '"ruleId": "TC-001"' in (ground.folder / "out.sarif").read_text()


def test_what_stands_in_an_input_is_never_run(acted, ground):
    ran, output, _ = acted(INPUT_ARGUMENTS="--no-sandbox", INPUT_JUNIT="$(touch ran).xml")
    assert ran.returncode == 0, ran.stderr
    assert not (ground.folder / "ran").exists()
    assert (ground.folder / "$(touch ran).xml").exists()
    assert output == "exit-code=0\n"


def test_reports_are_written_also_when_there_is_nothing_to_do(acted, ground):
    acted(INPUT_ARGUMENTS="--no-sandbox")
    ran, _, _ = acted(INPUT_ARGUMENTS="--no-sandbox", INPUT_JUNIT="again.xml")
    assert ran.returncode == 0
    assert b'tests="2" failures="0"' in (ground.folder / "again.xml").read_bytes()


def test_a_report_that_cannot_be_written_is_said_after_the_run(ground, monkeypatch):
    monkeypatch.setenv("CI", "true")
    a_ground(ground, "A").write("file", "")
    said = ground.runner("run", "--no-sandbox", "-q", "--junit", "file/junit.xml")
    assert said.code == 2
    assert "the run ended, but its report cannot be written" in said.err
    assert (ground.folder / "a.txt").exists()


def test_all_reports_come_from_one_run(ground, monkeypatch, tmp_path):
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "page.md"))
    a_ground(ground, "A; B")
    words = ("--junit", "j.xml", "--sarif", "s.sarif", "--json", "-q", "--no-sandbox")
    said = ground.runner("run", *words)
    assert said.code == 0
    assert said.json["kind"] == "run"
    assert (ground.folder / "j.xml").exists()
    assert (ground.folder / "s.sarif").exists()
    assert "2 tasks: 2 DONE" in (tmp_path / "page.md").read_text()
