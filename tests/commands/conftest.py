"""A repository of one's own: nothing of the machine's settings, caches or git configuration."""

import os

import pytest
from commands_build import Ground


@pytest.fixture
def ground(tmp_path, monkeypatch, capsys):
    """A git repository in which the runner is called as a person would call it."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "RUNNER_", "XDG_"))]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    monkeypatch.delenv("CI", raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Ground(folder, home, capsys)
