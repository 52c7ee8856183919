"""A small disk in turn as repository, cache and artifacts, full or broken: all is kept."""

import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import invariants
import pytest
from crash_house import House

CAMPAIGN = float(os.environ.get("CAMPAIGN_SECONDS", "0"))
PLAN = """\
# Disk

## TASK-001: First

- Output files: `a.txt`
- Test contracts:
  - TC-001 (unit): `test -s a.txt`

```text file=a.txt
one
```

## TASK-002: Large

- Depends on: TASK-001
- Output files: `b.bin`
- Command: `head -c 3000000 /dev/urandom > b.bin`
- Test contracts:
  - TC-002 (unit): `test -s b.bin`

## TASK-003: Last

- Depends on: TASK-001
- Output files: `c.txt`
- Test contracts:
  - TC-003 (unit): `test -s c.txt`

```text file=c.txt
three
```
"""
LEFT = (20_000, 60_000, 150_000, 400_000, 1_000_000, 4_000_000)
"""Bytes that are free on the disk, run after run."""
_CALLS = ("fsync", "write", "rename", "openat", "memfd_create")

pytestmark = pytest.mark.skipif(not CAMPAIGN, reason="set CAMPAIGN_SECONDS to run a campaign")


@pytest.fixture
def disk(tmp_path):
    """Twenty megabytes of their own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("only who may mount has a disk to fill")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


_PATIENCE, _LOOKS = 300, 20
_OF_PYTHON = re.compile(r"Error processing line.*?Remainder of file ignored\n", re.DOTALL)
"""What Python itself says, where it cannot read a folder of packages as it starts."""


@pytest.mark.parametrize("place", ["repository", "cache", "artifacts"])
def test_a_campaign_of_a_full_disk(place, disk, tmp_path):
    house = House.built(disk / "house" if place == "repository" else tmp_path / "house", PLAN)
    if place != "repository":
        inside = house.home / ".cache" if place == "cache" else house.repo / "artifacts"
        (disk / "inside").mkdir()
        inside.symlink_to(disk / "inside") if place == "cache" else _bind(disk / "inside", inside)
    filler = disk / "filler"
    try:
        for left in LEFT:
            filler.unlink(missing_ok=True)
            found = os.statvfs(disk)
            with suppress(OSError), filler.open("wb") as file:
                file.write(bytes(max(0, found.f_bavail * found.f_frsize - left)))
            _hold(house, *_ran(house))
        filler.unlink()
        _reopen(house)
        code, said = _ran(house)
        _hold(house, code, said)
        assert code == 0, said
        assert len(house.landings()) == 3
    finally:
        if place == "artifacts":
            subprocess.run(["umount", "-l", house.repo / "artifacts"], check=True)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace breaks the disk")
@pytest.mark.parametrize("call", _CALLS)
def test_a_campaign_of_a_broken_disk(call, tmp_path):
    end, number = time.monotonic() + CAMPAIGN / 20, 1
    while time.monotonic() < end:
        house = House.built(tmp_path / f"{number}", PLAN)
        fault = f"inject={call}:error=EIO:when={number}"
        _hold(house, *_ran(house, "strace", "-f", "-qq", "-o", os.devnull, "-e", fault))
        _reopen(house)
        code, said = _ran(house)
        _hold(house, code, said)
        assert code == 0, said
        number = number * 3 // 2 + 1


def _bind(source, target):
    target.mkdir()
    subprocess.run(["mount", "--bind", source, target], check=True)


def _ran(house, *before):
    process = house.start("-j", "1", before=before)
    for _ in range(_PATIENCE // _LOOKS):
        try:
            said, _ = process.communicate(timeout=_LOOKS)
        except subprocess.TimeoutExpired:
            _end_those_that_wait(process.pid)
        else:
            return process.returncode, said
    raise AssertionError(f"it did not end in {_PATIENCE} s")


def _end_those_that_wait(tracer):
    """End git and bubblewrap, whose word to another program was broken as no pipe's ever is.

    Of a missing object git says so without a look at whether that was written, and waits on.
    """
    traced = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            told = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
            if told["TracerPid"] == str(tracer):
                traced.append((told["Name"], int(status.parent.name)))
    alone = {name for name, _ in traced} == {"bwrap"}
    for name, number in traced:
        if alone or name == "git":
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def _reopen(house):
    """What a person does whose disk was full: the blocked task is to be tried again."""
    plan = house.repo / "TASK-GRAPH.md"
    lines = plan.read_text().splitlines(keepends=True)
    plan.write_text(
        "".join("- Status: PENDING\n" if "Status: BLOCKED" in one else one for one in lines)
    )


def _hold(house, code, said):
    said = _OF_PYTHON.sub("", said)
    assert code != 70, said
    assert "Traceback" not in said, said
    invariants.nothing_landed_twice(house.repo)
    invariants.what_is_done_has_its_commit(house.repo)
    invariants.every_prefix_of_the_journal_replays(house.repo)
    invariants.git_finds_nothing_wrong(house.repo)
