"""Copies of old builds go whole, and what is left agrees; without workers on both real stores."""

import contextlib
from datetime import timedelta

import pytest
from test_store import a_build, fill
from workers import a_step

from runner import effects
from runner.extensions.team.build_queue import cancel_build, read_build, retry_build
from runner.extensions.team.event_rows import find_last_seq, list_journals, note_event
from runner.extensions.team.projections import find_faults, rebuild
from runner.extensions.team.store_upkeep import count_pruned, prune_copies

DAY = 86_400.0


@contextlib.contextmanager
def later():
    """A hundred days from now."""
    now = effects.now() + timedelta(days=100)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(effects, "now", lambda: now)
        yield


def prune(store, days=90, *, dry_run=False):
    return list(prune_copies(store, days * DAY, "ada@here", dry_run=dry_run))


def copies(store, build):
    with store.read() as connection:
        journals = list_journals(connection, build.id)
        return [find_last_seq(connection, one) for one in journals]


def test_an_old_build_loses_its_copies_and_all_else_agrees(workers):
    shop = workers.repository("shop", a_step(1), a_step(2, needs=("TASK-001",)))
    build, waits = workers.queue(shop), workers.queue(shop)
    cancel_build(workers.store, waits, "ada@here")
    workers.work()
    had = copies(workers.store, build)
    assert had[0] > 10
    kinds = workers.kinds(build)
    assert prune(workers.store) == []  # it ended a moment ago
    with later():
        (told,) = prune(workers.store, dry_run=True)
        assert (told.id, told.state, told.journals, [told.events]) == (
            build.id,
            "COMPLETED",
            1,
            had,
        )
        assert copies(workers.store, build) == had
        assert prune(workers.store, 101) == []
        assert prune(workers.store) == [told]
        assert prune(workers.store) == []
    assert copies(workers.store, build) == []
    own = [one for one in read_build(workers.store, build).events if one["journal"] == build.id]
    assert [one["type"] for one in own] == [
        one
        for one in kinds
        if one.startswith(("build.", "clone.", "push.", "analysis.", "branch.", "verification."))
    ] + ["build.pruned"]
    assert workers.tasks(build) == {"TASK-001": "DONE", "TASK-002": "DONE"}
    assert (workers.faults, count_pruned(workers.store)) == ([], 1)

    made = rebuild(workers.store)  # though its clone is on this machine
    assert (made.pruned, made.events, made.unreached) == (1, 0, ())
    assert copies(workers.store, build) == []
    assert (workers.faults, workers.build(build).state) == ([], "COMPLETED")

    retry_build(workers.store, workers.build(build), "ada@here")
    workers.work()
    (again,) = copies(workers.store, build)
    assert again >= had[0]
    assert (workers.faults, count_pruned(workers.store)) == ([], 0)
    assert rebuild(workers.store).events == again


def test_only_what_is_over_goes_and_that_whole(store):
    ends = {
        "COMPLETED": "build.completed",
        "FAILED": "build.failed",
        "CANCELLED": "build.cancelled",
    }
    goes_on = {"PENDING": "build.released", "ANALYZING": "build.claimed"}
    every = list({**ends, **goes_on}.items())
    fill(store, *(a_build(at, state=state) for at, (state, _) in enumerate(every)))
    with store.write() as connection:
        for at, (_, kind) in enumerate(every):
            note_event(connection, f"b{at:04}", kind)
            for number in (1, 2):
                copy_line(connection, f"b{at:04}", f"j{at}-{number}")
    with later():
        gone = prune(store)
    assert [(one.state, one.journals, one.events) for one in gone] == [(one, 2, 2) for one in ends]
    with store.read() as connection:
        left = [len(list_journals(connection, f"b{at:04}")) for at in range(len(every))]
    assert left == [0, 0, 0, 2, 2]
    assert not [one for one in find_faults(store) if "b0000" in one]


def copy_line(connection, build, journal):
    from runner.extensions.team.tables import events

    texts = ("id", "type", "run", "task", "causation", "correlation", "producer", "tags")
    values = {**dict.fromkeys(texts, ""), "time": "2020-01-02T00:00:00Z", "version": 1}
    values |= {"build": build, "journal": journal, "seq": 1, "line": "{}"}
    connection.execute(events.insert().values(**values))


def test_the_command_tells_and_takes(workplace, address):
    from store_build import a_store

    said = ("--store", address.replace("postgresql+psycopg", "postgresql"))
    with a_store(address) as store:
        fill(store, a_build(1, state="COMPLETED"), a_build(2))
        with store.write() as connection:
            note_event(connection, "b0001", "build.completed")
            copy_line(connection, "b0001", "j")
    words = ("store", "prune", "--older-than", "90d", *said)
    assert workplace.runner(*words).out == "0 events of 0 builds removed; build events stay\n"
    with later():
        shown = workplace.runner(*words, "--dry-run")
        told = workplace.runner(*words, "--json").document
    assert "b0001  COMPLETED  shop, ended " in shown.out
    assert shown.out.endswith("1 event of 1 build would be removed; nothing was changed\n")
    assert (told["events"], told["builds"][0]["id"], told["dryRun"]) == (1, "b0001", False)
    checked = workplace.runner("store", "check", *said)
    assert checked.out.endswith("the journal copies of 1 build were pruned: not compared\n")
    assert workplace.runner("store", "rebuild", *said).out.endswith("were pruned: unchanged\n")
    for wrong in (("prune",), ("check", "--older-than", "9d"), ("check", "--dry-run"),
                  ("prune", "--older-than", "soon"), ("prune", "--older-than", "0d")):  # fmt: skip
        assert workplace.runner("store", *wrong, *said).code == 2, wrong
