"""Assertions that failed in tests that passed are told by what pytest and unittest wrote down."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import lost_assertions
from runner.gates.base import Check
from runner.gates.check_run import try_check
from runner.model import Action, Change, Level, TestContract, digest_of
from runner.process.limits import Limits

PATH = "tests/test_shop.py"
SHOP = "def price(n):\n    return n + 1\n"
HEAD = "import shop\n\n"
CALL = "    assert shop.price(4) == 4\n"
LOST = {
    "a handler of everything": (
        "def test_a():\n    try:\n        assert shop.price(4) == 4\n    except Exception:\n"
        "        pass\n"
    ),
    "a handler of groups": (
        "def test_a():\n    try:\n        assert shop.price(4) == 4\n    except* AssertionError:\n"
        "        pass\n"
    ),
    "words about it": (
        "def test_a():\n    for n in (4, 5):\n        try:\n            assert shop.price(n) == n\n"
        "        except AssertionError as error:\n            print('known', error)\n"
    ),
    "suppress": (
        "from contextlib import suppress\n\ndef test_a():\n    with suppress(AssertionError):\n"
        "        assert shop.price(4) == 4\n"
    ),
    "a context manager of its own": (
        "class Timed:\n    def __enter__(self):\n        pass\n    def __exit__(self, *_):\n"
        "        return True\n\ndef test_a():\n    with Timed():\n"
        "        assert shop.price(4) == 4\n"
    ),
    "a decorator that tries three times": (
        "def tried(test):\n    def run():\n        for _ in range(3):\n            try:\n"
        "                return test()\n            except AssertionError:\n"
        "                continue\n    return run\n\n@tried\ndef test_a():\n" + CALL
    ),
    "a thread": (
        "import threading\n\ndef test_a():\n    def work():\n        assert shop.price(4) == 4\n\n"
        "    one = threading.Thread(target=work)\n    one.start()\n    one.join()\n"
    ),
    "a pool whose results nobody asks for": (
        "from concurrent.futures import ThreadPoolExecutor\n\ndef work():\n" + CALL + "\n"
        "def test_a():\n    with ThreadPoolExecutor(1) as pool:\n        pool.submit(work)\n"
    ),
    "tasks that are gathered with their errors": (
        "import asyncio\n\nasync def work():\n" + CALL + "\ndef test_a():\n    async def all_():\n"
        "        await asyncio.gather(work(), return_exceptions=True)\n    asyncio.run(all_())\n"
    ),
    "a return in a finally": (
        "def test_a():\n    try:\n        assert shop.price(4) == 4\n    finally:\n        return\n"
    ),
    "a method of unittest": (
        "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        try:\n"
        "            self.assertEqual(shop.price(4), 4)\n        except Exception:\n"
        "            pass\n"
    ),
}
FINE = {
    "it holds": "def test_a():\n    assert shop.price(4) == 5\n",
    "raises says so": (
        "import pytest\n\ndef same(a, b):\n    assert a == b\n\ndef test_a():\n"
        "    with pytest.raises(AssertionError):\n        same(shop.price(4), 4)\n"
    ),
    "raises by a context manager of its own": (
        "import contextlib\nimport pytest\n\n@contextlib.contextmanager\ndef refused():\n"
        "    with pytest.raises(AssertionError):\n        yield\n\ndef test_a():\n"
        "    n = shop.price(4)\n    with refused():\n        assert n == 4\n"
    ),
    "a handler that asserts": (
        "import pytest\n\ndef same(a, b):\n    assert a == b, 'differs'\n\n"
        "def test_a():\n    try:\n"
        "        same(shop.price(4), 4)\n    except AssertionError as error:\n"
        "        assert 'differs' in str(error)\n    else:\n        pytest.fail('not noticed')\n"
    ),
    "asked until it holds": (
        "COUNT = []\n\ndef eventually(check):\n    while True:\n        try:\n"
        "            check()\n            return\n        except AssertionError:\n"
        "            COUNT.append(1)\n\ndef test_a():\n    def done():\n"
        "        assert len(COUNT) == 3\n\n    eventually(done)\n"
    ),
    "a group that is kept": (
        "def test_a():\n    try:\n        assert shop.price(4) == 4\n"
        "    except* AssertionError as error:\n        assert error.exceptions\n"
    ),
    "asked until it holds, in one function": (
        "def test_a():\n    count = 0\n    while True:\n        try:\n"
        "            assert count == 3\n"
        "            break\n        except AssertionError:\n            count += 1\n"
    ),
    "the product catches its own": ("def test_a():\n    assert not shop.fits('x')\n"),
}
FITS = (
    "\n\ndef fits(word):\n    try:\n        assert word == 'y'\n    except AssertionError:\n"
    "        return False\n    return True\n"
)


def said(folder, text, *, by_person=False, command="python3 -m pytest -q tests", before=None):
    """What is found after a contract ran on a test file."""
    content = (HEAD + text).encode()
    change = Change(PATH, Action.CREATE, 0o100644, None, digest_of(content), content)
    contract = TestContract(id="TC-001", level=Level.UNIT, command=command, line=1)
    bench = replace(
        a_bench(folder, PYTHONPATH="."),
        task=a_task(outputs=("any",), test_contracts=(contract,)),
        changes=(change,),
        before=lambda _path: before,
        by_person=by_person,
    )
    tree = bench.place.tree
    (tree / "tests").mkdir()
    (tree / "tests" / "__init__.py").write_text("")
    (tree / PATH).write_bytes(content)
    (tree / "shop.py").write_text(SHOP + FITS)
    check = Check(id="TC-001", kind="test", command=command, limits=Limits())
    bench.ran["TC-001"] = trial = try_check(check, bench)
    assert trial.passed, trial.ran.tail
    (look,) = lost_assertions.checks(bench.task, bench.settings)
    return lost_assertions.prove(look, bench).findings


@pytest.mark.parametrize("text", LOST.values(), ids=LOST)
def test_one_that_nobody_was_told_of_is_a_question(tmp_path, text):
    (finding,) = said(tmp_path, text)
    assert finding.asks
    assert finding.path == PATH
    line = (HEAD + text).splitlines()[finding.line - 1]
    assert "shop.price" in line
    assert "failed, and " in finding.message
    assert "test_a passed: nobody was told of it" in finding.message


@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_one_that_is_meant_or_held_in_the_end_is_fine(tmp_path, text):
    assert said(tmp_path, text) == ()


def test_unittest_itself_is_heard_too(tmp_path):
    text = LOST["a method of unittest"]
    (finding,) = said(tmp_path, text, command="python3 -m unittest -q tests.test_shop")
    assert finding.asks
    assert "self.assertEqual(shop.price(4), 4)" in finding.message


def test_one_that_was_there_before_is_not_this_changes_doing(tmp_path):
    text = LOST["suppress"]
    assert said(tmp_path, text, before=(HEAD + text).encode()) == ()


def test_a_handler_that_keeps_the_error_is_only_warned_of(tmp_path):
    text = (
        "def test_a():\n    seen = []\n    try:\n        assert shop.price(4) == 4\n"
        "    except AssertionError as error:\n        seen.append(error)\n    print(seen)\n"
    )
    (finding,) = said(tmp_path, text)
    assert not finding.asks


def test_a_person_is_only_told(tmp_path):
    (finding,) = said(tmp_path, LOST["suppress"], by_person=True)
    assert not finding.asks
