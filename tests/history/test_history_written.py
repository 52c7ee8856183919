"""Commands that a person writes into the plan are taken by the next run, each once."""

import re

import pytest
from history_build import tree
from workplace import a_task


def with_line(place, id_, line):
    """The line at the end of a task's section."""
    head, section = place.read("TASK-GRAPH.md").split(f"## {id_}:", 1)
    own, *rest = section.split("\n## ", 1)
    after = f"\n## {rest[0]}" if rest else ""
    place.write({"TASK-GRAPH.md": f"{head}## {id_}:{own.rstrip()}\n\n{line}\n{after}"})


def test_a_change_is_recorded_and_the_line_becomes_its_quote(shop):
    with_line(shop, "TASK-002", "!change all times in UTC")
    shop.commit()
    ended = shop.run()
    assert ended.code == 3, ended.said
    assert "CHANGE-001 recorded for TASK-002: all times in UTC" in ended.err
    text = shop.read("TASK-GRAPH.md")
    assert "!change" not in text
    assert text.count("> CHANGE-001 (") == 1
    assert list(shop.statuses.values()) == ["DONE", "STALE", "STALE"]
    assert shop.dirt == []


def test_it_is_taken_once(shop):
    with_line(shop, "TASK-002", "!change all times in UTC")
    shop.run()
    shop.run()
    assert len(shop.happened("change.recorded")) == 1


def test_a_replay_goes_back_and_the_run_goes_on_from_there(shop):
    there = tree(shop)
    with_line(shop, "TASK-001", "!replay")
    ended = shop.run("--yes")
    assert ended.code == 0, ended.said
    assert "back to the checkpoint of TASK-001" in ended.err
    assert tree(shop) == there
    assert shop.landings == ["TASK-001", "TASK-002", "TASK-003", "TASK-002", "TASK-003"]
    assert "\n!replay" not in shop.read("TASK-GRAPH.md")
    assert "went back to this task's checkpoint" in shop.read("TASK-GRAPH.md")


def test_a_replay_waits_for_a_person_and_starts_nothing(shop):
    with_line(shop, "TASK-001", "!replay")
    head, plan, since = shop.head, shop.read("TASK-GRAPH.md"), len(shop.events)
    ended = shop.run()
    assert ended.code == 3, ended.said
    assert "2 tasks PENDING again: TASK-002, TASK-003" in ended.err
    assert re.search(r"by past attempts: about \d+\.\d s", ended.err)
    assert "runner run --yes --reuse" in ended.err
    assert (shop.head, shop.read("TASK-GRAPH.md")) == (head, plan)
    assert "attempt.started" not in [one["type"] for one in shop.events[since:]]


def test_a_replay_that_reuses_starts_no_implementer(shop):
    there, since = tree(shop), len(shop.events)
    with_line(shop, "TASK-001", "!replay")
    ended = shop.run("--yes", "--reuse")
    assert ended.code == 0, ended.said
    assert tree(shop) == there
    begun = [one["mode"] for one in shop.events[since:] if one["type"] == "attempt.started"]
    assert begun == ["prove", "prove"]


def test_a_conflict_leaves_line_and_code_as_they_are(shop):
    shop.commit({"b.txt": "mine\n"}, message="by hand")
    with_line(shop, "TASK-001", "!replay")
    head = shop.head
    ended = shop.run()
    assert (ended.code, shop.head) == (6, head)
    assert "!replay" in shop.read("TASK-GRAPH.md")


@pytest.mark.parametrize("line", ["!change", "!change   "])
def test_a_change_that_says_nothing_is_a_mistake(shop, line):
    with_line(shop, "TASK-002", line)
    ended = shop.run()
    assert ended.code == 2
    assert "!change in TASK-002 has no text" in ended.err
    assert shop.happened("change.recorded") == []


def test_the_task_is_built_with_the_words_once_it_is_approved(shop):
    with_line(shop, "TASK-003", "!change in UTC")
    shop.run()
    shop.runner("approve", "TASK-003")
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert shop.statuses["TASK-003"] == "DONE"


# --- FILE_OWNERSHIP_MAP.md in the middle of a merge -----------------------------------


MARKED = """\
| File | Tasks |
|---|---|
<<<<<<< HEAD
| `a.txt` | TASK-001 |
=======
| `b.txt` | TASK-002 |
>>>>>>> side
"""


def test_a_run_is_refused_with_the_map_and_its_line(workplace):
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}))
    workplace.write({"FILE_OWNERSHIP_MAP.md": MARKED})
    ended = workplace.run()
    assert ended.code == 2
    assert "the ownership map has conflict markers (FILE_OWNERSHIP_MAP.md:3)" in ended.err
    said = workplace.runner("ownership", "propose", "--write")
    assert said.code in (0, 2)
    assert workplace.read("FILE_OWNERSHIP_MAP.md") == MARKED
    assert workplace.landings == []
    workplace.write({"FILE_OWNERSHIP_MAP.md": "| File | Tasks |\n|---|---|\n"})
    assert workplace.run().code == 0
