"""Whole runs in which the tests run the code, and would not notice what it does."""

import pytest
from workplace import a_task

CODE = """\
def discounted(price, percent):
    if percent > 50:
        percent = 50
    return price - price * percent / 100
"""
IDLE = """\
import unittest
from shop import discounted


class TestShop(unittest.TestCase):
    def test_it(self):
        wanted = discounted(200, 80)
        self.assertEqual(discounted(200, 80), wanted)
"""
PLAN = {"outputs": ["shop.py", "test_shop.py"], "tests": ["python3 -m unittest -q test_shop"]}
FIELDS = {"fields": ["Budget: 1 attempts", "Red first: no"]}


def written(workplace, files):
    """A command that writes files, as an agent would."""
    workplace.commit({f"drafts/{path}": content for path, content in files.items()})
    return "; ".join(f"cp drafts/{path} {path}" for path in files)


def settings(workplace, text):
    workplace.write({"runner.toml": text})
    workplace.commit()


SWALLOWS = """\
import unittest
from shop import discounted


class TestShop(unittest.TestCase):
    def test_it(self):
        try:
            discounted(200, 80)
        except Exception:
            pass
"""
REFUSED = "no test contract fails when discounted raises an exception"


@pytest.mark.parametrize("by", ["blocks", "command"])
def test_a_contract_that_cannot_fail_is_refused_whoever_wrote_the_change(workplace, by):
    files = {"shop.py": CODE, "test_shop.py": SWALLOWS}
    work = {"blocks": files} if by == "blocks" else {"command": written(workplace, files)}
    settings(workplace, 'proof.mutation = "off"\n')
    workplace.plan(a_task("TASK-001", **work, **PLAN, **FIELDS))
    ended = workplace.run("-v")
    assert ended.code == 1, ended.said
    assert REFUSED in ended.said
    assert not workplace.has("shop.py")


def test_small_changes_that_nothing_notices_wait_for_a_person(workplace):
    command = written(workplace, {"shop.py": CODE, "test_shop.py": IDLE})
    settings(workplace, 'proof.mutation = "strict"\n')
    workplace.plan(a_task("TASK-001", command=command, **PLAN, fields=["Red first: no"]))
    ended = workplace.run("-v")
    assert ended.code == 3, ended.said
    assert "no test notices any of" in ended.said
    assert 'proof.mutation = "strict" is deprecated and means "warn"' in ended.said
    assert 'proof.assurance = "independent"' in ended.said
    assert workplace.runner("approve", "TASK-001").code == 0
    assert workplace.run().code == 0
    assert workplace.has("shop.py")
    assert "not noticed: shop.py:" in workplace.runner("evidence", "TASK-001").out


def test_a_contract_that_shows_nothing_of_data_waits_for_a_person(workplace):
    command = written(workplace, {"data.json": "{}"})
    workplace.plan(a_task("TASK-001", command=command, outputs=["data.json"], tests=["true"]))
    ended = workplace.run("-v")
    assert ended.code == 3, ended.said
    assert "nothing showed that its proof can fail" in ended.said


def test_blocks_that_nothing_proves_are_done_and_unproven(workplace):
    blocks = {"data.json": "{}"}
    workplace.plan(a_task("TASK-001", blocks=blocks, outputs=["data.json"], tests=["true"]))
    assert workplace.run().code == 0
    said = workplace.runner("status").out
    assert "DONE (unproven)  Work   nothing showed that its proof can fail" in said
    assert workplace.runner("verify", "--all", "--trust").code == 0
    ended = workplace.runner("ship", "--trust")
    assert ended.code == 3, ended.said


def test_code_that_knows_of_its_tests_is_named(workplace):
    code = "import os\n\n\ndef price():\n    return 3 if 'PYTEST_VERSION' in os.environ else 0\n"
    test = IDLE.replace("discounted", "price").replace("(200, 80)", "()")
    command = written(workplace, {"shop.py": code, "test_shop.py": test})
    settings(workplace, 'proof.mutation = "off"\n')
    workplace.plan(a_task("TASK-001", command=command, **PLAN, fields=["Red first: no"]))
    ended = workplace.run("-v")
    assert ended.code == 0, ended.said
    assert "the code checks whether a test runs it: PYTEST_VERSION" in ended.said
