"""Which tests change result against which are selected, on real projects, beside pytest-testmon.

    python benchmarks/impact/truth.py [--changes N] [--project NAME] [--place FOLDER] [--others]

One small fault at a time in one file; then the whole suite, to see which tests change result. Each
test file stands for a task with one test contract. What was measured is kept in FOLDER: a second
call goes on where the first one stopped. RESULTS.md says what came out.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from kinds import mutant_of_kind
from mutants import Mutant, mutant
from projects import OTHERS, PROJECTS, Ground, prepared

from runner.impact.answer import Changed, judge
from runner.impact.inputs import Knowledge
from runner.impact.owners import Owners
from runner.impact.python_blocks import ranges_of
from runner.impact.reach import Entry, References
from runner.impact.store import ImpactStore
from runner.impact.traces import Observations
from runner.model import Level, Observed, Spec, Task, TestContract, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable

WAYS = ("runner", "testmon", "imports", "owners")
_QUIET = (
    "-q",
    "--continue-on-collection-errors",
    "-o",
    "addopts=",
)  # testmon asks pytest's cache what failed last


def main() -> None:
    """Measure what is missing, print the whole."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--changes", type=int, default=10, help="for each project")
    names = [one.name for one in (*PROJECTS, *OTHERS)]
    parser.add_argument("--project", action="append", choices=names)
    parser.add_argument("--others", action="store_true", help="other projects, ten kinds of change")
    parser.add_argument(
        "--place", type=Path, default=Path.home() / ".cache" / "runner-impact-bench"
    )
    given = parser.parse_args()
    print(
        f"{'project':<14}{'tests':>6}{'faults':>7}{'seen':>6}   "
        + "".join(f"{way:>18}" for way in WAYS)
    )
    for project in OTHERS if given.others else PROJECTS:
        if not given.project or project.name in given.project:
            ground = prepared(project, given.place)
            measure(ground, Bench(ground, kinds=given.others), given.changes)


class Bench:
    """One project with all that is known of it before any change."""

    def __init__(self, ground: Ground, *, kinds: bool) -> None:
        self.ground = ground
        self.kept = ground.root.parent
        self.log = self.kept / ("kinds.jsonl" if kinds else "changes.jsonl")
        self.mutant = mutant_of_kind if kinds else mutant
        self.kinds = kinds
        for path, source in self._known("sources.json", self._sources).items():
            (ground.root / path).write_text(source)  # a call that was ended may have left a fault
        self.before = self._known("baseline.json", self._baseline)
        self.seen = self._known("observed.json", self._observe)
        self._known("testmon.json", self._teach_testmon)
        self.seconds = self.before.pop("", 10.0)

    def _known(self, name: str, learn: Callable[[], Any]) -> Any:
        file = self.kept / name
        if not file.exists():
            file.write_text(json.dumps(learn()))
        return json.loads(file.read_text())

    def _sources(self) -> dict[str, str]:
        return {path: content.decode() for path, content in self.ground.files().items()}

    def _baseline(self) -> dict[str, str | float]:
        """Outcomes of the tests that come out twice the same, and how long they take."""
        began = time.monotonic()
        first = outcomes(self.ground, 600)
        took = time.monotonic() - began
        second = outcomes(self.ground, 600)
        return {test: one for test, one in first.items() if second.get(test) == one} | {"": took}

    def _observe(self) -> list[list[str]]:
        """What each test executes, its file run alone, as the proof of a task runs it."""
        found = []
        settings = self.kept / "coverage.ini"  # processes that tests start are looked at too
        settings.write_text("[run]\npatch = subprocess\nparallel = true\n")
        for file in self.ground.test_files():
            data = self.kept / "coverage.db"
            data.unlink(missing_ok=True)
            self.ground.run(
                "-m", "pytest", *_QUIET, f"--cov={self.ground.root}", "--cov-context=test",
                f"--cov-config={settings}", "--cov-report=", file,
                seconds=600, COVERAGE_FILE=str(data),
            )  # fmt: skip
            found += rows(self.ground, data, file)
        return found

    def _teach_testmon(self) -> bool:
        for old in self.ground.root.glob(".testmondata*"):
            old.unlink()
        self.ground.run(
            "-m", "pytest", *_QUIET, "--testmon", self.ground.project.tests, seconds=900
        )
        shutil.copy(self.ground.root / ".testmondata", self.kept / "testmondata")
        return True

    def knowledge(self, *, observed: bool) -> Knowledge:
        """A task for each test file."""
        ground = self.ground
        files = ground.files() | {
            one.relative_to(ground.root).as_posix(): one.read_bytes()
            for one in (ground.root / ground.project.tests).rglob("*")
            if one.is_file()
        }
        store = ImpactStore(None)
        references = References(store)
        references.learn((Entry(path, path) for path in files), files.get)
        kept = Observations(store)
        tasks = {}
        for file in ground.test_files():
            contract = TestContract("TC", Level.UNIT, f"python -m pytest -q {file}")
            tasks[file] = Task(file, file, 1, Spec("", ""), test_contracts=(contract,))
            if observed:
                kept.keep(file, [Observed("TC", *row[1:]) for row in self.seen if row[0] == file])
        return Knowledge(
            tasks=tasks,
            owners=Owners(store, b""),
            observed=kept,
            references=references,
            digest=lambda path: digest_of(files[path]) if path in files else None,
            content=files.get,
        )


def rows(ground: Ground, data: Path, file: str) -> list[list[str]]:
    """What coverage saw, a row for each test and file of the project."""
    script = (
        "import coverage, json, sys\n"
        "d = coverage.CoverageData(sys.argv[1]); d.read()\n"
        "print(json.dumps([[f, n, c] for f in d.measured_files()"
        " for n, c in d.contexts_by_lineno(f).items()]))\n"
    )
    done = ground.run("-c", script, str(data), seconds=60)
    lines: dict[tuple[str, str], set[int]] = {}
    for path, number, contexts in json.loads(done.stdout):
        inside = Path(path).resolve()
        if inside.is_relative_to(ground.root) and inside.suffix == ".py":
            for context in contexts:
                test = context.rpartition("|")[0]
                key = test, inside.relative_to(ground.root).as_posix()
                lines.setdefault(key, set()).add(number)
    return [
        [file, name(test), path, digest_of((ground.root / path).read_bytes()), ranges_of(some)]
        for (test, path), some in lines.items()
    ]


def name(test: str) -> str:
    """A node id without its parameters' odd letters; the same on all ways."""
    return re.sub(r"\s+", " ", test)


def outcomes(ground: Ground, seconds: float) -> dict[str, str] | None:
    """What each test of the whole suite came to; None when it took too long."""
    script = Path(__file__).parent / "outcomes.py"
    report = ground.root.parent / "outcomes.json"
    report.unlink(missing_ok=True)
    done = ground.run(
        "-m", "pytest", *_QUIET, "-p", "outcomes", ground.project.tests,
        seconds=seconds, PYTHONPATH=str(script.parent), OUTCOMES=str(report),
    )  # fmt: skip
    if done is None or not report.exists():
        return None
    return {name(test): said for test, said in json.loads(report.read_text()).items()}


# --- measuring --------------------------------------------------------------------------


def measure(ground: Ground, bench: Bench, changes: int) -> None:
    """All faults of one project, one after the other; then its line of the table."""
    known = {}
    if bench.log.exists():
        known = {one["number"]: one for one in map(json.loads, bench.log.read_text().splitlines())}
    knows = {"runner": bench.knowledge(observed=True), "imports": bench.knowledge(observed=False)}
    files = ground.files()
    for number in range(changes):
        if number not in known:
            known[number] = tried(number, bench.mutant(number, files), ground, bench)
            with bench.log.open("a") as log:
                log.write(json.dumps(known[number]) + "\n")
            print(".", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    done = [one for at in range(changes) if not (one := known[at]).get("skipped")]
    faults = {one["number"]: bench.mutant(one["number"], files) for one in done}
    judged = [(one, picks(one, faults[one["number"]], bench, knows)) for one in done]
    tell(bench, judged)
    if bench.kinds:
        for kind in dict.fromkeys(one["what"] for one, _ in judged):
            tell(bench, [pair for pair in judged if pair[0]["what"] == kind], f"  {kind}")
        return
    code = [(one, picked) for one, picked in judged if not in_docstring(one, files)]
    tell(bench, code, "  its code")


def tried(number: int, fault: Mutant, ground: Ground, bench: Bench) -> dict:
    """What one fault changes, and what each way selects."""
    file = ground.root / fault.path
    before = file.read_bytes()
    try:
        file.write_bytes(fault.content)
        after = outcomes(ground, 5 * bench.seconds + 20)
        if after is None:
            return {"number": number, "path": fault.path, "line": fault.line, "skipped": True}
        picked = by_testmon(ground, bench)
    finally:
        file.write_bytes(before)
    changed = [test for test, said in bench.before.items() if after.get(test) != said]
    return {
        "number": number, "path": fault.path, "line": fault.line, "what": fault.what,
        "changed": changed, "testmon": picked,
    }  # fmt: skip


def picks(one: dict, fault: Mutant, bench: Bench, knows: dict[str, Knowledge]) -> dict[str, list]:
    """What each way selects of a fault; ours is judged anew each time the table is printed."""
    before = (bench.ground.root / fault.path).read_bytes()
    change = Changed(fault.path, before, fault.content)
    found = {way: selected(change, knowledge, bench) for way, knowledge in knows.items()}
    own = [test for test in bench.before if owns(test.partition("::")[0], fault.path)]
    return {"testmon": one["testmon"], "owners": own, **found}


def selected(change: Changed, knowledge: Knowledge, bench: Bench) -> list[str]:
    """The tests that impact selects: single ones where it knows them."""
    found: set[str] = set()
    for one in judge([change], knowledge).affected:
        single = dict(one.tests).get("TC")
        mine = [test for test in bench.before if test.startswith(f"{one.task}::")]
        found |= set(single) & set(mine) if single is not None else set(mine)
    return sorted(found)


def by_testmon(ground: Ground, bench: Bench) -> list[str]:
    """The tests that testmon would run; those of a file it cannot collect are among them."""
    for old in ground.root.glob(".testmondata*"):
        old.unlink()
    shutil.copy(bench.kept / "testmondata", ground.root / ".testmondata")
    words = ("--testmon", "--testmon-nocollect", "--collect-only", ground.project.tests)
    done = ground.run("-m", "pytest", *_QUIET, *words, seconds=120)
    said = done.stdout if done else ""
    listed = {name(line) for line in said.splitlines() if "::" in line}
    broken = set(re.findall(r"^ERROR (\S+\.py)", said, re.MULTILINE))
    return [t for t in bench.before if t in listed or t.partition("::")[0] in broken]


def owns(test_file: str, path: str) -> bool:
    """Whether a test file is the one of a module, by the usual names."""
    stem = Path(path).stem.strip("_")
    return Path(test_file).stem in (f"test_{stem}", f"{stem}_test", f"test_{stem}s")


def in_docstring(one: dict, files: dict[str, bytes]) -> bool:
    """Whether a fault is in a docstring: no test saw one, and ours selects all that could."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    tree = ast.parse(files[one["path"]])
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, documented)]
    first = {body[0].lineno for body in bodies if body and _is_text(body[0])}
    return one["what"] == "Constant" and one["line"] in first


def _is_text(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(ast.Constant(str())):
            return True
    return False


def tell(bench: Bench, done: list[tuple[dict, dict[str, list]]], name: str = "") -> None:
    """Recall and selected share of every way; what ours misses is named."""
    tests = len(bench.before)
    changed = sum(len(one["changed"]) for one, _ in done)
    cells = []
    for way in WAYS:
        found = sum(len({*one["changed"]} & {*picked[way]}) for one, picked in done)
        share = sum(len(picked[way]) for _, picked in done) / (tests * len(done) or 1)
        recall = found / changed if changed else 1.0
        cells.append(f"{recall:8.1%} {share:8.1%}")
    seen = sum(bool(one["changed"]) for one, _ in done)
    counts = f"{name or bench.ground.project.name:<14}{tests:>6}{len(done):>7}{seen:>6}"
    print(counts + "   " + "".join(f"{one:>18}" for one in cells), flush=True)
    for one, picked in done:
        missed = sorted({*one["changed"]} - {*picked["runner"]})
        if missed:
            print(f"  missed at {one['path']}:{one['line']}: {', '.join(missed[:3])}", flush=True)


if __name__ == "__main__":
    main()
