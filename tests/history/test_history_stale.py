"""A STALE task is looked at, approved, reused or left standing; edits by hand reach dependents."""

import pytest
from workplace import PASSES, a_task


@pytest.fixture
def pair(workplace):
    """TASK-002 depends on TASK-001, whose command is not the same twice."""
    workplace.plan(
        a_task(
            "TASK-001",
            "Rule",
            outputs=["r.txt"],
            command="date +%N > r.txt",
            tests=["test -s r.txt"],
        ),
        a_task("TASK-002", "Api", needs=["TASK-001"], blocks={"b.txt": "b\n"}),
        a_task("TASK-003", "Alone", blocks={"c.txt": "c\n"}),
    )
    ended = workplace.run()
    assert ended.code == 0, ended.said
    return workplace


def test_review_shows_what_was_built_its_tests_and_the_change(pair):
    pair.runner("change", "TASK-001", "dates are UTC", "--yes")
    said = pair.runner("review", "TASK-001").out
    assert "requested since the build: CHANGE-001 (" in said
    assert "TC-001 (unit): test -s r.txt" in said
    assert "built as " in said
    assert pair.read("r.txt").strip() in said
    (one,) = pair.runner("review", "TASK-001", "--json").document["waiting"]
    assert (one["kind"], one["tests"][0]["id"]) == ("stale", "TC-001")
    assert one["asked"][0].startswith("CHANGE-001 ")


def test_approved_it_is_built_anew_and_the_brief_has_the_old_code_and_the_change(pair):
    there = pair.read("r.txt")
    pair.runner("change", "TASK-001", "dates are UTC", "--yes")
    pair.runner("approve", "TASK-001")
    brief = pair.runner("brief", "TASK-001").out
    assert "## What this task built before" in brief
    assert f"+{there.strip()}" in brief
    assert "dates are UTC" in brief
    pair.run()
    assert pair.read("r.txt") != there
    assert pair.statuses["TASK-001"] == "DONE"


def test_approved_with_reuse_the_old_bytes_are_only_proven_again(pair):
    there, count = pair.read("r.txt"), len(pair.events)
    pair.runner("change", "TASK-001", "dates are UTC", "--yes")
    said = pair.runner("approve", "TASK-001", "TASK-002", "--reuse")
    assert said.code == 0, said.said
    ended = pair.run()
    assert ended.code == 0, ended.said
    assert pair.read("r.txt") == there
    modes = [one["mode"] for one in pair.events[count:] if one["type"] == "attempt.started"]
    assert modes == ["prove", "prove"]
    assert pair.landings.count("TASK-001") == 1


def test_reuse_is_for_stale_tasks_alone(workplace):
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="false"))
    workplace.run()
    said = workplace.runner("approve", "TASK-001", "--reuse")
    assert said.code == 2
    assert "--reuse applies to STALE tasks only, not to TASK-001" in said.err


def test_a_rejected_change_leaves_what_was_built_standing(pair):
    pair.runner("change", "TASK-002", "in two files", "--yes")
    said = pair.runner("reject", "TASK-002", "--reason", "not now")
    assert said.code == 0, said.said
    ended = pair.run()
    assert ended.code == 0, ended.said
    assert pair.statuses["TASK-002"] == "DONE"
    assert pair.landings.count("TASK-002") == 1


def test_an_edit_by_hand_makes_it_and_its_dependents_stale_with_the_fields(pair):
    pair.edit_plan("date +%N", "date +%s%N")
    ended = pair.run()
    assert ended.code == 3, ended.said
    assert pair.status_line("TASK-001").endswith("the task was edited since it was built: Command")
    assert pair.status_line("TASK-002") == (
        "- Status: STALE — TASK-001 was edited; this task depends on TASK-001"
    )
    assert pair.statuses["TASK-003"] == "DONE"
    first, second = pair.happened("task.staled")
    assert (first["fields"], second["cause"]) == (["Command"], first["id"])


def test_status_says_so_before_any_run(pair):
    pair.edit_plan("date +%N", "date +%s%N")
    assert [pair.statuses[f"TASK-00{n}"] for n in (1, 2, 3)] == ["STALE", "STALE", "DONE"]


def test_text_and_status_edited_together_are_change_and_approval_in_one(pair):
    there = pair.read("r.txt")
    pair.edit_plan("date +%N", "date +%s%N")
    pair.edit_plan("- Status: DONE", "- Status: PENDING")
    pair.commit()
    pair.run()
    assert pair.read("r.txt") != there
    assert pair.statuses["TASK-001"] == "DONE"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# Shop\n", "# Shop\n\nMore words outside of tasks.\n"),
        ("- Depends on: TASK-001", "- Keywords: more\n- Depends on: TASK-001"),
    ],
)
def test_words_outside_and_keywords_have_no_effect(pair, old, new):
    pair.edit_plan(old, new)
    assert pair.run().code == 0
    assert pair.happened("task.staled") == []


def test_reordering_and_adding_have_no_effect(pair):
    title, *tasks = pair.read("TASK-GRAPH.md").split("## TASK-")
    more = a_task("TASK-004", tests=[PASSES]).removeprefix("## TASK-")
    pair.write({"TASK-GRAPH.md": "## TASK-".join([title, tasks[2], *tasks[:2], more])})
    ended = pair.run()
    assert ended.code == 0, ended.said
    assert pair.happened("task.staled") == []


def without(place, id_):
    title, *tasks = place.read("TASK-GRAPH.md").split("## TASK-")
    kept = [task for task in tasks if not task.startswith(id_[-3:])]
    place.write({"TASK-GRAPH.md": "## TASK-".join([title, *kept])})


def test_a_done_task_that_is_gone_is_asked_about_once(pair):
    without(pair, "TASK-003")
    ended = pair.run()
    assert ended.code == 3
    assert "TASK-003 was DONE and is no longer in the plan; nothing has run" in ended.err
    assert pair.run("--yes").code == 0
    assert pair.run().code == 0
    assert pair.has("c.txt")


def test_a_pending_task_that_is_gone_is_not_missed(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "a\n"}), a_task("TASK-002", outputs=["b.txt"])
    )
    workplace.run()
    without(workplace, "TASK-002")
    assert workplace.run().code == 0


# --- a held change that breaks others -------------------------------------------------


RULE = "rules.txt"
NEEDS = ["TASK-001"]
TESTS = ["grep -qx apart " + RULE]
BUILT = (
    a_task("TASK-001", "Rule", blocks={RULE: "apart\n"}),
    a_task("TASK-002", "API", needs=NEEDS, blocks={"api.txt": "a"}, tests=TESTS),
    a_task("TASK-003", "Web", needs=NEEDS, blocks={"web.txt": "w"}, tests=TESTS),
)
CHANGE = a_task("TASK-004", "Touching", needs=NEEDS, blocks={RULE: "touching\n"})
DRAFT = "draft/TASK-004-touching"


@pytest.fixture
def halted(workplace):
    """TASK-004 is held, since it breaks TASK-002 and TASK-003."""
    workplace.plan(*BUILT)
    assert workplace.run("--no-sandbox").code == 0
    workplace.plan(*(task.replace("PENDING", "DONE") for task in BUILT), CHANGE)
    assert workplace.run("--no-sandbox").code == 4
    return workplace


def test_a_replay_lets_it_go_and_the_run_goes_on_from_there(halted):
    halted.runner("approve", "TASK-003")
    said = halted.runner("replay", "TASK-001", "--yes")
    assert said.code == 0, said.said
    assert halted.statuses == dict(
        zip(halted.statuses, ("DONE", "PENDING", "PENDING", "PENDING"), strict=True)
    )
    assert halted.status_line("TASK-004") == "- Status: PENDING — undone by going back to TASK-001"
    assert halted.git("branch", "--list", DRAFT)
    ended = halted.run("--reuse", "--no-sandbox")
    assert ended.code in (1, 4), ended.said  # it is built anew, on whatever has landed by then
    built = [id_ for id_, status in halted.statuses.items() if status in ("DONE", "STALE")]
    files = {"TASK-001": RULE, "TASK-002": "api.txt", "TASK-003": "web.txt"}
    assert all(halted.has(files.get(id_, RULE)) for id_ in built)


def test_what_was_taken_back_is_not_done_by_a_rejection(halted):
    halted.runner("replay", "TASK-001", "--yes")
    assert halted.runner("reject", "TASK-004", "--reason", "no").code != 0
    assert [*halted.statuses.values()] == ["DONE", "PENDING", "PENDING", "PENDING"]


def test_a_rejected_change_says_so_and_what_is_approved_is_not_asked_for_again(halted):
    halted.runner("approve", "TASK-002")
    step = "next: `runner approve TASK-003` keeps the change, `runner reject TASK-004"
    assert step in halted.runner("why", "4").out
    assert halted.runner("reject", "TASK-004", "--reason", "keep them apart").code == 0
    (shown,) = (one for one in halted.runner("status").out.splitlines() if one[:8] == "TASK-004")
    assert "PENDING " in shown
    assert "rejected" in shown
    assert "approve or reject this change" not in shown


def test_an_undo_of_what_it_breaks_lets_it_go(halted):
    said = halted.runner("undo", "TASK-002", "--yes")
    assert said.code == 0, said.said
    assert [*halted.statuses.values()] == ["DONE", "PENDING", "DONE", "PENDING"]
    assert halted.status_line("TASK-004").endswith(
        "its held change needs TASK-002, which was undone"
    )


def test_an_undo_of_what_all_of_them_need_leaves_none_of_them_done(halted):
    said = halted.runner("undo", "TASK-001", "--yes")
    assert said.code == 0, said.said
    assert [*halted.statuses.values()] == ["PENDING", "STALE", "STALE", "PENDING"]
    assert "TASK-001 was undone; this task depends on TASK-001" in halted.status_line("TASK-003")
