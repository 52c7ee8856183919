"""What waits in a build is shown from the store, and only what was shown is answered."""

import json

import pytest
from store_build import a_store
from workers import a_step
from workplace import NO_PROOF

from runner.errors import ExitCode, RunnerError
from runner.extensions.team.build_queue import Asked, answer_build, cancel_build, read_build
from runner.extensions.team.pending_work import ShownWork, list_shown, read_files, write_shown

REVIEWED = (NO_PROOF, "Review: prompt")


def shown_event(workers, build):
    (row,) = [
        one for one in read_build(workers.store, build).events if one["type"] == "build.answered"
    ]
    with workers.store.read() as connection:
        from runner.extensions.team.event_rows import read_lines

        return json.loads(read_lines(connection, build.id)[row["seq"] - 1])


def test_an_answer_is_of_what_was_shown_and_of_nothing_else(workers):
    shop = workers.repository("shop", a_step(1, fields=REVIEWED), a_step(2, fields=REVIEWED))
    build = workers.queue(shop)
    workers.work()
    waiting = workers.build(build)
    assert waiting.waits == "TASK-001, TASK-002", workers.log()
    first, second = list_shown(workers.store, build.id)
    assert (first.item, first.document["kind"], first.answered) == ("TASK-001", "writes", "")
    assert first.document["signs"] == ["writes", "unproven"]
    ((change, before, whole),) = read_files(first.document)
    assert (change.path, change.content, before, whole) == ("made/001", b"1\n", None, True)

    for wrong in (Asked("page", "sha256:0"), Asked("page", second.seen)):
        with pytest.raises(RunnerError, match="changed since it was shown") as told:
            answer_build(workers.store, waiting, ("approve", "TASK-001", ""), "eve", wrong)
        assert told.value.code is ExitCode.CONFLICT
    with pytest.raises(RunnerError, match="has nothing to approve"):
        answer_build(workers.store, waiting, ("approve", "TASK-009", ""), "eve", Asked("page", "x"))
    assert read_build(workers.store, waiting).answers == ()

    seen = Asked("page", first.seen)
    answer_build(workers.store, waiting, ("approve", "TASK-001", ""), "eve", seen)
    with pytest.raises(RunnerError, match="TASK-001 was already answered by eve"):
        answer_build(workers.store, waiting, ("reject", "TASK-001", "no"), "bob", seen)
    assert [one.answered for one in list_shown(workers.store, build.id)] == ["eve", ""]
    told = shown_event(workers, build)
    assert (told["by"], told["via"], told["word"], told["task"]) == (
        *("eve", "page", "approve"),
        "TASK-001",
    )
    workers.work()
    assert workers.landings(build) == ["TASK-001"]
    (left,) = list_shown(workers.store, build.id)
    assert (left.item, left.answered) == ("TASK-002", "")
    answer_build(
        workers.store,
        workers.build(build),
        ("approve", "TASK-002", ""),
        "eve",
        Asked("page", left.seen),
    )
    workers.work()
    assert workers.build(build).state == "COMPLETED"
    assert list_shown(workers.store, build.id) == ()
    assert workers.faults == []


def test_what_moved_in_the_clone_is_not_approved_by_an_older_look(workers):
    """The store is the worker's word of before: the clone has the last one."""
    shop = workers.repository("shop", a_step(1, fields=REVIEWED))
    build = workers.queue(shop)
    workers.work()
    (one,) = list_shown(workers.store, build.id)
    forged = ShownWork(one.item, "sha256:1", one.document)
    with workers.store.write() as connection:
        write_shown(connection, build.id, [forged])
    answer_build(
        workers.store,
        workers.build(build),
        ("approve", "TASK-001", ""),
        "eve",
        Asked("page", "sha256:1"),
    )
    workers.work()
    done = read_build(workers.store, build)
    assert done.answers[0]["outcome"] == "not applied: TASK-001 changed since you saw it"
    assert (done.build.waits, workers.landings(build)) == ("TASK-001", [])
    assert [it.seen for it in list_shown(workers.store, build.id)] == [one.seen]


def test_a_file_that_is_too_large_is_said_to_be_and_a_build_that_ended_shows_nothing(tmp_path):
    from test_people import SHOP

    from runner.extensions.team.build_queue import BuildOrder, queue_build
    from runner.extensions.team.pending_work import MOST, _describe_files
    from runner.model import Action, Change

    large = Change("a", Action.CREATE, 0o100644, None, None, b"x" * (MOST + 1))
    small = Change("b", Action.CREATE, 0o100644, None, None, b"\0\xff")
    rows = _describe_files([(small, None), (large, None)])
    found = read_files({"files": json.loads(json.dumps(rows))})
    assert [(one.path, one.content, whole) for one, _, whole in found] == [
        ("b", b"\0\xff", True),
        ("a", None, False),
    ]
    with a_store(f"sqlite:///{tmp_path / 's'}") as store:
        build = queue_build(store, BuildOrder(SHOP, "ada"))
        with store.write() as connection:
            write_shown(connection, build.id, [ShownWork("TASK-001", "s", {})])
        cancel_build(store, build, "ada")
        assert list_shown(store, build.id) == ()
