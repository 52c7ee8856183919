"""How new code is used is in a test: with its default, by many at once, by one after another."""

import pytest
from test_gates_plan_examples import said

from runner.model import Severity

KEEP = "Add `keep(rows, most=100)`: the last `most` of the rows."
ASKS = "from shop import MOST, keep\n\n\ndef test_it():\n    assert len(keep(range(300))) == MOST\n"
PLAIN = "def keep(rows, most={}):\n    return rows[-most:]\n"
SCRIPT = (
    "const MOST = {}\nexport function keep(rows, most = MOST) {{\n  return rows.slice(-most)\n}}\n"
)
RECORDER = "class Keep:\n    def __init__(self, rows, most={}):\n        self.rows = rows\n"


@pytest.mark.parametrize(
    ("path", "code", "plan", "count"),
    [
        ("shop.py", PLAIN.format(10), KEEP, 1),
        ("shop.py", "MOST = 10\n\n\n" + PLAIN.format("MOST"), KEEP, 1),
        ("shop.py", "MOST: int = 10\n\n\n" + PLAIN.format("MOST"), KEEP, 1),
        ("shop.py", RECORDER.format(10), KEEP.replace("keep", "Keep"), 1),
        ("shop.py", PLAIN.replace("most=", "*, most: int = ").format(10), KEEP, 1),
        ("shop.py", PLAIN.format("'a'"), KEEP.replace("100", "'b'"), 1),
        ("shop.js", SCRIPT.format(10), KEEP.replace("most=", "most = "), 1),
        ("shop.ts", SCRIPT.format(10).replace("most =", "most: number ="), KEEP, 1),
        ("shop.py", PLAIN.format(100), KEEP, 0),
        ("shop.py", "MOST = 100\n\n\n" + PLAIN.format("MOST"), KEEP, 0),
        ("shop.js", SCRIPT.format(100), KEEP, 0),
        ("shop.py", PLAIN.format("None"), KEEP, 0),
        ("shop.py", PLAIN.format("settings.most"), KEEP, 0),
        ("shop.py", PLAIN.format(10), KEEP + " `keep(rows, most=10)` gives ten.", 0),
        ("shop.py", PLAIN.format(10), "Add `keep`, so that `keep([1, 2], most=1)` is `[2]`.", 0),
        ("shop.py", PLAIN.format(10), "Add `keep(rows, most)`: `keep(rows)` keeps ten.", 0),
    ],
)
def test_a_default_that_the_plan_shows_is_the_codes(tmp_path, path, code, plan, count):
    found = said(tmp_path, code, ASKS, path=path, prose=plan)
    assert len([1 for _, message in found if "the plan has" in message]) == count


LOAD = "Add `load(key)`: {}."
ALONE = "from shop import load\n\n\ndef test_it():\n    assert load('a') == 1\n"
CODE = "def load(key):\n    return len(key)\n"
GO = "package shop\n\nfunc load(key string) int {\n\treturn len(key)\n}\n"
GO_ASKS = 'package shop\n\nfunc TestLoad(t *testing.T) {\n\tload("a")\n}\n'


@pytest.mark.parametrize(
    ("plan", "code", "tests", "count"),
    [
        ("many goroutines call it", GO, GO_ASKS, 1),
        ("callers who ask at once share one call", CODE, ALONE, 1),
        ("safe for concurrent use", CODE, ALONE, 1),
        ("it is thread-safe", CODE, ALONE, 1),
        ("several threads ask", CODE, ALONE + "\n\nthread = Thread(target=load)\n", 0),
        ("many goroutines call it", GO, GO_ASKS.replace("\tload(", "\tgo load("), 0),
        ("concurrent calls wait", CODE, ALONE.replace("def", "async def") + "gather(load())\n", 0),
        ("it is not thread-safe", CODE, ALONE, 0),
        ("at once is soon enough", CODE, ALONE, 0),
        ("the thread of a mail", CODE, ALONE, 0),
        ("safe for concurrent use", CODE.replace("load", "other"), ALONE, 0),
    ],
)
def test_many_at_once_are_in_a_test_where_the_plan_has_them(tmp_path, plan, code, tests, count):
    path = "shop.go" if code.startswith("package") else "shop.py"
    found = said(tmp_path, code, tests, path=path, prose=LOAD.format(plan))
    assert [severity for severity, message in found if "at once" in message] == (
        [Severity.QUESTION] * count
    )


CLASS = "class Log:\n    {}\n\n    def put(self, one):\n        {}\n"
INIT = "\n\n    def __init__(self):\n        self.calls = []"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        (CLASS.format("calls = []", "self.calls.append(one)"), 1),
        (CLASS.format("calls: list[int] = []", "self.calls += [one]"), 1),
        (CLASS.format("calls: dict[int, int] = {}", "self.calls[one] = 1"), 1),
        (CLASS.format("calls = deque()", "self.calls.appendleft(one)"), 1),
        (CLASS.format("calls = [1]", "del self.calls[one]"), 1),
        (CLASS.format("calls = []" + INIT, "self.calls.append(one)"), 0),
        (CLASS.format("calls: ClassVar[list[int]] = []", "self.calls.append(one)"), 0),
        (CLASS.format("calls = ()", "self.calls += (one,)"), 0),
        (CLASS.format("calls = []", "return one in self.calls"), 0),
        (CLASS.format("calls = []", "Log.calls.append(one)"), 0),
        (CLASS.format("cache = {}", "self.cache[one] = 1"), 0),
        (CLASS.format("_instances = {}", "self._instances[one] = 1"), 0),
        ("def put(one, calls=[]):\n    calls.append(one)\n    return calls\n", 1),
        ("def put(one, *, calls={}):\n    calls[one] = 1\n    return calls\n", 1),
        ("def put(one, calls=[]):\n    calls = [*calls, one]\n    return calls\n", 0),
        ("def put(one, calls=[]):\n    return [*calls, one]\n", 0),
        ("def put(one, calls=None):\n    calls.append(one)\n    return calls\n", 0),
        ("def put(one, _seen={}):\n    _seen[one] = 1\n    return _seen\n", 0),
    ],
)
def test_what_one_use_leaves_for_the_next_is_told(tmp_path, code, count):
    asks = "from shop import Log, put\n\n\ndef test_it():\n    assert put(1)[-1] == 1\n"
    found = said(tmp_path, code, asks)
    told = [message for _, message in found if "for all of" in message or "leaves in" in message]
    assert len(told) == count


NUMBER = "Add `weigh(text)`: its `weight` is a number."
WEIGHS = "export function weigh(text) {\n  return { weight: text.slice(1) }\n}\n"
LOOSE = """\
const assert = require('assert')
test('it', () => assert.deepEqual(weigh('1'), { weight: 1 }))
"""


@pytest.mark.parametrize(
    ("tests", "plan", "count"),
    [
        (LOOSE, NUMBER, 1),
        ("'use strict'\n" + LOOSE, NUMBER, 1),
        (
            LOOSE.replace("deepEqual(weigh('1'), { weight: 1 })", "ok(weigh(1).weight == 1)"),
            NUMBER,
            1,
        ),
        (LOOSE.replace("deepEqual", "equal"), NUMBER.replace("a number", "a text"), 1),
        (LOOSE.replace("deepEqual", "deepStrictEqual"), NUMBER, 0),
        (LOOSE.replace("'assert'", "'assert/strict'"), NUMBER, 0),
        (LOOSE + "assert.ok(typeof weigh('a1').weight)\n", NUMBER, 0),
        ("test('it', () => expect(weigh('a1')).toEqual({ weight: 1 }))\n", NUMBER, 0),
        (LOOSE, "Add `weigh(text)`: its `weight`.", 0),
    ],
)
def test_tests_that_compare_loosely_say_nothing_of_a_kind(tmp_path, tests, plan, count):
    found = said(tmp_path, WEIGHS, tests, path="shop.js", prose=plan)
    assert len([1 for _, message in found if "loosely" in message]) == count
