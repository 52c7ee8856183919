"""What tests work out as the product does is told by changing both: by running."""

import shutil
import subprocess

import pytest
from coverage_bench import Yard
from test_gates_mutation_python import COLLECTED, UNITTEST, proven

from runner.gates import planned_behaviour
from runner.gates.function_heads import heads
from runner.gates.mutation import run_mutants, survivors
from runner.gates.mutation.mutants import Mutant
from runner.gates.mutation.same_expression import (
    change_value,
    expressions,
    find_frame,
    repeat_in_tests,
)
from runner.model import Severity

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    monkeypatch.setattr(survivors, "_STRICT_SECONDS", 240.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 8.0)


def strictly(tmp_path, code, tests):
    yard = Yard(tmp_path)
    yard.write("shop.py", code).write("test_shop.py", tests + COLLECTED)
    bench = proven(yard, f"{UNITTEST} test_shop", mutation="strict")
    (check,) = planned_behaviour.checks(bench.task, bench.settings)
    return planned_behaviour.prove(check, bench).findings


MIDDLE = """def middle(numbers):
    ordered = sorted(numbers)
    if not ordered:
        return None
    {ending}
"""
PLAIN = MIDDLE.format(ending="return ordered[len(ordered) // 2]")
NAMED = MIDDLE.format(ending="found = ordered[len(ordered) // 2]\n    return found")
TESTS = """from shop import middle


def test_middle():
    values = [4, 1, 3, 2]
    count = len(values)
    {wanted}
    assert middle([]) is None
"""
SAME = (
    TESTS.format(wanted="assert middle(values) == sorted(values)[count // 2]")
    .replace("sorted(values)[", "values[")
    .replace("[4, 1, 3, 2]", "[1, 2, 3, 4]")
)
HELPED = SAME.replace("== values[count // 2]", "== wanted(values)") + (
    "\n\ndef wanted(each):\n    size = len(each)\n    return each[size // 2]\n"
)
ITSELF = SAME + "    assert middle([7, 5, 6]) == 6\n"
SPELLED = TESTS.format(wanted="assert middle(values) == 3 and count")
OTHER = SAME.replace("values[count // 2]", "values[(count + 1) // 2]").replace(
    "[1, 2, 3, 4]", "[1, 2, 3, 4]"
)


@pytest.mark.parametrize(
    ("code", "tests", "count"),
    [
        (PLAIN, SAME, 1),
        (NAMED, SAME, 1),
        (PLAIN, HELPED, 1),
        (PLAIN, ITSELF, 0),
        (PLAIN, SPELLED, 0),
        (PLAIN, OTHER, 0),
    ],
)
def test_an_expression_that_only_the_product_vouches_for_is_asked_about(
    tmp_path, code, tests, count
):
    found = strictly(tmp_path, code, tests)
    told = [one for one in found if "its own expression" in one.message]
    assert [one.severity for one in told] == [Severity.QUESTION] * count


def test_a_copy_of_the_whole_function_is_told_by_itself(tmp_path):
    copied = (
        PLAIN.replace("middle", "wanted")
        + "\n\n"
        + SAME.replace("values[count // 2]", "wanted(values)")
    )
    assert not any("its own expression" in one.message for one in strictly(tmp_path, PLAIN, copied))


def test_a_single_operation_is_no_copy(tmp_path):
    code = "def double(number):\n    return number * 2\n"
    tests = (
        "from shop import double\n\n\ndef test_it():\n    n = 3\n    assert double(n) == n * 2\n"
    )
    found = strictly(tmp_path, code, tests)
    assert not any("its own expression" in one.message for one in found)


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        ("a.py", "def f(a, b):\n    return a * b\n", []),
        ("a.py", "def f(a, b):\n    return sum(a) / len(b)\n", ["sum(a) / len(b)"]),
        ("a.py", "def f(a):\n    return a.name\n", []),
        ("a.py", "def f(a):\n    return g(h(a))\n", []),
        (
            "a.js",
            "export function f(a) {\n  const n = a.x * 2 + 1;\n  return n;\n}\n",
            ["a.x * 2 + 1"],
        ),
        ("a.go", "package a\n\nfunc F(a []int) int {\n\treturn a[len(a)/2]\n}\n", ["a[len(a)/2]"]),
    ],
)
def test_expressions_that_work_something_out(path, text, wanted):
    (head,) = heads(path, text.encode())
    assert expressions(path, head) == wanted


SCRIPT = """export function middle(list) {
  return list[Math.floor(list.length / 2)];
}
"""
ASKS = """import { middle } from './a.mjs';
const given = ['a', 'b'];
const size = given.length;
if (middle(given) !== given[Math.floor(size / 2)]) throw new Error('not the same');
if (MORE) throw new Error('not so');
"""


@needs_node
@pytest.mark.parametrize(("more", "passes"), [("false", True), ("middle([7]) !== 7", False)])
def test_a_script_and_its_test_are_changed_alike(tmp_path, more, passes):
    test = ASKS.replace("MORE", more).encode()
    (head,) = heads("a.mjs", SCRIPT.encode())
    (expression,) = expressions("a.mjs", head)
    frame = find_frame("a.mjs", SCRIPT.encode(), head)
    alone = change_value("a.mjs", SCRIPT.encode(), head, expression, frame)
    (also,) = repeat_in_tests("a.mjs", frame, expression, [("a.test.mjs", test), ("a.py", test)])
    node = shutil.which("node") or "node"
    ends = []
    for script, tests in ((alone, Mutant("", "", "", 0, 0, 0, b"")), (alone, also)):
        (tmp_path / "a.mjs").write_bytes(script.apply_to(SCRIPT.encode()))
        (tmp_path / "a.test.mjs").write_bytes(tests.apply_to(test))
        words = [node, "a.test.mjs"]
        ends.append(
            subprocess.run(words, check=False, cwd=tmp_path, capture_output=True).returncode
        )
    assert ends == [1, 0 if passes else 1]


GO = """package a

func Area(w, h int) int {
\treturn 2*w + h/2
}
"""
GO_TEST = """package a

import "testing"

func TestArea(t *testing.T) {
\tx, y := 3, 8
\tif got := Area(x, y); got != 2*x+y/2 {
\t\tt.Fatal(got)
\t}
}
"""


@needs_go
def test_go_and_its_test_are_changed_alike(tmp_path):
    (head,) = heads("a.go", GO.encode())
    (expression,) = expressions("a.go", head)
    frame = find_frame("a.go", GO.encode(), head)
    alone = change_value("a.go", GO.encode(), head, expression, frame)
    (also,) = repeat_in_tests("a.go", frame, expression, [("a_test.go", GO_TEST.encode())])
    (tmp_path / "go.mod").write_text("module a\n\ngo 1.18\n")
    (tmp_path / "a.go").write_bytes(alone.apply_to(GO.encode()))
    ends = []
    for content in (GO_TEST.encode(), also.apply_to(GO_TEST.encode())):
        (tmp_path / "a_test.go").write_bytes(content)
        words = [shutil.which("go") or "go", "test", "."]
        ends.append(
            subprocess.run(words, check=False, cwd=tmp_path, capture_output=True).returncode
        )
    assert ends == [1, 0]
