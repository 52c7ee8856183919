"""bandit in a child says what bandit here says, and its end is no end of anything else."""

from __future__ import annotations

import os
import signal
import time

import pytest
from writes_builders import a_change

from runner.writes.sast import BanditProcess, SastPool, scan_file

RISKY = b"import pickle\n\npickle.loads(x)  # nosec\nsubprocess.call(y, shell=True)\n"


@pytest.fixture
def beside():
    made = BanditProcess(much=1)
    made.expect(RISKY)
    until = time.monotonic() + 30
    while made.child is not None and not made._companion.ready() and time.monotonic() < until:
        time.sleep(0.01)
    yield made
    made.close()


@pytest.mark.parametrize(
    "content",
    [RISKY, b"", b"x = 'caf\xc3\xa9'\nassert x\n", b"def", b"a\0b", b"-" * 60_000 + b"1",
     b"x = 1 #" * 100_000, b"# coding: latin-1\nx = '\xe9'\nassert x\n", b"assert x\n" * 400],
)  # fmt: skip
def test_the_child_says_what_is_said_here(beside, content):
    there = scan_file(content, "src/a.py", seconds=60, scan=beside.scan)
    assert there == scan_file(content, "src/a.py", seconds=60)
    assert beside.child is not None


def test_a_source_that_ends_the_child_is_a_note_and_the_next_is_scanned(beside):
    os.kill(beside.child, signal.SIGKILL)
    report = scan_file(RISKY, "a.py", scan=beside.scan)
    assert [note.message for note in report.notes] == [
        "bandit did not scan this: its process was of no use: it ended"
    ]
    assert len(scan_file(RISKY, "b.py", scan=beside.scan).findings) == 3


def test_a_few_small_files_start_no_child():
    beside = BanditProcess()
    with SastPool(bandit=beside) as pool:
        scan = pool.scan([a_change(f"{n}.py", RISKY) for n in range(5)])
        assert len(scan.result(30).findings) == 15
        assert beside.child is None


def test_much_python_is_scanned_whole_while_the_child_starts_and_afterwards():
    with SastPool(bandit=BanditProcess(much=200)) as pool:
        scan = pool.scan([a_change(f"{n}.py", RISKY + b"#" * n) for n in range(120)])
        report = scan.result(60)
    assert len(report.findings) == 360
    assert report.notes == ()
    assert len({found.digest for found in report.findings}) == 120


def test_closing_ends_the_child(beside):
    child = beside.child
    beside.close()
    assert beside.child is None
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
