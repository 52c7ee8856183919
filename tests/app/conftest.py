"""A person's project, opened for the use cases: no command line, and nothing may be printed."""

import os
from dataclasses import dataclass, field

import pytest

from runner.journal.log import Journal
from runner.project import Project


@dataclass
class Heard:
    """A listener that keeps what it hears, in order."""

    all: list = field(default_factory=list)

    def __call__(self, one):
        self.all.append(one)


@pytest.fixture
def heard():
    """What a use case told while it worked."""
    return Heard()


@pytest.fixture
def opened(workplace):
    """Opens the project of the workplace anew: a use case sees what the last one left."""
    return lambda **flags: Project.open(workplace.root, os.environ, flags)


@pytest.fixture
def journaled(opened):
    """Writes events into the journal, each `(event, task, attempt)`: as a run would have."""

    def write(*rows):
        with Journal.open(opened().journal_path, run="run-1") as journal:
            for event, task, attempt in rows:
                journal.append(event, task=task, attempt=attempt, durable=True)

    return write


@pytest.fixture(autouse=True)
def silent(capfd):
    """A use case that prints is none: whatever the test did, nothing was said."""
    yield
    assert capfd.readouterr() == ("", "")
