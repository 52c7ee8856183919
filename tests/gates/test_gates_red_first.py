"""Red first: a question where no test fails without the change."""

import pytest
from gates_bench import a_task
from gates_trees import a_check, a_story
from msgspec.structs import replace
from settings_of import settings_of

from runner.config.settings import Settings
from runner.gates import contract_tests
from runner.gates.base import ChangeOrigin
from runner.gates.mutation import red_first

PYTEST = "PYTHONPATH=. python -m pytest -q -p no:cacheprovider tests"
CODE = {"shop.py": "def price(): return 3\n"}
TESTS = {"tests/test_shop.py": "import shop\ndef test_price(): assert shop.price() == 3\n"}
IDLE = {"tests/test_shop.py": "def test_price(): assert 1 + 2 == int('3')\n"}


def ask(folder, before, after, *, stub_noticed=False, task=None, **fields):
    context, visits = a_story(folder, before, after, red_first=True, task=task, **fields)
    found = red_first.findings((a_check(PYTEST),), context, stub_noticed=stub_noticed)
    return [(str(one.severity), one.message) for one in found], visits


ASKED = [("question", "no test fails without this change")]


def test_a_test_that_fails_without_the_change_is_as_it_should_be(tmp_path):
    found, visits = ask(tmp_path, {}, CODE | TESTS)
    assert found == []
    assert visits == [["tests/test_shop.py"]]


@pytest.mark.parametrize(
    ("before", "after", "stub_noticed", "found"),
    [
        ({}, CODE | IDLE, False, ASKED),
        # a new function has a test that fails without it, whatever else the stub shows
        ({}, CODE | IDLE, True, ASKED),
        (CODE, {"shop.py": "def price(): return 4 - 1\n"}, True, []),
        (CODE, {"shop.py": "def price(): return 4 - 1\n"}, False, ASKED),
        (CODE, {"shop.py": '"""D."""\ndef price() -> int:\n    return 3  # x\n'}, False, []),
        (CODE, CODE | {"data.json": "1", "README.md": "x"}, False, []),
        ({}, IDLE, False, []),
    ],
)
def test_the_question_follows_from_the_code_alone(tmp_path, before, after, stub_noticed, found):
    before, after = before | IDLE, after | IDLE
    assert ask(tmp_path, before, after, stub_noticed=stub_noticed)[0] == found


def test_a_person_who_wrote_the_change_is_warned(tmp_path):
    found, _ = ask(tmp_path, IDLE, CODE | IDLE, by_person=True)
    assert found == [("warning", "no test fails without this change")]


@pytest.mark.parametrize("own", [True, None])
def test_it_refuses_only_where_it_is_required(tmp_path, own):
    always = settings_of(red_first="always")
    task = a_task(red_first=own)
    found, _ = ask(tmp_path, IDLE, CODE | IDLE, task=task, settings=Settings() if own else always)
    message = "TC-001 passes without the implementation, so it proves nothing"
    assert found == [("error", message)]


def test_the_next_attempt_does_not_pay_again_until_the_tests_change(tmp_path):
    codes = ("def price(): return 3\n", "def price(): return 4 - 1\n")
    asked = [ask(tmp_path, {}, TESTS | {"shop.py": code})[1] for code in codes]
    assert [len(visits) for visits in asked] == [1, 0]
    found, visits = ask(tmp_path, {}, CODE | IDLE)
    assert (found, len(visits)) == (ASKED, 1)


def test_nothing_runs_where_it_is_not_asked(tmp_path):
    context, visits = a_story(tmp_path, {}, CODE | IDLE)
    assert red_first.findings((a_check(PYTEST),), context, stub_noticed=False) == ()
    required = replace(context, origin=ChangeOrigin(red_first=True))
    assert red_first.findings((), required, stub_noticed=False) == ()
    assert visits == []


@pytest.mark.parametrize(
    ("own", "setting", "implementer", "new", "type_", "wanted"),
    [
        (None, "auto", "claude", True, "api", True),
        (None, "auto", "model", True, "", True),
        (None, "auto", "command", True, "api", True),
        (None, "auto", "claude", False, "api", False),
        (None, "auto", "claude", True, "refactor", False),
        (None, "auto", "blocks", True, "api", False),
        (None, "auto", "blocks", True, "bugfix", True),
        (None, "auto", "blocks", True, "fix", True),
        (None, "always", "blocks", False, "", True),
        (None, "never", "claude", True, "api", False),
        (True, "never", "blocks", False, "", True),
        (False, "always", "claude", True, "api", False),
    ],
)
def test_who_is_asked_to_be_red_first(own, setting, implementer, new, type_, wanted):
    task = a_task(red_first=own, type=type_)
    settings = settings_of(red_first=setting)
    assert red_first.wants_red_first(task, settings, implementer, is_new_work=new) is wanted


def test_the_words_of_a_task_do_not_decide():
    task = replace(a_task(), title="Fix the crash: refactor the parser")
    assert red_first.wants_red_first(task, Settings(), "claude", is_new_work=True)


@pytest.mark.parametrize(
    ("new", "found", "ran"),
    [
        ("def test_price(): note('n'); assert shop.price() == 3\n", [], ["n"]),
        ("def test_price(): note('n')\n", ASKED, ["n", "on"]),
    ],
)
def test_tests_of_the_change_run_first_and_all_run_where_these_pass(tmp_path, new, found, ran):
    note = f"import shop\ndef note(c): open('{tmp_path}/' + NAME, 'a').write(c)\n"
    old = "def test_old(): note('o')\n"
    base = {"shop.py": "", "tests/test_shop.py": "NAME = 'base'\n" + note + old}
    after = CODE | {"tests/test_shop.py": "NAME = 'after'\n" + note + old + new}
    context, visits = a_story(tmp_path, base, after, red_first=True)
    assert contract_tests.prove(a_check(PYTEST), context).proof.exit == 0
    (tmp_path / "after").unlink()
    said = red_first.findings((a_check(PYTEST),), context, stub_noticed=False)
    assert [(str(one.severity), one.message) for one in said] == found
    assert len(visits) == len(ran)
    assert (tmp_path / "after").read_text() == "".join(["n", "on"][: len(ran)])
