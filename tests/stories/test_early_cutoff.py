"""What is STALE through another task alone is proven again, once that offers the same."""

import sys
from pathlib import Path

import pytest
from built import build, copy
from commands_terminal import Terminal
from cutoff_build import (
    ANOTHER,
    API,
    CHAIN,
    COMMENTED,
    FILES,
    PROVEN,
    RULES,
    TURNED,
    changed,
    modes,
    tasks,
)
from workplace import a_task


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return build(tmp_path_factory.mktemp("cutoff"), *tasks(), files=FILES)


@pytest.fixture
def built(template, tmp_path, alone):
    return copy(template, tmp_path / "shop", alone)


def test_a_comment_leaves_those_behind_it_done(built):
    copied = copy(built.root, built.root.parent / "said", built.home)
    said = copied.runner("change", "TASK-001", "clarify the rule", "--yes").out
    assert "runner approve TASK-001\ndependents are re-tested, and rebuilt only if" in said
    told = copied.runner("why", "TASK-003").out
    assert "once TASK-002 is DONE with the same interface, TASK-003 is only re-tested" in told
    assert told.rstrip().endswith("`runner review TASK-001` shows what was built  (TASK-001)")

    since = changed(built, COMMENTED)
    said = built.run("--dry-run").out.splitlines()
    may = "may only be re-tested (early cut-off): "
    assert [line for line in said if line.startswith(may)] == [
        f"{may}TASK-002 API — if the interface of TASK-001 stays the same",
        f"{may}TASK-003 Page — if the interface of TASK-002 stays the same",
    ]
    seen = built.run("--dry-run", "--json").document
    assert seen["mayBeReleased"] == {"TASK-002": "TASK-001", "TASK-003": "TASK-002"}

    ended = built.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert set(built.statuses.values()) == {"DONE"}
    assert modes(built, since) == PROVEN
    assert built.landings == [*CHAIN, "TASK-001"]
    words = "TASK-001 was rebuilt and the interface of rules.py did not change"
    (approved,) = built.happened("task.approved", "TASK-002")
    assert (approved["by"], approved["note"], approved["reuse"]) == ("early cut-off", words, True)
    assert words in built.runner("why", "TASK-002").out
    assert words in built.read("artifacts/build/CHECKPOINT.md")
    assert "none of its files changed" in built.runner("why", "TASK-003").out


def test_other_exports_leave_those_behind_it_stale_until_a_person_approves(built):
    since = changed(built, ANOTHER)
    ended = built.run("--no-sandbox")
    assert ended.code == 3, ended.said
    assert [one for one, _ in modes(built, since)] == ["TASK-001"]
    assert list(built.statuses.values()) == ["DONE", "STALE", "STALE"]
    line = built.status_line("TASK-002")
    assert "TASK-001 was rebuilt and rules.py changes `def overlap(a, b, *, touching" in line
    assert "approve" in line
    count = len(built.happened("task.staled", "TASK-002"))
    built.run("--no-sandbox")
    assert len(built.happened("task.staled", "TASK-002")) == count
    built.runner("approve", "TASK-002", "--reuse")
    since = len(built.events)
    ended = built.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert modes(built, since) == [("TASK-002", "prove"), ("TASK-003", "prove")]


def test_one_that_the_change_names_itself_waits_for_a_person(built):
    since = changed(built, COMMENTED, "TASK-001", "TASK-002")
    assert built.run("--no-sandbox").code == 3
    assert list(built.statuses.values()) == ["DONE", "STALE", "STALE"]
    assert [one for one, _ in modes(built, since)] == ["TASK-001"]


def test_a_second_reason_that_came_later_holds_as_well(built):
    changed(built, COMMENTED)
    built.runner("change", "TASK-002", "say why", "--yes")
    built.edit_plan("## TASK-003: Page", "## TASK-003: The page")
    assert built.run("--no-sandbox").code == 3
    assert list(built.statuses.values()) == ["DONE", "STALE", "STALE"]
    built.runner("approve", "TASK-002", "--reuse")
    assert built.run("--no-sandbox").code == 3
    assert list(built.statuses.values()) == ["DONE", "DONE", "STALE"]


def test_a_change_that_breaks_what_is_only_proven_again_does_not_land(built):
    built.commit({"runner.toml": 'proof.regression = "halt"\n'})
    changed(built, TURNED)
    ended = built.run("--no-sandbox")
    assert ended.code == 4, ended.said
    assert list(built.statuses.values()) == ["BLOCKED", "STALE", "STALE"]
    note = "- Status: STALE — TASK-001 changed rules.py:2; TC-002 fails"
    assert built.status_line("TASK-002") == note
    assert "drop it: `runner reject TASK-001 --reason …`" in ended.out
    assert built.git("show", "HEAD:rules.py") == RULES.rstrip()
    built.runner("reject", "TASK-001", "--reason", "no")
    assert list(built.statuses.values()) == ["PENDING", "DONE", "STALE"]


def test_a_proof_that_fails_makes_it_stale_again_with_the_failure(built):
    since = changed(built, COMMENTED)
    built.commit({"api.py": API.replace("not ", "")})  # a person's, and quiet until it is proven
    ended = built.run("--no-sandbox")
    assert ended.code == 3, ended.said
    assert modes(built, since) == PROVEN[:2]
    assert list(built.statuses.values()) == ["DONE", "STALE", "STALE"]
    assert "but TC-002 failed" in built.status_line("TASK-002")
    since = len(built.events)
    assert built.run("--no-sandbox").code == 3
    assert modes(built, since) == []


def test_text_and_status_edited_together_is_change_and_approval_in_one(built):
    built.commit({"made/rules.py": COMMENTED})
    built.edit_plan("- Status: DONE", "- Status: PENDING")
    built.edit_plan("## TASK-001: Overlap rule", "## TASK-001: The rule of overlaps")
    since = len(built.events)
    ended = built.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert modes(built, since) == PROVEN
    assert built.happened("task.staled", "TASK-002")


EDITED = ("## TASK-001: Overlap rule", "## TASK-001: The rule of overlaps")


def at_terminal(place, *answers):
    """Edit the first task's section, run at a terminal, and answer whenever it asks."""
    place.commit({"made/rules.py": COMMENTED})
    place.edit_plan(*EDITED)
    python = (sys.executable, "-m", "runner", "run", "--trust", "--no-sandbox", "--review", "off")
    with Terminal(python, columns=120, cwd=place.root) as terminal:
        heard = terminal.until("or [l]eave stale? ")
        asked = terminal.said
        for number, answer in enumerate(answers):
            if number:
                heard = terminal.until("or [l]eave stale? ", after=heard)
            terminal.send(f"{answer}\n")
        return asked, terminal.wait()


def test_what_writes_nothing_is_proven_again_whatever_is_offered(tmp_path, alone):
    first, *_ = tasks()
    check = a_task("TASK-002", "All", needs=["TASK-001"], tests=["test -s rules.py"])
    root = build(tmp_path, first, check, files=FILES)
    built = copy(root, tmp_path / "copy", alone)
    since = changed(built, ANOTHER)
    ended = built.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert modes(built, since) == PROVEN[:2]


def test_one_rebuild_carries_all_that_it_shows(built, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    built.commit({"made/rules.py": ANOTHER})
    built.edit_plan(*EDITED)
    since = len(built.events)
    ended = built.run("--no-sandbox", "--rebuild", "--yes")
    assert ended.code == 0, ended.said
    again = "TASK-002 runs again — as requested: runner --rebuild (Ada); TASK-001 was rebuilt"
    assert again in ended.err
    assert set(built.statuses.values()) == {"DONE"}
    assert modes(built, since) == [("TASK-001", "build"), ("TASK-002", "build"), PROVEN[2]]
    (approved,) = built.happened("task.approved", "TASK-002")
    assert (approved["by"], approved["reuse"]) == ("person", False)
    assert "runner --rebuild (Ada)" in approved["note"]
    assert "rules.py changes `def overlap(a, b, *, touching" in approved["note"]


def test_at_a_terminal_an_edit_is_asked_about_at_once(built):
    since = len(built.events)
    asked, code = at_terminal(built, "r")
    assert "STALE TASK-001 The rule of overlaps: the task was edited since it was built" in asked
    assert "  STALE TASK-002 API: TASK-001 was edited; this task depends on TASK-001" in asked
    assert "  STALE TASK-003 Page: " in asked
    assert code == 0
    assert modes(built, since) == PROVEN
    assert built.read("rules.py") == COMMENTED


def test_at_a_terminal_it_may_stay_stale_or_be_kept_and_proven(built):
    since = len(built.events)
    left = copy(built.root, built.root.with_name("left"), built.home)
    assert at_terminal(left, "l")[1] == 3
    assert modes(left, since) == []
    assert set(left.statuses.values()) == {"STALE"}
    assert at_terminal(built, "x", "t")[1] == 0
    assert {mode for _, mode in modes(built, since)} == {"prove"}
    assert built.read("rules.py") == RULES
    assert set(built.statuses.values()) == {"DONE"}


def test_a_dry_run_promises_nothing_that_waits_for_a_person(built):
    built.edit_plan("TASK-002: API", "TASK-002: The API")  # is asked about itself
    built.runner("change", "TASK-001", "clarify the rule", "--yes")
    assert built.run("--dry-run", "--json").document["mayBeReleased"] == {}
    assert built.runner("approve", "TASK-001").code == 0
    assert built.run("--dry-run", "--json").document["mayBeReleased"] == {}


def test_an_edit_of_a_text_that_was_built_and_never_committed_shows_no_other_texts_difference(
    built, monkeypatch
):
    monkeypatch.delenv("CI", raising=False)
    built.commit({"made/rules.py": COMMENTED})
    built.edit_plan(*EDITED)
    assert built.run("--no-sandbox", "--rebuild").code == 0
    built.edit_plan(EDITED[1], f"{EDITED[1]} Again.")
    told = built.run("--no-sandbox").err
    assert f"-{EDITED[0]}" not in told
    assert "    no diff: the plan text of the last build was never committed" in told
    assert "    edited: " in told


def test_without_a_terminal_an_edit_is_shown_and_rebuild_is_the_approval(built, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    built.commit({"made/rules.py": COMMENTED})
    built.edit_plan(*EDITED)
    told = built.run("--no-sandbox")
    assert told.code == 3
    assert f"    -{EDITED[0]}\n    +{EDITED[1]}\n" in told.err, told.err
    assert "  STALE TASK-002 API: TASK-001 was edited" in told.err
    assert " in earlier attempts\n  next: `runner --rebuild` rebuilds it" in told.err
    monkeypatch.setenv("CI", "true")
    refused = built.run("--no-sandbox", "--rebuild")
    assert (refused.code, "runner --rebuild --yes" in refused.err) == (3, True)
    since = len(built.events)
    ended = built.run("--no-sandbox", "--rebuild", "--yes")
    assert ended.code == 0, ended.said
    assert f"    +{EDITED[1]}\n" in ended.err
    assert modes(built, since) == PROVEN
    (approved,) = [one for one in built.events[since:] if one["type"] == "task.approved"][:1]
    assert (approved["by"], approved["note"]) == ("person", "as requested: runner --rebuild (Ada)")


def test_what_nobody_builds_is_proven_again_as_it_is(workplace):
    fields = {"outputs": ["a.txt"], "tests": ["grep -q a a.txt"]}
    workplace.plan(a_task("TASK-001", command="echo a > a.txt", **fields))
    assert workplace.run().code == 0
    workplace.edit_plan("- Command: `echo a > a.txt`", "- Acceptance:\n  - it is so")
    workplace.commit()
    step = "next: `runner approve TASK-001 --reuse`, then `runner`, re-tests the existing code"
    ended = workplace.run()
    assert ended.said.count(step) == 2
    assert "--rebuild" not in ended.said
    workplace.edit_plan("Status: STALE", "Status: DONE")  # a word about an older section
    assert workplace.run().said.count(step) == 2
    assert step in workplace.runner("why", "TASK-001").said
    assert workplace.runner("approve", "TASK-001", "--reuse").code == 0
    assert workplace.run().code == 0
    assert workplace.statuses == {"TASK-001": "DONE"}


def test_no_command_leaves_a_file_or_a_pipe_open(workplace):
    workplace.write(FILES)
    workplace.plan(*tasks())
    assert workplace.run("--no-sandbox").code == 0
    changed(workplace, COMMENTED)
    before = len([*Path("/proc/self/fd").iterdir()])
    assert workplace.run("--no-sandbox").code == 0
    for words in (("impact", "made/rules.py"), ("why", "TASK-002"), ("status",), ("ownership",)):
        workplace.runner(*words)
    workplace.runner("undo", "TASK-003", "--yes")
    assert len([*Path("/proc/self/fd").iterdir()]) <= before
