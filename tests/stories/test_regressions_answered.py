"""What a person says to a held change that breaks other tasks, and what comes of it."""

import pytest
from built import copy
from workplace import a_task

from runner.writes.staging import Staging

APART, TOUCHING = "apart\n", "touching\n"
RULE = "rules.txt"


def first(*, api="grep -qx apart rules.txt", web="grep -qx apart rules.txt"):
    needs = ["TASK-001"]
    return (
        a_task("TASK-001", "Rule", blocks={RULE: APART}),
        a_task("TASK-002", "API", needs=needs, blocks={"api.txt": "api"}, tests=[api]),
        a_task("TASK-003", "Web", needs=needs, blocks={"web.txt": "web"}, tests=[web]),
    )


def later(rule=TOUCHING):
    change = a_task("TASK-004", "Bookings may touch", needs=["TASK-001"], blocks={RULE: rule})
    return change, a_task("TASK-005", "After it", needs=["TASK-004"], blocks={"b.txt": "b"})


def built(workplace, *tasks):
    """The plan again, its first three tasks DONE as they are."""
    workplace.plan(*(task.replace("PENDING", "DONE") for task in tasks[:3]), *tasks[3:])


@pytest.fixture
def halted(workplace):
    workplace.plan(*first())
    assert workplace.run("--no-sandbox").code == 0
    built(workplace, *first(), *later())
    assert workplace.run("--no-sandbox").code == 4
    return workplace


HALTED = {
    "TASK-001": "DONE",
    "TASK-002": "STALE",
    "TASK-003": "STALE",
    "TASK-004": "BLOCKED",
    "TASK-005": "PENDING",
}
AFTER_A_NO = HALTED | {"TASK-002": "DONE", "TASK-003": "DONE"}
DRAFT = "draft/TASK-004-bookings-may-touch"


def staged(workplace):
    return Staging(workplace.root).list()


def test_what_waits_says_what_it_breaks_and_both_ways_out(halted):
    assert [one.path for one in staged(halted)] == [RULE]

    # The review lists it.
    said = halted.runner("review").out
    assert "3. TASK-004 Bookings may touch" in said
    assert "modify rules.txt" in said
    assert "breaks TASK-002" in said
    assert "this change breaks TASK-002's TC-002" in said
    assert "keep it: `runner approve TASK-002 TASK-003`" in said
    assert "drop it: `runner reject TASK-004 --reason …`" in said
    assert "1. TASK-002 API" in said
    assert "rebuilds this task on the held change of TASK-004" in said
    assert "+touching" in halted.runner("review", "TASK-004").out

    # A program reads the same.
    items = halted.runner("review", "--json").document["waiting"]
    assert [(one["id"], one["kind"]) for one in items] == [
        ("TASK-002", "stale"),
        ("TASK-003", "stale"),
        ("TASK-004", "regression"),
    ]
    assert items[0]["culprit"] == "TASK-004"
    assert not items[0]["approved"]
    broken = items[2]
    assert [one["task"] for one in broken["breaks"]] == ["TASK-002", "TASK-003"]
    assert broken["breaks"][0]["findings"][0]["check"] == "regression:TASK-002/TC-002"
    assert broken["missing"] == ["TASK-002", "TASK-003"]
    assert [one["path"] for one in broken["changes"]] == [RULE]

    # So do `why`, `show` and `status`.
    said = halted.runner("why", "TASK-002").out
    assert said.startswith("TASK-002 is STALE")
    assert "TASK-004 changed rules.txt:1; TC-002 fails" in said
    assert "  TASK-004 is BLOCKED (regression)" in said
    assert (
        "next: `runner approve TASK-002 TASK-003` keeps the change, `runner reject TASK-004" in said
    )
    assert halted.runner("why", "TASK-002", "--json").document["roots"] == ["TASK-004"]
    shown = halted.runner("show", "TASK-004").out
    assert DRAFT in shown
    told = halted.runner("status", "--json").document["tasks"]
    assert [one["reason"] for one in told if one["id"] == "TASK-004"] == ["question"]

    # The status line names what breaks.
    said = halted.read("artifacts/build/CHECKPOINT.md")
    line = said.split("Bookings may touch — BLOCKED")[1].splitlines()
    assert "Regression: ❌ TASK-002/TC-002 ❌ TASK-003/TC-003 (2 tests of other tasks)" in line

    # The culprit itself cannot be approved, reused or edited.
    said = halted.runner("approve", "TASK-004")
    assert said.code == 2
    assert "runner approve TASK-002 TASK-003, or runner reject TASK-004 --reason" in said.err
    assert not halted.happened("task.approved")

    said = halted.runner("approve", "TASK-002", "--reuse")
    assert said.code == 2
    assert "it cannot be reused" in said.err

    assert halted.runner("edit", "TASK-004").code == 2

    # Every victim is approved before anything is built.
    said = halted.runner("approve", "1")
    assert said.code == 0
    assert "TASK-004 lands once TASK-003 is approved as well: runner approve TASK-003" in said.out
    assert "breaks TASK-002 (approved)" in halted.runner("review").out
    assert halted.run("--no-sandbox").code == 3
    assert halted.statuses == HALTED
    assert halted.read(RULE) == APART


def test_all_that_it_breaks_is_approved_at_once_and_lands_together(halted):
    halted.edit_plan("grep -qx apart", "grep -q .")
    halted.edit_plan("grep -qx apart", "grep -q .")
    said = halted.runner("approve", "--all")
    assert "TASK-002, TASK-003 rebuilt on the change of TASK-004" in said.out
    ended = halted.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert set(halted.statuses.values()) == {"DONE"}
    assert halted.read(RULE) == TOUCHING
    assert halted.dirt == [" M TASK-GRAPH.md"]
    assert staged(halted) == ()
    owned = halted.read("FILE_OWNERSHIP_MAP.md") if halted.has("FILE_OWNERSHIP_MAP.md") else ""
    assert "TASK-003" not in next((one for one in owned.splitlines() if RULE in one), "")


def test_a_no_to_the_change_or_to_what_it_breaks_is_the_same(halted):
    evidence = halted.runner("evidence", "TASK-002", "--json").document["evidence"]
    for named in ("TASK-003", "1", "TASK-004"):
        place = copy(halted.root, halted.root.parent / named, halted.home)
        said = place.runner("reject", named, "--reason", "keep them apart")
        assert said.code == 0, named
        assert f"TASK-004 rejected; its work is saved on {DRAFT}" in said.out, named
        assert "TASK-002, TASK-003 are DONE again" in said.out
        assert place.statuses == AFTER_A_NO | {"TASK-004": "PENDING"}
        assert DRAFT in place.branches
        assert not place.git("for-each-ref", "refs/runner/held")
        assert staged(place) == ()
        assert place.runner("review").out == "nothing is waiting for you\n"
        assert "keep them apart" in place.runner("why", "TASK-004").out
        assert "keep them apart" in place.runner("brief", "TASK-004").out
        again = place.runner("evidence", "TASK-002", "--json").document["evidence"]
        assert {**again, "doneAt": ""} == {**evidence, "doneAt": ""}


def test_after_a_no_the_same_bytes_wait_and_another_change_lands(halted):
    assert halted.runner("reject", "TASK-004", "--reason", "keep them apart").code == 0
    ended = halted.run("--no-sandbox")
    assert ended.code == 3, ended.said
    assert halted.statuses == AFTER_A_NO
    assert "keep them apart" in halted.runner("why", "TASK-004").out
    halted.edit_plan(f"{TOUCHING}```", "apart\nat all\n```")
    ended = halted.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert set(halted.statuses.values()) == {"DONE"}
    assert halted.landings[-2:] == ["TASK-004", "TASK-005"]


def test_tests_of_others_that_pass_are_one_line_of_the_commit_and_of_the_evidence(workplace):
    workplace.plan(*first())
    assert workplace.run("--no-sandbox").code == 0
    last = a_task("TASK-006", "Last", needs=["TASK-005"], blocks={"c.txt": "c"})
    built(workplace, *first(), *later("apart\nat all\n"), last)
    workplace.commit({"runner.toml": "build.checkpoint_every = 3\n"})
    assert workplace.run("--no-sandbox").code == 0
    commit = workplace.git("log", "--format=%H", "--grep=Task: TASK-004", "-1")
    message = workplace.git("log", "-1", "--format=%(trailers)", commit)
    assert "Regression: 2 test contracts of 2 tasks pass\n" in message
    assert "Proof:" not in message
    said = workplace.runner("evidence", "TASK-004").out
    assert "Regression      2 test contracts of 2 tasks pass" in said
    assert "Proofs          none" in said
    (workplace.root / "artifacts/build/journal.jsonl").unlink()
    told = workplace.runner("evidence", "TASK-004", "--json").document["evidence"]
    assert told["regression"] == "2 test contracts of 2 tasks pass"
    checkpoint = workplace.read("artifacts/build/CHECKPOINT.md")
    after = checkpoint.split("Bookings may touch — DONE")[1].splitlines()
    (regression,) = [line for line in after if line.startswith("Regression: ✅")][:1]
    assert regression.startswith("Regression: ✅ no cross-task failures (")
    assert regression.endswith("2 tests of other tasks)")
    parts = [part.splitlines() for part in checkpoint.split("=== Checkpoint")[1:]]
    (full,) = [part for part in parts if "TASK-004 (Bookings may touch)" in part[1]]
    assert "Regression: ✅ no cross-task failures" in full
    assert checkpoint.split("After it — DONE")[1].splitlines()[3].startswith("Regression: —")


def test_what_the_change_asks_itself_is_shown_and_answered_with_what_it_breaks(workplace):
    rule = a_task("TASK-001", "Rule", blocks={"rule.py": "def limit():\n    return 1\n"})
    raised = "def most():\n    return 2\n\n\ndef limit():\n    return most()\n"
    workplace.write({"made/rule.py": raised})
    test = "python3 -c 'import rule; assert rule.limit() == 1'"
    api = a_task("TASK-002", "API", needs=["TASK-001"], blocks={"api.txt": "api"}, tests=[test])
    workplace.plan(rule, api)
    assert workplace.run("--no-sandbox").code == 0
    change = a_task(
        "TASK-003",
        "Raise it",
        needs=["TASK-001"],
        outputs=["rule.py"],
        command="cp made/rule.py rule.py",
        tests=["python3 -c 'import rule; assert rule.limit()'"],
    )
    workplace.plan(*(one.replace("PENDING", "DONE") for one in (rule, api)), change)
    ended = workplace.run("--no-sandbox")
    assert ended.code == 4, ended.said
    asked, broken = "? no test fails without this change", "this change breaks TASK-002"
    said = workplace.runner("review", "TASK-003").out
    assert said.index(asked) < said.index(broken)
    workplace.edit_plan("rule.limit() == 1", "rule.limit() > 0")
    assert workplace.runner("approve", "TASK-002").code == 0
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert set(workplace.statuses.values()) == {"DONE"}
    assert workplace.read("rule.py") == raised


STRICT = """import unittest

import rule


class Api(unittest.TestCase):
    def test_limit(self):
        self.assertEqual(rule.limit(), 1)
"""
WEAK = STRICT.replace("assertEqual(rule.limit(), 1)", "assertTrue(rule.limit())")


def test_a_test_that_the_change_broke_is_not_weakened_unasked(workplace):
    rule = a_task("TASK-001", "Rule", blocks={"rule.py": "def limit():\n    return 1\n"})
    made = {"rule.py": "def limit():\n    return 2\n", "test_api.py": STRICT, "api.txt": "api\n"}
    workplace.write({f"made/{path}": made[path] for path in made})
    api = a_task(
        "TASK-002",
        "API",
        needs=["TASK-001"],
        outputs=["api.txt", "test_api.py"],
        command="cp made/test_api.py made/api.txt .",
        tests=["python3 -m unittest -q test_api"],
    )
    change = a_task("TASK-003", "Raise it", needs=["TASK-001"], blocks={"rule.py": made["rule.py"]})
    workplace.plan(rule, api)
    ended = workplace.run("--no-sandbox", "--review", "off")
    if workplace.statuses["TASK-002"] != "DONE":
        workplace.runner("approve", "TASK-002")
        ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    workplace.plan(*(one.replace("PENDING", "DONE") for one in (rule, api)), change)
    assert workplace.run("--no-sandbox").code == 4
    workplace.write({"made/test_api.py": WEAK})
    workplace.git("commit", "-qam", "weaker")
    assert workplace.runner("approve", "TASK-002").code == 0
    ended = workplace.run("--no-sandbox")
    assert ended.code == 4, ended.said
    assert workplace.read("rule.py") == "def limit():\n    return 1\n"
    said = workplace.runner("review", "TASK-002").out
    assert "test_limit` fails on the new code in its earlier version" in said
    assert workplace.runner("approve", "TASK-002").code == 0
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert workplace.read("test_api.py") == WEAK
