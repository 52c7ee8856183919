"""Tasks that finish together: the test suite runs once for all of them, then they land."""

import time

import pytest
from workplace import a_task

COUNTED = """import unittest

class Counted(unittest.TestCase):
    def test_it_is_counted(self):
        with open({ran!r}, "a") as file:
            print("ran", file=file)
"""
OWN = """import unittest
from src.m{n} import NAME

class Own(unittest.TestCase):
    def test_name(self):
        self.assertEqual(NAME, {n})
"""
GATE = "python3 -m unittest -q"


class Batch:
    """Four modules that are built side by side, and a suite that tells how often it ran."""

    def __init__(self, workplace, tmp_path):
        self.place, self.ran = workplace, tmp_path / "ran"
        self.settings = f'proof.verify_at_end = "never"\n[gates]\ntests = "{GATE}"\n'
        self.files = {"tests/test_count.py": COUNTED.format(ran=str(self.ran))}
        self.modules = {n: f"NAME = {n}\n" for n in range(1, 5)}
        self.needs = {}

    def run(self):
        self.write_plan()
        return self.place.run("--no-sandbox", "-j", "4")

    def write_plan(self):
        empty = {"src/__init__.py": "", "tests/__init__.py": "", "runner.toml": self.settings}
        self.place.write(empty | self.files)
        tasks = [
            a_task(
                f"TASK-00{n}",
                needs=self.needs.get(n, ()),
                blocks={f"src/m{n}.py": module, f"tests/test_m{n}.py": OWN.format(n=n)},
                tests=[f"python3 -m unittest -q tests.test_m{n}"],
            )
            for n, module in self.modules.items()
        ]
        self.place.plan(*tasks)

    @property
    def times(self):
        return len(self.ran.read_text().splitlines()) if self.ran.exists() else 0

    def note(self, id_):
        (done,) = self.place.happened("task.done", id_)
        return next(one.get("note", "") for one in done["proofs"] if one["kind"] == "gate")


@pytest.fixture
def batch(workplace, tmp_path):
    return Batch(workplace, tmp_path)


@pytest.mark.parametrize(("setting", "times"), [("", 2), ("0", 0)])
def test_a_suite_runs_once_for_tasks_that_finish_together(batch, setting, times):
    """A fifth task needs the first one, so it starts when the batch has landed."""
    batch.modules[5], batch.needs[5] = "NAME = 5\n", ["TASK-001"]
    if setting:
        batch.settings = f"proof.gate_batch_seconds = {setting}\n{batch.settings}"
    ended = batch.run()
    assert ended.code == 0, ended.said
    assert sorted(batch.place.landings) == [f"TASK-00{n}" for n in batch.modules]
    together = [n for n in range(1, 5) if "ran once for" in batch.note(f"TASK-00{n}")]
    if not times:
        assert batch.times >= len(batch.modules)
        assert not together
        return
    assert together == [1, 2, 3, 4]
    assert "TASK-001 · gate:tests waits: it runs once for all tasks that land together" in ended.err
    assert batch.times == times  # and once for the fifth alone
    (started,) = batch.place.happened("attempt.started", "TASK-005")
    landed = batch.place.git("log", "--format=%H", "--grep=Task: TASK-00[1-4]").split()
    assert started["base"] == landed[0]
    said = batch.place.runner("evidence", "TASK-002").out
    tree = batch.place.git("rev-parse", f"{landed[0]}^{{tree}}")
    assert f"on their merged tree {tree[:12]}" in said
    assert all(f"TASK-00{n}" in said.split("ran once for")[1] for n in together)


@pytest.mark.parametrize("broken", [(3,), (2, 3)])
def test_the_culprit_goes_back_with_the_failing_test_and_the_others_land(batch, broken):
    """The suite fails with one module, or only with two of them together."""
    names = " and ".join(f"os.path.exists('src/m{n}.py')" for n in broken)
    test = f"        self.assertFalse({names})\n"
    head = "import os, unittest\n\nclass Whole(unittest.TestCase):\n    def test_whole(self):\n"
    batch.files["tests/test_whole.py"] = head + test
    ended = batch.run()
    assert ended.code == 1, ended.said
    blocked = [id_ for id_, status in batch.place.statuses.items() if status == "BLOCKED"]
    assert len(blocked) == 1
    assert blocked[0] in [f"TASK-00{n}" for n in broken]
    assert len(batch.place.landings) == 3
    failed = batch.place.happened("attempt.finished", blocked[0])[-1]
    (finding,) = [one for one in failed["findings"] if one["check"] == "gate:tests"]
    assert "test_whole" in finding["detail"]
    assert batch.place.git("status", "--porcelain", "src", "tests") == ""


def test_killed_while_the_suite_runs_nothing_has_landed_and_the_next_run_finishes(batch, tmp_path):
    begun = tmp_path / "begun"
    line = f"sh: if ! test -e {begun}; then touch {begun}; exec sleep 60; fi; {GATE}"
    batch.settings = f'proof.verify_at_end = "never"\n[gates]\ntests = "{line}"\n'
    batch.write_plan()
    run = batch.place.start("run", "--trust", "--no-sandbox", "-j", "4")
    try:
        while not begun.exists():
            assert run.poll() is None
            time.sleep(0.05)
    finally:
        run.kill()
        run.communicate()
    assert not batch.place.landings
    assert batch.place.git("status", "--porcelain", "src", "tests") == ""
    assert batch.run().code == 0
    assert sorted(batch.place.landings) == [f"TASK-00{n}" for n in batch.modules]
