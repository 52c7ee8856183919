"""Whole runs in which tests are what is at stake: weakened, flaky, idle, or red all along."""

from workplace import a_task

CODE = "def price():\n    return 3\n"
TEST = """import shop


def test_price():
    assert shop.price() == 3
    assert shop.price() > 0
"""
PYTEST = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q -p no:cacheprovider test_shop.py"


def test_a_landed_test_is_not_weakened_unseen(workplace):
    weaker = TEST.replace("    assert shop.price() == 3\n", "    assert shop.price() is not None\n")
    workplace.commit({"shop.py": CODE, "test_shop.py": TEST})
    workplace.plan(
        a_task(
            "TASK-001",
            "Free of charge",
            outputs=["shop.py", "test_*.py"],
            blocks={"shop.py": CODE.replace("3", "4"), "test_shop.py": weaker},
            tests=[PYTEST],
            fields=["Budget: 1 attempts"],
        )
    )
    ended = workplace.run("-v")
    assert ended.code == 3, ended.said
    assert "`test_shop.py::test_price` fails on the new code in its earlier version" in ended.said
    assert workplace.read("test_shop.py") == TEST


def test_the_results_of_each_test_reach_the_evidence(workplace):
    workplace.plan(
        a_task(
            "TASK-001",
            outputs=["shop.py", "test_shop.py"],
            blocks={"shop.py": CODE, "test_shop.py": TEST},
            tests=[PYTEST],
        )
    )
    ended = workplace.run("-v")
    assert ended.code == 0, ended.said
    (proof, *_) = [e["proof"] for e in workplace.happened("gate.completed")]
    assert (proof["id"], dict(proof["counts"])) == ("TC-001", {"passed": 1})


def test_a_flaky_contract_is_shown_as_one(workplace):
    flaky = (
        "import pathlib\n\n\ndef test_shaky():\n    mark = pathlib.Path('__pycache__/seen')\n"
        "    first = not mark.exists()\n    mark.parent.mkdir(exist_ok=True)\n"
        "    mark.touch()\n    assert not first\n"
    )
    workplace.plan(
        a_task(
            "TASK-001",
            outputs=["shop.py", "test_shop.py"],
            blocks={"shop.py": "", "test_shop.py": flaky},
            tests=[PYTEST],
        )
    )
    ended = workplace.run("-v")
    assert ended.code == 0, ended.said
    assert "⚠ TC-001" in workplace.read("artifacts/build/CHECKPOINT.md")


def test_a_gate_that_was_red_before_does_not_stop_the_work(workplace):
    workplace.commit({"old.txt": "bad\n"})
    workplace.write({"runner.toml": '[gates]\nlint = "sh: ! grep -n bad old.txt"\n'})
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="echo a > a.txt"))
    ended = workplace.run("-v")
    assert ended.code == 0, ended.said
    assert "⚠ lint" in workplace.read("artifacts/build/CHECKPOINT.md")


def test_what_a_contract_changes_leaves_running_or_fails_by_is_said(workplace):
    workplace.plan(
        a_task(
            "TASK-001",
            blocks={"a.txt": "a\n"},
            tests=["echo more >> a.txt; echo made > b.txt; sleep 300 & true"],
        ),
        a_task(
            "TASK-002",
            needs=["TASK-001"],
            blocks={"c.txt": "c\n"},
            tests=["true", "false"],
            fields=["Gates:\n  - lint: `false`\n  - types: `true`"],
        ),
    )
    ended = workplace.run()
    assert ended.code == 1, ended.said
    assert "⚠ TC-001: the gate modified files (discarded): a.txt, b.txt" in ended.err
    assert "⚠ TC-001: the runner stopped 1 process that the command left running" in ended.err
    assert workplace.read("a.txt") == "a\n"
    assert not workplace.has("b.txt")
    told = workplace.read("artifacts/build/CHECKPOINT.md")
    assert "--- Task 2: Work — BLOCKED ❌\nTC: 1/2 pass (2 unit) ❌ TC-0021\n" in told
    assert "Gates: ❌ lint ✅ types\n" in told
