"""Which tests are long, what each took, and how long all will take.

`tests/long_tests.tsv` has the tests that take more than half a second of a processor with all that
they start, a row each: the mean of its cases, their number, its name. `make long-tests` writes it.
Its first row is what all others take together.
"""

from __future__ import annotations

import os
import re
import resource
import sys
from collections import defaultdict
from pathlib import Path

TABLE = Path(__file__).with_suffix(".tsv")
MEASURED = "TESTS_MEASURED"
"""Of the environment: a folder, for what each test took."""
LONG = 0.5
"""Seconds of a processor."""
OTHERS = "others"
"""The row of all tests that are not long."""
NIGHTLY = re.compile(
    r"@pytest\.mark\.nightly\(\s*(?:sibling=)?\"(?P<sibling>[^\"]+)\",?\s*\)"
    r"(?:\n@[^\n]*(?:\n[ )\]}][^\n]*)*)*\ndef (?P<name>\w+)"
)


def read_rows(path=TABLE):
    """Return what the table says: mean seconds and number of cases by the name of each test."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {name: (float(mean), int(cases)) for mean, cases, name in rows}


def estimate(nightly, cores, path=TABLE):
    """Say how long all tests but the nightly ones will take on so many cores."""
    rows = read_rows(path)
    seconds = sum(mean * cases for name, (mean, cases) in rows.items() if name not in nightly)
    return f"about {seconds / cores / 60:.0f} minutes on {cores} cores that are free"


def find_nightly(folder=TABLE.parent):
    """Return by the name of each test that is marked `nightly` the name of its sibling."""
    found = {}
    for file in folder.rglob("test_*.py"):
        text = file.read_text(encoding="utf-8")
        for match in NIGHTLY.finditer(text):
            name = f"{file.relative_to(folder.parent).as_posix()}::{match['name']}"
            found[name] = match["sibling"]
    return found


def processor_seconds():
    """What this process took of a processor, and all that it started and waited for."""
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in each)


def write_table(folder, path=TABLE):
    """Write the table by what was measured: a test with cases by the mean of them."""
    taken = defaultdict(list)
    for file in folder.iterdir():
        for line in file.read_text(encoding="utf-8").splitlines():
            seconds, _, name = line.partition("\t")
            taken[name.partition("[")[0]].append(float(seconds))
    means = {name: sum(some) / len(some) for name, some in taken.items()}
    long = [name for name in sorted(means) if means[name] > LONG]
    total = sum(map(sum, taken.values()))
    rest = total - sum(sum(taken[name]) for name in long)
    lines = [f"{means[name]:.1f}\t{len(taken[name])}\t{name}\n" for name in long]
    path.write_text("".join([f"{rest:.1f}\t1\t{OTHERS}\n", *lines]), encoding="utf-8")
    share = f"{total - rest:.0f} of {total:.0f} s of a processor"
    return f"{len(long)} of {len(means)} tests are long: {share}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--estimate"]:
        print(estimate(find_nightly(), os.cpu_count() or 1))  # noqa: T201 - a command's own output
    else:
        print(write_table(Path(sys.argv[1])))  # noqa: T201 - the same
