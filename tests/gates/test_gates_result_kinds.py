"""A new function whose tests look at the kind of its result alone is told, others are not."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import idle_claims
from runner.model import Action, Change, Level, Severity, TestContract, digest_of

PYTHON = "def fields(text):\n    return [one.upper() for one in text.split()]\n"
SCRIPT = (
    "export function fields(text) {\n  return text.split(' ').map((one) => one.toUpperCase());\n}\n"
)
GO = (
    'package shop\n\nfunc Fields(text string) []string {\n\tif text == "x" {\n\t\treturn nil\n\t}\n'
    "\treturn []string{text}\n}\n"
)
IMPORT = "import { fields } from './shop.mjs';\n"
GO_HEAD = 'package shop\n\nimport "testing"\n\nfunc TestFields(t *testing.T) {\n'


def told(folder, path, code, test, text, *, mutation="warn", about="its kind", **more):
    both = ((path, code.encode()), (test, text.encode()))
    for name, content in both:
        file = folder / "tree" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    changes = tuple(
        Change(one, Action.CREATE, 0o100644, None, digest_of(content), content)
        for one, content in both
    )
    contract = TestContract("TC-001", Level.UNIT, "pytest")
    task = replace(a_task(outputs=("any",)), test_contracts=(contract,))
    bench = replace(a_bench(folder), task=task, changes=changes, **more)
    bench = replace(bench, settings=replace(bench.settings, mutation=mutation))
    (check,) = idle_claims.checks(task, bench.settings)
    found = idle_claims.prove(check, bench).findings
    return [(one.severity, one.message) for one in found if about in one.message]


def in_python(body, **more):
    return ("shop.py", PYTHON, "tests/test_shop.py", f"import shop\n\n\n{body}")


KIND = {
    "of the whole": "def test_it():\n    assert isinstance(shop.fields('a b'), list)\n",
    "of all parts": (
        "def test_it():\n    found = shop.fields('a')\n    assert isinstance(found, list)\n"
        "    assert all(isinstance(one, str) for one in found)\n"
    ),
    "in a class": (
        "class TestIt:\n    def test_it(self):\n        found = shop.fields('a')\n"
        "        self.assertIsInstance(found, list)\n        self.assertIsNotNone(found)\n"
    ),
    "by type": "def test_it():\n    assert type(shop.fields('a')) is list\n",
    "no more than none": (
        "def test_it():\n    found = shop.fields('a')\n"
        "    assert found is not None and len(found) >= 0\n"
    ),
}
VALUE = {
    "a value": "def test_it():\n    assert shop.fields('a') == ['A']\n",
    "a value beside": (
        "def test_it():\n    found = shop.fields('a')\n    assert isinstance(found, list)\n"
        "    assert len(found) == 1\n"
    ),
    "in another test": (
        "def test_kind():\n    assert isinstance(shop.fields('a'), list)\n\n\n"
        "def test_value():\n    assert shop.fields('a') == ['A']\n"
    ),
    "an error": (
        "import pytest\n\n\ndef test_it():\n    assert isinstance(shop.fields('a'), list)\n"
        "    with pytest.raises(TypeError):\n        shop.fields(3)\n"
    ),
    "a class is the answer": (
        "def test_it():\n    assert isinstance(shop.fields('a'), list)\n"
        "    assert isinstance(shop.fields('a'), tuple)\n"
    ),
    "a class of its own": "def test_it():\n    assert isinstance(shop.fields('a'), shop.Fields)\n",
    "handed on": (
        "def test_it():\n    assert isinstance(shop.fields('a'), list)\n"
        "    compare(shop.fields('a'))\n"
    ),
    "in a table": (
        "ROWS = [(shop.fields, 'a')]\n\n\ndef test_it():\n"
        "    assert isinstance(shop.fields('a'), list)\n"
    ),
    "no claim at all": "def test_it():\n    shop.fields('a')\n",
    "truth": "def test_it():\n    assert shop.fields('a')\n",
}
SCRIPT_KIND = {
    "an instance": "it('a', () => { expect(fields('a')).toBeInstanceOf(Array); });\n",
    "typeof": "it('a', () => {\n  assert.strictEqual(typeof fields('a'), 'object');\n});\n",
    "an array": (
        "it('a', () => {\n  const found = fields('a');\n"
        "  expect(Array.isArray(found)).toBe(true);\n  expect(found).toBeDefined();\n});\n"
    ),
    "it does not throw": (
        "test('a', () => {\n  assert.doesNotThrow(() => { fields('a'); });\n"
        "  assert.ok(Array.isArray(fields('a')));\n});\n"
    ),
    "chai": "it('a', function () {\n  expect(fields('a')).to.be.an('array');\n});\n",
}
SCRIPT_VALUE = {
    "a value": "it('a', () => { expect(fields('a')).toEqual(['A']); });\n",
    "a value beside": (
        "it('a', () => {\n  expect(Array.isArray(fields('a'))).toBe(true);\n"
        "  expect(fields('a')[0]).toBe('A');\n});\n"
    ),
    "a class of its own": "it('a', () => { expect(fields('a')).toBeInstanceOf(Fields); });\n",
    "in a table": (
        "const rows = { fields: [fields, 'a'] };\n"
        "run(fields);\nit('a', () => { expect(fields('a')).toBeDefined(); });\n"
    ),
    "it throws": (
        "it('a', () => {\n  expect(fields('a')).toBeDefined();\n"
        "  expect(() => fields(3)).toThrow(TypeError);\n});\n"
    ),
}
GO_KIND = {
    "not nil": '\tif got := Fields("a"); got == nil {\n\t\tt.Fatal("nothing")\n\t}\n}\n',
    "no error": (
        '\tgot, err := Read(Fields("a"))\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n'
        '\tif got == nil {\n\t\tt.Error("nothing")\n\t}\n}\n'
    ),
}
GO_VALUE = {
    "a value": '\tif got := Fields("a"); got[0] != "A" {\n\t\tt.Fatal(got)\n\t}\n}\n',
    "only an error": '\tif err := Check(Fields("a")); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n',
    "a helper": (
        '\tgot := Fields("a")\n\tif got == nil {\n\t\tt.Fatal(got)\n\t}\n'
        "\trequire.Equal(t, got, nil)\n}\n"
    ),
}


@pytest.mark.parametrize("body", KIND.values(), ids=KIND)
def test_a_function_whose_kind_alone_is_asked_is_told(tmp_path, body):
    ((severity, message),) = told(tmp_path, *in_python(body))
    assert severity is Severity.WARNING
    assert message.startswith("no test looks at what fields gives, but for its kind: `")


def test_with_strict_it_is_a_question_but_none_of_a_person(tmp_path):
    case = in_python(KIND["of the whole"])
    ((severity, _),) = told(tmp_path, *case, mutation="strict")
    assert severity is Severity.QUESTION
    ((severity, _),) = told(tmp_path, *case, mutation="strict", by_person=True)
    assert severity is Severity.WARNING


@pytest.mark.parametrize("body", VALUE.values(), ids=VALUE)
def test_a_function_whose_value_may_be_asked_is_left_alone(tmp_path, body):
    assert told(tmp_path, *in_python(body)) == []


def test_a_function_that_was_there_is_left_alone(tmp_path):
    case = in_python(KIND["of the whole"])
    assert told(tmp_path, *case, before=lambda _path: PYTHON.encode()) == []


@pytest.mark.parametrize("body", SCRIPT_KIND.values(), ids=SCRIPT_KIND)
def test_in_scripts_too(tmp_path, body):
    ((_, message),) = told(tmp_path, "shop.mjs", SCRIPT, "shop.test.mjs", IMPORT + body)
    assert "what fields gives" in message


@pytest.mark.parametrize("body", SCRIPT_VALUE.values(), ids=SCRIPT_VALUE)
def test_scripts_that_may_ask_for_a_value_are_left_alone(tmp_path, body):
    assert told(tmp_path, "shop.mjs", SCRIPT, "shop.test.mjs", IMPORT + body) == []


@pytest.mark.parametrize("body", GO_KIND.values(), ids=GO_KIND)
def test_in_go_too(tmp_path, body):
    ((_, message),) = told(tmp_path, "shop.go", GO, "shop_test.go", GO_HEAD + body)
    assert "what Fields gives" in message


@pytest.mark.parametrize("body", GO_VALUE.values(), ids=GO_VALUE)
def test_go_that_may_ask_for_a_value_is_left_alone(tmp_path, body):
    assert told(tmp_path, "shop.go", GO, "shop_test.go", GO_HEAD + body) == []


ITSELF = {
    "python": in_python("def test_it():\n    assert shop.fields('a b') == shop.fields('a b')\n"),
    "unittest": in_python(
        "class TestIt(TestCase):\n    def test_it(self):\n"
        "        self.assertEqual(shop.fields('a'), shop.fields('a'))\n"
    ),
    "jest": (
        *("shop.mjs", SCRIPT, "shop.test.mjs"),
        IMPORT + "test('a', () => {\n  expect(fields('a')).toEqual(fields('a'));\n});\n",
    ),
    "node": (
        *("shop.mjs", SCRIPT, "shop.test.mjs"),
        IMPORT + "test('a', () => {\n  assert.deepEqual(fields('a'), fields('a'));\n});\n",
    ),
}


@pytest.mark.parametrize("case", ITSELF.values(), ids=ITSELF)
def test_a_function_that_is_compared_with_itself_alone_is_asked_about(tmp_path, case):
    ((severity, message),) = told(tmp_path, *case, about="with itself")
    assert severity is Severity.QUESTION
    assert "no test looks at what fields gives, it is compared with itself" in message
    ((severity, _),) = told(tmp_path, *case, about="with itself", by_person=True)
    assert severity is Severity.WARNING


AND_MORE = {
    "a value": "    assert shop.fields('a') == ['A']\n",
    "another call": "    assert shop.fields('a') == shop.fields(' a ')\n",
    "an error": "    with pytest.raises(TypeError):\n        shop.fields(3)\n",
}


@pytest.mark.parametrize("more", AND_MORE.values(), ids=AND_MORE)
def test_who_says_more_may_say_that_it_is_the_same_each_time(tmp_path, more):
    body = f"def test_it():\n    assert shop.fields('a') == shop.fields('a')\n{more}"
    assert told(tmp_path, *in_python(body), about="no test looks") == []
