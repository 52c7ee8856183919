"""When a run commits its own documents: not before the person committed the plan, or never."""

import pytest
from workplace import PASSES, a_task

CHECK = a_task("TASK-001", "Check", tests=["grep -q shop README.md"])
MORE = a_task("TASK-002", "More", tests=["test -f README.md"])
BLOCKS = a_task("TASK-003", "Words", blocks={"words.py": "WORDS = 1\n"}, tests=["test -f words.py"])


def records(place):
    return [one for one in place.subjects if one == "chore(runner): record"]


def messages(place):
    return place.git("log", "--format=%B")


def test_what_a_plan_proved_before_it_was_committed_is_recorded_with_it(workplace):
    workplace.commit({"README.md": "# shop\n"})
    before = workplace.head
    workplace.plan(CHECK, commit=False)
    assert workplace.run("--no-sandbox").code == 0
    assert workplace.head == before, "nobody committed the plan"
    assert workplace.statuses == {"TASK-001": "DONE"}
    workplace.git("add", "TASK-GRAPH.md")
    workplace.git("commit", "-qm", "plan")
    workplace.plan(CHECK.replace("PENDING", "DONE"), MORE)
    assert workplace.run("--no-sandbox").code == 0
    assert len(records(workplace)) == 1
    assert "Checked: TASK-001 " in messages(workplace)
    assert "Checked: TASK-002 " in messages(workplace)
    clone = workplace.cloned()
    assert clone.runner("evidence", "1").code == 0


def test_it_is_recorded_by_a_run_that_has_nothing_else_to_do(workplace):
    workplace.commit({"README.md": "# shop\n"})
    workplace.plan(CHECK, commit=False)
    workplace.run("--no-sandbox")
    workplace.commit(message="plan")
    workplace.run("--no-sandbox")
    assert "Checked: TASK-001 " in messages(workplace)
    workplace.run("--no-sandbox")
    assert messages(workplace).count("Checked: TASK-001 ") == 1


def test_never_leaves_what_tasks_wrote_alone_in_commits(workplace):
    workplace.commit({"README.md": "# shop\n", "runner.toml": 'git.record = "never"\n'})
    workplace.plan(CHECK, BLOCKS)
    assert workplace.run("--no-sandbox").code == 0
    assert records(workplace) == []
    assert len(workplace.landings) == 1
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-003": "DONE"}
    assert workplace.run("--no-sandbox").code == 0
    assert len(workplace.landings) == 1  # nothing is built twice


def test_after_never_the_end_of_a_run_tells_all_of_it(workplace):
    workplace.commit({"README.md": "# shop\n", "runner.toml": 'git.record = "never"\n'})
    workplace.plan(CHECK)
    workplace.run("--no-sandbox")
    workplace.plan(CHECK.replace("PENDING", "DONE"), MORE)
    workplace.run("--no-sandbox")
    workplace.commit({"runner.toml": 'git.record = "end"\n'})
    workplace.plan(
        CHECK.replace("PENDING", "DONE"),
        MORE.replace("PENDING", "DONE"),
        a_task("TASK-004", "Last", tests=["true"]),
    )
    workplace.run("--no-sandbox")
    told = messages(workplace)
    assert [told.count(f"Checked: TASK-00{one} ") for one in (1, 2, 4)] == [1, 1, 1]


def test_runs_that_build_nothing_leave_no_record(workplace):
    workplace.commit({"README.md": "# shop\n"})
    fails = [a_task(f"TASK-00{one}", "Check", tests=[f"test -f {one}.txt"]) for one in (1, 2)]
    workplace.plan(*fails, BLOCKS)
    before = workplace.head
    assert workplace.run("1", "--no-sandbox").code == 1
    assert workplace.run("2", "--no-sandbox").code == 1
    assert workplace.head == before
    assert workplace.statuses["TASK-002"] == "BLOCKED"
    assert workplace.run("3", "--no-sandbox").code == 0
    assert len(records(workplace)) == 1
    assert workplace.dirt == []
    recorded = workplace.head
    assert workplace.runner("retry", "1").code == 1
    assert workplace.runner("verify", "--all").code == 0
    assert workplace.run("--no-sandbox").code in (0, 1, 3)
    assert workplace.head == recorded
    clone = workplace.cloned()
    told = clone.runner("status", "--json").document["tasks"]
    assert [one["status"] for one in told] == ["BLOCKED", "BLOCKED", "DONE"]


def test_a_run_after_a_kill_records_what_landed_before_it(workplace):
    workplace.commit({"README.md": "# shop\n"})
    workplace.plan(BLOCKS)
    assert workplace.run("--no-sandbox").code == 0
    workplace.git("reset", "-q", "--mixed", "HEAD~1")
    assert records(workplace) == []
    workplace.run("--no-sandbox", "3")
    assert workplace.git("show", "HEAD:TASK-GRAPH.md").count("Status: DONE") == len(
        records(workplace)
    )


# --- when they cannot be written -----------------------------------------------------------------

BUILD = "artifacts/build"
BRANCH = "draft/TASK-001-one"
TAKEN_FOLDERS = ("WRITE_LOG.jsonl", "SAST_FINDINGS.jsonl", "CHECKPOINT.md", "DECISIONS.md")
TAKEN_FILES = ("reports", "runs", "staged", "logs")


def fails_beside_others(text="one"):
    return (
        a_task("TASK-001", "One", blocks={"a.txt": text}, tests=["grep -q done a.txt"]),
        a_task("TASK-002", "Two", blocks={"b.txt": "b"}, tests=[PASSES]),
        a_task("TASK-003", "Three", needs=["TASK-002"], blocks={"c.txt": "c"}, tests=[PASSES]),
    )


def test_documents_that_cannot_be_written_are_warnings_and_independent_tasks_land(workplace):
    workplace.plan(*fails_beside_others())
    for name in TAKEN_FOLDERS:
        (workplace.root / BUILD / name / "in the way").mkdir(parents=True)
    workplace.write({f"{BUILD}/{name}": "" for name in TAKEN_FILES})
    workplace.write({".git/refs/runner": ""})
    ended = workplace.run()
    assert ended.code == 1, ended.said
    assert workplace.statuses == {"TASK-001": "BLOCKED", "TASK-002": "DONE", "TASK-003": "DONE"}
    warned = [line for line in ended.said.splitlines() if "warning: " in line]
    for about in ("WRITE_LOG.jsonl", "CHECKPOINT.md", "work on a draft branch", "summary of"):
        assert sum(about in line for line in warned) == 1, ended.said


@pytest.mark.parametrize(
    "words",
    [
        ("branch", "-D", BRANCH),
        ("branch", "-m", BRANCH, f"{BRANCH}/mine"),
    ],
    ids=["deleted", "renamed below its own name"],
)
def test_whatever_became_of_a_draft_branch_the_next_run_keeps_its_work_and_goes_on(
    workplace, words
):
    workplace.plan(*fails_beside_others()[:1])
    assert workplace.run().code == 1
    workplace.git(*words)
    workplace.plan(*fails_beside_others("two"))
    ended = workplace.run()
    assert ended.code == 1, ended.said
    assert workplace.statuses == {"TASK-001": "BLOCKED", "TASK-002": "DONE", "TASK-003": "DONE"}
    drafts = workplace.git("for-each-ref", "--format=%(refname:short)", "refs/heads/draft")
    kept = [workplace.git("show", f"{one}:a.txt") for one in drafts.splitlines()]
    assert "two" in kept
    workplace.plan(*fails_beside_others("done"))
    assert workplace.run().code == 0
