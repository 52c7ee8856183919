"""Blocks of one task that take back what another one wrote cannot be built on it: which to edit."""

import pytest
from workplace import a_task

ONE = a_task("TASK-001", "One", blocks={"one.txt": "one\n"}, tests=["grep -qx one one.txt"])
TWO = a_task(
    "TASK-002",
    "Two",
    needs=["TASK-001"],
    blocks={"one.txt": "two\n"},
    tests=["grep -qx two one.txt"],
)


@pytest.fixture
def halted(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    workplace.plan(ONE, TWO)
    ended = workplace.run()
    assert ended.code == 4, ended.said
    return workplace, ended


def test_the_advice_names_the_blocks_to_edit(halted):
    place, ended = halted
    assert "keep it: `runner approve TASK-001`" not in ended.said
    assert "its own blocks write one.txt" in ended.said, ended.said
    for said in (place.runner("approve", "TASK-001"), place.runner("approve", "TASK-002")):
        assert said.code == 3, said.said
        assert "edit the blocks of TASK-001 or of TASK-002" in said.err
    listed = place.runner("review").out
    assert listed.count("edit the blocks") == 2, listed  # below each of the two
    assert "after runner approve: rebuilt" not in listed
    for said in (place.runner("why", "TASK-001"), place.runner("why", "TASK-002")):
        assert "next: TASK-001 cannot be built on it: its own blocks write one.txt" in said.out
    told = (ended.said, *(place.runner(*words).out for words in (["why"], ["review"])))
    advised = [line for text in told for line in text.splitlines() if "keeps it" in line]
    assert advised, told
    assert all("edit the blocks" in line for line in advised), advised
    assert place.run().code != 0
    assert place.landings == ["TASK-001"]


def test_editing_the_blocks_is_the_way_out(halted):
    place, _ = halted
    place.edit_plan("`grep -qx one one.txt`", "`grep -qx two one.txt`")
    place.edit_plan("text file=one.txt\none\n", "text file=one.txt\ntwo\n")
    said = place.runner("approve", "TASK-001")
    assert said.code == 0, said.said
    ended = place.run()
    assert ended.code == 0, ended.said
    assert place.read("one.txt") == "two\n"
    assert place.statuses == {"TASK-001": "DONE", "TASK-002": "DONE"}
