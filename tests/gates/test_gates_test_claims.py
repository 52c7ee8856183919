"""Where mutants only crash, what the tests assert says whether anybody looks at a function."""

import shutil
from dataclasses import replace
from time import process_time

import pytest
from coverage_bench import Yard
from test_gates_mutation_python import noticed

from runner.gates.coverage_gate import weigh_proofs
from runner.gates.mutation import run_mutants, survivors
from runner.gates.mutation.mutants import Mutant, Subject
from runner.gates.mutation.run_mutants import Executions
from runner.gates.mutation.test_claims import Looks, TestClaims
from runner.model import Observed, Severity, Verdict
from runner.model.grades import proof_kind


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """How much is tried must not hang on how busy this machine is."""
    monkeypatch.setattr(survivors, "_STRICT_SECONDS", 240.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 20.0)


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


# --- whole: mutants are run, then the texts are read ------------------------------------------

MADE = """\
class Version:
    def __init__(self, text):
        self.parts = [int(one) for one in text.split(".")]

    @classmethod
    def coerce(cls, text):
        return cls(text[1:])
"""
COUNTED = (("passed", 1),)
OBSERVED = (Observed("TC-001", "test_it", "shop.py", "sha256:0", "1-9"),)
CASE = """\
import unittest
import shop
class TestIt(unittest.TestCase):
    def test_it(self):
"""
SMOKE = f"""{CASE}\
        found = shop.Version.coerce("v1.2")
        shown = str(found.parts)
"""
WATCHED = f"""{CASE}\
        found = shop.Version.coerce("v1.2")
        assert found.parts == [1, 2]
"""


def strictly(yard, tests, shop, name):
    yard.write("shop.py", shop).write("test_shop.py", tests)
    found = noticed(yard, mutation="strict")
    return [(one.severity, one.message) for one in found.findings if name in one.message]


def test_a_function_that_only_crashes_under_a_test_without_assertions_is_asked_about(yard):
    """A warning of the mutants and one of the test are one question: nothing proves it."""
    found = strictly(yard, SMOKE, MADE, "Version.coerce")
    assert found, "nothing was said"
    assert all(severity in (Severity.QUESTION, Severity.ERROR) for severity, _ in found), found


def test_a_function_that_only_crashes_under_a_test_that_compares_is_not(yard):
    found = strictly(yard, WATCHED, MADE, "Version.coerce")
    assert [one for one in found if one[0] is not Severity.WARNING] == []


def test_what_fails_under_a_test_without_assertions_is_noticed_by_nobody(yard):
    """Another file raises, as it would under any caller: no claim did not hold."""
    yard.write("scale.py", "def steps(size):\n    if size > 5:\n        raise ValueError(size)\n")
    shop = "import scale\n\ndef grown(size):\n    scale.steps(size + 1)\n    return size + 1\n"
    tests = f"{CASE}        shop.grown(4)\n"
    found = strictly(yard, tests, shop, "grown")
    assert found, "nothing was said"
    assert all(severity in (Severity.QUESTION, Severity.ERROR) for severity, _ in found), found


@pytest.mark.parametrize(("tests", "by"), [(SMOKE, "command"), (WATCHED, "tests")])
def test_tests_that_assert_nothing_are_worth_what_a_command_is(yard, tests, by):
    """With the setting as it is, too: `ship --strict` asks what a DONE is worth."""
    yard.write("shop.py", MADE).write("test_shop.py", tests)
    proof = noticed(yard, mutation="warn").proof
    contract = replace(proof, id="TC-001", kind="test", verdict=Verdict.PASS, counts=COUNTED)
    weighed = weigh_proofs(yard.bench.task, (contract, proof), OBSERVED, ("shop.py",))
    assert proof_kind(weighed[0]) == by
    assert ("asserts anything" in proof.note) is (by == "command")


GO = """\
package shop

type Item struct{ rank int }

func (item *Item) Rank() int {
	return item.rank
}

func Best(items []*Item) *Item {
	var best *Item
	for _, one := range items {
		if best == nil || one.Rank() > best.Rank() {
			best = one
		}
	}
	return best
}
"""
GO_TEST = """\
package shop

import "testing"

func TestBest(t *testing.T) {{
	got := Best([]*Item{{{{rank: 2}}, {{rank: 5}}, {{rank: 3}}}})
	if want := {want}; got.Rank() != want {{
		{says}("got %d, want %d", got.Rank(), want)
	}}
}}
"""


@pytest.mark.skipif(shutil.which("go") is None, reason="needs go")
@pytest.mark.parametrize(("says", "asks"), [("t.Logf", True), ("t.Errorf", False)])
def test_a_difference_that_is_only_logged_is_asked_about(yard, says, asks):
    yard.write("go.mod", "module shop\n\ngo 1.19\n").write("shop.go", GO)
    yard.write("shop_test.go", GO_TEST.format(says=says, want=5))
    found = noticed(yard, "go test ./...", mutation="strict")
    grave = [one for one in found.findings if one.severity in (Severity.QUESTION, Severity.ERROR)]
    assert bool([one for one in grave if "Best" in one.message]) is asks, found.findings


# --- how closely tests look, by their texts -----------------------------------------------------


def looks(folder, path, tests, name="f", ran=("",)):
    """How closely the tests of one file look at a function that these of them ran."""
    folder.mkdir(exist_ok=True)
    yard = Yard(folder)
    suffix = path.rpartition(".")[2]
    file = {"py": "test_a.py", "go": "a_test.go", "js": "a.test.js", "ts": "a.test.ts"}[suffix]
    yard.write(path, "\n").write(file, tests)
    for more, text in EXTRA.items():
        yard.write(more, text)
    yard.set_up("true")
    rows = {("TC-001", path): tuple((test, ((1, 9),)) for test in ran)}
    subject = Subject(path, name, 1, (Mutant(path, name, "call", 1, 0, 1, b""),))
    return TestClaims(yard.bench, Executions(rows)).look_at(subject)


EXTRA = {"tests/helping.py": "def same_as(one, other):\n    assert one == other\n"}
PYTHON = {
    "it compares": ("    assert f(1) == 2\n", Looks.CLOSELY),
    "it compares what was kept": ("    got = f(1)\n    assert got.size == 2\n", Looks.CLOSELY),
    "it compares a part": ("    for one in f(1):\n        assert one == 2\n", Looks.CLOSELY),
    "it looks at what was changed": ("    f(box)\n    assert box.size == 2\n", Looks.PERHAPS),
    "it looks at what it was called on": (
        "    box = Box()\n    n = box.f(1)\n    assert box.size == 2\n",
        Looks.CLOSELY,
    ),
    "it hands it on": ("    n = 3\n    run(f, n)\n    assert done() == 2\n", Looks.PERHAPS),
    "it waits for an error": ("    with pytest.raises(ValueError):\n        f(1)\n", Looks.PERHAPS),
    "a helper of another file asserts": ("    same_as(f(1), 2)\n", Looks.PERHAPS),
    "a method of a class elsewhere may assert": ("    self.roundtrip(f(1))\n", Looks.PERHAPS),
    "it raises by itself": (
        "    if f(1) != 2:\n        raise RuntimeError('off')\n",
        Looks.PERHAPS,
    ),
    "it only calls": ("    f(1)\n", Looks.NEVER),
    "it prints": ("    got = f(1)\n    print(got)\n", Looks.NEVER),
    "what fails is caught": (
        "    try:\n        assert f(1) == 2\n    except Exception:\n        pass\n",
        Looks.NEVER,
    ),
    "it compares something else": ("    got = f(1)\n    assert g(1) == 2\n", Looks.ASIDE),
    "it looks for anything at all": ("    got = f(1)\n    assert got is not None\n", Looks.ASIDE),
}


@pytest.mark.parametrize(("body", "expected"), PYTHON.values(), ids=PYTHON)
def test_what_tests_of_python_look_at(tmp_path, body, expected):
    self = "self" if "self." in body else ""
    text = f"def test_it({self}):\n{body}"
    assert looks(tmp_path, "a.py", text, ran=("test_a.test_it",)) is expected


def test_only_tests_that_ran_a_function_speak_of_it(tmp_path):
    text = "def test_one():\n    f(1)\n\ndef test_two():\n    assert g() == 2\n"
    assert looks(tmp_path, "a.py", text, ran=("test_a.test_one",)) is Looks.NEVER
    both = ("tests/test_a.py::test_one|run", "tests/test_a.py::test_two[1]|run")
    assert looks(tmp_path, "a.py", text, ran=both) is Looks.PERHAPS


@pytest.mark.parametrize("ran", [("",), ("elsewhere.test_three",), ()])
def test_where_nobody_can_tell_which_tests_ran_it_nothing_is_said(tmp_path, ran):
    text = "def test_one():\n    f(1)\n\ndef test_two():\n    assert g() == 2\n"
    assert looks(tmp_path, "a.py", text, ran=ran) is Looks.PERHAPS


GO_BODIES = {
    "it compares": ("if got := F(1); got != 2 {\n\t\tt.Fatal(got)\n\t}", Looks.CLOSELY),
    "it compares what was kept": (
        "got, err := F(1)\n\tif err != nil {\n\t\tt.Fatal()\n\t}\n\tif got != 2 {\n\t\tt.Fail()}",
        Looks.CLOSELY,
    ),
    "a library compares": ("assert.Equal(t, 2, F(1))", Looks.CLOSELY),
    "it hands on what lets it fail": ("compare(t, F(1))", Looks.PERHAPS),
    "it ends the program": ('if F(1) != 2 {\n\t\tpanic("off")\n\t}', Looks.PERHAPS),
    "it only logs": ('if F(1) != 2 {\n\t\tt.Logf("failed (%d)", 2)\n\t}', Looks.NEVER),
    "it only calls": ("_ = F(1)", Looks.NEVER),
    "it compares by the product, and logs": (
        "got := F(Must(1))\n\tif !got.Equal(2) {\n\t\tt.Log(got)\n\t}",
        Looks.NEVER,
    ),
    "it asks for an error alone": (
        "got, err := F(1)\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tt.Log(got)",
        Looks.ASIDE,
    ),
    "it looks for anything at all": (
        "got := F(1)\n\tif got == nil {\n\t\tt.Fatal()\n\t}",
        Looks.ASIDE,
    ),
    "it compares something else": (
        "got := F(1)\n\tt.Log(got)\n\tif G(1) != 2 {\n\t\tt.Fatal()\n\t}",
        Looks.ASIDE,
    ),
}


@pytest.mark.parametrize(("body", "expected"), GO_BODIES.values(), ids=GO_BODIES)
def test_what_tests_of_go_look_at(tmp_path, body, expected):
    text = f'package a\n\nimport "testing"\n\nfunc TestF(t *testing.T) {{\n\t{body}\n}}\n'
    assert looks(tmp_path, "a.go", text, "F") is expected


def test_an_example_of_go_says_what_it_prints(tmp_path):
    text = "package a\n\nfunc ExampleF() {\n\tfmt.Println(F(1))\n\t// Output: 2\n}\n"
    assert looks(tmp_path, "a.go", text, "F") is Looks.PERHAPS


def test_a_method_of_a_suite_of_go_may_assert(tmp_path):
    text = "package a\n\nfunc (s *Suite) TestF() {\n\ts.Equal(2, F(1))\n}\n"
    assert looks(tmp_path, "a.go", text, "F") is Looks.PERHAPS


def test_an_example_of_go_without_output_is_compiled_alone(tmp_path):
    text = "package a\n\nfunc ExampleF() {\n\tfmt.Println(F(1))\n}\n"
    assert looks(tmp_path, "a.go", text, "F") is Looks.NEVER


SCRIPTS = {
    "it compares": ("expect(f(1)).toBe(2);", Looks.CLOSELY),
    "it compares what was kept": (
        "const { size } = await f(1);\n  expect(size).toBe(2);",
        Looks.CLOSELY,
    ),
    "it looks later": ("f(1).then((got) => {\n    expect(got).toBe(2);\n  });", Looks.PERHAPS),
    "its tool asserts": ("t.is(f(1), 2);", Looks.PERHAPS),
    "it throws": ("if (f(1) !== 2) throw new Error('off');", Looks.PERHAPS),
    "it only calls": ("f(1);", Looks.NEVER),
    "it prints": ("console.log('expect(2)', f(1));", Looks.NEVER),
    "it looks for anything at all": (
        "const got = f(1);\n  expect(got).toBeDefined();",
        Looks.ASIDE,
    ),
    "it compares something else": (
        "const got = f(1);\n  console.log(got);\n  expect(g(1)).toBe(2);",
        Looks.ASIDE,
    ),
}


@pytest.mark.parametrize(("body", "expected"), SCRIPTS.values(), ids=SCRIPTS)
def test_what_tests_of_javascript_look_at(tmp_path, body, expected):
    text = f"test('f', async (t) => {{\n  {body}\n}});\n"
    assert looks(tmp_path, "a.js", text) is expected


@pytest.mark.parametrize(
    "line", ["a" * 200_000, "a." * 90_000, "a" + " " * 200_000, "a, " * 60_000]
)
def test_a_long_line_of_a_test_takes_no_time(tmp_path, line):
    text = f"def test_it():\n    f(1)\n    x = {line!r}\n    {line}\n    y = 1\n    assert y == 1\n"
    script = f"test('f', () => {{\n  f(1);\n  {line};\n  expect(g(1)).toBe(2);\n}});\n"
    began = process_time()
    assert looks(tmp_path / "one", "a.py", text, ran=("test_a.test_it",)) is not None
    assert looks(tmp_path / "two", "a.js", script) is not None
    assert process_time() - began < 10.0
