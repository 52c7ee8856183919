"""What changes in spite of the plan, and a unit that no test tells, are found by running."""

import json
import shutil
import subprocess

import pytest
from coverage_bench import Yard
from test_gates_mutation_python import COLLECTED, UNITTEST, proven

from runner.gates import planned_behaviour
from runner.gates.argument_changes import keeping
from runner.gates.function_heads import heads
from runner.gates.mutation import run_mutants, survivors
from runner.gates.refusals import refusing_all
from runner.gates.wrapped_functions import another
from runner.model import Severity

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    monkeypatch.setattr(survivors, "_LEAST_SECONDS", 120.0)
    monkeypatch.setattr(survivors, "_STRICT_SECONDS", 240.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 8.0)


MERGED = """def merged(document, defaults):
    result = {head}(document)
    for key, value in defaults.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = {inner}
        else:
            result.setdefault(key, value)
    return result


def _fill(own, more):
    own.update({{k: v for k, v in more.items() if k not in own}})
    return own
"""
INSIDE = MERGED.format(head="dict", inner="_fill(result[key], value)")
NEW = MERGED.format(head="dict", inner="{**value, **result[key]}")
TESTS = """from shop import merged


def test_inside():
    assert merged({"a": {"x": 1}}, {"a": {"x": 2, "y": 3}}) == {"a": {"x": 1, "y": 3}}


def test_outside():
    assert merged({"a": 1}, {"a": 2, "b": 3}) == {"a": 1, "b": 3}
"""


def said(tmp_path, code, tests, *acceptance):
    yard = Yard(tmp_path)
    yard.write("shop.py", code).write("test_shop.py", tests + COLLECTED)
    bench = proven(yard, f"{UNITTEST} test_shop", acceptance=acceptance)
    (check,) = planned_behaviour.checks(bench.task, bench.settings)
    found = planned_behaviour.prove(check, bench).findings
    words = ("and the plan says that it does not", "in which unit", "no test tells the answer")
    return [one.severity for one in found if any(word in one.message for word in words)]


@pytest.mark.parametrize(
    ("code", "line", "count"),
    [
        (INSIDE, "`merged` changes neither of the two dicts", 1),
        (INSIDE, "`merged`: the given dicts are not modified", 1),
        (INSIDE, "`merged` leaves `document` unchanged", 1),
        (INSIDE, "`merged` leaves `defaults` unchanged", 0),
        (INSIDE, "`merged` is the document with what it lacks", 0),
        (NEW, "`merged` changes neither of the two dicts", 0),
    ],
)
def test_what_the_plan_keeps_is_looked_at_after_each_call(tmp_path, code, line, count):
    assert said(tmp_path, code, TESTS, line) == [Severity.WARNING] * count


LIFE = "def life(seconds=None):\n    if seconds is None:\n        return float('inf')\n"
SAME = LIFE + "    return max(0, seconds)\n"
LOW = """from shop import life


def test_low():
    assert life() == float("inf")
    assert life(0) == 0
    assert life(-3) == 0
    assert life(60) >= 60
"""


@pytest.mark.parametrize(
    ("tests", "line", "count"),
    [
        (LOW, "`life` is in milliseconds, of seconds", 1),
        (LOW, "`life` is in seconds", 0),
        (LOW + "    assert life(2) == 2\n", "`life` is in milliseconds, of seconds", 0),
        (LOW[:39] + "    assert life(60) != 'x'\n", "`life` in seconds or minutes", 0),
    ],
)
def test_a_unit_of_the_plan_is_told_by_a_number_that_is_not_nothing(tmp_path, tests, line, count):
    assert said(tmp_path, SAME, tests, line) == [Severity.WARNING] * count


LENGTH = """def seconds(text):
    found = [int(one) for one in text.split(":")]
    return found[0] * 60 + found[-1]


def shown(number):
    return f"{number // 60}:{number % 60:02}"
"""
NEARLY = """from shop import seconds, shown


def test_seconds():
    assert 60 <= seconds("1:01") < 90
    assert abs(seconds("2:00") - 120) < 20


def test_shown():
    assert shown(61).startswith("1:0")
    assert "2:" in shown(120)
"""
JUST = (
    NEARLY
    + """

def test_just():
    assert MORE
"""
)
SECONDS = "`1:01` is 61 seconds, of a text, by `seconds`"


@pytest.mark.parametrize(
    ("tests", "line", "count"),
    [
        (NEARLY, SECONDS, 1),
        (NEARLY, "`shown(61)` is `1:01`", 1),
        (NEARLY, "`seconds` and `shown` are about a minute", 0),
        (NEARLY, "`shown(number)` and `seconds`, whose `text` is `0:00`", 0),
        (JUST.replace("MORE", "round(seconds('1:01')) == 61"), SECONDS, 0),
        (JUST.replace("MORE", "seconds('1:01') == 61"), SECONDS, 0),
        (JUST.replace("MORE", "shown(120).endswith(':00')"), "`shown(61)` is `1:01`", 0),
        (JUST.replace("MORE", "shown(61) == '1:01'"), "`shown(61)` is `1:01`", 0),
        ("def test_it():\n    import shop\n    shop.seconds('1:1')\n", SECONDS, 0),
    ],
)
def test_an_answer_that_the_plan_shows_is_told_from_another_near_it(tmp_path, tests, line, count):
    assert said(tmp_path, LENGTH, tests, line) == [Severity.WARNING] * count


RENAME = """def moved(old, new):
    def change(doc):
        {guard}
        doc[new] = doc.pop(old)
    return change
"""
GUARD = "if new in doc: raise ValueError(new)"
EITHER = """from shop import moved


def refused(change, *errors):
    try:
        change({"a": 1, "b": 2})
    except errors as error:
        return error


def test_movedd():
    doc = {"a": 1}
    moved("a", "c")(doc)
    assert doc == {"c": 1}


def test_refused():
    error = refused(moved("a", "b"), ValueError)
    assert error is None or isinstance(error, ValueError)
"""
WAITS = EITHER.replace("error is None or ", "")


def refusals(tmp_path, code, tests, *acceptance):
    yard = Yard(tmp_path)
    yard.write("shop.py", code).write("test_shop.py", tests + COLLECTED)
    bench = proven(yard, f"{UNITTEST} test_shop", acceptance=acceptance)
    (check,) = planned_behaviour.checks(bench.task, bench.settings)
    found = planned_behaviour.prove(check, bench).findings
    words = ("refuses whatever", "another error passes")
    return [one.severity for one in found if any(word in one.message for word in words)]


@pytest.mark.parametrize(
    ("code", "tests", "line", "count"),
    [
        (RENAME.format(guard="pass"), EITHER, "`moved` raises ValueError where it is there", 1),
        (RENAME.format(guard=GUARD), EITHER, "`moved` raises ValueError where it is there", 0),
        (RENAME.format(guard=GUARD), WAITS, "`moved` raises ValueError where it is there", 0),
        (RENAME.format(guard="pass"), EITHER, "`moved` gives a change", 0),
    ],
)
def test_an_error_of_the_plan_is_noticed_by_a_test(tmp_path, code, tests, line, count):
    assert refusals(tmp_path, code, tests, line) == [Severity.WARNING] * count


WITHIN = """class within(Base):
    def __init__(self, low, high):
        if not low <= high:
            raise ValueError(f"{low} is above {high}")
        self.low = low

    def __call__(self, number):
        return max(number, self.low)
"""
ANY = """from shop import within


def test_within():
    assert within(1, 3)(0) == 1


def test_refused():
    try:
        within(3, 1)
    except Exception:
        return
    raise AssertionError("no error")
"""


@pytest.mark.parametrize(
    ("tests", "line", "count"),
    [
        (ANY, "`within`: a `low` above `high` is a ValueError", 1),
        (ANY.replace("Exception", "ValueError"), "`within`: `low` above `high` is a ValueError", 0),
        (ANY, "`within`: a `low` that is no number is a TypeError", 0),
        (ANY, "`within` keeps `low`", 0),
    ],
)
def test_an_error_of_a_class_of_the_plan_is_noticed_by_a_test(tmp_path, tests, line, count):
    code = f"class Base:\n    pass\n\n\n{WITHIN}"
    assert refusals(tmp_path, code, tests, line) == [Severity.WARNING] * count


READ = """def read(text):
    if len(text) != 1:
        raise ValueError(text)
    return int(text)
"""
GOES_ON = """from shop import read


def test_read():
    for wanted in range(10, 20):
        try:
            got = read(str(wanted))
        except ValueError:
            continue
        assert got == wanted


def test_refused():
    try:
        read("")
    except ValueError:
        return
    raise AssertionError
"""


@pytest.mark.parametrize(
    ("more", "count"), [("", 1), ("\n\ndef test_one():\n    assert read('3') == 3\n", 0)]
)
def test_a_refusal_of_everything_is_noticed_by_a_test(tmp_path, more, count):
    found = refusals(tmp_path, READ, GOES_ON + more, "what is no digit is an error of `read`")
    assert found == [Severity.WARNING] * count


GO = """package shop

func Read(text string) (int, error) {
	if len(text) != 1 {
		return 0, errors.New("long")
	}
	if n, err := strconv.Atoi(text); err != nil {
		return n, err
	}
	return 1, nil
}
"""


def test_guards_of_go_and_scripts_become_true():
    def made(path, text):
        content = text.encode()
        return [
            one.apply_to(content).decode().split("\n")[one.line - 1].strip()
            for head in heads(path, content)
            for one in refusing_all(path, content, head)
        ]

    assert made("a.go", GO) == [
        "if true || (len(text) != 1) {",
        "if n, err := strconv.Atoi(text); true || (err != nil) {",
    ]
    script = (
        "function f(a) {\n  if (a < 1) throw new E(a);\n  if (a) {\n    if (b) { throw a; }\n  }\n"
    )
    script += "  return a;\n}\n"
    assert made("a.js", script) == ["if ( true || (a < 1) ) throw new E(a);"]


SCRIPT = """export function sorted(list, by) {
  if (!by) return [...list];
  return list.sort((a, b) => a[by] - b[by]);
}
"""


def answers(tmp_path, mutant, call):
    (tmp_path / "a.mjs").write_bytes(mutant.apply_to(SCRIPT.encode()))
    asked = f"import {{ sorted }} from './a.mjs';\nconsole.log(JSON.stringify({call}));\n"
    (tmp_path / "b.mjs").write_text(asked)
    node = shutil.which("node") or "node"
    return subprocess.run(
        [node, "b.mjs"], check=False, cwd=tmp_path, capture_output=True, text=True
    )


@needs_node
def test_a_script_is_wrapped_in_the_lines_that_it_had(tmp_path):
    (head,) = heads("a.mjs", SCRIPT.encode())
    mutant = keeping("a.mjs", SCRIPT.encode(), head, ("by", "list"), 2)
    assert mutant.apply_to(SCRIPT.encode()).count(b"\n") == SCRIPT.count("\n")
    ran = answers(tmp_path, mutant, "sorted([{ n: 2 }, { n: 1 }], 'n')")
    assert "AssertionError: what it was given was changed" in ran.stderr
    ran = answers(tmp_path, mutant, "sorted([{ n: 2 }, { n: 1 }])")
    assert json.loads(ran.stdout) == [{"n": 2}, {"n": 1}]


@needs_node
@pytest.mark.parametrize(("nothing", "wanted"), [(True, "null"), (False, "7000")])
def test_a_number_of_a_script_becomes_another(tmp_path, nothing, wanted):
    (head,) = heads("a.mjs", SCRIPT.encode())
    mutant = another("a.mjs", SCRIPT.encode(), head, 2, nothing=nothing)
    assert answers(tmp_path, mutant, "sorted({ sort: () => 7 }, 'n')").stdout.strip() == wanted
    assert answers(tmp_path, mutant, "sorted({ sort: () => 'x' }, 'n')").stdout.strip() == '"x"'


def test_what_waits_is_not_wrapped():
    text = SCRIPT.replace("return list.sort", "await 0; return list.sort").encode()
    for head in heads("a.mjs", text):
        assert another("a.mjs", text, head, 2, nothing=False) is None
