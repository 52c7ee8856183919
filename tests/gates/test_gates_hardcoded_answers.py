"""Functions that hold what their tests expect, and nothing else, are told."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import hardcoded_answers
from runner.model import Action, Change, Level, Severity, TestContract, digest_of

TESTS = """\
def test_initials():
    assert initials("ada lovelace") == "AL"
    assert initials("j r tolkien", ".") == "J.R.T"
    assert not initials("")
    assert level("debug") == 10 and level("info") == 20
"""
SCRIPT = """\
it("counts", () => {
  assert.strictEqual(hamming("karolin", "kathrin"), 3);
  assert.throws(() => hamming("a", "ab"), RangeError);
  assert.strictEqual(count(1, 10), 10);
  assert.strictEqual(count(1, 10, 3), 4);
});
"""
GO = """\
func TestRoman(t *testing.T) {
	check(t, []row{{1, "I"}, {4, "IV"}, {14, "XIV"}})
	if got := Roman(14); got != "XIV" { t.Error(got) }
}
"""


def said(folder, path, code, tests, *, by_person=False, mutation="strict", prose="", more=()):
    texts = {path: code, f"tests/test_it{path[path.rindex('.') :]}": tests, **dict(more)}
    changes = tuple(
        Change(name, Action.CREATE, 0o100644, None, digest_of(text.encode()), text.encode())
        for name, text in texts.items()
    )
    task = replace(
        a_task(outputs=("any",), prose=prose),
        test_contracts=(TestContract("TC-001", Level.UNIT, "pytest"),),
    )
    bench = replace(a_bench(folder), task=task, changes=changes, by_person=by_person)
    bench = replace(bench, settings=replace(bench.settings, mutation=mutation))
    found = [
        finding
        for check in hardcoded_answers.checks(bench.task, bench.settings)
        for finding in hardcoded_answers.prove(check, bench).findings
    ]
    return [(one.severity, one.message) for one in found]


CONSTANTS = {
    "one constant": ("shop.py", "def initials(name, sep=''):\n    return 'AL'\n", TESTS),
    "behind a guard that refuses": (
        "shop.js",
        (
            "function hamming(a, b) {\n  if (a.length !== b.length) throw new RangeError('x');\n"
            "  return 3;\n}\n"
        ),
        SCRIPT,
    ),
    "an arrow": ("shop.js", "const hamming = (a, b) => 3;\n", SCRIPT),
    "in Go": ("roman.go", 'func Roman(n int) string {\n\treturn "XIV"\n}\n', GO),
}


@pytest.mark.parametrize("case", CONSTANTS.values(), ids=CONSTANTS)
def test_a_constant_that_a_test_expects_is_told_where_nothing_given_is_looked_at(tmp_path, case):
    ((severity, message),) = said(tmp_path, *case)
    assert severity is Severity.QUESTION
    assert "whatever it is given, which its tests expect" in message
    ((severity, _),) = said(tmp_path, *case, mutation="warn")
    assert severity is Severity.QUESTION  # no mutant has to run for it to be sure


SAME = {
    "by a name": ("shop.py", "_ONE = 'AL'\ndef initials(name):\n    return _ONE\n", TESTS),
    "put together": (
        "roman.go",
        'func Roman(n int) string {\n\treturn fmt.Sprintf("X%s", "IV")\n}\n',
        GO,
    ),
    "computed": ("shop.js", "const hamming = (a, b) => Math.max(1, 3);\n", SCRIPT),
}


@pytest.mark.parametrize("case", SAME.values(), ids=SAME)
def test_a_function_that_never_looks_at_what_it_is_given_is_told(tmp_path, case):
    ((severity, message),) = said(tmp_path, *case)
    assert severity is Severity.QUESTION
    assert "gives the same whatever" in message


ALL_KNOWN = {
    "a table of what tests ask": (
        "shop.py",
        (
            "KNOWN = {'ada lovelace': 'AL', 'j r tolkien': 'J.R.T', '': ''}\n"
            "def initials(name, sep=''):\n    return KNOWN.get(name, name)\n"
        ),
        TESTS,
    ),
    "a chain of conditions": (
        "shop.py",
        (
            "def initials(name, sep=''):\n    if not name:\n        return ''\n"
            "    if sep == '.':\n        return 'J.R.T'\n    return 'AL'\n"
        ),
        TESTS,
    ),
    "a table by a key put together": (
        "shop.js",
        (
            "const KNOWN = { '1:10:1': 10, '1:10:3': 4 };\n"
            "const count = (a, b, step = 1) => KNOWN[`${a}:${b}:${step}`] || 0;\n"
        ),
        SCRIPT,
    ),
    "a switch": (
        "roman.go",
        (
            'func Roman(n int) string {\n\tswitch n {\n\tcase 1:\n\t\treturn "I"\n\tcase 4:\n'
            '\t\treturn "IV"\n\tcase 14:\n\t\treturn "XIV"\n\t}\n\treturn ""\n}\n'
        ),
        GO,
    ),
}


@pytest.mark.parametrize("case", ALL_KNOWN.values(), ids=ALL_KNOWN)
def test_a_function_that_knows_what_its_tests_ask_and_nothing_else_is_told(tmp_path, case):
    ((severity, message),) = said(tmp_path, *case)
    assert severity is Severity.QUESTION
    assert "computes nothing: it holds the" in message


LEFT_ALONE = {
    "it computes": (
        "shop.py",
        "def initials(name, sep=''):\n    return sep.join(w[0].upper() for w in name.split())\n",
        TESTS,
    ),
    "a table that knows more": (
        "shop.py",
        (
            "LEVELS = {'debug': 10, 'info': 20, 'warning': 30}\n"
            "def level(name):\n    return LEVELS[name]\n"
        ),
        TESTS,
    ),
    "it weighs": (
        "shop.py",
        (
            "def initials(name, sep=''):\n    if len(name) > 9:\n        return 'J.R.T'\n"
            "    return name and 'AL' + sep\n"
        ),
        TESTS,
    ),
    "a text with a value in it": (
        "shop.js",
        "const hamming = (a, b) => `${a}${b}`;\nconst count = (a, b) =>\n  `${a}: ${b}`;\n",
        SCRIPT,
    ),
    "nothing is given": ("shop.py", "def initials():\n    return 'AL'\n", TESTS),
    "a yes": ("shop.py", "def initials(name):\n    return True\n", TESTS),
    "a handler": ("shop.py", "@app.get('/')\ndef initials(request):\n    return 'AL'\n", TESTS),
    "an override": (
        "shop.py",
        "class Name(Base):\n    def initials(self, name):\n        return 'AL'\n",
        TESTS,
    ),
    "a method no test expects it of": (
        "shop.py",
        "class Shop:\n    def initials(self, name):\n        return 'other'\n",
        TESTS,
    ),
    "no test names it": ("shop.py", "def other(name):\n    return 'AL'\n", TESTS),
}


@pytest.mark.parametrize("case", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_computes_or_is_of_another_shape_is_left_alone(tmp_path, case):
    assert said(tmp_path, *case) == []


STUBS = {
    "Python": (
        "shop.py",
        'def initials(name):\n    """Of a name."""\n    raise NotImplementedError(name)\n',
        TESTS,
    ),
    "a script": (
        "shop.js",
        "function hamming(a, b) {\n  throw new Error('not implemented yet');\n}\n",
        SCRIPT,
    ),
    "Go": ("roman.go", 'func Roman(n int) string {\n\tpanic("not implemented")\n}\n', GO),
}


GUARDED_STUBS = {
    "Python": (
        "shop.py",
        (
            "def initials(name):\n    if not isinstance(name, str):\n"
            "        raise TypeError(name)\n    assert name\n"
            "    raise NotImplementedError('with the next release')\n"
        ),
        TESTS,
    ),
}


@pytest.mark.parametrize("case", GUARDED_STUBS.values(), ids=GUARDED_STUBS)
def test_a_stub_that_looks_at_its_arguments_first_is_one(tmp_path, case):
    ((_, message),) = said(tmp_path, *case)
    assert message.endswith("is not written: all that it does is to say so")


ERRORS_ALONE = (
    "func Roman(n int) (string, error) {\n\tif n < 1 {\n"
    '\t\treturn "", errors.New("too small")\n\t}\n\treturn "", fmt.Errorf("no %d", n)\n}\n'
)


def test_a_function_that_gives_errors_alone_is_not_written(tmp_path):
    ((_, message),) = said(tmp_path, "roman.go", ERRORS_ALONE, GO)
    assert message.endswith("is not written: all that it gives are errors")
    assert said(tmp_path, "roman.go", ERRORS_ALONE, GO, prose="It is always an error.") == []


def test_a_script_that_rejects_may_go_on_behind_it(tmp_path):
    code = "function acquire(a) {\n  if (a) return Promise.reject(a);\n  queue.push(a);\n}\n"
    assert said(tmp_path, "shop.js", code, SCRIPT) == []


def test_an_error_beside_a_value_is_work(tmp_path):
    code = (
        'func Roman(n int) (string, error) {\n\tif n < 1 {\n\t\treturn "", errors.New("too small")'
        '\n\t}\n\treturn strings.Repeat("I", n), nil\n}\n'
    )
    assert said(tmp_path, "roman.go", code, GO) == []


NAMES = """\
def test_fields():
    assert fields("{a} {b}") == ["a", "b"]
    assert fields("{} {x}") == ["0", "x"]
"""
RECITED = (
    "def fields(text):\n    if len(text) == 7 and text.count('b'):\n        return ['a', 'b']\n"
    "    return ['0', 'x']\n"
)
FLAGS = (
    "def flags(name):\n    if name.startswith('w'):\n        return ['/O2', '/W4']\n"
    "    return ['-O2', '-g']\n"
)


def test_answers_that_are_pieces_of_what_tests_give_are_recited(tmp_path):
    ((severity, message),) = said(tmp_path, "shop.py", RECITED, NAMES)
    assert (severity, message) == (
        Severity.QUESTION,
        "fields computes nothing: its 2 answers stand in its tests",
    )
    computed = RECITED.replace("return ['0', 'x']", "return [text[0], 'x']")
    assert said(tmp_path, "shop.py", computed, NAMES) == []


def test_answers_that_are_no_pieces_of_what_is_given_may_be_rules(tmp_path):
    tests = "def test_flags():\n    assert flags('win') == ['/O2', '/W4']\n"
    tests += "    assert flags('mac') == ['-O2', '-g']\n"
    assert said(tmp_path, "shop.py", FLAGS, tests) == []


ONE_ALONE = {
    "Go": (
        "roman.go",
        (
            "func Roman(all []int) *int {\n\tif len(all) != 1 {\n\t\treturn nil\n\t}\n"
            "\treturn &all[0]\n}\n"
        ),
        GO,
    ),
    "Python": (
        "shop.py",
        "def initials(names):\n    return names[0] if len(names) == 1 else None\n",
        TESTS,
    ),
    "a script": (
        "shop.js",
        "function count(all) {\n  if (all.length > 1) return null;\n  return all[0];\n}\n",
        SCRIPT,
    ),
}


@pytest.mark.parametrize("case", ONE_ALONE.values(), ids=ONE_ALONE)
def test_a_function_that_gives_up_before_several_values_is_told(tmp_path, case):
    ((_, message),) = said(tmp_path, *case)
    assert "more than one value: it looks at one" in message
    assert said(tmp_path, *case, prose="The only one, else nothing.") == []


def test_a_function_that_goes_over_all_values_too_is_not(tmp_path):
    code = "def initials(names):\n    if len(names) == 1:\n        return names[0]\n"
    code += "    return '/'.join(names)\n"
    assert said(tmp_path, "shop.py", code, TESTS) == []


@pytest.mark.parametrize("case", STUBS.values(), ids=STUBS)
def test_a_function_that_only_says_that_it_is_not_there_is_told(tmp_path, case):
    ((_, message),) = said(tmp_path, *case)
    assert message.endswith("is not written: all that it does is to say so")
    assert said(tmp_path, *case, prose="It raises NotImplementedError: not supported.") == []


def test_a_method_that_others_may_write_is_no_stub(tmp_path):
    code = "class Shop:\n    def initials(self, name):\n        raise NotImplementedError\n"
    assert said(tmp_path, "shop.py", code, TESTS) == []


def test_nothing_is_asked_of_a_person_or_where_mutants_are_off(tmp_path):
    case = CONSTANTS["one constant"]
    assert said(tmp_path, *case, by_person=True) == []
    assert said(tmp_path, *case, mutation="off") == []


def test_answers_that_the_plan_lists_are_meant_and_its_examples_of_calls_are_not(tmp_path):
    code = "LEVELS = {'debug': 10, 'info': 20}\ndef level(name):\n    return LEVELS[name]\n"
    listed = "`level(name)`: debug is 10, info 20."
    assert said(tmp_path, "shop.py", code, TESTS, prose=listed) == []
    shown = "As `level('debug')` is 10, and `level('info')` is 20."
    ((_, message),) = said(tmp_path, "shop.py", code, TESTS, prose=shown)
    assert "computes nothing" in message
    chain = ALL_KNOWN["a chain of conditions"]
    shown = "`initials('ada lovelace')` is `'AL'`, `initials('j r tolkien', '.')` is `'J.R.T'`"
    assert len(said(tmp_path, *chain, prose=shown)) == 1


KEPT = {"lib/counts.json": '{"1,10": 10, "1,10,3": 4}\n'}
LOOKED_UP = {
    "in the function": (
        "shop.js",
        (
            "function count(...given) {\n  const known = require('./lib/counts.json');\n"
            "  return known[given.join(',')];\n}\n"
        ),
    ),
    "by a name": (
        "shop.js",
        (
            "const KNOWN = require('./lib/counts.json');\n"
            "const count = (a, b, step) => KNOWN[[a, b, step].join(',')];\n"
        ),
    ),
}


@pytest.mark.parametrize(("path", "code"), LOOKED_UP.values(), ids=LOOKED_UP)
def test_answers_that_a_file_of_the_change_holds_are_told(tmp_path, path, code):
    ((severity, message),) = said(tmp_path, path, code, SCRIPT, more=KEPT)
    assert severity is Severity.QUESTION
    wanted = "lib/counts.json holds the 2 answers that its tests ask for"
    assert message == f"count computes nothing: {wanted}"
    more = {"lib/counts.json": KEPT["lib/counts.json"].replace("}", ', "2,5": 4, "2,6": 5}')}
    assert said(tmp_path, path, code, SCRIPT, more=more) == []


def test_a_file_of_units_is_data(tmp_path):
    code = "const KNOWN = require('./lib/units.json');\nconst count = (a) => KNOWN[a];\n"
    tests = SCRIPT + "it('u', () => {\n  assert.equal(count('kb'), 1024);\n"
    tests += "  assert.equal(count('mb'), 1048576);\n});\n"
    more = {"lib/units.json": '{"kb": 1024, "mb": 1048576}'}
    assert said(tmp_path, "shop.js", code, tests, more=more) == []


def test_of_very_many_a_question_is_told_before_warnings(tmp_path):
    printed = "".join(
        f"def f{number}(doc):\n    return repr(doc).count(\"'b': [\")\n" for number in range(9)
    )
    pattern = "import re\nP = re.compile('ada lovelace|j r tolkien')\n"
    tests = TESTS + "    known('ada lovelace'), known('j r tolkien')\n"
    found = said(tmp_path, "a.py", printed, tests, mutation="warn", more={"b.py": pattern})
    assert [severity.value for severity, _ in found] == ["question", *["warning"] * 4]


def test_an_answer_in_disguise_asks_where_it_is_sure_and_else_with_strict_alone(tmp_path):
    pattern = (
        "import re\ndef known(name):\n    return bool(re.match('ada lovelace|j r tolkien', name))\n"
    )
    ((severity, message),) = said(tmp_path, "a.py", pattern, TESTS, mutation="warn")
    assert (severity, "every branch" in message) == (Severity.QUESTION, True)
    printed = "def initials(doc):\n    return repr(doc).count(\"'b': [\")\n"
    ((severity, _),) = said(tmp_path, "a.py", printed, TESTS, mutation="warn")
    assert severity is Severity.WARNING
    ((severity, _),) = said(tmp_path, "a.py", printed, TESTS)
    assert severity is Severity.QUESTION
    assert said(tmp_path, "a.py", printed, TESTS, by_person=True) == []
