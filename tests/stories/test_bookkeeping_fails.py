"""What one task leaves beside its commit cannot be kept: a warning, and the run goes on."""

import pytest
from workplace import PASSES, a_task

BUILD = "artifacts/build"
BRANCH = "draft/TASK-001-one"
FOLDERS = ("WRITE_LOG.jsonl", "SAST_FINDINGS.jsonl", "CHECKPOINT.md", "DECISIONS.md")
FILES = ("reports", "runs", "staged", "logs")


def fails_beside_others(text="one"):
    return (
        a_task("TASK-001", "One", blocks={"a.txt": text}, tests=["grep -q done a.txt"]),
        a_task("TASK-002", "Two", blocks={"b.txt": "b"}, tests=[PASSES]),
        a_task("TASK-003", "Three", needs=["TASK-002"], blocks={"c.txt": "c"}, tests=[PASSES]),
    )


def test_documents_that_cannot_be_written_are_warnings_and_independent_tasks_land(workplace):
    workplace.plan(*fails_beside_others())
    for name in FOLDERS:
        (workplace.root / BUILD / name / "in the way").mkdir(parents=True)
    workplace.write({f"{BUILD}/{name}": "" for name in FILES})
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
        ("branch", "-m", BRANCH, "mine"),
        ("branch", "-m", BRANCH, f"{BRANCH}/mine"),
        ("pack-refs", "--all", "--prune"),
    ],
    ids=["deleted", "renamed", "renamed below its own name", "packed"],
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
