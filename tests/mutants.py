"""Would a test notice? Small faults in the product, each tried by the unit tests of its room.

`make mutants` prints the share that is noticed, and every fault that is not. The sample follows
from the commit: another commit, other places. A fault is put into a copy with a Python environment
of its own, so that processes which tests start see it, too. It counts as noticed when a test fails
or hangs that passes without it; one that is not found within the time counts as not noticed.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from runner.gates.mutation.small_changes import find_small_changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.gates.mutation.small_changes import SmallChange as Mutant

ROOT = Path(__file__).parent.parent
SECONDS = float(os.environ.get("MUTANTS_SECONDS", "90"))
HANG = SECONDS * 2 / 3
"""A test that takes so long hangs: the slowest unit test takes ten on a quiet machine."""
ENOUGH = 0.9
FACE = {"app": ("app", "commands"), "gates": ("gates",)}
"""Rooms whose unit tests stand elsewhere, too: the commands drive the use cases."""
_NOTHING_RAN = 5
"""pytest's exit code where all tests are deselected."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?: - .*)?$", re.MULTILINE)
_HUNG = re.compile(r"^Timeout \(", re.MULTILINE)
_BEGUN = re.compile(r"^(\S+\.py::\S+)", re.MULTILINE)


def room_of(path: str) -> str:
    """Name the room of a product file; those of the extensions have a folder more."""
    _, room, *rest = path.split("/")
    return f"{room}/{rest[0]}" if room == "extensions" and len(rest) > 1 else room


@dataclass(frozen=True)
class Fault:
    """One fault and what became of it."""

    path: str
    function: str
    line: int
    before: str
    after: str
    verdict: str = ""
    """`noticed`, `hangs`, `survived`, `no time`, or `no test`."""
    by: str = ""

    @property
    def is_noticed(self) -> bool:
        return self.verdict in ("noticed", "hangs")

    @property
    def room(self) -> str:
        return room_of(self.path).removesuffix(".py")

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is, wherever it stands in its file."""
        return self.path, self.function, self.before, self.after


# --- the sample -----------------------------------------------------------------------


def sample(root: Path, count: int, seed: str, only: str = "") -> list[tuple[Fault, Mutant]]:
    """So many faults, each line of the product as likely as any other."""
    chance = random.Random(seed)
    files = sorted(
        one
        for one in (root / "runner").rglob("*.py")
        if one.relative_to(root).as_posix().startswith(only)
    )
    weights = [len(one.read_bytes().splitlines()) for one in files]
    found: dict[tuple[str, int, bytes], tuple[Fault, Mutant]] = {}
    for _ in range(count * 20):
        if len(found) == count or not sum(weights):
            break
        file = chance.choices(files, weights)[0]
        known = mutants_of(root, file)
        if known:
            fault, mutant = chance.choice(known)
            found.setdefault((fault.path, mutant.start, mutant.text), (fault, mutant))
    return list(found.values())


@cache
def mutants_of(root: Path, file: Path) -> tuple[tuple[Fault, Mutant], ...]:
    """Every fault that can be put into a file."""
    content, path = file.read_bytes(), file.relative_to(root).as_posix()
    made = find_small_changes(path, None, content)
    return tuple((Fault(path, one.function, one.line, *_told(one, content)), one) for one in made)


def _told(mutant: Mutant, content: bytes) -> tuple[str, str]:
    """The line, or what stands on several, before and after."""
    start = content.rfind(b"\n", 0, mutant.start) + 1
    end = content.find(b"\n", mutant.end)
    words = (
        content[start:end],
        content[start : mutant.start] + mutant.text + content[mutant.end : end],
    )
    before, after = (" ".join(one.decode().split()) for one in words)
    return before, after


# --- which tests ----------------------------------------------------------------------


def modules_in(file: Path) -> frozenset[str]:
    """The modules that a file imports, anywhere in it."""
    return _modules_in(file, file.stat().st_mtime_ns)


@cache
def _modules_in(file: Path, _changed: int) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


class Tests:
    """Which tests may notice a fault in a module: those of its room, the nearest ones first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = sorted((root / "tests").rglob("test_*.py"))
        self._steps: dict[str, dict[str, int]] = {}

    def of(self, path: str) -> list[str]:
        """The test files of a product file, in the order of trying; stories where no other is."""
        room = room_of(path)
        if room.endswith(".py"):
            mine = [one for one in self.files if not self._is_story(one)]
        else:
            folders = tuple(self.root / "tests" / name for name in FACE.get(room, (room,)))
            mine = [one for one in self.files if any(folder in one.parents for folder in folders)]
        ranked = self._rank(path, mine)
        if not ranked or (not path.count("/") > 1 and len(ranked) > 40):
            ranked = ranked[:40] or self._rank(
                path, [one for one in self.files if self._is_story(one)]
            )
        return ranked

    def _is_story(self, file: Path) -> bool:
        return self.root / "tests" / "stories" in file.parents

    def _rank(self, path: str, files: Iterable[Path]) -> list[str]:
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        steps = self._distances(module)
        near = []
        for file in files:
            away = min((steps[one] for one in self._reaches(file) if one in steps), default=None)
            if away is not None:
                alike = -len(set(Path(path).stem.split("_")) & set(file.stem.split("_")))
                near.append(
                    (away, alike, file.stat().st_size, file.relative_to(self.root).as_posix())
                )
        return [name for *_, name in sorted(near)]

    def _reaches(self, file: Path) -> frozenset[str]:
        """What a test imports, itself or by a helper beside it or in the stories' folder."""
        found = set(modules_in(file))
        for folder in (file.parent, file.parent.parent, self.root / "tests" / "stories"):
            helpers = [folder / f"{name}.py" for name in found if "." not in name]
            for helper in (*helpers, folder / "conftest.py"):
                if helper.is_file():
                    found |= modules_in(helper)
        if "workplace" in found:
            found.add("runner.cli")
        return frozenset(found)

    def _distances(self, module: str) -> dict[str, int]:
        """From which modules a module is reached, and in how many steps."""
        if module not in self._steps:
            importers = self._importers
            steps, edge = {module: 0}, [module]
            while edge:
                after = [
                    one for name in edge for one in importers.get(name, ()) if one not in steps
                ]
                steps |= dict.fromkeys(after, steps[edge[0]] + 1)
                edge = list(dict.fromkeys(after))
            self._steps[module] = steps
        return self._steps[module]

    @property
    def _importers(self) -> dict[str, set[str]]:
        if not hasattr(self, "_known"):
            self._known: dict[str, set[str]] = {}
            for file in (self.root / "runner").rglob("*.py"):
                parts = file.relative_to(self.root).with_suffix("").as_posix()
                mine = parts.removesuffix("/__init__").replace("/", ".")
                for name in modules_in(file):
                    self._known.setdefault(name, set()).add(mine)
        return self._known


# --- trying ---------------------------------------------------------------------------


class Copy:
    """A copy of what is tracked, with an environment in which `runner` is the copy's."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(words, cwd=root, capture_output=True, check=True).stdout
        for name in filter(None, listed.decode().split("\0")):
            if (root / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, folder / name)
        venv.create(folder / ".venv", with_pip=False, symlinks=True)
        (packages,) = (folder / ".venv" / "lib").glob("python*/site-packages")
        ours = next(one for one in sys.path if one.endswith("site-packages"))
        adds = f"import site; site.addsitedir({ours!r})"
        (packages / "copy.pth").write_text(f"{folder}\n{adds}\n")
        self.python = folder / ".venv" / "bin" / "python"
        script = self.python.with_name("runner")
        script.write_text(f"#!{self.python}\nfrom runner.__main__ import main\nmain()\n")
        script.chmod(0o755)
        asked = [str(self.python), "-P", "-c", "import runner; print(runner.__file__)"]
        said = subprocess.run(asked, cwd="/", capture_output=True, check=True, text=True).stdout
        if not said.startswith(str(folder)):
            raise SystemExit(f"the copy's environment imports {said}")

    def test(self, words: Iterable[str], seconds: float) -> tuple[str, str]:
        """How a run of tests ended, `passed`, `failed`, `hangs` or `no time`, and by which test."""
        options = ["-x", "-v", "-p", "no:cacheprovider", "--tb=no", "--no-header", "-n", "0"]
        options += [
            "-o",
            f"faulthandler_timeout={HANG:.0f}",
            "-o",
            "faulthandler_exit_on_timeout=true",
        ]
        own = ("COV", "PYTEST_ADDOPTS")  # options of the outer pytest change what ours prints
        environ = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        environ |= {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(self.folder.parent / "tmp")}
        Path(environ["TMPDIR"]).mkdir(exist_ok=True)
        argv = [str(self.python), "-m", "pytest", *options, *words]
        process = subprocess.Popen(
            argv,
            cwd=self.folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
            errors="replace",
        )
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            _end_left_over(environ["TMPDIR"])
            return "no time", ""
        failed = _FAILED.findall(said)
        if _HUNG.search(said):
            return "hangs", ["", *_BEGUN.findall(said)][-1]
        if process.returncode in (0, _NOTHING_RAN):
            return "passed", ""
        return "failed", failed[0] if failed else ""

    def evaluate(self, fault: Fault, mutant: Mutant, tests: list[str]) -> Fault:
        """What the tests say of a fault; what fails without it, too, says nothing."""
        if not tests:
            return _with(fault, "no test")
        file, deselected = self.folder / fault.path, []
        whole = file.read_bytes()
        for _ in range(4):
            file.write_bytes(mutant.apply_to(whole))
            try:
                verdict, by = self.test([*tests, *deselected], SECONDS)
            finally:
                file.write_bytes(whole)
            if verdict not in ("failed", "hangs"):
                return _with(fault, "survived" if verdict == "passed" else verdict)
            if self._passes_without(by, tests):
                return _with(fault, "hangs" if verdict == "hangs" else "noticed", by)
            deselected += ["--deselect", by] if by else []
        return _with(fault, "survived", "tests that fail without it, too")

    def _passes_without(self, test: str, tests: list[str]) -> bool:
        """Whether a test passes without the fault; where none had a name, whether all are found."""
        words = [test] if test else ["--collect-only", "-q", *tests]
        return self.test(words, 3 * SECONDS)[0] == "passed"


def _end_left_over(folder: str) -> None:
    """End what a killed test run started in sessions of its own: its environment names the copy."""
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"TMPDIR={folder}".encode() in (place / "environ").read_bytes().split(b"\0"):
                os.kill(int(place.name), 9)


def _with(fault: Fault, verdict: str, by: str = "") -> Fault:
    return Fault(**{**asdict(fault), "verdict": verdict, "by": by})


def campaign(
    root: Path, count: int, seed: str, kept: Path, *, jobs: int = 1, only: str = ""
) -> Iterator[Fault]:
    """Each fault of the sample with what became of it; what `kept` holds is not tried again."""
    known = {}
    if kept.is_file():
        for line in kept.read_text().splitlines():
            fault = Fault(**json.loads(line))
            if fault.verdict != "no time":  # a quieter hour may tell
                known[fault.key] = fault
    asked = sample(root, count, seed, only)
    yield from (known[fault.key] for fault, _ in asked if fault.key in known)
    rest = [(fault, mutant) for fault, mutant in asked if fault.key not in known]
    if not rest:
        return
    tests, kept_open = Tests(root), SimpleQueue()
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for number in range(jobs):
            kept_open.put(Copy(root, Path(folder) / f"job{number}" / "copy"))

        def one(pair: tuple[Fault, Mutant]) -> Fault:
            copy = kept_open.get()
            try:
                return copy.evaluate(*pair, tests.of(pair[0].path))
            finally:
                kept_open.put(copy)

        with ThreadPoolExecutor(jobs) as executor, kept.open("a") as file:
            for fault in executor.map(one, rest):
                print(json.dumps(asdict(fault)), file=file, flush=True)
                yield fault


# --- telling --------------------------------------------------------------------------


def equivalents(file: Path) -> dict[tuple[str, str, str, str], str]:
    """Faults that are none, with the reason: rows of path, function, before, after, reason."""
    if not file.is_file():
        return {}
    rows = (line.split("\t") for line in file.read_text().splitlines() if line.count("\t") == 4)
    return {(path, name, before, after): why for path, name, before, after, why in rows}


def report(faults: list[Fault], equal: dict[tuple[str, str, str, str], str]) -> tuple[str, bool]:
    """The table and the list of what was not noticed, and whether enough was."""
    counted = [one for one in faults if one.is_noticed or one.key not in equal]
    rooms: dict[str, list[Fault]] = {}
    for one in counted:
        rooms.setdefault(one.room, []).append(one)
    lines = [f"{'room':<14} noticed"]
    for room, mine in sorted(rooms.items()):
        lines.append(f"{room:<14} {sum(one.is_noticed for one in mine)} of {len(mine)}")
    noticed = sum(one.is_noticed for one in counted)
    share = noticed / len(counted) if counted else 1.0
    lines.append(f"{'all':<14} {noticed} of {len(counted)}, {share:.0%}")
    for one in faults:
        if not one.is_noticed:
            why = equal.get(one.key)
            words = f"equivalent: {why}" if why else one.verdict + (f", {one.by}" if one.by else "")
            lines += [f"{one.path}:{one.line}: {one.function}: {words}"]
            lines += [f"    - {one.before}", f"    + {one.after}"]
    return "\n".join(lines), share >= ENOUGH


def main() -> int:
    """Print it for this commit: MUTANTS=60, MUTANTS_IN=runner/run for one room, MUTANTS_JOBS=1."""
    count, only = int(os.environ.get("MUTANTS", "60")), os.environ.get("MUTANTS_IN", "runner/")
    words = ["git", "rev-parse", "HEAD"]
    head = subprocess.run(
        words, cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout.strip()
    seed = os.environ.get("MUTANTS_SEED", head)
    name = re.sub(r"\W+", "-", f"{seed[:12]}-{only}")
    kept = ROOT / "build" / "mutants" / f"{name}.jsonl"
    faults = []
    jobs = int(os.environ.get("MUTANTS_JOBS", "1"))
    for fault in campaign(ROOT, count, seed, kept, jobs=jobs, only=only):
        faults.append(fault)
        print(
            f"{len(faults)}/{count} {fault.verdict}: {fault.path}:{fault.line} {fault.by}",
            flush=True,
        )
    said, enough = report(faults, equivalents(ROOT / "tests" / "equivalent_mutants.tsv"))
    print(said)
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
