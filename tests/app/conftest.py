"""A person's project, opened for the use cases: no command line, and nothing may be printed."""

import os
from dataclasses import dataclass, field

import pytest

from runner.app.observer import Observer
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


# --- who follows a run, and who is asked ----------------------------------------------


class InMemory(Observer):
    """A console that keeps what it hears: events by their kind, and what was said."""

    def __init__(self):
        self.kinds, self.said, self.work = [], [], None

    def hear(self, record, state):
        del state
        self.kinds.append((type(record.event).__name__, record.task))

    def say(self, text):
        self.said.append(text)

    def expect(self, work):
        self.work = work()


@dataclass
class Scripted:
    """A person who answers what is asked from a list, and remembers the questions."""

    changes: list = field(default_factory=list)
    """What is said to one proposed change after the other."""
    words: list = field(default_factory=list)
    """What is typed at other questions."""
    asked: list = field(default_factory=list)

    def ask(self, task, change, before, spot):
        del before, spot
        self.asked.append((task.id, change.path))
        return self.changes.pop(0)

    def choose(self, text, question):
        self.asked.append(f"{text}\n{question}")
        return self.words.pop(0)


@pytest.fixture
def console():
    """Who follows a run."""
    return InMemory()


@pytest.fixture
def person():
    """Makes a person who answers so."""
    return Scripted
