"""A plan read again around a change is the plan read whole."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_documents import documents
from plan_mutations import PIECES, SEEDS

from runner.plan.document import common_end, common_start, reread
from runner.plan.sections import read_sections

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
