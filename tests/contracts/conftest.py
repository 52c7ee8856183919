"""A project in a scratch tree whose contracts are proven, in a sandbox where there is one."""

import sys
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "gates"))  # for the bench of the room

from gates_bench import a_bench, a_task
from settings_of import settings_of

from runner.gates import contract_checks as contracts
from runner.model import Contract
from runner.process.sandbox import choose_sandbox


class Project:
    """Files of a scratch tree, and the proof of one contract about them."""

    def __init__(self, folder, kept):
        self.context = msgspec.structs.replace(
            a_bench(folder),
            kept=kept,
            sandbox=choose_sandbox("auto"),
            settings=settings_of(contract_examples=3),
        )
        self.tree = folder / "tree"

    def write(self, path, text):
        file = self.tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return self

    def on(self, **changes):
        self.context = msgspec.structs.replace(self.context, **changes)
        return self

    def prove(self, kind, value, **fields):
        task = a_task(contracts=(Contract(kind, value),), **fields)
        context = msgspec.structs.replace(self.context, task=task)
        (check,) = contracts.checks(task, context.settings)
        return contracts.prove(check, context)

    def said(self, kind, value, **fields):
        """The messages of all findings."""
        return [finding.message for finding in self.prove(kind, value, **fields).findings]


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def project(tmp_path, kept):
    return Project(tmp_path, kept)
