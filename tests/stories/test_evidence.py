"""What DONE rests on, told by the journal, and in a clone by the commits alone."""

import pytest
from workplace import a_task

PLAN = (
    a_task("TASK-001", "Base", blocks={"a.txt": "a"}, tests=["echo 3 passed in 0.1s"]),
    a_task(
        "TASK-002",
        "Check",
        needs=["TASK-001"],
        tests=["test -f a.txt"],
        fields=["Gates:\n  - same: `grep -q a a.txt`"],
    ),
)


@pytest.fixture
def built(workplace):
    workplace.plan(*PLAN)
    assert workplace.run().code == 0
    return workplace


def cloned(workplace):
    """The same repository as somebody else gets it: the journal stays behind."""
    clone = workplace.cloned()
    assert not clone.has("artifacts/build/journal.jsonl")
    return clone


def evidence(workplace, id_):
    ended = workplace.runner("evidence", id_, "--json")
    assert ended.code == 0, ended.said
    return ended.document


def test_everything_that_done_rests_on_is_told_by_the_journal(built):
    said = evidence(built, "1")
    assert (said["task"], said["status"], said["standing"]) == ("TASK-001", "DONE", "current")
    told = said["evidence"]
    assert told["source"] == "journal"
    assert told["commit"] == built.git("log", "--format=%H", "--grep=Task: TASK-001")
    assert told["tree"] == built.git("rev-parse", f"{told['commit']}^{{tree}}")
    assert (told["attempt"], told["review"], told["lacks"]) == (1, "off", [])
    (proof,) = told["proofs"]
    assert proof["command"] == "echo 3 passed in 0.1s"
    assert (proof["exit"], proof["verdict"]) == (0, "pass")
    assert proof["output"].startswith("sha256:")
    # A task that was edited since keeps it.
    built.edit_plan("Check\n", "Check it\n")
    said = built.runner("evidence", "TASK-002")
    assert said.code == 0
    assert (
        "STALE, proven by command; the task has changed since\nproven by the runner: " in said.out
    )


def test_a_clone_without_the_journal_agrees_in_all_that_the_trailers_carry(built):
    clone = cloned(built)
    for id_ in ("TASK-001", "TASK-002"):
        mine, theirs = evidence(built, id_), evidence(clone, id_)
        assert (theirs["status"], theirs["standing"]) == (mine["status"], mine["standing"])
        mine, theirs = mine["evidence"], theirs["evidence"]
        assert theirs["source"] == "trailers"
        for name in ("verified", "attempt", "commit", "tree", "spec", "review", "tools"):
            assert theirs[name] == mine[name], (id_, name)
        for ours, other in zip(mine["proofs"], theirs["proofs"], strict=True):
            for name in ("id", "kind", "command", "level", "verdict", "exit", "output", "counts"):
                assert other[name] == ours[name], (id_, name)
            assert other["seconds"] == pytest.approx(ours["seconds"], abs=0.006)
        assert "the logs of the task's commands" in theirs["lacks"]
    # As text it says where it comes from.
    said = built.runner("evidence", "TASK-001").out
    assert "recorded in the journal" in said
    assert "$ echo 3 passed in 0.1s" in said
    said = clone.runner("evidence", "TASK-002").out
    assert "recorded in commit" in said
    assert "Commit          none: the task changed no file" in said
    assert "missing from the commit's trailers:" in said


def test_a_project_s_gate_is_not_the_task_s_own_to_tell(workplace):
    workplace.commit({"runner.toml": '[gates]\nlint = "true"\n'})
    workplace.plan(PLAN[0])
    assert workplace.run().code == 0
    told = evidence(cloned(workplace), "1")["evidence"]
    gate = next(proof for proof in told["proofs"] if proof["id"] == "gate:lint")
    assert gate["command"] == ""
    assert "the commands of some proofs" in told["lacks"]


def test_a_task_nobody_proved_has_none(workplace):
    workplace.plan(a_task("TASK-001", status="DONE", blocks={"a.txt": "a"}), a_task("TASK-002"))
    ended = workplace.runner("evidence", "TASK-001")
    assert ended.code == 1
    assert "no evidence for TASK-001: it is DONE without a proof" in ended.err
    ended = workplace.runner("evidence", "TASK-002", "--json")
    assert (ended.code, ended.document["evidence"]) == (1, None)
