"""The line of a task that failed, where a crash came before it was written."""

import os
import re

import pytest
from crash_house import House
from crash_ways import STOPPED, stop_at

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
    at = [k for k, (_, path) in enumerate(whole.effects, 1) if path.endswith("CHECKPOINT.md")]
    for k in (at[0], at[-1]):
        house = start.copied(ground / "lines" / "place")
        assert house.run(watch=stop_at(k)).code == STOPPED
        house.run()
        assert line_of(house) == line, os.fspath(house.repo)
