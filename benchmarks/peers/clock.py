"""Cases timed in turn, round after round, so that a busy machine slows all of them alike."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

A_SECOND, A_HUNDREDTH = 1.0, 0.01


def nothing() -> None:
    """What most cases need before each round."""


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to be timed; `before` puts its folder into the state it begins from, untimed."""

    name: str
    act: Callable[[], object]
    before: Callable[[], object] = nothing


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds on the clock, and of both cores together, of the children too."""

    wall: float
    cpu: float


def side_by_side(cases: Sequence[Case], repeats: int) -> dict[str, list[Timed]]:
    """Every case once a round. One that is stopped by its time bound is left out from then on."""
    found: dict[str, list[Timed]] = {case.name: [] for case in cases}
    stopped: set[str] = set()
    for _ in range(repeats):
        for case in cases:
            if case.name in stopped:
                continue
            case.before()
            try:
                found[case.name].append(timed(case.act))
            except subprocess.TimeoutExpired as error:
                stopped.add(case.name)
                print(f"({case.name}: stopped after {error.timeout:.0f} s)", flush=True)
            except subprocess.CalledProcessError as error:
                stopped.add(case.name)
                said = (error.stderr or error.stdout or b"")[-400:].decode(errors="replace")
                print(f"({case.name}: failed with {error.returncode}: {said})", file=sys.stderr)
    return {name: times for name, times in found.items() if times}


def timed(act: Callable[[], object]) -> Timed:
    cpu, began = _cpu(), time.perf_counter()
    act()
    return Timed(time.perf_counter() - began, _cpu() - cpu)


def _cpu() -> float:
    spent = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        spent += usage.ru_utime + usage.ru_stime
    return spent


# --- tables ---------------------------------------------------------------------------


def show(title: str, found: Mapping[str, Sequence[Timed]], base: str = "") -> None:
    """A table; ratios are round by round against `base`, or against the first case."""
    if not found:
        return
    own = found.get(base) or next(iter(found.values()))
    print(f"\n**{title}** (load {os.getloadavg()[0]:.1f})\n")
    print("| what | median | spread | processor | times ours |\n|---|---|---|---|---|")
    for name, times in found.items():
        walls = [one.wall for one in times]
        ratios = [one.wall / ours.wall for one, ours in zip(times, own, strict=False)]
        cells = (
            name,
            said(statistics.median(walls)),
            f"{said(min(walls))} to {said(max(walls))}",
            said(statistics.median(one.cpu for one in times)),
            f"{statistics.median(ratios):.2f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def said(seconds: float) -> str:
    """`37 ms`, `1.25 s`."""
    if seconds < A_SECOND:
        return f"{1000 * seconds:.0f} ms" if seconds >= A_HUNDREDTH else f"{1000 * seconds:.2f} ms"
    return f"{seconds:.2f} s"
