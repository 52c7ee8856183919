"""The machine's own git configuration stays out of these tests."""

import os

import pytest


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("EMAIL", raising=False)


@pytest.fixture
def home():
    from pathlib import Path

    return Path(os.environ["HOME"])


@pytest.fixture(autouse=True)
def _closed(monkeypatch):
    """Scratch trees are closed with the test that opened them."""
    from runner.repo.scratch import Scratch

    opened, really = [], Scratch.open.__func__

    def opening(cls, *words, **more):
        opened.append(really(cls, *words, **more))
        return opened[-1]

    monkeypatch.setattr(Scratch, "open", classmethod(opening))
    yield
    for scratch in opened:
        scratch.close()
