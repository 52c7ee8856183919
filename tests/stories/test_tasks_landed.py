"""Which changes land and how, and what a run says of itself to people and programs."""

import json
import os
import re
import signal
from threading import Timer

from workplace import NO_PROOF, a_task


def test_every_kind_of_change_lands_as_it_is(workplace):
    workplace.commit({"old.txt": "old\n", "gone.txt": "gone\n", "tool.sh": "#!/bin/sh\n"})
    workplace.plan(
        a_task(
            "TASK-001",
            outputs=["any"],
            command=(
                "mkdir -p a/b; printf '\\0\\377' > a/b/bin; : > empty; rm gone.txt; "
                "chmod +x tool.sh; git mv old.txt a/new.txt; git commit -qm 'my own commit'"
            ),
            fields=[NO_PROOF],
            prose="It adds the binary file `a/b/bin`.",
        )
    )
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert (workplace.root / "a/b/bin").read_bytes() == b"\0\377"
    assert workplace.read("empty") == ""
    assert workplace.read("a/new.txt") == "old\n"
    assert not workplace.has("gone.txt")
    assert not workplace.has("old.txt")
    assert os.access(workplace.root / "tool.sh", os.X_OK)
    assert workplace.dirt == []
    assert "my own commit" not in workplace.subjects
    writes = [
        json.loads(line) for line in workplace.read("artifacts/build/WRITE_LOG.jsonl").splitlines()
    ]
    assert {one["path"]: one["action"] for one in writes if "path" in one} == {
        "a/b/bin": "create",
        "a/new.txt": "create",
        "empty": "create",
        "gone.txt": "delete",
        "old.txt": "delete",
        "tool.sh": "modify",
    }
    assert [one["outcome"] for one in writes if "outcome" in one] == ["landed"]


def test_a_link_and_an_ignored_file_cannot_land_and_what_is_printed_is_made_harmless(workplace):
    workplace.commit({".gitignore": "dist/\n"})
    command = "ln -s /etc/passwd a.txt; echo b > b.txt"
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt", "b.txt"], command=command, fields=[NO_PROOF]),
        a_task("TASK-002", blocks={"dist/out.txt": "x\n", "kept.txt": "y\n"}),
        a_task(
            "TASK-003",
            "Sly \u202e title",
            outputs=["c.txt"],
            command="printf '\\033]0;owned\\007\\033[31mred\\n'; exit 1",
            fields=["Budget: 1 attempts"],
        ),
    )
    ended = workplace.run("-v")
    assert ended.code == 1, ended.said
    assert workplace.landings == []
    assert "a.txt" in ended.err
    assert not os.path.lexists(workplace.root / "a.txt")
    assert not workplace.has("b.txt")
    assert "dist/out.txt: git ignores this file, so it cannot land" in ended.err
    assert "\x1b" not in ended.said
    assert "\u202e" not in ended.said
    assert "\\x1b" in ended.err


def test_by_products_of_tests_are_no_changes(workplace):
    workplace.plan(
        a_task(
            "TASK-001",
            blocks={"m.py": "M = 1\n"},
            tests=["python3 -c 'import m' && touch .coverage junk.txt"],
        )
    )
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert workplace.git("show", "--name-only", "--format=", "HEAD~1") == "m.py"
    assert workplace.dirt == []
    assert not workplace.has("junk.txt")


def test_the_plan_that_vanishes_meanwhile_is_a_conflict_and_the_next_run_goes_on(workplace):
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], command="echo a > a.txt"),
        a_task("TASK-002", needs=["TASK-001"], outputs=["b.txt"], command="echo b > b.txt"),
    )
    plan = workplace.root / "TASK-GRAPH.md"
    from runner import effects

    def taken_away(kind, target):
        if kind == "scratch" and plan.exists():
            plan.rename(workplace.home / "plan")

    effects.watch(taken_away)
    try:
        ended = workplace.run()
    finally:
        effects.unwatch(taken_away)
    assert ended.code == 6, ended.said
    assert "TASK-GRAPH.md is missing" in ended.err
    (workplace.home / "plan").rename(plan)
    again = workplace.run()
    assert again.code == 0, again.said
    assert workplace.landings == ["TASK-001", "TASK-002"]


def test_an_editor_that_saves_by_two_renames_ends_no_run(workplace):
    """As Vim does by its 'backupcopy': the file goes aside, and a new one is written."""
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], command="echo a > a.txt"),
        a_task("TASK-002", needs=["TASK-001"], outputs=["b.txt"], command="echo b > b.txt"),
    )
    plan, aside = workplace.root / "TASK-GRAPH.md", workplace.home / "plan~"
    from runner import effects

    def saved(kind, target):
        if kind == "scratch" and plan.exists():
            plan.rename(aside)
            Timer(0.3, lambda: aside.rename(plan)).start()

    effects.watch(saved)
    try:
        ended = workplace.run()
    finally:
        effects.unwatch(saved)
    assert ended.code == 0, ended.said
    assert workplace.landings == ["TASK-001", "TASK-002"]


def test_a_half_edited_plan_meanwhile_keeps_what_the_person_types(workplace):
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="echo a > a.txt"))
    from runner import effects

    def typed(kind, _):
        if kind == "scratch":
            text = workplace.read("TASK-GRAPH.md")
            if "half" not in text:
                workplace.write({"TASK-GRAPH.md": text + "\n## TASK-001: half\n\n- Status: DO"})

    effects.watch(typed)
    try:
        ended = workplace.run()
    finally:
        effects.unwatch(typed)
    assert ended.code == 0, ended.said
    text = workplace.read("TASK-GRAPH.md")
    assert text.endswith("\n## TASK-001: half\n\n- Status: DO")
    assert text.count("- Status: DONE") == 1


def test_json_is_one_document_on_standard_output_and_talk_is_on_standard_error(workplace):
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], command="echo a > a.txt"),
        a_task("TASK-002", outputs=["b.txt"], command="exit 1", fields=["Budget: 1 attempts"]),
        a_task("TASK-003", needs=["TASK-002"], outputs=["c.txt"], command="echo c > c.txt"),
    )
    ended = workplace.run("--json")
    assert ended.code == 1
    assert ended.document["kind"] == "run"
    assert ended.document["schemaVersion"] == 1
    assert ended.document["exit"] == 1
    assert ended.document["counts"] == {"DONE": 1, "BLOCKED": 1, "PENDING": 1}
    assert [one["id"] for one in ended.document["blocked"]] == ["TASK-002"]
    assert ended.document["blocked"][0]["reason"] == "checks"
    assert ended.document["waiting"] == [{"id": "TASK-003", "needs": ["TASK-002"]}]
    assert "TASK-001 started" in ended.err


def test_quiet_says_only_the_summary(workplace):
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="echo a > a.txt"))
    ended = workplace.run("-q")
    assert ended.err == ""
    assert re.fullmatch(r"1 task: 1 DONE \(1 unproven\); 1 commit, [\d.]+ s\n", ended.out)


def test_many_tasks_on_one_line_are_all_in_one_history(workplace):
    workplace.plan(
        *(
            a_task(f"TASK-{n:03}", outputs=[f"f{n}.txt"], command=f"echo {n} > f{n}.txt")
            for n in range(1, 13)
        )
    )
    ended = workplace.run("-j", "4")
    assert ended.code == 0, ended.said
    assert sorted(workplace.landings) == [f"TASK-{n:03}" for n in range(1, 13)]
    assert workplace.git("rev-list", "--merges", "HEAD") == ""
    assert workplace.dirt == []
    assert workplace.read("FILE_OWNERSHIP_MAP.md").count("| TASK-0") == 12


def test_an_interrupted_run_still_says_one_document(workplace):
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="echo begun; sleep 60"))
    process = workplace.start("run", "--trust", "--no-sandbox", "--json", "-v")
    for line in process.stderr:
        if "begun" in line or "started" in line:
            break
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert json.loads(out)["exit"] == 130
    assert workplace.statuses == {"TASK-001": "PENDING"}
