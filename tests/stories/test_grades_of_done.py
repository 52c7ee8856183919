"""DONE says what it is worth: in the plan, in every list, in the evidence, and to a ship."""

import json

import pytest
from workplace import a_task

TEST = (
    "import unittest\nimport m\n\n\nclass T(unittest.TestCase):\n"
    "    def test_m(self):\n        self.assertEqual(m.M, 1)\n"
)
TESTED = {"m.py": "M = 1\n", "test_m.py": TEST}
UNITTEST = "python3 -m unittest -q test_m"


def grades(workplace):
    listed = workplace.runner("list", "--json").document["tasks"]
    return {one["id"]: (one["grade"], one["provenBy"], one["gradeReason"]) for one in listed}


def test_each_done_says_by_what_it_is_proven(workplace):
    workplace.plan(
        a_task("TASK-001", blocks=TESTED, tests=[UNITTEST]),
        a_task("TASK-002", blocks={"a.py": "A = 1\n"}, fields=["Gates:\n  - look: `test -e a.py`"]),
        a_task("TASK-003", blocks={"b.py": "B = 1\n"}, fields=["Gates:\n  - lint: `test -e b.py`"]),
        a_task("TASK-004", blocks={"c.py": "C = 1\n"}),
        a_task("TASK-005", blocks={"d.md": "Words.\n"}),
        a_task("TASK-006", blocks={"e.py": "E = 1\n"}, fields=["Proof: none — a toy"]),
        a_task("TASK-007", needs=["TASK-001"], tests=[UNITTEST]),
    )
    assert "is PENDING" in waive(workplace).err
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert "7 tasks: 7 DONE (4 unproven)" in ended.out
    before = ended.err.partition("started")[0]
    assert "TASK-003, TASK-004 will be DONE — unproven: nothing proves it" in before
    static = "lint, types and builds alone prove nothing"
    assert grades(workplace) == {
        "TASK-001": ("proven", "tests", ""),
        "TASK-002": ("proven", "command", ""),
        "TASK-003": ("unproven", "static", static),
        "TASK-004": ("unproven", None, "nothing proves it"),
        "TASK-005": ("unproven", None, "only documents"),
        "TASK-006": ("unproven", None, "a toy"),
        "TASK-007": ("proven", "tests", ""),
    }
    lines = [workplace.status_line(f"TASK-00{n}") for n in range(1, 7)]
    assert lines == [
        "- Status: DONE",
        "- Status: DONE",
        f"- Status: DONE — unproven: {static}",
        "- Status: DONE — unproven: nothing proves it",
        "- Status: DONE — unproven: only documents",
        "- Status: DONE — unproven: a toy",
    ]
    assert workplace.dirt == []
    shown = workplace.runner("status").out
    assert "7 DONE (4 unproven)" in shown
    assert "TASK-004  DONE (unproven)  Work   nothing proves it" in shown
    checkpoint = workplace.read("artifacts/build/CHECKPOINT.md")
    assert "Task 4: Work — DONE — unproven: nothing proves it" in checkpoint
    assert "Task 1: Work — DONE ✅" in checkpoint
    trailers = workplace.git("log", "--format=%(trailers:key=Grade,valueonly,separator=)")
    assert {line for line in trailers.splitlines() if line} == {
        "proven by tests",
        "proven by command",
        f"unproven: {static}",
        "unproven: nothing proves it",
        "unproven: only documents",
        "unproven: a toy",
    }
    again = workplace.run()  # what stands behind DONE is no person's edit
    assert again.code == 0
    assert "nothing to do" in again.out

    # The evidence says `proven` only over something, and what is proven cannot be waived.
    said = workplace.runner("evidence", "TASK-001").out
    assert "DONE, proven by tests; the evidence matches the task in the plan" in said
    assert "proven by the runner: TC-001" in said
    said = workplace.runner("evidence", "TASK-003").out
    assert "\nrun by the runner: gate:lint\n" in said
    assert "proven by the runner" not in said
    said = workplace.runner("evidence", "TASK-004").out
    assert "DONE, unproven: nothing proves it; the evidence matches" in said
    assert "proven by the runner" not in said
    assert "is DONE" in (why := workplace.runner("why", "TASK-004").out)
    assert "unproven: nothing proves it" in why
    assert "DONE (unproven) — nothing proves it" in workplace.runner("show", "TASK-004").out
    ended = waive(workplace)
    assert ended.code == 2
    assert "proven by tests" in ended.err

    # A clone without a journal sees the same grades.
    clone = workplace.cloned()
    assert grades(clone) == grades(workplace)
    for words in (("status",), ("show", "TASK-006")):
        told = [line for line in clone.runner(*words).out.splitlines() if "DONE (unproven)" in line]
        assert told
        assert set(told) <= set(workplace.runner(*words).out.splitlines()), words


def test_a_plain_done_over_an_unproven_one_gets_its_grade_back_and_nothing_is_unsaved(workplace):
    worth = "- Status: DONE — unproven: nothing proves it"
    first = a_task("TASK-001", blocks={"c.py": "C = 1\n"})
    workplace.plan(first)
    assert workplace.run().code == 0
    second = a_task("TASK-002", blocks={"b.md": "b\n"})
    workplace.plan(first.replace("PENDING", "DONE"), second)
    assert workplace.run().code == 0
    assert workplace.status_line("TASK-001") == worth
    assert workplace.dirt == []
    workplace.edit_plan(worth, "- Status: DONE")
    workplace.git("commit", "-qam", "plain")
    ended = workplace.runner("ship", "--unproven")
    assert ended.code == 0, ended.said
    assert workplace.status_line("TASK-001") == worth
    assert workplace.dirt == []


def test_what_a_command_writes_without_a_proof_is_blocked_before_it_runs(workplace):
    compiles = ["python3 -m py_compile d.py"]
    workplace.plan(
        a_task("TASK-001", outputs=["a.py"], command="echo 'A = 1' > a.py; touch $HOME/ran"),
        a_task("TASK-002", needs=["TASK-001"], blocks={"b.txt": "b\n"}),
        a_task("TASK-003", blocks={"c.txt": "c\n"}),
        a_task("TASK-004", outputs=["d.py"], command="echo 'D = 1' > d.py", tests=compiles),
        a_task("TASK-005", blocks={"e.py": "E = 1\n"}, tests=["python3 -m compileall -q e.py"]),
    )
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert "BLOCKED TASK-001 (proof)" in ended.out
    assert "- Proof: none — reason" in ended.out
    # A contract that only compiles is none.
    nothing = (
        "lint, type checks or a compiler check it, and no test runs any part of what its command"
    )
    assert f"BLOCKED TASK-004 (proof): only {nothing} writes" in ended.out
    assert "  next: add - Test contracts:" in ended.out
    assert sorted(workplace.landings) == ["TASK-003", "TASK-005"]
    unproven = "- Status: DONE — unproven: lint, types and builds alone prove nothing"
    assert workplace.status_line("TASK-005") == unproven
    assert not (workplace.home / "ran").exists()
    workplace.edit_plan("- Command:", "- Proof: none — a toy\n- Command:")
    assert workplace.run().code == 3
    assert workplace.status_line("TASK-001") == "- Status: DONE — unproven: a toy"


def test_tests_that_count_nothing_of_the_task_are_no_tests_to_it(workplace):
    workplace.plan(
        a_task("TASK-001", blocks=TESTED, tests=[UNITTEST]),
        a_task("TASK-002", needs=["TASK-001"], blocks={"other.py": "O = 1\n"}, tests=[UNITTEST]),
    )
    ended = workplace.run()
    if "TASK-002" in workplace.landings:
        assert grades(workplace)["TASK-002"][:2] == ("proven", "command")
    else:  # coverage saw it before
        assert "coverage" in ended.said


# --- wishes, milestones, contracts ----------------------------------------------------


def test_a_wish_waits_for_a_person_and_the_rest_is_built(workplace):
    workplace.write({"TASK-GRAPH.md": "# Shop\n\n## Task 1: Login page\n\nIt looks nice.\n\n"})
    text = workplace.read("TASK-GRAPH.md")
    more = a_task("TASK-002", needs=["TASK-001"], blocks={"b.txt": "b\n"})
    workplace.commit(
        {"TASK-GRAPH.md": text + more + "\n" + a_task("TASK-003", blocks={"c.txt": "c"})}
    )
    checked = workplace.runner("validate")
    assert checked.code == 0
    assert "TASK-001 will be BLOCKED (wish)" in checked.out
    assert workplace.runner("validate", "--strict").code == 2
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert workplace.landings == ["TASK-003"]
    assert workplace.statuses == {"TASK-001": "BLOCKED", "TASK-002": "PENDING", "TASK-003": "DONE"}
    document = workplace.runner("status", "--json").document
    assert document["tasks"][0]["reason"] == "wish"
    assert "Type: milestone" in workplace.runner("why", "TASK-001").out
    workplace.edit_plan(
        "It looks nice.", "- Test contracts: TC-001 (unit): `true`\n\nIt looks nice."
    )
    assert workplace.run().code == 0, workplace.runner("status").out


def test_an_edit_that_is_taken_back_takes_no_proof_away(workplace):
    workplace.plan(
        a_task("TASK-001", blocks=TESTED, tests=[UNITTEST]),
        a_task("TASK-002", blocks={"e.py": "E = 1\n"}, fields=["Proof: none — a toy"]),
    )
    assert workplace.run().code == 0
    was, evidence = grades(workplace), workplace.runner("evidence", "TASK-001").out
    plan = workplace.read("TASK-GRAPH.md")
    for id_ in was:
        workplace.edit_plan(f"## {id_}: Work", f"## {id_}: Other work")
    assert workplace.run().code == 3
    assert set(workplace.statuses.values()) == {"STALE"}
    workplace.write({"TASK-GRAPH.md": plan})
    assert workplace.run().code == 0
    assert grades(workplace) == was
    assert "proven by the runner: TC-001" in workplace.runner("evidence", "TASK-001").out
    assert evidence.partition("Proofs")[2] in workplace.runner("evidence", "TASK-001").out


# --- waivers --------------------------------------------------------------------------


@pytest.fixture
def unproven(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"c.py": "C = 1\n"}),
        a_task("TASK-002", blocks={"d.py": "D = 1\n"}),
    )
    assert workplace.run().code == 0
    return workplace


def waive(workplace, *words):
    return workplace.runner("waive", "TASK-001", "--reason", "tried by hand", *words)


def test_a_waiver_is_written_down_ends_with_the_bytes_and_ships(unproven, monkeypatch):
    said = unproven.runner("verify", "--all", "--trust")
    assert said.code == 0, said.said
    assert "0 of 2 proven" in said.out
    ended = unproven.runner("ship", "--trust")
    assert ended.code == 3
    assert "TASK-001: unproven: nothing proves it" in ended.err
    assert "runner ship --unproven" in ended.err

    ended = waive(unproven)
    assert ended.code == 0, ended.said
    assert unproven.status_line("TASK-001") == "- Status: DONE — waived: tried by hand"
    assert unproven.dirt == []
    assert grades(unproven)["TASK-001"] == ("waived", None, "tried by hand")
    assert "DONE (waived)" in unproven.runner("list").out
    assert "nothing to do" in unproven.run().out

    # It ends with the bytes and with the words, and is there again with them.
    unproven.write({"c.py": "C = 2\n"})
    assert grades(unproven)["TASK-001"][0] == "unproven"
    unproven.write({"c.py": "C = 1\n"})
    assert grades(unproven)["TASK-001"][0] == "waived"
    plan = unproven.read("TASK-GRAPH.md")
    unproven.edit_plan("## TASK-001: Work", "## TASK-001: Other work")
    assert unproven.run().code == 3
    unproven.write({"TASK-GRAPH.md": plan})
    assert unproven.run().code == 0
    assert grades(unproven)["TASK-001"] == ("waived", None, "tried by hand")

    # In CI a waiver that the journal holds stands.
    waived = len(unproven.happened("task.waived"))
    with monkeypatch.context() as in_ci:
        in_ci.setenv("CI", "true")
        assert waive(unproven).code == 0
    assert len(unproven.happened("task.waived")) == waived

    ended = unproven.runner("ship", "--trust")
    assert ended.code == 3
    assert "TASK-001" not in ended.err
    ended = unproven.runner("ship", "--trust", "--unproven", "--tag", "v1")
    assert ended.code == 0, ended.said
    message = unproven.git("tag", "-l", "--format=%(contents)", "v1")
    assert "0 of 2 proven" in message
    assert "TASK-001: waived: tried by hand" in message
    assert unproven.status_line("TASK-002") == "- Status: DONE — unproven: nothing proves it"


def test_a_waiver_goes_on_in_the_commit_that_a_person_makes(workplace):
    workplace.write({"runner.toml": 'git.commit = "manual"\n'})
    workplace.plan(
        a_task("TASK-001", blocks={"c.py": "C = 1\n"}),
        a_task("TASK-002", blocks={"e.py": "E = 1\n"}, fields=["Proof: none — a toy"]),
    )
    assert workplace.run().code == 0
    assert waive(workplace).code == 0
    was = grades(workplace)
    workplace.git("add", "-A")
    workplace.git("commit", "-q", "-m", "all of it")
    assert workplace.run().code == 0
    assert workplace.happened("task.adopted")
    assert grades(workplace) == was


# --- the whole ------------------------------------------------------------------------


def test_what_the_plan_says_is_without_proof_ships_and_is_named(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.ini": "A = 1\n"}, fields=["Proof: none — for people"]),
        a_task("TASK-002", blocks={"NOTES.md": "# Notes\n"}),
        a_task("TASK-003", "First", fields=["Type: milestone", "Depends on: TASK-001, TASK-002"]),
        a_task("TASK-004", "All", fields=["Type: milestone", "Depends on: TASK-003"]),
    )
    assert workplace.run().code == 0
    said = workplace.runner("verify", "--all")
    assert "- TASK-001 Work: nothing to run\n" in said.out
    ended = workplace.runner("ship", "--tag", "v1")
    assert ended.code == 0, ended.said
    assert "shipped without a proof: TASK-001, TASK-002, TASK-003 and 1 more" in ended.out
    message = workplace.git("tag", "-l", "--format=%(contents)", "v1")
    assert "TASK-001: unproven: for people" in message


def test_what_rests_on_an_unproven_task_is_refused_by_a_ship_with_it(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"NOTES.md": "# Notes\n"}),
        a_task("TASK-002", blocks={"c.py": "C = 1\n"}),
        a_task("TASK-003", "All", fields=["Type: milestone", "Depends on: TASK-001, TASK-002"]),
    )
    assert workplace.run().code == 0
    ended = workplace.runner("ship")
    assert ended.code == 3
    assert "TASK-002: unproven" in ended.err
    assert "TASK-003: unproven" in ended.err
    assert "TASK-001:" not in ended.err


def test_reports_for_programs_say_the_grade(workplace, tmp_path):
    workplace.plan(a_task("TASK-001", blocks={"c.py": "C = 1\n"}))
    ended = workplace.run("--json", "--junit", str(tmp_path / "junit.xml"))
    assert ended.document["unproven"] == ["TASK-001"]
    text = (tmp_path / "junit.xml").read_text("utf-8")
    assert '<skipped message="DONE — unproven: nothing proves it"' in text
    (manifest,) = (workplace.root / "artifacts/build/runs").glob("*.json")
    assert json.loads(manifest.read_text("utf-8"))["tasks"][0]["grade"] == "unproven"


# --- a person's word ------------------------------------------------------------------


def test_what_a_person_set_done_is_proven_before_it_is_built_on(workplace):
    workplace.commit(TESTED)
    workplace.plan(
        a_task("TASK-001", status="DONE", outputs=["m.py", "test_m.py"], tests=[UNITTEST]),
        a_task("TASK-002", needs=["TASK-001"], blocks={"b.txt": "b\n"}),
    )
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert "TASK-001 is re-tested: a person marked it DONE without a proof" in ended.err
    assert grades(workplace)["TASK-001"][:2] == ("proven", "tests")
    assert workplace.happened("attempt.started", "TASK-001") == []
    assert workplace.subjects.count("feat(TASK-001): work") == 0


def test_a_word_that_its_proof_contradicts_stops_what_needs_it(workplace):
    workplace.commit({**TESTED, "m.py": "M = 2\n"})
    workplace.plan(
        a_task("TASK-001", status="DONE", blocks=TESTED, tests=[UNITTEST]),
        a_task("TASK-002", needs=["TASK-001"], blocks={"b.txt": "b\n"}),
    )
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert workplace.landings == []
    assert workplace.read("m.py") == "M = 2\n"  # nobody builds over a person's own work
    assert workplace.statuses == {"TASK-001": "STALE", "TASK-002": "PENDING"}


def test_a_word_without_a_proof_is_built_on_and_that_is_said(workplace, monkeypatch):
    workplace.plan(
        a_task("TASK-001", status="DONE", outputs=["a.py"]),
        a_task("TASK-002", needs=["TASK-001"], blocks={"b.txt": "b\n"}),
    )
    monkeypatch.setenv("RUNNER_PROOF_REQUIRE_PROOF", "always")
    assert workplace.run().code == 3
    monkeypatch.delenv("RUNNER_PROOF_REQUIRE_PROOF")
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert ended.err.count("TASK-001: marked DONE, but no check can prove it") == 1
    said = workplace.runner("evidence", "TASK-002").out
    assert "it was built on TASK-001, unproven: marked DONE by a person" in said


def test_a_milestone_says_what_it_rests_on_in_the_same_words_everywhere(workplace):
    """What a person set DONE is unproven from the start, and so is what rests on it."""
    workplace.plan(
        a_task("TASK-001", status="DONE"),
        a_task("TASK-002", blocks={"b.py": "B = 1\n"}),
        a_task("TASK-003", fields=["Type: milestone"], needs=["TASK-001"]),
        a_task("TASK-004", fields=["Type: milestone"], needs=["TASK-003"]),
        a_task("TASK-005", fields=["Type: milestone"], needs=["TASK-002", "TASK-001"]),
    )
    workplace.run("--only", "TASK-002")
    assert workplace.runner("waive", "TASK-002", "--reason", "a toy").code == 0
    ended = workplace.run()
    assert ended.code == 0, ended.said
    rests = {"TASK-003": "TASK-001", "TASK-004": "TASK-003", "TASK-005": "TASK-001"}
    checkpoint = workplace.read("artifacts/build/CHECKPOINT.md")
    for id_, need in rests.items():
        words = f"unproven: {need} is unproven"
        assert workplace.status_line(id_) == f"- Status: DONE — {words}"
        assert grades(workplace)[id_] == ("unproven", None, f"{need} is unproven")
        assert any(id_ in line and words in line for line in ended.err.splitlines()), ended.err
        assert f"Task {id_[-1]}: Work — DONE — {words}" in checkpoint


def test_what_a_person_set_done_is_proven_by_whoever_runs_its_proof(workplace):
    workplace.commit(TESTED)
    workplace.plan(
        a_task("TASK-001", status="DONE", outputs=["m.py", "test_m.py"], tests=[UNITTEST]),
        a_task("TASK-002", status="DONE", fields=["Type: milestone"], needs=["TASK-001"]),
        a_task("TASK-003", blocks={"c.md": "Words.\n"}),
    )
    assert workplace.run("--only", "TASK-003").code == 0
    assert grades(workplace)["TASK-001"] == ("unproven", None, "marked DONE by a person")
    ended = workplace.runner("ship", "--trust")
    assert ended.code == 0, ended.said
    assert grades(workplace)["TASK-002"][:2] == ("proven", "tests")
    assert grades(workplace)["TASK-001"][:2] == ("proven", "tests"), ended.said
    assert "proven by tests" in workplace.runner("evidence", "TASK-001").out
    assert workplace.happened("attempt.started", "TASK-001") == []
    assert workplace.dirt == []


def test_a_ship_takes_a_persons_word_where_the_plan_says_that_nothing_can_prove_it(workplace):
    workplace.commit({"c.md": "Words.\n"})
    workplace.plan(
        a_task("TASK-001", status="DONE", fields=["Proof: none — talked over"]),
        a_task("TASK-002", status="DONE", outputs=["c.md"]),
        a_task("TASK-003", status="DONE"),
    )
    ended = workplace.runner("ship", "--trust")
    assert ended.code == 3
    assert "1 task is unproven" in ended.err
    assert grades(workplace) == {
        "TASK-001": ("unproven", None, "talked over"),
        "TASK-002": ("unproven", None, "only documents"),
        "TASK-003": ("unproven", None, "marked DONE by a person"),
    }
    assert "TASK-001  DONE (unproven)  Work   talked over" in workplace.runner("status").out
    assert workplace.runner("waive", "TASK-003", "--reason", "seen").code == 0
    assert workplace.runner("ship", "--trust").code == 0


def test_no_weaker_proof_makes_a_persons_word_a_proven_one(workplace):
    workplace.commit(TESTED)
    workplace.plan(
        a_task("TASK-001", status="DONE", outputs=["m.py"], tests=["ruff check m.py"]),
        a_task("TASK-002", status="DONE", outputs=["test_m.py"], tests=["false"]),
    )
    workplace.run()
    workplace.runner("verify", "--all")
    found = grades(workplace)
    for id_ in ("TASK-001", "TASK-002"):
        assert found.get(id_, ("", None))[0] != "proven", id_


def test_a_waived_word_says_the_reason_everywhere_and_the_hint_of_its_evidence_works(workplace):
    workplace.plan(
        a_task("TASK-001", status="DONE"),
        a_task("TASK-002", blocks={"c.md": "Words.\n"}),
    )
    assert workplace.run().code == 0
    assert "it is DONE without a proof" in workplace.runner("evidence", "TASK-001").err
    assert workplace.runner("waive", "TASK-001", "--reason", "I looked").code == 0
    assert workplace.status_line("TASK-001") == "- Status: DONE — waived: I looked"
    assert "TASK-001  DONE (waived)    Work   I looked" in workplace.runner("status").out
    assert "DONE (waived) — I looked" in workplace.runner("show", "TASK-001").out
    assert ", waived: I looked" in workplace.runner("why", "TASK-001").out
    said = workplace.runner("evidence", "TASK-001")
    assert said.code == 1
    assert "it is DONE, waived: I looked" in said.err
    assert "runner verify TASK-001" in said.err
    asked = "- Test contracts:\n  - TC-001 (unit): `grep Words c.md`\n"
    workplace.edit_plan("DONE — waived: I looked\n", f"DONE — waived: I looked\n{asked}")
    workplace.commit()
    assert workplace.runner("verify", "TASK-001", "--trust").code == 0
    assert "proven by command" in workplace.runner("evidence", "TASK-001").out
    assert workplace.status_line("TASK-001") == "- Status: DONE"
