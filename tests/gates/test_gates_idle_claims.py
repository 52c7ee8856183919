"""Assertions that never look at one of their values are told."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import idle_claims
from runner.model import Action, Change, Level, Severity, TestContract, digest_of


def said(folder, path, tests, *, former="", by_person=False, **settings):
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(tests.encode()), tests.encode())
    task = replace(
        a_task(outputs=("any",)),
        test_contracts=(TestContract("TC-001", Level.UNIT, "pytest"),),
    )
    bench = replace(a_bench(folder), task=task, changes=(change,), by_person=by_person)
    bench = replace(bench, before=lambda _: former.encode())
    bench = replace(bench, settings=replace(bench.settings, **settings))
    (check,) = idle_claims.checks(task, bench.settings)
    return [(one.severity, one.message) for one in idle_claims.prove(check, bench).findings]


IDLE = {
    "a value as a message": ("test_a.py", "class T(T):\n  def test(self):\n    self.{}\n"),
    "a tuple": ("test_a.py", "def test_a():\n    {}\n"),
    "the source": ("test_a.py", "def test_a():\n    assert 'upper' in {}\n"),
    "a script": ("a.test.js", "test('a', () => {{\n  {}\n}})\n"),
}
CLAIMS = [
    ("a value as a message", "assertTrue(f(1), {'a': 1})"),
    ("a value as a message", "assertFalse(f(1), 0)"),
    ("a tuple", "assert (f(1) == 2, 'two')"),
    ("the source", "inspect.getsource(f)"),
    ("a script", "assert(hamming('a', 'b'), 3)"),
    ("a script", "assert.ok(list(1), [1, 2])"),
]
MEANT = [
    ("a value as a message", "assertTrue(f(1), 'it is so')"),
    ("a value as a message", "assertTrue(f(1), msg)"),
    ("a value as a message", "assertEqual(f(1), 3)"),
    ("a tuple", "assert (f(1) == 2), 'two'"),
    ("a script", "assert(hamming('a', 3))"),
    ("a script", "assert(hamming('a', 3), 'three, or [3]')"),
    ("a script", "assert.strictEqual(hamming('a'), 3)"),
    ("a script", "t.assert(hamming('a'), 3)"),
]


@pytest.mark.parametrize(("kind", "code"), CLAIMS)
def test_a_value_that_an_assertion_never_looks_at_is_told(tmp_path, kind, code):
    path, tests = IDLE[kind]
    tests = tests.format(code)
    ((severity, message),) = said(tmp_path, path, tests)
    assert severity is Severity.QUESTION
    assert "claims less than it seems to" in message
    ((severity, _),) = said(tmp_path, path, tests, by_person=True)
    assert severity is Severity.WARNING
    assert said(tmp_path, path, tests, former=tests) == []


@pytest.mark.parametrize(("kind", "code"), MEANT)
def test_what_looks_at_both_or_has_a_message_is_left_alone(tmp_path, kind, code):
    path, tests = IDLE[kind]
    assert said(tmp_path, path, tests.format(code)) == []


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ("assert f(1) in ('AL', 'al', 'ae')", True),
        ("self.assertIn(f(1), [1, 2])", True),
        ("assert f(1) in ('AL',)", False),
        ("assert f(1) in known", False),
        ("assert 'al' in f(1)", False),
        ("assert f(1) not in (1, 2)", False),
    ],
)
def test_one_of_several_values_is_asked_about_with_strict_alone(tmp_path, code, asked):
    tests = f"class T(T):\n  def test(self):\n    {code}\n"
    assert bool(said(tmp_path, "test_a.py", tests, mutation="strict")) == asked
    assert said(tmp_path, "test_a.py", tests) == []


TOLD_TO_ANSWER = {
    "a return value": (
        "test_a.py",
        (
            "def test_a():\n    shop = Mock()\n    shop.price.return_value = 3\n"
            "    assert shop.price(1) == 3\n"
        ),
    ),
    "a side effect": (
        "test_a.py",
        (
            "class T(TestCase):\n  def test_a(self):\n    shop = create_autospec(Shop)\n"
            "    shop.price.side_effect = lambda n: n\n    self.assertEqual(shop.price(1), 1)\n"
        ),
    ),
    "a script": (
        "a.test.js",
        "test('a', () => {\n  const price = vi.fn(() => 3);\n  expect(price(1)).toBe(3);\n});\n",
    ),
}


@pytest.mark.parametrize("case", TOLD_TO_ANSWER.values(), ids=TOLD_TO_ANSWER)
def test_a_mock_that_is_asked_for_what_it_was_told_is_told(tmp_path, case):
    ((severity, message),) = said(tmp_path, *case)
    assert severity is Severity.QUESTION
    assert message.endswith("it asks a mock for the answer that the test itself gave it")


MOCKED_WELL = {
    "another is asked": (
        "test_a.py",
        (
            "def test_a():\n    shop = Mock()\n    shop.price.return_value = 3\n"
            "    assert total(shop) == 3\n    shop.price.assert_called_once_with(1)\n"
        ),
    ),
    "a script": (
        "a.test.js",
        (
            "test('a', () => {\n  const price = vi.fn(() => 3);\n"
            "  expect(total(price)).toBe(3);\n  expect(price).toHaveBeenCalled();\n});\n"
        ),
    ),
}


@pytest.mark.parametrize("case", MOCKED_WELL.values(), ids=MOCKED_WELL)
def test_a_mock_in_place_of_something_else_is_left_alone(tmp_path, case):
    assert said(tmp_path, *case) == []


@pytest.mark.parametrize(
    "given", ["st.just('a')", "just('a'), st.sampled_from(['b'])", "text=strategies.just('')"]
)
def test_a_property_of_one_value_is_told(tmp_path, given):
    code = f"@given({given})\ndef test_a(text):\n    assert f(text) == text\n"
    ((_, message),) = said(tmp_path, "test_a.py", code)
    assert message.endswith("it is tried with one value alone")


@pytest.mark.parametrize("given", ["st.text()", "st.just('a'), st.text()", "st.sampled_from('ab')"])
def test_a_property_of_several_values_is_left_alone(tmp_path, given):
    code = f"@given({given})\ndef test_a(text):\n    assert f(text) == text\n"
    assert said(tmp_path, "test_a.py", code) == []


WIDE = [
    "self.assertAlmostEqual(f(1), 128.32, delta=100)",
    "self.assertAlmostEqual(f(1), 8, places=-1)",
    "self.assertAlmostEqual(f(1), 8, -1)",
    "assert f(1) == pytest.approx(3.5, abs=2)",
    "assert f(1) == approx(3.5, rel=0.5)",
    "assert math.isclose(f(1), -4, abs_tol=4)",
    "assert abs(f(1) - 2.5) < 2.5",
    "np.testing.assert_allclose(f(1), 12.0, rtol=0.9)",
]


@pytest.mark.parametrize("code", WIDE)
def test_a_tolerance_of_half_the_value_is_told(tmp_path, code):
    tests = f"class T(T):\n  def test_f(self):\n    {code}\n"
    ((severity, message),) = said(tmp_path, "test_a.py", tests)
    assert severity is Severity.QUESTION
    assert "it lets the number be off by" in message
    assert said(tmp_path, "test_a.py", tests, former=tests) == []


WIDE_SCRIPTS = [
    "expect(area(2)).toBeCloseTo(12.57, -2)",
    "expect(area(2)).to.be.closeTo(12.57, 10)",
    "assert.closeTo(area(2), 12.57, 7)",
    "assert.approximately(area(2), -3, 2.5)",
]


@pytest.mark.parametrize("code", WIDE_SCRIPTS)
def test_so_is_one_of_jest_and_chai(tmp_path, code):
    ((_, message),) = said(tmp_path, "a.test.js", f"test('a', () => {{\n  {code};\n}})\n")
    assert "it lets the number be off by" in message


NARROW = [
    ("test_a.py", "self.assertAlmostEqual(f(1), 128.32, delta=1)"),
    ("test_a.py", "self.assertAlmostEqual(f(1), 0.0, delta=1e-9)"),
    ("test_a.py", "self.assertAlmostEqual(f(1), 128.32)"),
    ("test_a.py", "self.assertAlmostEqual(f(1), 3, places=0)"),
    ("test_a.py", "self.assertAlmostEqual(f(1), wanted, delta=50)"),
    ("test_a.py", "assert f(1) == pytest.approx(0.001)"),
    ("test_a.py", "assert f(1) == pytest.approx([1, 2], abs=0.1)"),
    ("test_a.py", "assert abs(elapsed - 0.1) < 0.2"),
    ("test_a.py", "assert abs(f(1)) < 3"),
    ("test_a.py", "self.assertAlmostEqual(f(1), 9, places=-99999)"),
    ("a.test.js", "expect(area(2)).toBeCloseTo(1.2.3, -999999999);"),
    ("test_a.py", "assert abs(f(1) - 2.5) > 9"),
    ("a.test.js", "expect(area(2)).toBeCloseTo(12.57, 2);"),
    ("a.test.js", "expect(area(2)).toBeCloseTo(0, 2);"),
    ("a.test.js", "expect(took()).to.be.closeTo(10, 30);"),
    ("a.test.js", "assert.closeTo(area(2), wanted, 7);"),
]


@pytest.mark.parametrize(("path", "code"), NARROW)
def test_a_tolerance_that_a_test_may_have_is_left_alone(tmp_path, path, code):
    tests = f"class T(T):\n  def test_f(self):\n    {code}\n"
    tests = f"test('a', () => {{\n  {code}\n}})\n" if path.endswith(".js") else tests
    assert said(tmp_path, path, tests) == []


ALIASES = [
    ("test_a.py", "before = given\n    f(given)\n    assert given == before"),
    ("test_a.py", "before = given\n    f(given)\n    self.assertEqual(before, given)"),
    ("a.test.js", "const before = given;\n  f(given);\n  expect(given).toBe(before);"),
    ("a.test.js", "const before = given;\n  f(given);\n  expect(before).toEqual(given);"),
    ("a.test.js", "const before = given\n  f(given)\n  assert.deepEqual(given, before)"),
]
COPIES = [
    ("test_a.py", "before = dict(given)\n    f(given)\n    assert given == before"),
    ("test_a.py", "before = given\n    given = f(given)\n    assert given == before"),
    ("test_a.py", "before = given\n    f(given)\n    assert given != before"),
    ("test_a.py", "before = given\n    assert f(given) == before"),
    ("a.test.js", "const before = { ...given };\n  f(given);\n  expect(given).toEqual(before);"),
    ("a.test.js", "let before = given;\n  before = f(given);\n  expect(before).toEqual(given);"),
    ("a.test.js", "const before = given;\n  f(given);\n  expect(given).not.toBe(before);"),
    ("a.test.js", "const before = given;\n  expect(f(given)).toBe(before);"),
]


def a_test(path, code):
    script = path.endswith(".js")
    return f"test('a', () => {{\n  {code}\n}})\n" if script else f"def test_a(self):\n    {code}\n"


@pytest.mark.parametrize(("path", "code"), ALIASES)
def test_a_thing_that_equals_itself_by_another_name_is_told(tmp_path, path, code):
    ((severity, message),) = said(tmp_path, path, a_test(path, code))
    assert severity is Severity.QUESTION
    assert "both names are of one object" in message


@pytest.mark.parametrize(("path", "code"), COPIES)
def test_a_copy_or_another_thing_is_left_alone(tmp_path, path, code):
    assert said(tmp_path, path, a_test(path, code)) == []
