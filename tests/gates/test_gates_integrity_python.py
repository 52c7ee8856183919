"""Frozen tests of Python: what a change takes away from them, and what it leaves alone."""

import time
from textwrap import dedent

import pytest
from gates_bench import a_task
from gates_trees import changes_between

from runner.gates.integrity import compare_tests
from runner.model import Severity

PATH = "tests/test_shop.py"

BASE = '''
import pytest
from shop import price, total

class TestTotal:
    def test_sum(self):
        assert total([1, 2]) == 3
        assert total([]) == 0

@pytest.mark.parametrize("n", [1, 2, 3])
def test_price(n):
    """Words."""
    assert price(n) == pytest.approx(n * 2, rel=1e-6)

def test_refuses():
    with pytest.raises(ValueError, match="negative"):
        price(-1)
'''


def said(old, new, *, path=PATH, outputs=("shop.py",), reviewed=False, more_old=None, more=None):
    before = {path: dedent(old)} | (more_old or {})
    after = ({} if new is None else {path: dedent(new)}) | (more or {})
    return compare_tests.findings(
        changes_between(before, after),
        lambda one: before[one].encode() if one in before else None,
        a_task(outputs=outputs),
        reviewed=reviewed,
        must_assert=True,
    )


def grave(old, new, **fields):
    return [one.message for one in said(old, new, **fields) if one.refuses]


def edited(*pairs, base=BASE):
    text = base
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("    def test_sum", "    def check_sum")], "the test TestTotal.test_sum is gone"),
        ([("def test_refuses", "if False:\n  def test_refuses")], "the test test_refuses is gone"),
        ([("def test_refuses", "@pytest.mark.skip\ndef test_refuses")], "`@pytest.mark.skip` was"),
        (
            [("def test_refuses", '@pytest.mark.skipif("True")\ndef test_refuses')],
            "`@pytest.mark.skipif('True')` was added to test_refuses",
        ),
        ([("def test_refuses", "@pytest.mark.xfail\ndef test_refuses")], "`@pytest.mark.xfail`"),
        ([("class TestTotal", "@pytest.mark.skip\nclass TestTotal")], "was added to TestTotal.te"),
        ([("import price, total", "import price, total\npytestmark = pytest.mark.skip")], "file"),
        (
            [("import price, total", "import price\npytest.skip('x', allow_module_level=True)")],
            "added to the file",
        ),
        ([("class TestTotal", "class Total")], "the test TestTotal.test_sum is gone"),
        ([("class TestTotal:", "class TestTotal:\n    __test__ = False")], "`__test__ = False`"),
        ([('    """Words."""', '    pytest.skip("later")')], "`pytest.skip('later')` was added"),
        ([("        assert total([]) == 0\n", "")], "`assert total([]) == 0` was taken out of"),
        ([("total([1, 2]) == 3", "3 in total([1, 2])")], "which says less"),
        ([("total([1, 2]) == 3", "total([1, 2]) is not None")], "which says less"),
        ([("total([1, 2]) == 3", "total([1, 2])")], "which says less"),
        ([("total([1, 2]) == 3", "total([1, 2]) >= 3")], "which says less"),
        ([("total([1, 2]) == 3", "True")], "`assert total([1, 2]) == 3` was taken out"),
        ([("rel=1e-6", "rel=0.5")], "which says less"),
        ([('ValueError, match="negative"', "Exception")], "which says less"),
        ([(', match="negative"', "")], "which says less"),
        ([("[1, 2, 3]", "[1]")], "test_price lost 2 cases: 2"),
        (
            [
                (
                    "        assert total([]) == 0",
                    "        if False:\n            assert total([]) == 0",
                )
            ],
            "it never runs now",
        ),
        (
            [("import price, total", "import price\nif X:\n  Y = 1\nelse:\n  pytest.skip('x')")],
            "added to the file",
        ),
        (
            [("import price, total", "import price\nwhile X:\n  pytestmark = pytest.mark.skip")],
            "added to the file",
        ),
        (
            [("        assert total([1", "        return\n        assert total([1")],
            "it never runs now",
        ),
        (
            [("        assert total([1", "        if total: return\n        assert total([1")],
            "the test may return before it now",
        ),
        (
            [
                (
                    "        assert total([]) == 0",
                    "        try: assert total([]) == 0\n        except AssertionError: pass",
                )
            ],
            "its failure is caught now",
        ),
    ],
)
def test_what_claims_less_than_before_is_refused(pairs, expected):
    messages = grave(BASE, edited(*pairs))
    assert any(expected in message for message in messages), messages


WITHIN = {
    "a case": "    match n:\n        case 1:\n            {}",
    "the end of a loop": "    for one in (1, 2):\n        n = one\n    else:\n        {}",
    "a group of errors": "    try:\n        {}\n    except* KeyError:\n        raise",
}


@pytest.mark.parametrize("where", WITHIN.values(), ids=WITHIN)
def test_a_claim_is_read_wherever_it_stands_in_a_test(where):
    claim = "assert price(n) == 4"
    old, new = (f"def test_price(n):\n{where.format(one)}\n" for one in (claim, "assert price(n)"))
    messages = grave(old, new)
    assert any(claim in message for message in messages), messages


MADE = {
    "where an import fails": "try:\n    import numpy\nexcept ImportError:\n    numpy = None\n{}",
    "else": "try:\n    import numpy\nexcept ImportError:\n    numpy = None\nelse:\n{}",
    "in the handler": "try:\n    import numpy\nexcept ImportError:\n{}",
    "in a with": "with warnings.catch_warnings():\n{}",
    "in a case": "match sys.platform:\n  case 'linux':\n{}",
}


@pytest.mark.parametrize("where", MADE.values(), ids=MADE)
def test_a_test_is_known_wherever_it_is_made(where):
    test = "    def test_price():\n      assert price(1) == 2\n"
    test = dedent(test) if where.endswith("None\n{}") else test
    messages = grave(where.format(test), where.format(test.replace("== 2", "")))
    assert any("price(1) == 2" in message for message in messages), messages


@pytest.mark.parametrize(
    "pairs",
    [
        [("def test_refuses", "def test_more():\n    assert price(2) == 4\n\ndef test_refuses")],
        [("def test_refuses", "def test_refuses_what_is_negative")],
        [("        assert total([]) == 0", "        assert total([]) == 0\n        assert total")],
        [("[1, 2, 3]", "[1, 2, 3, 4]")],
        [("    def test_sum(self):", "    # why\n    def test_sum(self):\n        '''Words.'''")],
        [("import pytest\n", "import pytest\nimport os\n")],
        [("total([1, 2]) == 3", "total([1, 2]) == 3, 'a message'")],
        [("rel=1e-6", "rel=1e-9")],
    ],
)
def test_what_claims_as_much_is_fine(pairs):
    assert grave(BASE, edited(*pairs)) == []


def _says(*lines):
    return "def test_it():\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["assert n >= 0", "assert n <= 2"], ["assert 0 <= n <= 2"]),
        (["assert n > 0", "assert total(n)"], ["assert 0 < n and total(n)"]),
        (["assert 0 <= n <= 2"], ["assert n <= 2", "assert n >= 0"]),
        (["assert n and m in (1, 2)"], ["assert n", "assert m in (1, 2)"]),
    ],
)
def test_claims_that_are_joined_or_taken_apart_are_the_same(old, new):
    assert said(_says(*old), _says(*new)) == ()


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        (["assert n >= 0", "assert n <= 2", "assert m == 4"], ["assert 0 <= n <= 2"], "m == 4"),
        (["assert n >= 0", "assert n <= 2"], ["assert 0 <= n"], "n <= 2"),
        (["assert n >= 0", "assert n <= 2"], ["assert 0 <= n or n <= 2"], "n <= 2"),
        (["assert n == 1", "n.go()", "assert n == 1"], ["n.go()", "assert n == 1"], "n == 1"),
        (["assert n > 0", "assert n < 2"], ["if m: assert 0 < n < 2"], "n < 2"),
        (["assert n", "w = 3", "assert f(n) == w"], ["w = f(n)", "assert n and f(n) == w"], "f(n)"),
    ],
)
def test_claims_that_are_joined_hide_no_other(old, new, lost):
    messages = grave(_says(*old), _says(*new))
    assert any(lost in message for message in messages), messages


def test_another_expected_value_is_told_with_its_line():
    (finding,) = said(BASE, edited(("total([1, 2]) == 3", "total([1, 2]) == 4")))
    assert finding.severity is Severity.WARNING
    assert (finding.path, finding.line) == (PATH, 7)
    assert finding.message == (
        "`assert total([1, 2]) == 3` of TestTotal.test_sum became `assert total([1, 2]) == 4`: "
        "something else is expected"
    )


def test_a_deleted_file_of_tests_names_each_of_them():
    assert len(grave(BASE, None)) == 3


def test_a_test_may_move_to_another_file():
    moved = "from shop import price\nimport pytest\n" + BASE[BASE.index("def test_refuses") :]
    kept = BASE[: BASE.index("def test_refuses")]
    assert grave(BASE, kept, more={"tests/test_refusals.py": moved}) == []


def test_a_test_may_not_move_to_where_nobody_finds_it():
    assert grave(BASE, None, more={"tests/shop.py": BASE})


def test_assertions_may_move_into_a_function_that_asserts():
    new = BASE.replace("        assert total([]) == 0\n", "        check_empty()\n")
    new += "\ndef check_empty():\n    assert total([]) == 0\n"
    assert grave(BASE, new) == []


def test_a_function_that_asserts_for_others_is_frozen_too():
    old = "def check(x):\n    assert x == 1\n\ndef test_a():\n    check(f())\n"
    assert grave(old, old.replace("assert x == 1", "assert x"))


UNITTEST = """
import unittest
class T(unittest.TestCase):
    def test_a(self):
        self.assertEqual(f(), 3)
        with self.assertRaises(ValueError):
            f(1)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.assertEqual(f(), 3)", "self.assertTrue(f())"),
        ("self.assertEqual(f(), 3)", "self.assertEqual(1, 1)"),
        ("self.assertEqual(f(), 3)", "f()"),
        ("assertRaises(ValueError)", "assertRaises(Exception)"),
        ("    def test_a", "    @unittest.skip('x')\n    def test_a"),
        ("    def test_a", "    @unittest.expectedFailure\n    def test_a"),
        ("        self.assertEqual", "        self.skipTest('x')\n        self.assertEqual"),
    ],
)
def test_unittest_is_read_as_well(old, new):
    assert grave(UNITTEST, edited((old, new), base=UNITTEST))


RUNS_NOTHING = "go()  # a coroutine that nobody waits for"


# --- new tests ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("f()", "test_new asserts nothing"),
        ("pass", "test_new asserts nothing"),
        (f"async def go():\n        assert f()\n    {RUNS_NOTHING}", "test_new asserts nothing"),
        (
            "def go():\n        assert f()\n    Thread(target=go).start()",
            "test_new asserts nothing",
        ),
        ("assert True", "test_new tests nothing: `assert True` does not depend on the code"),
        (
            "assert 1 == 2",
            "test_new tests nothing: `assert 1 == 2` does not depend on the code",
        ),
        ("assert 1 == 1", "test_new tests nothing: `assert 1 == 1` does not depend on the code"),
        ("x = f()\n    assert x == x", "test_new tests nothing: `assert x == x` does not"),
        (
            "assert (f(), 'why')",
            "test_new tests nothing: `assert (f(), 'why')` does not depend on the code",
        ),
        (
            "assert f() or True",
            "test_new tests nothing: `assert f() or True` does not depend on the code",
        ),
        (
            "try:\n        assert f()\n    except Exception:\n        pass",
            "test_new can never fail: `assert f()`: its failure is caught",
        ),
        ("assert lambda: f() == 1", "test_new tests nothing: `assert lambda: f() == 1`"),
        ("assert (x for x in f())", "test_new tests nothing: `assert (x for x in f())`"),
    ],
)
def test_a_new_test_that_can_never_fail_is_refused(body, message):
    text = f"def test_new():\n    {body}\n"
    messages = [one.message for one in said("", text) if one.refuses]
    assert [one[: len(message)] for one in messages] == [message]


@pytest.mark.parametrize(
    "body",
    [
        "assert f() == 1",
        "with pytest.raises(ValueError):\n        f()",
        "async def go():\n        assert await f() == 1\n    asyncio.run(go())",
        "async def go():\n        with pytest.raises(E):\n            f()\n    loop.run(go())",
        "async def go(n):\n        assert await f() == n\n    anyio.run(go, 1)",
        (
            "async def go():\n        assert await f() == 1\n    async def both():\n"
            "        await asyncio.gather(go(), go())\n    loop.run_until_complete(both())"
        ),
        "def go():\n        assert f() == 1\n    go()",
        "mock.assert_called_once()",
        "check_it(f())",
        "np.testing.assert_allclose(f(), 1)",
        "for x in f():\n        assert x",
        "pytest.fail('no')",
    ],
)
def test_a_new_test_that_can_fail_is_fine(body):
    assert grave("", f"def test_new():\n    {body}\n") == []


@pytest.mark.parametrize(
    ("mark", "refused"),
    [
        ("pytest.mark.xfail", True),
        ("pytest.mark.xfail(reason='later')", True),
        ("pytest.mark.xfail(strict=True)", True),
        ("unittest.expectedFailure", True),
        ("pytest.mark.xfail(sys.platform == 'win32', reason='no forks')", False),
        ("pytest.mark.slow", False),
    ],
)
def test_a_new_test_marked_as_failing_is_told_where_it_fails_everywhere(mark, refused):
    found = grave("", f"@{mark}\ndef test_new():\n    assert f() == 1\n")
    assert [("marked as failing" in one) for one in found] == [True] * refused


# --- who may --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outputs", "reviewed", "refused"),
    [
        ((PATH,), True, False),
        ((PATH,), False, True),
        (("tests/**",), True, True),
        (("any",), True, True),
        (("shop.py",), True, True),
    ],
)
def test_only_a_file_that_a_task_lists_and_a_person_applied_may_lose_tests(
    outputs, reviewed, refused
):
    found = said(BASE, None, outputs=outputs, reviewed=reviewed)
    assert found
    assert any(one.refuses for one in found) is refused


def test_what_is_no_python_is_left_to_the_compile_step():
    assert said(BASE, "def (") == ()


def test_code_that_hides_every_failure_is_told():
    (finding,) = said(
        "def f(): g()\n", "def f():\n    try: g()\n    except Exception: pass\n", path="shop.py"
    )
    assert finding.severity is Severity.WARNING
    assert (finding.line, finding.message) == (3, "`except Exception: pass` hides every failure")


def test_the_hint_fits_what_the_task_lists_and_who_sees_it():
    gone = edited(("    def test_sum", "    def check_sum"))

    def hint(**fields):
        return said(BASE, gone, **fields)[0].hint

    assert hint().endswith(f"let a task list {PATH} exactly")
    assert hint(outputs=(PATH,)).endswith("have a person review the change: --review prompt")
    assert hint(outputs=(PATH,), reviewed=True).startswith(f"the task lists {PATH} exactly")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for n in [1]:\n        f(n)\n    else:\n        assert f(2) == 2", "assert f(2) == 2"),
        ("match f(2):\n        case int():\n            assert f(2) == 2", "f(2)"),
        ("try:\n        assert f(2) == 2\n    except* ValueError:\n        raise", "f(2)"),
    ],
)
def test_an_assertion_in_any_block_is_seen(old, new):
    base = "def test_a():\n    assert f(1) == 1\n    "
    gone = grave(base + old + "\n", base + "f(2)\n")
    assert len(gone) == 1
    assert "assert f(2) == 2" in gone[0]
    assert grave(base + new + "\n", base + old + "\n") == []


@pytest.mark.parametrize(
    "around",
    [
        "try:\n    import shop\nexcept ImportError:\n    shop = None\nelse:\n    ",
        "with helper():\n    ",
        "try:\n    import shop\nfinally:\n    ",
        "match VERSION:\n  case 3:\n    ",
        "while True:\n  break\nelse:\n    ",
    ],
)
def test_a_test_in_any_block_of_its_file_is_seen(around):
    gone = grave(around + "def test_a(): assert f(1) == 1\n", around + "pass\n")
    assert len(gone) == 1
    assert gone[0].startswith("the test test_a is gone")


def test_of_two_functions_of_a_name_the_one_that_is_tried_counts():
    base = "try:\n  import x\n  def test_a(): {}\nexcept ImportError:\n  def test_a(): pass\n"
    assert grave(base.format("assert f(1) == 1"), base.format("f(1)")) != []


def test_a_skip_of_a_file_where_an_import_fails_is_a_mark_of_it():
    skip = "try:\n    import x\nexcept ImportError:\n    pytest.skip('', allow_module_level=True)\n"
    assert "was added to the file" in grave(BASE, skip + BASE)[0]


def test_functions_inside_that_call_each_other_take_no_time():
    inner = "".join(f"    def f{n}():\n        f{n + 1}()\n" for n in range(400))
    began = time.process_time()
    found = said("", f"def test_new():\n{inner}    f0()\n")
    assert [one.message for one in found] == ["test_new asserts nothing"]
    assert time.process_time() - began < 20
