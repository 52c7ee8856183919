"""Requested changes, from a command or the plan: previewed, recorded once, built after approval."""

import json
import re
import sys

import pytest
from commands_terminal import Terminal
from history_build import cloned, tree
from invariants import JOURNAL
from workplace import PASSES, a_task

from runner.journal.lock import RunLock


@pytest.fixture
def chain(workplace):
    """TASK-002 depends on the first, TASK-003 reads its file, TASK-004 has to do with none."""
    workplace.plan(
        a_task("TASK-001", "Rule", blocks={"rule.txt": "rule\n"}, tests=[PASSES]),
        a_task("TASK-002", "Api", needs=["TASK-001"], blocks={"api.txt": "a\n"}, tests=[PASSES]),
        a_task(
            "TASK-003",
            "Reader",
            needs=["TASK-004"],
            blocks={"r.txt": "r\n"},
            fields=["Inputs: `rule.*`"],
        ),
        a_task("TASK-004", "Other", blocks={"o.txt": "o\n"}),
        a_task("TASK-005", "Later", needs=["TASK-009"], outputs=["l.txt"]),
        a_task("TASK-009", "Stuck", outputs=["s.txt"], command="false"),
    )
    assert workplace.run().code == 1
    return workplace


def test_it_says_what_becomes_stale_and_why_before_anything_is_recorded(chain):
    before = chain.read("TASK-GRAPH.md"), len(chain.events)
    said = chain.runner("!change", "TASK-001", "an end before its start is refused")
    assert said.code == 3
    assert said.out.splitlines()[:4] == [
        "3 tasks would become STALE:",
        "  TASK-001 Rule: the change is for this task; runs again: TC-001",
        "  TASK-002 Api: depends on TASK-001; runs again: TC-002",
        "  TASK-003 Reader: reads rule.txt of TASK-001",
    ]
    assert said.out.splitlines()[4].startswith("estimated from past attempts: ")
    assert before == (chain.read("TASK-GRAPH.md"), len(chain.events))
    assert not chain.has("artifacts/build/CHANGES.md")


def test_with_a_yes_it_is_in_the_journal_in_changes_and_in_the_plan(chain):
    said = chain.runner("change", "1", "dates are UTC", "--yes")
    assert said.code == 0, said.said
    (event,) = chain.happened("change.recorded")
    assert (event["number"], event["text"]) == (1, "dates are UTC")
    assert "## CHANGE-001: TASK-001\n" in chain.read("artifacts/build/CHANGES.md")
    day = event["time"][:10]
    assert f"\n> CHANGE-001 ({day}): dates are UTC\n" in chain.read("TASK-GRAPH.md")
    assert chain.status_line("TASK-001") == "- Status: STALE — CHANGE-001: dates are UTC"
    assert chain.status_line("TASK-002") == "- Status: STALE — CHANGE-001: depends on TASK-001"
    assert chain.statuses["TASK-004"] == "DONE"
    assert {one["cause"] for one in chain.happened("task.staled")} == {event["id"]}
    assert chain.dirt == []


def test_nothing_stale_is_built_before_it_is_approved(chain):
    chain.runner("change", "TASK-001", "dates are UTC", "--yes")
    chain.run()
    assert chain.statuses["TASK-001"] == "STALE"
    chain.runner("approve", "TASK-001", "TASK-002", "TASK-003")
    chain.run()
    assert [chain.statuses[f"TASK-00{n}"] for n in (1, 2, 3)] == ["DONE"] * 3


def test_the_quote_is_in_the_next_brief(chain):
    chain.runner("change", "TASK-001", "dates are UTC", "--yes")
    assert "dates are UTC" in chain.runner("brief", "TASK-001").out


def test_a_pending_task_just_gets_the_note(chain):
    said = chain.runner("change", "TASK-005", "in two files", "--yes")
    assert "TASK-005 is PENDING: the change is noted" in said.out
    assert chain.statuses["TASK-005"] == "PENDING"
    assert "in two files" in chain.read("TASK-GRAPH.md")
    assert chain.happened("task.staled") == []


def test_a_blocked_task_keeps_its_status_and_the_answer_says_how_to_go_on(chain):
    said = chain.runner("change", "TASK-009", "another way", "--yes")
    assert "TASK-009 is BLOCKED: the change is noted in its section; to build" in said.out
    assert chain.statuses["TASK-009"] == "BLOCKED"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["TASK-077", "text"], 'unknown task "TASK-077"'),
        (["TASK-001"], "no change text given"),
        (["TASK-001", "  "], "no change text given"),
    ],
)
def test_what_cannot_be_understood_is_said(chain, words, said):
    ended = chain.runner("change", *words, "--yes")
    assert ended.code == 2
    assert said in ended.err


@pytest.mark.parametrize(("key", "code"), [("y", 0), ("n", 3)])
def test_the_answer_of_a_person_leaves_one_document(chain, key, code):
    line = 'exec "$0" -m runner change TASK-001 "all in UTC" --json > said.json'
    words = ("sh", "-c", line, sys.executable)
    with Terminal(words, columns=120, cwd=chain.root, CI="") as terminal:
        terminal.until("record this change?")
        terminal.send(f"{key}\n")
        assert terminal.wait() == code
        assert ("nothing was recorded" in terminal.said) is (key == "n")
    assert json.loads(chain.read("said.json"))["tasks"] == ["TASK-001"]
    assert ("> CHANGE-001 " in chain.read("TASK-GRAPH.md")) is (key == "y")


def test_where_nobody_can_say_yes_the_document_says_what_it_would_do(chain):
    ended = chain.runner("change", "TASK-001", "all in UTC", "--json")
    assert ended.code == 3
    assert ended.document["tasks"] == ["TASK-001"]
    assert "> CHANGE-001 " not in chain.read("TASK-GRAPH.md")


def test_several_tasks_may_be_named(chain):
    said = chain.runner("change", "TASK-001", "4", "all times in UTC", "--yes", "--json").document
    assert said["tasks"] == ["TASK-001", "TASK-004"]
    assert {one["id"] for one in said["stale"]} == {
        "TASK-001",
        "TASK-002",
        "TASK-003",
        "TASK-004",
    }
    assert chain.read("TASK-GRAPH.md").count("> CHANGE-001 ") == 2


def test_a_second_change_gets_the_next_number_also_where_the_journal_is_gone(chain):
    chain.runner("change", "TASK-001", "one", "--yes")
    chain.runner("change", "TASK-001", "two", "--yes")
    (chain.root / JOURNAL).unlink()
    chain.runner("change", "TASK-005", "three", "--yes")
    text = chain.read("artifacts/build/CHANGES.md")
    assert [line.split(":")[0] for line in text.splitlines() if line.startswith("## ")] == [
        "## CHANGE-001",
        "## CHANGE-002",
        "## CHANGE-003",
    ]


def test_while_a_run_goes_on_it_is_refused_with_a_way_out(chain):
    with RunLock(chain.root / "artifacts/build"):
        said = chain.runner("change", "TASK-001", "dates are UTC", "--yes")
    assert said.code == 2
    assert "a run is active" in said.err
    assert "add the line `!change dates are UTC` to the section of TASK-001" in said.err


def test_a_secret_in_the_text_is_redacted_everywhere(chain):
    key = "sk_" + "live_" + "".join(f"{letter}{n}" for n, letter in enumerate("aBcDeFgHiJkL"))
    chain.runner("change", "TASK-001", f"use {key}", "--yes")
    assert key not in chain.read("artifacts/build/CHANGES.md")
    assert key not in chain.read("TASK-GRAPH.md")
    assert key not in json.dumps(chain.events)


def test_a_clone_sees_the_change_and_what_is_stale(chain, tmp_path):
    chain.runner("change", "TASK-001", "dates are UTC", "--yes")
    clone = cloned(chain, tmp_path / "clone")
    assert clone.statuses["TASK-001"] == "STALE"
    assert "> CHANGE-001 " in clone.read("TASK-GRAPH.md")


def test_blame_names_the_change_behind_a_line(chain):
    chain.runner("change", "TASK-001", "dates are UTC", "--yes")
    chain.runner("approve", "--all")
    chain.edit_plan("\nrule\n", "\nrule, in UTC\n")
    chain.commit()
    chain.run()
    chain.runner("approve", "--all")
    chain.run()
    said = chain.runner("blame", "rule.txt:1").out
    assert "TASK-001 attempt 2 CHANGE-001" in said
    assert "change: CHANGE-001 (" in said


def test_a_persons_own_lines_in_changes_stay_and_are_theirs_to_commit(chain):
    chain.runner("change", "TASK-001", "one", "--yes")
    path = "artifacts/build/CHANGES.md"
    chain.write({path: chain.read(path) + "\nmy own words\n"})
    chain.runner("change", "TASK-001", "two", "--yes")
    assert "my own words" in chain.read(path)
    assert "my own words" not in chain.git("show", f"HEAD:{path}")
    assert "CHANGE-002" in chain.git("show", f"HEAD:{path}")


def test_control_characters_are_no_text_of_a_plan(shop):
    before = shop.read("TASK-GRAPH.md")
    said = shop.runner("change", "TASK-001", "in \x1b[31mred", "--yes")
    assert said.code == 2
    assert "the change text contains control characters" in said.err
    assert shop.read("TASK-GRAPH.md") == before


def test_what_is_stale_through_a_refused_change_alone_is_proven_again(shop):
    assert shop.runner("change", "TASK-001", "otherwise", "--yes").code == 0
    assert list(shop.statuses.values()) == ["STALE", "STALE", "STALE"]
    assert shop.runner("reject", "TASK-001", "--reason", "no").code == 0
    count = len(shop.landings)
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert list(shop.statuses.values()) == ["DONE", "DONE", "DONE"]
    assert len(shop.landings) == count
    assert "TASK-001 is DONE again and none of its files changed" in shop.runner("why", "2").out


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
