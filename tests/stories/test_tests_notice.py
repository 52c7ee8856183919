"""Whole runs in which the tests run the code, and would not notice what it does."""

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
SHOWN = "no test notices what discounted does: "


def written(workplace, files):
    """A command that writes files, as an agent would."""
    workplace.commit({f"drafts/{path}": content for path, content in files.items()})
    return "; ".join(f"cp drafts/{path} {path}" for path in files)


def settings(workplace, text):
    workplace.write({"runner.toml": text})
    workplace.commit()


def test_what_a_command_wrote_lands_with_a_warning_and_the_cost_is_evidence(workplace):
    command = written(workplace, {"shop.py": CODE, "test_shop.py": IDLE})
    workplace.plan(a_task("TASK-001", command=command, **PLAN, **FIELDS))
    ended = workplace.run("-v")
    assert ended.code == 0, ended.said
    (proof,) = [
        one["proof"]
        for one in workplace.happened("gate.completed")
        if one["proof"]["id"] == "mutation"
    ]
    assert dict(proof["counts"])["mutants"] >= 1
    assert "mutation" in workplace.runner("evidence", "TASK-001").out


def test_strict_refuses_it_from_everybody(workplace):
    settings(workplace, 'mutation = "strict"\n')
    blocks = {"shop.py": CODE, "test_shop.py": IDLE}
    workplace.plan(a_task("TASK-001", blocks=blocks, **PLAN, **FIELDS))
    ended = workplace.run("-v")
    assert ended.code == 1, ended.said
    assert SHOWN in ended.said
    assert not workplace.has("shop.py")


def test_verify_with_strict_looks_at_what_landed_before(workplace):
    blocks = {"shop.py": CODE, "test_shop.py": IDLE}
    workplace.plan(a_task("TASK-001", blocks=blocks, **PLAN, **FIELDS))
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert workplace.runner("verify", "--all", "--trust").code == 0
    settings(workplace, 'mutation = "strict"\n')
    ended = workplace.runner("verify", "--all", "--trust")
    assert ended.code == 1, ended.said
    assert SHOWN in ended.said


def test_a_strict_ship_asks_whether_the_tests_notice_anything(workplace):
    blocks = {"shop.py": CODE, "test_shop.py": IDLE}
    workplace.plan(a_task("TASK-001", blocks=blocks, **PLAN, **FIELDS))
    assert workplace.run().code == 0
    ended = workplace.runner("ship", "--strict", "--trust")
    assert ended.code == 1, ended.said
    assert SHOWN in ended.said or "TASK-001: mutation" in ended.said
    assert workplace.runner("ship", "--trust").code == 0


COPIED = """\
import unittest
from shop import discounted


def wanted(price, part):
    if part > 50:
        part = 50
    return price - price * part / 100


class TestShop(unittest.TestCase):
    def test_it(self):
        self.assertEqual(discounted(200, 80), wanted(200, 80))
        self.assertEqual(discounted(200, 8), 184)
"""


def test_a_question_of_strict_that_was_approved_is_not_asked_by_verify_again(workplace):
    settings(workplace, 'mutation = "strict"\n')
    command = written(workplace, {"shop.py": CODE, "test_shop.py": COPIED})
    workplace.plan(a_task("TASK-001", command=command, **PLAN, fields=["Red first: no"]))
    ended = workplace.run("-v")
    assert ended.code == 3, ended.said
    assert "is told by a copy of it" in ended.said
    assert workplace.runner("approve", "TASK-001").code == 0
    assert workplace.run().code == 0
    ended = workplace.runner("verify", "--all", "--trust")
    assert ended.code == 0, ended.said


def test_code_that_knows_of_its_tests_waits_for_a_person(workplace):
    code = "import os\n\n\ndef price():\n    return 3 if 'PYTEST_VERSION' in os.environ else 0\n"
    test = IDLE.replace("discounted", "price").replace("(200, 80)", "()")
    command = written(workplace, {"shop.py": code, "test_shop.py": test})
    settings(workplace, 'mutation = "off"\n')
    workplace.plan(a_task("TASK-001", command=command, **PLAN, fields=["Red first: no"]))
    ended = workplace.run("-v")
    assert ended.code == 3, ended.said
    assert "product code that knows it is tested" in ended.said
    assert not workplace.has("shop.py")
    assert workplace.runner("approve", "TASK-001").code == 0
    assert workplace.run().code == 0
    assert workplace.has("shop.py")
