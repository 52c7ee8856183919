"""Results as JSON lines, and the tables that are made of them."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING

from oracle import ASKED, DIRTY, DOUBLED, ERROR, FALSE_ALARM, FALSE_DONE, LEAK, LOST, OK, WEDGED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

SCHEMA = 1
BOARDS = {
    "A": "A. False DONE: claims and good work",
    "B": "B. Green alone, red together",
    "C": "C. Killed",
    "D": "D. Leaks",
    "E": "E. Tampering with tests",
    "F": "F. Price of proof",
}
FIRST = "runner"
"""Whose misses are listed first: those of the tool in whose repository this benchmark lies."""


@dataclass(frozen=True)
class Result:
    """One tool on one case, once. `seconds`: all calls of the tool together."""

    board: str
    case: str
    family: str
    kind: str
    half: str
    digest: str
    adapter: str
    release: str
    attempt: int
    outcome: str
    detail: str
    status: dict[str, str]
    seconds: float
    bare: float = 0.0
    """Board F: seconds of the same commands without any tool."""
    schema: int = SCHEMA

    def line(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)


def read(file: Path) -> list[Result]:
    """Results of a file, the last one of each case, tool and attempt."""
    found: dict[tuple[object, ...], Result] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        told = json.loads(line)
        if told.get("schema") == SCHEMA:
            one = Result(**told)
            found[one.adapter, one.digest, one.attempt] = one
    return list(found.values())


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share, after Wilson (1927)."""
    if not of:
        return 0.0, 1.0
    z, share = 1.959964, hits / of
    below = 1 + z * z / of
    middle = (share + z * z / (2 * of)) / below
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / below
    return max(0.0, middle - half), min(1.0, middle + half)


def pass_hat(outcomes: Iterable[list[bool]], k: int) -> float:
    """How likely all of k tries are right: the mean over cases of C(right, k) / C(tries, k)."""
    shares = [math.comb(sum(one), k) / math.comb(len(one), k) for one in outcomes if len(one) >= k]
    return sum(shares) / len(shares) if shares else math.nan


def share(hits: int, of: int) -> str:
    """`3/40 (8 %, 3 to 20)`."""
    if not of:
        return "-"
    low, high = (round(100 * side) for side in wilson(hits, of))
    return f"{hits}/{of} ({100 * hits / of:.0f} %, {low} to {high})"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(results: list[Result], *, open_names: bool = True) -> str:
    """All tables of all boards that were run."""
    parts = [misses(results)]
    for board, title in BOARDS.items():
        here = [one for one in results if one.board == board]
        if here:
            parts.append(f"## {title}\n\n{_TABLES[board](here)}")
            if board in "AE" and open_names:
                parts.append(_by_family(here))
    return "\n\n".join(parts) + "\n"


def misses(results: list[Result]) -> str:
    """What went wrong for the tool in whose repository this lies."""
    wrong = [one for one in results if one.adapter == FIRST and one.outcome != OK]
    lines = [f"## Misses of {FIRST}\n"]
    for one in sorted(wrong, key=lambda one: (one.board, one.case, one.attempt)):
        detail = " ".join(one.detail.split())[:160]
        lines.append(f"- `{one.case}`: {one.outcome}; {detail}")
    return "\n".join(lines if wrong else [*lines, "None in the cases that were run."])


def _adapters(results: list[Result]) -> list[str]:
    names = {one.adapter for one in results}
    return sorted(names, key=lambda name: (name != FIRST, name))


def _rows(results: list[Result], cells: Callable[[list[Result]], list[str]]) -> list[list[str]]:
    rows = []
    for name in _adapters(results):
        own = [one for one in results if one.adapter == name]
        for half in sorted({one.half for one in own}, reverse=True):
            part = [one for one in own if one.half == half]
            fair = [one for one in part if one.outcome != ERROR]
            rows.append([name, half, *cells(fair), str(len(part) - len(fair))])
    return rows


def _passes(results: list[Result]) -> str:
    by_case: dict[str, list[bool]] = defaultdict(list)
    for one in results:
        by_case[one.digest].append(one.outcome == OK)
    k = min(map(len, by_case.values()), default=0)
    return f"{100 * pass_hat(by_case.values(), k):.0f} % (k={k})" if k else "-"


def _claims(results: list[Result]) -> str:
    def cells(part: list[Result]) -> list[str]:
        bad = [one for one in part if one.kind == "bad"]
        good = [one for one in part if one.kind == "good"]
        false = sum(one.outcome == FALSE_DONE for one in bad)
        both = sum(one.outcome == FALSE_DONE for one in good)
        alarm = sum(one.outcome == FALSE_ALARM for one in good)
        asked = sum(one.outcome == ASKED for one in good)
        return [
            share(false, len(bad)),
            share(alarm + both, len(good)),
            str(asked),
            _passes(part),
            f"{median([one.seconds for one in part] or [0]):.1f}",
        ]

    head = [
        "tool",
        "half",
        "false DONE of bad",
        "good not done",
        "… asked",
        "pass^k",
        "s",
        "errors",
    ]
    return table(head, _rows(results, cells))


def _by_family(results: list[Result]) -> str:
    names = _adapters(results)
    rows = []
    for family in dict.fromkeys(one.family for one in results):
        row = [family.replace("-", " ")]
        for name in names:
            own = [one for one in results if one.family == family and one.adapter == name]
            right = sum(one.outcome == OK for one in own)
            row.append(f"{right}/{len(own)}")
        rows.append(row)
    return "Right answers by family, all halves:\n\n" + table(["family", *names], rows)


def _crashes(results: list[Result]) -> str:
    def cells(part: list[Result]) -> list[str]:
        counts = [
            str(sum(word in one.detail for one in part)) for word in (LOST, DOUBLED, WEDGED, DIRTY)
        ]
        right = sum(one.outcome == OK for one in part)
        return [str(len(part)), share(right, len(part)), *counts]

    head = ["tool", "half", "kills", "nothing wrong", LOST, DOUBLED, WEDGED, DIRTY, "errors"]
    return table(head, _rows(results, cells))


def _leaks(results: list[Result]) -> str:
    def cells(part: list[Result]) -> list[str]:
        bad = [one for one in part if one.kind == "bad"]
        good = [one for one in part if one.kind == "good"]
        places = [
            share(sum(word in one.detail for one in bad if one.outcome == LEAK), len(bad))
            for word in ("history", "objects", "files")
        ]
        return [*places, share(sum(one.outcome != OK for one in good), len(good))]

    head = ["tool", "half", "in history", "in lost objects", "in files", "good not done", "errors"]
    return table(head, _rows(results, cells))


def _prices(results: list[Result]) -> str:
    def cells(part: list[Result]) -> list[str]:
        done = [one for one in part if one.outcome == OK]
        more = [one.seconds - one.bare for one in done]
        ratio = [one.seconds / one.bare for one in done if one.bare]
        bare = median([one.bare for one in done] or [0])
        return [
            str(len(done)),
            f"{bare:.2f}",
            f"{median(more or [0]):.2f}",
            f"{median(ratio or [0]):.1f}",
        ]

    head = ["tool", "half", "runs", "bare commands, s", "more, s", "ratio", "errors"]
    return table(head, _rows(results, cells))


_TABLES: dict[str, Callable[[list[Result]], str]] = {
    "A": _claims,
    "B": _claims,
    "C": _crashes,
    "D": _leaks,
    "E": _claims,
    "F": _prices,
}
