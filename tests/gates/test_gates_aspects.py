"""With `strict` each change that every test lets pass is told, aspect by aspect."""

import shutil

import pytest
from coverage_bench import Yard
from test_gates_mutation_python import COLLECTED, noticed, of

from runner.gates.mutation import brace_aspects, run_mutants, survivors
from runner.gates.mutation.aspect_findings import tell_aspects
from runner.gates.mutation.aspect_run import Tried
from runner.gates.mutation.aspects import Way
from runner.gates.mutation.changed_values import WAYS, change, other
from runner.gates.mutation.mutants import Mutant
from runner.gates.mutation.python_aspects import put_watches, ways_of
from runner.gates.mutation.run_mutants import Ends


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """How much is tried must not hang on how busy this machine is."""
    monkeypatch.setattr(survivors, "_STRICT_SECONDS", 600.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 20.0)


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


SHARES = """\
def shares(names):
    if not names:
        raise ValueError("nobody")
    found = []
    for name in sorted(names):
        found.append((name, 60 // len(names)))
    return found
"""
HONEST = """\
import pytest
from shop import shares
def test_two():
    assert shares(["b", "a"]) == [("a", 30), ("b", 30)]
def test_three():
    assert shares(["c", "b", "a"]) == [("a", 20), ("b", 20), ("c", 20)]
def test_nobody():
    with pytest.raises(ValueError):
        shares([])
"""
WEAK = {
    "in another order": "assert set(shares(['b', 'a'])) == {('a', 30), ('b', 30)}",
    "with another middle": (
        "found = shares(['a', 'c', 'b'])\n"
        "    assert (len(found), found[0], found[-1]) == (3, ('a', 20), ('c', 20))"
    ),
    "without its end": "assert shares(['b', 'a'])[0] == ('a', 30)",
    "with only the first of `sorted(names)`": (
        "assert shares(['a']) == [('a', 60)]\n    assert shares(['b']) == [('b', 60)]"
    ),
}
ERRORS = {
    "another error": "with pytest.raises(Exception):\n        shares([])",
    "`not names` true": "assert shares(['c']) == [('c', 60)]",
}


def told(yard, tests, shop=SHARES):
    head = "import pytest\nfrom shop import *\n"
    yard.write("shop.py", shop).write("test_shop.py", f"{head}{tests}{COLLECTED}")
    found = noticed(yard, mutation="strict")
    return [(str(one.severity), one.message, one.detail) for one in found.findings]


def test_tests_that_look_at_all_of_it_pass(yard):
    assert told(yard, HONEST) == []


@pytest.mark.parametrize("aspect", WEAK)
def test_what_no_test_tells_of_a_result_is_a_question(yard, aspect):
    rest = HONEST.replace("def test_two():\n    assert shares", "def two():\n    assert shares")
    rest = rest.replace("def test_three():\n    assert shares", "def three():\n    assert shares")
    found = told(yard, f"{rest}def test_it():\n    {WEAK[aspect]}\n")
    assert [said for said, message, _ in found if aspect in message] == ["question"], found


@pytest.mark.parametrize("aspect", ERRORS)
def test_an_error_that_no_test_names_or_comes_to_is_a_question(yard, aspect):
    rest = HONEST.partition("def test_nobody")[0]
    found = told(yard, f"{rest}def test_it():\n    {ERRORS[aspect]}\n")
    assert [said for said, message, _ in found if aspect in message] == ["question"], found


def test_what_a_stand_in_is_asked_is_looked_at(yard):
    shop = (
        "import random\n\n\ndef pause(longest):\n    return random.uniform(longest / 2, longest)\n"
    )
    tests = """\
from unittest import mock
def test_it():
    with mock.patch("random.uniform", return_value=3) as asked:
        assert pause(4) == 3
"""
    found = told(yard, tests, shop)
    assert any("given to `uniform`" in message + detail for _, message, detail in found), found
    asks = tests + "    asked.assert_called_once_with(2, 4)\n"
    assert told(yard, asks, shop) == []


def test_changed_code_of_old_functions_is_warned_of_alone(yard):
    before = SHARES.replace("sorted(names)", "names")
    yard.write("shop.py", SHARES, before=before)
    yard.write("test_shop.py", f"{HONEST}\n")
    yard.before["shop.py"] = before.encode()
    tests = "from shop import shares\ndef test_it():\n    assert len(shares(['a', 'b'])) == 2\n"
    found = of_old(yard, tests, before)
    assert {str(one.severity) for one in found} <= {"warning"}, found


def of_old(yard, tests, before):
    yard.write("shop.py", SHARES, before=before).write("test_shop.py", tests + COLLECTED)
    found = noticed(yard, mutation="strict").findings
    return [one for one in found if one.message.startswith("no test tells")]


@pytest.mark.parametrize(("becomes", "told"), [("most", False), ("most - 1", True), ("0", True)])
def test_a_bound_that_a_value_is_held_at_gives_the_same_on_both_sides(becomes, told):
    shop = (
        f"def held(size, most):\n    if size > most:\n        size = {becomes}\n    return size\n"
    )
    lines = frozenset(range(1, 5))
    ways = ways_of("shop.py", shop.encode(), lines, lines, "/dev/null")
    assert any(way.aspect == "comparison" for way in ways) is told


def test_by_default_nothing_of_it_is_asked(yard):
    found = of(yard, f"from shop import *\ndef test_it():\n    {WEAK['without its end']}\n", SHARES)
    assert not [one for one in found.findings if "no test tells" in one.message]


VALUES = ([1, 2, 3], ("a", 1), "abc", b"abc", {"a": 1, "b": [2]}, {1, 2}, 5, 2.5, True, 0.0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_changed_value_keeps_its_type(value, way):
    new = change(value, way)
    assert type(new) is type(value)
    assert new is value or new != value


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_every_plain_value_can_be_another_one(value):
    assert other(value) != value


@pytest.mark.parametrize("value", [None, float("nan"), [], "", object(), len, int])
def test_what_cannot_be_another_one_stays_itself(value):
    assert all(change(value, way) is value for way in WAYS if (value, way) != ("", "longer"))


def test_watched_code_does_what_it_did_and_keeps_its_lines():
    code = (
        b"def f(x):\n    if x and x > 2:\n        return (x\n                + 1)\n"
        b'    return "\xc3\xa9" if x else [y for y in "ab" if y]\n'
    )
    lines = frozenset(range(1, 6))
    file = put_watches("a.py", code, lines, lines, "/dev/null")
    assert file.text.count(b"\n") == code.count(b"\n")
    plain, probed = {}, {}
    exec(code, plain)
    exec(file.text, probed)
    assert [probed["f"](x) for x in (0, 1, 5)] == [plain["f"](x) for x in (0, 1, 5)]
    for way in ways_of("a.py", code, lines, lines, "/dev/null"):
        compile(way.mutant.apply_to(code), "a.py", "exec")


JS = """\
export function shares(names) {
  if (names.length === 0) {
    throw new RangeError('nobody');
  }
  return [...names].sort().map((name) => [name, 60 / names.length]);
}
"""
JS_HONEST = """\
import test from 'node:test';
import assert from 'node:assert';
import { shares } from './shop.mjs';

test('two', () => {
  assert.deepStrictEqual(shares(['b', 'a']), [['a', 30], ['b', 30]]);
});
test('three', () => {
  assert.deepStrictEqual(shares(['c', 'b', 'a']), [['a', 20], ['b', 20], ['c', 20]]);
});
test('nobody', () => {
  assert.throws(() => shares([]), RangeError);
});
"""
JS_WEAK = (
    JS_HONEST.replace("shares(['b', 'a']), [", "shares(['b', 'a']).slice(0, 1), [")
    .replace(", ['b', 30]]", "]")
    .replace(
        "shares(['c', 'b', 'a']), [['a', 20], ['b', 20], ['c', 20]]", "shares(['a']), [['a', 60]]"
    )
)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
@pytest.mark.parametrize(
    ("tests", "asked"), [(JS_HONEST, False), (JS_WEAK, True)], ids=["honest", "weak"]
)
def test_javascript_is_asked_alike(yard, tests, asked):
    yard.write("shop.mjs", JS).write("shop.test.mjs", tests)
    found = noticed(yard, "node --test shop.test.mjs", mutation="strict").findings
    assert any("no test tells shares" in one.message for one in found) is asked, found


def test_what_a_template_holds_and_a_yes_or_no_is_given_are_not_changed():
    code = """\
const known = /^[a-z]+$/
export function quoted(value) {
  if (known.test(value)) return value;
  const word = 'a';
  return `"${value.replace(/["]/g, "'")}"${word}`;
}
"""
    lines = frozenset(range(1, 7))
    ways = list(brace_aspects.ways_of("a.mjs", code.encode(), lines, lines, "/dev/null", "js"))
    assert [one.says for one in ways if one.aspect == "text"] == ["another text than `'a'`"]
    assert not [one for one in ways if "known.test" in one.says and one.aspect == "argument"]


@pytest.mark.parametrize(
    ("call", "changed"),
    [
        ("Number.isInteger(size)", False),
        ("isOpen(size)", False),
        ("Object.hasOwn(size, size)", False),
        ("issue(size)", True),
        ("list.hash(size)", True),
    ],
)
def test_what_answers_yes_or_no_is_told_by_its_name(call, changed):
    code = f"export function f(size) {{\n  const x = {call};\n  return x;\n}}\n"
    lines = frozenset(range(1, 5))
    ways = brace_aspects.ways_of("a.mjs", code.encode(), lines, lines, "/dev/null", "js")
    assert any(one.aspect == "argument" for one in ways) is changed


GO = """\
package shop

import "errors"

func Pair(text string) (first, rest string, err error) {
	if text == "" {
		return "", "", errors.New("empty")
	}
	first, rest = text[:1], text[1:]
	return
}
"""
GO_TESTS = """\
package shop

import "testing"

func TestPair(t *testing.T) {
	first, rest, err := Pair("abc")
	if first != "a" || WANTED || err != nil {
		t.Errorf("%q %q %v", first, rest, err)
	}
}

func TestPairOfNothing(t *testing.T) {
	if first, rest, err := Pair(""); err == nil || err.Error() != "empty" || first+rest != "" {
		t.Errorf("%q %q %v", first, rest, err)
	}
}
"""


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not here")
@pytest.mark.parametrize(("wanted", "asked"), [('rest != "bc"', False), ("len(rest) != 2", True)])
def test_go_is_asked_alike(yard, wanted, asked):
    yard.write("go.mod", "module shop\n\ngo 1.19\n").write("shop.go", GO)
    yard.write("shop_test.go", GO_TESTS.replace("WANTED", wanted))
    found = noticed(yard, "go test ./...", mutation="strict").findings
    said = [one.message for one in found if one.message.startswith("no test tells")]
    assert any("with another end" in one for one in said) is asked, found


NUMBERS = """\
package shop

import "math"

type Hooked struct {
	Size float64
	Run  func()
}

func Mean(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, one := range values {
		sum += one
	}
	return sum / float64(len(values))
}

func Hook(size float64) Hooked {
	return Hooked{size, func() {}}
}
"""
NUMBERS_TESTS = """\
package shop

import (
	"math"
	"testing"
)

func TestMean(t *testing.T) {
	if !math.IsNaN(Mean(nil)) || Mean([]float64{1, 2, 6}) != 3 {
		t.Error("mean")
	}
	if hook := Hook(2); hook.Size != 2 || hook.Run == nil {
		t.Error("hook")
	}
}
"""


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not here")
def test_of_what_equals_not_even_itself_nothing_is_said_that_was_not_changed(yard):
    yard.write("go.mod", "module shop\n\ngo 1.19\n").write("shop.go", NUMBERS)
    yard.write("shop_test.go", NUMBERS_TESTS)
    found = noticed(yard, "go test ./...", mutation="strict").findings
    assert [one.message for one in found if "it in another" in one.message] == []


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not here")
def test_go_that_gives_no_number_is_changed_to_one(yard):
    yard.write("go.mod", "module shop\n\ngo 1.19\n").write("shop.go", NUMBERS)
    tests = NUMBERS_TESTS.replace("!math.IsNaN(Mean(nil))", "Mean(nil) == math.Pi")
    yard.write("shop_test.go", tests)
    found = noticed(yard, "go test ./...", mutation="strict").findings
    assert [one.message for one in found if "gives it as another one" in one.message], found


def ways(code):
    lines = frozenset(range(1, code.count("\n") + 2))
    return [*ways_of("shop.py", code.encode(), lines, lines, "/dev/null")]


PATTERNS = """import re

KEY = re.compile(r"[a-z]+")
WHOLE = re.compile(r"[a-z]+$")


def ask(text, other):
    return CALL
"""


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("KEY.match(text)", "`fullmatch` for `match` in `KEY.match(text)`"),
        ("KEY.fullmatch(text)", "`match` for `fullmatch` in `KEY.fullmatch(text)`"),
        ("re.match('a|b', text)", "`fullmatch` for `match` in `re.match('a|b', text)`"),
        ("WHOLE.match(text)", ""),
        ("re.match('^a$', text)", ""),
        ("re.match('a.*', text)", ""),
        ("other.match(text)", ""),
        ("KEY.search(text)", ""),
    ],
)
def test_a_pattern_of_all_of_a_text_is_told_from_one_of_its_beginning(call, told):
    found = [one.says for one in ways(PATTERNS.replace("CALL", call)) if one.aspect == "call"]
    assert [one for one in found if "match" in one.partition(" in ")[0]] == [told] * bool(told)


def test_a_sign_that_is_stripped_becomes_another_one():
    code = "def plain(text):\n    return text.replace('_', '-').strip('_')\n"
    changed = {way.mutant.apply_to(code.encode()).decode() for way in ways(code)}
    assert "def plain(text):\n    return text.replace('_', '-').strip('~')\n" in changed
    assert "def plain(text):\n    return text.replace('_~', '-').strip('_')\n" in changed
    assert not any(".strip('_~')" in one for one in changed)


SENT = """def sent(send, text):
    send(text)
    return len(text)
"""
LOOKS = """def test_it():
    given = []
    assert sent(given.append, "abcd") == 4
    assert WANTED
"""


@pytest.mark.parametrize(
    ("wanted", "asked"),
    [("given", True), ("given[0].startswith('ab')", False), ("given == ['abcd']", False)],
)
def test_what_is_handed_on_and_looked_at_in_part_is_not_asked_about(yard, wanted, asked):
    found = told(yard, LOOKS.replace("WANTED", wanted), SENT)
    assert any("given to `send`" in message for _, message, _ in found) is asked, found


EMPTY = """def total(items):
    CONDITION:
        return 0
    return sum(items)
"""


@pytest.mark.parametrize(
    ("condition", "severity"),
    [
        ("if not items", "warning"),
        ("if len(items) == 0", "warning"),
        ("if items.__len__() == 0", "warning"),
        ("if items == [0]", "question"),
    ],
)
def test_what_is_done_first_where_there_is_nothing_is_warned_of_alone(yard, condition, severity):
    tests = "def test_it():\n    assert total([1, 2]) == 3\n    assert total([]) == 0\n"
    tests += "    assert total([0]) == 0\n    assert total([5]) == 5\n"
    found = told(yard, tests, EMPTY.replace("CONDITION", condition))
    said = [(kind, message) for kind, message, _ in found if "always false" in message]
    assert [kind for kind, _ in said] == [severity], found


@pytest.mark.parametrize(
    ("text", "severity"),
    [("'latin-1'", "warning"), ('"UTF-8"', "warning"), ("'latin letters'", "question")],
)
def test_another_encoding_often_gives_the_same_and_is_no_question(text, severity):
    way = Way("text", f"another text than `{text}`", Mutant("a.py", "f", "text", 2, 0, 0, b""))
    tried = Tried("a.py", "f", is_new=True)
    tried.ways.append((way, Ends.SURVIVED))
    (found,) = tell_aspects("mutation", tried)
    assert str(found.severity) == severity


def test_each_change_says_its_line_and_the_hint_which_test_would_notice():
    def way(aspect, says, line):
        return Way(aspect, says, Mutant("shop.py", "sizes", aspect, line, 0, 0, b"")), Ends.SURVIVED

    tried = Tried("shop.py", "sizes", is_new=True)
    tried.ways += [
        way("condition", "`not names` always false", 2),
        way("loop", "only the first of `kept`", 4),
        way("call", "`fullmatch` for `match` in `KEY.match(one)`", 5),
    ]
    (found,) = tell_aspects("mutation", tried)
    assert (found.line, str(found.severity)) == (4, "question")
    assert found.message == (
        "no test tells sizes from one with only the first of `kept`; with `fullmatch` for `match`"
        " in `KEY.match(one)` (line 5); with `not names` always false (line 2)"
    )
    assert found.hint == (
        "have a test give more than one `kept`, of which the second makes the difference, or give"
        " a value for which both calls differ, or give two values, for one of which `not names`"
        " holds, and say what comes out of each"
    )
    tried.ways = tried.ways[:1]
    (found,) = tell_aspects("mutation", tried)
    assert str(found.severity) == "warning"
