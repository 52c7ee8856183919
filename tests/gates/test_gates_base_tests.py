"""Tests of before on the code of now: what was bent is named, and what was not is left alone."""

import sys

import pytest
from gates_bench import a_story, a_task, own_check

from runner.config.settings import Settings
from runner.gates import contract_tests
from runner.gates.base_tests import rerun
from runner.model import Level, TestContract

CODE = "def price(n):\n    return 3 * n\n\n\ndef tax(n):\n    return n + 1\n"
BENT = CODE.replace("3 * n", "4 * n")
TESTS = """import shop


def test_price():
    assert shop.price(2) == 6


def test_tax():
    assert shop.tax(1) == 2
"""
BASE = {"shop.py": CODE, "test_shop.py": TESTS}
PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
UNITTEST = f"{sys.executable} -m unittest -q"


def asked(folder, before, after, command=PYTEST, **fields):
    """What is found of a change from one tree to another, as (severity, message) pairs."""
    contract = TestContract("TC-001", Level.UNIT, command)
    named = fields.pop("changes_tests", ())
    task = a_task(test_contracts=(contract,), changes_tests=named)
    context, visits = a_story(folder, before, after, task=task, settings=Settings(), **fields)
    (check,) = contract_tests.checks(task, context.settings)
    proved = contract_tests.prove(check, context)
    assert proved.proof.verdict == "pass", proved.findings
    found = rerun.prove(own_check("base_tests.rerun", context), context)
    return [(one.severity.value, one.message) for one in found.findings], visits


FAILS = (
    "question",
    "`test_shop.py::test_price` fails on the new code in its earlier version",
)
GONE = ("question", "`test_shop.py::test_price` is gone")


def with_test(old, new, **files):
    assert old in TESTS
    return {"shop.py": BENT, "test_shop.py": TESTS.replace(old, new), **files}


BENT_TESTS = {
    "expects what it gives": with_test("== 6", "== 8"),
    "asks less": with_test("shop.price(2) == 6", "shop.price(2)"),
    "computes what it wants": with_test(
        "    assert shop.price(2) == 6",
        "    wanted = shop.price(2)\n    assert shop.price(2) == wanted",
    ),
    "written again in the test": with_test(
        "import shop\n",
        "import shop\n\n\ndef price(n):\n    return 3 * n\n\n\nshop.price = price\n",
    ),
    "nothing at the end": {"shop.py": BENT, "test_shop.py": TESTS + "\n\ntest_price = None\n"},
    "no test at the end": {
        "shop.py": BENT,
        "test_shop.py": TESTS + "\n\ntest_price.__test__ = False\n",
    },
    "no cases": with_test(
        "def test_price():",
        "import pytest\n\n\n@pytest.mark.parametrize('unused', [])\ndef test_price(unused):",
    ),
    "failures swallowed by a decorator": with_test(
        "def test_price():",
        "def calm(test):\n    def run():\n        try:\n            test()\n"
        "        except AssertionError:\n            pass\n"
        "    return run\n\n\n@calm\ndef test_price():",
    ),
    "a fixture of the file patches the product": with_test(
        "def test_price():",
        "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef right(monkeypatch):\n"
        "    monkeypatch.setattr(shop, 'price', lambda n: 3 * n)\n\n\ndef test_price():",
    ),
    "a parent class that is true of all": with_test(
        "    assert shop.price(2) == 6",
        "    class All:\n        def __eq__(self, other):\n            return True\n\n"
        "    assert shop.price(2) == All()",
    ),
    "deselected in the file": with_test(
        "def test_price():\n    assert", "def check_price():\n    assert"
    ),
    "deleted": with_test("def test_price():\n    assert shop.price(2) == 6\n\n\n", ""),
    "skipped": with_test(
        "def test_price():",
        "import pytest\n\n\n@pytest.mark.skip(reason='later')\ndef test_price():",
    ),
    "skipped where it stands": with_test(
        "    assert shop.price(2) == 6",
        "    import pytest\n    pytest.importorskip('no_module')\n    assert shop.price(2) == 6",
    ),
}


HIDDEN_BY_A_FILE = {
    "a new conftest patches the product": {
        "conftest.py": "import pytest\nimport shop\n\n\n"
        "@pytest.fixture(autouse=True)\ndef right(monkeypatch):\n"
        "    monkeypatch.setattr(shop, 'price', lambda n: 3 * n)\n",
    },
    "a new conftest leaves it out": {
        "conftest.py": "def pytest_collection_modifyitems(items):\n"
        "    items[:] = [one for one in items if 'price' not in one.name]\n",
    },
    "selection by a new file": {"pytest.ini": "[pytest]\naddopts = -k tax\n"},
}


def each_apart(texts, code):
    """A tree in which each text is a test file of its own, about a module of its own."""
    shops = {f"shop_{n}.py": code for n in range(len(texts))}
    own = (one.replace("import shop", f"import shop_{n} as shop") for n, one in enumerate(texts))
    return shops | {f"test_{n}.py": text for n, text in enumerate(own)}


def test_a_bent_expectation_is_named_however_it_was_bent(tmp_path):
    bent = [one["test_shop.py"] for one in BENT_TESTS.values()]
    found, _ = asked(tmp_path, each_apart([TESTS] * len(bent), CODE), each_apart(bent, BENT))
    for n, how in enumerate(BENT_TESTS):
        own = [(kind, text.replace(f"test_{n}.py", "test_shop.py")) for kind, text in found]
        assert FAILS in own or GONE in own, (how, found)


@pytest.mark.parametrize("how", HIDDEN_BY_A_FILE)
def test_a_new_file_does_not_hide_what_was_bent(tmp_path, how):
    after = {"shop.py": BENT, "test_shop.py": TESTS, **HIDDEN_BY_A_FILE[how]}
    found, _ = asked(tmp_path, BASE, after)
    assert FAILS in found or GONE in found, found


OPTIONS = "[tool.pytest.ini_options]\n"
WITH_TOML = BASE | {
    "pyproject.toml": '[project]\nname = "shop"\n\n[tool.pytest.ini_options]\naddopts = ["-q"]\n'
}
LEFT_OUT = {
    "in a list": f'{OPTIONS}addopts = [\n  "-q",\n  "-k", "tax",\n]\n',
    "by files": f'{OPTIONS}python_functions = ["test_t*"]\n[project]\nname = "other"\n',
    "in a line": f'{OPTIONS}addopts = "-q --deselect test_shop.py::test_price"\n',
}


@pytest.mark.parametrize("how", LEFT_OUT)
def test_a_selection_in_shared_configuration_is_put_back(tmp_path, how):
    after = {"shop.py": BENT, "test_shop.py": TESTS, "pyproject.toml": LEFT_OUT[how]}
    found, _ = asked(tmp_path, WITH_TOML, after)
    assert found == [FAILS]


def test_a_test_that_is_left_out_and_would_pass_is_named_as_gone(tmp_path):
    after = WITH_TOML | {"pyproject.toml": LEFT_OUT["in a list"]}
    found, _ = asked(tmp_path, WITH_TOML, after)
    assert found == [GONE]


GOOD = {
    "a new helper that the tests use": {
        "shop.py": CODE,
        "helpers.py": "TWO = 2\n",
        "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef two():\n    return 2\n",
        "test_shop.py": TESTS.replace(
            "def test_price():\n    assert shop.price(2)",
            "def test_price(two):\n    assert shop.price(two)",
        ),
    },
    "moved to a folder": {"shop.py": CODE, "tests/conftest.py": "", "tests/test_shop.py": TESTS},
    "other words in the configuration": WITH_TOML
    | {"pyproject.toml": '[project]\nname = "shop"\nversion = "2"\n'},
}


GOOD_TESTS = [
    TESTS + "\n\ndef test_more():\n    assert shop.price(0) == 0\n",
    TESTS.replace("test_price", "test_three_each"),
    TESTS.replace(
        "def test_price():\n    assert shop.price(2) == 6",
        "import pytest\n\n\n@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_price(n):\n    assert shop.price(n) == 3 * n",
    ),
    TESTS.replace("== 2", "== 2\n    assert shop.tax(0) == 1"),
]


def test_more_renamed_and_stricter_tests_are_not_asked_about(tmp_path):
    before = each_apart([TESTS] * len(GOOD_TESTS), CODE)
    assert asked(tmp_path, before, each_apart(GOOD_TESTS, CODE), f"{PYTEST} .")[0] == []


@pytest.mark.parametrize("how", GOOD)
def test_good_work_on_tests_is_not_asked_about(tmp_path, how):
    before = WITH_TOML if "pyproject.toml" in GOOD[how] else BASE
    command = f"{PYTEST} ."
    assert asked(tmp_path, before, GOOD[how], command)[0] == []


@pytest.mark.parametrize(("count", "last"), [(21, ""), (23, ", and 2 more")])
def test_of_very_many_tests_the_first_are_named_and_the_others_counted(tmp_path, count, last):
    tests = [f"def test_{n}():\n    assert shop.price({n}) == {{}}\n" for n in range(1, count + 1)]
    before, after = (
        "import shop\n\n\n"
        + "\n\n".join(text.format(by * n) for n, text in enumerate(tests, start=1))
        for by in (3, 4)
    )
    found, _ = asked(
        tmp_path, BASE | {"test_shop.py": before}, {"shop.py": BENT, "test_shop.py": after}
    )
    assert len(found) == 21
    assert all(
        message.endswith("fails on the new code in its earlier version")
        for _, message in found[:20]
    )
    assert found[20][1].endswith(f"fails on the new code in its earlier version{last}")


@pytest.mark.parametrize("start", ["", "sub/"], ids=["at the top", "in a folder"])
def test_a_new_file_in_the_command_does_not_hide_what_was_bent_beside_it(tmp_path, start):
    added = {"test_more.py": "import shop\n\n\ndef test_more():\n    assert shop.tax(2) == 3\n"}
    line = f"{PYTEST} test_shop.py test_more.py"
    found, _ = asked(tmp_path, BASE, BASE | with_test("== 6", "== 8") | added, line, start=start)
    assert found == [FAILS]


def test_where_no_test_is_touched_nothing_runs_beside_the_contract(tmp_path):
    found, visits = asked(tmp_path, BASE, BASE | {"shop.py": CODE.replace("3 * n", "n * 3")})
    assert (found, visits) == ([], [])


def test_the_base_runs_only_where_something_fails(tmp_path):
    after = BASE | {"test_shop.py": TESTS + "\n# a word\n"}
    _, visits = asked(tmp_path, BASE, after)
    assert len(visits) == 1


def test_a_red_base_asks_only_of_what_passed_there(tmp_path):
    before = BASE | {"test_shop.py": TESTS + "\n\ndef test_red():\n    assert shop.price(1) == 9\n"}
    after = with_test("== 6", "== 8")
    assert asked(tmp_path, before, after)[0] == [FAILS]


def test_a_first_task_without_tests_before_is_asked_nothing(tmp_path):
    assert asked(tmp_path, {"README.md": "x\n"}, BASE)[0] == []


PATHS = "[tool.pytest.ini_options]\npythonpath = ['{}']\n"
BY_CONFTEST = "import sys\n\nsys.path.insert(0, 'src')\n"


@pytest.mark.parametrize(
    "layout",
    [{"pyproject.toml": PATHS.format("src")}, {"tests/conftest.py": BY_CONFTEST}],
    ids=["by a setting", "by a new file"],
)
def test_what_moved_to_src_is_asked_at_its_new_place(tmp_path, layout):
    before = {
        "shop/__init__.py": CODE,
        "tests/test_shop.py": TESTS,
        "pyproject.toml": PATHS.format("."),
    }
    moved = {
        "src/shop/__init__.py": CODE,
        "tests/test_shop.py": TESTS + "\n# moved\n",
        "pyproject.toml": PATHS.format("."),
        **layout,
    }
    assert asked(tmp_path, before, moved)[0] == []
    bent = moved | {
        "src/shop/__init__.py": BENT,
        "tests/test_shop.py": TESTS.replace("== 6", "== 8"),
    }
    message = "`tests/test_shop.py::test_price` fails on the new code in its earlier version"
    assert asked(tmp_path, before, bent)[0] == [("question", message)]


def test_settings_that_leave_a_failing_test_out_do_not_hide_it(tmp_path):
    settings = "[tool.pytest.ini_options]\naddopts = '-q{}'\n"
    left_out = settings.format(" --deselect test_shop.py::test_price")
    before = BASE | {"pyproject.toml": settings.format("")}
    after = with_test("== 6", "== 8", **{"pyproject.toml": left_out})
    found, _ = asked(tmp_path, before, after)
    assert FAILS in found


def test_a_module_under_another_name_is_no_list_of_failing_tests(tmp_path):
    after = {"store.py": CODE, "test_shop.py": TESTS.replace("import shop", "import store as shop")}
    found, _ = asked(tmp_path, BASE, after)
    assert {severity for severity, _ in found} == {"warning"}
    assert all(
        "could not run on the new code in its earlier version" in message for _, message in found
    )


def test_a_test_that_went_with_its_code_is_a_question(tmp_path):
    after = {
        "shop.py": CODE.partition("\n\n\ndef tax")[0] + "\n",
        "test_shop.py": TESTS.partition("\n\n\ndef test_tax")[0] + "\n",
    }
    found, _ = asked(tmp_path, BASE, after)
    assert found == [
        (
            "question",
            "`test_shop.py::test_tax` fails on the new code in its earlier version",
        )
    ]


def test_what_the_plan_names_is_meant_and_said_and_another_name_excuses_nothing(tmp_path):
    named = ("test_0.py", "test_price_1", "test_2*.py", "test_3.py::test_price_3", "test_tax")
    old = [TESTS.replace("test_price", f"test_price_{n}") for n in range(5)]
    bent = [one.replace("== 6", "== 8") for one in old]
    before, after = each_apart(old, CODE), each_apart(bent, BENT)
    found, _ = asked(tmp_path, before, after, changes_tests=named)
    fails = "`test_{0}.py::test_price_{0}` fails on the new code in its earlier version"
    meant = [("warning", f"{fails.format(n)}: required by the plan") for n in range(4)]
    assert sorted(found) == [("question", fails.format(4)), *meant]


def test_a_task_whose_section_changed_may_change_what_it_landed(tmp_path):
    bent = with_test("== 6", "== 8")
    own = {"former": {"test_shop.py": None}}
    assert asked(tmp_path, BASE, bent, **own)[0] == [FAILS]
    found, _ = asked(tmp_path, BASE, bent, revised=True, **own)
    assert found == [("warning", f"{FAILS[1]}: required by the plan")]
    assert asked(tmp_path, BASE, bent, revised=True)[0] == [FAILS]


def test_a_person_whose_task_lists_no_test_file_is_asked(tmp_path):
    found, _ = asked(tmp_path, BASE, with_test("== 6", "== 8"), by_person=True)
    assert found == [FAILS]


# --- unittest, and what a contract runs whatever it is called ----------------------------

CASE = """import unittest

import shop


class Prices(unittest.TestCase):
    def test_price(self):
        self.assertEqual(shop.price(2), 6)


if __name__ == "__main__":
    unittest.main()
"""


@pytest.mark.parametrize(
    "command", [f"{UNITTEST} t_lib", f"{UNITTEST} t_lib.Prices", f"{sys.executable} t_lib.py"]
)
def test_a_test_is_what_a_contract_runs_and_not_what_its_file_is_called(tmp_path, command):
    before = {"shop.py": CODE, "t_lib.py": CASE}
    after = {"shop.py": BENT, "t_lib.py": CASE.replace("2), 6", "2), 8")}
    ((severity, message),) = asked(tmp_path, before, after, command)[0]
    assert severity == "question"
    assert "fails on the new code in its earlier version" in message


@pytest.mark.parametrize("words", ["discover", "discover -p 'test_*.py'", "discover -s . -t .", ""])
def test_tests_that_unittest_finds_by_itself_are_asked_as_they_were(tmp_path, words):
    both = CASE.replace(
        "    def", "    def test_two(self):\n        self.assertTrue(1)\n\n    def", 1
    )
    bent = both.replace("TestCase):\n", "TestCase):\n    failureException = unittest.SkipTest\n\n")
    before = {"shop.py": CODE, "test_lib.py": both}
    after = {"shop.py": BENT, "test_lib.py": bent}
    command = f"{sys.executable} -m unittest {words}"
    ((severity, message),) = asked(tmp_path, before, after, command)[0]
    assert severity == "question"
    assert "test_price` fails on the new code in its earlier version" in message


def test_a_tool_that_tells_no_file_is_understood_too(tmp_path):
    before = {"shop.py": CODE, "test_lib.py": CASE}
    after = {"shop.py": BENT, "test_lib.py": CASE.replace("2), 6", "2), 8")}
    for said in (
        {"former": {"test_lib.py": None}, "revised": True},
        {"changes_tests": ("test_lib.py",)},
        {"changes_tests": ("test_lib.Prices.*",)},
    ):
        ((severity, message),) = asked(tmp_path, before, after, f"{UNITTEST} test_lib", **said)[0]
        assert severity == "warning"
        assert message.endswith("required by the plan")


def test_a_script_of_checks_is_a_test(tmp_path):
    check = "#!/bin/sh\nset -e\npython3 -c 'import shop; assert shop.price(2) == 6'\n"
    before = {"shop.py": CODE, "check.sh": check}
    after = {"shop.py": BENT, "check.sh": check.replace("6'", "6' || true")}
    found, _ = asked(tmp_path, before, after, "sh check.sh")
    assert found == [("question", "`TC-001` fails on the new code in its earlier version")]


TABLE = CASE.replace(
    "        self.assertEqual(shop.price(2), 6)\n",
    "        for n, wanted in LIMITS:\n            with self.subTest(n=n):\n"
    "                self.assertEqual(shop.price(n), wanted)\n",
).replace("import shop\n", "import shop\nfrom limits import LIMITS\n")


@pytest.mark.parametrize("command", [f"{UNITTEST} test_lib", f"{UNITTEST[:-3]} test_lib", PYTEST])
def test_parts_of_a_test_count_for_the_test(tmp_path, command):
    """`unittest` names what failed within `subTest` by the test and what it was given."""
    table = "LIMITS = [(1, 3), (2, 6)]\n"
    before = {"shop.py": CODE, "test_lib.py": TABLE, "limits.py": table, "test_x.py": TESTS}
    before |= {"conftest.py": ""}
    after = before | {"shop.py": BENT, "test_lib.py": TABLE.replace("wanted)", "4 * n)")}
    found, _ = asked(
        tmp_path, before, after, f"{command} -k test_lib" if command == PYTEST else command
    )
    ((severity, message),) = found
    assert severity == "question"
    assert message.endswith("test_price` fails on the new code in its earlier version")


# --- examples in a text ------------------------------------------------------------------

EXAMPLES = "# Shop\n\n    >>> import shop\n"
EXAMPLE = "    >>> shop.price(2_50{})\n    750{}\n"
DOCTEST = f"{sys.executable} -m doctest"
BENT_EXAMPLES = [
    "    >>> shop.price(2_500)\n    10000\n",
    "    >>> shop.price(2_501)  # doctest: +ELLIPSIS\n    1...\n",
    "    >>> shop.price(2_502)  # doctest: +SKIP\n    7506\n",
    "",
]
EXAMPLES += "".join(EXAMPLE.format(n, 3 * n) for n in range(4))


@pytest.mark.parametrize("red", ["", "    >>> shop.offer(1)\n    1\n"])
def test_examples_that_a_contract_runs_are_asked_as_they_were(tmp_path, red):
    """Also where others of the text fail before, since a plan began with them."""
    offer = "\n\ndef offer(n):\n    return n\n" if red else ""
    bent = EXAMPLES.partition("    >>> shop.price")[0] + "".join(BENT_EXAMPLES)
    before = {"shop.py": CODE, "README.md": EXAMPLES + red}
    after = {"shop.py": BENT + offer, "README.md": bent + red}
    found, _ = asked(tmp_path, before, after, f"{DOCTEST} README.md")
    fails = "`doctest > shop.price(2_50{})` fails on the new code in its earlier version"
    assert sorted(found) == [("question", fails.format(n)) for n in range(4)]


def test_examples_that_are_left_out_of_right_code_are_told(tmp_path):
    left_out = EXAMPLES.replace(EXAMPLE.format(2, 6), BENT_EXAMPLES[2])
    before = {"shop.py": CODE, "README.md": EXAMPLES}
    after = {"shop.py": CODE + "\n", "README.md": left_out}
    found, _ = asked(tmp_path, before, after, f"{DOCTEST} README.md")
    assert found == [("question", "`doctest > shop.price(2_502)` is gone")]


def test_examples_and_words_that_are_added_are_not_asked_about(tmp_path):
    more = "\nPrices.\n\n    >>> shop.price(0)\n    0\n"
    before = {"shop.py": CODE, "README.md": EXAMPLES}
    after = {"shop.py": CODE + "\n", "README.md": EXAMPLES + more}
    assert asked(tmp_path, before, after, f"{DOCTEST} README.md")[0] == []


def test_a_program_that_a_contract_starts_is_the_products_own(tmp_path):
    before = {"app.py": "print('a')\n", "test_x.py": "def test_x():\n    pass\n"}
    after = {"app.py": "print('ab')\n", "test_x.py": "def test_x():\n    assert 1\n"}
    assert asked(tmp_path, before, after, "python3 app.py | grep -q a")[0] == []


def test_changed_tests_that_no_contract_runs_are_asked_too(tmp_path):
    before = BASE | {
        "test_other.py": "import shop\n\n\ndef test_it():\n    assert shop.price(1) == 3\n"
    }
    after = before | {
        "shop.py": BENT,
        "test_other.py": before["test_other.py"].replace("== 3", "== 4"),
    }
    after["test_shop.py"] = TESTS
    found, _ = asked(tmp_path, before, after, f"{PYTEST} test_shop.py::test_tax")
    assert found == [
        (
            "question",
            "`test_other.py::test_it` fails on the new code in its earlier version",
        )
    ]


@pytest.mark.parametrize(
    ("words", "new"),
    [
        (f"{PYTEST} test_shop.py test_more.py", "test_more.py"),
        (f"{PYTEST} ./test_more.py test_shop.py::test_price test_shop.py", "test_more.py"),
        (f"{UNITTEST} test_units test_more", "test_more.py"),
    ],
)
def test_a_contract_that_names_a_new_file_too_is_asked_of_the_others(tmp_path, words, new):
    units = (
        "import unittest\nimport shop\n\n\nclass Price(unittest.TestCase):\n"
        "    def test_price(self):\n        self.assertEqual(shop.price(2), 6)\n"
    )
    before = {**BASE, "test_units.py": units}
    after = {
        **before,
        "shop.py": BENT,
        "test_shop.py": TESTS.replace("== 6", "== 8"),
        "test_units.py": units.replace("2), 6", "2), 8"),
        new: units.replace("2), 6", "3), 12"),
    }
    found, _ = asked(tmp_path, before, after, words)
    assert any(
        severity == "question"
        and "test_price` fails on the new code in its earlier version" in text
        for severity, text in found
    )


SETS = {
    "an attribute": "import shop\n\nshop.price = lambda n: 3 * n\n",
    "by name": "import shop\n\nsetattr(shop, 'price', lambda n: 3 * n)\n",
    "a patch": "from unittest import mock\n\nmock.patch('shop.price', lambda n: 3 * n).start()\n",
}


@pytest.mark.parametrize("text", SETS.values(), ids=SETS)
def test_a_new_file_of_tests_that_sets_what_the_product_holds_is_put_aside(tmp_path, text):
    more = {"test_first.py": f"{text}\n\ndef test_it():\n    assert 1\n"}
    found, _ = asked(tmp_path, BASE, BASE | more | {"shop.py": BENT})
    assert found == [FAILS]


def test_a_new_file_of_tests_that_sets_what_was_so_before_is_no_question(tmp_path):
    text = SETS["an attribute"] + "\n\ndef test_it():\n    assert 1\n"
    assert asked(tmp_path, BASE, BASE | {"test_first.py": text})[0] == []


def test_a_contract_of_new_files_alone_compares_nothing(tmp_path):
    after = {**BASE, "shop.py": CODE + "\n\nX = 1\n", "conftest.py": "", "test_more.py": TESTS}
    found, visits = asked(tmp_path, BASE, after, f"{PYTEST} test_more.py")
    assert (found, visits) == ([], [])


NEW = TESTS.replace(
    "    assert shop.tax(1) == 2",
    "    assert shop.tax(1) == 2\n\n\ndef test_half():\n    assert shop.half(4) == 2",
)
HALF = CODE + "\n\ndef half(n):\n    return n // 2\n"


@pytest.mark.parametrize("named", ["test_shop.py::test_half", "test_shop.py -k half"])
def test_a_contract_that_names_a_brand_new_test_had_nothing_to_be_run_as_it_was(tmp_path, named):
    after = {"shop.py": HALF, "test_shop.py": NEW}
    assert asked(tmp_path, BASE, after, f"{PYTEST} {named}")[0] == []


def test_a_contract_that_names_a_new_test_beside_a_known_one_is_still_told(tmp_path):
    after = {"shop.py": HALF, "test_shop.py": NEW}
    both = f"{PYTEST} test_shop.py::test_price test_shop.py::test_half"
    found, _ = asked(tmp_path, BASE, after, both)
    assert found == [("warning", "`TC-001` could not run on the new code in its earlier version")]
