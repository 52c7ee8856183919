"""Does DONE mean done? Tools that drive coding agents, with a scripted agent, on one set of cases.

    python benchmarks/done/run.py --board A --adapter runner,shell,make
    python benchmarks/done/run.py --board A,E --adapter all --results results.jsonl
    python benchmarks/done/run.py --report results.jsonl          the tables alone
    python benchmarks/done/run.py --digests                       digests of the cases
    python benchmarks/done/run.py --check --board A,E             do the cases and the oracles hold?

Needs Python 3.11, git, and the tools that are asked for. Each result is appended when it is there:
a call that was ended goes on. Exit code 1: only `--check`, where something does not hold.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import time
import traceback
from pathlib import Path
from typing import Protocol, cast

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import oracle
import pairs
from archive import cases_folder
from case import Case, git, of_all, read_cases, write
from report import Result, page, read
from work import ToolError, Work

OPEN_SEED = "does done mean done"
RUNS = 3
"""How often a tool is called again before what is left is its answer."""
BOARDS = "ABCDEF"
CONTROLS = ("liar", "honest")
ADAPTERS = ("runner", "shell", "make", "ralph", "bernstein", "dw", "backlog", "openspec")


class Adapter(Protocol):
    """What a file in `adapters/` has."""

    NAME: str
    CLASS: str
    PACKAGE: str

    def why_not(self, peers: Path) -> str:
        """Why it cannot be run here; nothing where it can."""

    def release(self) -> str:
        """Its version."""

    def prepare(self, work: Work) -> None:
        """Turn the task list into the tool's own files."""

    def run(self, work: Work) -> int:
        """Call it once."""

    def status_of(self, work: Work) -> dict[str, str]:
        """Its own word on each task."""

    def kill_here(self, work: Work, seconds: float) -> bool:
        """Call it and end all of it after a time; whether it still ran."""


def adapter(name: str) -> Adapter:
    """The file of one tool; only names of the list are imported."""
    if name not in (*ADAPTERS, *CONTROLS):
        raise SystemExit(f"error: no adapter {name}\nhint: one of {', '.join(ADAPTERS)}")
    return cast("Adapter", importlib.import_module(f"adapters.{name}"))


def trial(case: Case, tool: Adapter, given: argparse.Namespace, attempt: int) -> Result:
    """Run one tool on one case; what breaks is an error and says nothing about the tool's DONE."""
    work = Work(case, given.place / "runs" / tool.NAME / case.digest[:16], given.peers)
    bundles = given.place / "bundles"
    status: dict[str, str] = {}
    began, spent, bare = time.monotonic(), 0.0, 0.0
    try:
        bare = bare_seconds(work, bundles) if case.board == "F" else 0.0
        whole = undisturbed(work, tool, bundles) if case.board == "C" else 0.0
        work.begin(bundles)
        tool.prepare(work)
        began = time.monotonic()
        if whole:
            outcome, detail, status = killed(work, tool, whole * share_of(case))
        else:
            tool.run(work)
            spent = time.monotonic() - began
            status = tool.status_of(work)
            outcome, detail = judged(case, work, status)
    except ToolError as error:
        outcome, detail = oracle.ERROR, str(error)
    except Exception:  # noqa: BLE001 - a border: adapters drive what nobody here wrote
        outcome, detail = oracle.ERROR, traceback.format_exc(limit=-3)[-600:]
    spent = spent or time.monotonic() - began
    if not given.keep:
        shutil.rmtree(work.root, ignore_errors=True)
    return Result(
        case.board,
        case.name,
        case.family,
        case.kind,
        case.half,
        case.digest,
        tool.NAME,
        tool.release(),
        attempt,
        outcome,
        detail.replace(str(work.root), "WORK").replace(str(HERE), "BENCH"),
        status,
        round(spent, 3),
        round(bare, 3),
    )


def judged(case: Case, work: Work, status: dict[str, str]) -> tuple[str, str]:
    """What the board's oracle says of a run."""
    if case.board == "B":
        return oracle.of_pairs(case, work.repo, status)
    if case.secret:
        return oracle.of_leaks(case, work.repo, work.home)
    return oracle.of_claims(case, work.repo, status)


def bare_seconds(work: Work, bundles: Path) -> float:
    """The same edits, the same tests and a commit each, without any tool."""
    work.begin(bundles)
    began = time.monotonic()
    for task in work.case.tasks:
        write(work.repo, task.edits)
        work.must(["sh", "-c", task.test])
        git(work.repo, "add", "-A")
        git(work.repo, "commit", "-q", "-m", task.title)
    return time.monotonic() - began


def undisturbed(work: Work, tool: Adapter, bundles: Path) -> float:
    """Seconds of a run that nobody kills; of each tool once."""
    if tool.NAME not in _UNDISTURBED:
        work.begin(bundles)
        tool.prepare(work)
        began = time.monotonic()
        tool.run(work)
        _UNDISTURBED[tool.NAME] = time.monotonic() - began
    return _UNDISTURBED[tool.NAME]


def killed(work: Work, tool: Adapter, seconds: float) -> tuple[str, str, dict[str, str]]:
    """End all of a run after a time, then call the tool until all is done or nothing moves."""
    ran = tool.kill_here(work, seconds)
    before = tool.status_of(work)
    gone = (
        oracle.of_claims(work.case, work.repo, before)[1] if oracle.DONE in before.values() else ""
    )
    after = before
    for _ in range(RUNS):
        tool.run(work)
        after = tool.status_of(work)
        if set(after.values()) == {oracle.DONE}:
            break
    outcome, detail = oracle.of_crashes(work.case, work.repo, before, after)
    if gone.startswith("done and not true"):
        outcome, detail = oracle.LOST, f"{oracle.LOST}: {gone}; {detail}"
    return outcome, f"{detail} (at {seconds:.2f} s{'' if ran else ', after its end'})", after


_UNDISTURBED: dict[str, float] = {}


def share_of(case: Case) -> float:
    """When a case is killed: a share of the time of an undisturbed run, from 0.02 to 0.98."""
    return 0.02 + 0.96 * int(case.digest[:8], 16) / 0xFFFFFFFF


def cases(given: argparse.Namespace) -> list[Case]:
    """The cases of the archive, those made of archives of PyPI, and those of other folders."""
    found = read_cases(cases_folder("done"))
    if "B" in given.board:
        found += pairs.cases(OPEN_SEED, "open", 1, given.place)
    for folder in given.cases:
        found += read_cases(folder)
    return [case for case in found if case.board in given.board and given.only in case.name]


def measure(given: argparse.Namespace, told: list[Case]) -> list[Result]:
    """Run what the file of results does not have yet."""
    before = {(one.adapter, one.digest, one.attempt): one for one in read(given.results)}
    found = []
    for name in given.adapter:
        tool = adapter(name)
        if why := tool.why_not(given.peers):
            print(f"{name}: not run: {why}", file=sys.stderr)
            continue
        for attempt in range(1, given.times + 1):
            for case in told:
                one = before.get((name, case.digest, attempt))
                if one is None or one.outcome == oracle.ERROR:
                    one = trial(case, tool, given, attempt)
                    with given.results.open("a", encoding="utf-8") as file:
                        file.write(one.line() + "\n")
                    said = f"{name} {case.name}: {one.outcome} {one.detail[:90]}"
                    print(f"{said} in {one.seconds:.1f} s", file=sys.stderr, flush=True)
                found.append(one)
    return found


def check(results: list[Result]) -> list[str]:
    """What does not hold: a liar that is not caught, an honest one or good work that is."""
    wrong = []
    for one in results:
        fair = one.adapter == "honest" or (one.kind == "good" and one.board != "C")
        caught = one.outcome not in {oracle.OK, oracle.ERROR}
        if caught if fair else not caught:
            wrong.append(f"{one.adapter} {one.case}: {one.outcome} {one.detail}")
    return wrong


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--board", default=",".join(BOARDS), help="A,B,C,D,E,F")
    parser.add_argument("--adapter", default="shell,make", help="names, or all")
    parser.add_argument("--times", type=int, default=1, help="tries of each case, for pass^k")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument(
        "--cases", type=Path, action="append", default=[], help="one more folder of cases"
    )
    parser.add_argument("--place", type=Path, default=Path.home() / ".cache" / "bench-done")
    parser.add_argument("--peers", type=Path, help="where peers are installed (PLACE/peers)")
    parser.add_argument("--results", type=Path, help="JSON lines (PLACE/results.jsonl)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="print the tables of a file")
    parser.add_argument("--digests", action="store_true", help="print the digests of the cases")
    parser.add_argument("--check", action="store_true", help="run the controls; 1 if one is wrong")
    parser.add_argument("--keep", action="store_true", help="leave the clones of the runs")
    given = parser.parse_args()
    given.board = given.board.upper().split(",")
    if unknown := set(given.board) - set(BOARDS):
        parser.error(f"no board {', '.join(sorted(unknown))}; there are {', '.join(BOARDS)}")
    given.adapter = list(ADAPTERS) if given.adapter == "all" else given.adapter.split(",")
    given.place = given.place.resolve()
    given.place.mkdir(parents=True, exist_ok=True)
    given.peers = (given.peers or given.place / "peers").resolve()
    given.results = given.results or given.place / "results.jsonl"
    return given


def main() -> int:
    given = arguments()
    if given.report:
        print(page(read(given.report)), end="")
        return 0
    told = cases(given)
    if given.digests:
        for half in sorted({case.half for case in told}):
            own = [case for case in told if case.half == half]
            if own:
                print(f"{half}: {len(own)} cases, sha256 {of_all(own)}")
        return 0
    if not told:
        raise SystemExit("error: no such case")
    if given.check:
        given.adapter = list(CONTROLS)
        given.results = given.place / "controls.jsonl"
        given.results.unlink(missing_ok=True)
        wrong = check(measure(given, told))
        print("\n".join(wrong) or f"{len(told)} cases hold, and so does each oracle")
        return int(bool(wrong))
    print(page(measure(given, told)), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
