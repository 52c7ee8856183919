"""A run that plans a task, builds its phases and is stopped anywhere goes on to the same end."""

import json
import os
import random
import time
from pathlib import Path

import pytest
from crash_house import Story
from crash_ways import STOPPED, power_cut_at, stop_at
from drafter import NAME, install

PLANNED = f"""\
# Planned

## TASK-001: Two files in two phases

- Status: PENDING
- Implementer: {NAME}
- Output files: `a.txt`, `b.txt`
- Command: `if [ $MODE = plan ]; then echo plan >> $HOME/calls; printf '## Steps\\n1. Do\\n## Files\\n- a.txt\\n- b.txt\\n## Phases\\n### One\\n1. x\\n### Two\\n1. y\\n'; elif [ -e a.txt ]; then cp a.txt b.txt; else echo a > a.txt; fi`
- Test contracts:
  - TC-001 (unit): `test -s b.txt`
"""  # noqa: E501  a command is one line
SAMPLE = 2
"""Effects of the suite's part; a campaign takes all."""
SECONDS = float(os.environ.get("CAMPAIGN_SECONDS", "0"))


@pytest.fixture(scope="module")
def planned(ground):
    install()
    return Story.told(ground / "planned", PLANNED)


def approved(house):
    """Whether an approval of the plan is in the journal, which a run may leave torn at its end."""
    lines = house.journal.read_bytes().splitlines() if house.journal.exists() else []
    return any(b'"type":"plan.reviewed"' in line and line.endswith(b"}") for line in lines)


def kept_phases(house):
    """Phases that the journal says are kept."""
    lines = house.journal.read_text(errors="replace").splitlines() if house.journal.exists() else []
    found = 0
    for line in lines:
        try:
            told = json.loads(line)
        except ValueError:
            continue
        found += told["type"] == "attempt.finished" and told.get("ref", "").startswith("phases/")
    return found


def calls(house):
    file = Path(house.home, "calls")
    return file.read_text().count("plan") if file.exists() else 0


def goes_on(story, house, where):
    """To the same end; a plan that was approved is not made again, nor a kept phase built again."""
    known, made, kept = approved(house), calls(house), kept_phases(house)
    story.still_holds(house, where)
    story.goes_on(house, where)
    assert calls(house) - made == (0 if known else calls(house) - made), where
    assert calls(house) <= made + 1, where
    assert kept_phases(house) == max(kept, 1), where


def test_stopped_before_an_effect(planned):
    chance = random.Random(7)
    for k in sorted(chance.sample(range(1, planned.count + 1), SAMPLE)):
        house = planned.begin()
        assert house.run(watch=stop_at(k)).code == STOPPED
        goes_on(planned, house, planned.told_at(k))


@pytest.mark.skipif(not SECONDS, reason="set CAMPAIGN_SECONDS, or run make campaign")
def test_a_campaign_of_planning(planned, record_property):
    """Every number of the run in a random order."""
    chance, end = random.Random(os.environ.get("CRASH_SEED", "1")), time.monotonic() + SECONDS / 10
    ways = chance.sample(range(1, planned.count + 1), planned.count)
    for tested, k in enumerate(ways, 1):
        record_property("tried", tested)
        house = planned.begin()
        assert house.run(watch=stop_at(k)).code == STOPPED
        goes_on(planned, house, planned.told_at(k))
        house = planned.begin()
        house.run(watch=power_cut_at(k, house.repo, torn=chance.choice((0, 1, 40))))
        planned.goes_on(house, f"power cut at {planned.told_at(k)}")
        if time.monotonic() >= end:
            break
