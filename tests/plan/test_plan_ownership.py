"""The ownership map is read in any shape and grows without losing a byte."""
# ruff: noqa: E501  (a document stands on one line, as its bytes are)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_documents import documents

from runner.plan.globs import matches, may_overlap
from runner.plan.ownership import OwnershipMap, add_owners
from runner.plan.source import render

MAP = b"""# Owners

```
| File | Tasks |
|---|---|
| `decoy.py` | TASK-099 |
```

| Since | Tasks             | Note | File                    |
|-------|:------------------|------|-------------------------|
| 2025  | TASK-002, Task 5  | \xc3\xbc   | `src/booking/models.py` |
| 2026  | `TASK-003`        |      | src/booking/api/**      |
|       |                   |      | `README.md`             |

Text after.
"""


def test_owners_come_from_rows_and_globs_in_any_column():
    found = OwnershipMap.read(MAP)
    assert found.owners("src/booking/models.py") == ("TASK-002", "TASK-005")
    assert found.owners("src/booking/api/v1/x.py") == ("TASK-003",)
    assert found.owners("README.md") == ()
    assert found.owners("decoy.py") == ()
    assert found.problems == ()


def test_added_owners_join_their_row_or_make_one():
    rows = {
        "src/booking/models.py": ("TASK-005", "TASK-007"),
        "README.md": ("T001",),
        "a|b.py": ("TASK-001",),
    }
    assert add_owners(MAP, rows) == MAP.replace(
        b"TASK-002, Task 5  |", b"TASK-002, Task 5, TASK-007  |"
    ).replace(
        b"|                   |      | `README.md`             |\n",
        b"| T001                  |      | `README.md`             |\n|  | TASK-001 |  | `a\\|b.py` |\n",
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"# File ownership\n\n| File | Tasks |\n|---|---|\n| `a` | T001 |\n"),
        (
            b"# Mine\r\ntext",
            b"# Mine\r\ntext\r\n\r\n| File | Tasks |\r\n|---|---|\r\n| `a` | T001 |\r\n",
        ),
        (
            b"\xef\xbb\xbf| File | Tasks |\n|-|-|",
            b"\xef\xbb\xbf| File | Tasks |\n|-|-|\n| `a` | T001 |",
        ),
        (
            b"| File | Tasks |\n|-|-|\n| a |\n",
            b"| File | Tasks |\n|-|-|\n| a |\n| `a` | T001 |\n",
        ),
        (b"| File | Tasks |\r|-|-|\r| a | |\r", b"| File | Tasks |\r|-|-|\r| a | T001 |\r"),
    ],
)
def test_a_map_of_any_shape_takes_the_row(before, after):
    assert add_owners(before, {"a": ("T001",)}) == after


@given(
    documents(),
    st.dictionaries(
        st.sampled_from(["src/a.py", "x y", "b|c", "`t`", "../z"]), st.just(("T001", "TASK-002"))
    ),
)
def test_what_was_added_is_read_back_and_nothing_else_changes(data, rows):
    before = OwnershipMap.read(data)
    after = OwnershipMap.read(add_owners(data, rows))
    for path, ids in rows.items():
        assert set(ids) <= set(after.owners(path.removeprefix("./")))
    assert [row for row in after.rows if row[0] not in rows] == [
        row for row in before.rows if row[0] not in rows
    ]
    assert add_owners(add_owners(data, rows), rows) == add_owners(data, rows)


def test_conflict_markers_and_odd_owners_are_problems():
    data = b"| File | Tasks |\n|---|---|\n<<<<<<< ours\n| a | T1 |\n=======\n| a | T2 |\n>>>>>>> theirs\n| b | me |\n"
    found = OwnershipMap.read(data)
    assert found.owners("a") == ("T001", "T002")
    assert render(found.problems[0]) == (
        "FILE_OWNERSHIP_MAP.md:3:1: error: the file has conflict markers\n"
        "  <<<<<<< ours\n  ^^^^^^^^^^^^\n"
        "hint: keep the rows of both sides and remove the markers"
    )
    assert render(found.problems[3]) == (
        'FILE_OWNERSHIP_MAP.md:8:7: error: "me" is not a valid task id\n  | b | me |\n        ^^\nhint: write ids such as TASK-001'
    )


@pytest.mark.no_cover
def test_many_thousand_rows_are_looked_up_at_once():
    rows = b"".join(b"| `src/m%d.py` | TASK-%03d |\n" % (n, n) for n in range(20_000))
    found = OwnershipMap.read(b"| File | Tasks |\n|---|---|\n" + rows)
    assert all(found.owners(f"src/m{n}.py") == (f"TASK-{n:03}",) for n in range(0, 20_000, 7))


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("src/**", "src/a/*.py", True), ("src/*.py", "src/*.md", False), ("src/*", "src/a/b", False),
        ("**/x.py", "src/x.py", True), ("*.md", "docs/a.md", True), ("a*/b", "*c/b", True),
        ("src/", "src/x", True), ("src/a?", "src/ab", True), ("a/**/z", "a/z", True),
    ],
)  # fmt: skip
def test_globs_that_can_name_one_file_meet(one, other, meet):
    assert may_overlap(one, other) is meet
    assert may_overlap(other, one) is meet


@given(
    st.text("ab/.*?", max_size=8),
    st.text("ab/.*?", max_size=8),
    st.text("ab/.", min_size=1, max_size=6),
)
def test_globs_that_both_match_a_path_always_meet(one, other, path):
    if one and other and matches(one, path) and matches(other, path):
        assert may_overlap(one, other)


def test_a_row_that_names_a_file_is_no_bad_glob_whatever_it_looks_like():
    data = b"| File | Tasks |\n|---|---|\n| `src/[` | TASK-001 |\n| `lib/[` | TASK-001 |\n"
    (one,) = OwnershipMap.read(data, exists=lambda path: path == "src/[").problems
    assert one.message.startswith('bad glob "lib/["')
