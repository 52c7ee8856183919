"""Rows of new tests that nothing looks at, while others are, are told with `strict`."""

from importlib import import_module

import pytest
from coverage_bench import Yard
from test_gates_mutation_python import of

from runner.gates.mutation import run_mutants
from runner.gates.mutation.unread_rows import other_row, tables_in

survivors = import_module("runner.gates.mutation.survivors")
"""The module itself: its package has one that is loaded at its first use."""
SHOP = """\
def initials(name, sep=""):
    letters = [word[0].upper() for word in name.split()]
    return sep.join(letters)
"""
LATE = """\
from shop import initials
def test_it():
    checks = []
    for name, wanted in (("ada lovelace", "XX"), ("a b c", "XYZ"), ("x y", "XY")):
        checks.append(lambda: initials(name) == wanted)
    assert all(check() for check in checks)
"""
ALL = """\
from shop import initials
def test_it():
    for name, wanted in (("ada lovelace", "AL"), ("a b c", "ABC"), ("x y", "XY")):
        assert initials(name) == wanted
"""
PROPERTY = """\
from shop import initials
def test_it():
    assert initials("ada lovelace", ".") == "A.L"
    for name, sep in (("ada lovelace", "-"), ("a b c", "+"), ("x y", "/")):
        assert initials(name, sep).replace(sep, "") == initials(name)
"""


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """How much is tried must not hang on how busy this machine is."""
    monkeypatch.setattr(survivors, "_STRICT_SECONDS", 240.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 4.0)


def rows(folder, tests, **settings):
    found = of(Yard(folder), tests, shop=SHOP, **settings).findings
    return [(str(one.severity), one.message) for one in found if "row" in one.message]


def test_a_closure_that_sees_the_last_row_alone_is_told(tmp_path):
    ((severity, message),) = rows(tmp_path, LATE, mutation="strict")
    assert severity == "question"
    wanted = 'no test looks at the row `("ada lovelace", "XX")`: whatever it says, all of them pass'
    assert message == wanted


@pytest.mark.parametrize("tests", [ALL, PROPERTY], ids=["each compared", "a property of any"])
def test_rows_that_are_compared_or_may_be_any_are_left_alone(tmp_path, tests):
    assert rows(tmp_path, tests, mutation="strict") == []


REFUSED = """\
from shop import initials
def refuses(name):
    try:
        initials(len(name))
    except AttributeError:
        return True
    return False
def test_it():
    for name, wanted in (("ada lovelace", "AL"), ("a b c", "ABC"), ("x y", AttributeError)):
        if wanted is AttributeError:
            assert refuses(name)
        else:
            assert initials(name) == wanted
"""
WHETHER = """\
from shop import initials
def test_it():
    for name, long in (("ada lovelace", True), ("a b c", True), ("x", False)):
        assert (len(initials(name)) > 1) is long
"""


@pytest.mark.parametrize("tests", [REFUSED, WHETHER], ids=["a refusal", "a truth"])
def test_a_row_that_says_whether_something_is_refused_or_so_is_looked_at(tmp_path, tests):
    assert rows(tmp_path, tests, mutation="strict") == []


FITS = """\
def initials(text, width=3):
    return text if len(text) <= width else text[:width]
"""
SAME = """\
from shop import initials
def test_it():
    for text, width, wanted in (("ab", 9, "ab"), ("abcd", 3, "abc"), ("a", 4, "a")):
        assert initials(text, width) == wanted
"""


def test_a_row_whose_answer_is_what_it_gives_is_looked_at(tmp_path):
    found = of(Yard(tmp_path), SAME, shop=FITS, mutation="strict").findings
    assert [one.message for one in found if "row" in one.message] == []


PATTERN = """\
import fnmatch
def initials(pattern, name):
    return fnmatch.fnmatchcase(name, pattern)
"""
FITTING = """\
from shop import initials
def test_what_fits():
    for pattern, name in (("*", "ready"), ("a*", "ab"), ("*b", "ab")):
        assert initials(pattern, name)
def test_what_does_not():
    for pattern, name in (("a", "ab"), ("b*", "ab"), ("*a", "ab")):
        assert not initials(pattern, name)
"""


def test_a_row_whose_values_fit_each_other_is_looked_at(tmp_path):
    found = of(Yard(tmp_path), FITTING, shop=PATTERN, mutation="strict").findings
    assert [one.message for one in found if "row" in one.message] == []


def test_it_takes_runs_of_its_own_so_only_strict_asks(tmp_path):
    assert rows(tmp_path, LATE, mutation="warn") == []


GO_ROWS = """\
func TestRoman(t *testing.T) {
	for _, c := range []struct {
		n    int
		want string
	}{{4, "IV"}, {14, "XIV"}} {
		t.Run(c.want, func(t *testing.T) {})
	}
	testList{
		{"1", Roman(1), "I"},
		{"2", Roman(2), "II"},
	}.validate(t)
}
"""


def test_tables_are_read_in_every_language():
    def read(path, text):
        content = text.encode()
        found = tables_in(path, content)
        return [[content[one.start : one.end].decode() for one in rows] for rows in found]

    assert read("a_test.go", GO_ROWS) == [
        ['{4, "IV"}', '{14, "XIV"}'],
        ['{"1", Roman(1), "I"}', '{"2", Roman(2), "II"}'],
    ]
    script = "test.each([['a', 1], ['b', 2]])('x', () => f({ a: 1, b: 2 }))\n"
    assert read("a.test.js", script) == [["['a', 1]", "['b', 2]"]]
    assert read("test_a.py", "ROWS = [('a', 1), ('b', 2)]\nOTHER = [('a', 1), 3]\n") == [
        ["('a', 1)", "('b', 2)"]
    ]
    assert read("test_a.py", "ä = [('ä', 1), ('ö', 2)]\n") == [["('ä', 1)", "('ö', 2)"]]
    assert read("a.test.js", "// ä\ntest.each([['ä', 1], ['b', 2]])\n") == [
        ["['ä', 1]", "['b', 2]"]
    ]


def test_another_row_has_another_value_in_each_place():
    content = b"ROWS = [('a', 1), ('b', 2.5)]\n"
    (rows,) = tables_in("test_a.py", content)
    changed = [other_row(one, "test_a.py", content).text for one in rows]
    assert changed == [b"('a~', 18)", b"('b~', 2.58)"]


def test_a_dictionary_that_is_only_true_is_noticed_by_nothing(tmp_path):
    """Another dictionary is no empty one: `assert f(x)` must hold for it."""
    shop = (
        "def flat(of):\n    found = {}\n    for key, value in of.items():\n"
        "        found[key + '.'] = value\n    return found\n"
    )
    tests = "from shop import flat\ndef test_it():\n    assert flat({'a': 1})\n"
    found = of(Yard(tmp_path), tests, shop=shop, mutation="strict").findings
    assert [str(one.severity) for one in found] in (["error"], ["question"]), found
