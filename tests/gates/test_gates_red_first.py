"""Red first: tests that pass before the code exists prove nothing about it."""

import pytest
from gates_bench import a_task
from gates_trees import a_check, a_story

from runner.config.settings import Settings
from runner.gates import contract_tests, red_first
from runner.model import Severity, Verdict

PYTEST = "python -m pytest -q -p no:cacheprovider"
CODE = {"shop.py": "def price(): return 3\n"}
TESTS = {"tests/test_shop.py": "import shop\ndef test_price(): assert shop.price() == 3\n"}
IDLE = {"tests/test_shop.py": "def test_price(): assert 1 + 2 == int('3')\n"}


def refusals(findings):
    return [one.message for one in findings if one.refuses]


def a_try(folder, before, after, command=f"{PYTEST} tests", **fields):
    bench, visits = a_story(folder, before, after, red_first=True, **fields)
    return contract_tests.prove(a_check(f"PYTHONPATH=. {command}"), bench), visits, bench


def test_a_contract_that_fails_without_the_implementation_is_as_it_should_be(tmp_path):
    said, visits, _ = a_try(tmp_path, {}, CODE | TESTS)
    assert said.proof.verdict is Verdict.PASS
    assert said.findings == ()
    assert visits == [["tests/test_shop.py"]]


def test_a_contract_that_passes_without_it_is_refused(tmp_path):
    said, _, _ = a_try(tmp_path, {}, CODE | IDLE)
    assert said.proof.verdict is Verdict.FAIL, "nobody is shown that it passed"
    assert said.proof.note == "passes without the implementation"
    assert refusals(said.findings) == [
        "TC-001 passes without the implementation, so it proves nothing"
    ]


def test_a_single_test_that_a_contract_names_must_fail_too(tmp_path):
    both = {
        "tests/test_shop.py": TESTS["tests/test_shop.py"] + "def test_none(): assert int('1')\n"
    }
    command = f"{PYTEST} tests/test_shop.py::test_none tests/test_shop.py::test_price"
    both["tests/test_shop.py"] = both["tests/test_shop.py"].replace(
        "import shop\ndef test_price():", "def test_price():\n    import shop\n   "
    )
    said, _, _ = a_try(tmp_path, {}, CODE | both, command)
    assert refusals(said.findings) == [
        "tests/test_shop.py::test_none passes without the implementation, so it proves nothing"
    ]


def test_a_new_test_among_others_that_passes_already_is_named(tmp_path):
    late = "def test_price():\n    import shop\n    assert shop.price() == 3\n"
    old = {"tests/test_shop.py": "def test_old(): assert int('1')\n"}
    new = {
        "tests/test_shop.py": old["tests/test_shop.py"] + late + "def test_new(): assert int('1')\n"
    }
    said, _, _ = a_try(tmp_path, old, CODE | new)
    (finding,) = said.findings
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "the new test tests/test_shop.py::test_new passes without the implementation"
    )


def test_the_next_attempt_does_not_pay_again_until_the_tests_change(tmp_path):
    check = a_check(f"PYTHONPATH=. {PYTEST} tests")
    asked = []
    for code in ("def price(): return 3\n", "def price(): return 4 - 1\n"):
        bench, visits = a_story(tmp_path, {}, TESTS | {"shop.py": code}, red_first=True)
        red_first.findings(check, bench)
        asked.append(len(visits))
    assert asked == [1, 0]
    bench, visits = a_story(tmp_path, {}, CODE | IDLE, red_first=True)
    assert refusals(red_first.findings(check, bench))
    assert len(visits) == 1


def test_it_is_asked_only_where_it_should_be(tmp_path):
    bench, visits = a_story(tmp_path, {}, CODE | IDLE)
    assert contract_tests.prove(a_check("true"), bench).findings == ()
    assert visits == []


@pytest.mark.parametrize(
    ("own", "setting", "implementer", "new", "type_", "wanted"),
    [
        (None, "auto", "claude", True, "api", True),
        (None, "auto", "model", True, "", True),
        (None, "auto", "claude", False, "api", False),
        (None, "auto", "claude", True, "refactor", False),
        (None, "auto", "blocks", True, "api", False),
        (None, "auto", "command", True, "api", False),
        (None, "always", "blocks", False, "", True),
        (None, "never", "claude", True, "api", False),
        (True, "never", "blocks", False, "", True),
        (False, "always", "claude", True, "api", False),
    ],
)
def test_who_is_asked_to_be_red_first(own, setting, implementer, new, type_, wanted):
    task = a_task(red_first=own, type=type_)
    settings = Settings(red_first=setting)
    assert red_first.wants_red_first(task, settings, implementer, is_new_work=new) is wanted
