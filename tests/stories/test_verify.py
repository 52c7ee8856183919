"""What is DONE is proven again: one task against its evidence, or everything on one tree."""

import shutil
import signal
import time

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
        assert (
            "the result agrees with the evidence" in workplace.runner("verify", id_, "--trust").out
        )
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
    assert "the task stays STALE until you accept the existing code" in ended.out
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
    assert "the whole tree failed its verification:" in ended.err
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
        assert "name a task, or use --all" in ended.err
        ways = "`runner verify --all` tests everything, `runner verify TASK-001` one task"
        assert ways in ended.err
    assert "name one task, --all or --changed" in workplace.runner("verify", "1", "--all").err


# --- at the end of a run --------------------------------------------------------------


ALONE = "test ! -f b.txt"


def two(first_test):
    return (
        a_task("TASK-001", blocks={"a.txt": "a"}, tests=[first_test]),
        a_task("TASK-002", blocks={"b.txt": "b"}, needs=["TASK-001"], tests=["test -f b.txt"]),
    )


def verifications(workplace):
    return [(one["passed"], one["ran"]) for one in workplace.happened("tree.verified")]


def test_what_fails_only_together_makes_its_owner_stale_and_names_the_last_landing(workplace):
    workplace.plan(*two(ALONE))
    ended = workplace.run()
    assert ended.code == 4
    assert workplace.statuses == {"TASK-001": "STALE", "TASK-002": "DONE"}
    last = workplace.git("log", "--format=%H", "--grep=Task: TASK-002")[:12]
    line = workplace.status_line("TASK-001")
    assert f"STALE — TC-001 fails on the whole tree, last landed TASK-002 ({last})" in line
    assert "the whole tree failed its verification:\n  TASK-001: TC-001" in ended.err
    assert f"TC-001: `{ALONE}` ended with exit code 1" in ended.err
    assert verifications(workplace) == [(False, 1)]
    assert workplace.dirt == []


def test_what_a_person_committed_since_its_proof_is_named_beside_what_landed(workplace):
    workplace.plan(*two("test ! -f mine.txt"))
    assert workplace.run("TASK-001").code == 0
    workplace.commit({"mine.txt": "mine"}, message="chore: what is mine")
    mine = workplace.git("rev-parse", "HEAD")[:12]
    ended = workplace.run()
    assert ended.code == 4, ended.said
    last = workplace.git("log", "--format=%H", "--grep=Task: TASK-002")[:12]
    said = f"last landed TASK-002 ({last}), committed outside runner: {mine} (chore: what is mine)"
    assert said in workplace.status_line("TASK-001")


def test_what_landed_before_the_last_proven_tree_is_no_cause(workplace):
    check = a_task("TASK-003", needs=["TASK-002"], tests=["test -f b.txt"])
    workplace.plan(*two("test ! -f mine.txt"), check)
    assert workplace.run().code == 0
    workplace.edit_plan("test -f b.txt", "test -s b.txt")
    workplace.commit({"mine.txt": "mine"}, message="chore: what is mine")
    ended = workplace.run()
    line = workplace.status_line("TASK-001")
    assert ended.code == 4, ended.said
    assert "fails on the whole tree, committed outside runner: " in line
    assert "(chore: what is mine)" in line
    assert "last landed" not in line


def test_later_work_brings_all_that_came_before_to_proof(workplace):
    workplace.plan(two("test -f a.txt")[0])
    assert workplace.run().code == 0
    workplace.plan(workplace.read("TASK-GRAPH.md"), two("")[1])
    assert workplace.run().code == 0
    assert verifications(workplace) == [(True, 0), (True, 1)]


def test_it_waits_until_all_is_done_and_can_be_left_out(workplace):
    workplace.plan(*two(ALONE))
    assert workplace.run("TASK-001").code == 0
    assert verifications(workplace) == []
    assert workplace.run("--no-verify-at-end").code == 0
    assert verifications(workplace) == []


def test_it_can_be_interrupted(workplace):
    workplace.plan(*two(f"{ALONE} || sleep 60"))
    process = workplace.start("run", "--trust")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        time.sleep(0.1)
        if workplace.has("artifacts/build/journal.jsonl") and workplace.happened(
            "task.done", "TASK-002"
        ):
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "DONE"}
    assert workplace.happened("run.finished")[-1]["exit"] == 130
    assert verifications(workplace) == []


def test_a_gate_that_was_red_before_anybody_began_is_nobodys_fault(workplace):
    workplace.commit({"runner.toml": '[gates]\nlint = "false"\n', "old.txt": "old"})
    workplace.plan(*two("test -f a.txt"))
    ended = workplace.run()
    assert (ended.code, workplace.statuses) == (0, {"TASK-001": "DONE", "TASK-002": "DONE"})
    assert verifications(workplace)[-1][0] is True
    assert workplace.runner("verify", "--all").code == 0
    assert "⚠ gate:lint" in workplace.runner("verify", "1").out


def test_what_is_done_on_a_persons_word_and_fails_its_proof_is_built_on_by_nobody(workplace):
    first, second = two("false")
    workplace.plan(first.replace("Status: PENDING", "Status: DONE"), second)
    ended = workplace.run()
    assert ended.code == 3
    assert "a person marked it DONE without a proof, and its re-test failed: TC-001" in ended.said
    assert workplace.statuses == {"TASK-001": "STALE", "TASK-002": "PENDING"}
    assert workplace.landings == []


NOT_SINCE = "note: the whole tree is not verified since "


def test_a_run_with_nothing_to_do_tells_what_is_known_of_this_very_tree(workplace):
    workplace.write({"b.txt": "good\n"})
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}, tests=("grep -q good b.txt",)))
    assert workplace.run("--no-sandbox").code == 0
    assert workplace.run().said == "the one task is DONE; nothing to do\n"

    workplace.commit({"b.txt": "bad\n"})
    after = workplace.run("--no-sandbox")  # it looks at the commit, and builds nothing
    assert (after.code, NOT_SINCE in after.err) == (0, True)
    assert workplace.run().err.startswith(NOT_SINCE)

    assert workplace.runner("verify", "--all", "--trust", "--sandbox", "none").code == 1
    assert workplace.statuses == {"TASK-001": "STALE"}
    assert workplace.run().code == 3

    workplace.commit({"b.txt": "good\n"})  # the tree that was proven, by another commit
    assert workplace.runner("approve", "TASK-001").code == 0
    assert workplace.run("--no-sandbox").code == 0
    assert "verif" not in workplace.run().err
