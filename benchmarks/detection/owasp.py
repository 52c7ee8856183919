"""Static analysis over OWASP's benchmark for Python: what is found, what is told falsely.

    python benchmarks/detection/owasp.py FOLDER

FOLDER is a clone of the public repository OWASP-Benchmark/BenchmarkPython. Each test case is one
file that is or is not open to one weakness. It counts as told where a finding of that weakness
stands in it, whatever its severity. The halves are by a hash of the case's name.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections import Counter
from pathlib import Path

from runner.writes.sast import scan_file

BANDIT = {
    "B102": "codeinj",
    "B307": "codeinj",
    "B301": "deserialization",
    "B302": "deserialization",
    "B506": "deserialization",
    "B608": "sqli",
    **dict.fromkeys(("B602", "B603", "B604", "B605", "B606", "B607", "B609"), "cmdi"),
    **dict.fromkeys(("B313", "B314", "B315", "B316", "B317", "B318", "B319", "B320"), "xxe"),
    "B311": "weakrand",
    "B324": "hash",
    "B303": "hash",
    "B310": "ssrf",
    "B704": "xss",
}
"""The weakness that each of bandit's rules is about."""


def kinds(source: Path) -> set[str]:
    """The weaknesses that are told of a file."""
    found = scan_file(source.read_bytes(), source.name).findings
    return {BANDIT[one.rule] for one in found if one.rule in BANDIT}


def main(folder: Path) -> None:
    """Print a row a weakness, and one a half."""
    (expected,) = folder.glob("expectedresults-*.csv")
    rows = [row for row in csv.reader(expected.open()) if not row[0].startswith("#")]
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for name, weakness, real, *_ in rows:
        told = weakness in kinds(folder / "testcode" / f"{name}.py")
        half = "half " + "ab"[hashlib.sha256(name.encode()).digest()[0] % 2]
        for group in (weakness, half, "all"):
            counts[group, real == "true", told] += 1
    print("| weakness | found | told falsely |")
    print("|---|---|---|")
    for group in sorted({group for group, _, _ in counts}):
        cells = []
        for real in (True, False):
            told, missed = counts[group, real, True], counts[group, real, False]
            cells.append(f"{told} of {told + missed} ({100 * told / max(1, told + missed):.0f} %)")
        print(f"| {group} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
