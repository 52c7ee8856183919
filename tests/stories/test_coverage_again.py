"""A task that was DONE answers for all it landed, whenever it is proven or built again."""

import pytest
from workplace import a_task

CODE = "def f(x):\n    if x:\n        return 1\n    y = 2\n    z = 3\n    return y + z\n"
MORE = "\n\ndef g():\n    a = 1\n    return a\n"
TEST = "from m import f\nassert f(1) == 1\n"


@pytest.fixture
def built(workplace):
    blocks = {"m.py": CODE, "test_m.py": f"{TEST}assert f(0) == 5\n"}
    fields = ("Coverage: 75%",)
    workplace.plan(a_task("TASK-001", blocks=blocks, tests=("python3 test_m.py",), fields=fields))
    assert again(workplace)[0] == 0
    return workplace


def again(workplace):
    ended = workplace.run("--no-sandbox", "--no-verify-at-end")
    return ended.code, ended.said


def test_what_an_older_task_of_the_same_id_left_is_no_work_of_the_new_one(built):
    blocks = {"n.py": "def g():\n    return 1\n", "test_n.py": "from n import g\nassert g() == 1\n"}
    fields = ("Coverage: 75%",)
    built.plan(a_task("TASK-001", blocks=blocks, tests=("python3 test_n.py",), fields=fields))
    code, said = again(built)
    assert code == 0, said
    verified = built.runner("verify", "TASK-001", "--sandbox", "none")
    assert verified.code == 0, verified.said
    built.git("rm", "-q", "m.py", "test_m.py")
    built.git("commit", "-qm", "the old one goes")
    assert "was deleted since it was proven" not in built.runner("status").said
    code, said = again(built)
    assert (code, "is gone" in said) == (0, False), said


def test_with_fewer_tests_the_same_code_is_refused(built):
    built.edit_plan("assert f(0) == 5\n", "")
    built.edit_plan("- Status: DONE", "- Status: PENDING")
    code, said = again(built)
    assert code == 1, said
    assert "lines 4-6 are not run by any test contract (50% of 6 lines, threshold 75%)" in said


def test_what_it_adds_is_weighed_with_what_it_landed_and_so_it_is_proven_and_verified(built):
    built.edit_plan("    return y + z\n", f"    return y + z\n{MORE}")
    built.edit_plan("- Status: DONE", "- Status: PENDING")
    code, said = again(built)
    assert code == 0, said
    built.edit_plan("Coverage: 75%", "Coverage: 90%")
    code, said = again(built)
    assert code == 1, said
    assert "re-testing on the updated branch (attempt " in said
    assert "m.py:10: lines 10-11 are not run" in said
    assert "(77% of 9 lines, threshold 90%)" in said


def test_what_a_later_task_and_a_person_add_to_its_file_is_not_weighed_with_it(workplace):
    mine = "def f():\n    return 1\n"
    both = mine + MORE + "\n\ndef h():\n    b = 2\n    return b\n"
    first = {"m.py": mine, "test_m.py": "from m import f\nassert f() == 1\n"}
    second = {"m.py": both, "test_g.py": "from m import g, h\nassert (g(), h()) == (1, 2)\n"}
    test = ("python3 test_m.py",), ("python3 test_g.py",)
    workplace.plan(
        a_task("TASK-001", blocks=first, tests=test[0]),
        a_task("TASK-002", blocks=second, tests=test[1], needs=["TASK-001"]),
    )
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert "STALE" not in ended.said
    percents = {"TASK-001": 100, "TASK-002": 100}
    assert percents_of_all(workplace) == percents
    workplace.commit({"m.py": f"{both}\n\ndef by_person():\n    c = 3\n    return c\n"})
    assert percents_of_all(workplace) == percents


def percents_of_all(workplace):
    found = workplace.runner("verify", "--all", "--trust", "--sandbox", "none", "--json").document
    return {one["task"]: one["coverage"]["percent"] for one in found["tasks"]}


def test_a_blocked_task_is_measured_on_its_draft(workplace):
    blocks = {"m.py": CODE, "test_m.py": TEST}
    fields = ("Coverage: 75%",)
    workplace.plan(a_task("TASK-001", blocks=blocks, tests=("python3 test_m.py",), fields=fields))
    assert again(workplace)[0] == 1
    assert not workplace.has("m.py")
    measured = workplace.runner("check-coverage", "--task", "TASK-001")
    assert measured.code == 1
    assert "TASK-001: ❌ 50% of 6 lines (threshold 75%, on its draft)" in measured.out
    assert "not run: m.py 4-6" in measured.out
    lower = workplace.runner("check-coverage", "--task", "TASK-001", "--threshold", "40", "--json")
    assert (lower.code, lower.document["source"]) == (0, "draft")
