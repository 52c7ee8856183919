"""Changes of public projects: bad ones must not become DONE unnamed, good ones must land.

    python benchmarks/trust/projects/measure.py --repositories DIR
    … --part base|new|good     one part of the cases
    … --strict                 the part `new` with `mutation = "strict"`
    … --only NAME              one case, with all that was found; its clone is kept
    … --plain                  no measuring: do the cases themselves hold, run by hand
    … --lists                  the digest of the lists, and how many cases they hold

Each result is written down when it is there, so that a call that was ended goes on where it
stopped; `--again` runs all anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.append(str(Path(__file__).resolve().parents[2]))

import archive
from cases import catalogue
from outcome import Outcome, as_line, laid, plain, tried
from repositories import default_place, prepared
from tables import as_json, shown

if TYPE_CHECKING:
    from cases import Change
    from repositories import Place


def lists() -> str:
    """How many cases there are, and the digest of the archive that holds them."""
    cases = catalogue()
    count = {part: sum(case.part == part for case in cases) for part in ("base", "new", "good")}
    families = len({case.family for case in cases if case.bad})
    return f"{count}, {families} families of bad changes\nsha256:{archive.digest()}"


def known(file: Path) -> dict[tuple[str, str, str], Outcome]:
    """Results of earlier calls, the last one of each case."""
    if not file.exists():
        return {}
    found = (Outcome(**json.loads(line)) for line in file.read_text("utf-8").splitlines())
    return {(one.name, one.key, one.setting): one for one in found}


def measured(
    cases: list[Change],
    place: Place,
    file: Path,
    setting: str,
    *,
    again: bool,
    keep: bool,
    jobs: int,
) -> list[Outcome]:
    """Run what was not run yet."""
    before = {} if again else known(file)

    def one(case: Change) -> Outcome:
        ready = laid(case, place)
        outcome = before.get((case.name, ready.key, setting))
        if outcome is None or outcome.ended == "broken":
            outcome = tried(ready, place, setting, keep=keep)
            with file.open("a", encoding="utf-8") as log:
                log.write(as_line(outcome) + "\n")
            told = f"{case.part} {case.name}: {outcome.label} in {outcome.seconds:.1f} s"
            print(told, file=sys.stderr, flush=True)
        return outcome

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, cases))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repositories", type=Path, help="folder with the bare repositories")
    parser.add_argument("--part", choices=("base", "new", "good"), action="append")
    parser.add_argument("--strict", action="store_true", help='with mutation = "strict"')
    parser.add_argument(
        "--only", metavar="NAME", nargs="+", help="only this case; its clone is kept"
    )
    parser.add_argument("--family", help="only this family")
    parser.add_argument("--project", nargs="+", help="only these projects")
    parser.add_argument("--known", action="store_true", help="only the tables of what was run")
    parser.add_argument("--sample", type=int, metavar="N", help="only every Nth case")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("--plain", action="store_true", help="do the cases themselves hold")
    parser.add_argument("--lists", action="store_true", help="only the digest of the lists")
    parser.add_argument("--json", action="store_true", help="the results as one JSON document")
    parser.add_argument("--jobs", type=int, default=1, help="cases at once")
    parser.add_argument("--place", type=Path, default=default_place())
    parser.add_argument("--kept", type=Path, metavar="FILE", help="where results are kept")
    parser.add_argument("--source", type=Path, help="folder of another copy of the package")
    given = parser.parse_args()
    if given.lists:
        print(lists())
        return
    if not given.repositories:
        parser.error("--repositories DIR is needed")
    source = given.source and given.source.resolve()
    place = prepared(given.place.resolve(), given.repositories.resolve(), source)
    cases = [
        case
        for case in catalogue()
        if (not given.part or case.part in given.part)
        and (not given.only or case.name in given.only)
        and (not given.family or case.family == given.family)
        and (not given.project or case.project.name in given.project)
    ][:: given.sample or 1]
    if not cases:
        raise SystemExit("error: no such case")
    if given.plain:
        _plainly(cases, place, given.jobs)
        return
    if given.known:
        names = {case.name for case in cases}
        every = known(given.kept or place.root / "results.jsonl").values()
        print(shown([one for one in every if one.name in names]))
        return
    found = measured(
        cases,
        place,
        given.kept or place.root / "results.jsonl",
        "strict" if given.strict else "default",
        again=given.again or bool(given.only),
        keep=bool(given.only),
        jobs=given.jobs,
    )
    print(as_json(found) if given.json else shown(found, whole=bool(given.only)))


def _plainly(cases: list[Change], place: Place, jobs: int) -> None:
    def one(case: Change) -> bool:
        wrong = plain(laid(case, place), place)
        for said in wrong:
            print(f"{case.name}: {said}", flush=True)
        return bool(wrong)

    with ThreadPoolExecutor(jobs) as pool:
        wrong = sum(pool.map(one, cases))
    print(f"{len(cases)} cases, {wrong} do not hold")


if __name__ == "__main__":
    main()
