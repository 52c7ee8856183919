"""What is particular to a preset: its arguments, its files, what it must not see; by scripts."""

import json

import pytest

from runner.config.settings import Settings
from runner.implementers.agents.preset import PRESETS
from runner.implementers.base import Allowance, Mode
from runner.implementers.registry import IMPLEMENTERS
from runner.model import Failure, Finding, Spec, Task, TaskPlan


def messages(said):
    return [finding.message for finding in said.findings]


def test_a_program_of_the_repository_is_not_taken_for_the_persons(office):
    (office.tree / "bin").mkdir()
    fake = office.tree / "bin" / "claude"
    fake.write_text("#!/bin/sh\ntouch fooled\n")
    fake.chmod(0o755)
    office.environ["PATH"] = f"{office.tree}/bin:/usr/bin:/bin"
    said = office.implement(name="claude")
    assert messages(said) == ["claude is not on PATH"]


def a_preset(office, name, script):
    """The preset's program as a shell script of ours, on the person's PATH."""
    tools = office.folder / "tools"
    tools.mkdir(exist_ok=True)
    program = tools / PRESETS[name].program
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    office.environ["PATH"] = f"{tools}:{office.environ['PATH']}"


def test_what_would_configure_a_program_is_out_of_its_sight_while_it_works(office):
    for path in (".gemini/settings.json", ".env", "GEMINI.md"):
        (office.tree / path).parent.mkdir(exist_ok=True)
        (office.tree / path).write_text(path)
    a_preset(office, "gemini", "ls -A > seen")
    office.implement(name="gemini")
    assert office.files()["seen"].split() == [".git", "GEMINI.md", "seen"]
    assert set(office.files()) == {".env", ".gemini/settings.json", "GEMINI.md", "seen"}


def test_what_a_program_leaves_of_its_own_is_swept_up(office):
    a_preset(office, "aider", "mkdir -p .aider.tags.cache.v4/x; touch .aider.input.history a")
    office.implement(name="aider")
    assert set(office.files()) == {"a"}


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("mode", Mode)
def test_each_preset_names_its_model_and_never_the_brief_among_its_arguments(office, name, mode):
    a_preset(office, name, 'for word in "$@"; do echo "<$word>"; done > "$HOME/../../../said"')
    office.script([])
    office.implement(mode, name=name)
    said = (office.folder / "said").read_text()
    model = "planner" if mode is Mode.PLAN else "writer"
    assert f"<{model}>" in said
    assert "TASK-002" not in said
    assert "{" not in said.replace('{"', "")
    assert ("--settings" in said) == (name == "claude")
    assert ("--sandbox" in said) == (name == "codex")


def test_aider_is_shown_the_files_at_hand(office):
    a_preset(office, "aider", 'echo "$@" > "$HOME/../../../said"')
    (office.tree / "src").mkdir()
    (office.tree / "src/app.py").write_text("")
    (office.tree / "notes.md").write_text("")
    plan = TaskPlan(("x",), ("src/app.py", "src/new.py"), ("notes.md",))
    office.implement(name="aider", plan=plan)
    said = (office.folder / "said").read_text()
    assert "--file src/app.py --read notes.md" in said
    assert "new.py" not in said


def test_gemini_keeps_the_persons_settings_and_gets_a_hook_of_ours(office):
    (office.home / ".gemini").mkdir()
    own = {"model": {"name": "mine"}, "hooks": {"BeforeTool": []}}
    (office.home / ".gemini/settings.json").write_text(json.dumps(own))
    a_preset(office, "gemini", "cat ~/.gemini/settings.json > said; cat $RUNNER_HOOK > rules")
    office.implement(name="gemini")
    found = json.loads(office.files()["said"])
    assert found["model"] == {"name": "mine"}
    command = found["hooks"]["BeforeTool"][0]["hooks"][0]["command"]
    assert "-m runner hook --rules" in command
    rules = json.loads(office.files()["rules"])
    assert rules["outputs"] == ["src/app.py"]
    assert rules["project"] == str(office.tree)


def test_a_program_that_is_a_link_into_a_hidden_home_is_found_in_the_sandbox(office):
    office.enclosed()
    real = office.home / ".local/share/claude/versions/2.0"
    real.parent.mkdir(parents=True)
    real.write_text("#!/bin/sh\ncat ~/.claude/.credentials.json > seen; exit 0\n")
    real.chmod(0o755)
    (office.home / ".local/bin").mkdir()
    (office.home / ".local/bin/claude").symlink_to(real)
    (office.home / ".claude").mkdir()
    (office.home / ".claude/.credentials.json").write_text('{"login": "short"}')
    office.environ["PATH"] = f"{office.home}/.local/bin:{office.environ['PATH']}"
    assert office.implement(name="claude").findings == ()
    assert office.files() == {"seen": '{"login": "short"}'}


def test_what_may_be_spent_is_told_to_a_program_that_tells_its_cost_at_the_end(office):
    row = {"type": "result", "subtype": "error_max_budget_usd", "total_cost_usd": 0.6}
    a_preset(office, "claude", f'echo "$@" > "$HOME/../../../said"; echo \'{json.dumps(row)}\'')
    said = office.implement(name="claude", left=Allowance(dollars=0.5))
    assert "--max-budget-usd 0.5000" in (office.folder / "said").read_text()
    assert messages(said) == ["claude was stopped: the budget allows no more than $0.5"]
    assert said.usage.dollars == 0.6


@pytest.mark.parametrize("name", PRESETS)
def test_a_program_that_is_not_there_says_how_to_get_it(office, name):
    office.environ["PATH"] = "/nowhere"
    said = office.implement(name=name)
    assert said.failure is Failure.DETERMINISTIC
    assert said.findings[0].message == f"{PRESETS[name].program} is not on PATH"
    assert PRESETS[name].install in said.findings[0].hint


def test_agent_needs_a_command():
    found = IMPLEMENTERS["agent"].for_task(Task("TASK-1", "x", 1, Spec("", "")), Settings())
    assert isinstance(found, Finding)
    assert "agent.command" in found.hint
