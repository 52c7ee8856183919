"""What a DONE is worth is told in the same words, wherever a person or a program looks."""

import json
import re
import xml.etree.ElementTree as ET

import pytest
from workplace import a_task

from runner.app.prove.publish import body_of
from runner.project import Project

TESTED = a_task("TASK-001", "Tested", blocks={"one.txt": "good\n"}, tests=["grep -q good one.txt"])
LINTED = a_task("TASK-002", "Untested", blocks={"two.dat": "two\n"})
PAPER = a_task("TASK-003", "Paper", blocks={"three.md": "three\n"})
REASON = a_task("TASK-004", "Drawn", blocks={"f.dat": "4\n"}, fields=["Proof: none — a drawing"])
WORD = a_task("TASK-005", "Said", status="DONE", outputs=["five.dat"], command="true")
WAIVED = a_task("TASK-006", "Waived", blocks={"six.dat": "6\n"})
END = a_task("TASK-007", "All", needs=["TASK-001", "TASK-002"], fields=["Type: milestone"])
CHANGED = "one.txt was changed since it was proven"
UNPROVEN = {
    "TASK-002": "unproven: nothing proves it",
    "TASK-003": "unproven: only documents",
    "TASK-004": "unproven: a drawing",
    "TASK-005": "unproven: marked DONE by a person",
    "TASK-006": "waived: looked at it",
    "TASK-007": "unproven: TASK-002 is unproven",
}


@pytest.fixture
def built(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    monkeypatch.delenv("CI", raising=False)
    workplace.write({"five.dat": "5\n"})
    workplace.plan(TESTED, LINTED, PAPER, REASON, WORD, WAIVED, END)
    ended = workplace.run("--no-verify-at-end")
    assert ended.code == 0, ended.said
    waived = workplace.runner("waive", "TASK-006", "--reason", "looked at it")
    assert waived.code == 0, waived.said
    return workplace


def words_of(place):
    """By place what each task is said to be worth."""
    status = place.runner("status", "--json").document["tasks"]
    listed = place.runner("list", "--json").document["tasks"]
    report, ids = place.root.parent / "junit.xml", sorted(one["id"] for one in status)
    place.run("--no-verify-at-end", "--junit", str(report))
    shown = {id_: place.runner("show", id_, "--json").document for id_ in ids}
    evidence = {id_: place.runner("evidence", id_, "--json") for id_ in ids}
    project = Project.open(place.root, {})
    tasks, state = project.plan(project.plan_bytes).tasks, project.state()
    body = body_of(project, "v1", tasks, state, None).splitlines()
    rows = {
        line.split("|")[1].strip(): line.split("|")[4].strip() for line in body if "TASK" in line
    }
    return {
        "status": {one["id"]: told(one) for one in status},
        "list": {one["id"]: told(one) for one in listed},
        "show": {
            id_: told(one if "provenBy" in one else one["state"]) for id_, one in shown.items()
        },
        "evidence": {id_: told(one.document) for id_, one in evidence.items() if one.out},
        "junit": in_junit(report),
        "request": {
            id_: "proven by command" if "pass" in said else said for id_, said in rows.items()
        },
    }


def told(part):
    by, why = part["provenBy"], part["gradeReason"]
    if part["grade"] == "proven":
        return f"proven by {by}"
    return f"{part['grade']}: {why}" if why else part["grade"]


def in_junit(report):
    found = {}
    for suite in ET.parse(report).getroot().iter("testsuite"):
        grade = [one.get("value") for one in suite.iter("property") if one.get("name") == "grade"]
        found[suite.get("name").split(":")[0]] = grade[0] if grade else ""
    return found


def test_every_place_says_the_same_of_every_task(built):
    wanted = {"TASK-001": "proven by command", **UNPROVEN}
    for place, said in words_of(built).items():
        assert said == {id_: wanted[id_] for id_ in said}, place
        assert len(said) == len(wanted), place

    # Of bytes by hand it hears at once.
    built.commit({"one.txt": "good, and mine\n"})
    wanted = {"TASK-001": f"unproven: {CHANGED}", **UNPROVEN}
    wanted["TASK-007"] = "unproven: TASK-001 is unproven"  # the first of them, by now
    for place, said in words_of(built).items():
        assert said == {id_: wanted[id_] for id_ in said}, place
    assert "proven by the runner" not in built.runner("evidence", "TASK-001").out


def in_trailers(place):
    wanted = "%(trailers:key=Task,valueonly,separator=)|%(trailers:key=Grade,valueonly,separator=)"
    rows = (line.split("|") for line in place.git("log", f"--format={wanted}").splitlines())
    return {task: said for task, said in rows if task and said}


def in_checkpoint(text):
    lines = [line.removeprefix("--- ") for line in text.splitlines() if line.startswith("--- Task")]
    cut = [line.partition(" — DONE") for line in lines]
    ids = [f"TASK-{int(head.split()[1].rstrip(':')):03}" for head, _, _ in cut]
    return dict(zip(ids, [said.strip(" —") for _, _, said in cut], strict=True))


def test_what_is_written_down_says_the_same(built):
    landed = {"TASK-001": "proven by command", **UNPROVEN}
    landed["TASK-006"] = "unproven: nothing proves it"  # a person waived it later
    assert in_trailers(built) == {
        id_: said for id_, said in landed.items() if id_ not in ("TASK-005", "TASK-007")
    }
    lines = in_checkpoint(built.read("artifacts/build/CHECKPOINT.md"))
    assert lines.pop("TASK-001") == "✅"
    assert lines == {id_: landed[id_] for id_ in lines}
    assert {"TASK-002", "TASK-003", "TASK-004", "TASK-006", "TASK-007"} <= lines.keys()
    manifest = min((built.root / "artifacts/build/runs").glob("*.json"))  # names are in order
    rows = json.loads(manifest.read_text("utf-8"))["tasks"]
    del landed["TASK-005"]  # no run had anything to do with it
    assert {one["id"]: told(one) for one in rows} == landed
    refused = built.runner("ship", "--trust", "--tag", "v0").err
    said = dict(re.findall(r"(TASK-\d+): ((?:un)?(?:proven|waived).*)", refused))
    said_by_the_plan = ("TASK-003", "TASK-004")  # these are named, and ship
    assert said == {
        id_: one
        for id_, one in UNPROVEN.items()
        if one.startswith("unproven") and id_ not in said_by_the_plan
    }
    shipped = built.runner("ship", "--trust", "--unproven", "--tag", "v1")
    assert shipped.code == 0, shipped.said
    for text in (built.git("tag", "-l", "--format=%(contents)", "v1"), ship_part(built)):
        said = dict(re.findall(r"(TASK-\d+): ((?:un)?(?:proven|waived).*)", text))
        assert said == UNPROVEN, text


def ship_part(place):
    return place.read("artifacts/build/CHECKPOINT.md").rpartition("SHIP")[2]
