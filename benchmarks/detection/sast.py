"""Static analysis over bandit's own examples: ours beside bandit's command and ruff's S rules.

The measure is bandit's functional tests, which say how many issues of which severity each example
holds. A file's findings up to that number count as found, those beyond it as false.
"""

from __future__ import annotations

import ast
import json
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import bandit

from runner.writes.sast import scan_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def compare() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = _source(Path(folder))
        expected = _expected(root / "tests/functional/test_functional.py")
        examples = root / "examples"
        files = sorted(name for name in expected if (examples / name).is_file())
        rows = {
            "ours, in process": _ours(examples, files),
            "bandit's command": _bandit(examples, files),
            "ruff --select S": _ruff(examples, files),
        }
        total = sum(expected[name] for name in files)
        print(f"{len(files)} examples, {total} issues by bandit's functional tests\n")
        print("| tool | found | recall | beyond | of its findings | seconds (all files) |")
        print("|---|---|---|---|---|---|")
        for tool, (counts, seconds) in rows.items():
            good = sum(min(counts.get(name, 0), expected[name]) for name in files)
            beyond = sum(max(0, counts.get(name, 0) - expected[name]) for name in files)
            share = 100 * beyond / max(1, good + beyond)
            print(
                f"| {tool} | {good} | {100 * good / total:.1f} % | {beyond} | {share:.1f} % "
                f"| {seconds} |"
            )
        print("\nwhere ours differs (file: expected, ours, bandit's command):")
        mine, theirs = (rows[name][0] for name in ("ours, in process", "bandit's command"))
        for name in files:
            if mine.get(name, 0) != expected[name]:
                print(f"- {name}: {expected[name]}, {mine.get(name, 0)}, {theirs.get(name, 0)}")


def _source(folder: Path) -> Path:
    """The source distribution of the installed bandit, which alone holds the examples."""
    wanted = f"bandit=={bandit.__version__}"
    words = ["download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder), wanted]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def _expected(tests: Path) -> dict[str, int]:
    """The number of issues by example: the severities that `check_example` is given."""
    found: dict[str, int] = {}
    for function in ast.walk(ast.parse(tests.read_text())):
        expect: dict | None = None
        for statement in function.body if isinstance(function, ast.FunctionDef) else ():
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "expect":
                expect = _literal(statement.value)
            name = _example(statement)
            if name and expect:
                counts = expect["SEVERITY"]
                found[name] = sum(counts[rank] for rank in ("LOW", "MEDIUM", "HIGH"))
    return found


def _example(statement: ast.stmt) -> str:
    """The file of `self.check_example("file.py", expect)`, where a statement is that."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and ast.unparse(call.func) == "self.check_example":
        first = call.args[0]
        return str(first.value) if isinstance(first, ast.Constant) else ""
    return ""


def _literal(node: ast.expr) -> dict | None:
    """The value, where it is written out; one example's depends on the version of Python."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _timed(work: Callable[[], dict[str, int]], repeats: int = 5) -> tuple[dict[str, int], str]:
    """What the work gave, and its median with the spread."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        counts = work()
        times.append(time.perf_counter() - began)
    return counts, f"{statistics.median(times):.2f} ({min(times):.2f} to {max(times):.2f})"


def _ours(examples: Path, files: list[str]) -> tuple[dict[str, int], str]:
    contents = {name: (examples / name).read_bytes() for name in files}
    return _timed(
        lambda: {name: len(scan_file(content, name).findings) for name, content in contents.items()}
    )


def _bandit(examples: Path, files: list[str]) -> tuple[dict[str, int], str]:
    def work() -> dict[str, int]:
        words = [sys.executable, "-m", "bandit", "-q", "-f", "json", *files]
        done = subprocess.run(words, cwd=examples, capture_output=True, check=False)
        return _counted(row["filename"] for row in json.loads(done.stdout)["results"])

    return _timed(work)


def _ruff(examples: Path, files: list[str]) -> tuple[dict[str, int], str]:
    def work() -> dict[str, int]:
        words = ["--isolated", "--select", "S", "--output-format", "json", "--no-cache"]
        ruff = [sys.executable, "-m", "ruff", "check", *words, *files]
        done = subprocess.run(ruff, cwd=examples, capture_output=True, check=False)
        rows = json.loads(done.stdout)
        return _counted(row["filename"] for row in rows if str(row["code"]).startswith("S"))

    return _timed(work)


def _counted(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[Path(name).name] = counts.get(Path(name).name, 0) + 1
    return counts
