"""A held change that breaks others, and what it rests on is taken back: it is let go."""

import pytest
from workplace import a_task

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
    assert halted.status_line("TASK-004") == "- Status: PENDING — came after TASK-001"
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
    assert (
        "next: `runner approve TASK-003` keeps it, `runner reject TASK-004"
        in halted.runner("why", "4").out
    )
    assert halted.runner("reject", "TASK-004", "--reason", "keep them apart").code == 0
    (shown,) = (one for one in halted.runner("status").out.splitlines() if one[:8] == "TASK-004")
    assert "PENDING " in shown
    assert "rejected" in shown
    assert "waits for you to approve" not in shown


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
    assert "TASK-001 was undone; this depends on TASK-001" in halted.status_line("TASK-003")
