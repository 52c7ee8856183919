"""Where change times do not tell of every write, a write outside of the task is found all the same.

In memory (tmpfs) a program that maps a file, reads it and then writes leaves no trace in its times.
"""

import os
import tempfile
from pathlib import Path

import pytest

SNEAK = """\
import mmap, os, sys

descriptor = os.open(sys.argv[1], os.O_RDWR)
with mmap.mmap(descriptor, 0) as page:
    page[0]
    page[:6] = b"pass #"
"""
CHECK = 'assert open("b.txt").read() == "good\\n"\n'


@pytest.fixture
def in_memory(workplace, monkeypatch):
    """Slots are kept in memory, and the repository has a check that can be bent."""
    place = Path("/dev/shm")
    if not (place.is_dir() and os.access(place, os.W_OK)):
        pytest.skip("there is no /dev/shm here")
    workplace.write({"sneak.py": SNEAK, "check.py": CHECK})
    with tempfile.TemporaryDirectory(dir=place) as folder:
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        yield workplace


def a_task(number, output, command, *contracts, after="none"):
    tests = "".join(
        f"  - TC-{number}{place} (unit): `{line}`\n" for place, line in enumerate(contracts)
    )
    return (
        f"## TASK-00{number}: task {number}\n\n- Depends on: {after}\n- Output files: `{output}`\n"
        f"- Command: `{command}`\n- Test contracts:\n{tests}"
    )


def test_a_task_that_bends_the_check_of_the_next_one_is_refused(in_memory):
    in_memory.plan(
        a_task(1, "a.txt", "sh -c 'echo a > a.txt'", "grep -q a a.txt"),
        a_task(
            2,
            "c.txt",
            "sh -c 'echo c > c.txt; python3 sneak.py check.py'",
            "grep -q c c.txt",
            after="TASK-001",
        ),
        a_task(3, "b.txt", "sh -c 'echo bad > b.txt'", "python3 -P check.py", after="TASK-002"),
    )
    said = in_memory.run("-j", "1")
    assert said.code == 1
    assert "scope: check.py" in said.said
    assert in_memory.statuses == {
        "TASK-001": "DONE",
        "TASK-002": "BLOCKED",
        "TASK-003": "PENDING",
    }


def test_a_contract_that_bends_the_check_after_it_proves_nothing_for_it(in_memory):
    first = "python3 -P sneak.py check.py"
    lines = (first, "python3 -P check.py")
    in_memory.plan(
        a_task(1, "a.txt", "sh -c 'echo a > a.txt'", "grep -q a a.txt"),
        a_task(2, "b.txt", "sh -c 'echo bad > b.txt'", *lines, after="TASK-001"),
    )
    said = in_memory.run("-j", "1")
    assert said.code == 1
    assert "TC-21" in said.said
    assert in_memory.statuses["TASK-002"] == "BLOCKED"
