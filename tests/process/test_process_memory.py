"""Large pieces of memory go back to the system when they are free."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

COPIES = """
import os, sys
from runner.process.platform import give_back_large_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

if sys.argv[1] == "back":
    assert give_back_large_memory()
first = bytes(bytearray(b"x") * 8_000_000)
del first  # what glibc learns from
before, copies, small = resident(), [], []
for _ in range(10):
    copies.append(b"x" * 4_000_000)
    small.append(b"x" * 100_000)
most = resident() - before
del copies
print(most, resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a matter of the GNU C library")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asked of /proc")
def test_copies_of_a_large_text_leave_nothing_behind():
    kept, back = (
        [float(one) for one in subprocess.check_output([sys.executable, "-c", COPIES, how]).split()]
        for how in ("keep", "back")
    )
    assert kept[0] > 35
    assert kept[1] > 20, "glibc keeps nothing any more: then nothing has to be asked of it"
    assert back[0] > 35
    assert back[1] < kept[1] / 4  # of it one megabyte are the small ones
