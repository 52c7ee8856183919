"""A run with held-out tests that is killed at any effect: the files are never lost or torn."""

import os
import random
import shutil
from contextlib import suppress

import pytest
from crash_ways import STOPPED
from held_out_plans import HELD_OUT, RIGHT, TESTS, VISIBLE, planned, store_of

from runner import effects

EVERY = int(os.environ.get("HELD_OUT_EVERY", "120"))
"""The suite stops at one effect in so many; `HELD_OUT_EVERY=1` stops at each."""
SEED = int(os.environ.get("CRASH_SEED", "1"))


def run_in_a_child(workplace, watch):
    pid = os.fork()
    if not pid:
        code = 1
        with suppress(BaseException):
            effects.watch(watch)
            code = workplace.run().code
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Stop:
    """Ends the process before its k-th effect."""

    def __init__(self, k):
        self.k, self.seen = k, 0

    def __call__(self, _kind, _target):
        self.seen += 1
        if self.seen == self.k:
            os._exit(STOPPED)


def lies_somewhere(workplace, where):
    stored = store_of(workplace).read("TASK-001", TESTS)
    landed = workplace.git("show", f"HEAD:{TESTS}", check=False)
    assert stored == HELD_OUT.encode() or landed == HELD_OUT.strip("\n"), where
    commits = workplace.git("log", "--format=%H", "--", TESTS).split()
    for commit in commits:
        assert workplace.git("show", f"{commit}:shop.py") == RIGHT["shop.py"].strip("\n"), where


def lies_in_the_store_alone(workplace, where):
    assert store_of(workplace).read("TASK-001", TESTS) == HELD_OUT.encode(), where
    assert workplace.git("log", "--all", "--format=%H", "--", TESTS) == "", where
    assert not workplace.has(TESTS), where


def stop_at_effects(workplace, monkeypatch, tmp_path, shard, look):
    """Yield where each run was stopped, once another run has finished its work."""
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    planned(workplace, blocks={"shop.py": RIGHT["shop.py"], VISIBLE: RIGHT[VISIBLE]})
    saved = tmp_path / "saved"
    shutil.copytree(workplace.root, saved / "root", symlinks=True)
    shutil.copytree(workplace.home, saved / "home", symlinks=True)
    counted = tmp_path / "count"

    def count(_kind, _target):
        with counted.open("a") as file:
            file.write(".")

    assert run_in_a_child(workplace, count) == 0
    total = counted.stat().st_size
    first = random.Random(SEED).randrange(EVERY)
    for k in range(1 + first + shard * EVERY, total + 1, 2 * EVERY):
        for name, folder in (("root", workplace.root), ("home", workplace.home)):
            shutil.rmtree(folder)
            shutil.copytree(saved / name, folder, symlinks=True)
        where = f"stopped before effect {k} of {total}"
        assert run_in_a_child(workplace, Stop(k)) in (STOPPED, 0), where
        look(workplace, where)
        ended = workplace.run()
        assert ended.code == 0, f"{where}: {ended.said}"
        assert workplace.dirt == [], where
        workspaces = store_of(workplace).base.parent / "workspaces"
        assert not list(workspaces.iterdir()), where
        yield where


@pytest.mark.parametrize("shard", range(2))
def test_held_out_files_are_in_the_store_or_landed_after_each_kill(
    workplace, monkeypatch, tmp_path, shard
):
    for where in stop_at_effects(workplace, monkeypatch, tmp_path, shard, lies_somewhere):
        assert workplace.read(TESTS) == HELD_OUT, where
        assert not list(store_of(workplace).folder_of("TASK-001").rglob("*.py")), where


@pytest.mark.parametrize("shard", range(2))
def test_kept_files_are_in_the_store_alone_after_each_kill(workplace, monkeypatch, tmp_path, shard):
    monkeypatch.setenv("RUNNER_PROOF_HELD_OUT_LAND", "false")
    look = lies_in_the_store_alone
    for where in stop_at_effects(workplace, monkeypatch, tmp_path, shard, look):
        look(workplace, where)
