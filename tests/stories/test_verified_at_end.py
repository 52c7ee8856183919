"""When all is DONE, it is proven once more together: each part was, alone, on another tree."""

import signal
import time

from workplace import a_task

ALONE = "test ! -f b.txt"


def two(first_test):
    return (
        a_task("TASK-001", blocks={"a.txt": "a"}, tests=[first_test]),
        a_task("TASK-002", blocks={"b.txt": "b"}, needs=["TASK-001"], tests=["test -f b.txt"]),
    )


def verifications(workplace):
    return [(one["passed"], one["ran"]) for one in workplace.happened("tree.verified")]


def test_what_fails_only_together_makes_its_owner_stale_and_names_the_last_landing(workplace):
    workplace.plan(*two(ALONE))
    ended = workplace.run()
    assert ended.code == 4
    assert workplace.statuses == {"TASK-001": "STALE", "TASK-002": "DONE"}
    last = workplace.git("log", "--format=%H", "--grep=Task: TASK-002")[:12]
    line = workplace.status_line("TASK-001")
    assert f"STALE — TC-001 fails on the whole tree, last landed TASK-002 ({last})" in line
    assert "the whole tree, tested together, fails:\n  TASK-001: TC-001" in ended.err
    assert f"TC-001: `{ALONE}` ended with exit code 1" in ended.err
    assert verifications(workplace) == [(False, 1)]
    assert workplace.dirt == []


def test_what_a_person_committed_since_its_proof_is_named_beside_what_landed(workplace):
    workplace.plan(*two("test ! -f mine.txt"))
    assert workplace.run("TASK-001").code == 0
    workplace.commit({"mine.txt": "mine"}, message="chore: what is mine")
    mine = workplace.git("rev-parse", "HEAD")[:12]
    ended = workplace.run()
    assert ended.code == 4, ended.said
    last = workplace.git("log", "--format=%H", "--grep=Task: TASK-002")[:12]
    said = f"last landed TASK-002 ({last}), committed outside runner: {mine} (chore: what is mine)"
    assert said in workplace.status_line("TASK-001")


def test_what_landed_before_the_last_proven_tree_is_no_cause(workplace):
    check = a_task("TASK-003", needs=["TASK-002"], tests=["test -f b.txt"])
    workplace.plan(*two("test ! -f mine.txt"), check)
    assert workplace.run().code == 0
    workplace.edit_plan("test -f b.txt", "test -s b.txt")
    workplace.commit({"mine.txt": "mine"}, message="chore: what is mine")
    ended = workplace.run()
    line = workplace.status_line("TASK-001")
    assert ended.code == 4, ended.said
    assert "fails on the whole tree, committed outside runner: " in line
    assert "(chore: what is mine)" in line
    assert "last landed" not in line


def test_later_work_brings_all_that_came_before_to_proof(workplace):
    workplace.plan(two("test -f a.txt")[0])
    assert workplace.run().code == 0
    workplace.plan(workplace.read("TASK-GRAPH.md"), two("")[1])
    assert workplace.run().code == 0
    assert verifications(workplace) == [(True, 0), (True, 1)]


def test_it_waits_until_all_is_done_and_can_be_left_out(workplace):
    workplace.plan(*two(ALONE))
    assert workplace.run("TASK-001").code == 0
    assert verifications(workplace) == []
    assert workplace.run("--no-verify-at-end").code == 0
    assert verifications(workplace) == []


def test_it_can_be_interrupted(workplace):
    workplace.plan(*two(f"{ALONE} || sleep 60"))
    process = workplace.start("run", "--trust")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        time.sleep(0.1)
        if workplace.has("artifacts/build/journal.jsonl") and workplace.happened(
            "task.done", "TASK-002"
        ):
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "DONE"}
    assert workplace.happened("run.finished")[-1]["exit"] == 130
    assert verifications(workplace) == []


def test_a_gate_that_was_red_before_anybody_began_is_nobodys_fault(workplace):
    workplace.commit({"runner.toml": '[gates]\nlint = "false"\n', "old.txt": "old"})
    workplace.plan(*two("test -f a.txt"))
    ended = workplace.run()
    assert (ended.code, workplace.statuses) == (0, {"TASK-001": "DONE", "TASK-002": "DONE"})
    assert verifications(workplace)[-1][0] is True
    assert workplace.runner("verify", "--all").code == 0
    assert "⚠ gate:lint" in workplace.runner("verify", "1").out


def test_what_is_done_on_a_persons_word_and_fails_its_proof_is_built_on_by_nobody(workplace):
    first, second = two("false")
    workplace.plan(first.replace("Status: PENDING", "Status: DONE"), second)
    ended = workplace.run()
    assert ended.code == 3
    assert "only a person marked it DONE, and its re-test failed: TC-001" in ended.said
    assert workplace.statuses == {"TASK-001": "STALE", "TASK-002": "PENDING"}
    assert workplace.landings == []


NOT_SINCE = "note: not verified as a whole since "


def test_a_run_with_nothing_to_do_tells_what_is_known_of_this_very_tree(workplace):
    workplace.write({"b.txt": "good\n"})
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}, tests=("grep -q good b.txt",)))
    assert workplace.run("--no-sandbox").code == 0
    assert workplace.run().said == "the one task is DONE; nothing to do\n"

    workplace.commit({"b.txt": "bad\n"})
    after = workplace.run("--no-sandbox")  # it looks at the commit, and builds nothing
    assert (after.code, NOT_SINCE in after.err) == (0, True)
    assert workplace.run().err.startswith(NOT_SINCE)

    assert workplace.runner("verify", "--all", "--trust", "--sandbox", "none").code == 1
    assert workplace.statuses == {"TASK-001": "STALE"}
    assert workplace.run().code == 3

    workplace.commit({"b.txt": "good\n"})  # the tree that was proven, by another commit
    assert workplace.runner("approve", "TASK-001").code == 0
    assert workplace.run("--no-sandbox").code == 0
    assert "verif" not in workplace.run().err
