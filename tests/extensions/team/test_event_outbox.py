"""Events of a team's builds, as whoever tells them on reads them: nothing lost, nothing twice."""

import json

import pytest
from sqlalchemy import text
from store_build import a_store, new_database
from workers import wait_until

from runner.errors import ExitCode, RunnerError
from runner.extensions.team.build_queue import (
    BuildOrder,
    cancel_build,
    find_build,
    queue_build,
    retry_build,
)
from runner.extensions.team.event_rows import DeliveryTurn, StoredEvents, add_lines, note_event
from runner.extensions.team.repository_list import Registered
from runner.extensions.telemetry.outbox import Positions, StoreOutbox

SHOP = Registered("shop", "/srv/shop.git", "main", "", "", "2026-01-02T00:00:00Z", "ada@here")


def a_build(store):
    return queue_build(store, BuildOrder(SHOP, "ada"))


def lines(number):
    from runner.journal.events import ModeSwitched, Record
    from runner.journal.records import encode

    found = []
    for seq in range(1, number + 1):
        envelope = (seq, "2026-01-02T03:04:05.000006Z", "run", "mode.switched", "", 0, "", "")
        found.append(encode(Record(f"j-{seq}", *envelope, "runner/1", ModeSwitched(mode="serial"))))
    return found


def told(outbox, positions):
    found = []
    for message in outbox.read(positions):
        found.append(message)
        positions.move(message)
    return [(one.journal, one.seq) for one in found]


def test_every_event_comes_once_and_the_builds_own_last(store):
    first, second = a_build(store), a_build(store)
    with store.write() as connection:
        add_lines(connection, first.id, "j-1", lines(700))
        note_event(connection, first.id, "build.claimed")
    outbox, positions = StoreOutbox(StoredEvents(store)), Positions({})
    assert told(outbox, positions) == [
        *(("j-1", seq) for seq in range(1, 701)),
        *((first.id, seq) for seq in (1, 2)),
        (second.id, 1),
    ]
    assert told(outbox, positions) == []
    with store.write() as connection:
        note_event(connection, second.id, "build.claimed")
    assert told(outbox, positions) == [(second.id, 2)]


def test_one_process_at_a_time_tells_the_events_of_a_store_on_any_machine(postgres):
    address = new_database(postgres)
    with a_store(address) as mine, a_store(address) as theirs:
        made = a_build(mine)
        first, second = DeliveryTurn(mine), DeliveryTurn(theirs)
        ours = StoreOutbox(StoredEvents(mine, turn=first))
        other = StoreOutbox(StoredEvents(theirs, turn=second))
        positions, behind = Positions({}), Positions({})
        assert told(ours, positions) == [(made.id, 1)]
        with pytest.raises(RunnerError, match="another process already delivers") as refused:
            told(other, behind)
        assert refused.value.code is ExitCode.CONFLICT
        with theirs.write() as connection:  # the first one's connection is cut off
            others = "pid <> pg_backend_pid() AND datname = current_database()"
            connection.execute(
                text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
            )
        wait_until(lambda: has_turn(second))
        with pytest.raises(RunnerError, match="another process already delivers"):
            told(ours, positions)
        second.close()
        wait_until(lambda: has_turn(first))
        assert told(ours, positions) == []
        first.close()
        first.close()


def has_turn(turn):
    try:
        turn.require()
    except RunnerError:
        return False
    return True


def test_a_build_that_ends_between_two_looks_is_told_to_its_end(store):
    made = a_build(store)
    outbox, positions = StoreOutbox(StoredEvents(store)), Positions({})
    told(outbox, positions)
    cancel_build(store, made, "eve")
    later = a_build(store)
    cancel_build(store, later, "eve")
    assert told(outbox, positions) == [(made.id, 2), (later.id, 1), (later.id, 2)]


def test_what_happened_while_nobody_looked_is_told_by_the_next_one(store):
    made, positions = a_build(store), Positions({})
    cancel_build(store, made, "eve")
    told(StoreOutbox(StoredEvents(store)), positions)
    retry_build(store, find_build(store, made.id), "ada")
    cancel_build(store, made, "eve")
    assert told(StoreOutbox(StoredEvents(store)), positions) == [(made.id, 3), (made.id, 4)]


def test_what_was_not_told_to_its_end_is_looked_at_again(store):
    made = a_build(store)
    cancel_build(store, made, "eve")
    outbox, positions = StoreOutbox(StoredEvents(store)), Positions({})
    assert next(outbox.read(positions)).seq == 1  # and its receiver did not answer
    assert told(outbox, positions) == [(made.id, 1), (made.id, 2)]
    assert told(outbox, Positions({})) == []  # it is over and was told
    outbox.look_again()
    assert told(outbox, Positions({})) == [(made.id, 1), (made.id, 2)]


def test_one_build_alone_can_be_followed(store):
    made, _ = a_build(store), a_build(store)
    outbox = StoreOutbox(StoredEvents(store, made.id))
    (message,) = outbox.read(Positions({}))
    assert (message.journal, message.repository, message.type) == (made.id, "shop", "build.queued")
    fields = json.loads(message.text())
    assert fields["key"] == f"{made.id}:1"
    assert fields["event"]["by"] == "ada"


def test_the_command_prints_a_team_s_events(workplace, postgres):
    address = new_database(postgres)
    with a_store(address) as store:
        made, other = a_build(store), a_build(store)
    words = ("events", "--store", address.replace("+psycopg", ""))
    said = workplace.runner(*words, "--team", "--json").out.splitlines()
    assert [json.loads(line)["key"] for line in said] == [f"{made.id}:1", f"{other.id}:1"]
    said = workplace.runner(*words, "--build", made.short, "--after", f"{made.id}:1")
    assert (said.code, said.out) == (0, "")
    said = workplace.runner(*words, "--build", other.short)
    assert "shop 1  -  build.queued  ada" in said.out
    assert "name its journal" in workplace.runner(*words, "--after", "3").err


def test_an_end_is_told_after_all_before_it_however_slow_the_receiver_is(store):
    made = a_build(store)
    every = lines(4)
    with store.write() as connection:
        add_lines(connection, made.id, "j-1", every[:2])
    positions, found = Positions({}), []
    for message in StoreOutbox(StoredEvents(store)).read(positions):
        found.append((message.journal, message.seq))
        positions.move(message)
        if found == [("j-1", 1)]:  # the worker goes on meanwhile, and the build ends
            with store.write() as connection:
                add_lines(connection, made.id, "j-1", every[2:])
            cancel_build(store, made, "eve")
    assert found == [("j-1", 1), ("j-1", 2), (made.id, 1)]
    later = StoreOutbox(StoredEvents(store))  # of a process that begins where the other was killed
    assert told(later, positions) == [("j-1", 3), ("j-1", 4), (made.id, 2)]
