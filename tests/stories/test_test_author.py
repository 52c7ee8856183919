"""A separate author writes held-out tests before the task starts."""

import json
import os
import shutil
import sys

import pytest
from author_plans import FILE, MORE, TESTS, a_mutant_round, a_round, answer, plan_half
from commands_terminal import Terminal
from held_out_plans import store_of

from runner.app.build import test_author
from runner.project import Project

NO_MORE = '{"files": [], "items": {}}'


def grade_of(shop):
    [task] = json.loads(shop.runner("status", "--json").out)["tasks"]
    return task["provenBy"]


@pytest.fixture
def shop(workplace, tmp_path, monkeypatch):
    """Sets an agent that writes tests, a command that implements, and a plan with two items."""
    monkeypatch.setenv("RUNNER_BUILD_BACKOFF", "0")

    def start(*rounds, mutants=(), **settings):
        plan_half(workplace, tmp_path / "agent", rounds, mutants, **settings)
        return workplace

    return start


def test_its_tests_are_in_the_plan_before_the_implementer_starts(shop, alone):
    shop = shop(a_round())
    killed = Project.open(shop.root, os.environ).held_out.workspaces / "1.0-1/tree"
    killed.mkdir(parents=True)
    ended = shop.run("--jobs", "1")
    plan = shop.read("TASK-GRAPH.md")
    assert "  - TC-001 (unit, held out): `python -m pytest -q tests/test_half_" in plan
    assert f"  - `{FILE}` sha256:" in plan
    assert shop.happened("tests.written")[0]["tests"] == 2
    assert "DONE" in shop.status_line("TASK-001"), ended.said
    assert shop.has(FILE)
    assert grade_of(shop) == ("independent" if shutil.which("bwrap") else "tests")
    journal = (shop.root / "artifacts/build/journal.jsonl").read_text()
    assert "test_below" not in journal
    assert not list(alone.rglob("workspaces/*"))


@pytest.mark.parametrize(
    "wrong",
    [
        [  # an answer that says nothing, and one without a test for an item
            a_round(say="done"),
            a_round(say=answer(A1=[f"{FILE}::test_half"])),
        ],
        [  # a file that Python cannot read, and one that is no test
            a_round(["def test_x(:"]),
            a_round(path="app.py", say=answer(["app.py"])),
        ],
        [  # tests of which none fails without the work, or none can run
            a_round(["def test_half(): pass", "def test_below(): pass"]),
            a_round(["import nothing_of_it", *TESTS]),
        ],
        [],
    ],
    ids=["answer", "file", "tests", "nothing"],
)
def test_what_is_wrong_goes_back_and_is_repaired(shop, wrong):
    good = (
        a_round() if wrong else a_round(say=answer(A1=[f"{FILE}::no"], A2=[f"{FILE}::test_below"]))
    )
    shop = shop(*wrong, good)
    shop.run("--jobs", "1")
    [event] = shop.happened("tests.written")
    assert event["repairs"] == len(wrong)


def test_after_two_repairs_the_task_waits(shop):
    shop = shop(a_round(say="done"))
    ended = shop.run()
    assert ended.code == 3, ended.said
    assert "BLOCKED" in shop.status_line("TASK-001")
    assert "still wrong after 2 repairs" in shop.status_line("TASK-001")
    assert shop.happened("attempt.started") == []
    assert shop.happened("task.blocked")[0]["reason"] == "test-author"


@pytest.mark.parametrize(
    ("fields", "why"),
    [("codex", ""), ("agent\n- Review: prompt", "its tests need your review")],
)
def test_an_author_that_cannot_work_now_makes_the_task_wait(shop, fields, why):
    shop = shop(a_round())
    shop.edit_plan("Test author: agent", f"Test author: {fields}")
    ended = shop.run()
    assert ended.code == 3, ended.said
    assert why in ended.said
    assert shop.happened("attempt.started") == []
    assert shop.happened("tests.written") == []
    assert shop.happened("task.blocked")[0]["reason"] == "test-author"


@pytest.mark.parametrize(("answer", "lands"), [("n", False), ("y", True)])
def test_a_person_who_reviews_the_writes_sees_the_tests_first(shop, answer, lands):
    shop = shop(a_round())
    shop.edit_plan("Test author: agent", "Test author: agent\n- Review: prompt")
    words = (sys.executable, "-m", "runner", "run", "--trust")
    with Terminal(words, columns=120, rows=60, cwd=shop.root, PAGER="cat") as terminal:
        heard = terminal.until("hold out these tests?")
        assert FILE in terminal.said
        assert "def test_below():" in terminal.said
        assert shop.happened("attempt.started") == []
        terminal.send(f"{answer}\n")
        if lands:
            terminal.until("[a]pply", after=heard)
            terminal.send("a")
        terminal.wait()
    assert ("held out" in shop.read("TASK-GRAPH.md")) is lands
    assert shop.has(FILE) is lands
    assert ("you did not accept its tests" in shop.status_line("TASK-001")) is not lands


# --- surviving mutants ------------------------------------------------------------------


def test_surviving_mutants_go_back_to_the_author_once(shop, alone):
    shop = shop(a_round(), mutants=[a_mutant_round()], mutation="warn")
    ended = shop.run("--jobs", "1")
    plan = shop.read("TASK-GRAPH.md")
    assert f"  - TC-002 (unit, held out): `python -m pytest -q {MORE}`" in plan
    assert f"  - `{FILE}` sha256:" in plan
    assert f"  - `{MORE}` sha256:" in plan
    assert "DONE" in shop.status_line("TASK-001"), ended.said
    assert shop.has(FILE)
    assert shop.has(MORE)
    assert [one["tests"] for one in shop.happened("tests.written")] == [2, 1]
    assert len(shop.happened("attempt.started")) == 2  # it is built once, and proven once more
    assert list(alone.rglob("author/tests-1.log"))  # both transcripts are in the store
    [log] = alone.rglob("author/mutants-1.log")
    seen = log.read_text()
    assert "app.py:2 in half" in seen
    assert "+ below = x <= 0" in seen
    assert "test_below" in seen  # its own earlier tests
    assert "return x / 2" not in seen  # no other line of the work
    assert grade_of(shop) == ("independent" if shutil.which("bwrap") else "tests")
    journal = (shop.root / "artifacts/build/journal.jsonl").read_text()
    assert "test_zero" not in journal


def test_a_new_test_that_fails_is_a_failed_held_out_test(shop):
    shop = shop(a_round(), mutants=[a_mutant_round(expected=7)], mutation="warn")
    ended = shop.run("--jobs", "1")
    assert ended.code == 3, ended.said
    assert "held-out" in shop.status_line("TASK-001")
    assert len(shop.happened("tests.written")) == 2  # once, also of work that is built again
    failed = [one for one in shop.happened("attempt.finished") if one["ending"] == "failed"]
    [first] = [one for one in failed[0]["findings"] if one["check"] == "TC-002"]
    assert first["message"] == "1 of 1 held-out tests fails: A2"


@pytest.mark.parametrize(
    ("mutant", "settings", "why"),
    [
        (a_mutant_round(say="done"), {}, "end with the JSON object"),
        (a_mutant_round(path=FILE), {}, "already exists"),
        ({"steps": [], "say": NO_MORE}, {}, ""),
        ({"steps": [{"fail": "no"}], "say": ""}, {}, "ended with exit 1"),
        (a_mutant_round(), {"mutation": "off"}, ""),
    ],
)
def test_a_task_keeps_its_tests_where_its_author_adds_none(shop, mutant, settings, why):
    shop = shop(a_round(), mutants=[mutant], **{"mutation": "warn", **settings})
    ended = shop.run("--jobs", "1")
    assert "DONE" in shop.status_line("TASK-001"), ended.said
    assert not shop.has(MORE)
    assert why in store_of(shop).read_refusal("TASK-001")
    assert not why or why not in ended.said
    assert "TC-002" not in shop.read("TASK-GRAPH.md")


# --- visible tests ----------------------------------------------------------------------


def test_visible_tests_are_in_the_tree_of_the_implementer_and_count(shop):
    shop = shop(a_round(), test_visibility="visible")
    shop.edit_plan("ls -R > seen.txt && rm seen.txt", f"test -f {FILE}")
    ended = shop.run("--jobs", "1")
    plan = shop.read("TASK-GRAPH.md")
    assert "  - TC-001 (unit): `python -m pytest -q tests/test_half_" in plan
    assert f"  - `{FILE}` sha256:" in plan
    assert "DONE" in shop.status_line("TASK-001"), ended.said
    assert shop.read(FILE) == "\n".join(TESTS) + "\n"
    assert grade_of(shop) == "independent"
    assert len(shop.happened("tests.written")) == 1
    assert store_of(shop).read("TASK-001", FILE) is None  # it landed
    shop.edit_plan("A1: half() halves a number", "A1: half() halves each number")
    shop.commit()
    shop.run("--rebuild", "--jobs", "1")
    assert len(shop.happened("tests.written")) == 1  # the branch has them


def test_another_machine_asks_no_author_again_for_tests_that_are_not_there(shop, tmp_path):
    shop = shop(a_round(), test_visibility="visible")
    shop.edit_plan("ls -R > seen.txt && rm seen.txt", "false")
    shop.run("--jobs", "1")
    content = store_of(shop).read("TASK-001", FILE)
    store_of(shop).drop("TASK-001", FILE)
    shop.runner("retry", "TASK-001")
    assert f"held-out {FILE} is not on this machine" in shop.status_line("TASK-001")
    (tmp_path / "test_half_acceptance.py").write_bytes(content)
    shop.edit_plan("app.py . && false", "app.py .")
    plan = shop.read("TASK-GRAPH.md").partition("Held-out")[2]
    back = shop.runner("hold-out", "TASK-001", "--from", str(tmp_path))
    assert back.code == 0, back.said
    assert shop.read("TASK-GRAPH.md").partition("Held-out")[2] == plan
    assert "TC-001 (unit): " in shop.read("TASK-GRAPH.md")
    ended = shop.runner("retry", "TASK-001")
    assert "DONE" in shop.status_line("TASK-001"), ended.said
    assert len(shop.happened("tests.written")) == 1


@pytest.mark.parametrize(
    "change",
    [
        "echo 'def test_half(): pass' > FILE",
        "sed -i '/-1/d' FILE",
        "rm FILE",
        "rm FILE && ln -s ../app.py FILE",
    ],
)
def test_an_implementer_cannot_change_visible_tests(shop, change):
    shop = shop(a_round(), test_visibility="visible")
    shop.edit_plan("ls -R > seen.txt && rm seen.txt", change.replace("FILE", FILE))
    shop.run("--jobs", "1")
    assert "DONE" not in shop.status_line("TASK-001")
    findings = shop.happened("attempt.finished")[0]["findings"]
    assert f"{FILE}, written by a separate test author" in findings[0]["message"]
    assert "not written yet" not in shop.runner("why", "TASK-001").said


@pytest.mark.parametrize("executor", ["threads", "dask"])
def test_mutants_go_back_to_the_author_of_visible_tests(shop, monkeypatch, executor):
    monkeypatch.setenv("RUNNER_CLUSTER_EXECUTOR", executor)
    shop = shop(a_round(), mutants=[a_mutant_round()], mutation="warn", test_visibility="visible")
    ended = shop.run("--jobs", "1")
    assert f"  - TC-002 (unit): `python -m pytest -q {MORE}`" in shop.read("TASK-GRAPH.md")
    assert "DONE" in shop.status_line("TASK-001"), ended.said
    assert shop.has(FILE)
    assert shop.has(MORE)
    assert grade_of(shop) == "independent"


class StoppedError(BaseException):
    """The runner is killed."""


def test_what_a_crash_cuts_off_is_not_asked_again(shop, monkeypatch):
    shop = shop(a_round(), mutants=[a_mutant_round()], mutation="warn")
    work = test_author._Author.work

    def stop(author):
        if author.mutants:
            raise StoppedError
        return work(author)

    with monkeypatch.context() as patch:
        patch.setattr(test_author._Author, "work", stop)
        with pytest.raises(StoppedError):
            shop.run("--jobs", "1")
    assert not (store_of(shop).results_of("TASK-001") / "survivors").exists()
    ended = shop.run("--jobs", "1")
    assert "DONE" in shop.status_line("TASK-001"), ended.said
    assert len(shop.happened("tests.written")) == 1
    assert not shop.has(MORE)
