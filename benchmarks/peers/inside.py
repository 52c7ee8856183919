"""Plans, landings and the journal: each measured in a process of its own, without its start."""

from __future__ import annotations

import json
import os
import shutil
import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import graphs
from clock import Timed, said, timed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from place import Place

CHILD = Path(__file__).with_name("child.py")
LANDED, FEW = 20, 2
"""Tasks whose time is divided, and those that are in both runs, so that starting does not count.

Two: a run of one task alone does not load what orders tasks (networkx), 70 ms.
"""
MEGABYTE = "megabytes"
ONCE = 100_000
"""From so many tasks on a plan is measured once, and not by markdown-it: it would take 4 GB."""


def child(place: Place, case: str, *arguments: object) -> dict[str, float]:
    words = (str(place.python), str(CHILD), case, *map(str, arguments))
    return dict(json.loads(place.call(words, place.root)))


def _cell(values: Sequence[float]) -> str:
    if not values:
        return "—"
    spread = f" ({said(min(values))} to {said(max(values))})" if len(values) > 1 else ""
    return said(statistics.median(values)) + spread


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


# --- plans ----------------------------------------------------------------------------


def plans(place: Place, sizes: Sequence[int], repeats: int) -> None:
    """Parse, read from the cache, edit one status."""
    folder = place.root / "plans"
    folder.mkdir(exist_ok=True)
    print("\n**Plans: parse, read again, edit one status**\n")
    head = "parse", "a task", "memory", "markdown-it, whole file", "its memory"
    more = "outline from cache", "plan from cache", "edit of one status", "durable write"
    print(f"| tasks | {' | '.join((*head, *more))} |\n|{'---|' * 10}", flush=True)
    for tasks in sizes:
        path, cache = folder / f"{tasks}.md", folder / f"cache-{tasks}"
        path.write_text(graphs.plan(tasks))
        child(place, "whole", path, cache)
        found = _rounds(place, path, cache, tasks, 1 if tasks >= ONCE else repeats)
        parse = statistics.median(found["parse"])
        cells = (
            f"{tasks:,}",
            _cell(found["parse"]),
            f"{1000 * parse / tasks:.3f} ms",
            f"{max(found['parse MB']):.0f} MB",
            _cell(found["markdown-it"]),
            f"{max(found['markdown-it MB']):.0f} MB" if found["markdown-it"] else "—",
            *(_cell(found[name]) for name in ("outline", "plan", "edit", "write")),
        )
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"\n({_load()})")


def _rounds(
    place: Place, path: Path, cache: Path, size: int, repeats: int
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    cases = (
        ("parse", path),
        *((("markdown", path),) if size < ONCE else ()),
        ("outline", path, cache),
        ("whole", path, cache),
        ("edit", path),
    )
    for _ in range(repeats):
        for case in cases:
            measured = child(place, *case)
            peak = measured.pop(MEGABYTE)
            found[f"{next(iter(measured))} MB"].append(peak)
            for what, took in measured.items():
                found[what].append(took)
    return found


# --- landings -------------------------------------------------------------------------


@dataclass(slots=True)
class Site:
    """One repository, in which every round writes files that were not there before."""

    place: Place
    folder: Path
    written: int = 0

    def call(self, *words: str) -> None:
        self.place.call(words, self.folder)

    def numbers(self, count: int) -> range:
        self.written += count
        return range(self.written - count, self.written)


def landings(place: Place, sizes: Sequence[int], repeats: int) -> None:
    """Our own part of a task that writes one file: no command of the task's, so none counts."""
    print("\n**A task that writes one file** (a run of 22 tasks less a run of two, by 20)\n")
    print("| files | what | a task | spread | processor | times ours |\n|---|---|---|---|---|---|")
    for files in sizes:
        site = repository(place, files)
        cases = {
            "ours, sandbox none": lambda s=site: landing(s, "none"),
            "ours, sandbox auto": lambda s=site: landing(s, "auto"),
            "`git add` and `git commit`": lambda s=site: porcelain(s),
            "the same, `core.fsync=all`": lambda s=site: porcelain(s, "-c", "core.fsync=all"),
        }
        found: dict[str, list[Timed]] = {what: [] for what in cases}
        for _ in range(repeats):
            for what, act in cases.items():
                found[what].append(act())
        _show_landings(files, found)
    print(f"\n({_load()})")


def _show_landings(files: int, found: dict[str, list[Timed]]) -> None:
    own = [one.wall for one in next(iter(found.values()))]
    for what, times in found.items():
        walls = [one.wall for one in times]
        cells = (
            f"{files:,}",
            what,
            said(statistics.median(walls)),
            f"{said(min(walls))} to {said(max(walls))}",
            said(statistics.median(one.cpu for one in times)),
            f"{statistics.median(one / ours for one, ours in zip(walls, own, strict=True)):.2f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def repository(place: Place, files: int) -> Site:
    """So many small files, a hundred a folder, in one commit."""
    folder = place.root / f"files-{files}"
    shutil.rmtree(folder, ignore_errors=True)
    for number in range(files):
        path = folder / f"d{number // 100:04d}" / f"f{number:06d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")
    (folder / "src").mkdir()
    site = Site(place, folder)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "files"), ("gc", "-q")):
        # A commit of so many files begins a `gc` of its own, which keeps ours out.
        site.call("git", "-c", "gc.auto=0", *words)
    _run(site, "none", 1)  # fills the slot and the caches
    return site


def landing(site: Site, sandbox: str) -> Timed:
    """One task, starting left out."""
    few, many = (_run(site, sandbox, tasks) for tasks in (FEW, LANDED + FEW))
    return Timed((many.wall - few.wall) / LANDED, (many.cpu - few.cpu) / LANDED)


def _run(site: Site, sandbox: str, tasks: int) -> Timed:
    sections = (_writing(number) for number in site.numbers(tasks))
    (site.folder / "TASK-GRAPH.md").write_text("\n".join(("# Benchmark\n", *sections)))
    site.call("git", "add", "TASK-GRAPH.md")
    site.call("git", "commit", "-q", "-m", "plan")
    options = ("--trust", "-q", "-j1", "--review", "off", "--yes", "--sandbox", sandbox)
    return timed(lambda: site.call(site.place.runner, "run", *options))


def _writing(number: int) -> str:
    return (
        f"## TASK-{number:03d}: File {number}\n\n- Status: PENDING\n"
        f"- Output files: `src/m{number:03d}.py`\n\n"
        f"```python file=src/m{number:03d}.py\n{_content(number)}```\n"
    )


def _content(number: int) -> str:
    return f'"""Module {number}."""\n\n\ndef answer() -> int:\n    return {number}\n'


def porcelain(site: Site, *options: str) -> Timed:
    """The same file by two commands of git."""

    def commit_each() -> None:
        for number in site.numbers(LANDED):
            path = f"src/m{number:03d}.py"
            (site.folder / path).write_text(_content(number))
            site.call("git", *options, "add", path)
            site.call("git", *options, "commit", "-q", "-m", path)

    took = timed(commit_each)
    return Timed(took.wall / LANDED, took.cpu / LANDED)


# --- the journal ----------------------------------------------------------------------


def journal(place: Place, repeats: int) -> None:
    """Appending a record, and folding many."""
    folder = place.root / "journal"
    found: dict[str, list[float]] = defaultdict(list)
    for number in range(repeats):
        for what, took in child(place, "append", _fresh(folder, f"append-{number}")).items():
            found[what].append(took)
    found.pop(MEGABYTE)
    print("\n**Journal: a record appended** (one process, one thread)\n")
    print("| what | a record | a second |\n|---|---|---|")
    for what, times in found.items():
        print(f"| {what} | {_micro(times)} | {1 / statistics.median(times):,.0f} |")
    print("\n**Journal: folded**\n\n| records | what | took | memory |\n|---|---|---|---|")
    for records in (5_000, 50_000):
        rounds = [
            child(place, "fold", _fresh(folder, f"fold-{records}-{number}"), records)
            for number in range(repeats)
        ]
        peak = max(one.pop(MEGABYTE) for one in rounds)
        for what in rounds[0]:
            cell = _cell([one[what] for one in rounds])
            print(f"| {records:,} | {what} | {cell} | {peak:.0f} MB |", flush=True)
    print(f"\n({_load()})")


def _micro(times: Sequence[float]) -> str:
    low, middle, high = (1e6 * pick(times) for pick in (min, statistics.median, max))
    return f"{middle:.0f} µs ({low:.0f} to {high:.0f})"


def _fresh(folder: Path, name: str) -> Path:
    shutil.rmtree(folder / name, ignore_errors=True)
    (folder / name).mkdir(parents=True)
    return folder / name
