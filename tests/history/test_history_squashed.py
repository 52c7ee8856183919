"""A squash, a rebase or a rewritten history keeps what its commits prove."""

import re
import subprocess

import pytest
from history_build import tree
from workplace import Workplace, a_task

from runner.run.reconcile import REWRITTEN

ADD = ("def add(a, b):\n    return a + b\n", "from a import add\n\n\ndef test_add():\n    ")
SUB = ("def sub(a, b):\n    return a - b\n", "from b import sub\n\n\ndef test_sub():\n    ")
PYTEST = "python -m pytest -q -p no:cacheprovider {}"


def a_feature(number, name, code, test, **more):
    blocks = {f"{name}.py": code, f"test_{name}.py": test}
    return a_task(
        f"TASK-00{number}", blocks=blocks, tests=[PYTEST.format(f"test_{name}.py")], **more
    )


PLAN = (
    a_feature(1, "a", ADD[0], f"{ADD[1]}assert add(1, 2) == 3\n    assert add(-1, 5) == 4\n"),
    a_feature(2, "b", SUB[0], f"{SUB[1]}assert sub(3, 2) == 1\n    assert sub(1, 5) == -4\n"),
    a_task("TASK-003", tests=[PYTEST.format(".")], needs=["TASK-001", "TASK-002"]),
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A plan on `main`, and its tasks landed on `build`."""
    folder = tmp_path_factory.mktemp("built")
    place = Workplace.begin(folder / "work", folder)
    place.plan(*PLAN)
    place.git("switch", "-qc", "build")
    ended = place.run()
    assert ended.code == 0, ended.said
    return place


@pytest.fixture
def clone(built, tmp_path):
    """The tree of `main`, with what `build` landed still to be merged."""
    words = ["git", "clone", "-q", "-b", "build", built.root, tmp_path / "clone"]
    subprocess.run(words, check=True)
    place = Workplace(tmp_path / "clone", tmp_path)
    for name, value in (("name", "Bo"), ("email", "bo@example.org")):
        place.git("config", f"user.{name}", value)
    place.git("branch", "main", "origin/main")
    place.git("switch", "-q", "main")
    return place


def messages(place):
    """Those of the branch, the oldest first."""
    said = place.git("log", "--reverse", "--format=%B%x00", "main..build").split("\0")
    return [one.strip("\n") for one in said if one.strip()]


def bullets(place):
    return "Shop (#12)\n\n" + "\n\n".join(f"* {one}" for one in messages(place))


def indented(place):
    lines = "\n\n".join(f"- {one}" for one in messages(place)).splitlines()
    return "Shop\n\n" + "\n".join(line if line[:2] == "- " else f"  {line}" for line in lines)


STYLES = {
    "git merge --squash": None,
    "GitHub": bullets,
    "GitHub's page": lambda place: (
        bullets(place).replace("\n", "\r\n") + "\r\n\r\nCo-authored-by: Al <al@example.org>\r\n"
    ),
    "a list": indented,
    "git rebase -i": lambda place: "\n\n".join(messages(place)),
    "quoted": lambda place: "Shop\n\n" + re.sub("^", "> ", bullets(place), flags=re.MULTILINE),
}


def squash(place, style, change=lambda: None):
    place.git("merge", "-q", "--squash", "build")
    change()
    place.git("add", "-A")
    make = STYLES[style]
    words = ("--no-edit",) if make is None else ("--cleanup=verbatim", "-m", make(place))
    place.git("commit", "-q", *words)
    place.git("branch", "-qD", "build")
    place.git("update-ref", "-d", "refs/remotes/origin/build")


def proven(place):
    """By task whether a fresh clone says that it is proven."""
    found = place.runner("status", "--json").document["tasks"]
    return {one["id"]: one["status"] == "DONE" and one["grade"] == "proven" for one in found}


ALL = {"TASK-001": True, "TASK-002": True, "TASK-003": True}


@pytest.mark.parametrize("style", STYLES)
def test_a_fresh_clone_of_a_squash_says_proven(clone, style):
    squash(clone, style)
    assert proven(clone) == ALL
    if style == "GitHub":
        ended = clone.run()
        assert (ended.code, "started" in ended.said) == (0, False), ended.said
        assert proven(clone) == ALL
        assert not clone.git("status", "--porcelain")


@pytest.mark.parametrize("how", ["rebase", "cherry-pick"])
def test_a_rebase_and_a_copy_with_other_names_say_proven(clone, how):
    clone.commit({"other.txt": "1\n"})
    if how == "rebase":
        clone.git("rebase", "-q", "main", "build")
        clone.git("switch", "-q", "main")
        clone.git("merge", "-q", "--ff-only", "build")
    else:
        clone.git("cherry-pick", "-x", "main~1..build")
    assert proven(clone) == ALL


@pytest.mark.parametrize("style", ["git merge --squash", "GitHub"])
@pytest.mark.parametrize("text", [f"{ADD[0]}# mine\n", None], ids=["changed", "gone"])
def test_other_bytes_than_the_proven_ones_are_not(clone, style, text):
    def change():
        clone.write({"a.py": text}) if text else (clone.root / "a.py").unlink()

    squash(clone, style, change)
    assert proven(clone) == {**ALL, "TASK-001": False}


def test_a_message_that_is_copied_to_other_files_proves_nothing(clone):
    message = bullets(clone)
    clone.git("checkout", "-q", "build", "--", "TASK-GRAPH.md")
    clone.commit({"a.py": "def add(a, b):\n    return 3\n", "b.py": ""}, message=message)
    clone.git("branch", "-qD", "build")
    clone.git("update-ref", "-d", "refs/remotes/origin/build")
    assert not any(list(proven(clone).values())[:2])


def test_what_was_undone_before_the_squash_is_not_done(built, tmp_path):
    subprocess.run(["git", "clone", "-q", "-b", "build", built.root, tmp_path / "x"], check=True)
    place = Workplace(tmp_path / "x", tmp_path)
    for name, value in (("name", "Bo"), ("email", "bo@example.org")):
        place.git("config", f"user.{name}", value)
    assert place.runner("undo", "TASK-002", "--yes").code == 0
    place.git("branch", "main", "origin/main")
    place.git("switch", "-q", "main")
    squash(place, "GitHub")
    place.git("clean", "-qfdx")
    assert place.statuses["TASK-002"] == "PENDING"
    assert not proven(place)["TASK-002"]
    assert proven(place)["TASK-001"]


def test_of_two_tasks_that_wrote_one_file_the_last_is_proven_and_the_first_again(tmp_path):
    place = Workplace.begin(tmp_path / "work", tmp_path)
    both = f"{ADD[0]}\n\n{SUB[0]}"
    place.plan(
        PLAN[0],
        a_task(
            "TASK-002",
            blocks={
                "a.py": both,
                "test_b.py": f"{SUB[1]}assert sub(3, 2) == 1\n".replace("from b", "from a"),
            },
            tests=[PYTEST.format("test_b.py")],
            needs=["TASK-001"],
        ),
    )
    place.git("switch", "-qc", "build")
    assert place.run().code == 0
    place.git("switch", "-q", "main")
    squash(place, "GitHub")
    place.git("clean", "-qfdx")
    assert proven(place) == {"TASK-001": False, "TASK-002": True}
    ended = place.run()
    assert (ended.code, "started" in ended.said) == (0, False), ended.said
    assert proven(place) == {"TASK-001": True, "TASK-002": True}


STRIPPED = 'sed "/^Task:/d;/^Attempt:/d;/^Spec:/d;/^Proof:/d;/^Checked:/d"'


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Without the ten seconds in which git warns of what it is about to do."""
    monkeypatch.setenv("FILTER_BRANCH_SQUELCH_WARNING", "1")


def rewrite(place):
    """What `git filter-branch` makes of the messages: no trailer is left."""
    place.git("-c", "advice.detachedHead=false", "filter-branch", "-f", "--msg-filter", STRIPPED)
    assert "Task: " not in place.git("log", "--format=%B")


def adopted(place):
    return [one["task"] for one in place.events if one["type"] == "task.adopted"]


def test_what_stands_is_done_by_the_journal_and_not_built_again(shop):
    files = tree(shop)
    rewrite(shop)
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert REWRITTEN in ended.said
    assert [*shop.statuses.values()] == ["DONE", "DONE", "DONE"]
    assert tree(shop) == files
    state = {one["id"]: one for one in shop.runner("status", "--json").document["tasks"]}
    assert state["TASK-001"]["verified"]  # TASK-002 wrote its file, too
    assert shop.run().code == 0
    assert adopted(shop) == ["TASK-001", "TASK-002", "TASK-003"]  # told once


def test_what_a_person_changed_since_is_done_and_unverified(shop):
    shop.commit({"c.txt": "mine\n"}, message="by hand")
    rewrite(shop)
    assert shop.run().code == 0
    state = {one["id"]: one for one in shop.runner("status", "--json").document["tasks"]}
    assert (state["TASK-003"]["status"], state["TASK-003"]["verified"]) == ("DONE", False)
    assert state["TASK-002"]["verified"]
    assert shop.read("c.txt") == "mine\n"


@pytest.mark.parametrize("behind", [1, 3])
def test_a_branch_without_the_work_has_it_built_again(shop, behind):
    first = shop.git("rev-list", "--reverse", "--grep=^Task: ", "HEAD").splitlines()[0]
    plan = shop.read("TASK-GRAPH.md")
    shop.git("switch", "-qc", "side", f"{first}{'~1' if behind == 3 else ''}")
    shop.write({"TASK-GRAPH.md": plan})
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert "its commit is not in this branch" in ended.said
    assert shop.has("c.txt")
