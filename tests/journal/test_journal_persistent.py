from hypothesis import given, settings
from hypothesis import strategies as st

from runner.journal.state import Building, PersistentMap

KEYS = st.one_of(st.text(max_size=3), st.tuples(st.text(max_size=2), st.integers(0, 3)))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(KEYS, st.integers())))
def test_it_is_a_dict_that_keeps_every_older_version(items):
    plain: dict = {}
    frozen: PersistentMap = PersistentMap()
    versions = [(frozen, {})]
    for key, value in items:
        plain[key] = value
        building = Building(frozen)
        building[key] = value
        frozen = building.finish()
        versions.append((frozen, dict(plain)))
    for version, expected in versions:
        assert version == expected
        assert len(version) == len(expected)
        assert sorted(map(repr, version)) == sorted(map(repr, expected))
    assert PersistentMap(items) == plain


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(KEYS, st.integers()), st.lists(st.tuples(KEYS, st.integers())))
def test_building_on_never_changes_what_it_was_built_from(start, items):
    frozen = PersistentMap(start.items())
    building = Building(frozen)
    expected = dict(start)
    for key, value in items:
        building[key] = value
        expected[key] = value
        assert building[key] == value
    middle = building.finish()
    building["more"] = 1
    assert frozen == start
    assert middle == expected
    assert dict(building) == {**expected, "more": 1}
    assert len(building) == len({**expected, "more": 1})


def test_what_was_not_changed_is_the_very_same():
    frozen = PersistentMap([("a", 1)])
    assert Building(frozen).finish() is frozen
    assert frozen.get("b") is None
    assert Building().get("b") is None


def test_the_order_does_not_depend_on_the_process(tmp_path):
    import subprocess
    import sys

    program = (
        "from runner.journal.state import PersistentMap as P;"
        "print(*P((f'TASK-{n:03d}', n) for n in range(300)))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_a_stored_sequence_is_the_tuple_it_stands_for_and_waits_to_be_read():
    import json

    from runner.journal.snapshot import Stored

    read = []

    def doubled(text):
        read.append(text)
        return tuple(2 * one for one in json.loads(text))

    stored = Stored(b"[1, 2, 3]", doubled)
    assert stored
    assert not read
    assert stored == (2, 4, 6)
    assert stored == (2, 4, 6)
    assert stored == Stored(b"[1,2,3]", doubled)
    assert (stored[0], stored[1:], len(stored), list(stored)) == (2, (4, 6), 3, [2, 4, 6])
    assert hash(stored) == hash((2, 4, 6))
    assert repr(stored) == "(2, 4, 6)"
    assert read == [b"[1, 2, 3]", b"[1,2,3]"]
