"""A ship: everything proven together, declared, tagged, and left alone until it is reopened."""

import shutil

import pytest
from workplace import a_task


@pytest.fixture
def shop(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "a"}, tests=["test -f a.txt"]),
        a_task("TASK-002", needs=["TASK-001"], tests=["grep -q a a.txt"]),
    )
    assert workplace.run().code == 0
    return workplace


def more_work(shop):
    text = shop.read("TASK-GRAPH.md") + "\n" + a_task("TASK-003", blocks={"b.txt": "b"})
    shop.commit({"TASK-GRAPH.md": text})


def test_a_ship_is_declared_committed_and_tagged(shop):
    # Uncommitted code is not shipped, and a tag is never moved.
    shop.write({"a.txt": "mine"})
    ended = shop.runner("ship", "--trust")
    assert ended.code == 2
    assert "there are uncommitted changes" in ended.err
    assert shop.git("tag") == ""
    shop.git("checkout", "a.txt")
    shop.git("tag", "v1.0.0", "HEAD~1")
    ended = shop.runner("ship", "--tag", "v1.0.0", "--trust")
    assert ended.code == 6
    assert shop.git("rev-parse", "v1.0.0") == shop.git("rev-parse", "HEAD~1")
    assert shop.runner("ship", "--tag", "-d", "--trust").code == 2
    assert not shop.happened("ship.declared")
    shop.git("tag", "-d", "v1.0.0")

    ended = shop.runner("ship", "--trust", "--json")
    assert ended.code == 0, ended.said
    said = ended.document
    assert "this tree was already verified" in ended.err
    assert len(shop.happened("tree.verified")) == 1
    assert said["tag"].startswith("runner-ship-20")
    assert said["commit"] == shop.head
    assert shop.git("rev-parse", f"{said['tag']}^{{commit}}") == shop.head
    assert shop.git("cat-file", "-t", said["tag"]) == "tag"
    assert "Verified: 2 tasks DONE, proven together" in shop.git("cat-file", "tag", said["tag"])
    checkpoint = shop.read("artifacts/build/CHECKPOINT.md")
    assert f"Tag: {said['tag']}\nVerified: 2 tasks DONE" in checkpoint
    assert f"Ship: {said['tag']}" in shop.git("log", "-1", "--format=%B")
    assert shop.dirt == []
    assert shop.happened("ship.declared")[0]["tag"] == said["tag"]

    # Afterwards a run goes on only where it is reopened; two ships of a day have two tags.
    assert shop.runner("ship", "--trust").code == 2
    assert shop.run().code == 0  # there is nothing to do
    more_work(shop)
    ended = shop.run()
    assert ended.code == 2
    assert f"this plan was shipped as {said['tag']}; nothing has run" in ended.err
    assert "runner run --reopen" in ended.err
    assert shop.run("--reopen").code == 0
    assert shop.statuses["TASK-003"] == "DONE"
    assert shop.run().code == 0
    second = shop.runner("ship", "--trust", "--unproven", "--json").document["tag"]
    assert second == f"{said['tag']}-2"


def test_a_clone_without_the_journal_knows_of_the_ship(shop):
    more_work(shop)
    shop.run()
    assert shop.runner("ship", "--trust", "--unproven").code == 0  # nothing proves b.txt
    # Words of a person that only look like the trailer of a ship.
    shop.git("commit", "-q", "--allow-empty", "-m", 'feat: the page "Ship: now"')
    clone = shop.cloned("clone", "--no-tags")
    clone.edit_plan("test -f a.txt", "test -e a.txt")
    assert clone.run("--allow-dirty").code == 2
    assert clone.run("--allow-dirty", "--reopen").code == 0
    assert clone.happened("ship.reopened")


def test_a_clone_ships_on_the_word_of_the_trailers(shop):
    clone = shop.cloned()
    assert clone.runner("ship", "--trust").code == 0
    shutil.rmtree(clone.root / "artifacts/build/logs", ignore_errors=True)
    assert clone.dirt == []
