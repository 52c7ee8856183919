"""Gates that run the tests of a contract in other words."""

import pytest
from gates_bench import a_check, a_gate, a_story
from msgspec.structs import replace

from runner.gates import commands, contract_tests
from runner.gates.proof_cache import ProofMemory
from runner.plan.shell.selection import find_pytest_words

TEST = "import os\ndef test_a(): open(os.environ['COUNT'], 'a').write('.')\n"
TREE = {"testing/test_a.py": TEST, "shop.py": "x = 1\n"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pytest -q testing", (("",), ("testing",))),
        ("python -m pytest -q ./testing/ --tb=short", (("",), ("testing",))),
        (".venv/bin/python -m pytest", (("",), ())),
        ("python3.12 -m pytest", (("python3.12",), ())),
        ("pytest -k slow a b", (("", "-k", "slow"), ("a", "b"))),
        ("A=1 pytest a", (("", "A=1"), ("a",))),
        ("pytest a | tail", None),
        ("pytest a && pytest b", None),
        ("ruff check .", None),
    ],
)
def test_one_call_of_pytest_is_read_by_options_and_paths(line, words):
    assert find_pytest_words(line) == words


@pytest.mark.parametrize(
    ("tree", "contract", "gate", "runs"),
    [
        ({}, "-q testing", "-q", 1),
        ({}, "-q", "--tb=short testing", 1),
        ({"conftest.py": ""}, "testing", "", 1),
        ({"more/test_b.py": TEST}, "testing", "", 3),
        (
            {"more/test_b.py": TEST, "pytest.ini": "[pytest]\ntestpaths = testing\n"},
            "testing",
            "",
            1,
        ),
        ({"more/conftest.py": ""}, "testing", "", 2),
        ({"pytest.ini": "[pytest]\npython_files = *.py\n"}, "testing", "", 2),
        ({"testing/test_b.py": TEST}, "testing/test_a.py", "testing", 3),
        ({"test.py": TEST}, "testing", "testing test.py", 3),
        (
            {"test.py": TEST, "pytest.ini": "[pytest]\ntestpaths = test.py\n"},
            "testing",
            "",
            2,
        ),
        ({}, "testing", "-k test_a", 2),
        ({}, "-k test_a testing", "", 2),
    ],
)
def test_a_gate_does_not_run_the_tests_of_the_contract_again(tmp_path, tree, contract, gate, runs):
    context, _ = a_story(tmp_path, TREE | tree, TREE | tree | {"shop.py": "x = 2\n"})
    count = tmp_path / "count"
    variables = {**context.environment, "COUNT": str(count)}
    context = replace(context, environment=variables, memory=ProofMemory(), tree="t" * 40)
    check = a_check(f"python -m pytest -p no:cacheprovider {contract}")
    assert contract_tests.prove(check, context).findings == ()
    proved = commands.prove(
        a_gate(f"python3 -m pytest -p no:cacheprovider {gate}", "tests"), context
    )
    assert not any(one.refuses for one in proved.findings)
    assert len(count.read_text()) == runs
    assert bool(proved.proof.stands_from) is (runs == 1)


SUITE = {"tests/test_shop.py": TEST + "import shop\n", "shop.py": "x = 1\n", "tool.py": "y = 1\n"}
DATA = {"data/a.json": "1", "docs/a.md": "a", "README.md": "r"}


@pytest.mark.parametrize(
    ("before", "after", "runs"),
    [
        ({}, {"tool.py": "y = 2\n"}, 1),
        ({}, {"data/a.json": "2", "docs/a.md": "b"}, 1),
        ({}, {"docs/new.md": "n"}, 1),
        ({"tool.py": "y = 0\n"}, {"tool.py": "y = 0\n", "docs/a.md": "b"}, 1),
        ({}, {"shop.py": "x = 2\n"}, 2),
        ({}, {"tests/test_shop.py": SUITE["tests/test_shop.py"] + "\n"}, 2),
        ({}, {"data/new.json": "n"}, 2),
        ({}, {"other.py": "n"}, 2),
        ({}, {"tool.py": None}, 2),
        ({"shop.py": "x = 0\n"}, {"shop.py": "x = 0\n", "docs/a.md": "b"}, 2),
    ],
)
def test_a_gate_stands_where_only_files_changed_that_it_does_not_open(
    tmp_path, before, after, runs
):
    count, memory, base = tmp_path / "count", ProofMemory(), SUITE | DATA
    gate = a_gate("PYTHONPATH=. python -m pytest -p no:cacheprovider", "tests")

    def prove(old, new, tree, differing=()):
        new = {path: text for path, text in new.items() if text is not None}
        context, _ = a_story(tmp_path, old, new)
        variables = {**context.environment, "COUNT": str(count), "PYTHONDONTWRITEBYTECODE": "1"}
        context = replace(context, environment=variables, memory=memory, tree=tree)
        return commands.prove(gate, replace(context, find_differing=lambda _tree: differing))

    first = prove({}, base, "a" * 40)
    assert (first.proof.exit, len(count.read_text())) == (0, 1)
    proved = prove(base | before, base | after, "b" * 40, tuple(before))
    assert proved.findings == ()
    assert len(count.read_text()) == runs
    assert proved.proof.note.endswith("in TASK-001's proof") is (runs == 1)
