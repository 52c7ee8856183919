"""The base on its way: a worker has it whole, and gets only what it lacks."""

import contextlib
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from runner import effects
from runner.config.settings import Settings
from runner.extensions.cluster import message
from runner.extensions.cluster import object_store as supplies
from runner.extensions.cluster.message import Ground, Pack, Part
from runner.extensions.cluster.object_store import ObjectStore, ObjectTransfer, in_parts
from runner.model.codec import ShapeError
from runner.repo.read import Repository

GROUND = Ground("shop-0123", "shop", "sha1", "", "refs/heads/main", b"", ("A", "a@b"))
WORKER = "tcp://127.0.0.1:1"


@pytest.fixture
def repository(workplace):
    workplace.commit({f"d{n}/f{n}.txt": f"{n}\n" * n for n in range(1, 40)})
    with Repository.open(workplace.root) as opened:
        yield opened


@pytest.fixture
def store(tmp_path):
    opened = ObjectStore(tmp_path / "cache", GROUND)
    yield opened
    opened.close()


def test_a_pack_makes_a_tree_whole_without_its_history(workplace, repository, store):
    supply = ObjectTransfer(repository)
    tree = supply.tree_of(workplace.head)
    assert not store.has(tree)
    store.take(Pack(supply.pack_for(WORKER, tree), tree))
    assert store.has(tree)
    assert store.blob(tree, "d7/f7.txt") == b"7\n" * 7
    assert store.blob(tree, "d7/none.txt") is None
    assert store.blob(workplace.head, "d7/f7.txt") is None  # the commit stays at home


def test_the_second_base_is_sent_as_its_difference(workplace, repository, store):
    supply = ObjectTransfer(repository)
    first = supply.tree_of(workplace.head)
    whole = supply.pack_for(WORKER, first)
    store.take(Pack(whole, first))
    supply.note(WORKER, (first,))
    second = supply.tree_of(workplace.commit({"d7/f7.txt": "other\n"}))
    small = supply.pack_for(WORKER, second)
    assert len(small) < len(whole) / 2
    store.take(Pack(small, second))
    assert store.trees() == (second, first)
    assert store.blob(second, "d8/f8.txt") == b"8\n" * 8


def test_a_worker_that_names_trees_nobody_knows_gets_everything(workplace, repository, store):
    supply = ObjectTransfer(repository)
    tree = supply.tree_of(workplace.head)
    supply.note(WORKER, ("e" * 40, "no tree", "--all"))
    store.take(Pack(supply.pack_for(WORKER, tree), tree))
    assert store.has(tree)


def test_a_pack_with_a_hole_makes_no_tree_whole(workplace, repository, store):
    supply = ObjectTransfer(repository)
    first = supply.tree_of(workplace.head)
    supply.note(WORKER, (first,))  # which is not true
    second = supply.tree_of(workplace.commit({"d7/f7.txt": "other\n"}))
    from runner.repo.git import GitError

    with pytest.raises(GitError):
        store.take(Pack(supply.pack_for(WORKER, second), second))
    assert not store.has(second)


def test_a_large_pack_arrives_in_pieces_whatever_their_order(
    workplace, repository, store, monkeypatch
):
    monkeypatch.setattr(supplies, "PIECE", 10_000)
    workplace.commit({"big.bin": os.urandom(55_000)})
    supply = ObjectTransfer(repository)
    tree = supply.tree_of(workplace.head)
    parts = in_parts(Pack(supply.pack_for(WORKER, tree), tree), "p-1")
    assert len(parts) > 5
    assert [store.take_part(part) for part in reversed(parts)] == [False] * (len(parts) - 1) + [
        True
    ]
    assert store.has(tree)
    assert list((store.folder / "incoming").iterdir()) == []


def test_names_that_lead_elsewhere_are_refused(tmp_path, store):
    for key in ("../x", "", "a/b", ".git"):
        with pytest.raises(ShapeError):
            ObjectStore(tmp_path / "cache", replace(GROUND, key=key))
    with pytest.raises(ShapeError):
        store.take_part(Part("../p", 0, 1, b"", "a" * 40))
    with pytest.raises(ShapeError):
        store.has("../../etc/passwd")


def test_before_the_first_commit_the_base_is_empty(workplace, store):
    with Repository.open(workplace.root) as repository:
        assert store.has(ObjectTransfer(repository).tree_of(""))


def test_two_last_pieces_at_once_are_put_together_once(workplace, repository, store, monkeypatch):
    monkeypatch.setattr(supplies, "PIECE", 30_000)
    workplace.commit({"big.bin": os.urandom(55_000)})
    supply = ObjectTransfer(repository)
    tree = supply.tree_of(workplace.head)
    parts = in_parts(Pack(supply.pack_for(WORKER, tree), tree), "p-1")
    assert len(parts) == 2
    both, write_file = threading.Barrier(2), effects.write_file

    def together(*words, **more):
        write_file(*words, **more)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(1)

    monkeypatch.setattr(effects, "write_file", together)
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(store.take_part, parts)) == [False, True]
    assert store.has(tree)
    assert list((store.folder / "incoming").iterdir()) == []


def test_of_many_workers_of_a_machine_one_takes_the_pack_in(
    workplace, repository, store, monkeypatch
):
    workplace.commit({"a.txt": "a"})
    supply = ObjectTransfer(repository)
    tree = supply.tree_of(workplace.head)
    pack, kept = Pack(supply.pack_for(WORKER, tree), tree), []
    take = ObjectStore._take

    def noted(self, given):
        kept.append(given)
        take(self, given)

    monkeypatch.setattr(ObjectStore, "_take", noted)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(store.take, [pack] * 4))
    assert store.has(tree)
    assert len(kept) == 1


READY = """\
import threading
from runner import effects

done = []
effects.watch(lambda kind, target: done.append((kind, target)))
import runner.extensions.cluster.preload
from runner.extensions.cluster import message

assert done == [], done
assert threading.active_count() == 1, threading.enumerate()
job = message.read_job(bytes.fromhex(input()))
message.as_bytes(message.JobAnswer("", "", outcome=None))
assert job.ground.name == "shop", job
"""


def test_what_workers_are_forked_from_is_ready_and_has_touched_nothing():
    job = message.as_bytes(message.Job("t", "topic", GROUND, "a" * 40, Settings()))
    said = subprocess.run(
        [sys.executable, "-c", READY],
        input=job.hex(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert said.returncode == 0, said.stderr
