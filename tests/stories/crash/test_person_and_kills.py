"""A run is killed at any time while a person works in the same repository: all of it is kept.

The real command, real signals; what the person does (commit, rebase, gc, another branch, the plan
saved) happens while it runs. `PERSON_SEED` tells one day again.
"""

import os
import random
import shutil
import signal
import subprocess
import time

import invariants
import pytest
from crash_house import SMALL, House
from crash_ways import stop_at

SECONDS = float(os.environ.get("CAMPAIGN_SECONDS", "0"))
SEED = int(os.environ.get("PERSON_SEED", str(random.SystemRandom().randrange(10**6))))
TASKS = 4
PLAN = "# Day\n" + "".join(
    f"\n## TASK-{n:03}: Task {n}\n\n- Output files: `f{n}.txt`\n"
    f"- Command: `sleep 0.2; echo {n} > f{n}.txt`\n"
    f"- Test contracts:\n  - TC-{n:03} (unit): `test -s f{n}.txt`\n"
    for n in range(1, TASKS + 1)
)
_ROUNDS = 3


class Person:
    """Does one thing after the other, and knows what must still be there in the end."""

    def __init__(self, house, chance):
        self.house, self.chance = house, chance
        self.notes, self.remarks, self.did = [], [], []

    def act(self):
        does = self.chance.choice(
            (self.commit, self.commit, self.amend, self.rebase, self.gc, self.visit, self.save)
        )
        self.did.append(does.__name__)
        does()

    def commit(self):
        name = f"note{len(self.did)}.txt"
        (self.house.repo / name).write_text(name)
        self._git("add", name)
        if self._git("commit", "-q", "-m", name, "--", name):
            self.notes.append(name)

    def amend(self):
        """Of a commit of one's own alone: who rewrites a task's commit takes it back."""
        if self._git("log", "-1", "--format=%s").startswith("note"):
            self._git("commit", "-q", "--amend", "-m", f"note again {len(self.did)}", "--only")

    def rebase(self):
        if self._git("rebase", "-q", "--autostash", "--force-rebase", "HEAD~1"):
            return
        for _ in range(100):  # a lock of the run may be in the way
            if self._git("rebase", "--abort") or not self._is_rebasing():
                return
            time.sleep(0.05)
        # Where a lock stopped it at its very beginning, git knows neither how to go on nor how to
        # give up, and advises to remove the folder.
        folder = self.house.repo / ".git" / "rebase-merge"
        if not (folder / "head-name").exists():
            self._git("stash", "store", (folder / "autostash").read_text().strip())
            shutil.rmtree(folder)

    def gc(self):
        self._git("gc", "-q", "--prune=now")

    def visit(self):
        if self._git("switch", "-q", "-c", f"side{len(self.did)}"):
            time.sleep(self.chance.random() / 5)
            self.back()

    def back(self):
        for _ in range(100):  # a lock of the run may be in the way
            if self._git("switch", "-q", "main") or self._on() == "main":
                return
            time.sleep(0.05)

    def save(self):
        """An editor's save: a remark at the end of what stands there now."""
        plan, remark = self.house.repo / "TASK-GRAPH.md", f"<!-- remark {len(self.did)} -->"
        text = plan.read_text()
        beside = plan.with_name("TASK-GRAPH.md~")
        beside.write_text(f"{text.rstrip()}\n\n{remark}\n")
        if plan.read_text() == text:  # as an editor that looks whether the file has changed
            beside.replace(plan)
            self.remarks.append(remark)
        beside.unlink(missing_ok=True)

    def _is_rebasing(self):
        return any(
            (self.house.repo / ".git" / f"rebase-{how}").exists() for how in ("merge", "apply")
        )

    def _on(self):
        return self._git("rev-parse", "--abbrev-ref", "HEAD").strip()

    def _git(self, *words):
        """What git says, or a blank where that is nothing; empty where it refused."""
        done = subprocess.run(
            ["git", *words],
            cwd=self.house.repo,
            env=self.house.environment,
            capture_output=True,
            check=False,
        )
        return "" if done.returncode else done.stdout.decode() or " "


def a_day(folder, seed):
    """Runs that are killed or interrupted while a person works; then one that is left alone."""
    chance = random.Random(seed)
    house = House.built(folder, PLAN)
    person = Person(house, chance)
    told = [f"PERSON_SEED={seed}"]
    for _ in range(_ROUNDS):
        running = house.start("-j", "2")
        until = time.monotonic() + 0.6 + 2 * chance.random()
        while time.monotonic() < until and running.poll() is None:
            person.act()
            time.sleep(chance.random() / 4)
        ends = chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
        running.send_signal(ends)
        said, _ = running.communicate(timeout=60)
        told.append(f"{person.did} {ends.name} {running.returncode}\n{said}")
        _hold(house, person, running.returncode, "\n".join(told))
    person.back()
    for _ in range(3):  # what a person rewrote or moved meanwhile may take a second run
        running = house.start("-j", "2", "--allow-dirty")
        said, _ = running.communicate(timeout=120)
        told.append(f"alone: {running.returncode}\n{said}")
        _hold(house, person, running.returncode, "\n".join(told))
        if running.returncode == 0:
            break
    assert running.returncode == 0, "\n".join(told)
    for number in range(1, TASKS + 1):
        assert house.read(f"f{number}.txt") == f"{number}\n".encode(), "\n".join(told)


def _hold(house, person, code, told):
    assert code != 70, told
    assert "Traceback" not in told, told
    landed = [one.task for one in house.landings()]
    assert len(landed) == len(set(landed)), f"{landed}\n{told}"
    invariants.every_prefix_of_the_journal_replays(house.repo)
    invariants.git_finds_nothing_wrong(house.repo)
    plan = house.read("TASK-GRAPH.md").decode()
    # What git itself cannot put back after a rebase, since the plan was written meanwhile, is in
    # the stash, and git says so.
    plan += house.git("stash", "list", "--patch")
    assert all(remark in plan for remark in person.remarks if person._on() == "main"), told
    for name in person.notes:
        assert house.git("log", "--all", "--format=%H", "--", name), f"{name} is lost\n{told}"


@pytest.mark.parametrize("seed", [3])
def test_nothing_is_lost_or_done_twice_on_a_day_with_kills(tmp_path, seed):
    a_day(tmp_path / "house", seed)


def _collects(house, times):
    """Right before a branch would move for the n-th time, all that no ref reaches is collected."""
    left = times

    def watch(_number, kind, target):
        nonlocal left
        if kind == "open" and target.endswith("/refs/heads/main.lock"):
            left -= 1
            if not left:
                house.git("gc", "-q", "--prune=now")

    return watch


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_collection_between_a_commit_and_its_branch_costs_no_more_than_another_try(
    tmp_path, times
):
    """The landing of the first task, of the second, and the record: each is made again."""
    house = House.built(tmp_path / "house", SMALL)
    ended = house.run("-j", "1", watch=_collects(house, times))
    assert ended.code == 0, ended.said
    assert sorted(one.task for one in house.landings()) == ["TASK-001", "TASK-002"]
    invariants.git_finds_nothing_wrong(house.repo)
    assert house.run().code == 0
    assert house.git("status", "--porcelain") == ""
    invariants.nothing_landed_twice(house.repo)


@pytest.mark.skipif(not SECONDS, reason="set CAMPAIGN_SECONDS to run a campaign")
def test_a_campaign_of_days_with_kills(tmp_path, record_property):
    end, number = time.monotonic() + SECONDS / 4, 0
    while time.monotonic() < end:
        a_day(tmp_path / f"{number}", SEED + number)
        number += 1
    record_property("tried", number)


def test_a_repository_that_is_moved_during_a_run_is_told_and_goes_on_where_it_is(tmp_path):
    house = House.built(tmp_path / "house", PLAN.replace("sleep 0.2", "sleep 3"))
    moved = House(tmp_path / "elsewhere")
    moved.folder.mkdir()
    running = house.start("-j", "1")
    _heard(running, "TASK-001 started")
    house.repo.rename(moved.repo)
    said, _ = running.communicate(timeout=120)
    assert (running.returncode, "Traceback" in said) == (6, False), said
    assert "the repository is no longer at this path" in said
    assert not house.repo.exists(), "nothing grows at the old place"
    house.home.rename(moved.home)
    again = moved.start()
    said, _ = again.communicate(timeout=120)
    assert again.returncode == 0, said
    assert len(moved.landings()) == TASKS


def _heard(running, words):
    for line in running.stdout:
        if words in line:
            return
    raise AssertionError(words)


# --- between a crash and the next run -------------------------------------------------


@pytest.fixture
def landed_halfway(small):
    """TASK-001 is on the branch; its file and everything said of it is not written yet."""
    moves = small.moving("refs/heads/main")
    house = small.begin()
    house.run(watch=stop_at(moves[0] + 1))
    assert [one.task for one in house.landings()] == ["TASK-001"]
    assert not (house.repo / "one.txt").exists()
    return house


def test_a_file_that_a_person_put_there_meanwhile_is_kept_and_ours_is_staged(landed_halfway):
    house = landed_halfway
    (house.repo / "one.txt").write_text("a person's\n")
    ended = house.run("--allow-dirty", "TASK-001")
    assert ended.code == 0, ended.said
    assert house.read("one.txt") == b"a person's\n"
    assert house.git("show", "HEAD~1:one.txt") == "one\n"
    assert "kept your version of one.txt" in house.read("artifacts/build/CHECKPOINT.md").decode()
    staged = list((house.repo / "artifacts/build/staged/TASK-001").rglob("*"))
    assert b"one\n" in [file.read_bytes() for file in staged if file.is_file()]
    invariants.nothing_staged_is_lost(house.repo)


def test_what_a_person_staged_meanwhile_stays_staged(landed_halfway):
    house = landed_halfway
    assert house.runner("status").code == 0
    (house.repo / "mine.txt").write_text("mine, changed\n")
    house.git("add", "mine.txt")
    ended = house.run("--allow-dirty", "TASK-001")
    assert ended.code == 0, ended.said
    assert house.git("status", "--porcelain") == "M  mine.txt\n"


def test_on_another_branch_nothing_of_a_cut_off_landing_is_finished(small):
    told = small.before_moving("refs/heads/main")
    house = small.begin()
    house.run(watch=stop_at(told[0]))  # the commit is made and told; the branch has not moved
    main = house.git("rev-parse", "main")
    house.git("switch", "-q", "-c", "other")
    ended = house.run()
    assert ended.code == 0, ended.said
    assert house.git("rev-parse", "main") == main
    assert "TASK-001 had not landed" in ended.said
    assert [one.task for one in house.landings()] == ["TASK-002", "TASK-001"]
    invariants.nothing_landed_twice(house.repo)


def test_an_old_text_of_the_plan_that_an_editor_saves_again_undoes_no_work(small):
    # PENDING is what a person writes to have a task run again, so a text without it is looked for
    published = [n for n, (_, path) in enumerate(small.ended.effects, 1) if "TASK-GRAPH" in path]
    for effect in published[5:]:
        house = small.begin()
        house.run(watch=stop_at(effect + 2))
        plan = house.read("TASK-GRAPH.md")
        if b"Status: IN-PROGRESS" in plan and b"Status: PENDING" not in plan:
            break
    else:
        pytest.fail("at no moment was a task in progress and none pending")
    assert house.run().code == 0
    (house.repo / "TASK-GRAPH.md").write_bytes(plan)
    ended = house.run()
    assert ended.code == 0, ended.said
    small.same_end(house, "an old plan was saved again")
    assert invariants.plan_statuses(house.repo)["TASK-001"] == "DONE"


@pytest.mark.parametrize("what", ["refs/heads/main", "index"])
def test_a_lock_that_a_killed_git_left_is_named_and_without_it_the_run_goes_on(small, what):
    house = small.begin()
    house.run(watch=stop_at(small.before_moving(what)[0]))
    file = house.repo / f".git/{what}.lock"
    file.touch()
    ended = house.run()
    assert ended.code == 6, ended.said
    assert (
        f"another git process holds a lock of this repository, so nothing can land ({file})"
        in ended.said
    )
    assert "hint: if no git is running here, remove that file; then run again" in ended.said
    file.unlink()
    small.goes_on(house, f"after {what}.lock")


def test_a_secret_that_a_command_prints_reaches_no_file_through_a_crash(small):
    made = ("sk", "proj", "Ab1" * 16 + "T3Blbk" + "FJ" + "Cd2" * 16)
    secret = "-".join(made)
    house = small.begin()
    plan = house.read("TASK-GRAPH.md").replace(b"echo two", f"echo {secret[:20]}".encode())
    plan = plan.replace(
        b"; printf", f"; printf %s%s '{secret[:20]}' '{secret[20:]}'; printf".encode()
    )
    (house.repo / "TASK-GRAPH.md").write_bytes(plan)
    house.git("commit", "-qam", "a plan whose command prints a key")
    spawns = [n for n, (kind, _) in enumerate(small.ended.effects, 1) if kind == "spawn"]
    for k in (spawns[-1] + 1, spawns[-1] + 4, small.count - 20):
        again = house.copied(small.place.with_name("secret"))
        again.run(watch=stop_at(k))
        invariants.no_secret_was_written(again.repo, again.home, [secret])
        again.run()
        invariants.no_secret_was_written(again.repo, again.home, [secret])
