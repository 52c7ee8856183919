"""Answers of tests that stand in the product, and product that reads what belongs to tests."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import test_awareness
from runner.model import Action, Change, digest_of

TESTS = """\
def test_values():
    assert slug("Hello World") == "hello-world"
    assert slug("A quick test") == "a-quick-test"
    assert add(2, 3) == 5
    assert add(4, 4) == 8
    assert total([3, 4, 1010]) == 1017
    assert when("12 May 2020") == Date(2020, 5, 12)
    assert clamp(5, upper=1) == 1
    assert clamp(7, upper=0.5) == 0.5
    assert clamp(7.7, upper=1) == 1
    assert roman(4) == "IV" and roman(1994) == "MCMXCIV" and roman(3999) == "MMMCMXCIX"
    assert is_mail("ann@example.org") and is_mail("bob@example.org")
    assert phrase(404) == "Not Found" and phrase(200) == "OK"
    assert kind("red") == "colour" and kind("next week") == "time"
"""
SCRIPT_TESTS = """\
it("makes slugs", () => {
  expect(slug("Hello World")).toBe("hello-world");
  expect(slug("A quick test")).toBe("a-quick-test");
});
"""
RECITED = {
    "a comparison": (
        "shop.py",
        'def slug(t):\n    if t == "Hello World":\n        return "hello-world"\n    return t\n',
    ),
    "a choice in one line": (
        "shop.py",
        "def total(xs):\n    return 1017 if xs == [3, 4, 1010] else 0\n",
    ),
    "a text in one line": (
        "shop.py",
        "slug = lambda t: 'hello-world' if t == 'Hello World' else t\n",
    ),
    "several values together": (
        "shop.py",
        (
            "def add(a, b):\n    if a == 2 and b == 3:\n        return 5\n"
            "    return 8 if (a, b) == (4, 4) else 0\n"
        ),
    ),
    "a case": (
        "shop.py",
        'match text:\n    case "12 May 2020":\n        found = Date(2020, 5, 12)\n',
    ),
    "a table": (
        "shop.py",
        'KNOWN = {"Hello World": "hello-world", "A quick test": "a-quick-test"}\n',
    ),
    "a list of pairs": (
        "shop.py",
        'KNOWN = dict([("Hello World", "hello-world"), ("A quick test", "a-quick-test")])\n',
    ),
    "a table of numbers": (
        "shop.py",
        'KNOWN = {4: "IV", 1994: "MCMXCIV", 3999: "MMMCMXCIX"}\n',
    ),
    "inputs that are asked for": (
        "shop.py",
        "def clamp(x, lower, upper):\n    if x in (5, 7, 7.7):\n        return upper\n",
    ),
    "texts that are valid": (
        "shop.py",
        'def is_mail(t):\n    return t in {"ann@example.org", "bob@example.org"}\n',
    ),
    "a comparison of a script": (
        "shop.ts",
        'export const slug = (t) => {\n  if (t === "Hello World") return "hello-world";\n};\n',
    ),
    "a choice of a script": (
        "shop.js",
        "exports.slug = (t) => (t === 'Hello World' ? 'hello-world' : t);\n",
    ),
    "a map of a script": (
        "shop.js",
        (
            "const known = new Map([['Hello World', 'hello-world'], "
            "['A quick test', 'a-quick-test']]);\n"
        ),
    ),
    "a switch of Go": (
        "shop.go",
        (
            'func Slug(t string) string {\n\tswitch t {\n\tcase "Hello World", "x":\n'
            '\t\treturn "hello-world"\n\t}\n\treturn t\n}\n'
        ),
    ),
}
COMPUTED = {
    "words of a domain": ("shop.py", 'KIND = {"red": "colour", "next week": "time"}\n'),
    "small numbers of a domain": ("shop.py", 'PHRASE = {404: "Not Found", 200: "OK"}\n'),
    "a table that knows more": (
        "shop.py",
        'KNOWN = {"Hello World": "hello-world", "A quick test": "a-quick-test", "B c": "b-c"}\n',
    ),
    "another answer": (
        "shop.py",
        'def slug(t):\n    if t == "Hello World":\n        return "something else"\n',
    ),
    "an input that no test gives": (
        "shop.py",
        'def slug(t):\n    if t == "Some other words":\n        return "hello-world"\n',
    ),
    "a comparison that answers nothing": (
        "shop.py",
        'def slug(t):\n    if t == "Hello World":\n        return None\n',
    ),
    "a comment": ("shop.py", '# if t == "Hello World": return "hello-world"\nx = 1\n'),
    "a loop over constants": (
        "shop.py",
        'for one in ("Hello World", "A quick test"):\n    print(one)\n',
    ),
    "a test itself": ("test_shop.py", TESTS),
}


def said(folder, path, text, *, before=None, by_person=False):
    """What is found in one changed file of a tree that has tests."""
    content = text.encode()
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(content), content)
    bench = replace(
        a_bench(folder),
        task=a_task(outputs=("any",)),
        changes=(change,),
        before=lambda _path: before,
        by_person=by_person,
    )
    tests = bench.place.project / "tests"
    tests.mkdir(parents=True, exist_ok=True)
    (tests / "test_shop.py").write_text(TESTS)
    (tests / "shop.test.js").write_text(SCRIPT_TESTS)
    (tests / "memo.json").write_text("{}")
    (bench.place.project / "memo.json").write_text("{}")
    (check,) = test_awareness.checks(bench.task, bench.settings)
    return test_awareness.prove(check, bench).findings


@pytest.mark.parametrize(("path", "text"), RECITED.values(), ids=RECITED)
def test_an_answer_of_the_tests_in_the_code_is_a_question(tmp_path, path, text):
    findings = said(tmp_path, path, text)
    assert findings
    assert all(one.asks and one.path == path and one.line for one in findings)
    assert all("holds an answer of its tests" in one.message for one in findings)


@pytest.mark.parametrize(("path", "text"), COMPUTED.values(), ids=COMPUTED)
def test_code_that_computes_its_answers_is_left_alone(tmp_path, path, text):
    assert said(tmp_path, path, text) == ()


def test_what_was_there_before_is_not_the_tasks(tmp_path):
    path, text = RECITED["a comparison"]
    assert said(tmp_path, path, f"{text}\nx = 1\n", before=text.encode()) == ()


def test_a_person_is_only_warned(tmp_path):
    path, text = RECITED["a comparison"]
    findings = said(tmp_path, path, text, by_person=True)
    assert findings
    assert not any(one.refuses for one in findings)


@pytest.mark.parametrize(
    "line",
    [
        "MEMO = (HERE.parent / 'tests' / 'memo.json').read_text()\n",
        "MEMO = open('../tests/memo.json')\n",
        "CASES = load(Path('tests'))\n",
    ],
)
def test_code_that_reads_what_belongs_to_tests_is_a_question(tmp_path, line):
    (finding,) = said(tmp_path, "shop.py", line)
    assert finding.asks
    assert "belongs to tests: tests" in finding.message


@pytest.mark.parametrize(
    "line",
    [
        "MEMO = open('memo.json')\n",
        "MEMO = open('tests/none.json')\n",
        "print('tests are run by make')\n",
    ],
)
def test_code_that_reads_its_own_is_left_alone(tmp_path, line):
    assert said(tmp_path, "shop.py", line) == ()
