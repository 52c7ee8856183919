"""A waiver goes with the commits: another clone says what a person said of these very bytes."""

import pytest
from workplace import a_task

REASON = "tried by hand"
WAIVED = ("waived", REASON)


def grade(place, id_="TASK-001"):
    listed = place.runner("list", "--json").document["tasks"]
    return next((one["grade"], one["gradeReason"]) for one in listed if one["id"] == id_)


def waive(place, id_="TASK-001"):
    ended = place.runner("waive", id_, "--reason", REASON)
    assert ended.code == 0, ended.said


@pytest.fixture
def built(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"c.py": "C = 1\n"}),
        a_task("TASK-002", blocks={"d.py": "D = 1\n"}),
    )
    assert workplace.run().code == 0
    return workplace


def line_of(place):
    return place.git("log", "-1", "--format=%(trailers:key=Waived)").strip()


def test_the_record_commit_tells_every_clone_of_these_bytes_and_words(built):
    waive(built)
    assert line_of(built).startswith("Waived: TASK-001 sha256:")
    assert line_of(built).endswith(REASON)
    other = built.cloned()
    assert grade(other) == WAIVED
    assert grade(other, "TASK-002")[0] == "unproven"
    assert other.run().code == 0
    assert grade(other) == WAIVED
    assert other.status_line("TASK-001") == f"- Status: DONE — waived: {REASON}"
    assert other.dirt == []

    # It ends with the bytes, and with the words of the task.
    other = built.cloned("edited")
    other.write({"c.py": "C = 2\n"})
    assert grade(other)[0] == "unproven"
    other.git("checkout", "c.py")
    other.edit_plan("## TASK-001: Work", "## TASK-001: Other work")
    assert grade(other)[0] != "waived"

    # A commit that the runner did not write so waives nothing: changed, or above other bytes.
    said = built.git("log", "-1", "--format=%B")
    built.git("commit", "-q", "--amend", "-m", said.replace(REASON, "trust me"))
    assert grade(built.cloned("changed"))[0] == "unproven"
    built.write({"c.py": "C = 4\n"})
    built.git("commit", "-q", "-a", "--amend", "-m", said)
    assert grade(built.cloned("copied"))[0] == "unproven"


@pytest.mark.parametrize("keeps_record", [True, False])
def test_what_is_pulled_is_heard_and_stays(built, keeps_record):
    built.git("commit", "-q", "--allow-empty", "-m", "what a colleague knows is not replaced")
    other = built.cloned()
    assert other.run().code == 0
    assert grade(other)[0] == "unproven"
    if not keeps_record:
        other.git("reset", "-q", "--hard", "origin/HEAD")
    waive(built)
    other.git("pull", "-q", *(["-X", "theirs"] if keeps_record else ["--ff-only"]), "--no-rebase")
    for _ in range(2):
        assert grade(other) == WAIVED
    assert other.run().code == 0
    assert other.status_line("TASK-001") == f"- Status: DONE — waived: {REASON}"
    assert grade(other) == WAIVED
    assert len(other.happened("task.waived")) == 1
    assert other.run().code == 0
    assert len(other.happened("task.waived")) == 1


def test_what_a_person_set_done_and_waived_is_told_too(workplace):
    workplace.plan(a_task("TASK-001", status="DONE", outputs=["c.py"]))
    workplace.write({"c.py": "C = 1\n"})
    workplace.git("add", "c.py")
    workplace.git("commit", "-q", "-m", "by hand")
    assert workplace.run().code == 0
    waive(workplace)
    assert grade(workplace.cloned()) == WAIVED


def test_bytes_that_nobody_committed_are_told_to_nobody(built):
    built.write({"c.py": "C = 3\n"})
    waive(built)
    assert grade(built) == WAIVED
    assert line_of(built) == ""
    assert grade(built.cloned())[0] == "unproven"
