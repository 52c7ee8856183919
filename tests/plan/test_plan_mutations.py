"""Whatever a plan holds, it is read within a second of processor time, and nothing is raised."""

import os
import random
import time
from itertools import pairwise

import pytest
from plan_documents import mutated

from runner.plan.cache import load_outline, load_plan
from runner.plan.checks import check_plan
from runner.plan.document import read_plan
from runner.plan.globs import is_glob
from runner.plan.ownership import OwnershipMap
from runner.plan.source import render
from runner.plan.spans import Spans
from runner.run.resource_locks import ResourceLocks, find_collision
from runner.writes.paths import in_scope

CAMPAIGN = float(os.environ.get("CAMPAIGN_SECONDS", "0"))
SEED = int(os.environ.get("PLAN_SEED", str(random.SystemRandom().randrange(10**6))))
MOST = 100_000
LONGEST = 1.0 if CAMPAIGN else 30.0
"""Seconds of processor time; the suite is measured for coverage, too, and looks for hangs alone."""


def read_whole(data, cache=None):
    """All that is asked of a plan before a person is asked whether to trust it."""
    plan = read_plan(data, "TASK-GRAPH.md") if cache is None else load_plan(data, "T", cache)
    found = check_plan(
        plan.tasks,
        places=Spans(data, "TASK-GRAPH.md"),
        found=lambda _: True,
        exists=lambda _: False,
    )
    for problem in (*plan.problems, *found)[:50]:
        render(problem)
    some, claims = plan.tasks[:12], ResourceLocks()
    for task in some:
        claims.free_for(task)
        claims.hold(task)
        in_scope("src/a/b/page.tsx", tuple(path for path in task.outputs if is_glob(path)))
    for one, other in pairwise(some):
        find_collision(one, other)
    OwnershipMap.read(data).owners("src/a/b.py")
    return plan


@pytest.mark.parametrize("seed", range(2))
def test_a_broken_plan_is_read_and_raises_nothing(seed, tmp_path):
    chance = random.Random(f"{seed}")
    for _ in range(8):
        hold(mutated(chance), tmp_path)


@pytest.mark.skipif(not CAMPAIGN, reason="set CAMPAIGN_SECONDS to run a campaign")
def test_a_campaign_of_broken_plans(tmp_path, record_property):
    """100,000 of them, or as many as there is time for; one that fails is kept."""
    chance, end = random.Random(SEED), time.monotonic() + CAMPAIGN
    for number in range(MOST):
        if time.monotonic() > end:
            break
        data = mutated(chance)
        try:
            hold(data, tmp_path if number % 20 == 0 else None)
        except Exception:
            (tmp_path / "broken.md").write_bytes(data)
            print(f"PLAN_SEED={SEED}, number {number}: {tmp_path / 'broken.md'}")  # noqa: T201
            raise
    record_property("tried", number + 1)


def hold(data, cache):
    longest = LONGEST + len(data) / 200_000
    plan, took = timed(data)
    # A first reading imports and compiles, and a busy machine's caches are cold: what is slow by
    # itself is slow again.
    took = took if took < longest else min(took, timed(data)[1])
    assert took < longest, f"{took:.1f} s for {len(data)} bytes"
    if cache is not None:
        folder = cache / f"{len(data)}-{hash(data)}"
        assert read_whole(data, folder).tasks == plan.tasks
        assert read_whole(data, folder).tasks == plan.tasks, "read from the cache"
        load_outline(data, "T", folder)


def timed(data):
    """The plan, and the seconds of processor time that its reading took."""
    began = time.process_time()
    plan = read_whole(data)
    return plan, time.process_time() - began
