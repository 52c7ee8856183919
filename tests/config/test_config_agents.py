"""Settings of agents and models: whose they are, and what they may be."""

import pytest

from runner.config.loading import load_settings
from runner.errors import RunnerError


@pytest.fixture
def load(tmp_path):
    """Loads what the person and the repository set."""
    home, root = tmp_path / "home", tmp_path / "repo"
    (home / ".config/runner").mkdir(parents=True)
    root.mkdir()

    def load(mine="", repository="", **environ):
        (home / ".config/runner/runner.toml").write_text(mine)
        (root / "runner.toml").write_text(repository)
        return load_settings(root, {"HOME": str(home), **environ}, {})

    return load


def test_models_are_a_table_and_each_kind_of_session_has_its_own(load):
    loaded = load('[model]\nplan = "opus"\nexecute = "a/b:c"\n', RUNNER_MODEL_REVIEW="strict")
    settings = loaded.settings
    assert (settings.model.plan, settings.model.execute) == ("opus", "a/b:c")
    assert settings.model.review == "strict"
    assert loaded.sources["model.plan"] == "~/.config/runner/runner.toml:2"


def test_a_repository_names_neither_the_program_nor_what_it_is_given(load):
    theirs = 'agent.command = "sh"\nagent.acp_command = "sh"\n'
    theirs += 'agent.env = ["AWS_SECRET"]\nagent.files = [".ssh/id"]\n'
    loaded = load(repository=theirs + '[model]\nexecute = "theirs"\n')
    assert loaded.settings.agent.command == loaded.settings.agent.acp_command == ""
    assert loaded.settings.agent.env == ()
    assert loaded.settings.agent.files == ()
    assert len(loaded.notes) == 4
    assert loaded.settings.model.execute == "theirs"


def test_files_of_a_login_lie_below_home(load):
    assert load('agent.files = "~/.a/b:.c"').settings.agent.files == (".a/b", ".c")
    for bad in ("/etc/passwd", "../x", "~/"):
        with pytest.raises(RunnerError, match="below your home folder"):
            load(f'agent.files = ["{bad}"]')


def test_a_models_name_is_no_option(load):
    with pytest.raises(RunnerError, match="must be a model name"):
        load('[model]\nplan = "--dangerously"')


def test_what_a_session_is_told_sets_nothing(load):
    told = {"RUNNER_MODE": "x", "RUNNER_MODEL": "x", "RUNNER_PLAN": "x", "RUNNER_HOOK": "x"}
    assert load(**told).settings == load().settings
