"""A plan read through the cache is the plan, whatever happened to the file or the cache."""
# ruff: noqa: E501  (a document stands on one line, as its bytes are)

from __future__ import annotations

import random
import subprocess
import sys
import tracemalloc
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_documents import PIECES, SEEDS, documents

from runner.model import Severity, Status
from runner.plan import cache
from runner.plan.cache import iterate_tasks, load_outline, load_plan
from runner.plan.cache_file import CacheFile
from runner.plan.document import common_end, common_start, read_plan, reread
from runner.plan.edit import edit_statuses, find_spans
from runner.plan.sections import read_sections

SAMPLES = Path(__file__).parent / "samples"
NAME = "TASK-GRAPH.md"


def assert_outline_is_the_plan(outline, plan):
    seen = [
        (t.id, t.title, t.line, t.status, t.note, t.type, t.depends_on, t.outputs, t.spec)
        for t in outline.tasks
    ]
    told = [
        (t.id, t.title, t.line, t.status, t.note, t.type, t.depends_on, t.outputs, t.spec)
        for t in plan.tasks
    ]
    assert seen == told
    assert tuple(task.span for task in outline.tasks) == plan.spans
    assert outline.title == plan.title


def mixed(draw, one: bytes, other: bytes) -> bytes:
    """Lines of one document with a stretch replaced by lines of another."""
    lines, others = one.splitlines(keepends=True), other.splitlines(keepends=True)
    start = draw.draw(st.integers(0, len(lines)))
    end = draw.draw(st.integers(start, len(lines)))
    return b"".join((*lines[:start], *others, *lines[end:]))


@given(documents(), documents(), st.data())
def test_the_cache_of_one_file_never_falsifies_another(tmp_path_factory, one, other, draw):
    folder = tmp_path_factory.mktemp("cache")
    load_plan(one, NAME, folder)
    for data in (one, mixed(draw, one, other), other, one[: len(one) // 2], one + other):
        assert_outline_is_the_plan(load_outline(data, NAME, folder), read_plan(data, NAME))
        assert load_plan(data, NAME, folder) == read_plan(data, NAME)


@given(documents(), st.sampled_from(Status), st.sampled_from(["", "why", "a | b", "❌", "<!-- x"]))
def test_after_a_status_edit_the_outline_tells_the_new_statuses(
    tmp_path_factory, data, status, note
):
    folder = tmp_path_factory.mktemp("cache")
    load_outline(data, NAME, folder)
    edited = edit_statuses(data, dict.fromkeys(find_spans(data), (status, note)), find_spans(data))
    assert_outline_is_the_plan(
        load_outline(edited.data, NAME, folder), read_plan(edited.data, NAME)
    )


@pytest.mark.parametrize("name", ["planner-style.md", "tables.md"])
def test_status_edits_leave_the_cache_files_untouched(tmp_path, name):
    data = (SAMPLES / name).read_bytes()
    load_plan(data, NAME, tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    edited = edit_statuses(
        data, dict.fromkeys(find_spans(data), (Status.DONE, "")), find_spans(data)
    )
    plan = load_plan(edited.data, NAME, tmp_path)
    assert {task.status for task in plan.tasks} == {Status.DONE}
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("damage", [b"", b"{", b"[]\n[]", b"\xff\xfe", b"null\nnull"])
def test_a_damaged_cache_is_ignored_and_written_anew(tmp_path, damage):
    data = (SAMPLES / "planner-style.md").read_bytes()
    load_plan(data, NAME, tmp_path)
    whole = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for path in whole:
        path.write_bytes(damage)
    assert load_plan(data, NAME, tmp_path) == read_plan(data, NAME)
    assert {path: path.read_bytes() for path in whole} == whole


def test_a_cache_cut_or_flipped_anywhere_is_ignored(tmp_path):
    data = (SAMPLES / "tables.md").read_bytes()
    load_outline(data, NAME, tmp_path)
    file = tmp_path / "outline.json"
    whole = file.read_bytes()
    for at in range(0, len(whole), 37):
        for broken in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
            file.write_bytes(broken)
            assert_outline_is_the_plan(load_outline(data, NAME, tmp_path), read_plan(data, NAME))


def test_other_prefixes_or_another_path_make_another_cache(tmp_path):
    data = b"## FEAT 7: a\n\n- Type: x\n"
    assert not load_outline(data, NAME, tmp_path).tasks
    assert [task.id for task in load_outline(data, NAME, tmp_path, ("FEAT",)).tasks] == ["FEAT-7"]
    assert not load_outline(data, "other.md", tmp_path).tasks


def test_without_a_folder_or_with_one_that_cannot_be_written_the_plan_is_read_all_the_same(
    tmp_path,
):
    data = b"## TASK-001: a\n"
    (tmp_path / "file").write_text("")
    assert load_outline(data, NAME, None).tasks
    assert load_plan(data, NAME, tmp_path / "file").tasks


def test_problems_are_counted_and_come_back_from_the_cache_with_their_lines(tmp_path):
    data = b"# P\n\n## TASK-001: a\n\n- Status: DNOE\n- Staus: x\n"
    load_plan(data, NAME, tmp_path)
    shifted = b"# P\n\nmore\n\n" + data[5:]
    outline = load_outline(shifted, NAME, tmp_path)
    assert (outline.errors, outline.warnings) == (1, 1)
    problems = load_plan(shifted, NAME, tmp_path).problems
    assert [(p.line, p.severity) for p in problems] == [(7, Severity.ERROR), (8, Severity.WARNING)]


def test_a_second_look_imports_no_parser(tmp_path):
    file = tmp_path / NAME
    file.write_bytes((SAMPLES / "planner-style.md").read_bytes())
    load_plan(file.read_bytes(), NAME, tmp_path / "cache")
    code = (
        "import sys, pathlib; from runner.plan.cache import load_plan\n"
        f"plan = load_plan(pathlib.Path({str(file)!r}).read_bytes(), {NAME!r}, pathlib.Path({str(tmp_path / 'cache')!r}))\n"
        "assert len(plan.tasks) == 4\n"
        "print(sorted({'pydantic', 'markdown_it', 'networkx', 'pathspec'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def plain_plan(tasks, *, every=97):
    """So many plain tasks, every so manieth below a chapter of its own."""
    lines = ["# Plan", ""]
    for number in range(1, tasks + 1):
        if number % every == 0:
            lines += [f"## Chapter {number}", "", "Words.", ""]
        needs = f"TASK-{number - 1:03d}" if number > 1 else "none"
        lines += [f"## TASK-{number:03d}: Step {number}", "", "- Status: PENDING"]
        lines += [f"- Depends on: {needs}", "- Output files: `a.py`", ""]
    return "\n".join(lines).encode()


def sections_of(outline):
    return [(one[1:-1], [(task[:-1], task.spec) for task in one.tasks]) for one in outline.sections]


def assert_kept_as_scanned(data, folder):
    kept, scanned = load_outline(data, NAME, folder), load_outline(data, NAME, None)
    assert sections_of(kept) == sections_of(scanned)
    assert (kept.title, kept.errors, kept.warnings) == (
        *(scanned.title, scanned.errors, scanned.warnings),
    )


@pytest.fixture
def short_stretches(monkeypatch):
    """A stretch ends after 32 sections instead of 512: a short plan has several."""
    monkeypatch.setattr(cache, "_MOST", 32)


@pytest.mark.parametrize("seed", range(2))
def test_stretches_of_plain_sections_are_what_they_would_be_scanned_as(
    tmp_path, seed, short_stretches
):
    chance = random.Random(seed)
    data = plain_plan(82, every=7)
    assert_kept_as_scanned(data, tmp_path)
    for _ in range(6):
        lines = data.split(b"\n")
        at = chance.randrange(len(lines))
        lines[at : at + chance.choice([0, 0, 1, 7])] = chance.choice(
            [
                [b"- Status: DONE"],
                [b"#### Notes", b"", b"Deeper."],
                [b"### TASK-5000: Below", b"", b"- Status: BLOCKED"],
                [b"```", b"## TASK-7000: in a fence"],
                [b"| a table |", b"| --- |"],
                [b"- Priority: high"],
                [b"Odd\r"],
                [],
            ]
        )
        data = b"\n".join(lines)
        if chance.random() < 0.7:
            assert_kept_as_scanned(data, tmp_path)
    assert_kept_as_scanned(data, tmp_path)
    assert_kept_as_scanned(plain_plan(82, every=7), tmp_path)


@pytest.mark.parametrize("behind", [b"#### Notes\n\n", b"### Notes\n\n", b"---\n\n"])
def test_a_stretch_is_known_by_the_line_behind_it_too(tmp_path, behind, short_stretches):
    data = plain_plan(82)
    load_outline(data, NAME, tmp_path)
    for number in (31, 32, 33, 63, 64, 65):
        assert_kept_as_scanned(data.replace(b"## TASK-%03d" % number, behind, 1), tmp_path)


def test_a_plan_seen_before_leaves_its_stretches_as_they_are_and_tells_its_digests(tmp_path):
    data = plain_plan(600)
    (first,) = {one.digests for one in load_outline(data, NAME, tmp_path).tasks}
    assert callable(first), "no digest is made before one is asked for"
    specs = [task.spec for task in load_outline(data, NAME, tmp_path).tasks]
    assert specs == [task.spec for task in read_plan(data, NAME).tasks]
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = load_outline(data, NAME, tmp_path)
    assert {type(task.digests) for task in again.tasks} == {str}, "kept with the stretches"
    assert [task.spec for task in again.tasks] == specs
    edited = data.replace(b"PENDING", b"DONE", 3)
    statuses = [task.status for task in iterate_tasks(edited, NAME, tmp_path)]
    assert statuses == [task.status for task in read_plan(edited, NAME).tasks]
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_stretches_cut_or_flipped_anywhere_are_ignored(tmp_path):
    data = plain_plan(60)
    load_outline(data, NAME, tmp_path)
    file = tmp_path / "stretches.json"
    whole = file.read_bytes()
    for at in range(0, len(whole), 211):
        for broken in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
            file.write_bytes(broken)
            assert_kept_as_scanned(data, tmp_path)


def test_digests_of_some_tasks_of_a_large_plan_read_only_their_sections(tmp_path, monkeypatch):
    data = "".join(
        f"## TASK-{n:04}: A\n\n- Test contracts:\n  - TC-{n:04} (unit): `true`\n\n"
        for n in range(1, 501)
    ).encode()
    wanted = [task.spec for task in read_plan(data, NAME).tasks]
    read = []
    once = cache._Learner.read
    monkeypatch.setattr(
        cache._Learner, "read", lambda *one, **kept: read.append(one) or once(*one, **kept)
    )
    tasks = load_outline(data, NAME, tmp_path).tasks
    assert [tasks[n].spec for n in (0, 250, 499)] == [wanted[n] for n in (0, 250, 499)]
    assert len(read) == 3
    assert [task.spec for task in tasks] == wanted
    again = load_outline(data, NAME, tmp_path).tasks
    assert [task.spec for task in again] == wanted


def test_a_row_has_the_lines_of_all_parts_counted_from_its_section(tmp_path):
    parts = (
        "- Output files: `a.py`\n- Test contracts:\n  - TC-001 (unit): `a`\n  - TC-2: ` b `\n"
        "- Contracts:\n  - schema: `c.json` = `m:T`\n- Gates:\n  - lint: `ruff`\n\n"
        "```python file=a.py\nx = 1\n```\n\n"
    )
    data = "".join(f"## TASK-{n:03}: A\n\n- Status: DONE\n{parts}" for n in (1, 2, 3)).encode()
    wanted = read_plan(data, NAME)
    assert load_plan(data, NAME, tmp_path) == wanted
    assert load_plan(data, NAME, tmp_path) == wanted
    moved = b"# Title\n\nWords.\n\n" + data
    assert load_plan(moved, NAME, tmp_path) == read_plan(moved, NAME)


STAMP: list[object] = [1, "TASK-GRAPH.md"]


def opened(folder):
    return CacheFile(folder, "rows.json", STAMP)


def keep(folder, keys):
    """Ask for rows by these keys and keep them; what was found, and what was made anew."""
    found, made = [], []
    with opened(folder) as rows:
        for key in keys:
            row = rows.take(key, lambda value: value)
            (made if row is None else found).append(key)
            if row is None:
                rows.put(key, b'{"of":"%b"}' % key.encode())
        rows.keep()
    return "".join(found), "".join(made)


def test_rows_are_found_again_in_their_order(tmp_path):
    assert keep(tmp_path, "abc") == ("", "abc")
    before = (tmp_path / "rows.json").stat().st_mtime_ns
    assert keep(tmp_path, "abc") == ("abc", "")
    assert (tmp_path / "rows.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("keys", ["cab", "bc", "axbc", "abcx", "c", ""])
def test_rows_that_moved_are_found_and_stand_in_the_new_order_next_time(tmp_path, keys):
    keep(tmp_path, "abc")
    found, made = keep(tmp_path, keys)
    assert (found, made) == (keys.replace("x", ""), "x" if "x" in keys else "")
    with opened(tmp_path) as rows:
        assert [key for key, _ in rows.texts()] == list(keys)


def test_an_odd_row_is_made_anew_and_the_others_stay(tmp_path):
    keep(tmp_path, "abc")
    with opened(tmp_path) as rows:
        assert rows.take("a", bool) is True
        assert rows.take("b", lambda _: None) is None
        rows.put("b", b"new")
        assert rows.take("c", bool) is True
        rows.keep()
    with opened(tmp_path) as rows:
        assert [row for _, row in rows.texts()] == [b'{"of":"a"}', b"new", b'{"of":"c"}']


def test_a_row_with_a_flipped_byte_is_made_anew(tmp_path):
    keep(tmp_path, "abc")
    file = tmp_path / "rows.json"
    file.write_bytes(file.read_bytes().replace(b'{"of":"b"}', b'{"of":"x"}'))
    assert keep(tmp_path, "abc") == ("ac", "b")
    assert keep(tmp_path, "abc") == ("abc", "")


def test_a_file_that_was_cut_has_the_rows_that_are_whole(tmp_path):
    keep(tmp_path, "abc")
    file = tmp_path / "rows.json"
    file.write_bytes(file.read_bytes()[:-3])
    assert keep(tmp_path, "abc") == ("ab", "c")
    assert keep(tmp_path, "abc") == ("abc", "")


def test_another_stamp_has_no_rows(tmp_path):
    keep(tmp_path, "abc")
    with CacheFile(tmp_path, "rows.json", [2]) as rows:
        assert rows.take("a", bool) is None


def test_reading_many_rows_holds_one_at_a_time(tmp_path):
    keys = [f"{one:05}" for one in range(20_000)]
    with opened(tmp_path) as rows:
        for key in keys:
            rows.put(key, b"x" * 200)
        rows.keep()
    tracemalloc.start()
    try:
        with opened(tmp_path) as rows:
            assert all(rows.take(key, bool) for key in keys)
            rows.keep()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < (tmp_path / "rows.json").stat().st_size / 4


PREFIXES = ("JIRA",)


def whole(data):
    return tuple(read_sections(data, "p", PREFIXES))


@given(documents(), documents(), st.data())
def test_after_any_change_the_sections_are_those_of_the_new_text(one, other, draw):
    start = draw.draw(st.integers(0, len(one)))
    end = draw.draw(st.integers(start, len(one)))
    new = one[:start] + draw.draw(st.sampled_from([b"", b"#", b"\n", b"x", b"```\n", other]))
    new += one[end:]
    assert reread(new, "p", PREFIXES, one, whole(one)) == whole(new)


@pytest.mark.parametrize("seed", range(2))
def test_a_hundred_edits_in_a_row_never_drift_from_the_text(seed):
    chance = Random(seed)
    data = chance.choice(SEEDS)[:12_000]
    known = whole(data)
    for _ in range(100):
        at = chance.randint(0, len(data))
        upto = min(len(data), at + chance.choice((0, 0, 1, 2, 40)))
        put = chance.choice((b"", b"x", b"\n", b"#", b"`", b"-", b" ", chance.choice(PIECES)[:400]))
        new = data[:at] + put + data[upto:]
        known = reread(new, "p", PREFIXES, data, known)
        data = new[:40_000]
        if data != new:
            known = whole(data)
        assert known == whole(data)


def test_only_the_sections_around_a_change_are_read(monkeypatch):
    from runner.plan import document as module

    text = "".join(f"## TASK-{n:03d}: T\n\n- Type: data\n\nProse.\n\n" for n in range(1, 101))
    old = text.encode()
    new = old.replace(b"TASK-050: T", b"TASK-050: Title")
    read = []
    real = module.section_at
    monkeypatch.setattr(module, "section_at", lambda *a: read.append(a[1]) or real(*a))
    known = whole(old)
    found = reread(new, "p", PREFIXES, old, known)
    assert found == whole(new)
    assert len(read) <= 4
    assert found[10] is known[10]


@given(st.binary(max_size=9000), st.binary(max_size=9000), st.binary(max_size=40))
def test_where_two_texts_part_is_found_from_both_ends(left, right, middle):
    one, other = left + middle + right, left + right
    start, end = common_start(one, other), common_end(one, other)
    assert one[:start] == other[:start]
    assert start == len(other) or one[start] != other[start] or start == len(one)
    assert end == 0 or one[-end:] == other[-end:]
    assert start >= len(left)
    assert end >= len(right)
