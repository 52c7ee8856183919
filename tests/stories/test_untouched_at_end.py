"""At the end of a run only that is proven again which something landed since may change."""

import pytest
from workplace import a_task

RUN = "python3 -m pytest -q -p no:cacheprovider"


def module(number, needs=()):
    name = f"m{number}"
    test = (
        f"import unittest, {name}\n\nclass T(unittest.TestCase):\n"
        f"    def test_it(self): self.assertEqual({name}.f(), {number})\n"
    )
    return a_task(
        f"TASK-00{number}",
        blocks={f"{name}.py": f"def f():\n    return {number}\n", f"test_{name}.py": test},
        needs=needs,
        tests=[f"{RUN} test_{name}.py"],
    )


def verified(workplace):
    found = workplace.happened("tree.verified")
    return [(one["passed"], one["ran"], one.get("reused", 0)) for one in found]


@pytest.fixture
def three(workplace):
    workplace.plan(module(1), module(2, needs=["TASK-001"]), module(3, needs=["TASK-002"]))
    return workplace


def test_what_nothing_landed_since_can_change_stands(three):
    assert three.run().code == 0
    assert verified(three) == [(True, 0, 2)]
    ended = three.runner("verify", "--changed")
    assert ended.code == 0, ended.said
    assert "nothing it needs has changed since" in ended.out
    assert "0 commands, 3 tasks untouched since proven" in ended.out
    assert "3 commands" in three.runner("verify", "--all").out


def test_all_of_it_runs_again_where_the_settings_ask_for_it(three):
    three.commit({"runner.toml": 'proof.verify_at_end = "all"\n'})
    assert three.run().code == 0
    assert verified(three) == [(True, 2, 0)]


def test_nothing_runs_again_where_the_settings_say_never(three):
    three.commit({"runner.toml": 'proof.verify_at_end = "never"\n'})
    assert three.run().code == 0
    assert verified(three) == []


def test_what_a_person_committed_since_counts_as_landed(three):
    assert three.run("TASK-001", "TASK-002").code == 0
    three.commit({"m1.py": "def f():\n    return 10 - 9\n"}, message="chore: count down")
    assert three.run().code == 0
    assert verified(three) == [(True, 1, 1)]
    three.commit({"m2.py": "def f():\n    return 3\n"}, message="chore: break it")
    ended = three.runner("verify", "--changed")
    assert ended.code == 1
    assert "TASK-002" in ended.out


def test_settings_of_the_tests_bring_all_of_it_to_proof(three):
    assert three.run("TASK-001", "TASK-002").code == 0
    three.commit({"conftest.py": "X = 1\n"}, message="chore: configure the tests")
    assert three.run().code == 0
    (passed, ran, reused) = verified(three)[-1]
    assert (passed, reused) == (True, 0)
    assert ran == 2
