"""Which tests are long, and the part of them that is run.

`tests/long_tests.tsv` has the tests that take more than half a second of a processor with all that
they start: one in four, and six sevenths of the time. `make test` runs all others and one part in
eight of these, another part after each commit, so that eight commits one after another have run
them all; `make test PART=1/1` and `make campaign` run everything, and so does pytest by itself.

`make long-tests` measures all and writes the table anew. What is not in it always runs.
"""

from __future__ import annotations

import re
import resource
import sys
import zlib
from collections import defaultdict
from pathlib import Path

TABLE = Path(__file__).with_suffix(".tsv")
PART = "TESTS_PART"
"""Of the environment: the part of the long tests that is run, as `2/4`; without it all."""
MEASURED = "TESTS_MEASURED"
"""Of the environment: a folder, for what each test took."""
LONG = 0.5
"""Seconds of a processor."""


def read_part(text):
    """The part and how many there are, of `2/4`; ValueError says what is no part."""
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if not found or int(found[1]) > int(found[2]):
        raise ValueError(f'{PART}="{text}": one of so many, as 2/4')
    return int(found[1]), int(found[2])


def read_long(path=TABLE):
    """The long tests, without the cases of each."""
    return {line.partition("\t")[2] for line in path.read_text(encoding="utf-8").splitlines()}


def choose(names, part, parts, known):
    """Whether each of these tests is run in this part, by its name alone."""
    return [
        name.partition("[")[0] not in known or zlib.crc32(name.encode()) % parts == part - 1
        for name in names
    ]


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
    lines = [f"{means[name]:.1f}\t{name}\n" for name in sorted(means) if means[name] > LONG]
    path.write_text("".join(lines), encoding="utf-8")
    total = sum(map(sum, taken.values()))
    long = sum(sum(taken[name]) for name in means if means[name] > LONG)
    return (
        f"{len(lines)} of {len(means)} tests are long: {long:.0f} of {total:.0f} s of a processor"
    )


if __name__ == "__main__":
    print(write_table(Path(sys.argv[1])))  # noqa: T201 - a command's own output
