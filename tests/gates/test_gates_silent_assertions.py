"""Assertions of new tests that no test came to are told by what ran."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import silent_assertions
from runner.model import Action, Change, Level, Observed, TestContract, digest_of

PATH = "tests/test_shop.py"
SILENT = {
    "a class that is not collected": (
        "class TestShop:\n    def __init__(self):\n        pass\n    def test_a(self):\n"
        "        assert price(4) == 4\n"
    ),
    "a loop over nothing": (
        "def test_a():\n    for n, want in NONE:\n        assert price(n) == want\n"
    ),
    "a condition that is never so": (
        "def test_a():\n    if TODAY < X:\n        assert price(4) == 4\n"
    ),
    "a function that nobody calls": (
        "def test_a():\n    def four():\n        assert price(4) == 4\n    price(4)\n"
    ),
    "a method of unittest": (
        "class T(Base):\n    def test_a(self):\n        self.assertEqual(price(4), 4)\n"
    ),
    "a case that is never met": (
        "def test_a():\n    match price(4):\n        case 5:\n            assert price(4) == 4\n"
    ),
    "a group of errors that is not raised": (
        "def test_a():\n    try:\n        price(4)\n    except* ValueError as e:\n"
        "        assert 'x' in str(e)\n"
    ),
    "the end of a loop that is left": (
        "def test_a():\n    for n in ALL:\n        break\n    else:\n        assert n == 4\n"
    ),
    "an error that is not raised": (
        "def test_a():\n    try:\n        price(4)\n    except ValueError as e:\n"
        "        assert 'x' in str(e)\n"
    ),
}
FINE = {
    "another machine": (
        "def test_a():\n    if sys.platform == 'win32':\n        assert price(4) == 4\n"
    ),
    "a mark that says so": "@pytest.mark.skip\ndef test_a():\n    assert price(4) == 4\n",
    "a place that is not to be reached": (
        "def test_a():\n    try:\n        price(0)\n    except ValueError:\n        return\n"
        "    assert False\n"
    ),
    "no assertion": "def test_a():\n    if x:\n        print(4)\n",
}


def said(folder, text, *, ran="1", before=None, by_person=False, command="pytest", **settings):
    """What is found in a test file of which only some lines ran."""
    content = text.encode()
    path = settings.pop("path", PATH)
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(content), content)
    contract = TestContract(id="TC-001", level=Level.UNIT, command=command, line=1)
    bench = replace(
        a_bench(folder),
        task=a_task(outputs=("any",), test_contracts=(contract,)),
        changes=(change,),
        before=lambda _path: before,
        by_person=by_person,
        observed=(Observed("TC-001", "", path, digest_of(content), ran),) if ran else (),
    )
    bench = replace(bench, settings=replace(bench.settings, **settings))
    (check,) = silent_assertions.checks(bench.task, bench.settings)
    return silent_assertions.prove(check, bench).findings


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_an_assertion_that_never_ran_is_a_question(tmp_path, text):
    (finding,) = said(tmp_path, text)
    assert finding.asks
    assert finding.line > 1
    assert "never ran: no test contract comes to it" in finding.message


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_one_that_ran_is_fine(tmp_path, text):
    assert said(tmp_path, text, ran="1-9") == ()


@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_what_is_meant_not_to_run_here_is_left_alone(tmp_path, text):
    assert said(tmp_path, text) == ()


def test_an_assertion_of_several_lines_ran_with_any_of_them(tmp_path):
    text = "def test_a():\n    assert (\n        price(4)\n        == 4\n    )\n"
    assert said(tmp_path, text, ran="3") == ()
    assert len(said(tmp_path, text, ran="1")) == 1


def test_nothing_is_said_of_what_nobody_measured_or_a_contract_leaves_out(tmp_path):
    text = SILENT["a loop over nothing"]
    assert said(tmp_path, text, ran="") == ()
    assert said(tmp_path, text, command="pytest -k price") == ()
    assert said(tmp_path, text, command="pytest tests/test_shop.py::test_b") == ()


def test_what_was_there_before_is_not_the_tasks(tmp_path):
    text = SILENT["a loop over nothing"]
    assert said(tmp_path, f"{text}    x = 1\n", before=text.encode()) == ()


def test_a_person_is_only_warned(tmp_path):
    (finding,) = said(tmp_path, SILENT["a loop over nothing"], by_person=True)
    assert not finding.refuses


@pytest.mark.parametrize(
    "text",
    [
        "def test_a():\n    assert price(3) == 3\n    if x:\n        assert price(4) == 4\n",
        "def test_a():\n    if not x:\n        pytest.skip('none')\n    assert price(4) == 4\n",
    ],
)
def test_a_test_that_spoke_or_was_skipped_is_a_warning(tmp_path, text):
    (finding,) = said(tmp_path, text, ran="1-3")
    assert not finding.refuses
    assert finding.line == 4


def test_of_very_many_a_question_is_told_before_warnings(tmp_path):
    spoke = "def test_a():\n    if x:\n" + "".join(
        f"        assert price({number}) == 4\n" for number in range(3, 20)
    )
    found = said(
        tmp_path,
        f"{spoke}    assert price(2) == 2\n\n{SILENT['a loop over nothing']}",
        ran="1-2,20",
    )
    assert len(found) == 10
    assert [one.asks for one in found[:2]] == [True, False]
