"""Settings of what a task is told."""

import pytest

from runner.config.settings import load_settings
from runner.errors import RunnerError


def loaded(folder, text, **environ):
    (folder / "runner.toml").write_text(text)
    return load_settings(folder, {"HOME": str(folder / "home"), **environ}, {}).settings


def test_skills_and_what_may_be_read_have_defaults(tmp_path):
    found = loaded(tmp_path, "")
    assert (found.skills_auto_discover, found.skills_fallback_to_builtin) == (True, True)
    assert (found.skills_folders, found.read_allow) == (("skills",), ())


def test_they_are_set_by_file_and_by_environment(tmp_path):
    text = 'skills_folders = ["./skills/", "agents"]\nskills_auto_discover = false\n'
    found = loaded(tmp_path, text, RUNNER_READ_ALLOW="src/**, *.md")
    assert found.skills_folders == ("skills", "agents")
    assert found.skills_auto_discover is False
    assert found.read_allowed == (("src/**", "*.md"),)


@pytest.mark.parametrize("folder", ["/etc", "../skills", ""])
def test_a_folder_of_skills_lies_in_the_project(tmp_path, folder):
    with pytest.raises(RunnerError) as caught:
        loaded(tmp_path, f'skills_folders = ["{folder}"]\n')
    assert "skills_folders must be folders inside the project" in caught.value.message


def test_they_stand_in_a_table_of_their_own(tmp_path):
    found = loaded(tmp_path, '[skills]\nfallback_to_builtin = false\nfolders = ["agents"]\n')
    assert found.skills_fallback_to_builtin is False
    assert found.skills_folders == ("agents",)


def test_a_repository_may_only_narrow_what_may_be_read(tmp_path):
    own = tmp_path / "home/.config/runner/runner.toml"
    own.parent.mkdir(parents=True)
    own.write_text('read_allow = ["src/**"]\n')
    found = loaded(tmp_path, 'read_allow = ["**"]\n')
    assert found.read_allowed == (("src/**",), ("**",))
