"""The hooks for pre-commit and the action for GitHub do what their files say."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
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


STEPS = {step.get("id", step.get("name")): step for step in ACTION["runs"]["steps"]}
GUIDE = (TOP / "docs" / "guides" / "gate.md").read_text()
GH = """\
#!/usr/bin/env python3
import json, os, sys
from pathlib import Path
words, here = sys.argv[1:], Path(os.environ["FORGE"])
kept = json.loads((here / "comments.json").read_text())
if os.environ.get("READS_ONLY") and "-X" in words:
    sys.exit("HTTP 403: Resource not accessible by integration")
path = next((one for one in words if one.startswith("repos/")), "")
body = next((Path(one[6:]).read_text() for one in words if one.startswith("body=@")), "")
if words[:2] == ["pr", "list"]:
    print((here / "open").read_text(), end="")
elif "/statuses/" in path:
    with (here / "statuses").open("a") as file:
        state = next(one for one in words if one.startswith("state="))
        print(path.rpartition("/")[2], state, file=file)
elif "PATCH" in words:
    kept[path.rpartition("/")[2]] = body
elif "POST" in words:
    kept[str(len(kept) + 1)] = body
else:
    print("\\n".join(id for id, text in kept.items() if text.startswith("<!-- runner gate -->")))
(here / "comments.json").write_text(json.dumps(kept))
"""


class Workflow:
    """One job on this machine: a checkout, GitHub's files, and a forge that keeps comments."""

    def __init__(self, ground, temp):
        self.ground, self.temp, self.forge = ground, temp, temp / "forge"
        (temp / "task-graph-runner" / "bin").mkdir(parents=True)
        (temp / "task-graph-runner" / "bin" / "runner").symlink_to(
            Path(sys.executable).parent / "runner"
        )
        self.forge.mkdir()
        (self.forge / "comments.json").write_text('{"1": "by a person"}')
        program = self.forge / "gh"
        program.write_text(GH)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def step(self, name, **environ):
        """Run one step's own script; what is not said of an input is empty."""
        given = dict.fromkeys(STEPS[name].get("env", {}), "") | environ
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]],
            cwd=self.ground.folder,
            env=os.environ
            | {
                "CI": "true",
                "GITHUB_ACTIONS": "true",
                "GITHUB_REPOSITORY": "acme/shop",
                "GITHUB_OUTPUT": str(self.temp / "output"),
                "GITHUB_STEP_SUMMARY": str(self.temp / "page.md"),
                "RUNNER_TEMP": str(self.temp),
                "FORGE": str(self.forge),
                "PATH": f"{self.forge}{os.pathsep}{Path(sys.executable).parent}"
                f"{os.pathsep}{os.environ['PATH']}",
            }
            | given,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def outputs(self):
        lines = (self.temp / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def comments(self):
        return yaml.safe_load((self.forge / "comments.json").read_text())


@pytest.fixture
def workflow(ground, tmp_path):
    """A project of two tasks; main has them, the branch `pr` breaks the second one."""
    a_ground(ground, "A is DONE; B is DONE")
    plan = a_plan("A is DONE; B is DONE").replace(
        "TC-002 (unit): `true`", "TC-002 (unit): `grep B b.txt`"
    )
    for path, text in (("TASK-GRAPH.md", plan), ("a.txt", "A\n"), ("b.txt", "B\n")):
        ground.write(path, text)
    ground.commit("built")
    ground.git("switch", "-qc", "pr")
    ground.write("b.txt", "C\n")
    ground.commit("breaks")
    return Workflow(ground, tmp_path / "temp")


def test_the_gate_breaks_the_job_says_why_and_keeps_one_comment(workflow):
    for _ in range(2):
        ran = workflow.step("run", INPUT_MODE="gate", INPUT_BASE="main", NUMBER="7")
        assert ran.returncode == 1, ran.stderr
        assert workflow.step("comment").returncode == 0
    assert workflow.outputs["selected"] == "1"
    assert workflow.outputs["total"] == "2"
    assert "TASK-002 breaks: TC-002" in workflow.outputs["headline"]
    assert "::error file=b.txt,title=TASK-002 breaks::" in ran.stderr
    assert "TASK\\-002 breaks" in (workflow.temp / "page.md").read_text()
    assert workflow.comments["1"] == "by a person"
    assert len(workflow.comments) == 2
    assert workflow.comments["2"].startswith("<!-- runner gate -->")


def test_a_token_that_reads_only_breaks_nothing(workflow):
    workflow.step("run", INPUT_MODE="gate", INPUT_BASE="main", NUMBER="7")
    ran = workflow.step("comment", READS_ONLY="1")
    assert ran.returncode == 0
    assert "::notice title=gate::this token may not write" in ran.stdout
    assert len(workflow.comments) == 1


def test_a_push_to_the_base_measures_the_pull_requests_that_it_meets(workflow):
    ground = workflow.ground
    old = ground.git("rev-parse", "main")
    head = ground.git("rev-parse", "pr")
    ground.git("switch", "-qc", "apart", "main")
    ground.write("a.txt", "A2\n")
    apart = ground.commit("apart")
    ground.git("switch", "-q", "main")
    ground.write(
        "TASK-GRAPH.md",
        (ground.folder / "TASK-GRAPH.md").read_text().replace("grep B", "grep -i b"),
    )
    ground.commit("the base moves")
    for number, commit in ((7, head), (8, apart), (9, head)):
        ground.git("update-ref", f"refs/pull/{number}/head", commit)
    ground.git("remote", "add", "origin", str(ground.folder))
    (workflow.forge / "open").write_text(f"7\t{head}\tfalse\n8\t{apart}\tfalse\n9\t{head}\ttrue\n")
    assert workflow.step("list", GITHUB_REF_NAME="main").returncode == 0
    ran = workflow.step("run", INPUT_MODE="recheck", BEFORE=old)
    assert ran.returncode == 0, ran.stderr
    assert "#9 comes from a fork" in ran.stdout
    workflow.step("comment")
    assert (workflow.forge / "statuses").read_text() == f"{head} state=failure\n"
    assert len(workflow.comments) == 2


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"INPUT_MODE": "gates"}, "mode is one of"),
        ({"INPUT_MODE": "run; touch ran"}, "mode is one of"),
        (
            {"GITHUB_EVENT_NAME": "pull_request_target", "HEAD_REPOSITORY": "eve/shop"},
            "a fork's plan",
        ),
        ({"GITHUB_EVENT_NAME": "pull_request_target"}, "a fork's plan"),
        ({"GITHUB_EVENT_NAME": "workflow_run", "HEAD_REPOSITORY": "eve/shop"}, "a fork's plan"),
        ({"GITHUB_EVENT_NAME": "pull_request", "HEAD_REPOSITORY": "eve/shop"}, ""),
        ({"GITHUB_EVENT_NAME": "pull_request_target", "HEAD_REPOSITORY": "acme/shop"}, ""),
    ],
)
def test_what_may_not_run_here_is_refused_first(workflow, environ, said):
    ran = workflow.step("look", **{"INPUT_MODE": "gate", **environ})
    assert ran.returncode == (2 if said else 0)
    assert said in ran.stdout
    assert not (workflow.ground.folder / "ran").exists()
    assert ACTION["runs"]["steps"][0]["id"] == "look"


def test_a_shallow_checkout_is_refused_where_it_matters(workflow, tmp_path):
    words = ("clone", "-q", "--depth=1", f"file://{workflow.ground.folder}", str(tmp_path / "flat"))
    workflow.ground.git(*words)
    workflow.ground.folder = tmp_path / "flat"
    assert "fetch-depth: 0" in workflow.step("look", INPUT_MODE="gate").stdout
    assert workflow.step("look", INPUT_MODE="validate").returncode == 0


@pytest.mark.parametrize(
    ("mode", "code"), [("validate", 0), ("impact", 0), ("verify", 1), ("gate", 0)]
)
def test_every_mode_is_a_command(workflow, mode, code):
    environ = {"GITHUB_EVENT_NAME": "push"} if mode == "gate" else {}
    ran = workflow.step("run", INPUT_MODE=mode, INPUT_BASE="main", **environ)
    assert ran.returncode == code, ran.stderr
    assert workflow.outputs["exit-code"] == str(code)


def test_grades_are_counted(workflow):
    assert workflow.step("count").returncode == 0
    assert workflow.outputs == {"proven": "0", "unproven": "2", "waived": "0", "dollars": "0"}


def test_a_statement_is_signed_only_where_the_repository_tells_it(ground, tmp_path):
    a_ground(ground, "A")
    ground.write("TASK-GRAPH.md", a_plan("A").replace("`true`", "`test -f a.txt`"))
    ground.commit("plan")
    workflow = Workflow(ground, tmp_path / "temp")
    ran = workflow.step("run", INPUT_MODE="run", INPUT_ARGUMENTS="--trust --yes")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    ran = workflow.step("statement", INPUT_ATTEST="TASK-001")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    file = Path(workflow.outputs["file"])
    said = json.loads(file.read_bytes())
    assert workflow.outputs["type"] == said["predicateType"]
    assert json.loads((file.parent / "predicate.json").read_bytes()) == said["predicate"]

    said["predicate"]["passedTests"] = ["TC-999"]
    (ground.folder / "forged.json").write_text(json.dumps(said))
    (workflow.temp / "output").unlink()
    ran = workflow.step("statement", INPUT_ATTEST="forged.json")
    assert ran.returncode == 1
    assert not (workflow.temp / "output").exists()
    assert workflow.step("statement", INPUT_ATTEST="TASK-404").returncode != 0


def test_other_actions_are_named_by_commit():
    used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", one) for one in used)


def test_every_output_is_one_that_a_step_makes():
    for one in ACTION["outputs"].values():
        step, name = re.fullmatch(
            r"\$\{\{ steps\.(\w+)\.outputs\.([\w-]+) \}\}", one["value"]
        ).groups()
        assert name.replace("-", "") in STEPS[step]["run"].replace("-", "")


def recipes():
    return re.findall(r"^```yaml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def test_the_guide_s_recipes_ask_for_inputs_and_rights_that_there_are():
    found = [yaml.safe_load(text) for text in recipes()]
    jobs = [job for one in found if "jobs" in one for job in one["jobs"].values()]
    assert jobs
    for one in found:
        if "jobs" in one:
            assert one["permissions"]["contents"] == "read"
    for step in (step for job in jobs for step in job["steps"]):
        if "task-graph-runner" in step.get("uses", ""):
            assert step["with"].keys() <= ACTION["inputs"].keys()
