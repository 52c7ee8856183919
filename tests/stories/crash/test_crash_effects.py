"""A run that ends before any one of its effects, or whose files lost their end, goes on."""

import os
import random
from functools import partial
from itertools import pairwise

import pytest
from crash_house import moves
from crash_ways import (
    BROKEN,
    FULL,
    STOPPED,
    fail_at,
    power_cut_at,
    stop_after,
    stop_at,
    stop_behind,
)

SHARDS = 8
"""So that several workers share the numbers; each takes every eighth."""
THIN = int(os.environ.get("CRASH_THIN", "2"))
EVERY = {"small": 5 * THIN, "whole": 13 * THIN, "fail": 14 * THIN, "power": 9 * THIN}
"""The suite takes one number in so many, another one at each change of SEED; a campaign all."""
SEED = int(os.environ.get("CRASH_SEED", "1"))


def numbers(count, shard, every):
    """This shard's part of a sample of 1 … count."""
    first = random.Random(SEED).randrange(every)
    return range(1 + first + shard * every, count + 1, every * SHARDS)


@pytest.mark.nightly(
    sibling="tests/stories/simulation/test_simulation.py::test_whatever_happens_nothing_is_lost_and_nothing_lands_twice"
)
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("name", ["small", "whole"])
def test_a_run_stopped_before_an_effect_goes_on_to_the_same_end(request, name, shard):
    story = request.getfixturevalue(name)
    for k in numbers(story.count, shard, EVERY[name]):
        house = story.begin()
        ended = house.run(watch=stop_at(k)).code
        # threads share some effects, so a run may have a few less than the one that was counted
        assert ended == STOPPED or (ended == 0 and k > 0.95 * story.count)
        story.still_holds(house, story.told_at(k))
        story.goes_on(house, story.told_at(k))


@pytest.mark.parametrize("shard", range(SHARDS // 2))
def test_a_run_stopped_while_it_puts_an_earlier_crash_right_goes_on_too(small, shard):
    chance = random.Random(SEED * 100 + shard)
    first, second = chance.randint(60, small.count), chance.randint(25, 90)
    house = small.begin()
    house.run(watch=stop_at(first))
    house.run(watch=stop_at(second))
    small.goes_on(house, f"{small.told_at(first)}, then effect {second}")


@pytest.mark.nightly(
    sibling="tests/journal/test_journal_log.py::test_one_fsync_makes_everything_before_it_durable"
)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_power_cut_loses_what_no_fsync_had_reached_and_nothing_else(small, shard):
    for k in numbers(small.count, shard, EVERY["power"]):
        house = small.begin()
        house.run(watch=power_cut_at(k, house.repo, torn=random.Random(k).choice((0, 1, 40))))
        small.goes_on(house, f"power cut at {small.told_at(k)}")


@pytest.mark.nightly(
    sibling="tests/writes/test_writes_safe_io.py::test_a_full_disk_is_told_and_leaves_nothing_half_written"
)
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("stays", [False, True], ids=["once", "from-then-on"])
@pytest.mark.parametrize("code", [FULL, BROKEN], ids=["ENOSPC", "EIO"])
def test_an_effect_that_fails_is_told_and_the_next_run_goes_on(small, shard, code, stays):
    for k in numbers(small.count, shard, EVERY["fail"]):
        house = small.begin()
        ended = house.run(watch=fail_at(k, code, stays=stays))
        assert "Traceback" not in ended.said, f"{small.told_at(k)}\n{ended.said}"
        assert ended.code in (0, 1, 2, 3, 6), f"{small.told_at(k)}\n{ended.said}"
        assert ended.code == 0 or "hint:" in ended.said or ended.code in (1, 3), ended.said
        small.still_holds(house, small.told_at(k))
        small.goes_on(house, small.told_at(k))


# --- a file that lost its end ---------------------------------------------------------


LAST = int(os.environ.get("CRASH_CUT_RECORDS", "8"))
"""Records from the end that are cut, each at its ends and somewhere inside."""


def cuts(journal, last=LAST):
    """Lengths to cut a journal to: around every line end, and once inside each line."""
    data = journal.read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")][-last - 1 :]
    found = set(ends[:-1])
    for begin, end in pairwise(ends):
        found |= {begin + 1, random.Random(begin).randrange(begin + 1, end), end - 1}
    return sorted(found)


def cut_and_go_on(story, house, length, where):
    with house.journal.open("r+b") as file:
        file.truncate(length)
    ended = house.run()
    assert ended.code == 0, f"{where}, cut at {length}: {ended.said}"
    story.same_end(house, f"{where}, cut at {length}")


@pytest.mark.nightly(
    sibling="tests/journal/test_journal_state.py::test_a_crash_between_landed_and_done_shows_the_commit_and_its_proof"
)
@pytest.mark.parametrize("part", range(6))
def test_a_journal_that_lost_its_end_after_a_complete_run(small, part):
    for length in cuts(small.end.journal)[part::6]:
        house = small.end.copied(small.place)
        cut_and_go_on(small, house, length, "after a complete run")


@pytest.mark.nightly(
    sibling="tests/journal/test_journal_log.py::test_every_prefix_of_whole_records_opens_and_goes_on"
)
@pytest.mark.parametrize("part", range(6))
def test_a_journal_that_lost_its_end_after_an_interrupted_run(small, part):
    house = small.begin()
    house.run(watch=stop_after(partial(moves, "index"), 2))
    halted = house.copied(small.place.with_name(f"halted-{part}"))
    for length in cuts(halted.journal)[part::6]:
        cut_and_go_on(small, halted.copied(small.place), length, "after an interrupted run")


def lengths(data, part, parts, step):
    return range(1 + part * step, len(data), step * parts)


@pytest.mark.parametrize("part", range(2))
def test_a_plan_that_an_editor_truncated_is_refused_or_read_and_restored_goes_on(small, part):
    at_work = [n for n, (kind, _) in enumerate(small.ended.effects, 1) if kind == "scratch"]
    house = small.begin()
    house.run(watch=stop_at(at_work[-1]))  # before anything of the second task is finished
    halted = house.copied(small.place.with_name(f"torn-{part}"))
    plan = halted.read("TASK-GRAPH.md")
    for length in lengths(plan, part, 2, 94):
        house = halted.copied(small.place)
        (house.repo / "TASK-GRAPH.md").write_bytes(plan[:length])
        ended = house.run()
        assert "Traceback" not in ended.said, f"{length}: {ended.said}"
        assert ended.code != 70, f"{length}: {ended.said}"
        if ended.code == 2:
            assert "TASK-GRAPH.md" in ended.said, ended.said
        (house.repo / "TASK-GRAPH.md").write_bytes(plan)
        ended = house.run()
        assert ended.code == 0, f"restored after {length}: {ended.said}"
        small.same_end(house, f"restored after {length}")


@pytest.mark.parametrize("name", ["CHECKPOINT.md", "DECISIONS.md", "WRITE_LOG.jsonl"])
def test_a_document_that_lost_the_end_of_its_last_entry_gets_it_again(small, name):
    """As a power cut leaves it when it comes before the entry's own event is durable."""

    def is_written(kind, target):
        return kind == "write" and target.endswith(f"artifacts/build/{name}")

    told = sum(is_written(*one) for one in small.ended.effects)
    times = 1 if name == "CHECKPOINT.md" else told
    assert told
    while True:
        house = small.begin()
        if house.run(watch=stop_behind(is_written, times)).code == STOPPED:
            break
        times -= 1  # documents are written by the clock: this run wrote it less often
    file = house.repo / "artifacts/build" / name
    file.write_bytes(file.read_bytes()[:-5])
    small.goes_on(house, f"{name} torn after write {times}")


def test_a_journal_damaged_in_its_middle_is_refused_and_left_alone(small):
    house = small.end.copied(small.place)
    data = house.journal.read_bytes()
    place = data.index(b"\n") + 30
    house.journal.write_bytes(data[:place] + b"X" + data[place + 1 :])
    (house.repo / "TASK-GRAPH.md").write_bytes(small.start.read("TASK-GRAPH.md"))
    damaged = house.journal.read_bytes()
    ended = house.run()
    assert ended.code == 2
    assert "the journal is damaged: line 2" in ended.said
    assert house.journal.read_bytes() == damaged
