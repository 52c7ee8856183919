"""A run with held-out tests that is killed at any effect: the files are never lost or torn."""

import os
import random
import shutil
from contextlib import suppress

import pytest
from author_plans import CODE, FILE, MORE, a_mutant_round, a_round, plan_half
from crash_ways import STOPPED
from held_out_plans import HELD_OUT, RIGHT, TESTS, VISIBLE, planned, store_of

from runner import effects
from runner.model import digest_of
from runner.project import Project

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


def plan_blocks(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    planned(workplace, blocks={"shop.py": RIGHT["shop.py"], VISIBLE: RIGHT[VISIBLE]})


def stop_at_effects(workplace, tmp_path, shard, look, dirt=()):
    """Yield where each run was stopped, once another run has finished its work."""
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
        assert set(workplace.dirt) <= set(dirt), where
        workspaces = store_of(workplace).base.parent / "workspaces"
        assert not list(workspaces.glob("*")), where
        yield where


@pytest.mark.parametrize("shard", range(2))
def test_held_out_files_are_in_the_store_or_landed_after_each_kill(
    workplace, monkeypatch, tmp_path, shard
):
    plan_blocks(workplace, monkeypatch)
    for where in stop_at_effects(workplace, tmp_path, shard, lies_somewhere):
        assert workplace.read(TESTS) == HELD_OUT, where
        assert not list(store_of(workplace).folder_of("TASK-001").rglob("*.py")), where


@pytest.mark.parametrize("shard", range(2))
def test_kept_files_are_in_the_store_alone_after_each_kill(workplace, monkeypatch, tmp_path, shard):
    monkeypatch.setenv("RUNNER_PROOF_HELD_OUT_LAND", "false")
    plan_blocks(workplace, monkeypatch)
    look = lies_in_the_store_alone
    for where in stop_at_effects(workplace, tmp_path, shard, look):
        look(workplace, where)


def listed_tests_lie_somewhere(workplace, where):
    """Look for what the plan lists of an author's tests, and for what landed without the work."""
    task = find_task(workplace)
    for one in task.held_out_files:
        landed = workplace.git("show", f"HEAD:{one.path}", check=False).encode() + b"\n"
        stored = store_of(workplace).digest_of(task.id, one.path)
        assert one.digest in (stored, digest_of(landed)), where
    code = "\n".join(CODE)
    for path in (FILE, MORE):
        for commit in workplace.git("log", "--format=%H", "--", path).split():
            assert workplace.git("show", f"{commit}:app.py") == code, where
        tracked = bool(workplace.git("ls-tree", "HEAD", path))
        assert tracked or not workplace.has(path), where


def find_task(workplace):
    project = Project.open(workplace.root, os.environ)
    return project.plan(project.plan_bytes).tasks[0]


@pytest.mark.nightly(
    sibling="tests/stories/crash/test_crash_held_out.py::test_held_out_files_are_in_the_store_or_landed_after_each_kill"
)
@pytest.mark.parametrize("shard", range(2))
@pytest.mark.parametrize("visibility", ["visible", "held-out"])
def test_tests_of_an_author_are_whole_after_each_kill(workplace, tmp_path, visibility, shard):
    settings = {"mutation": "warn", "test_visibility": visibility, "sandbox": "none"}
    plan_half(workplace, workplace.home / "agent", [a_round()], [a_mutant_round()], **settings)
    look, dirt = listed_tests_lie_somewhere, [" M TASK-GRAPH.md"]  # the author's lines
    for where in stop_at_effects(workplace, tmp_path, shard, look, dirt):
        look(workplace, where)
        assert workplace.statuses == {"TASK-001": "DONE"}, where
        landed = {one.path for one in find_task(workplace).held_out_files}
        assert FILE in landed, where
        assert not list(workplace.home.rglob("workspaces/*")), where
        assert all(workplace.has(path) for path in landed), where
        assert not [one for one in landed if store_of(workplace).read("TASK-001", one)], where
