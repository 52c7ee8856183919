"""Is DONE proven? Seeded faults must be refused, good changes must land.

    python benchmarks/trust/run.py                    all cases
    python benchmarks/trust/run.py --half mend        one half; `check` stays unseen while mending
    python benchmarks/trust/run.py --only NAME        one case, with all that was found

Each result is written down when it is there, so that a call that was ended goes on where it
stopped; `--again` runs all anew. The place (`--place`) keeps the prepared repositories.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.append(str(Path(__file__).resolve().parents[1]))

import releases
from cases import HALVES, read_cases
from grounds import default_place, prepared
from report import as_json, shown
from trial import Result, as_line, laid, tried

if TYPE_CHECKING:
    from cases import Case
    from grounds import Place


def catalogue(place: Place) -> list[Case]:
    """Every case, in a fixed order; names are unique."""
    cases = [*read_cases(), *releases.cases(place)]
    names = [case.name for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SystemExit(f"error: names that stand twice: {', '.join(sorted(twice))}")
    return cases


def known(file: Path) -> dict[tuple[str, str], Result]:
    """Results of earlier calls, the last one of each case."""
    if not file.exists():
        return {}
    results = (Result(**json.loads(line)) for line in file.read_text("utf-8").splitlines())
    return {(one.name, one.key): one for one in results}


def results(cases: list[Case], place: Place, *, again: bool, keep: bool) -> list[Result]:
    """Run what was not run yet."""
    file = place.root / "results.jsonl"
    before = {} if again else known(file)
    found = []
    for number, case in enumerate(cases, 1):
        one = laid(case, place)
        result = before.get((case.name, one.key))
        if result is None or result.ended == "broken":
            result = tried(one, place, keep=keep)
            with file.open("a", encoding="utf-8") as log:
                log.write(as_line(result) + "\n")
            kind = "bad" if case.bad else "good"
            mark = " <-- wrong" if result.wrong else ""
            told = f"{number}/{len(cases)} {kind} {case.name}: {result.ended}"
            print(f"{told} in {result.seconds:.1f} s{mark}", file=sys.stderr, flush=True)
        found.append(result)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=HALVES, help="only the cases of this half")
    parser.add_argument("--only", metavar="NAME", help="only this case; its clone is kept")
    parser.add_argument("--ground", help="only the cases of this ground")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("--json", action="store_true", help="the results as one JSON document")
    parser.add_argument("--place", type=Path, default=default_place())
    parser.add_argument("--source", type=Path, help="folder of another copy of the package")
    given = parser.parse_args()
    place = prepared(given.place.resolve(), given.source and given.source.resolve())
    cases = [
        case
        for case in catalogue(place)
        if (not given.half or case.half == given.half)
        and (not given.only or case.name == given.only)
        and (not given.ground or case.ground == given.ground)
    ]
    if not cases:
        raise SystemExit("error: no such case")
    again = given.again or bool(given.only)
    found = results(cases, place, again=again, keep=bool(given.only))
    print(as_json(found) if given.json else shown(found, whole=bool(given.only)))


if __name__ == "__main__":
    main()
