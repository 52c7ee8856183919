"""What a person says with a command stands in the plan at once, and is about what they see."""

import pytest
from workplace import a_task

ONE = a_task("TASK-001", "One", blocks={"one.txt": "one\n"}, tests=["grep -q one one.txt"])
TWO = a_task(
    "TASK-002",
    "Two",
    needs=["TASK-001"],
    blocks={"two.txt": "two\n"},
    tests=["grep -q two two.txt"],
)


@pytest.fixture
def built(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    workplace.plan(ONE, TWO)
    assert workplace.run().code == 0
    return workplace


def test_approve_sees_what_status_sees(built):
    built.edit_plan("TASK-001: One", "TASK-001: One, and more")
    assert built.statuses["TASK-001"] == "STALE"
    assert "TASK-001" in built.runner("review").out
    said = built.runner("approve", "TASK-001")
    assert said.code == 0, said.said
    assert built.status_line("TASK-001") == "- Status: PENDING"
    assert built.status_line("TASK-002").startswith("- Status: STALE — TASK-001 was edited")
    assert built.statuses == {"TASK-001": "PENDING", "TASK-002": "STALE"}
    assert built.run("--no-verify-at-end").code in (0, 3)
    assert len(built.happened("attempt.started", "TASK-001")) == 2


def test_agents_and_models_whose_writes_nobody_sees_are_told(workplace):
    for fields, told in (
        ((), False),
        (("Implementer: agent", "Review: prompt"), False),
        (("Implementer: agent",), True),
        (("Implementer: model",), True),
    ):
        blocks = {} if fields else {"a.txt": "a\n"}
        workplace.plan(a_task("TASK-001", blocks=blocks, outputs=["a.txt"], fields=fields))
        ended = workplace.run()
        assert ("changes are not reviewed" in ended.err) is told, (fields, ended.said)


def test_a_task_that_needs_root_names_the_ways_that_work(workplace):
    workplace.plan(a_task("TASK-001", "One", fields=("Requires: root",)))
    ended = workplace.run()
    assert ended.code == 3
    assert "next: do the task yourself and set its Status to DONE" in ended.out
    assert "set its Status to DONE" in workplace.status_line("TASK-001")
    why = workplace.runner("why", "TASK-001").out
    assert "next: do the task yourself and set its Status to DONE" in why
    said = workplace.runner("approve", "TASK-001")
    assert said.code == 3, said.said
    assert "set its Status to DONE" in said.err
    line = workplace.status_line("TASK-001")
    workplace.edit_plan(line, "- Status: DONE")
    assert workplace.run().code == 0
    assert workplace.statuses["TASK-001"] == "DONE"


def test_what_every_run_looks_for_again_is_not_to_be_made_pending(workplace):
    rows = {
        "TASK-001": ((), "fix the task's section"),
        "TASK-002": (("Requires: secret SHOP_KEY",), "provide what is missing"),
        "TASK-003": (("Requires: tool frobnicate",), "provide what is missing"),
        "TASK-004": (("Requires: root",), "do the task yourself"),
    }
    workplace.plan(
        *(
            a_task(id_, outputs=[id_], command=f"echo a > {id_}" if fields else "", fields=fields)
            for id_, (fields, _) in rows.items()
        )
    )
    ended = workplace.run()
    for id_, (_, ways) in rows.items():
        why = workplace.runner("why", id_).out
        assert f"next: {ways}" in ended.out, id_
        assert f"next: {ways}" in why, id_
        assert "PENDING" not in f"{ended.out}{why}"


def test_a_change_that_the_blocks_do_not_know_of_is_said_and_frees_what_rests_on_it(built):
    for asked in ("in capitals", "in small letters"):
        assert built.runner("change", "TASK-001", asked, "--yes").code == 0
        assert built.statuses == {"TASK-001": "STALE", "TASK-002": "STALE"}
        assert built.runner("approve", "TASK-001").code == 0
        ended = built.run()
        told = "TASK-001 was rebuilt and nothing changed; edit its code blocks in the plan to make"
        assert told in ended.err, ended.said
        assert ended.code == 0, ended.said
        assert built.statuses == {"TASK-001": "DONE", "TASK-002": "DONE"}
        assert "nothing changed" in built.runner("show", "TASK-001").out
    built.edit_plan("one\n```", "one, and more\n```")
    assert built.run().code == 3
    assert built.runner("approve", "TASK-001").code == 0
    assert built.run().code == 3
    assert built.statuses == {"TASK-001": "DONE", "TASK-002": "STALE"}


def test_an_edited_proposal_of_two_files_is_approved_proven_and_logged(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    workplace.plan(
        a_task(
            "TASK-001",
            "One",
            outputs=["a.txt", "b.txt"],
            command="echo a > a.txt; echo b > b.txt",
            tests=["test -s a.txt"],
        )
    )
    assert workplace.run("--review", "prompt").code == 3
    monkeypatch.setenv("EDITOR", """sh -c 'case "$1" in *a.txt*) echo mine > "$1";; esac' --""")
    said = workplace.runner("edit", "TASK-001")
    assert said.code == 0, said.said
    ended = workplace.run("--review", "prompt")
    assert ended.code == 0, ended.said
    assert workplace.read("a.txt") == "mine\n"
    log = workplace.runner("write-log", "show", "--json").said
    assert '"review": "edited"' in log or '"review":"edited"' in log, log
    assert "Review: edited" in workplace.git("log", "-1", "--skip=1", "--format=%B")


def test_an_answer_to_a_single_write_stands_in_the_plan_at_once(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "a\n", "b.txt": "b\n"}),
        a_task("TASK-002", blocks={"c.txt": "c\n", "d.txt": "d\n"}),
    )
    assert workplace.run("--review", "prompt").code == 3
    staged = workplace.runner("staged-write", "list", "--json").document["staged"]
    by_path = {one["path"]: one["id"] for one in staged}
    for id_, verb, paths, more in (
        ("TASK-001", "apply", ["a.txt", "b.txt"], ()),
        ("TASK-002", "reject", ["c.txt"], ("--reason", "say more")),
    ):
        assert workplace.status_line(id_).startswith("- Status: BLOCKED")
        for path in paths:
            assert workplace.statuses[id_] == "BLOCKED"
            workplace.runner("staged-write", verb, by_path[path], *more)
        assert workplace.statuses[id_] == "PENDING"
        assert workplace.status_line(id_) == "- Status: PENDING"


def test_a_failure_is_one_story_with_one_next_step_wherever_a_person_looks(workplace):
    checks = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self):\n"
    checks += "        self.assertEqual(open('a.txt').read(), 'good')\n"
    blocks = {"a.txt": "bad", "tests/test_a.py": checks}
    workplace.plan(
        a_task("TASK-001", "One", blocks=blocks, tests=["python3 -m unittest -q tests.test_a"]),
        a_task(
            "TASK-002", "Two", outputs=["b.txt"], command="echo b > c.txt", tests=["true b.txt"]
        ),
    )
    ended = workplace.run()
    places = (
        *(ended.out, ended.err, workplace.runner("why", "1").out, workplace.runner("review").out),
        workplace.read("artifacts/build/reports/TASK-001.md"),
    )
    step = "fix the plan or finish draft/TASK-001-one (`runner adopt TASK-001`), then `runner`"
    failed = "tests/test_a.py:5: AssertionError: 'bad\\n' != 'good'"
    for said in places:
        assert f"{step}; to retry unchanged: `runner retry TASK-001`" in said
        assert failed in said or said == places[3], said
    scope = "in the plan, replace the task's Output files line, then `runner`:  "
    scope += "- Output files: `b.txt`, `c.txt`"
    assert f"next: {scope}" in ended.out
    assert f"next: {scope}" in workplace.runner("why", "2").out


def test_no_next_step_offers_a_draft_whose_branch_was_deleted(workplace):
    workplace.plan(a_task("TASK-001", "One", blocks={"a.txt": "bad"}, tests=["grep good a.txt"]))
    assert "finish draft/TASK-001-one" in workplace.run().out
    workplace.git("branch", "-D", "draft/TASK-001-one")
    commands = (("why", "1"), ("review",), ("review", "1"), ("status",), ())
    for said in (workplace.runner(*words).said for words in commands):
        assert "adopt" not in said, said


def test_the_next_step_repeats_a_remedy_outside_of_the_plan(workplace):
    """Where the machine or an ignored file is the cause, a change of the plan helps nothing."""
    workplace.write({".gitignore": "made.txt\n", "made.txt": "made"})
    workplace.commit({"kept.txt": "kept"})
    workplace.plan(a_task("TASK-001", "One", blocks={"a.txt": "a"}, tests=["cat made.txt"]))
    said = (workplace.run().out, workplace.runner("why", "1").out, workplace.runner("review").out)
    for one in said:
        assert "next: made.txt is ignored by git, so tasks can't see it: add /made.txt" in one, one
        assert "fix the plan" not in one


def test_of_a_proposal_that_is_too_large_nothing_else_is_advised(workplace):
    """Nothing of it was read: neither is its place in the plan told, nor that git ignores it."""
    large, more = "truncate -s 60M b.bin", "; mkdir d; truncate -s 20M d/x"
    workplace.plan(
        a_task("TASK-001", outputs=["b.bin"], command=large, tests=["test -f b.bin"]),
        a_task("TASK-002", outputs=["b.bin"], command=large + more, tests=["test -f b.bin"]),
    )
    said = workplace.run().out
    assert "replace the task's Output files line" not in said
    assert "git ignores" not in said
    assert len(workplace.happened("attempt.started")) == 2
    too_large = "b.bin has 62,914,560 bytes; the limit for one file is 52,428,800"
    steps = [line for line in said.splitlines() if line.startswith("  next: ")]
    for id_, step in zip(("TASK-001", "TASK-002"), steps, strict=True):
        assert f"BLOCKED {id_} (checks): {too_large}" in said
        way = f"raise limits.proposal_file_size (50MB) in your settings; then `runner retry {id_}`"
        assert way in step


def test_a_blocked_task_is_tried_again_with_what_a_person_says(workplace):
    command = "grep -q 'use the short name' $RUNNER_BRIEF && echo good > a.txt || echo bad > a.txt"
    section = a_task("TASK-001", outputs=["a.txt"], command=command, tests=["grep -q good a.txt"])
    workplace.plan(section)
    assert workplace.run().code == 1
    assert workplace.runner("retry", "1").code == 1, "it is the same again"
    said = workplace.runner("retry", "1", "--reason", "use the short name")
    assert (said.code, workplace.read("a.txt")) == (0, "good\n"), said.said
    again = workplace.runner("retry", "1")
    assert (again.code, "TASK-001 is DONE" in again.err) == (2, True)
