"""The claim: one worker has a build, for as long as it says so."""

import threading
import time

import pytest
from msgspec.structs import replace
from sqlalchemy import event
from store_build import a_store, new_database
from test_store import a_build

from runner.extensions.team.build_claim import (
    Claimer,
    LostClaimError,
    beat,
    claim_build,
    finish_build,
    note_mine,
    release_build,
)
from runner.extensions.team.build_queue import (
    BuildOrder,
    answer_build,
    cancel_build,
    find_build,
    queue_build,
    read_build,
    retry_build,
)
from runner.extensions.team.projections import find_faults
from runner.extensions.team.repository_list import Registered
from runner.extensions.team.store_engine import Doorbell, UnfitValueError
from runner.extensions.team.tables import builds
from runner.extensions.team.team_budget import Bound, set_bound

SHOP = Registered("shop", "/srv/shop.git", "main", "", "", "2026-01-02T00:00:00Z", "ada@here")
ADA = Claimer("ada@here/1", "here", ("gpu",), ttl=30)
BOB = Claimer("bob@there/2", "there", ttl=30)
GONE = Claimer("gone@there/3", "there", ttl=-1)
"""A worker whose claim is over as soon as it is made."""


def queued(store, **fields):
    return queue_build(store, BuildOrder(SHOP, "ada@here", **fields))


def kinds(store, build):
    return [one["type"] for one in read_build(store, build).events]


def test_the_highest_priority_is_claimed_first_and_then_the_oldest(store):
    first, second = queued(store), queued(store)
    urgent = queued(store, priority=5)
    got = [claim_build(store, BOB).id for _ in range(3)]
    assert got == [urgent.id, first.id, second.id]
    assert claim_build(store, BOB) is None
    row = find_build(store, first.id)
    assert (row.state, row.worker, row.token, row.attempts) == ("ANALYZING", BOB.name, 1, 1)
    assert kinds(store, first) == ["build.queued", "build.claimed"]
    assert list(find_faults(store)) == []


def test_a_worker_needs_all_tags_of_a_build(store):
    made = queued(store, tags=("gpu", "big"))
    assert claim_build(store, BOB) is None
    assert claim_build(store, ADA) is None
    both = Claimer("eve", "here", ("big", "gpu", "arm"))
    assert claim_build(store, both).id == made.id


def test_of_one_branch_one_build_goes_on_at_a_time(store):
    first, second = queued(store, branch="feature/a"), queued(store, branch="feature/a")
    mine = claim_build(store, BOB)
    assert (mine.id, claim_build(store, ADA)) == (first.id, None)
    finish_build(store, mine, "COMPLETED", "", "c0ffee")
    assert claim_build(store, ADA).id == second.id
    done = find_build(store, first.id)
    assert (done.state, done.head) == ("COMPLETED", "c0ffee")
    assert list(find_faults(store)) == []


def test_who_was_given_up_writes_nothing_any_more(store):
    queued(store)
    lost = claim_build(store, GONE)
    mine = claim_build(store, ADA)
    assert (mine.id, mine.token, mine.attempts) == (lost.id, 2, 2)
    before = read_build(store, mine)
    for write in (
        lambda: beat(store, lost, 30),
        lambda: note_mine(store, lost, "clone.started"),
        lambda: finish_build(store, lost, "COMPLETED", ""),
        lambda: release_build(store, lost, "stopped"),
    ):
        with pytest.raises(LostClaimError, match="taken over by another worker"):
            write()
    assert read_build(store, mine) == before
    assert beat(store, mine, 30).cancelled_by == ""


def test_a_build_with_which_three_workers_were_lost_has_failed(store):
    made = queued(store)
    answer_build(store, made, ("approve", "TASK-001", ""), "eve")
    for _ in range(3):
        assert claim_build(store, GONE).id == made.id
    assert claim_build(store, ADA) is None
    ended = read_build(store, made)
    assert (ended.build.state, ended.build.note) == (
        "FAILED",
        "3 workers were lost while building it",
    )
    assert ended.answers[0]["outcome"] == "the build is FAILED"
    assert list(find_faults(store)) == []
    retry_build(store, ended.build, "ada")
    assert claim_build(store, ADA).attempts == 1


def test_a_build_that_was_handed_back_lost_nobody(store):
    made = queued(store)
    for _ in range(4):
        release_build(store, claim_build(store, ADA), "the worker was ended")
    assert claim_build(store, BOB).id == made.id
    assert kinds(store, made).count("build.released") == 4


def test_a_cancelled_build_whose_worker_died_is_cancelled_by_the_next_one(store):
    made = queued(store)
    claim_build(store, GONE)
    assert cancel_build(store, made, "eve") == "ANALYZING"
    assert claim_build(store, ADA) is None
    assert find_build(store, made.id).state == "CANCELLED"
    assert list(find_faults(store)) == []


@pytest.mark.parametrize("more", [{"waits": "TASK-001"}, {"after": 600.0}, {}])
def test_a_cancel_of_the_moment_in_which_it_is_handed_back_ends_it(store, more):
    """Its worker had heard nothing yet: it would wait for a person, who wants it no more."""
    made = queued(store)
    mine = claim_build(store, ADA)
    cancel_build(store, made, "eve")
    assert release_build(store, mine, "TASK-001 waits for a person", **more) == "eve"
    row = find_build(store, made.id)
    assert (row.state, row.waits, row.note) == ("CANCELLED", "", "cancelled by eve")
    assert list(find_faults(store)) == []


def test_a_worker_hears_with_its_next_beat_that_a_build_is_cancelled(store):
    made = queued(store)
    mine = claim_build(store, ADA)
    cancel_build(store, made, "eve")
    assert beat(store, mine, 30).cancelled_by == "eve"
    finish_build(store, mine, "CANCELLED", "cancelled by eve")
    with pytest.raises(LostClaimError):
        beat(store, mine, 30)


def test_what_waits_for_a_person_is_claimed_once_they_answered_by_its_host_first(store):
    made = queued(store)
    release_build(store, claim_build(store, ADA), "", waits="TASK-001: review")
    assert claim_build(store, ADA) is None
    assert find_build(store, made.id).waits == "TASK-001: review"
    answer_build(store, made, ("approve", "TASK-001", ""), "eve")
    assert claim_build(store, BOB) is None
    assert claim_build(store, ADA).id == made.id
    assert list(find_faults(store)) == []


@pytest.mark.parametrize("held", ["branch", "budget"])
def test_a_build_is_not_kept_from_its_worker_by_one_that_nobody_can_begin(store, held):
    queued(store, branch="feature/a")
    going = claim_build(store, BOB)
    if held == "budget":
        set_bound(store, Bound("shop", at_once=1, by="ada"))
    branch = "feature/a" if held == "branch" else "feature/b"
    held_up = queued(store, branch=branch, priority=5)
    tea = replace(SHOP, name="tea")
    mine = queue_build(store, BuildOrder(tea, "ada", branch="feature/c"))
    assert claim_build(store, ADA).id == mine.id
    release_build(store, going, "")
    queue_build(store, BuildOrder(tea, "ada", branch="feature/d"))
    assert claim_build(store, ADA).id == held_up.id, "now it can, and goes first"


def test_a_build_that_is_put_off_is_nobody_s_until_then(store):
    made = queued(store)
    release_build(store, claim_build(store, ADA), "held by dev@laptop", after=0.4)
    assert claim_build(store, ADA) is None
    time.sleep(0.5)
    assert claim_build(store, BOB).id == made.id


def test_the_time_that_workers_had_a_build_adds_up(store):
    made = queued(store, timeout=60)
    mine = claim_build(store, ADA)
    time.sleep(0.3)
    release_build(store, mine, "stopped")
    again = claim_build(store, Claimer("x", "here", ttl=0.2))
    assert 0.25 < again.spent < 5
    time.sleep(0.3)
    third = claim_build(store, BOB)
    assert 0.15 < third.spent - again.spent < 0.25  # as long as it was heard of
    assert find_build(store, made.id).spent == third.spent


def test_forty_builds_are_claimed_once_each_by_many_at_once(address):
    with a_store(address) as store:
        for _ in range(40):
            queued(store)
        for _ in range(10):
            queued(store, branch="feature/same")
    got, mutex = [], threading.Lock()

    def work(number):
        from runner.extensions.team.store_engine import open_engine

        store = open_engine(address)
        me = Claimer(f"w{number}", "here")
        while True:
            mine = claim_build(store, me)
            if mine is None:
                if not left(store):
                    break
                continue
            with mutex:
                got.append(mine.id)
            finish_build(store, mine, "COMPLETED", "")
        store.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert sorted(set(got)) == sorted(got)
    assert len(got) == 50
    with a_store(address) as store:
        assert list(find_faults(store)) == []


def left(store):
    from sqlalchemy import func, select

    with store.read() as connection:
        open_ones = select(func.count()).where(builds.c.state == "PENDING")
        return connection.execute(open_ones).scalar()


def test_the_doorbell_rings_within_a_second(store):
    rung = threading.Event()
    with Doorbell(store, rung):
        time.sleep(0.7)
        rung.clear()
        began = time.monotonic()
        queued(store)
        assert rung.wait(2)
        assert time.monotonic() - began < 1


def test_a_build_takes_few_ways_to_the_store(store):
    """Each is waited for, while rows are locked: on a busy machine they are what a claim costs."""
    said = []
    queued(store)

    def hear(*told):
        said.extend([told[2]] if not told[2].startswith("BEGIN") else [])  # SQLite's own

    event.listen(store.engine, "before_cursor_execute", hear)
    mine = claim_build(store, BOB)
    claimed = len(said)
    beat(store, mine, 30)
    beaten = len(said)
    finish_build(store, mine, "COMPLETED", "")
    assert (claimed, beaten - claimed) == (4, 1), said
    assert len(said) - beaten <= 8, said
    assert list(find_faults(store)) == []


def test_the_claim_finds_its_row_by_an_index(postgres):
    from sqlalchemy.dialects import postgresql

    from runner.extensions.team.build_claim import _claim

    with a_store(new_database(postgres)) as store:
        with store.write() as connection:
            rows = [a_build(n, state="COMPLETED") for n in range(3000)]
            connection.execute(builds.insert(), rows)
            connection.exec_driver_sql("ANALYZE builds")
        said = _claim(store, BOB, ()).compile(
            dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True}
        )
        with store.read() as connection:
            plan = "\n".join(
                connection.exec_driver_sql(f"EXPLAIN {said}".replace("%", "%%")).scalars()
            )
    assert "to_claim" in plan
    assert "Seq Scan on builds" not in plan


def test_what_a_store_cannot_keep_is_no_store_that_is_away(store):
    cannot = [{"tags": ("\udcff",)}, {"by": "\udcff"}, {"priority": 10**30}]
    if not store.is_sqlite:  # which keeps it
        cannot.append({"tags": ("a\x00b",)})
    for fields in cannot:
        with pytest.raises(UnfitValueError, match="cannot save this"):
            queue_build(store, BuildOrder(SHOP, **{"by": "ada@here"} | fields))
    queued(store)
