"""What befalls a worker at a bad moment: nothing is lost, nothing goes on for ever."""

import fcntl
import os
import shutil
import subprocess
import threading
import time
from functools import partial
from pathlib import Path

import msgspec
import pytest
from settings_of import settings_of
from store_build import new_database
from workers import a_step, wait_until

from runner import effects
from runner.config.settings import Settings
from runner.errors import ExitCode, RunnerError
from runner.extensions.team import build_clone, build_work, store_engine
from runner.extensions.team.build_claim import Claimer, CommandEnd, claim_build, finish_build
from runner.extensions.team.build_clone import BuildClone, trim_clones
from runner.extensions.team.build_queue import retry_build
from runner.extensions.team.build_work import BuildWork, TeamWorker, WorkerRequest
from runner.extensions.team.event_rows import read_lines
from runner.extensions.team.projections import JournalCopy
from runner.extensions.team.repository_list import find_repository
from runner.extensions.team.store_engine import Doorbell, StoreDownError, open_engine
from runner.journal.events import AttemptFinished, ModeSwitched, Record
from runner.journal.records import encode
from runner.model import Ending, Usage
from runner.repo.clone import CloneCache
from runner.repo.git import StoppedError
from runner.repo.remote import OwnGit


def a_line(seq):
    envelope = (seq, "2026-01-02T03:04:05.000006Z", "run", "mode.switched", "", 0, "", "")
    return encode(Record(f"j-{seq}", *envelope, "runner/1", ModeSwitched(mode="serial")))


def keep_nothing():
    pytest.fail("there was no clone before")


@pytest.mark.parametrize("words", [{"once": True}, {"until_idle": True}, {}])
def test_a_build_that_is_claimed_while_its_worker_is_ended_is_handed_back(
    workers, monkeypatch, words
):
    build = workers.queue(workers.repository("shop", a_step(1)))
    told = []
    environ = {**os.environ, "XDG_STATE_HOME": str(workers.folder / "state")}
    asked = WorkerRequest(**words)
    worker = TeamWorker(
        workers.store, Settings(), environ, asked, told.append, lambda *said: told.append(said)
    )
    claim = build_work.claim_build

    def claim_and_end(*given):
        found = claim(*given)
        worker.end()
        return found

    monkeypatch.setattr(build_work, "claim_build", claim_and_end)
    monkeypatch.setattr(build_work, "require_sandbox", lambda *_: None)
    worker.serve()
    back = workers.build(build)
    assert (back.state, back.attempts, back.note) == ("PENDING", 0, "its worker was stopped"), told
    assert "clone.started" not in workers.kinds(build)
    assert workers.faults == []


@pytest.mark.parametrize("at", [0, 1])
def test_a_damaged_journal_of_before_is_read_to_the_damage_and_no_further(tmp_path, at):
    path = tmp_path / "journal.jsonl"
    good = [a_line(1), a_line(2)]
    good[at] = good[at][:-4] + b'0"}\n'
    path.write_bytes(b"".join(good))
    copy = JournalCopy(path, "feature/x")
    reader = threading.Thread(target=copy.read_old, daemon=True)
    reader.start()
    reader.join(10)
    assert not reader.is_alive()
    assert copy._old == at


def test_the_doorbell_rings_again_after_the_server_cut_it_off(postgres, monkeypatch):
    monkeypatch.setattr(store_engine, "_AGAIN", 0.2)
    faults = []
    monkeypatch.setattr(threading, "excepthook", faults.append)
    store = open_engine(new_database(postgres))
    rung = threading.Event()
    with Doorbell(store, rung):
        assert rung.wait(10)
        rung.clear()
        with store.write() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        assert rung.wait(10), faults  # it says so as soon as it listens again
    store.close()
    assert faults == []


def test_who_looks_on_hears_of_a_copied_event_and_no_worker_wakes_for_it(
    left, postgres, workers, each_store
):
    """Otherwise a page shows a landing after its own two seconds, or each worker asks for work."""
    looks, works = threading.Event(), threading.Event()
    left.clone.open()
    with (
        Doorbell(workers.store, looks, store_engine.BUILDS, store_engine.NEWS),
        Doorbell(workers.store, works),
    ):
        assert looks.wait(10)
        assert works.wait(10)
        looks.clear()
        works.clear()
        assert JournalCopy(left.clone.journal, left.mine.branch).step(workers.store, left.mine, ())
        assert looks.wait(10)
        # Of a file every change is seen, by whomever it is looked at.
        assert works.wait(0.5 if not workers.store.is_sqlite else 10) is workers.store.is_sqlite
    left.clone.close()


@pytest.mark.parametrize("said", ["{theirs}", "../theirs", "..", "", "A" * 300])
def test_a_row_whose_id_is_a_path_leads_out_of_no_folder(workers, tmp_path, said):
    build = workers.queue(workers.repository("shop", a_step(1)))
    theirs = tmp_path / "theirs"
    (theirs / "repository").mkdir(parents=True)
    row = msgspec.structs.replace(build, id=said.format(theirs=theirs))
    home = tmp_path / "builds"
    clone = BuildClone(
        row, home, CloneCache(tmp_path / "cache", 1e9), os.environ, (), (str(tmp_path),)
    )
    clone.open()
    clone.prepare(keep_nothing)
    clone.close()
    assert clone.place.parent.parent == home
    assert [one.name for one in theirs.rglob("*")] == ["repository"]


def test_a_copy_that_another_worker_takes_away_meanwhile_is_passed_over(tmp_path):
    (tmp_path / "1.git").mkdir()
    (tmp_path / "2.git").symlink_to(tmp_path / "gone")
    CloneCache(tmp_path, 0).trim()
    assert (tmp_path / "1.git").is_dir()


def test_a_clone_that_hangs_is_left_as_soon_as_the_worker_is_ended(workers):
    shop = workers.repository("shop", a_step(1))
    build = workers.queue(msgspec.structs.replace(shop, url="ssh://nowhere.invalid/shop.git"))
    witness, slow = workers.folder / "asked", workers.folder / "slow"
    slow.write_text(f"#!/bin/sh\necho >>{witness}\nexec sleep 300\n")
    slow.chmod(0o755)
    worker = workers.start("a", GIT_SSH_COMMAND=str(slow))
    wait_until(witness.exists, 40)
    began = time.monotonic()
    worker.terminate()
    assert worker.wait(60) == 0, workers.log("a")
    assert time.monotonic() - began < 30
    back = workers.build(build)
    assert (back.state, back.note) == ("PENDING", "its worker was stopped")


def test_a_copy_that_another_worker_has_is_waited_for_until_it_is_wanted_no_more(workers, tmp_path):
    shop = workers.repository("shop", a_step(1))
    cache = CloneCache(tmp_path / "cache", 1e9)
    who = ("ada", "ada@here")
    cache.clone(shop.url, "main", tmp_path / "one", who, os.environ)
    lock = cache.place_of(shop.url).with_suffix(".lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    asked = iter([False, True])
    with pytest.raises(StoppedError):
        cache.clone(shop.url, "main", tmp_path / "two", who, os.environ, lambda: next(asked))
    lock.close()
    cache.clone(shop.url, "main", tmp_path / "two", who, os.environ, lambda: False)
    assert (tmp_path / "two" / "TASK-GRAPH.md").exists()


def test_a_machine_that_cannot_build_hands_the_build_on_and_goes_on(workers):
    build = workers.queue(workers.repository("shop", a_step(1)), wish="one file more")
    builds = workers.folder / "home-a" / "state" / "runner" / "team" / "builds"
    (builds / build.id / "wish.md").mkdir(parents=True)
    assert workers.start("a", "--once").wait(60) == 0, workers.log("a")
    back = workers.build(build)
    assert (back.state, "wish.md" in back.note) == ("PENDING", True), back.note
    assert "Traceback" not in workers.log("a")


@pytest.fixture
def work(workers, tmp_path):
    """A worker's way with one build, in this process, at its beginning."""
    workers.queue(workers.repository("shop", a_step(1)))
    mine = claim_build(workers.store, Claimer("ada@here/1", "here"))
    cache = CloneCache(tmp_path / "cache", 1e9)
    clone = BuildClone(mine, tmp_path / "builds", cache, os.environ, (), (str(tmp_path),))
    settings = settings_of(lease_seconds=1.0)
    return BuildWork(
        workers.store, mine, clone, settings, threading.Event(), lambda: False, lambda *_: None
    )


def test_a_clone_that_is_damaged_while_its_branch_is_held_builds_nothing_elsewhere(
    workers, work, monkeypatch
):
    """One that was made anew is on the branch that builds begin on, until it is left."""
    seen, here = [], work.clone.place / ".git"

    def run(*_):
        seen.append((here / "HEAD").read_text().strip())
        (here / f"refs/heads/{work.mine.branch}").write_bytes(b"")
        return CommandEnd(ExitCode.CONFLICT, "held by dev@laptop", {})

    monkeypatch.setattr(work, "_run", run)
    end = work.go()
    assert seen == [f"ref: refs/heads/{work.mine.branch}"]
    assert (end.state, end.after > 0) == ("PENDING", True)
    assert workers.kinds(work.mine)[-1] == "build.put-off"
    assert workers.faults == []


def test_no_command_runs_where_another_branch_is_checked_out(workers, work):
    work.clone.open()
    work.clone.prepare(keep_nothing)
    with pytest.raises(RunnerError, match="is not on feature/"):
        work._run("run", "--yes", "--trust")
    work.clone.close()
    assert (
        workers.git(find_repository(workers.store, "shop"), "log", "--format=%s", "main") == "plan"
    )


# --- a clone that is here from an earlier claim -------------------------------------------


@pytest.fixture
def left(work):
    """The same with a clone that a worker left behind; of its journal the store has nothing."""
    work.clone.open()
    work.clone.prepare(keep_nothing)
    work.clone.switch_to_build_branch()
    work.clone.close()
    work.clone.journal.parent.mkdir(parents=True, exist_ok=True)
    work.clone.journal.write_bytes(a_line(1) + a_line(2))
    return work


def a_paid_attempt(seq):
    usage = Usage(dollars=5.0)
    event = AttemptFinished(Ending.PASSED, tree="", seconds=1.0, usage=usage)
    envelope = (seq, "2026-01-02T03:04:05.000006Z", "run", "attempt.finished", "TASK-001", 1)
    return encode(Record(f"j-{seq}", *envelope, "", "", "runner/1", event))


def end_at_once(*_):
    return CommandEnd(ExitCode.BUG, "it is tried by the test alone", {})


def damage(work):
    (work.clone.place / f".git/refs/heads/{work.mine.branch}").write_bytes(b"")


def take_away(work):
    """Have its remote not answer."""
    Path(work.mine.url).rename(f"{work.mine.url}-away")


def lines_of(store, journal):
    with store.read() as connection:
        return [f"{line}\n".encode() for line in read_lines(connection, journal)]


@pytest.mark.parametrize("last", [b"", a_line(3)[:-9], b"}\n" + a_line(3)])
def test_a_clone_that_is_made_anew_leaves_its_journal_in_the_store(
    workers, left, monkeypatch, last
):
    """What landed by it is told nowhere else."""
    with left.clone.journal.open("ab") as file:
        file.write(last)
    monkeypatch.setattr(left, "_run", end_at_once)
    damage(left)
    left.go()
    assert not left.clone.journal.exists()
    assert lines_of(workers.store, "j-1") == [a_line(1), a_line(2)]
    assert workers.faults == []


def test_a_build_without_a_plan_yet_is_tried_again(left):
    (left.clone.place / "TASK-GRAPH.md").unlink()
    left.clone.journal.unlink()
    left.clone.retry_blocked()


def test_a_build_that_is_claimed_again_while_its_clone_goes_loses_nothing(
    workers, left, monkeypatch
):
    left.clone.journal.unlink()
    finish_build(workers.store, left.mine, "COMPLETED", "")
    remove = effects.remove_tree
    again = msgspec.structs.replace(left.clone)

    def go_on_meanwhile(folder, **more):
        if Path(folder).parent == left.clone.home:  # and none that git is asked in
            retry_build(workers.store, left.mine, "ada")
            again.open()
            again.prepare(lambda: None)
        remove(folder, **more)

    monkeypatch.setattr(effects, "remove_tree", go_on_meanwhile)
    assert trim_clones(workers.store, left.clone.home, 0, os.environ) == [left.mine.id]
    assert (again.place / ".git/HEAD").is_file()
    again.close()
    assert [one for one in left.clone.home.iterdir() if one != again.folder] == []


def hold_a_change(work):
    """What waits for a person is a ref of the clone alone, as a person's answer needs it."""
    run = partial(subprocess.run, cwd=work.clone.place, check=True, text=True, capture_output=True)
    tree = run(["git", "rev-parse", "HEAD^{tree}"]).stdout.strip()
    made = run(["git", "commit-tree", "-m", "held", tree]).stdout.strip()
    run(["git", "update-ref", "refs/runner/held/TASK-001", made])
    return made


def test_a_clone_that_cannot_be_used_is_kept_with_what_it_alone_has(workers, left, monkeypatch):
    held, told = hold_a_change(left), []
    monkeypatch.setattr(left, "_run", end_at_once)
    monkeypatch.setattr(left, "tell", told.append)
    damage(left)
    left.go()
    (kept,) = left.clone.folder.glob("kept-*")
    assert (kept / ".git/refs/runner/held/TASK-001").read_text().strip() == held
    assert workers.told(left.mine, "clone.completed")["kept"] == str(kept)
    assert [one for one in told if str(kept) in one]
    trim_clones(workers.store, left.clone.home, 0, os.environ)
    assert kept.is_dir()
    assert workers.faults == []


def test_what_a_worker_left_that_was_killed_while_it_replaced_a_clone(workers, left, monkeypatch):
    """The clone of before is told of, and of the new one nothing stays beside the next."""
    monkeypatch.setattr(left, "_run", end_at_once)
    kept, fresh = (left.clone.folder / name for name in ("kept-1", "replacement"))
    shutil.copytree(left.clone.place, fresh)
    left.clone.place.rename(kept)
    left.go()
    assert (kept.is_dir(), fresh.exists()) == (True, False)
    assert workers.told(left.mine, "clone.completed")["kept"] == str(kept)


def test_a_clone_that_cannot_be_used_goes_where_its_remote_has_all_of_it(
    workers, left, monkeypatch
):
    monkeypatch.setattr(left, "_run", end_at_once)
    monkeypatch.setattr(left.clone, "catch_up", lambda: False)
    (left.clone.place / ".git/info/exclude").write_text("artifacts/\n")  # as a run has it
    left.go()
    assert [one.name for one in left.clone.folder.glob("kept-*")] == []
    assert not left.clone.journal.exists()


def test_a_clone_stays_where_the_disk_has_no_room_for_another_one(workers, left, monkeypatch):
    """Its branch cannot be fetched for the same reason, which is no damage."""
    held = hold_a_change(left)

    def fail(*_):
        raise RunnerError("git fetch failed", detail="fatal: write error: No space left on device")

    monkeypatch.setattr(build_clone, "catch_up", fail)
    monkeypatch.setattr(CloneCache, "clone", fail)
    end = left.go()
    assert (end.state, end.after > 0) == ("PENDING", True)
    assert "No space left on device" in end.note
    kept = left.clone.place / ".git/refs/runner/held/TASK-001"
    assert kept.read_text().strip() == held
    assert left.clone.journal.read_bytes() == a_line(1) + a_line(2)


def test_a_clone_stays_as_long_as_the_store_does_not_take_its_journal(workers, left):
    def refuse():
        raise StoreDownError("away")

    damage(left)
    left.clone.open()
    with pytest.raises(StoreDownError):
        left.clone.prepare(refuse)
    left.clone.close()
    assert left.clone.journal.read_bytes() == a_line(1) + a_line(2)


def test_a_clone_stays_while_its_remote_is_away(workers, left):
    """What is nowhere else is in it: lines of its journal, and what waits for a person."""
    take_away(left)
    end = left.go()
    assert (end.state, end.after > 0, "does not answer" in end.note) == ("PENDING", True, True)
    assert left.clone.journal.read_bytes() == a_line(1) + a_line(2)
    assert workers.kinds(left.mine)[-1] == "build.put-off"
    assert workers.faults == []


def test_what_an_earlier_claim_cost_does_not_count_for_one_that_gets_nowhere(workers, left):
    with left.clone.journal.open("ab") as file:
        file.write(a_paid_attempt(3))
    take_away(left)
    left.go()
    assert left._copy.dollars == 0.0
    assert len(lines_of(workers.store, "j-1")) == 3


def test_a_run_whose_remote_is_away_at_its_end_has_not_failed(workers, work, monkeypatch):
    def run(*_):
        take_away(work)
        return CommandEnd(ExitCode.OK, "", {})

    monkeypatch.setattr(work, "_run", run)
    end = work.go()
    assert (end.state, end.after > 0, "does not answer" in end.note) == ("PENDING", True, True)
    assert workers.faults == []


def cut_off(clone, monkeypatch):
    """Have a kill come while the branch of a new clone is checked out."""
    git = OwnGit.run

    def run(self, *words, **more):
        if "checkout" not in words:
            return git(self, *words, **more)
        (clone.place / ".git/index.lock").write_bytes(b"")
        (clone.place / "made").mkdir()
        (clone.place / "made/001").write_text("hal")
        raise KeyboardInterrupt

    with monkeypatch.context() as cut:
        cut.setattr(OwnGit, "run", run)
        clone.open()
        clone.prepare(keep_nothing)
        with pytest.raises(KeyboardInterrupt):
            clone.switch_to_build_branch()
        clone.close()


def test_a_clone_whose_branch_was_being_checked_out_goes_on(workers, work, monkeypatch):
    """Its files are written first and HEAD last: what is in git's way then is git's own."""
    other = BuildClone(
        work.mine,
        workers.folder / "other",
        work.clone.cache,
        os.environ,
        (),
        (str(workers.folder),),
    )
    other.open()
    other.prepare(keep_nothing)
    other.switch_to_build_branch()
    git = ["git", "-C", str(other.place)]
    (other.place / "made").mkdir()
    (other.place / "made/001").write_text("half and more\n")
    for words in (["add", "-A"], ["commit", "-qm", "landed"], ["push", "-q", "origin", "HEAD"]):
        subprocess.run([*git, *words], check=True)
    other.close()
    cut_off(work.clone, monkeypatch)
    work.clone.open()
    work.clone.prepare(keep_nothing)
    assert work.clone.switch_to_build_branch() == work.clone.find_tip()
    assert (work.clone.place / "made/001").read_text() == "half and more\n"
    said = subprocess.run(
        ["git", "status", "--porcelain"], cwd=work.clone.place, capture_output=True, check=True
    )
    assert said.stdout == b""
    assert not list((work.clone.place / ".git").glob("*.lock"))
    assert not (work.clone.place / ".git/runner-switching").exists()
    work.clone.close()


def fill(monkeypatch):
    usage = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(folder)._replace(free=0))


@pytest.mark.parametrize(
    ("detail", "is_full"),
    [
        ("fatal: could not set 'core.filemode' to 'true'", True),
        ("fatal: sha1 file 'x' write error. Out of diskspace", False),
        ("error: unable to write symref for HEAD: No space left on device", False),
    ],
)
def test_a_build_that_a_full_disk_cannot_take_is_left_to_others(work, monkeypatch, detail, is_full):
    def fail(*_):
        raise RunnerError("the repository cannot be cloned", detail=detail)

    monkeypatch.setattr(CloneCache, "clone", fail)
    if is_full:
        fill(monkeypatch)
    end = work.go()
    assert (end.state, end.after > 0) == ("PENDING", True)
    assert "No space left" in end.note or "Out of diskspace" in end.note


def test_a_clone_that_fails_for_itself_fails_its_build(work, monkeypatch):
    def fail(*_):
        raise RunnerError("the repository cannot be cloned", detail="fatal: no such branch")

    monkeypatch.setattr(CloneCache, "clone", fail)
    assert work.go().state == "FAILED"


def test_a_worker_whose_disk_is_full_claims_nothing_until_it_has_room(workers, monkeypatch):
    """Others can build what it would only keep from them."""
    build = workers.queue(workers.repository("shop", a_step(1)))
    usage, told = shutil.disk_usage, []
    free = iter([0, 0])
    monkeypatch.setattr(build_work, "_AWAY", 0.1)

    def look(folder):
        told_free = next(free, None)
        return usage(folder) if told_free is None else usage(folder)._replace(free=told_free)

    monkeypatch.setattr(shutil, "disk_usage", look)
    environ = {
        **os.environ,
        "XDG_STATE_HOME": str(workers.folder / "state"),
        "XDG_CACHE_HOME": str(workers.folder / "cache"),
    }
    worker = TeamWorker(
        workers.store, Settings(), environ, WorkerRequest(), told.append, lambda *_: None
    )

    def claim(*_):
        assert next(free, "room") == "room"
        worker.end()

    monkeypatch.setattr(build_work, "claim_build", claim)
    worker.serve()
    assert [one for one in told if "cannot write to the disk" in one] == told[:1] != []
    assert workers.build(build).state == "PENDING"


@pytest.mark.parametrize("words", [{"once": True}, {"until_idle": True}])
def test_a_worker_that_waits_for_nothing_ends_where_its_disk_is_full(workers, monkeypatch, words):
    fill(monkeypatch)
    environ = {**os.environ, "XDG_STATE_HOME": str(workers.folder / "state")}
    environ["XDG_CACHE_HOME"] = str(workers.folder / "cache")
    worker = TeamWorker(
        workers.store, Settings(), environ, WorkerRequest(**words), print, lambda *_: None
    )
    with pytest.raises(OSError, match="No space left"):
        worker.serve()


def test_a_remote_that_goes_away_in_the_middle_of_a_run_puts_the_build_off(workers, monkeypatch):
    build = workers.queue(workers.repository("shop", a_step(1)))
    mine = claim_build(workers.store, Claimer("ada@here/1", "here"))
    cache = CloneCache(workers.folder / "cache", 1e9)
    clone = BuildClone(
        mine, workers.folder / "builds", cache, os.environ, (), (str(workers.folder),)
    )
    work = BuildWork(
        *(workers.store, mine, clone, settings_of(lease_seconds=1.0), threading.Event()),
        *(lambda: False, lambda *_: None),
    )
    prepare = work._prepare

    def prepare_and_go():
        prepare()
        take_away(work)

    monkeypatch.setattr(work, "_prepare", prepare_and_go)
    end = work.go()
    assert (end.state, end.after > 0) == ("PENDING", True), end
    assert "origin does not answer" in end.note
    assert workers.build(build).state == "PENDING"
