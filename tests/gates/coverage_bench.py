"""A small project in a scratch tree, whose test contract runs and is weighed."""

import sys

from gates_bench import a_bench, a_task, own_check
from msgspec.structs import replace
from settings_of import settings_of

from runner.gates import coverage, coverage_gate, shim
from runner.gates.base import Check, Fitted
from runner.model import Action, Change, Level, TestContract, digest_of
from runner.process.limits import Limits
from runner.process.sandbox import choose_sandbox

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider -p no:hypothesispytest -p no:xdist"
UNITTEST = f"{sys.executable} -m unittest -q"
PRICE = """\
def total(items):
    if not items:
        return 0
    return sum(items)
"""
TEST_TOTAL = """\
import unittest

import price


class TestTotal(unittest.TestCase):
    def test_total(self):
        self.assertEqual(price.total([1, 2]), 3)
"""


class Yard:
    """Files of a task, and what is said of them."""

    def __init__(self, folder, sandbox="none", **variables):
        self.folder = folder
        self.context = replace(a_bench(folder, **variables), sandbox=choose_sandbox(sandbox))
        self.tree = folder / "tree"
        self.before = {}
        self.held = {}
        self.variables = {}

    def write(self, path, text, *, before=None):
        file = self.tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.before[path] = None if before is None else before.encode()
        return self

    def stands(self, path, text):
        """A tracked file that the task did not write."""
        self.write(path, text)
        del self.before[path]
        self.held[path] = text.encode()
        return self

    def set_up(self, *lines, settings=None, **fields):
        contracts = tuple(
            TestContract(f"TC-{number:03}", Level.UNIT, line)
            for number, line in enumerate(lines, start=1)
        )
        fields = {"outputs": ("any",), "test_contracts": contracts, **fields}
        self.context = replace(
            self.context,
            task=a_task(**fields),
            settings=settings_of(**settings) if settings else self.context.settings,
            changes=tuple(map(self._change, self.before)),
            before=lambda path: self.before.get(path, self.held.get(path)),
        )
        return self

    def run(self):
        """Run every test contract, measured; how they ended."""
        return [self.run_one(one) for one in self.context.task.test_contracts]

    def run_one(self, contract):
        check = Check(contract.id, "test", contract.command, Limits(60, 60, 60))
        fitted = coverage.fit(check, self.context, Fitted(check.command, {}))
        fitted = replace(fitted, variables={**fitted.variables, **self.variables})
        return self.context.run(check, fitted)

    def weigh(self):
        return coverage_gate.prove(own_check("coverage_gate", self.context), self.context)

    def proved(self, *lines, settings=None, **fields):
        """What is said after every contract has run and passed."""
        self.set_up(*lines, settings=settings, **fields)
        for ran in self.run():
            assert ran.passed, ran.tail
            assert "sitecustomize" not in ran.tail
        return self.weigh()

    def data(self, contract="TC-001"):
        return coverage.data_folder(self.context.place, contract)

    def _change(self, path):
        content = self._on_disk(path)
        action = Action.CREATE if self.before[path] is None else Action.MODIFY
        return Change(path, action, 0o100644, None, digest_of(content), content)

    def _on_disk(self, path):
        file = self.tree / path
        return file.read_bytes() if file.is_file() else None


def change_injected(monkeypatch, file, changes):
    """Have other bytes in a file that is injected into interpreters of a proof."""
    content = shim._text(file)
    for old, new in changes.items():
        assert old in content
        content = content.replace(old, new)
    texts = {name: shim._text(name) for name in shim._FILES} | {file: content}
    monkeypatch.setattr(shim, "_text", texts.get)
    monkeypatch.setattr(shim, "_byte_code", lambda _name: b"")


def shown(proved):
    """Path and test with the lines that ran."""
    return {(row.path, row.test): row.lines for row in proved.observed}
