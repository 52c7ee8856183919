"""A person saves the plan while a run works on what they edit: it does not land as it was asked."""

import pytest
from workplace import PASSES, a_task

OLD, NEW = "Write the time", "Write the date"
OTHER = "Read it back"
DRAFT = "draft/TASK-001-the-file"


def task(place, edit, **more):
    """An agent that takes a while, in which `edit` (a program for sed) is done to the plan."""
    save = f"sed -i '{edit}' {place.root}/TASK-GRAPH.md"
    command = f"test -e {place.root}/done || {save}; touch {place.root}/done; cp in.txt out.txt"
    more = {"outputs": ["out.txt"], "tests": ["test -s out.txt"], "prose": OLD} | more
    return a_task("TASK-001", "The file", command=command, **more)


@pytest.fixture
def place(workplace):
    workplace.write({"in.txt": "1\n", ".gitignore": "done\n"})
    return workplace


def planned(place, edit):
    after = a_task("TASK-002", "After", needs=["TASK-001"], tests=[PASSES])
    place.plan(task(place, edit), after)


EDIT = f"s/^{OLD}/{NEW}/"
ASK = f"s/^{OLD}/&\\n\\n!change the date, too/"


@pytest.mark.parametrize(
    ("edit", "words"), [(EDIT, "it was edited: prose"), (ASK, "!change the d")]
)
def test_new_work_is_pending_again_with_its_draft_kept(place, edit, words):
    planned(place, edit)
    ended = place.run("--no-sandbox")
    assert ended.code == 6, ended.said
    assert list(place.statuses.values()) == ["PENDING", "PENDING"]
    assert not place.has("out.txt")
    assert place.landings == []
    assert place.git("show", f"{DRAFT}:out.txt") == "1"
    (reopened,) = place.happened("task.reopened", "TASK-001")
    assert words in reopened["note"]
    assert DRAFT in reopened["note"]
    assert f"TASK-001 did not land — {reopened['note']}" in ended.err
    assert "no longer DONE" not in ended.said
    assert place.happened("plan.updated")[-1]["plan"].startswith("sha256:")
    assert len(place.happened("attempt.started")) == 1
    again = place.run("--no-sandbox")
    assert again.code == 0, again.said
    assert place.read("out.txt") == "1\n"
    assert ("CHANGE-001" in place.read("TASK-GRAPH.md")) == (edit == ASK)


def test_what_was_done_before_is_stale_and_waits(place):
    place.write({"done": ""})
    planned(place, EDIT)
    assert place.run("--no-sandbox").code == 0
    place.runner("change", "TASK-001", "again", "--yes")
    place.runner("approve", "TASK-001")
    place.commit({"in.txt": "2\n"})
    (place.root / "done").unlink()
    ended = place.run("--no-sandbox")
    assert ended.code == 3, ended.said
    assert list(place.statuses.values()) == ["STALE", "STALE"]
    assert "it was edited: prose" in place.status_line("TASK-001")
    assert place.read("out.txt") == "1\n"
    assert place.git("show", f"{DRAFT}:out.txt") == "2"
    # taken back, it leaves the change that was being built
    plan = place.read("TASK-GRAPH.md").replace(f"\n{NEW}\n", f"\n{OLD}\n")
    place.write({"TASK-GRAPH.md": plan})
    place.run("--no-sandbox")
    assert place.statuses["TASK-001"] == "STALE"
    assert place.read("out.txt") == "1\n"
    place.runner("approve", "TASK-001")
    place.run("--no-sandbox")
    assert place.statuses["TASK-001"] == "DONE"
    assert place.read("out.txt") == "2\n"


def test_a_task_that_is_edited_before_it_starts_waits_for_the_next_run(place):
    place.plan(
        task(place, "s/^## TASK-002: After/## TASK-002: Later/"),
        a_task("TASK-002", "After", needs=["TASK-001"], blocks={"two.txt": "2"}),
    )
    ended = place.run("--no-sandbox")
    assert ended.code == 6, ended.said
    assert list(place.statuses.values()) == ["DONE", "PENDING"]
    assert not place.happened("attempt.started", "TASK-002")


def test_what_a_person_saves_elsewhere_in_the_plan_stops_nobody(place):
    planned(place, "s/^# Shop/# The shop/")
    ended = place.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert "# The shop" in place.read("TASK-GRAPH.md")


def test_a_task_that_is_taken_out_of_the_plan_does_not_land(place):
    place.plan(
        task(place, "/^## TASK-001/,/^## TASK-002/{/^## TASK-002/!d}; s/, TASK-001//"),
        a_task("TASK-002", "Beside", blocks={"b.txt": "b"}),
    )
    ended = place.run("--no-sandbox", "-j", "1")
    assert ended.code == 6, ended.said
    assert "TASK-001" not in place.landings
    assert not place.has("out.txt")


def test_the_plan_of_another_branch_is_no_edit_of_this_one(place):
    place.plan(a_task("TASK-009", "Elsewhere", tests=[PASSES]))
    place.git("branch", "other")
    away = f"git -C {place.root} checkout -qf other"
    place.plan(
        a_task("TASK-001", "The file", outputs=["out.txt"], command=f"{away}; date > out.txt")
    )
    ended = place.run("--no-sandbox", "--allow-dirty")
    assert ended.code == 6, ended.said
    (blocked,) = place.happened("task.blocked")
    assert "the run began on main; HEAD is now other" in blocked["note"]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (f"s/^{OTHER}/{NEW}/", "it was edited: prose"),
        ("/^## TASK-002/,$d", "it was removed from the plan"),
    ],
)
def test_what_was_not_begun_for_an_edit_is_told_with_the_edit(place, edit, words):
    after = a_task("TASK-002", "After", needs=["TASK-001"], tests=[PASSES], prose=OTHER)
    place.plan(task(place, edit), after)
    ended = place.run("--no-sandbox")
    assert (ended.code, place.landings) == (6, ["TASK-001"]), ended.said
    said = f"TASK-002 is ready ({words} during this run): run `runner`"
    assert said in ended.said
    assert place.run("--no-sandbox").code == 0
