"""The line of a task that failed, where a crash came before it was written."""

import os
import re

import pytest
from crash_house import House
from crash_ways import STOPPED, stop_before

PLAN = """\
# Lines

## TASK-001: What fails

- Status: PENDING
- Output files: `one.txt`
- Test contracts:
  - TC-001 (unit): `grep -q two one.txt`
  - TC-002 (unit): `grep -q one one.txt`

```text file=one.txt
one
```
"""
CHECKPOINT = "artifacts/build/CHECKPOINT.md"


@pytest.fixture
def start(ground):
    return House.built(ground / "lines" / "start", PLAN)


def line_of(house):
    text = house.read(CHECKPOINT).decode()
    assert text.count("--- Task 1: ") == 1
    return re.sub(r"work kept on \S+", "", text)


def test_it_says_which_proofs_failed_as_it_would_have_without_the_crash(start, ground):
    house = start.copied(ground / "lines" / "place")
    whole = house.run()
    assert whole.code == 1, whole.said
    line = line_of(house)
    assert "TC: 1/2 pass" in line
    # Not by the number of all effects: documents are written by the clock, so that one varies.
    written = sum(path.endswith("CHECKPOINT.md") for _, path in whole.effects)
    for times in (1, written):
        house = start.copied(ground / "lines" / "place")
        stopped = house.run(watch=stop_before(_is_checkpoint, times))
        assert stopped.code == STOPPED, stopped.said
        again = house.run()
        # On a slow machine the first write may come while the attempt still runs.
        expected = line.replace("failed", "failed twice") if "attempt 2" in again.said else line
        assert line_of(house) == expected, os.fspath(house.repo)


def _is_checkpoint(_kind, target):
    return target.endswith("CHECKPOINT.md")
