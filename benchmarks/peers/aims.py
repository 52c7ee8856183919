"""What the runner should cost, a row each: ours, what stands beside it in the same rounds, the aim.

Seconds are of all processors, children included, also of those whose parent did not wait for them
(bubblewrap's): this process adopts them. A row about waiting says "clock".
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

import graphs
import inside
import tasks
from clock import Case, Timed, nothing, said, side_by_side, timed
from place import DAY, REPOSITORY, pip
from tasks import Graph, adopt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from place import Place

SLEEPS, SLEPT, AT_ONCE = 128, 2, 64
BOUND = SLEEPS * SLEPT / AT_ONCE
FIRST_STATUS, ONE_TASK, WIDE, PACKAGES, MEGABYTES, MEMORY = 0.5, 0.35, 1.2, 34, 75, 250
LANDING = {50: 2, 5_000: 1, 50_000: 0.5}
"""Times git that a landing may take, by the files of the repository."""
RUN = ("run", "--trust", "-q", "-j2")
PLAIN = (*RUN, "--no-sandbox")
_CHILD_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""
PEAK = """
import resource, sys
from runner.cli import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(0 if code in (0, 5) else code)
"""
"""A run of a part of the plan, which waits for the rest, is no failure."""


@dataclass(frozen=True, slots=True)
class Row:
    """One aim: what is measured, ours with its spread, what stands beside it, the bound."""

    name: str
    ours: str
    beside: str
    aim: str
    met: bool

    def __str__(self) -> str:
        met = "yes" if self.met else "**no**"
        return f"| {self.name} | {self.ours} | {self.beside} | {self.aim} | {met} |"


def main(place: Place, *, quick: bool, full: bool) -> None:
    """All rows; `quick` takes fewer rounds and sizes, `full` the largest, too."""
    rounds = 3 if quick else 5
    _adopt_orphans()
    print("\n| measure | ours | beside it | aim | met |\n|---|---|---|---|---|", flush=True)
    some = [
        _no_ops(place, rounds, (1_000,) if quick else (1_000, 10_000)),
        _first_status(place, rounds),
        _landings(place, rounds, (50, 5_000, *((50_000,) if full else ()))),
        _one_task(place, rounds),
        _at_once(place, rounds),
        _hundred_thousand(place, rounds) if full else (),
        _installed(place),
    ]
    for rows in some:
        for row in rows:
            print(row, flush=True)
    print(f"\n(load {os.getloadavg()[0]:.1f}, {rounds} rounds)")


# --- numbers --------------------------------------------------------------------------


def _adopt_orphans() -> None:
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)


def _in_turn(cases: Sequence[Case], rounds: int) -> dict[str, list[Timed]]:
    """Each of the cases once a round, the orphans that it left counted."""

    def with_orphans(act: Callable[[], object]) -> None:
        act()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    wrapped = [replace(case, act=partial(with_orphans, case.act)) for case in cases]
    return side_by_side(wrapped, rounds)


def _cpu(times: Sequence[Timed]) -> list[float]:
    return [one.cpu for one in times]


def _cell(values: Sequence[float]) -> str:
    return f"{said(median(values))} ({said(min(values))} to {said(max(values))})"


def _times(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """How often theirs goes into ours: the median over the rounds."""
    return median(mine / other for mine, other in zip(ours, theirs, strict=True))


def _against(found: Mapping[str, Sequence[Timed]], own: str, others: Sequence[str]) -> str:
    """What stands beside `own`, each with its ratio."""
    ours = _cpu(found[own])
    return "; ".join(
        f"{name} {said(median(_cpu(found[name])))}: {_times(ours, _cpu(found[name])):.2f} times"
        for name in others
        if name in found
    )


def _ahead(found: Mapping[str, Sequence[Timed]], own: str, bounds: Mapping[str, float]) -> bool:
    """Is ours at most so many times each of these?"""
    ours = _cpu(found[own])
    return all(
        _times(ours, _cpu(found[name])) <= bound for name, bound in bounds.items() if name in found
    )


def _new(place: Place, name: str, files: Mapping[str, str], *, forget: bool = True) -> Path:
    """A new repository of these files in one commit, and a runner that has never seen any."""
    folder = place.root / name
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "begin")):
        place.call(("git", *words), folder)
    if forget:
        place.forget()
    return folder


# --- nothing to do, and looking ---------------------------------------------------------


def _no_ops(place: Place, rounds: int, sizes: Sequence[int]) -> Iterator[Row]:
    for size in sizes:
        graph = Graph(place, size, ("doit", "go-task"), DAY)
        for tool in graph.tools:
            graphs.write(tool, graph.folder(tool), size)
            graph.peer(tool, tasks.RUN)
        for how, build in (("built", _build), ("DONE by the plan's word", adopt)):
            build(graph)
            graph.runner("status")
            found = _in_turn(
                (
                    Case("ours", lambda g=graph: g.runner(*PLAIN)),
                    Case("`status`", lambda g=graph: g.runner("status")),
                    *(Case(t, lambda t=t, g=graph: g.peer(t, tasks.RUN)) for t in graph.tools),
                ),
                rounds,
            )
            yield Row(
                f"no-op run, {size:,} tasks, {how}",
                _cell(_cpu(found["ours"])),
                _against(found, "ours", ("`status`", *graph.tools)),
                "≤ `status` + 5 %, ahead of doit and go-task",
                _ahead(found, "ours", {"`status`": 1.05, "doit": 1, "go-task": 1}),
            )


def _build(graph: Graph) -> None:
    graph.write_ours()
    graph.runner(*PLAIN)


def _first_status(place: Place, rounds: int) -> Iterator[Row]:
    graph = Graph(place, 10_000, (), DAY)
    adopt(graph)
    graph.runner("status")
    again = partial(graph.runner, "status")
    found = _in_turn((Case("second", again), Case("first", again, place.forget)), rounds)
    first = _cpu(found["first"])
    yield Row(
        "first `status` of 10,000 tasks",
        _cell(first),
        _against(found, "first", ("second",)),
        "≤ 0.5 s and ≤ 2 times the second",
        median(first) <= FIRST_STATUS and _ahead(found, "first", {"second": 2}),
    )


# --- landings ---------------------------------------------------------------------------


def _landings(place: Place, rounds: int, sizes: Sequence[int]) -> Iterator[Row]:
    for files in sizes:
        site = inside.repository(place, files)
        found: dict[str, list[Timed]] = {"ours": [], "git": []}
        for _ in range(rounds):
            found["ours"].append(inside.landing(site, "none"))
            found["git"].append(inside.porcelain(site, "-c", "core.fsync=all"))
        bound = LANDING[files]
        yield Row(
            f"a task that writes a file and lands, {files:,} files",
            _cell(_cpu(found["ours"])),
            _against(found, "ours", ("git",)),
            f"≤ {bound} times `git add` and `git commit`",
            _ahead(found, "ours", {"git": bound}),
        )


def _one_task(place: Place, rounds: int) -> Iterator[Row]:
    product, text = "src/one.py", '"""One."""\n\n\ndef answer(by: int) -> int:\n    return by\n'
    plan = (
        f"# Benchmark\n\n## TASK-1: One\n\n- Status: PENDING\n- Output files: `{product}`\n"
        f"- Test contracts:\n  - TC-1 (unit): `grep -q answer {product}`\n\n"
        f"```python file={product}\n{text}```\n"
    )
    run = (place.runner, "run", "--trust", "-q", "--review", "off", "--yes")
    for what, forget in (("a run of one task", False), ("the first of a machine", True)):
        begin = partial(_new, place, "one", {"TASK-GRAPH.md": plan}, forget=forget)
        case = Case("ours", partial(place.call, run, place.root / "one"), begin)
        found = _in_turn((case,), rounds)["ours"]
        yield Row(
            what,
            f"{_cell(_cpu(found))}; clock {_cell([one.wall for one in found])}",
            "",
            "≤ 0.35 s",
            median(_cpu(found)) <= ONE_TASK,
        )


# --- many -------------------------------------------------------------------------------


def _at_once(place: Place, rounds: int) -> Iterator[Row]:
    plan = graphs.plan(SLEEPS, command=f"sleep {SLEPT} && true", apart=True, wide=True)
    begin = partial(_new, place, "sleeping", {"TASK-GRAPH.md": plan})
    run = (place.runner, "run", "--trust", "-q", "--no-sandbox", "-j", str(AT_ONCE))
    case = Case("ours", partial(place.call, run, place.root / "sleeping"), begin)
    walls = [one.wall for one in _in_turn((case,), rounds)["ours"]]
    yield Row(
        f"clock: `-j {AT_ONCE}`, {SLEEPS} of `sleep {SLEPT}`",
        _cell(walls),
        f"the bound {BOUND:.0f} s: {median(walls) / BOUND:.2f} times",
        "≤ 1.2 times",
        median(walls) <= WIDE * BOUND,
    )


def _hundred_thousand(place: Place, rounds: int) -> Iterator[Row]:
    at = _new(place, "many", {"TASK-GRAPH.md": graphs.plan(100_000)})
    some = [f"TASK-{one:06d}" for one in range(1, 201)]
    peak = place.call((str(place.python), "-P", "-c", PEAK, *PLAIN, *some), at)
    megabytes = int(peak.split()[-1]) / 1024
    yield Row(
        "100,000 tasks: memory of a run that builds 200",
        f"{megabytes:.0f} MB",
        "",
        f"≤ {MEMORY} MB",
        megabytes <= MEMORY,
    )
    for words, first, bound in (
        (("validate",), True, 10),
        (("status",), True, 2.5),
        (("status",), False, 2),
    ):
        before = place.forget if first else nothing
        case = Case("ours", partial(place.call, (place.runner, *words), at), before)
        found = _cpu(_in_turn((case,), rounds)["ours"])
        yield Row(
            f"100,000 tasks: {'first' if first else 'second'} `{words[0]}`",
            _cell(found),
            "",
            f"≤ {bound} s",
            median(found) <= bound,
        )


def _installed(place: Place) -> Iterator[Row]:
    home = place.root / "installed"
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run((sys.executable, "-m", "venv", home), check=True)
    (packages,) = (home / "lib").glob("python*/site-packages")
    before, small = _size(packages)
    lock = ("-c", str(REPOSITORY / "requirements.lock"))
    took = timed(lambda: pip(home, "--no-compile", *lock, str(place.root / "source")))
    after, large = _size(packages)
    yield Row(
        "install, beside pip and setuptools",
        f"{after - before} packages, {large - small:.0f} MB, {took.wall:.0f} s",
        "",
        f"≤ {PACKAGES} packages, ≤ {MEGABYTES} MB",
        after - before <= PACKAGES and large - small <= MEGABYTES,
    )


def _size(packages: Path) -> tuple[int, float]:
    """How many packages are installed there, and their megabytes without byte code."""
    files = (one for one in packages.rglob("*") if one.is_file() and one.suffix != ".pyc")
    return len(list(packages.glob("*.dist-info"))), sum(one.stat().st_size for one in files) / 1e6
