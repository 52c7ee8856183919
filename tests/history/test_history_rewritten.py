"""A history that was rewritten has the work and not the commits that tell of it."""

import pytest
from history_build import tree

from runner.run.reconcile import REWRITTEN

STRIPPED = 'sed "/^Task:/d;/^Attempt:/d;/^Spec:/d;/^Proof:/d;/^Checked:/d"'


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Without the ten seconds in which git warns of what it is about to do."""
    monkeypatch.setenv("FILTER_BRANCH_SQUELCH_WARNING", "1")


def rewrite(place):
    """What `git filter-branch` makes of the messages: no trailer is left."""
    place.git("-c", "advice.detachedHead=false", "filter-branch", "-f", "--msg-filter", STRIPPED)
    assert "Task: " not in place.git("log", "--format=%B")


def adopted(place):
    return [one["task"] for one in place.events if one["type"] == "task.adopted"]


def test_what_stands_is_done_by_the_journal_and_not_built_again(shop):
    files = tree(shop)
    rewrite(shop)
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert REWRITTEN in ended.said
    assert [*shop.statuses.values()] == ["DONE", "DONE", "DONE"]
    assert tree(shop) == files
    state = {one["id"]: one for one in shop.runner("status", "--json").document["tasks"]}
    assert state["TASK-001"]["verified"]  # TASK-002 wrote its file, too
    assert shop.run().code == 0
    assert adopted(shop) == ["TASK-001", "TASK-002", "TASK-003"]  # told once


def test_what_a_person_changed_since_is_done_and_unverified(shop):
    shop.commit({"c.txt": "mine\n"}, message="by hand")
    rewrite(shop)
    assert shop.run().code == 0
    state = {one["id"]: one for one in shop.runner("status", "--json").document["tasks"]}
    assert (state["TASK-003"]["status"], state["TASK-003"]["verified"]) == ("DONE", False)
    assert state["TASK-002"]["verified"]
    assert shop.read("c.txt") == "mine\n"


@pytest.mark.parametrize("behind", [1, 3])
def test_a_branch_without_the_work_has_it_built_again(shop, behind):
    first = shop.git("rev-list", "--reverse", "--grep=^Task: ", "HEAD").splitlines()[0]
    plan = shop.read("TASK-GRAPH.md")
    shop.git("switch", "-qc", "side", f"{first}{'~1' if behind == 3 else ''}")
    shop.write({"TASK-GRAPH.md": plan})
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert "its commit is not in this branch" in ended.said
    assert shop.has("c.txt")
