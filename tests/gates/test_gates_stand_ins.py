"""Tests that ask a stand-in of their own in the place of the product's function are told."""

import pytest
from test_gates_result_kinds import told

from runner.model import Severity

PYTHON = (
    "def archive(db, cond):\n    found = db.search(cond)\n    return [one.id for one in found]\n"
)
FAKE = """class Memory:
    def __init__(self, *rows):
        self.rows = list(rows)

    def search(self, cond):
        return [one for one in self.rows if cond(one)]

    def archive(self, cond):
        {body}


"""
WORKS = FAKE.format(body="return [at for at, one in enumerate(self.rows) if cond(one)]")
HANDS_ON = FAKE.format(body="return archive(self, cond)")
ELSEWHERE = FAKE.format(body="return subprocess.run(['shop', 'archive', cond])")
ASKS = "def test_it():\n    db = Memory(1, 2)\n    assert db.archive(bool) == [0, 1]\n"
GIVES = "def test_it():\n    db = Memory(1, 2)\n    assert archive(db, bool) == [] and db.archive\n"
BOTH = (
    "def test_it():\n    db = Memory(1, 2)\n    archive(db, bool)\n"
    "    assert db.archive(bool) == [0, 1]\n"
)
MODULE = "def test_it():\n    assert shop.archive(Memory(), bool) == []\n"


@pytest.mark.parametrize(
    ("fake", "test", "count"),
    [
        (WORKS, ASKS, 1),
        (WORKS, GIVES, 0),
        (WORKS, BOTH, 0),
        (WORKS, MODULE, 0),
        (HANDS_ON, ASKS, 0),
        (ELSEWHERE, ASKS, 0),
        (WORKS.replace("def archive", "def store"), ASKS.replace("archive", "store"), 0),
    ],
)
def test_a_stand_in_of_the_tests_that_does_the_work_is_told(tmp_path, fake, test, count):
    text = f"import shop\nfrom shop import archive\n\n\n{fake}{test}"
    where = ("shop.py", PYTHON, "tests/test_shop.py", text)
    found = told(tmp_path, *where, about="the tests have themselves")
    assert [one for one, _ in found] == [Severity.WARNING] * count
    found = told(tmp_path, *where, about="the tests have themselves", mutation="strict")
    assert [one for one, _ in found] == [Severity.QUESTION] * count


SCRIPT = "export function archive(db, cond) {\n  return db.search(cond);\n}\n"
SCRIPT_TEST = """import {{ archive }} from './shop.mjs';

class Memory {{
  search(cond) {{
    return [];
  }}
  archive(cond) {{
    return {body};
  }}
}}

it('archives', () => {{
  const db = new Memory();
  expect({asked}).toEqual([1]);
}});
"""


@pytest.mark.parametrize(
    ("body", "asked", "count"),
    [
        ("[1]", "db.archive(Boolean)", 1),
        ("[1]", "archive(db, Boolean)", 0),
        ("archive(this, cond)", "db.archive(Boolean)", 0),
    ],
)
def test_in_scripts_too(tmp_path, body, asked, count):
    text = SCRIPT_TEST.format(body=body, asked=asked)
    where = ("shop.mjs", SCRIPT, "shop.test.mjs", text)
    assert len(told(tmp_path, *where, about="the tests have themselves")) == count


GO = "package shop\n\nfunc Archive(db DB, n int) int {\n\treturn db.Search(n)\n}\n"
GO_TEST = """package shop

import "testing"

type memory struct{{}}

func (m memory) Search(n int) int {{
\treturn n
}}

func (m memory) Archive(n int) int {{
\treturn n + 1
}}

func TestArchive(t *testing.T) {{
\tdb := memory{{}}
\tif got := {asked}; got != 2 {{
\t\tt.Errorf("got %d", got)
\t}}
}}
"""


@pytest.mark.parametrize(("asked", "count"), [("db.Archive(1)", 1), ("Archive(db, 1)", 0)])
def test_in_go_too(tmp_path, asked, count):
    where = ("shop.go", GO, "shop_test.go", GO_TEST.format(asked=asked))
    assert len(told(tmp_path, *where, about="the tests have themselves")) == count
