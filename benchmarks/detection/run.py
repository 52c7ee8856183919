"""How many keys are found, and how often something that is none: ours beside other tools.

    python benchmarks/detection/run.py                    recall and false findings
    python benchmarks/detection/run.py --sast             static analysis over bandit's examples
    python benchmarks/detection/run.py --lines 400000     more of the standard library

Nothing is sent anywhere: detect-secrets runs as it is shipped but with --no-verify, since it
would try the keys over the network.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from formats import CONTEXTS, FORMATS, sample
from sources import installed_packages, standard_library

from runner.model import Severity
from runner.secrets.scan import scan_content


def detect_secrets(folder: Path, files: list[Path] | None = None) -> dict[str, int]:
    """Findings of `detect-secrets scan` by file name."""
    command = [sys.executable, "-m", "detect_secrets", "scan", "--no-verify", "--all-files"]
    found: dict[str, int] = {}
    named = [str(path.relative_to(folder)) for path in files] if files else ["."]
    for start in range(0, len(named), 200):
        words = [*command, *named[start : start + 200]]
        done = subprocess.run(words, cwd=folder, capture_output=True, check=True)
        for name, findings in json.loads(done.stdout)["results"].items():
            found[name] = len(findings)
    return found


def recall(samples: int) -> None:
    chance = random.Random(20261121)
    ours: dict[tuple[str, str], list[bool]] = defaultdict(list)
    theirs: dict[tuple[str, str], list[bool]] = defaultdict(list)
    names: dict[str, tuple[str, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, form in enumerate(FORMATS):
            for context in CONTEXTS:
                for repeat in range(samples):
                    suffix, content = sample(form, context, chance)
                    name = f"f{number:02d}_{len(names)}_{repeat}{suffix}"
                    names[name] = form.title, context
                    (Path(folder) / name).write_bytes(content)
                    blocks = any(one.refuses for one in scan_content(content, name))
                    ours[form.title, context].append(blocks)
        found = detect_secrets(Path(folder))
        for name, cell in names.items():
            theirs[cell].append(name in found)
    _recall_table(ours, theirs)


def _recall_table(ours: dict, theirs: dict) -> None:
    print("| format | " + " | ".join(CONTEXTS) + " | all | detect-secrets |")
    print("|---|" + "---|" * (len(CONTEXTS) + 2))
    for form in FORMATS:
        cells = [_percent(ours[form.title, context]) for context in CONTEXTS]
        whole = [one for context in CONTEXTS for one in ours[form.title, context]]
        other = [one for context in CONTEXTS for one in theirs[form.title, context]]
        print(f"| {form.title} | {' | '.join(cells)} | {_percent(whole)} | {_percent(other)} |")
    columns = [[one for f in FORMATS for one in ours[f.title, c]] for c in CONTEXTS]
    whole, other = ([one for cell in table.values() for one in cell] for table in (ours, theirs))
    cells = " | ".join(map(_percent, columns))
    print(f"| **all** | {cells} | **{_percent(whole)}** | **{_percent(other)}** |")
    for name, table in (("ours", ours), ("detect-secrets", theirs)):
        full = sum(all(all(table[f.title, c]) for c in CONTEXTS) for f in FORMATS)
        none = sum(not any(any(table[f.title, c]) for c in CONTEXTS) for f in FORMATS)
        print(f"\n{name}: {full} of {len(FORMATS)} formats in every context, {none} in none")


def _percent(found: list[bool]) -> str:
    return f"{100 * sum(found) / len(found):.0f} %"


def false_findings(lines: int) -> None:
    print("\n| over | lines | we block | we warn | we note | detect-secrets | our ms/1,000 lines |")
    print("|---|---|---|---|---|---|---|")
    examples: Counter[str] = Counter()
    for title, (root, files) in (
        ("standard library", standard_library(lines)),
        ("installed packages", installed_packages(lines)),
    ):
        counts: Counter[Severity] = Counter()
        size, took = 0, 0.0
        for path in files:
            content = path.read_bytes()
            size += content.count(b"\n")
            began = time.perf_counter()
            found = scan_content(content, path.name)
            took += time.perf_counter() - began
            for one in found:
                counts[one.severity] += 1
                if one.refuses:
                    examples[
                        f"{title}: {path.parent.name}/{path.name}:{one.line} {one.message}"
                    ] += 1
        other = sum(detect_secrets(root, files).values())
        rates = [1000 * counts[kind] / size for kind in Severity] + [1000 * other / size]
        shown = " | ".join(f"{rate:.3f}" for rate in rates)
        print(f"| {title} | {size:,} | {shown} | {1e6 * took / size:.1f} |")
    print("\nwhat blocks there (each counts as false):\n")
    for example, count in sorted(examples.items()):
        print(f"- {example} ({count})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=5, help="keys a format and context")
    parser.add_argument("--lines", type=int, default=100_000, help="of each body of sources")
    parser.add_argument("--sast", action="store_true", help="static analysis instead")
    given = parser.parse_args()
    if given.sast:
        from sast import compare

        compare()
        return
    recall(given.samples)
    false_findings(given.lines)


if __name__ == "__main__":
    main()
