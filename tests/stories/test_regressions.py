"""A change that breaks another task: caught before it lands, held, and both ways out."""

import pytest
from workplace import a_task

OVERLAP = "def overlap(a, b):\n    return a[0] < b[1] and b[0] < a[1]\n"
TOUCHING = "def overlap(a, b):\n    return a[0] <= b[1] and b[0] <= a[1]\n"
API = "from rules import overlap\n\n\ndef free(a, b):\n    return not overlap(a, b)\n"
API_TEST = "from api import free\n\n\ndef test_free():\n    assert free((1, 2), (2, 3))\n"
API_TEST_ANEW = API_TEST.replace("assert free", "assert not free")
RULES_TEST = "def test_rules():\n    import rules\n\n    assert rules.overlap((1, 3), (2, 4))\n"


def first():
    return (
        a_task("TASK-001", "Overlap rule", blocks={"rules.py": OVERLAP}),
        a_task(
            "TASK-002",
            "API",
            needs=["TASK-001"],
            blocks={"api.py": API, "test_api.py": API_TEST},
            tests=["python -m pytest -q test_api.py"],
        ),
    )


def later():
    return (
        a_task(
            "TASK-003",
            "Touching bookings overlap",
            needs=["TASK-001"],
            blocks={"rules.py": TOUCHING, "test_rules.py": RULES_TEST},
            tests=["python -m pytest -q test_rules.py"],
        ),
        a_task("TASK-004", "Beside it", needs=["TASK-003"], blocks={"b.txt": "b"}),
    )


HALTED = {"TASK-001": "DONE", "TASK-002": "STALE", "TASK-003": "BLOCKED", "TASK-004": "PENDING"}
DRAFT = "draft/TASK-003-touching-bookings-overlap"


@pytest.fixture
def halted(workplace):
    workplace.plan(*first())
    assert workplace.run("--no-sandbox").code == 0
    workplace.plan(*first(), *later())
    workplace.edit_plan("PENDING", "DONE")
    workplace.edit_plan("PENDING", "DONE")
    ended = workplace.run("--no-sandbox")
    return workplace, ended


def test_a_change_that_breaks_another_task_is_held_until_both_land_in_one_step(halted):
    workplace, ended = halted
    assert ended.code == 4
    assert workplace.statuses == HALTED
    assert "TASK-003 changed rules.py:2; TC-002 fails" in workplace.status_line("TASK-002")
    assert "waits for you to approve or reject TASK-002" in workplace.status_line("TASK-003")
    assert workplace.read("rules.py") == OVERLAP
    assert "test_rules.py" in workplace.git("ls-tree", "--name-only", DRAFT)
    for way in ("runner approve TASK-002", "runner reject TASK-003"):
        assert way in ended.said

    # A victim that cannot be built on it leaves everything as it was.
    assert workplace.runner("approve", "TASK-002").code == 0
    assert workplace.run("--no-sandbox").code == 4
    assert workplace.read("rules.py") == OVERLAP
    assert workplace.statuses == HALTED
    assert workplace.landings == ["TASK-001", "TASK-002"]
    assert [one for one in workplace.branches if one.startswith("draft/TASK-003")] == [DRAFT]

    # With a test that fits the change, both land in one step.
    before = workplace.head
    workplace.edit_plan(API_TEST, API_TEST_ANEW)
    assert workplace.runner("approve", "TASK-002").code == 0
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert set(workplace.statuses.values()) == {"DONE"}
    assert workplace.read("rules.py") == TOUCHING
    assert workplace.read("test_api.py") == API_TEST_ANEW
    assert workplace.landings == ["TASK-001", "TASK-002", "TASK-003", "TASK-002", "TASK-004"]
    moved = workplace.git("reflog", "show", "main", "--format=%H").splitlines()
    one_step = moved[moved.index(before) - 1]
    assert (
        workplace.git("log", "--format=%(trailers:key=Task,valueonly)", "-1", one_step).strip()
        == "TASK-002"
    )
    assert workplace.dirt == [" M TASK-GRAPH.md"]  # the edit is the person's to commit


def test_a_rejected_change_is_dropped_and_its_victim_is_done_again(halted):
    workplace, _ = halted
    assert workplace.runner("reject", "TASK-003", "--reason", "keep them apart").code == 0
    assert DRAFT in workplace.branches
    workplace.edit_plan(TOUCHING, OVERLAP + "\n\nKEPT = True\n")
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert set(workplace.statuses.values()) == {"DONE"}
    assert workplace.landings == ["TASK-001", "TASK-002", "TASK-003", "TASK-004"]
    assert DRAFT not in workplace.branches, "what nobody touched goes as its task is done"


USED = "def f():\n    return 1\n"
USED_TEST = "from u import f\n\n\ndef test_f():\n    assert f() == 1\n"
WRITES = "printf 'def f():\\n    return 2\\n' > u.py; printf '{}' > test_b.py"
BROKEN_BY = r"from u import f\n\n\ndef test_b():\n    assert f() == 2\n"


def test_a_command_that_breaks_another_task_twice_the_same_way_waits_for_a_person(workplace):
    """The rule against loops ends the attempts, and the regression decides what follows."""
    workplace.plan(
        a_task(
            "TASK-001",
            "One",
            blocks={"u.py": USED, "test_u.py": USED_TEST},
            tests=["python -m pytest -q"],
        ),
        a_task(
            "TASK-002",
            "Two",
            needs=["TASK-001"],
            outputs=("u.py", "test_b.py"),
            command=WRITES.format(BROKEN_BY),
            tests=["python -m pytest -q test_b.py"],
        ),
    )
    ended = workplace.run("--no-sandbox")
    assert ended.code == 4, ended.said
    assert workplace.statuses == {"TASK-001": "STALE", "TASK-002": "BLOCKED"}
    assert "TASK-002 changed u.py:2; TC-001 fails" in workplace.status_line("TASK-001")
    assert "u.py:2: this breaks TASK-001's TC-001" in ended.said
    assert "test_b.py: this breaks" not in ended.said
    for way in ("runner approve TASK-001", "runner reject TASK-002"):
        assert way in ended.said
