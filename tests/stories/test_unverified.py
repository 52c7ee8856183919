"""Bytes that came by a side road are unverified until the task's proof has run on them."""

import pytest
from built import copy
from workplace import a_task

GOOD = "good\n"
ONE = a_task("TASK-001", "One", blocks={"one.txt": GOOD}, tests=["grep -q good one.txt"])
TWO = a_task(
    "TASK-002",
    "Two",
    needs=["TASK-001"],
    blocks={"two.txt": "two\n"},
    tests=["grep -q two two.txt"],
)
NOTE = "1 DONE task is unverified: TASK-001 (one.txt was changed since it was proven)"


@pytest.fixture
def built(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    workplace.plan(ONE)
    assert workplace.run().code == 0
    return workplace


def proofs_run(workplace):
    """How often the task's own contract ran, by how often it said what DONE rests on."""
    return len(workplace.happened("task.done", "TASK-001"))


def unverified(workplace):
    return {
        one["id"]
        for one in workplace.runner("status", "--json").document["tasks"]
        if one["status"] == "DONE" and not one["verified"]
    }


def add_two(workplace):
    workplace.write({"TASK-GRAPH.md": workplace.read("TASK-GRAPH.md") + "\n" + TWO})
    workplace.commit(message="more")


def test_bytes_that_a_person_edits_or_commits_are_unverified_until_a_run_proves_them(built):
    assert unverified(built) == set()
    assert built.run().said == "the one task is DONE; nothing to do\n"

    built.write({"one.txt": "good, and mine\n"})
    assert unverified(built) == {"TASK-001"}
    assert "one.txt was changed since it was proven" in built.runner("status").out
    said = built.runner("evidence", "TASK-001")
    assert "unproven: one.txt was changed since it was proven" in said.out
    assert "runner verify TASK-001" in said.out
    plain = built.run()
    assert (plain.code, NOTE in plain.err) == (0, True), plain.said
    built.git("checkout", "--", "one.txt")
    assert unverified(built) == set()
    assert built.run().said == "the one task is DONE; nothing to do\n"

    built.commit({"one.txt": "good, and mine\n"})
    assert unverified(built) == {"TASK-001"}
    ended = built.run()
    assert ended.code == 0, ended.said
    assert unverified(built) == set()
    assert built.run().said == "the one task is DONE; nothing to do\n"

    built.commit({"one.txt": "bad\n"})
    assert built.run().code == 4
    assert "STALE" in built.status_line("TASK-001")


def test_without_the_proof_at_the_end_they_are_proven_once_for_what_needs_them(built):
    built.commit({"one.txt": "good, and mine\n"})
    for _ in range(2):
        ended = built.run("--no-verify-at-end")
        assert (ended.code, NOTE in ended.err) == (0, True), ended.said
    assert unverified(built) == {"TASK-001"}

    # A task that is named is proven once for its bytes.
    for _ in range(2):
        ended = built.run("TASK-001", "--no-verify-at-end")
        assert ended.code == 0, ended.said
        assert unverified(built) == set()
        assert proofs_run(built) == 2
    assert len(built.happened("attempt.started")) == 1

    # What passes is built on, and proven once.
    built.commit({"one.txt": "good, and mine again\n"})
    add_two(built)
    ended = built.run("--no-verify-at-end")
    assert ended.code == 0, ended.said
    assert built.landings == ["TASK-001", "TASK-002"]
    assert proofs_run(built) == 3
    assert unverified(built) == set()


def test_nothing_is_built_on_bytes_that_do_not_pass(built):
    built.commit({"one.txt": "bad\n"})
    add_two(built)
    ended = built.run()
    assert ended.code == 3, ended.said
    assert built.landings == ["TASK-001"]
    assert "one.txt was changed since it was proven, and its re-test failed: TC-001" in ended.said
    assert "STALE" in built.status_line("TASK-001")


@pytest.mark.parametrize("there_before", [False, True])
def test_what_was_proven_together_before_a_task_landed_says_nothing_of_it(built, there_before):
    if there_before:
        built.commit({"two.txt": "of before\n"})
    assert built.run().code == 0  # all that there is, proven together
    add_two(built)
    assert built.run("--no-verify-at-end").code == 0
    assert unverified(built) == set()
    taken_back = built.git("log", "-1", "--format=%H", "--grep=Task: TASK-002").strip()
    built.git("revert", "--no-edit", taken_back)
    assert unverified(built) == {"TASK-002"}
    assert built.run().code != 0
    assert "STALE" in built.status_line("TASK-002")


def test_verify_and_ship_prove_them_and_keep_that(built):
    built.commit({"one.txt": "good, and mine\n"})
    assert built.runner("verify", "TASK-001", "--trust").code == 0
    assert unverified(built) == set()
    built.commit({"one.txt": "good, and mine again\n"})
    assert unverified(built) == {"TASK-001"}
    shipped = built.runner("ship", "--trust")
    assert shipped.code == 0, shipped.said
    assert unverified(built) == set()


def test_ship_refuses_a_task_that_a_person_called_done_and_that_is_not_there(
    workplace, monkeypatch
):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    workplace.plan(a_task("TASK-001", "One", status="DONE", outputs=["one.txt"], command="true"))
    assert workplace.run().code == 0
    shipped = workplace.runner("ship", "--trust")
    assert shipped.code == 3, shipped.said
    assert "one.txt" in shipped.err
    assert not workplace.git("tag")


def test_a_write_that_was_applied_by_hand_is_committed_without_the_old_proof(built, tmp_path):
    (tmp_path / "bad.txt").write_text("bad\n")
    staged = built.runner(
        "staged-write",
        "stage",
        "--task",
        "TASK-001",
        "--file",
        "one.txt",
        "--content",
        str(tmp_path / "bad.txt"),
    )
    id_ = staged.said.rsplit("show ", 1)[1].strip()
    assert built.runner("staged-write", "apply", id_).code == 0
    assert unverified(built) == {"TASK-001"}
    assert built.runner("commit-by-task").code == 0
    message = built.git("log", "-1", "--format=%B")
    assert "Task: TASK-001" in message
    assert "Proof:" not in message
    assert "Spec:" not in message
    assert unverified(built) == {"TASK-001"}
    clone = built.cloned()
    assert unverified(clone) == {"TASK-001"}


def test_what_a_colleague_built_anew_is_verified_and_not_built_again(built, tmp_path, alone):
    clone = built.cloned()
    clone.edit_plan("good\n```", "good and better\n```")
    clone.commit(message="better")
    assert clone.run().code == 3
    assert clone.runner("approve", "TASK-001").code == 0
    assert clone.run().code == 0
    assert clone.landings == ["TASK-001", "TASK-001"]

    pulled = copy(built.root, tmp_path / "pulled", alone)
    pull(pulled, clone)
    assert {one["status"] for one in statuses(pulled)} == {"DONE"}
    assert pulled.run("--no-verify-at-end").code == 0
    assert pulled.landings == ["TASK-001", "TASK-001"]
    assert len(pulled.happened("attempt.started")) == 1
    shown = pulled.runner("evidence", "TASK-001")
    assert "proven by command" in shown.out
    assert clone.git("log", "-1", "--format=%h", "--grep=Task: TASK-001").strip()[:7] in shown.out
    assert "nothing to do" in pulled.run().said

    # A merge of it with work of one's own is verified, too.
    built.commit({"mine.txt": "mine\n"})
    built.git("pull", "-q", "--no-rebase", "--no-edit", str(clone.root), "main")
    assert built.read("one.txt") == "good and better\n"
    assert unverified(built) == set()
    assert "- Status: DONE\n" in built.read("TASK-GRAPH.md")
    assert {one["status"] for one in statuses(built)} == {"DONE"}


def test_a_task_that_a_colleague_built_is_done_by_its_commit(built, tmp_path, alone):
    clone = built.cloned()
    add_two(clone)
    assert clone.run().code == 0

    def pulled(name, other, what="main"):
        place = copy(built.root, tmp_path / name, alone)
        pull(place, other, what)
        return place

    place = pulled("record", clone)
    two = statuses(place)[1]
    assert (two["status"], two["grade"], two["verified"]) == ("DONE", "proven", True)
    without_record = pulled("without", clone, "main~1")
    assert "PENDING" in without_record.status_line("TASK-002")
    for one in (place, without_record):
        assert one.run("--no-verify-at-end").code == 0
        assert one.landings == ["TASK-001", "TASK-002"]
        assert not one.happened("attempt.started", "TASK-002")
    assert place.runner("evidence", "TASK-002").code == 0

    # Bytes that the colleague changed since are unverified; a landing that was undone is none.
    changed = copy(clone.root, tmp_path / "changed", alone)
    changed.commit({"two.txt": "by hand\n"})
    assert unverified(pulled("unverified", changed)) == {"TASK-002"}
    assert clone.runner("undo", "TASK-002", "--reason", "no", "--yes").code == 0
    assert statuses(pulled("undone", clone))[1]["status"] != "DONE"


def pull(built, clone, what="main"):
    built.git("fetch", "-q", str(clone.root), "main")
    clone_at = clone.git("rev-parse", what).strip()
    built.git("merge", "-q", "--ff-only", clone_at)


def statuses(workplace):
    return workplace.runner("status", "--json").document["tasks"]
