"""The separate author of tests: its answer, the mutants it gets, its visible files."""

from threading import Event
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from settings_of import settings_of

from runner.config.settings import Settings
from runner.gates.base import ChangeOrigin, GateContext
from runner.held_out import author, proof
from runner.held_out.author import find_misplaced, find_survivors, parse_answer
from runner.held_out.part import AuthorTests, needs_author
from runner.held_out.store import FileRecord, HeldOutStore, make_store_id
from runner.model import (
    Action,
    Change,
    HeldOutFile,
    Level,
    Proof,
    TestContract,
    Verdict,
    digest_of,
)
from runner.plan.document import read_plan

CODE = b"""def half(x):
    below = x < 0
    if below:
        raise ValueError
    return x / 2
"""
TEST = "tests/test_half.py"
CONTRACT = TestContract("TC-001", Level.UNIT, f"python -m pytest -q {TEST}")
VISIBLE = FileRecord(items=(("A1", (f"{TEST}::test_half",)),))
DATA = "tests/data.txt"
LISTED = (HeldOutFile(TEST, digest_of(b"test")), HeldOutFile(DATA, digest_of(b"1")))


def gates(*, contracts=(), note="", **more):
    change = Change("app.py", Action.CREATE, 0o100644, None, digest_of(CODE), CODE)
    proof = Proof("mutation", "mutation", "", Verdict.PASS, 0, 0.0, digest_of(b""), note=note)
    told = {
        "settings": Settings(),
        "task": a_task(test_contracts=contracts),
        "origin": ChangeOrigin(),
        "cancelled": Event(),
        "proofs": (proof,),
        "changes": (change,),
        "observed": (),
        "before": lambda _path: None,
        "after": lambda _path: CODE,
        "is_test": lambda path: path.startswith("tests/"),
    }
    return SimpleNamespace(**(told | more))


def is_noticed(changes):
    return b"x <= 0" not in changes[0].content


def test_mutants_that_no_test_notices_are_told_by_place_and_line():
    [text] = find_survivors(gates(), is_noticed)
    assert text.splitlines() == ["app.py:2 in half", "  - below = x < 0", "  + below = x <= 0"]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"settings": settings_of(mutation="off")}, 0),
        ({"origin": ChangeOrigin(by_person=True)}, 0),
        ({"contracts": (CONTRACT,)}, 0),  # the visible contract noticed all of them
        ({"contracts": (CONTRACT,), "note": "not noticed: app.py:2"}, 1),
        ({"contracts": (CONTRACT,), "note": "not noticed: app.py:5; no time"}, 0),
    ],
)
def test_only_survivors_of_the_visible_contracts_are_tried_again(more, found):
    assert len(list(find_survivors(gates(**more), is_noticed))) == found


def test_a_mutant_may_run_three_times_as_long_as_the_contract(monkeypatch):
    ran = Proof("TC-001", "test", "", Verdict.PASS, 0, 2.0, digest_of(b""))
    seen = []
    monkeypatch.setattr(author, "earlier", lambda check, *_: seen.append(check.limits.hard))
    assert author.is_noticed(gates(contracts=(CONTRACT,), proofs=(ran,)), ())
    assert seen == [16.0]


def test_a_mutant_may_run_three_times_as_long_as_the_held_out_contract(monkeypatch):
    ran = Proof("TC-001", "test", "", Verdict.PASS, 0, 2.0, digest_of(b""))
    seen = []

    def run(checks, *_):
        seen.extend(one.limits.hard for one in checks)
        return {"TC-001": False}

    monkeypatch.setattr(proof, "_try", run)
    had = vars(gates())
    given = {name: had[name] for name in ("settings", "task", "cancelled", "changes")}
    sandbox = SimpleNamespace(contains=True)
    given |= {"place": None, "sandbox": sandbox, "environment": {}, "logs": None}
    own = GateContext(**given, logs_shown="", tell=lambda _: None)
    context = SimpleNamespace(gates=own, part=SimpleNamespace(contracts=(CONTRACT,)))
    found = proof.HeldOutProof((proof.HeldOutContractResult(ran),))
    assert not list(proof._find_survivors(context, found))
    assert set(seen) == {16.0}


@pytest.mark.parametrize(
    ("adds", "read", "wrong"),
    [
        (False, {"files": [TEST], "items": {}}, ["A1: name a test for this item"]),
        (True, {"files": [TEST], "items": {}}, []),
        (True, {"files": [], "items": {}}, []),
        (True, {"files": [TEST], "items": {"A7": [f"{TEST}::t"]}}, ["the task has no item A7"]),
        (True, None, ['end with the JSON object {"files": […], "items": {…}}']),
    ],
)
def test_who_adds_tests_names_no_test_for_every_item(adds, read, wrong):
    assert parse_answer(read, {"A1": "half"}, adds=adds)[1] == wrong


@pytest.mark.parametrize(
    ("changes", "before", "found"),
    [
        ({TEST: b"test"}, None, 0),
        ({TEST: b"tes"}, None, 1),
        ({TEST: None}, b"test", 1),
        ({}, None, 1),
        ({}, b"test", 0),  # it landed before
    ],
)
def test_a_visible_file_stays_as_its_author_wrote_it(changes, before, found):
    made = [SimpleNamespace(path=path, content=content) for path, content in changes.items()]
    tests = AuthorTests(((TEST, b"test"),))
    assert len(list(tests.find_altered(made, lambda _path: before))) == found


@pytest.fixture
def store(tmp_path):
    common = tmp_path / "git"
    common.mkdir()
    make_store_id(common)
    return HeldOutStore.open(tmp_path / "state", common, "TASK-GRAPH.md", None)


def a_task(**more):
    (task,) = read_plan(b"## TASK-001: Half\n\n- Output files: `app.py`\n", "P").tasks
    return replace(task, **{"test_author": "claude", **more})


def test_visible_tests_are_the_listed_files_of_a_task_without_a_held_out_contract(store):
    store.put("TASK-001", TEST, b"test", VISIBLE)
    store.put("TASK-001", DATA, b"1", FileRecord())
    store.put("TASK-001", "tests/test_other.py", b"test", FileRecord())
    task = a_task(test_contracts=(CONTRACT,), held_out_files=LISTED)
    found = store.read_visible(task, lambda _path: False)
    assert dict(found.files) == {TEST: b"test", DATA: b"1"}
    assert found.items == VISIBLE.items
    assert store.read_visible(task, lambda _path: True) == AuthorTests()  # they have landed
    store.put("TASK-001", TEST, b"other", VISIBLE)
    assert dict(store.read_visible(task, lambda _path: False).files) == {DATA: b"1"}
    held_out = replace(task, test_contracts=(replace(CONTRACT, held_out=True),))
    assert store.read_visible(held_out, lambda _path: False) == AuthorTests()


def test_an_author_is_asked_until_the_plan_lists_its_files():
    assert needs_author(a_task())
    assert needs_author(a_task(test_contracts=(CONTRACT,)))
    assert not needs_author(a_task(test_contracts=(CONTRACT,), held_out_files=LISTED))
    assert not needs_author(a_task(test_author=""))


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("tests/test_more.py", []),
        (TEST, [f"{TEST} already exists: create new files"]),
        ("tests/test_app.py", ["tests/test_app.py is a file of TASK-001: choose another name"]),
        ("tests/test_far.py", ["tests/test_far.py is a file of TASK-002: choose another name"]),
        ("more.py", ["more.py is not named like the project's test files"]),
    ],
)
def test_an_author_creates_test_files_of_its_own(path, wrong):
    made = (Change(path, Action.CREATE, 0o100644, None, digest_of(b""), b""),)
    taken = {TEST: "TASK-001", "tests/test_app.py": "TASK-001", "tests/test_far.py": "TASK-002"}
    assert find_misplaced(made, (TEST,), taken)[:1] == wrong


def test_survivors_are_those_of_one_proposal(store):
    store.keep_survivors("TASK-001", "tree", ["app.py:2 in half", "app.py:5 in half"])
    assert store.read_survivors("TASK-001", "tree") == "app.py:2 in half\napp.py:5 in half\n"
    assert store.read_survivors("TASK-001", "other") == ""
    assert store.read_survivors("TASK-002", "tree") == ""
    store.drop_survivors("TASK-002")
    store.drop_survivors("TASK-001")
    assert store.read_survivors("TASK-001", "tree") == ""
