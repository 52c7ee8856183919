"""Examples and parameters of the plan that nothing is about are told."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import plan_examples
from runner.model import Action, Change, Level, Severity, TestContract, digest_of

CODE = "def initials(name, separator=''):\n    return ''.join(w[0] for w in name.split())\n"
READS = CODE.replace("''.join", "separator.join")
ASKED = "`initials('ada lovelace', '.')` is `'A.L'`"


def said(folder, code, tests, acceptance=(), *, path="shop.py", prose="", **more):
    name = f"tests/test_it{path[path.rindex('.') :]}"
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
