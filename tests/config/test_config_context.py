"""Settings of what a task is told."""

import pytest

from runner.config.loading import load_settings
from runner.errors import RunnerError


def loaded(folder, text, **environ):
    (folder / "runner.toml").write_text(text)
    return load_settings(folder, {"HOME": str(folder / "home"), **environ}, {}).settings


def test_skills_and_what_may_be_read_have_defaults(tmp_path):
    found = loaded(tmp_path, "")
    assert (found.skills.auto_discover, found.skills.fallback_to_builtin) == (True, True)
    assert (found.skills.folders, found.agent.read_allow) == (("skills",), ())


def test_they_are_set_by_file_and_by_environment(tmp_path):
    text = 'skills.folders = ["./skills/", "agents"]\nskills.auto_discover = false\n'
    found = loaded(tmp_path, text, RUNNER_AGENT_READ_ALLOW="src/**, *.md")
    assert found.skills.folders == ("skills", "agents")
    assert found.skills.auto_discover is False
    assert found.read_allowed == (("src/**", "*.md"),)


@pytest.mark.parametrize("folder", ["/etc", "../skills", ""])
def test_a_folder_of_skills_lies_in_the_project(tmp_path, folder):
    with pytest.raises(RunnerError) as caught:
        loaded(tmp_path, f'skills.folders = ["{folder}"]\n')
    assert "skills.folders must be folders inside the project" in caught.value.message


def test_they_stand_in_a_table_of_their_own(tmp_path):
    found = loaded(tmp_path, '[skills]\nfallback_to_builtin = false\nfolders = ["agents"]\n')
    assert found.skills.fallback_to_builtin is False
    assert found.skills.folders == ("agents",)


def test_a_repository_may_only_narrow_what_may_be_read(tmp_path):
    own = tmp_path / "home/.config/runner/runner.toml"
    own.parent.mkdir(parents=True)
    own.write_text('agent.read_allow = ["src/**"]\n')
    found = loaded(tmp_path, 'agent.read_allow = ["**"]\n')
    assert found.read_allowed == (("src/**",), ("**",))
