"""Values and uses that a plan speaks of, and that no test has, are told."""

import pytest
from test_gates_plan_examples import said

WAIT = "def wait_for(value, now):\n    return 0.0\n"
ZONES = ("`wait_for` takes dates with another zone, like `+0200`",)
ENDLESS = ("`wait_for` gives 0 also after a NaN or an infinite value",)
CALLS = "from shop import wait_for\ndef test_it():\n    assert wait_for({}, 3) == 0.0\n"


def wordings(found):
    return [message for _, message in found if "plan" in message]


@pytest.mark.parametrize(
    ("acceptance", "given", "told"),
    [
        (ZONES, "'Sun, 06 Nov 1994 08:49:37 GMT'", "like it"),
        (ZONES, "'Sun, 06 Nov 1994 08:49:37 -0330'", "like it"),
        (ZONES, "'Sun, 06 Nov 1994 08:49:37 +0530'", ""),
        (ZONES, "b'+0200'", ""),
        (ENDLESS, "float('nan')", "infinite"),
        (ENDLESS, "float('inf')", "NaN"),
        (ENDLESS, "[float('nan'), math.inf]", ""),
        (("`wait_for` has no infinite loop",), "1", ""),
        (("`wait_for` does not take infinite values",), "1", ""),
        (("as in version `1.2-3`",), "1", ""),
        (("see TASK-004 and `TC-004`",), "1", ""),
        (("`wait_for` gives `'a-b'` for `'a b'`",), "'a b', 'a-b'", ""),
    ],
)
def test_a_kind_of_value_that_no_test_gives_is_told(tmp_path, acceptance, given, told):
    found = wordings(said(tmp_path, WAIT, CALLS.format(given), acceptance))
    assert len(found) == bool(told), found
    assert all(told in one for one in found)


def test_values_that_tests_make_or_read_may_be_any(tmp_path):
    tests = "from hypothesis import given\n" + CALLS.format("value")
    assert wordings(said(tmp_path, WAIT, tests, (*ZONES, *ENDLESS))) == []


HEADER = "def name_of(header):\n    return header\n"
ORDERS = "from shop import name_of\ndef test_it():\n    assert name_of({}) == 'b'\n"
BOTH = ("`filename*` is preferred to `filename`, in both orders",)


@pytest.mark.parametrize(
    ("tests", "told"),
    [
        (ORDERS.format("'x; filename=a; filename*=b'"), True),
        (
            ORDERS.format("'filename=a; filename*=b'") + ORDERS.format('"filename*=b; filename=a"'),
            False,
        ),
        (ORDERS.format("'x; filename=a; filename*=b'") + "ONE = 'filename*=c'\n", False),
        (ORDERS.format("'filename*=b'") + ORDERS.format("'filename=b'"), False),
    ],
)
def test_what_may_stand_in_both_orders_has_to_be_given_in_both(tmp_path, tests, told):
    found = wordings(said(tmp_path, HEADER, tests, BOTH, prose="Read `name_of`."))
    assert bool(found) is told, found
    if told:
        assert found == [
            "the plan has `filename` and `filename*` in both orders, and every test in this one"
        ]


CACHE = (
    "class Cache:\n    def __init__(self):\n        self.kept = {}\n"
    "    def put(self, url, headers):\n        self.kept[url] = dict(headers)\n"
    "    def get(self, url):\n        return self.kept[url], 1\n"
)
OWN = ("`Cache`: changes of a dict outside of it are not seen by the next `get`",)
USES = (
    "from shop import Cache\ndef test_it():\n    cache = Cache()\n    given = {{'a': 1}}\n"
    "    cache.put('u', given)\n    given['a'] = 2\n{}    assert cache.get('u')[0] == {{'a': 1}}\n"
)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("", True),
        ("    found, _ = cache.get('u')\n    assert found == {'a': 1}\n", True),
        ("    found, _ = cache.get('u')\n    found['a'] = 3\n", False),
        ("    cache.get('u')[0]['a'] = 3\n", False),
        ("    found = cache.get('u')\n    found[0].clear()\n", False),
        ("    del cache.get('u')[0]['a']\n", False),
        ("    for one in cache.get('u'):\n        one |= {}\n        one.update(b=1)\n", False),
    ],
)
def test_where_changes_are_not_seen_inside_a_test_has_to_change_what_came_out(
    tmp_path, lines, told
):
    found = wordings(said(tmp_path, CACHE, USES.format(lines), OWN))
    wanted = "the plan says what becomes of changes, and no test changes what get gives"
    assert found == ([wanted] if told else [])


SCRIPT = "export function settings() {\n  return kept\n}\n"
SCRIPT_TESTS = (
    "import { settings } from './shop.mjs'\nit('is', () => {\n  const own = settings()\n%s})\n"
)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("  expect(own.size === 1).toBe(true)\n", True),
        ("  own.size = 2\n", False),
        ("  own.list.push(2)\n", False),
        ("  delete own.size\n", False),
    ],
)
def test_scripts_are_asked_alike(tmp_path, line, told):
    plan = ("`settings` gives a fresh copy to each caller",)
    found = wordings(said(tmp_path, SCRIPT, SCRIPT_TESTS % line, plan, path="shop.mjs"))
    assert bool(found) is told, found


CLOSES = (
    "class Queue:\n    def close(self):\n        pass\n    def take(self, n):\n        return n\n"
)
CLOSING = "from shop import Queue\n\ndef test_it():\n    queue = Queue()\n    queue.close()\n{}\n"
TWICE = ("`Queue.close`: to close it again does nothing",)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("    assert queue.take(1) == 1", True),
        ("    queue.close()", False),
        ("    for _ in range(2):\n        queue.close()", False),
        ("\ndef test_more():\n    Queue().close()", True),
    ],
)
def test_what_is_done_again_has_to_be_done_twice_in_one_test(tmp_path, lines, told):
    found = wordings(said(tmp_path, CLOSES, CLOSING.format(lines), TWICE))
    wanted = 'the plan says "close it again", and no test calls close twice alike'
    assert found == ([wanted] if told else [])


def test_what_is_given_back_may_be_asked_again_under_its_own_name(tmp_path):
    code = "def matcher(text):\n    return text.__eq__\n"
    tests = (
        "from shop import matcher\ndef test_it():\n    fits = matcher('a')\n    assert fits('a')\n"
    )
    plan = ("`matcher` gives what can be asked again and again",)
    assert len(wordings(said(tmp_path, code, tests, plan))) == 1
    (tmp_path / "more").mkdir()
    more = tests + "    assert fits('a')\n"
    assert wordings(said(tmp_path / "more", code, more, plan)) == []
