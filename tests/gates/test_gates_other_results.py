"""Orders and spellings of the plan that no test tells from what is wrong, by running."""

import json
import shutil
import subprocess

import pytest
from coverage_bench import Yard
from test_gates_mutation_python import COLLECTED, UNITTEST, proven

from runner.gates import planned_behaviour
from runner.gates.function_heads import heads
from runner.gates.mutation import run_mutants, survivors
from runner.gates.other_results import (
    in_case,
    in_order,
    sorting_sentences,
    spelling_sentences,
)
from runner.model import Severity

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    monkeypatch.setattr(survivors, "_LEAST_SECONDS", 120.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 8.0)


def said(tmp_path, code, tests, *acceptance):
    yard = Yard(tmp_path)
    yard.write("shop.py", code).write("test_shop.py", tests + COLLECTED)
    bench = proven(yard, f"{UNITTEST} test_shop", acceptance=acceptance)
    (check,) = planned_behaviour.checks(bench.task, bench.settings)
    found = planned_behaviour.prove(check, bench).findings
    words = ("sorted", "spelling")
    assert all(one.severity is Severity.WARNING for one in found)
    return [one.message for one in found if any(word in one.message for word in words)]


PARTED = """def ranked(rows):
    known = [one for one in rows if "size" in one]
    return known + [one for one in rows if "size" not in one]
"""
RANKED = """def ranked(rows):
    return sorted(rows, key=lambda one: -one.get("size", 0))
"""
IN_PLACE = """def ranked(rows):
    rows.sort(key=lambda one: -one.get("size", 0))
"""
GIVEN = """from shop import ranked

BIG, SMALL, NONE = {"size": 9}, {"size": 1}, {}


def test_ranked():
    assert ranked([BIG, NONE, SMALL]) == [BIG, SMALL, NONE]
    assert ranked([BIG, SMALL]) == [BIG, SMALL]
"""
PLACED = """from shop import ranked


def test_ranked():
    rows = [{"size": 9}, {"size": 1}]
    ranked(rows)
    assert rows == [{"size": 9}, {"size": 1}]
"""
TURNED = "    assert ranked([SMALL, BIG]) == [BIG, SMALL]\n"
LINE = "`ranked` gives the largest size first"


@pytest.mark.parametrize(
    ("code", "tests", "line", "count"),
    [
        (PARTED, GIVEN, LINE, 1),
        (RANKED, GIVEN, "`ranked` sorts by size", 1),
        (RANKED, GIVEN + TURNED, LINE, 0),
        (RANKED, GIVEN, "`ranked` gives the rows in the order in which they came", 0),
        (RANKED, GIVEN, "`ranked` takes a sorted list", 0),
        (IN_PLACE, PLACED, LINE, 1),
        (IN_PLACE, PLACED + "    ranked(rows[::-1])\n    assert ranked([]) is None\n", LINE, 1),
    ],
)
def test_values_that_are_given_in_order_say_nothing_of_sorting(tmp_path, code, tests, line, count):
    assert len(said(tmp_path, code, tests, line)) == count


def test_a_list_that_is_sorted_in_place_is_looked_at(tmp_path):
    turned = PLACED.replace(
        '[{"size": 9}, {"size": 1}]\n    ranked', '[{"size": 1}, {"size": 9}]\n    ranked'
    )
    assert said(tmp_path, IN_PLACE, turned, LINE) == []


LOWERS = """def distinct(names, fold=False):
    return list(dict.fromkeys(one.lower() if fold else one for one in names))
"""
KEEPS = """def distinct(names, fold=False):
    found = {}
    for one in names:
        found.setdefault(one.lower() if fold else one, one)
    return list(found.values())
"""
SMALLS = """from shop import distinct


def test_distinct():
    assert distinct(["Ada", "bo", "ada"]) == ["Ada", "bo", "ada"]
    assert distinct(["ada", "bo", "ADA"], fold=True) == ["ada", "bo"]
"""
MIXED = SMALLS + "    assert distinct(['Ada', 'ADA'], fold=True) == ['Ada']\n"
WITH = "with `fold`, `distinct` takes cases for one, and the first spelling is kept"


@pytest.mark.parametrize(
    ("code", "tests", "line", "count"),
    [
        (LOWERS, SMALLS, WITH, 1),
        (KEEPS, SMALLS, WITH, 1),
        (KEEPS, MIXED, WITH, 0),
        (LOWERS, SMALLS, "`distinct` keeps the case of a name", 0),
        (LOWERS, SMALLS, "`distinct`: in that case it stays empty", 0),
    ],
)
def test_a_spelling_is_told_by_texts_in_more_than_one_case(tmp_path, code, tests, line, count):
    assert len(said(tmp_path, code, tests, line)) == count


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("the rows are sorted by name", True),
        ("a list in ascending order", True),
        ("the longest path comes first", True),
        ("first the newest ones, then the rest", True),
        ("gives a sorted copy", True),
        ("ordered by date", True),
        ("in the order in which they first appear", False),
        ("the list is already sorted", False),
        ("the given list must be sorted", False),
        ("merges two sorted lists", False),
        ("the place of a value in a sorted sequence", False),
        ("an unsorted list stays one", False),
        ("all sorts of things", False),
        ("the first value and the last one", False),
    ],
)
def test_sentences_that_want_an_order(sentence, wanted):
    assert bool(sorting_sentences([sentence])) is wanted


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("the first spelling is kept", True),
        ("the case of a name is preserved", True),
        ("it keeps the capitalisation", True),
        ("in this case the list is unchanged", False),
        ("case-insensitive: keys are kept", False),
        ("each test case is kept apart", False),
        ("names are in upper case", False),
    ],
)
def test_sentences_that_keep_a_spelling(sentence, wanted):
    assert bool(spelling_sentences([sentence])) is wanted


SCRIPT = """export function ranked(rows, fold) {
  rows = rows.filter((one) => one !== null);
  return rows.map((one) => one);
}
"""


def node(tmp_path, mutant, call):
    (tmp_path / "a.mjs").write_bytes(mutant.apply_to(SCRIPT.encode()))
    assert mutant.apply_to(SCRIPT.encode()).count(b"\n") == SCRIPT.count("\n")
    asked = f"import {{ ranked }} from './a.mjs';\nconsole.log(JSON.stringify({call}));\n"
    (tmp_path / "b.mjs").write_text(asked)
    words = [shutil.which("node") or "node", "b.mjs"]
    ran = subprocess.run(words, check=True, cwd=tmp_path, capture_output=True, text=True)
    return json.loads(ran.stdout)


@needs_node
@pytest.mark.parametrize(
    ("turned", "call", "wanted"),
    [
        (True, "ranked([1, 'a', 2, 'b', 3])", [3, "b", 2, "a", 1]),
        (False, "ranked([1, 'a', 2])", [1, "a", 2]),
        (True, "ranked([1, null, 2])", [2, 1]),
        (True, "ranked([7])", [7]),
        (True, "ranked({ filter: () => [2, 1] })", [2, 1]),
    ],
)
def test_values_of_a_script_change_places_with_those_alike(tmp_path, turned, call, wanted):
    (head,) = heads("a.mjs", SCRIPT.encode())
    mutant = in_order("a.mjs", SCRIPT.encode(), head, 2, turned=turned)
    assert node(tmp_path, mutant, call) == wanted


@needs_node
@pytest.mark.parametrize(
    ("way", "mode", "call", "wanted"),
    [
        ("lower", "", "ranked(['Ab', 1])", ["ab", 1]),
        ("upper", "fold", "ranked(['Ab'], true)", ["AB"]),
        ("upper", "fold", "ranked(['Ab'])", ["Ab"]),
        ("swapcase", "", "ranked(['Ab'])", ["aB"]),
    ],
)
def test_texts_of_a_script_are_given_in_another_case(tmp_path, way, mode, call, wanted):
    (head,) = heads("a.mjs", SCRIPT.encode())
    assert node(tmp_path, in_case("a.mjs", SCRIPT.encode(), head, 2, way, mode), call) == wanted


GO = """package main

import (
\t"fmt"
\t"sort"
)

func Ranked(names []string, fold bool) []string {
\tfound := append([]string{}, names...)
\tsort.Strings(found)
\treturn found
}

func Place(names []string) {
\tsort.Strings(names)
}

func Named(first, second []string) (out []string) {
\treturn first
}

func main() {
\tgiven := []string{"b", "C", "a"}
\tfmt.Print(Ranked(given, true), Ranked(given, false))
\tPlace(given)
\tfmt.Print(given, Named(given, nil))
}
"""


def go(tmp_path, mutant):
    (tmp_path / "a.go").write_bytes(mutant.apply_to(GO.encode()))
    words = [shutil.which("go") or "go", "run", "a.go"]
    ran = subprocess.run(words, check=True, cwd=tmp_path, capture_output=True, text=True)
    return ran.stdout


@needs_go
def test_what_go_sorts_is_left_as_it_was_given(tmp_path):
    known = {one.name: one for one in heads("a.go", GO.encode())}

    def made(name, turned):
        return in_order("a.go", GO.encode(), known[name], 9, turned=turned)

    assert go(tmp_path, made("Ranked", turned=False)) == "[b C a] [b C a][C a b] [C a b]"
    assert go(tmp_path, made("Ranked", turned=True)) == "[a C b] [a C b][C a b] [C a b]"
    assert go(tmp_path, made("Place", turned=False)) == "[C a b] [C a b][b C a] [b C a]"
    assert made("Named", turned=False) is None


@needs_go
def test_texts_of_go_are_given_in_another_case(tmp_path):
    known = {one.name: one for one in heads("a.go", GO.encode())}
    mutant = in_case("a.go", GO.encode(), known["Ranked"], 9, "upper", "fold")
    assert go(tmp_path, mutant) == "[C A B] [C a b][C a b] [C a b]"
    mutant = in_case("a.go", GO.encode(), known["Ranked"], 9, "lower", "")
    assert go(tmp_path, mutant).startswith("[c a b] [c a b]")
