"""Examples and parameters of the plan that nothing is about are told."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import plan_examples
from runner.model import Action, Change, Level, Observed, Severity, TestContract, digest_of

CODE = "def initials(name, separator=''):\n    return ''.join(w[0] for w in name.split())\n"
READS = CODE.replace("''.join", "separator.join")
ASKED = "`initials('ada lovelace', '.')` is `'A.L'`"


def said(folder, code, tests, acceptance=(), *, path="shop.py", prose="", **more):
    name = f"tests/test_it{path[path.rindex('.') :]}"
    name = "count_test.go" if path.endswith(".go") else name
    changes = tuple(
        Change(one, Action.CREATE, 0o100644, None, digest_of(text.encode()), text.encode())
        for one, text in ((path, code), (name, tests))
    )
    task = replace(
        a_task(outputs=("any",), acceptance=acceptance, prose=prose),
        test_contracts=(TestContract("TC-001", Level.UNIT, "pytest"),),
    )
    bench = replace(
        a_bench(folder), task=task, changes=changes, by_person=more.get("person", False)
    )
    bench = replace(bench, observed=more.get("observed", ()))
    (folder / "tree" / "tests").mkdir(exist_ok=True)
    (folder / "tree" / name).write_text(tests)
    settings = replace(bench.settings, mutation=more.get("mutation", "strict"))
    (check,) = plan_examples.checks(bench.task, settings)
    found = plan_examples.prove(check, replace(bench, settings=settings)).findings
    return [(one.severity, one.message) for one in found]


def test_an_example_of_the_acceptance_that_no_test_gives_is_told(tmp_path):
    tests = "def test_it():\n    assert initials('al') == 'a'\n"
    ((severity, message),) = said(tmp_path, READS, tests, (ASKED,))
    assert severity is Severity.QUESTION
    wanted = "no test gives what the acceptance names: `initials('ada lovelace', '.')`"
    assert message == wanted
    ((severity, _),) = said(tmp_path, READS, tests, (ASKED,), mutation="warn")
    assert severity is Severity.WARNING
    assert said(tmp_path, READS, tests, (ASKED,), person=True) == []


@pytest.mark.parametrize(
    ("acceptance", "tests"),
    [
        (ASKED, 'def test_it():\n    assert initials("ada lovelace", ".") == "A.L"\n'),
        (ASKED, "ROWS = [('ada lovelace', '.', 'A.L')]\ndef test_it(r):\n    initials(*r)\n"),
        ("`other('x')` is seen", "def test_it():\n    assert initials('al') == 'a'\n"),
        ("`make lint` passes", "def test_it():\n    assert initials('al') == 'a'\n"),
        ("`initials(name)` is short", "def test_it():\n    assert initials('al') == 'a'\n"),
        (ASKED, "def test_by_the_page():\n    assert get('/').text == 'A.L'\n"),
    ],
    ids=["asked", "in a row", "another's", "a command", "no values", "by another way"],
)
def test_what_a_test_asks_or_nobody_shows_is_left_alone(tmp_path, acceptance, tests):
    assert said(tmp_path, READS, tests, (acceptance,)) == []


def test_the_values_of_a_language_count(tmp_path):
    code = "function fold(list, deep) {\n  return deep ? list.flat(9) : list;\n}\n"
    tests = "it('folds', () => expect(fold([1], false)).toEqual([1]))\n"
    acceptance = ("`fold([1], true)` folds all",)
    ((_, message),) = said(tmp_path, code, tests, acceptance, path="fold.js")
    assert message.endswith("`fold([1], true)`")


def test_a_parameter_that_the_plan_names_and_the_function_never_looks_at_is_told(tmp_path):
    tests = "def test_it():\n    assert initials('ada lovelace', '.') == 'al'\n"
    prose = "Add `initials(name, separator)`, joined by the separator."
    ((_, message),) = said(tmp_path, CODE, tests, prose=prose)
    assert message == "the plan names separator, and initials never looks at it"
    assert said(tmp_path, READS, tests, prose=prose) == []
    assert said(tmp_path, CODE, tests, prose="Add `initials(name)`.") == []


COUNTED = "`part(0)` is `'major'`"
PART = "def part(index):\n    return ['major', 'minor'][index]\n"


def test_a_small_number_may_be_counted_by_a_loop(tmp_path):
    loop = "def test_it():\n    for at, name in enumerate(['major', 'minor']):\n"
    loop += "        assert part(at) == name\n"
    assert said(tmp_path, PART, loop, (COUNTED,)) == []
    ((_, message),) = said(tmp_path, PART, "def test_it():\n    assert part(1)\n", (COUNTED,))
    assert "no test gives what the acceptance names" in message


LISTED = "export function list(values) {\n  return values.map((one) => read(one));\n}\n"
ORDERED = "Add `list(values)`: each value read, in order."
WITHOUT_ORDER = {
    "containing": "expect(list(['1', '2'])).toEqual(expect.arrayContaining([1, 2]));",
    "as a set": "assert.deepEqual(new Set(list(['1', '2'])), new Set([1, 2]));",
}


@pytest.mark.parametrize("line", WITHOUT_ORDER.values(), ids=WITHOUT_ORDER)
def test_an_order_that_the_plan_names_and_every_test_takes_away_is_told(tmp_path, line):
    tests = f"it('reads each value', () => {{\n  {line}\n}});\n"
    ((_, message),) = said(tmp_path, LISTED, tests, path="list.js", prose=ORDERED)
    assert message == "the plan says in which order list gives values: no test looks at it"
    assert said(tmp_path, LISTED, tests, path="list.js", prose="Add `list(values)`.") == []


def test_one_test_that_compares_in_order_is_enough(tmp_path):
    line = WITHOUT_ORDER["containing"]
    tests = f"it('reads', () => {{\n  {line}\n  expect(list(['2', '1'])).toEqual([2, 1]);\n}});\n"
    assert said(tmp_path, LISTED, tests, path="list.js", prose=ORDERED) == []


BITS = (
    "def bits(length):\n    if length < 0:\n        raise ValueError(length)\n    return length\n"
)
NEGATIVE = ("ValueError for a negative length",)
WAITS = {
    "pytest": "def test_it():\n    with pytest.raises(ValueError):\n        bits(-1)\n",
    "one of two": "def test_it():\n    with raises((TypeError, ValueError)):\n        bits(-1)\n",
    "a parent": "def test_it():\n    with pytest.raises(Exception):\n        bits(-1)\n",
    "somebody's own": "def test_it():\n    with pytest.raises(shop.Wrong):\n        bits(-1)\n",
    "unittest": "class T(TestCase):\n    def test_it(self):\n"
    "        self.assertRaises(ValueError, bits, -1)\n",
    "rows": "@pytest.mark.parametrize('e', [(ValueError, -1)])\ndef test_it(e):\n"
    "    with pytest.raises(e[0]):\n        bits(e[1])\n",
    "a helper": "def test_it():\n    assert_refused(lambda: bits(-1))\n",
    "a helper that calls it": "def one(n):\n    return bits(n)\n\n\ndef test_it():\n"
    "    with pytest.raises(ValueError):\n        one(-1)\n",
    "a helper of a helper": "short = partial(bits)\n\n\nclass TestBits:\n    def one(self, n):\n"
    "        return short(n)\n\n\nclass TestMore(TestBits):\n    def test_it(self):\n"
    "        with pytest.raises(ValueError):\n            self.one(-1)\n",
    "try": "def test_it():\n    try:\n        bits(-1)\n        assert False\n"
    "    except ValueError:\n        pass\n",
    "a group of them": "def test_it():\n    try:\n        bits(-1)\n        assert False\n"
    "    except* ValueError:\n        pass\n",
    "a look at it": "def test_it():\n    try:\n        bits(-1)\n    except ValueError as e:\n"
    "        assert e.args\n",
    "a doctest": 'def test_it():\n    """>>> bits(-1)\n    Traceback (most recent call last):\n'
    '    ValueError: -1\n    """\n    bits(1)\n',
}
DOES_NOT = {
    "another answer": "def test_it():\n    assert bits(-1) == 0.0\n",
    "nothing of it": "def test_it():\n    assert bits(3) == 3\n",
    "another error": "def test_it():\n    with pytest.raises(KeyError):\n        bits(-1)\n",
    "another function": "def test_it():\n    assert bits(3) == 3\n\n\ndef test_other():\n"
    "    with pytest.raises(ValueError):\n        other(-1)\n",
    "a helper of another": "def one(n):\n    return other(n)\n\n\ndef test_other():\n"
    "    with pytest.raises(ValueError):\n        one(-1)\n\n\n"
    "def test_it():\n    assert bits(3) == 3\n",
    "let pass": "def test_it():\n    try:\n        bits(-1)\n    except ValueError:\n"
    "        pass\n",
    "said alone": "def test_it():\n    # ValueError for a negative length\n    assert bits(3)\n",
}


@pytest.mark.parametrize("tests", DOES_NOT.values(), ids=DOES_NOT)
def test_an_error_that_the_plan_names_and_no_test_waits_for_is_told(tmp_path, tests):
    ((severity, message),) = said(tmp_path, BITS, tests, NEGATIVE)
    assert severity is Severity.QUESTION
    assert message == f"the plan names an error that no test waits for: {NEGATIVE[0]}"
    ((severity, _),) = said(tmp_path, BITS, tests, NEGATIVE, mutation="warn")
    assert severity is Severity.WARNING
    assert said(tmp_path, BITS, tests, NEGATIVE, person=True) == []


@pytest.mark.parametrize("tests", WAITS.values(), ids=WAITS)
def test_a_test_may_wait_for_an_error_in_many_ways(tmp_path, tests):
    assert said(tmp_path, BITS, tests, NEGATIVE) == []


def test_a_test_that_waits_and_never_ran_is_none(tmp_path):
    tests = "def test_it():\n    assert bits(3) == 3\n    if 0:\n"
    tests += "        with pytest.raises(ValueError):\n            bits(-1)\n"
    row = Observed("TC-001", "", "tests/test_it.py", digest_of(tests.encode()), "1-3")
    assert len(said(tmp_path, BITS, tests, NEGATIVE, observed=(row,))) == 1
    whole = replace(row, lines="1-5")
    assert said(tmp_path, BITS, tests, NEGATIVE, observed=(whole,)) == []


NO_CLAIMS = {
    "not raised": "it raises no ValueError",
    "no longer": "`bits` no longer raises ValueError for a negative length",
    "today": "Today a negative length is a ValueError",
    "caught": "it catches ValueError of the parser",
    "never": "a negative length never raises ValueError",
    "instead": "0 instead of a ValueError for a negative length",
    "no error": "a negative length counts as 0",
}


@pytest.mark.parametrize("line", NO_CLAIMS.values(), ids=NO_CLAIMS)
def test_a_sentence_that_asks_for_no_error_is_left_alone(tmp_path, line):
    assert said(tmp_path, BITS, DOES_NOT["nothing of it"], (line,)) == []


NUMBERS = {
    "toThrow": ("expect(() => half(-1)).toThrow(RangeError);", True),
    "any": ("expect(() => half(-1)).toThrow(/negative/);", True),
    "rejects": ("await expect(half(-1)).rejects.toBeInstanceOf(RangeError);", True),
    "assert": ("assert.throws(() => half(-1), RangeError);", True),
    "another": ("expect(() => half('x')).toThrow(TypeError);", False),
    "none": ("expect(half(4)).toBe(2); // RangeError", False),
}


@pytest.mark.parametrize(("line", "waits"), NUMBERS.values(), ids=NUMBERS)
def test_scripts_wait_by_what_they_expect_to_be_thrown(tmp_path, line, waits):
    code = "export function half(n) {\n  if (n < 0) throw new RangeError();\n  return n / 2;\n}\n"
    tests = f"it('halves', async () => {{\n  {line}\n}});\n"
    asked = ("a negative number is a RangeError",)
    assert bool(said(tmp_path, code, tests, asked, path="half.js")) is not waits


COUNTS = {
    "no error": ('\tif err == nil {\n\t\tt.Fatal("no error")\n\t}\n', True),
    "compared": ("\tif err != ErrOpen {\n\t\tt.Fatal(err)\n\t}\n", True),
    "is": ("\tif !errors.Is(err, io.EOF) {\n\t\tt.Fatal(err)\n\t}\n", True),
    "testify": ("\trequire.Error(t, err)\n", True),
    "testify, none": ("\trequire.NoError(t, err)\n", False),
    "none": ("\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n", False),
    "dropped": ("\t_ = err\n", False),
    "a helper elsewhere": ('\tassertPanics(t, "open", func() { Count("") })\n', True),
    "a helper's own name": ("\tpanics(t, func() { Count(1) })\n", True),
    "a helper that wants none": ("\tnoPanic(t, func() { Count(1) })\n", False),
}


@pytest.mark.parametrize(("lines", "waits"), COUNTS.values(), ids=COUNTS)
def test_go_waits_by_what_it_does_with_an_error(tmp_path, lines, waits):
    code = "package shop\n\nfunc Count(text string) (int, error) {\n\treturn 0, nil\n}\n"
    tests = 'package shop\n\nfunc TestCount(t *testing.T) {\n\t_, err := Count("\'")\n'
    asked = ("an open quote returns an error",)
    found = said(tmp_path, code, tests + lines + "}\n", asked, path="count.go")
    assert bool(found) is not waits
    helper = "\nfunc count(text string) (int, error) {\n\treturn Count(text)\n}\n"
    tests = tests.replace("Count(\"'", "count(\"'") + lines + "}\n" + helper
    (tmp_path / "helper").mkdir()
    assert bool(said(tmp_path / "helper", code, tests, asked, path="count.go")) is not waits


def test_an_error_may_be_waited_for_by_other_values_than_the_plan_s(tmp_path):
    asked = ("`bits(-12)` raises ValueError that says `negative`",)
    assert said(tmp_path, BITS, WAITS["pytest"], asked) == []
    found = [message for _, message in said(tmp_path, BITS, DOES_NOT["another error"], asked)]
    assert found == [
        "no test gives what the acceptance names: `bits(-12)`",
        f"the plan names an error that no test waits for: {asked[0]}",
    ]


DRAWN = ("Make random texts: `texts(count)` gives a list of random texts.",)
COUNTED_UP = "def texts(count):\n    return [name(n) for n in range(count)]\n\n\n"
COUNTED_UP += "def name(n):\n    return f'{n:08}'\n"
CHANCES = {
    "of its own": "import random\n\n" + COUNTED_UP.replace("{n:08}", "{random.random()}"),
    "brought": "from shop.names import draw\n\n" + COUNTED_UP.replace("{n:08}", "{draw()}"),
    "given": COUNTED_UP.replace("texts(count)", "texts(count, rng)").replace("range", "rng.some"),
    "another's": COUNTED_UP.replace("texts(", "others("),
}


def test_code_without_chance_where_the_plan_wants_what_is_random_is_told(tmp_path):
    tests = "def test_it():\n    assert len(set(texts(5))) == 5\n"
    ((severity, message),) = said(tmp_path, COUNTED_UP, tests, prose=DRAWN[0])
    assert severity is Severity.QUESTION
    assert message == "the plan wants what is random of texts, and its code knows no chance"
    assert said(tmp_path, COUNTED_UP, tests, prose="`texts(n)`: bits of a random text.") == []


@pytest.mark.parametrize("code", CHANCES.values(), ids=CHANCES)
def test_chance_may_come_from_anywhere(tmp_path, code):
    tests = "def test_it():\n    assert len(set(texts(5))) == 5\n"
    assert said(tmp_path, code, tests, prose=DRAWN[0]) == []


def test_what_is_asked_of_a_result_may_be_asked_of_another(tmp_path):
    code = "class Name:\n    def bump(self):\n        return self\n\n\n"
    code += "def parse(text):\n    return Name()\n"
    tests = "def test_it():\n    name = parse('a-1')\n    assert str(name.bump()) == 'a-2'\n"
    assert said(tmp_path, code, tests, ("`parse('b-1').bump()` is `b-2`",)) == []
    found = said(tmp_path, code, tests, ("`parse('b-1') == ('b', 1)`",))
    assert len(found) == 1


SHORT = "def shorten(text, width):\n    return text[: width - 1] + '…' if width else ''\n"
NINE = "`one two three` in 9 letters is `one two…`"


@pytest.mark.parametrize(
    ("line", "row", "count"),
    [
        (NINE, "('one two three', 8, 'one two…')", 1),
        (NINE, "('one two three', 9, 'one two…')", 0),
        (NINE, "('one two three', 9, 'one two\\u2026')", 0),
        (NINE, "('one two', 9, 'one two…')", 1),
        ("`one two three` in 9 seconds is `one two…`", "('one two three', 1, 'one two…')", 0),
        ("`one two three` is not given as `one two…`", "('a b', 1, 'a b')", 0),
        ("`shorten` gives `None`", "('a b', 1, 'a b')", 0),
        ("`src/my file.py` is `src/my.py`", "('a b', 1, 'a b')", 0),
        ("of `a b c` and `width` it is `a`", "('a b', 1, 'a b')", 0),
    ],
)
def test_an_example_without_a_call_is_one_too(tmp_path, line, row, count):
    tests = f"@rows({row})\ndef test_it(text, width, wanted):\n"
    tests += "    assert shorten(text, width) == wanted\n"
    found = said(tmp_path, SHORT, tests, (line,), prose="Add `shorten(text, width)`.")
    assert len([one for _, one in found if "no test gives" in one]) == count


def test_such_an_example_of_two_functions_is_of_neither(tmp_path):
    tests = "def test_it():\n    assert shorten('a b', 9) == widen('a')\n"
    code = SHORT + "\n\ndef widen(text):\n    return text * 2\n"
    assert said(tmp_path, code, tests, (NINE,), prose="Add `shorten` and `widen`.") == []


SHARES = "def share(some, every):\n    return some * 100 // every\n"
BY_RULE = "from shop import share\n\n\ndef test_it():\n    for n in range(9):\n"
BY_RULE += "        assert share(n, 9) == ANY\n"
PERCENT = "`share(some, every)` is in percent, rounded: 2 of 3 are 67, 1 of 8 are 13."


@pytest.mark.parametrize(
    ("prose", "wanted", "shown"),
    [
        (PERCENT, "n * 100 // 9", ["2 of 3 are 67", "1 of 8 are 13"]),
        (PERCENT, "67", ["1 of 8 are 13"]),
        (PERCENT, "'67 % and 13 %'", []),
        (PERCENT, "[67, 13.0]", []),
        ("`share` returns 404 for a user that nobody knows.", "400", ["returns 404 for a user"]),
        ("`share` returns 404 for a user that nobody knows.", "404", []),
        ("`share` returns 404 for a user that nobody knows.", "HTTPStatus.NOT_FOUND", []),
        ("`share` answers with `1000` where all is lost", "n", ["answers with 1000 where all"]),
        ("`share` gives 12 for a dozen", "n", []),
        ("`share`: 2 of 3 are not 67", "n", []),
        ("`share`: about 2 of 3 are 67", "n", []),
        ("`share` retries 3 times of 5 seconds", "n", []),
        ("`other`: 2 of 3 are 67", "n", []),
    ],
)
def test_a_number_of_the_plan_s_own_words_is_looked_for_in_tests(tmp_path, prose, wanted, shown):
    found = said(tmp_path, SHARES, BY_RULE.replace("ANY", wanted), prose=prose)
    told = [message for _, message in found if "has what the plan shows" in message]
    assert len(told) == len(shown), found
    for message, part in zip(told, shown, strict=True):
        assert message.startswith(f"no test of share has what the plan shows: `{part}")
    assert all(severity is Severity.QUESTION for severity, _ in found)
    assert said(tmp_path, SHARES, BY_RULE.replace("ANY", wanted), prose=prose, person=True) == []


GO_SLUG = "package shop\n\nfunc Slug(text string) string {\n\treturn text\n}\n"
GO_TEST = "package shop\n\nfunc TestSlug(t *testing.T) {\n"
GO_TEST += '\tif Slug("A b") != "ANY" {\n\t\tt.Error()\n\t}\n}\n'


@pytest.mark.parametrize(
    ("prose", "wanted", "count"),
    [
        ('Words by a dash. `Slug("A b")` is `a-b`.', "a_b", 1),
        ('Words by a dash. `Slug("A b")` is `"a-b"`.', "a_b", 1),
        ('Words by a dash. `Slug("A b")` is `a-b`.', "a-b", 0),
        ('Words by a dash. `Slug("A b")` is `dashed`.', "a_b", 0),
    ],
)
def test_an_answer_of_go_is_looked_for_in_tests(tmp_path, prose, wanted, count):
    found = said(tmp_path, GO_SLUG, GO_TEST.replace("ANY", wanted), path="slug.go", prose=prose)
    assert [message.partition(":")[0] for _, message in found] == [
        "no test has what the plan shows"
    ] * count


def test_an_error_that_is_given_is_waited_for_by_its_class(tmp_path):
    code = "def check(text):\n    return text == 'a' or ValidationError(text)\n"
    tests = "def test_it():\n    assert isinstance(check('b'), {})\n"
    prose = "`check(text)`: an invalid one gives a `ValidationError`."
    for kind, count in (("ValidationError", 0), ("(str, ValidationError)", 0), ("Exception", 1)):
        assert len(said(tmp_path, code, tests.format(kind), prose=prose)) == count
