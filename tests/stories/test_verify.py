"""What is DONE is proven again: one task against its evidence, or everything on one tree."""

import shutil

import pytest
from workplace import a_task

MODEL = "def total(prices):\n    return sum(prices)\n"
TEST = (
    "import unittest\nfrom shop import total\n\n\nclass Total(unittest.TestCase):\n"
    "    def test_sum(self):\n        self.assertEqual(total([1, 2]), 3)\n\n"
    "    def test_none(self):\n        self.assertEqual(total([]), 0)\n"
)
UNITTEST = "python3 -m unittest -q test_shop"


@pytest.fixture
def shop(workplace):
    """A small module with its test, and a check beside it; built."""
    workplace.commit({"runner.toml": '[gates]\nsame = "grep -q def shop.py"\n'})
    workplace.plan(
        a_task(
            "TASK-001", "Total", blocks={"shop.py": MODEL, "test_shop.py": TEST}, tests=[UNITTEST]
        ),
        a_task("TASK-002", "Check", needs=["TASK-001"], tests=["test -f shop.py"]),
    )
    assert workplace.run().code == 0
    return workplace


def verified(workplace, *words):
    return workplace.runner("verify", "--trust", *words, "--json")


def test_of_a_task_that_nothing_proves_no_agreement_is_told(workplace):
    workplace.plan(
        a_task("TASK-001", "One", blocks={"one.txt": "1\n"}),
        a_task("TASK-002", "Two", tests=["test -f one.txt"], needs=["TASK-001"]),
        a_task("TASK-003", "All", fields=["Type: milestone", "Depends on: TASK-002"]),
    )
    assert workplace.run().code == 0
    for id_ in ("2", "3"):
        assert "it agrees with its evidence" in workplace.runner("verify", id_, "--trust").out
    ended = workplace.runner("verify", "1", "--trust")
    assert ended.code == 0
    assert "as before, no check ran that could prove it: unproven: only documents" in ended.out
    assert "agrees" not in ended.out


def test_a_stale_task_that_passes_again_is_told_how_it_counts(shop):
    shop.commit({"shop.py": MODEL.replace("sum", "len")})
    assert verified(shop, "TASK-001").code == 1
    assert "STALE" in shop.status_line("TASK-001")
    shop.commit({"shop.py": MODEL})
    ended = shop.runner("verify", "1", "--trust")
    assert ended.code == 0
    assert "it stays STALE until you accept the existing code" in ended.out
    assert shop.runner("approve", "TASK-001", "--reuse").code == 0
    shop.run()
    assert "DONE" in shop.status_line("TASK-001")
    assert "stays STALE" not in shop.runner("verify", "1", "--trust").out


def test_a_clone_proves_against_what_the_trailers_carry(shop):
    clone = shop.cloned()
    ended = verified(clone, "TASK-002")
    assert (ended.code, ended.document["evidence"]) == (0, "trailers"), ended.said
    assert ended.document["differences"] == []
    assert not clone.has("artifacts/build/journal.jsonl")

    # A test that is gone is worse, though all that is left passes.
    clone.commit({"test_shop.py": TEST[: TEST.index("    def test_none")]})
    ended = verified(clone, "TASK-001")
    assert ended.code == 1
    (told,) = [one for one in ended.document["differences"] if one["check"] == "TC-001"]
    assert told == {"check": "TC-001", "text": "was 2 passed, is 1 passed", "worse": True}

    # Tasks that are not DONE are named and not proven, and a plan that nobody trusts is not run.
    shop.edit_plan("Status: DONE", "Status: BLOCKED")
    assert verified(shop, "--all").document["notDone"] == ["TASK-001"]
    shutil.rmtree(shop.home / "state")
    assert shop.runner("verify", "--all").code == 3


def test_tasks_that_share_a_test_command_share_its_run_and_keep_their_coverage(workplace):
    other = "def half(price):\n    if price < 0:\n        return -1\n"
    other += "".join(f"    if price == {n}:\n        return {n / 2}\n" for n in range(1, 5))
    test = (
        "import unittest\nfrom half import half\n\n\nclass Half(unittest.TestCase):\n"
        "    def test_below_nothing(self):\n        self.assertEqual(half(-1), -1)\n"
    )
    every = "python3 -m unittest -q"
    workplace.plan(
        a_task("TASK-001", blocks={"shop.py": MODEL, "test_shop.py": TEST}, tests=[every]),
        a_task(
            "TASK-002",
            blocks={"half.py": other, "test_half.py": test},
            needs=["TASK-001"],
            tests=[every],
            fields=["Coverage: 0%"],
        ),
    )
    ended = workplace.run()
    assert ended.code == 1
    assert "the whole tree, tested together, fails:" in ended.err
    said = verified(workplace, "--all").document
    assert said["ran"] == 1
    percents = [one["coverage"]["percent"] for one in said["tasks"]]
    assert percents == [100, 27.27]
    assert not said["passed"]
    assert said["shortfalls"] == ["coverage of the project: 38% of 13 lines (threshold 70%)"]


def test_alone_it_says_the_two_ways_to_go_on_by_its_everyday_name_too(workplace):
    for words in (("test",), ("verify",)):
        ended = workplace.runner(*words)
        assert ended.code == 2
        assert "name what to verify" in ended.err
        ways = "`runner verify --all` tests everything, `runner verify TASK-001` one task"
        assert ways in ended.err
    assert "name one task, --all or --changed" in workplace.runner("verify", "1", "--all").err
