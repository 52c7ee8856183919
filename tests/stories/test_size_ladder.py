"""A campaign of sizes: each rung is eight times the one before, and takes eight times as long.

Processor time of real runs, with slack, so that a busy machine fails none.
"""

import os
import resource
from itertools import pairwise

import pytest
from workplace import Workplace, a_task

TIMES, SLACK = 8, 3
LEAST = 1.0
"""Processor seconds of a run that has next to nothing to do."""

pytestmark = pytest.mark.skipif(
    not os.environ.get("CAMPAIGN_SECONDS"), reason="set CAMPAIGN_SECONDS to run a campaign"
)


def checks(count):
    some = {n: a_task(f"TASK-{n:04}", tests=["true"]) for n in range(1, count + 1)}
    return [one.replace(f"TC-{n % 1000:03}", f"TC-{n:04}") for n, one in some.items()]


def chain(count):
    ids = [f"TASK-{n:04}" for n in range(1, count + 1)]
    return [
        a_task(id_, needs=ids[max(0, n - 1) : n], blocks={f"f/{id_}.txt": "x\n"})
        for n, id_ in enumerate(ids)
    ]


def files(count):
    made = f"mkdir -p f; for n in $(seq {count}); do echo $n > f/$n.txt; done"
    return [a_task("TASK-0001", outputs=["f/*.txt"], command=made, tests=["true"])]


def size(count):
    made = f"yes line | head -n {count * 1000} > a.txt"
    return [a_task("TASK-0001", outputs=["a.txt"], command=made, tests=["true"])]


def output(count):
    made = f"yes some words of a log | head -n {count * 1000}; echo a > a.txt"
    return [a_task("TASK-0001", outputs=["a.txt"], command=made, tests=["true"])]


def section(count):
    blocks = {f"f/{n}.txt": f"{n}\n" * 20 for n in range(count)}
    return [a_task("TASK-0001", blocks=blocks, tests=["true"])]


LADDERS = {checks: 20, chain: 8, files: 40, size: 10, output: 100, section: 25}
"""By what a plan grows, and the first rung."""


def spent(place, *words):
    """Processor seconds of a command of ours and all that it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = place.start(*words)
    out, err = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0, out + err
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("grown", LADDERS, ids=lambda one: one.__name__)
def test_campaign_of_sizes(tmp_path, alone, grown, record_property):
    known = []
    for rung in range(3):
        count = LADDERS[grown] * TIMES**rung
        place = Workplace.begin(tmp_path / f"shop{rung}", alone)
        place.plan(*grown(count))
        runs = spent(place, "run", "--trust", "--no-sandbox", "-q")
        again = spent(place, "run", "--trust", "--no-sandbox", "-q")
        status = spent(place, "status")
        record_property(f"{count}", f"{runs:.1f} s, again {again:.1f} s, status {status:.1f} s")
        known.append((count, runs, again, status))
        assert set(place.statuses.values()) == {"DONE"}
    for (count, *before), (more, *after) in pairwise(known):
        for one, other in zip(before, after, strict=True):
            assert other < TIMES * SLACK * max(one, LEAST / TIMES), f"{count} to {more}: {known}"
