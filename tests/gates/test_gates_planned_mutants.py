"""What the plan's words ask of tests: a rounding, nothing beside an error, keys that are gone."""

import pytest
from coverage_bench import Yard
from test_gates_mutation_python import COLLECTED, noticed

from runner.gates.mutation import planned_mutants, run_mutants, survivors
from runner.gates.mutation.planned_mutants import roundings, values_beside_errors
from runner.gates.mutation.run_mutants import Ends, Executions
from runner.model import Severity


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    monkeypatch.setattr(survivors, "_LEAST_SECONDS", 120.0)
    monkeypatch.setattr(survivors, "_STRICT_SECONDS", 240.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 4.0)


def changed(path, code, made=roundings):
    content = code.encode()
    return [one.apply_to(content).decode() for one in made(path, content)]


PYTHON = "def f(x):\n    return {}\n"


@pytest.mark.parametrize(
    ("code", "other"),
    [
        ("math.floor(x * 100) / 100", "round(x * 100) / 100"),
        ("round(x)", "__import__('math').floor(x)"),
        ("round(x, 2)", "(__import__('math').floor((x) * 10 ** (2)) / 10 ** (2))"),
        ("int(x * 2)", "round(x * 2)"),
        ("ceil(x)", "round(x)"),
        ("x // 2", "(-(-(x) // (2)))"),
    ],
)
def test_a_rounding_becomes_another_one(code, other):
    assert changed("a.py", PYTHON.format(code)) == [PYTHON.format(other)]


def test_a_rounding_in_a_function_inside_of_another_is_changed_once():
    code = "def f(x):\n    def g():\n        return round(x)\n    return g\n"
    (mutant,) = roundings("a.py", code.encode())
    assert mutant.function == "g"


def test_what_rounds_nothing_stays():
    assert changed("a.py", PYTHON.format("int(x) + len(x)")) == []


def test_roundings_of_scripts_and_go():
    script = "const f = (x) => Math.floor(x);\nfunction g(x) {\n  return Math.ceil(x);\n}\n"
    assert "Math.round(x)" in changed("a.js", script)[0]
    go = "package a\n\nfunc F(x float64) float64 {\n\treturn math.Round(x)\n}\n"
    assert changed("a.go", go) == [go.replace("Round", "Floor")]


GO = (
    "package a\n\nfunc Count(s string) (int, error) {\n"
    "\twords, err := Split(s)\n\treturn {}, err\n}\n"
)


def test_a_value_beside_an_error_becomes_nothing():
    (mutant,) = changed("a.go", GO.replace("{}", "len(words)"), values_beside_errors)
    value = "func(v int, e error) int { if e != nil { var z int; return z }; return v }"
    assert f"return {value}(len(words), err), err" in mutant
    assert changed("a.go", GO.replace("{}", "0"), values_beside_errors) == []
    assert changed("a.go", GO.replace("{}, err", "len(s), nil"), values_beside_errors) == []


SHOP = "import math\n\ndef price(cents):\n    return math.floor(cents / 100 * 10) / 10\n"
LOW = (
    "import shop\ndef test_it():\n    assert shop.price(110) == 1.1\n"
    "    assert shop.price(0) == 0\n"
)


def said(tmp_path, tests, acceptance):
    yard = Yard(tmp_path)
    yard.write("shop.py", SHOP).write("test_shop.py", tests + COLLECTED)
    found = noticed(yard, acceptance=acceptance).findings
    return [one.severity for one in found if "another rounding" in one.message]


def test_where_the_plan_speaks_of_rounding_a_test_has_to_tell_it_from_another(tmp_path):
    assert said(tmp_path, LOW, ("the price is rounded to one place",)) == [Severity.WARNING]


def test_no_rounding_is_asked_about_where_a_test_tells_it_or_nobody_speaks_of_it(tmp_path):
    told = LOW + "    assert shop.price(119) == 1.1\n"
    assert said(tmp_path, told, ("the price is rounded down",)) == []
    assert said(tmp_path, LOW, ("the price of some cents",)) == []


SCRIPT = "test('deletes', () => {\n  expect(apply({ a: 1 })).toEqual({});\n});\n"
GONE = "a key whose change is undefined is deleted"


class Laboratory:
    """In the place of jest: it says what a test with `toStrictEqual` would."""

    is_over = False

    def __init__(self, ended):
        self.ended = ended

    def run(self, mutant):
        return self.ended if b".toStrictEqual(" in mutant.text else Ends.SURVIVED


@pytest.mark.parametrize(
    ("ended", "acceptance", "tests", "count"),
    [
        (Ends.NOTICED, GONE, SCRIPT, 1),
        (Ends.SURVIVED, GONE, SCRIPT, 0),
        (Ends.CRASHED, GONE, SCRIPT, 1),
        (Ends.NO_TIME, GONE, SCRIPT, 0),
        (Ends.NOTICED, "a key is changed", SCRIPT, 0),
        (Ends.NOTICED, GONE, SCRIPT.replace("toEqual", "toStrictEqual"), 0),
    ],
    ids=[
        "it fails then",
        "it holds then",
        "it fails in its own file",
        "no time",
        "no key is gone",
        "strict already",
    ],
)
def test_keys_that_the_plan_wants_gone_are_asked_for_without_undefined(
    tmp_path, monkeypatch, ended, acceptance, tests, count
):
    monkeypatch.setattr(planned_mutants, "MutantRunner", lambda *_: Laboratory(ended))
    yard = Yard(tmp_path)
    yard.write("apply.js", "x\n").write("apply.test.js", tests)
    yard.set_up("npx jest", acceptance=(acceptance,))
    nothing = Executions({})
    severity = Severity.QUESTION
    found = planned_mutants.find_planned("mutation", yard.bench, nothing, {}, None, severity)
    assert [one.path for one in found] == ["apply.test.js"] * count
