"""Tests that were written anew as a table, or in another style, and claim the same in each case."""

import pytest
from test_gates_base_tests import asked
from test_gates_integrity_languages import refused

PYTHON = """from shop import add, clamp


def test_adds():
    assert add(1, 2) == 3
    assert add(0, 0) == 0


def test_low():
    low = clamp(1, 2, 3)
    assert low == 2


def test_high():
    assert clamp(4, 2, 3) == 3
"""
HEAD = "import pytest\nfrom shop import add, clamp\n\n\n"
ADDS = """@pytest.mark.parametrize("a, b, total", [(1, 2, 3), (0, 0, 0), (5, 5, 10)])
def test_adds(a, b, total):
    assert add(a, b) == total


"""
CLAMPS = """@pytest.mark.parametrize(("x", "wanted"), [(1, 2), pytest.param(4, 3, id="high")])
def test_clamp(x, wanted):
    assert clamp(x, 2, 3) == wanted
"""
CASES = """import unittest

from shop import add, clamp


class TestShop(unittest.TestCase):
    def test_all(self):
        self.assertEqual(add(1, 2), 3)
        self.assertEqual(add(0, 0), 0)
        self.assertEqual(clamp(1, 2, 3), 2)
        self.assertEqual(clamp(4, 2, 3), 3)
"""


@pytest.mark.parametrize("new", [HEAD + ADDS + CLAMPS, CASES], ids=["a table", "unittest"])
def test_the_same_claims_in_another_form_are_the_same_tests(new):
    assert refused("tests/test_shop.py", PYTHON, new) == []


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        ("(4, 3", "(4, 4", "test_high"),
        ('pytest.param(4, 3, id="high")', "(2, 2)", "test_high"),
        ("clamp(x, 2, 3) == wanted", "clamp(x, 2, 3) != wanted", "test_low"),
        ("clamp(x, 2, 3) == wanted", "abs(clamp(x, 2, 3)) == abs(wanted)", "test_low"),
        ("assert clamp", "clamp = lambda x, *_: x\n    assert clamp", "test_low"),
        ("assert clamp", "prepare()\n    assert clamp", "test_low"),
        ("def test_clamp", "@pytest.mark.skip\ndef test_clamp", "test_low"),
        ("def test_clamp(x, wanted)", "def test_clamp(x, wanted, patched)", "test_low"),
        ("def test_clamp", "def check_clamp", "test_low"),
        ("(1, 2, 3), ", "", "test_adds"),
        ("    assert add(a", "    return\n    assert add(a", "test_adds"),
        ('@pytest.mark.parametrize("a, b', '@cases("a, b', "test_adds"),
        ("import pytest\n", "import pytest\n\npytestmark = pytest.mark.skip\n", "test_low"),
    ],
)
def test_a_table_that_leaves_out_or_alters_a_case_is_told(old, new, gone):
    table = HEAD + ADDS + CLAMPS
    assert old in table
    found = refused("tests/test_shop.py", PYTHON, table.replace(old, new))
    assert any(gone in message or "the file" in message for message in found), found


def test_what_was_done_for_its_effect_is_part_of_a_test():
    old = "def test_a():\n    made = put(1)\n    assert size() == 1\n"
    found = refused("tests/test_a.py", old, "def test_b():\n    assert size() == 1\n")
    assert found == ["the test test_a is gone (1 assertion; line 1 before)"]


SCRIPT = """import { describe, expect, it } from "vitest";

describe("calc", () => {
  it("adds", () => {
    expect(add(1, 2)).toBe(3);
    expect(add(-1, 2)).toBe(1);
  });
  it("clamps low", () => {
    expect(clamp(1, "a b")).toBe(2); // as it was
  });
});
"""
TABLE = """import { describe, expect, it } from "vitest";

describe("calc", () => {
  it.each([
    [1, 2, 3],
    [-1, 2, 1],
    [0, 0, 0],
  ])("adds %i and %i", (a, b, sum) => {
    expect(add(a, b)).toBe(sum);
  });
  it.each([[1, "a b", 2]])("clamps %s", async function (x, text, low) {
    expect(clamp(x, text)).toBe(low);
  });
});
"""


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        ("", "", ""),
        ("toBe(sum)", "toEqual(sum)", ""),
        ("toBe(sum)", "toBeDefined()", "calc > adds"),
        ("toBe(sum)", "not.toBe(sum)", "calc > adds"),
        ("[-1, 2, 1],", "", "calc > adds"),
        ("it.each([[1", "it.skip.each([[1", "calc > clamps low"),
        ("(x, text, low)", "(x, low, text)", "calc > clamps low"),
        ("expect(clamp(x", "vi.spyOn(a, 'clamp');\n    expect(clamp(x", "calc > clamps low"),
        ("clamp(x, text)", 'clamp(x, "text")', "calc > clamps low"),
    ],
)
def test_a_table_of_javascript(old, new, gone):
    found = refused("test/calc.test.js", SCRIPT, TABLE.replace(old, new, 1))
    assert any(gone in message for message in found) if gone else found == []


LOOPED = """import { describe, expect, it } from "vitest";

describe("calc", () => {
  ;[
    ["one and two", 1, 2, 3],
    ["less and more", -1, 2, 1],
  ].forEach(function (row) {
    it("adds " + row[0], () => {
      expect(add(row[1], row[2])).toBe(row[3]);
    });
  });
  it("clamps low", () => {
    expect(clamp(1, "a b")).toBe(2);
  });
});
"""


def _rewritten(text, *pairs):
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


OF_OBJECTS = _rewritten(
    LOOPED,
    ('["one and two", 1, 2, 3]', "{ a: 1, b: 2, sum: 3 }"),
    ('["less and more", -1, 2, 1]', "{ sum: 1, a: -1, b: 2 }"),
    ("add(row[1], row[2])).toBe(row[3])", "add(row.a, row.b)).toBe(row.sum)"),
)
IN_A_FOR = _rewritten(
    LOOPED,
    ("  ;[\n", "  for (const [name, x, y, sum] of [\n"),
    ("].forEach(function (row) {", "]) {"),
    ("row[0]", "name"),
    ("add(row[1], row[2])).toBe(row[3])", "add(x, y)).toBe(sum)"),
    ("    });\n  });\n", "    });\n  }\n"),
)


@pytest.mark.parametrize(
    ("table", "old", "new", "gone"),
    [
        (LOOPED, "", "", ""),
        (OF_OBJECTS, "", "", ""),
        (IN_A_FOR, "", "", ""),
        (LOOPED, '["less and more", -1, 2, 1],', "", "calc > adds"),
        (LOOPED, "-1, 2, 1]", "-1, 2, 2]", "calc > adds"),
        (LOOPED, "toBe(row[3])", "toBeDefined()", "calc > adds"),
        (LOOPED, 'it("adds "', 'it.skip("adds "', "calc > adds"),
        (LOOPED, '    it("adds "', '    if (!row[1]) return\n    it("adds "', "calc > adds"),
        (LOOPED, "].forEach(", "].slice(1).forEach(", "calc > adds"),
        (LOOPED, "      expect(add", "      row = ok(row)\n      expect(add", "calc > adds"),
        (LOOPED, "row[1], row[2]", "row[2], row[1]", "calc > adds"),
        (OF_OBJECTS, "{ sum: 1, a: -1, b: 2 }", "{ sum: 1, a: -1, ...rest }", "calc > adds"),
        (IN_A_FOR, "[name, x, y, sum]", "[name, y, x, sum]", "calc > adds"),
    ],
)
def test_a_table_of_javascript_that_a_loop_goes_through(table, old, new, gone):
    assert old in table
    found = refused("test/calc.test.js", SCRIPT, table.replace(old, new, 1))
    assert any(gone in message for message in found) if gone else found == []


ADD = "def add(a, b):\n    return a + b\n"
CLAMP = "def clamp(x, a, b):\n    return max(a, min(x, b))\n"
SHOP = {"shop.py": f"{ADD}\n\n{CLAMP}"}


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", []),
        (', pytest.param(4, 3, id="high")', "", ["`tests/test_shop.py::test_high` is gone"]),
        ("def test_clamp", "def clamped", ["test_high", "test_low"]),
    ],
)
def test_tests_that_became_a_table_are_not_gone(tmp_path, old, new, found):
    before = SHOP | {"tests/test_shop.py": PYTHON}
    after = SHOP | {"tests/test_shop.py": (HEAD + ADDS + CLAMPS).replace(old, new, 1)}
    told, _ = asked(tmp_path, before, after, "python3 -m pytest -q tests")
    assert len(told) == len(found)
    assert all(any(one in message for _, message in told) for one in found), told


SLICES = """def test_parts():
    r = Result((1, 2, 3))
    assert r[1:3] == (2, 3)
    assert r[::-1] == (3, 2, 1)
    assert r[:2] == (1, 2)
"""
PARTS = """@pytest.mark.parametrize(
    ("part", "wanted"),
    [(slice(1, 3), (2, 3)), (slice(None, None, -1), (3, 2, 1)), (slice(2), (1, 2))],
)
def test_parts(part, wanted):
    r = Result((1, 2, 3))
    assert r[part] == wanted
"""


def test_slices_may_become_a_table():
    assert refused("tests/test_shop.py", SLICES, HEAD + PARTS) == []
    assert refused("tests/test_shop.py", SLICES, HEAD + PARTS.replace("slice(2)", "slice(1)"))
