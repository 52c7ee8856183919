"""A person edits the plan while a held change and its victims are built together."""

import pytest
from workplace import a_task

RULE = "rules.txt"
READS = f"grep -qx apart {RULE}"
BEARS = f"test -s {RULE}"


def save(place, edit):
    """What edits the plan once, with a program for sed, while a task is worked on."""
    mark = place.root / "saved"
    return f"test -e {mark} || sed -i '{edit}' {place.root}/TASK-GRAPH.md; touch {mark}"


def first(place, edit):
    api = f"test ! -e {place.root}/go || {{ {save(place, edit)}; }}; echo api >> api.txt"
    return (
        a_task("TASK-001", "Rule", blocks={RULE: "apart\n"}),
        a_task(
            "TASK-002",
            "API",
            needs=["TASK-001"],
            outputs=["api.txt"],
            command=api,
            tests=[READS],
            prose="Old words",
        ),
    )


CHANGE = a_task(
    "TASK-003", "May touch", needs=["TASK-001"], blocks={RULE: "touching\n"}, prose="Told so"
)


@pytest.fixture
def approved(workplace):
    """Makes a place where a run will build both together, in which the plan is edited."""

    def made(edit):
        workplace.write({".gitignore": "saved\ngo\n"})
        workplace.plan(*first(workplace, edit))
        assert workplace.run("--no-sandbox").code == 0
        workplace.plan(*(one.replace("PENDING", "DONE") for one in first(workplace, edit)), CHANGE)
        assert workplace.run("--no-sandbox").code == 4
        workplace.edit_plan(READS, BEARS)
        assert workplace.runner("approve", "TASK-002").code == 0
        workplace.write({"go": ""})
        return workplace

    return made


def test_a_victim_that_is_edited_meanwhile_is_asked_about_again(approved):
    place = approved("s/^Old words/New words/")
    before = place.head
    ended = place.run("--no-sandbox")
    assert ended.code == 4, ended.said
    assert place.read(RULE) == "apart\n"
    assert place.read("api.txt") == "api\n"
    assert place.git("rev-list", f"{before}..HEAD", "--", RULE, "api.txt") == ""
    assert place.statuses == {"TASK-001": "DONE", "TASK-002": "STALE", "TASK-003": "BLOCKED"}
    assert "api\napi" in place.git("show", "draft/TASK-002-api:api.txt")
    assert place.run("--no-sandbox").code != 0  # the approval was of the old words
    assert place.read(RULE) == "apart\n"
    assert place.runner("approve", "TASK-002").code == 0
    ended = place.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert (place.read(RULE), place.read("api.txt")) == ("touching\n", "api\napi\n")
    assert set(place.statuses.values()) == {"DONE"}


def test_a_change_that_is_edited_meanwhile_is_given_up(approved):
    place = approved("s/^Told so/Told otherwise/; s/^touching/apart/")
    ended = place.run("--no-sandbox")
    assert ended.code == 6, ended.said
    assert place.read(RULE) == "apart\n"
    assert place.statuses["TASK-003"] == "PENDING"
    assert "DONE" in place.status_line("TASK-002")
    assert not place.git("for-each-ref", "refs/runner/held")
    assert any(one.startswith("draft/TASK-003") for one in place.branches)
    ended = place.run("--no-sandbox")
    assert set(place.statuses.values()) == {"DONE"}, ended.said
    assert place.read(RULE) == "apart\n"


def test_an_edit_of_another_task_stops_nothing(approved):
    place = approved("s/^# Shop/# The shop/")
    ended = place.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert place.read(RULE) == "touching\n"
