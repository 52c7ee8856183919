"""Who is right, file or journal: each reading of a status, through real files and real git."""

import shutil

import pytest
from workplace import a_task

A = a_task(
    "TASK-001", "Makes a", outputs=["a.txt"], command="echo a > a.txt", tests=["grep a a.txt"]
)
B = a_task("TASK-002", "Makes b", needs=["TASK-001"], outputs=["b.txt"], command="cp a.txt b.txt")


@pytest.fixture
def built(workplace):
    """Both tasks are DONE."""
    workplace.plan(A, B)
    assert workplace.run().code == 0
    return workplace


def modes(workplace, id_="TASK-001"):
    return [one["mode"] for one in workplace.happened("attempt.started", id_)]


def test_only_an_edit_of_what_is_built_makes_a_finished_plan_run(built):
    before, head = built.everything(), built.head
    ended = built.run()
    assert (ended.code, ended.out) == (0, "all 2 tasks are DONE; nothing to do\n")
    assert built.head == head
    assert built.everything() == before

    # A new note or keyword makes nothing stale, and a new task is the only one that runs.
    built.edit_plan("- Status: DONE", "- Status: DONE — looks good to me")
    built.edit_plan("- Output files: `b.txt`", "- Keywords: new\n- Output files: `b.txt`")
    assert built.run().code == 0
    assert modes(built) == ["build"]
    assert built.status_line("TASK-001") == "- Status: DONE — looks good to me"
    text = built.read("TASK-GRAPH.md")
    more = a_task(
        "TASK-003", "Makes c", needs=["TASK-002"], outputs=["c.txt"], command="cp b.txt c.txt"
    )
    built.commit({"TASK-GRAPH.md": f"{text}\n{more}"})
    assert built.run().code == 0
    assert [one["task"] for one in built.happened("attempt.started")] == [
        "TASK-001",
        "TASK-002",
        "TASK-003",
    ]

    # A task that is taken out of the plan is forgotten, and a new title makes one stale.
    text = built.read("TASK-GRAPH.md")
    built.write({"TASK-GRAPH.md": text[: text.index("## TASK-003")]})
    assert built.run().code == 3
    assert built.run("--yes").code == 0
    assert built.statuses == {"TASK-001": "DONE", "TASK-002": "DONE"}
    built.edit_plan("TASK-002: Makes b", "TASK-002: Makes b, better")
    assert built.run().code == 3
    assert built.statuses["TASK-002"] == "STALE"


def test_an_edited_task_is_stale_and_waits_for_a_word(built):
    built.edit_plan("echo a > a.txt", "echo aa > a.txt")
    built.edit_plan("- Output files: `a.txt`", "- Output files: `a.txt`, `aa.txt`")
    built.git("commit", "-qam", "edit")
    ended = built.run()
    assert ended.code == 3
    assert built.status_line("TASK-001") == (
        "- Status: STALE — the task was edited since it was built: Output files, Command"
    )
    assert built.read("a.txt") == "a\n"
    assert built.run().code == 3
    built.edit_plan(built.status_line("TASK-001"), "- Status: PENDING")
    built.run()
    assert built.statuses["TASK-001"] == "DONE"
    assert built.read("a.txt") == "aa\n"


def test_an_edited_proof_is_proven_again_without_the_implementer(built):
    head = built.git("log", "-1", "--format=%H", "--grep=Task: TASK-001")
    built.edit_plan("grep a a.txt", "grep -c a a.txt")
    built.git("commit", "-qam", "edit")
    ended = built.run()
    assert ended.code == 0, ended.said
    assert modes(built) == ["build", "prove"]
    assert built.git("log", "-1", "--format=%H", "--grep=Task: TASK-001") == head
    assert built.run().out == "all 2 tasks are DONE; nothing to do\n"
    # One that fails lets the implementer try.
    built.edit_plan("grep -c a a.txt", "grep z a.txt")
    built.git("commit", "-qam", "edit")
    ended = built.run()
    assert ended.code == 1, ended.said
    assert modes(built)[2:4] == ["prove", "build"]


def test_a_clone_without_a_journal_adopts_what_the_commits_say(built):
    clone = built.cloned()
    ended = clone.run()
    assert ended.code == 0, ended.said
    assert modes(clone) == []
    adopted = clone.happened("task.adopted")
    assert [(one["task"], one["source"], one["verified"]) for one in adopted] == [
        ("TASK-001", "trailers", True),
        ("TASK-002", "trailers", True),
    ]
    assert [proof["id"] for proof in adopted[0]["proofs"]] == ["TC-001"]
    assert adopted[0]["commit"] in clone.git("log", "--format=%H")
    assert clone.head == built.head
    clone.edit_plan("echo a > a.txt", "echo aaa > a.txt")
    assert clone.run().code == 3
    assert clone.statuses["TASK-001"] == "STALE"


def test_a_check_adopted_in_a_clone_is_known_from_the_record_commit(workplace):
    workplace.plan(A, a_task("TASK-002", "Looks", needs=["TASK-001"], tests=["grep a a.txt"]))
    assert workplace.run().code == 0
    clone = workplace.cloned()
    assert clone.run().code == 0
    assert {one["task"]: one["verified"] for one in clone.happened("task.adopted")} == {
        "TASK-001": True,
        "TASK-002": True,
    }


def test_after_a_reset_to_before_everything_is_built_again(built):
    built.git("reset", "-q", "--hard", "HEAD~3")
    assert built.subjects == ["plan"]
    ended = built.run()
    assert ended.code == 0, ended.said
    assert built.landings == ["TASK-001", "TASK-002"]
    assert modes(built) == ["build", "build"]
    assert built.dirt == []


def test_after_a_reset_with_an_untracked_plan_what_is_gone_is_built_again(workplace):
    workplace.commit({"x.txt": "x\n"})
    workplace.plan(A, B, commit=False)
    assert workplace.run().code == 0
    workplace.git("reset", "-q", "--hard", "HEAD~2")
    assert workplace.status_line("TASK-001") == "- Status: DONE"
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert workplace.landings == ["TASK-001", "TASK-002"]


def test_a_revert_by_the_person_does_not_confuse_and_pending_rebuilds(built):
    built.git("revert", "--no-edit", built.git("log", "-1", "--format=%H", "--grep=Task: TASK-002"))
    assert not built.has("b.txt")
    assert built.run().code == 3
    assert modes(built, "TASK-002") == ["build"]
    stale = "- Status: STALE — b.txt was deleted since it was proven"
    assert built.status_line("TASK-002") == stale
    built.edit_plan(stale, "- Status: PENDING")
    assert built.run().code == 0
    assert built.read("b.txt") == "a\n"


def test_a_lost_journal_and_cache_are_made_again_from_the_commits(built):
    shutil.rmtree(built.home / "cache")
    (built.root / "artifacts/build/journal.jsonl").unlink()
    ended = built.run()
    assert ended.code == 0, ended.said
    assert modes(built) == []


def test_crlf_tabs_and_a_byte_order_mark_survive_a_run(workplace):
    text = "\ufeff# Shop\r\n\r\n" + A.replace("\n", "\r\n") + "\r\n\t\r\nEnd \t\r\n"
    workplace.commit({"TASK-GRAPH.md": text.encode()})
    assert workplace.run().code == 0
    made = (workplace.root / "TASK-GRAPH.md").read_bytes().decode()
    assert made == text.replace("- Status: PENDING", "- Status: DONE")
    assert workplace.dirt == []
