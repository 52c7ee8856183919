"""New tests that no test contract ran are told by what the tools named."""

import shutil

import pytest
from coverage_bench import Yard
from gates_bench import a_bench, a_task, own_check
from msgspec.structs import replace

from runner.gates import unrun_tests
from runner.gates.base import ChangeOrigin, Check
from runner.gates.check_run import try_check
from runner.gates.junit import TestOutcome, TestResult, TestResults
from runner.gates.test_paths import find_tests
from runner.model import Action, Change, Level, Observed, Severity, TestContract, digest_of
from runner.process.limits import Limits

SCRIPT = (
    'import { test, expect } from "vitest";\n\ntest("sums", () => {\n  expect(a(1)).toBe(2);\n});\n'
)
GO = "package shop\n\nfunc Price(n int) int {\n\treturn n + 1\n}\n"
BODY = '(t *testing.T) {\n\tif Price(1) != 2 {\n\t\tt.Fatal("wrong")\n\t}\n}\n'
HEAD = 'package shop\n\nimport "testing"\n\n'
OTHER = f"{HEAD}func TestOther{BODY}"
EXAMPLE = """\
package shop

import "fmt"

func ExamplePrice() {{
	fmt.Println(Price(1))
	// {}
}}
"""


class _Ran:
    """How a contract ended, as far as it is asked."""

    unnamed = False
    passed = True

    def __init__(self, *rows):
        tests = (TestResult(name, TestOutcome.PASSED, file=file) for name, file in rows)
        self.results = TestResults(tuple(tests)) if rows else None


def said(folder, path, text, *rows, before=None, command="npx vitest run", by_person=False):
    content = text.encode()
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(content), content)
    contract = TestContract(id="TC-001", level=Level.UNIT, command=command, line=1)
    context = replace(
        a_bench(folder),
        task=a_task(outputs=("any",), test_contracts=(contract,)),
        changes=(change,),
        before=lambda _path: before,
        origin=ChangeOrigin(by_person=by_person),
        ran={"TC-001": _Ran(*rows)},
    )
    check = own_check("unrun_tests", context)
    return unrun_tests.prove(check, context).findings


def test_a_file_that_no_tool_finds_is_asked_about(tmp_path):
    other = ("test/b.test.ts > b", "test/b.test.ts")
    (finding,) = said(tmp_path, "test/a.tests.ts", SCRIPT, other)
    assert finding.severity is Severity.QUESTION
    assert finding.message == "no test contract runs the tests of this file"
    assert (finding.path, finding.line) == ("test/a.tests.ts", 3)
    (finding,) = said(tmp_path, "test/a.tests.ts", SCRIPT, other, by_person=True)
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("path", "text", "rows", "more"),
    [
        ("test/a.test.ts", SCRIPT, [("test/a.test.ts > sums", "test/a.test.ts")], {}),
        ("test/setup.ts", "export const a = 1;\n", [("x", "test/b.test.ts")], {}),
        ("test/a.tests.ts", SCRIPT, [], {}),
        ("test/a.tests.ts", SCRIPT, [("x", "b.ts")], {"command": "npx vitest run -t other"}),
        ("test/a.tests.ts", SCRIPT, [("x", "b.ts")], {"before": SCRIPT.encode()}),
        ("test/a.test.mjs", SCRIPT, [("sums", "")], {}),
        ("a_test.go", OTHER, [("shop.TestOther", "")], {}),
        ("a_test.go", OTHER.replace("TestOther", "sameAs"), [("shop.TestIt", "")], {}),
        ("a_test.go", OTHER.replace("TestOther", "BenchmarkIt"), [("shop.TestIt", "")], {}),
    ],
    ids=[
        *("ran", "helper", "unnamed", "selected", "was there", "no file", "go", "go helper"),
        "benchmark",
    ],
)
def test_what_ran_or_is_no_test_is_left_alone(tmp_path, path, text, rows, more):
    assert said(tmp_path, path, text, *rows, **more) == ()


def test_one_of_several_is_only_warned_of(tmp_path):
    text = f"{OTHER}\nfunc TestSecond{BODY}"
    (finding,) = said(tmp_path, "a_test.go", text, ("shop.TestOther", ""), command="go test ./...")
    assert finding.severity is Severity.WARNING
    assert finding.message == "no test contract runs TestSecond"


@pytest.mark.skipif(not shutil.which("go"), reason="Go is not installed")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"//go:build e2e\n\n{HEAD}func TestPrice{BODY}", [Severity.QUESTION]),
        (EXAMPLE.format("2"), [Severity.QUESTION]),
        (EXAMPLE.format("Output: 2"), []),
        (f"{HEAD}func TestPrice{BODY}", []),
    ],
    ids=["tag", "example", "output", "honest"],
)
def test_go_is_asked_for_the_names(tmp_path, text, expected):
    yard = Yard(tmp_path).stands("go.mod", "module shop\n\ngo 1.18\n").write("shop.go", GO)
    yard.stands("other_test.go", OTHER)
    yard.write("price_test.go", text)
    yard.set_up("go test ./...")
    check = Check("TC-001", "test", "go test ./...", Limits(90, 90, 90))
    context = replace(yard.context, ran={"TC-001": try_check(check, yard.context)})
    check = own_check("unrun_tests", context)
    found = unrun_tests.prove(check, context).findings
    assert [one.severity for one in found] == expected


def test_what_runs_the_tests_is_none_itself(tmp_path):
    main = f"{HEAD}func TestMain(m *testing.M) {{\n\tm.Run()\n}}\n"
    rows = [("shop.TestPrice", "")]
    assert said(tmp_path, "main_test.go", main, *rows, command="go test ./...") == ()
    assert find_tests("main_test.go", main.encode()) == ()


# --- assertions of Python, by the lines that ran ---------------------------------------------

PATH = "tests/test_shop.py"
LOOP = "def test_a():\n    for n, want in NONE:\n        assert price(n) == want\n"


@pytest.mark.parametrize(
    ("text", "ran", "before", "lines"),
    [
        (LOOP, "1-2", None, [3]),
        ("def test_a():\n    if TODAY < X:\n        check.assert_four()\n", "1-2", None, [3]),
        ("def test_a():\n    def four():\n        assert price(4) == 4\n", "1-2", None, [3]),
        ("class T:\n    def test_a(self):\n        self.assertEqual(p(4), 4)\n", "1-2", None, [3]),
        ("def test_a():\n    assert (\n        price(4) == 4\n    )\n", "3", None, []),
        (LOOP, "1-3", None, []),
        (LOOP, "", None, []),
        (f"{LOOP}    x = 1\n", "1-2", LOOP.encode(), []),
        (f"{LOOP}    assert price(4) == 4\n", "1-2,4", None, []),
        (f"@pytest.mark.skip\n{LOOP}", "1-2", None, []),
        ("def test_a():\n    if x:\n        return\n    assert False\n", "1-3", None, []),
    ],
)
def test_a_test_none_of_whose_assertions_ran_is_a_question(tmp_path, text, ran, before, lines):
    content = text.encode()
    change = Change(PATH, Action.CREATE, 0o100644, None, digest_of(content), content)
    contract = TestContract(id="TC-001", level=Level.UNIT, command="pytest", line=1)
    context = replace(
        a_bench(tmp_path),
        task=a_task(outputs=("any",), test_contracts=(contract,)),
        changes=(change,),
        before=lambda _path: before,
        observed=(Observed("TC-001", "", PATH, digest_of(content), ran),) if ran else (),
    )
    check = own_check("unrun_tests", context)
    found = unrun_tests.prove(check, context).findings
    assert [(one.line, one.asks) for one in found] == [(line, True) for line in lines]
