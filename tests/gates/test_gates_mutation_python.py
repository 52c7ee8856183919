"""Mutants of Python code, run by real tests: what a test does not notice is told."""

import collections
import itertools
import re
from dataclasses import replace

import pytest
from coverage_bench import PYTEST, UNITTEST, Yard

from runner.gates import coverage_gate, mutation
from runner.gates.base import Check
from runner.gates.contract_tests import prove as prove_test
from runner.gates.mutation import run_mutants, survivors
from runner.gates.mutation.python_places import EMPTY, OTHER
from runner.process.limits import Limits

DISCOUNT = """\
def discounted(price, percent, floor=0):
    if percent > 50:
        percent = 50
    reduced = price - price * percent / 100
    return max(reduced, floor)
"""
COLLECTED = """

import unittest


def load_tests(loader, standard, pattern):
    found = [each for name, each in sorted(globals().items()) if name.startswith("test_")]
    return unittest.TestSuite(map(unittest.FunctionTestCase, found))
"""
"""Functions as tests of unittest, which starts much faster than pytest."""
GOOD = """\
from shop import discounted


def test_half_is_the_most():
    assert discounted(200, 80) == 100


def test_a_tenth():
    assert discounted(100, 10) == 90


def test_never_below_the_floor():
    assert discounted(100, 50, floor=70) == 70
"""


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """How much is tried must not hang on how busy this machine is."""
    monkeypatch.setattr(survivors, "_LEAST_SECONDS", 120.0)
    monkeypatch.setattr(survivors, "_STRICT_SECONDS", 120.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 20.0)


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


def proven(yard, line, *, by_person=False, acceptance=(), **settings):
    """A bench on which the contract passed and its coverage was weighed."""
    yard.set_up(line, settings={"mutation": "warn", **settings}, coverage=0, acceptance=acceptance)
    bench = replace(yard.bench, by_person=by_person, tree="1" * 40)
    (contract,) = bench.task.test_contracts
    first = prove_test(Check(contract.id, "test", contract.command, Limits(60, 60, 60)), bench)
    assert not any(one.refuses for one in first.findings), first.findings
    (check,) = coverage_gate.checks(bench.task, bench.settings)
    bench = replace(bench, proofs=(first.proof,))
    return replace(bench, observed=coverage_gate.prove(check, bench).observed)


def noticed(yard, line=f"{UNITTEST} test_shop", **more):
    """What the mutants say then."""
    bench = proven(yard, line, **more)
    (check,) = mutation.checks(bench.task, bench.settings) or (None,)
    return mutation.prove(check, bench) if check else None


def of(yard, tests, shop=DISCOUNT, **settings):
    yard.write("shop.py", shop).write("test_shop.py", tests + COLLECTED)
    return noticed(yard, **settings)


def unnoticed(found):
    return [one.message for one in found.findings if one.message.startswith("no test notices")]


def test_good_tests_notice_and_the_cost_is_told(yard):
    found = of(yard, GOOD)
    assert unnoticed(found) == []
    assert found.proof.verdict == "pass"
    counts = dict(found.proof.counts)
    assert counts["mutants"] == counts["noticed"] >= 1
    assert found.proof.seconds > 0


BAD = {
    "the same on both sides": """\
from shop import discounted
def test_it():
    assert discounted(200, 80) == discounted(200, 80)
""",
    "written again, with the real one called beside": """\
import shop
def again(price, percent):
    return price - price * min(percent, 50) / 100
def test_it():
    shop.discounted(200, 80)
    assert again(200, 80) == 100
""",
    "a mock in its place": """\
import shop
from unittest import mock
def test_smoke():
    shop.discounted(200, 80)
def test_it():
    with mock.patch("shop.discounted", return_value=100):
        assert shop.discounted(200, 80) == 100
""",
    "an always equal object": """\
from unittest.mock import ANY
from shop import discounted
def test_it():
    assert discounted(200, 80) == ANY
""",
    "an own object that equals everything": """\
from shop import discounted
class Near:
    def __eq__(self, other):
        return True
def test_it():
    assert discounted(200, 80) == Near()
""",
    "a decorator that swallows": """\
import functools
from shop import discounted
def steady(test):
    @functools.wraps(test)
    def run():
        try:
            test()
        except AssertionError:
            pass
    return run
@steady
def test_it():
    assert discounted(200, 80) == 100
""",
    "expected is what came": """\
from shop import discounted
def test_it():
    wanted = discounted(200, 80)
    assert discounted(200, 80) == wanted
""",
    "only that it is a number": """\
from shop import discounted
def test_it():
    assert isinstance(discounted(200, 80), float | int)
""",
}


@pytest.mark.parametrize("tests", BAD.values(), ids=BAD)
def test_what_no_test_notices_is_named(yard, tests):
    found = of(yard, tests)
    (message,) = unnoticed(found)
    assert message.startswith("no test notices what discounted does: 3 mutants of it passed")
    finding = found.findings[0]
    assert (finding.path, finding.line, finding.refuses) == ("shop.py", 2, False)
    assert "+ " in finding.detail
    assert "must return" in finding.hint
    assert found.proof.verdict == "skipped"


def test_strict_refuses(yard):
    found = of(yard, BAD["the same on both sides"], mutation="strict")
    assert [one.refuses for one in found.findings] == [True]
    assert found.proof.verdict == "fail"


def test_off_tries_nothing(yard):
    assert of(yard, BAD["the same on both sides"], mutation="off") is None


def test_what_a_person_wrote_is_not_looked_at_unless_strict(yard):
    tests = BAD["an always equal object"]
    assert of(yard, tests, by_person=True) == mutation.Proved(None)
    assert unnoticed(of(yard, tests, by_person=True, mutation="strict"))


def test_the_tree_is_what_it_was(yard):
    of(yard, GOOD)
    assert (yard.tree / "shop.py").read_text() == DISCOUNT
    assert sorted(path.name for path in yard.tree.glob("*.py")) == ["shop.py", "test_shop.py"]
    stamp = (yard.tree / "shop.py").stat().st_mtime
    assert stamp > 1_500_000_000, "compiled code of a mutant would count as that of this file"


def test_of_pytest_only_the_tests_that_ran_a_line_run_again(yard):
    other = "def test_another():\n    open('ran', 'a').write('x')\n"
    yard.write("shop.py", DISCOUNT).write("test_shop.py", GOOD + other)
    found = noticed(yard, f"{PYTEST} test_shop.py")
    assert unnoticed(found) == []
    assert dict(found.proof.counts)["noticed"] == 1
    assert (yard.tree / "ran").read_text() == "x"


def test_only_changed_lines_are_mutated(yard):
    old = DISCOUNT + "\n\ndef taxed(price, rate):\n    return price + price * rate\n"
    new = old + "\n\ndef halved(price, least=1):\n    return max(price / 2, least)\n"
    yard.write("shop.py", new, before=old)
    tests = "import shop\ndef test_it():\n    shop.taxed(1, 2)\n    assert shop.halved(4) == 2\n"
    yard.write("test_shop.py", tests + "    shop.discounted(1, 2)\n" + COLLECTED)
    found = noticed(yard)
    assert unnoticed(found) == []
    assert dict(found.proof.counts)["noticed"] >= 1


def test_texts_logging_and_shown_forms_are_left_out(yard):
    shop = """\
import logging

log = logging.getLogger(__name__)


class Price:
    \"\"\"What it costs.\"\"\"

    def __init__(self, amount):
        self.amount = amount

    def __repr__(self):
        return f"Price({self.amount + 0})"

    def name(self):
        log.info("named %s", self.amount * 2)
        return "price"
"""
    tests = "import shop\ndef test_it():\n    p = shop.Price(3)\n    repr(p), p.name(), p.amount\n"
    found = of(yard, tests, shop=shop)
    assert unnoticed(found) == []


def test_what_stands_in_a_group_of_errors_is_mutated_too(yard):
    shop = "def price(n):\n    try:\n        return n * 2\n    except* KeyError:\n        raise\n"
    shop = shop.replace("return n * 2", "cost = n * 2").replace(
        "raise\n", "raise\n    return cost\n"
    )
    tests = "import shop\ndef test_it():\n    assert shop.price(0) is not None\n"
    found = of(yard, tests, shop=shop)
    (message,) = unnoticed(found)
    assert "(returned value, arithmetic, operand)" in message


def test_generated_files_are_left_out(yard):
    found = of(yard, BAD["an always equal object"], shop="# @generated by tool\n" + DISCOUNT)
    assert found.proof is None


def test_an_endless_mutant_ends_in_time(yard):
    shop = """\
def steps(goal):
    at, count = 0, 0
    while at < goal:
        at += 2
        count += 1
    return count
"""
    found = of(yard, "import shop\ndef test_it():\n    assert shop.steps(6) == 3\n", shop=shop)
    assert unnoticed(found) == []
    assert found.proof.seconds < 100


def test_the_choice_is_the_same_each_time(yard, tmp_path):
    one = of(yard, BAD["expected is what came"])
    (tmp_path / "other").mkdir()
    other = of(Yard(tmp_path / "other"), BAD["expected is what came"])
    assert one.findings[0].detail == other.findings[0].detail


class Pile:
    """What holds its values somewhere that a class of its own knows."""

    def __init__(self):
        self.height = 2

    def __iter__(self):
        return iter((1, 2))

    def __len__(self):
        return self.height


@pytest.mark.parametrize(
    ("made", "asked"),
    {
        "a generator": (lambda: (one for one in (1, 2)), list),
        "zip": (lambda: zip((1,), (2,), strict=True), list),
        "pairwise": (lambda: itertools.pairwise((1, 2)), list),
        "islice": (lambda: itertools.islice((1, 2), 1), list),
        "a list's iterator": (lambda: iter([1, 2]), list),
        "matches": (lambda: re.finditer("a", "aa"), lambda found: [one.group() for one in found]),
        "a range": (lambda: range(3), list),
        "a deque": (lambda: collections.deque((1, 2)), list),
        "keys": ({1: 2}.keys, set),
        "items": ({1: 2}.items, list),
        "a list": (lambda: [1, 2], list),
        "a set": (lambda: {1, 2}, list),
        "a dictionary": (lambda: {1: 2}, dict),
    }.values(),
)
@pytest.mark.parametrize("stands_in", [OTHER, EMPTY])
def test_what_can_be_gone_through_becomes_what_can_be_gone_through(made, asked, stands_in):
    """Otherwise a test that claims its values would crash, which says nothing of the claim."""
    mutated = eval(f"{stands_in.decode()}made()))", {"made": made})
    assert asked(mutated) != asked(made())


def test_an_object_of_a_class_of_its_own_stays_one():
    mutated = eval(f"{OTHER.decode()}made()))", {"made": Pile})
    assert isinstance(mutated, Pile)
    assert len(mutated) != 2
