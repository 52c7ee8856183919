"""What landed is rebuilt from its recorded bytes: the same trees, or the first that differs."""

import pytest
from history_build import THREE, cloned, commit_of
from workplace import PASSES, a_task


def test_everything_that_landed_is_identical(shop):
    said = shop.runner("replay", "--verify", "--all", "--json")
    found = said.document
    assert (said.code, found["identical"], found["steps"]) == (0, True, 3)
    assert found["implementerCalls"] == 0
    assert [one["step"]["task"] for one in found["verified"]] == [
        "TASK-001",
        "TASK-002",
        "TASK-003",
    ]
    assert all(one["unproven"] == "" for one in found["verified"])


def test_it_changes_nothing_in_the_repository(shop):
    before = shop.everything()
    assert shop.runner("replay", "--verify", "--all").code == 0
    after = shop.everything()
    assert {path: seen[3] for path, seen in before.items()} == {
        path: seen[3] for path, seen in after.items()
    }


def test_a_clone_without_a_journal_can_verify(shop, tmp_path):
    clone = cloned(shop, tmp_path / "clone")
    said = clone.runner("replay", "--verify", "--all", "--trust")
    assert said.code == 0, said.said
    assert said.out.startswith("identical: 3 steps rebuilt in ")
    assert not clone.has("artifacts/build/journal.jsonl")
    assert clone.dirt == []


def test_a_clone_that_nobody_trusts_runs_nothing(shop, tmp_path):
    clone = cloned(shop, tmp_path / "clone")
    assert clone.runner("replay", "--verify", "--all").code == 3


def test_nobody_implements_anything(workplace):
    workplace.plan(a_task("TASK-001", outputs=["out.txt"], command="date +%N > out.txt"))
    workplace.run()
    assert workplace.runner("replay", "--verify", "--all").code == 0
    workplace.write({"mine": "x"})
    assert workplace.git("show", "HEAD~1:out.txt") == workplace.read("out.txt").strip()


def test_a_proof_that_fails_today_is_named(workplace, tmp_path):
    mark = tmp_path / "good"
    mark.write_text("yes")
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "a\n"}, tests=[PASSES]),
        a_task("TASK-002", blocks={"b.txt": "b\n"}, tests=["grep -q b b.txt && ! grep -q z a.txt"]),
    )
    workplace.run("--no-sandbox")
    assert workplace.runner("replay", "--verify", "--all", "--no-sandbox").code == 0
    (workplace.root / "runner.toml").write_text("[gates]\nnever = 'test ! -e b.txt'\n")
    again = ("replay", "--verify", "TASK-002", "--no-sandbox")
    assert workplace.runner(*again).code == 3  # a gate that nobody has agreed to
    said = workplace.runner(*again, "--trust")
    assert said.code == 1
    assert "TASK-002 attempt 1" in said.out
    assert "diverges: gate:never" in said.out


def test_a_commit_that_was_amended_is_named(shop):
    shop.git("switch", "-q", "-c", "again", commit_of(shop, "TASK-002"))
    shop.write({"b.txt": "forged\n"})
    shop.git("commit", "-qa", "--amend", "--no-edit")
    shop.write({"TASK-GRAPH.md": shop.git("show", "main:TASK-GRAPH.md") + "\n"})
    said = shop.runner("replay", "--verify", "--all", "--json")
    assert said.code == 1
    assert said.document["divergence"]["step"]["task"] == "TASK-002"
    assert said.document["divergence"]["divergence"].startswith(
        "b.txt differs from what was approved"
    )


def test_a_commit_with_a_file_out_of_scope_is_named(shop, tmp_path):
    clone = cloned(shop, tmp_path / "clone")
    clone.git("switch", "-q", "-c", "again", commit_of(shop, "TASK-002"))
    clone.write({"more.txt": "forged\n"})
    clone.git("add", "more.txt")
    clone.git("commit", "-q", "--amend", "--no-edit")
    said = clone.runner("replay", "--verify", "TASK-002", "--trust")
    assert said.code == 1
    assert "more.txt" in said.out


def test_commits_by_hand_in_between_are_taken_as_they_are(workplace):
    workplace.plan(THREE[0])
    workplace.run()
    workplace.commit({"a.txt": "by hand\n"})
    workplace.plan(*THREE)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert workplace.runner("replay", "--verify", "--all").code == 0


def test_a_task_whose_text_changed_since_is_proven_as_it_was_written_then(shop):
    shop.edit_plan("\nc\n", "\nc, other\n")
    said = shop.runner("replay", "--verify", "TASK-003", "--json").document
    assert said["verified"][0]["unproven"] == ""


def test_checks_are_proven_again_on_the_tree_they_were_proven_on(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "a\n"}),
        a_task("TASK-002", needs=["TASK-001"], tests=["test -s a.txt && test ! -e b.txt"]),
        a_task("TASK-003", needs=["TASK-002"], blocks={"b.txt": "b\n"}),
    )
    workplace.run()
    said = workplace.runner("replay", "--verify", "--all", "--json")
    assert said.code == 0, said.said
    assert said.document["steps"] == 3


@pytest.mark.parametrize("words", [["--verify"], ["--verify", "TASK-001", "--all"]])
def test_what_is_to_be_verified_has_to_be_said(shop, words):
    assert shop.runner("replay", *words).code == 2


def test_nothing_landed_nothing_to_verify(workplace):
    workplace.plan(THREE[0])
    said = workplace.runner("replay", "--verify", "--all")
    assert said.code == 2
    assert "no such task has landed" in said.err
