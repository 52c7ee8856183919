"""Repositories that cases start from: built by the runner itself, every task DONE with evidence."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
TIDY = "cachetools"
"""The project from PyPI: pure Python, MIT, its tests in its source distribution."""
RELEASES = [
    "5.0.0",
    "5.1.0",
    "5.2.0",
    "5.2.1",
    "5.3.0",
    "5.3.1",
    "5.3.2",
    "5.3.3",
    "5.4.0",
    "5.5.0",
    "5.5.1",
    "5.5.2",
    "6.0.0",
    "6.1.0",
    "6.2.0",
]
BASE = "5.3.0"
"""The release that seeded faults and refactorings start from."""

_BOOKINGS = {
    "runner.toml": """\
[gates]
lint = "make lint"
types = "mypy booking"
""",
    "Makefile": """\
.PHONY: lint test

lint:
\truff check --quiet --no-cache booking tests

test:
\tpython3 -m unittest discover -q -s tests -t .
""",
    "package.json": """\
{
  "name": "bookings",
  "private": true,
  "scripts": {
    "lint": "make lint",
    "test": "make test"
  }
}
""",
    "mypy.ini": "[mypy]\nstrict = True\n",
}
_LIBRARY = {
    "runner.toml": """\
[gates]
lint = "ruff check --quiet --no-cache --select E9,F63,F7,F82 src tests"
tests = "python3 -m pytest -q tests"
""",
    "tests/test_team.py": '''\
"""What the team adds: sizes and times, in the manner of pytest."""

import pytest

from cachetools import LRUCache, TTLCache


@pytest.fixture
def cache():
    return LRUCache(maxsize=10, getsizeof=len)


@pytest.mark.parametrize(
    ("words", "size"),
    [
        (["a"], 1),
        (["ab", "c"], 3),
        (["abcde", "fghij"], 10),
        (["abcde", "fghij", "k"], 6),
    ],
)
def test_sizes_are_added_up(cache, words, size):
    for word in words:
        cache[word] = word
    assert cache.currsize == size


def test_a_word_that_is_too_large_is_refused(cache):
    with pytest.raises(ValueError, match="value too large"):
        cache["k"] = "x" * 11
    assert len(cache) == 0


def test_the_time_to_live_is_kept():
    cache = TTLCache(maxsize=2, ttl=0.1 + 0.2)
    assert cache.ttl == pytest.approx(0.3, abs=1e-9)


def test_a_cache_says_what_it_holds():
    cache = LRUCache(maxsize=2)
    cache["a"] = 1
    assert repr(cache) == "LRUCache({'a': 1}, maxsize=2, currsize=1)"
''',
}
_PYTEST = "[pytest]\npythonpath = src\ntestpaths = tests\n"
_UNTESTED = "- Proof: none — documents and packaging"
_IGNORED = "__pycache__/\n*.db\n.mypy_cache/\n.pytest_cache/\n*.egg-info/\n"


@dataclass(frozen=True)
class Place:
    """The folder that all is kept in, and the environment that every process gets."""

    root: Path
    source: Path | None = None
    """Folder with another copy of the package: one that nobody edits meanwhile."""

    @property
    def environ(self) -> dict[str, str]:
        home = self.root / "home"
        return {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_STATE_HOME": str(home / "state"),
            "GIT_CONFIG_GLOBAL": str(home / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "CI": "true",
            "RUNNER_BUILD_ATTEMPTS": "1",
            **({"PYTHONPATH": str(self.source)} if self.source else {}),
        }

    def call(self, folder: Path, *words: str, seconds: float = 600) -> subprocess.CompletedProcess:
        return subprocess.run(
            words,
            cwd=folder,
            env=self.environ,
            capture_output=True,
            check=False,
            text=True,
            timeout=seconds,
            errors="replace",
        )

    def must(self, folder: Path, *words: str) -> str:
        done = self.call(folder, *words)
        if done.returncode:
            said = f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
            raise SystemExit(f"error: {' '.join(words)} in {folder}\n{said}")
        return done.stdout

    def runner(self, folder: Path, *words: str) -> subprocess.CompletedProcess:
        return self.call(folder, sys.executable, "-m", "runner", *words)


def prepared(root: Path, source: Path | None = None) -> Place:
    """The place, with a home of its own in which commands may read the edits."""
    place = Place(root, source)
    config = root / "home" / "config" / "runner"
    config.mkdir(parents=True, exist_ok=True)
    (root / "edits").mkdir(exist_ok=True)
    readable = ", ".join(f'"{path}"' for path in (HERE, root / "edits", root / "sdists"))
    (config / "runner.toml").write_text(f"sandbox.read = [{readable}]\n")
    (root / "home" / "gitconfig").write_text("[user]\nname = A\nemail = a@example.org\n")
    return place


def ground(place: Place, name: str) -> Path:
    """The repository `bookings` or `cachetools-5.3.0`, built when it is first asked for."""
    folder = place.root / "grounds" / name
    if (folder / ".git" / "ready").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (_bookings if name == "bookings" else _library)(place, folder, name.rpartition("-")[2])
    (folder / ".git" / "ready").write_text("")
    return folder


def _bookings(place: Place, folder: Path, _version: str) -> None:
    example = REPOSITORY / "examples" / "bookings"
    shutil.copytree(example, folder, dirs_exist_ok=True)
    _begin(place, folder)
    _build(place, folder)
    _more(place, folder, _BOOKINGS)


def _library(place: Place, folder: Path, version: str) -> None:
    """A release as three tasks: what is around the code, the caches, and the functions on top."""
    unpacked = release(place, version)
    files = sorted(str(path.relative_to(unpacked)) for path in released(unpacked))
    (folder / "pytest.ini").write_text(_PYTEST)
    package = [path for path in files if path.startswith(("src/", "tests/"))]
    top = [path for path in package if path.endswith(("/func.py", "/test_func.py"))]
    core = [path for path in package if path not in top]
    around = [path for path in files if path not in package]
    tests = " ".join(p for p in core if Path(p).name.startswith("test_"))
    plan = [
        f"# {TIDY} {version}\n",
        _task(1, "Around the code", around, unpacked, ""),
        _task(2, "Caches", core, unpacked, f"python3 -m pytest -q {tests}"),
        _task(3, "Functions", top, unpacked, "python3 -m pytest -q tests/test_func.py"),
    ]
    (folder / "TASK-GRAPH.md").write_text("\n".join(plan))
    _begin(place, folder)
    _build(place, folder)
    _more(place, folder, _LIBRARY)


def _task(number: int, title: str, files: list[str], unpacked: Path, test: str) -> str:
    copies = f"tar -C {unpacked} -c {' '.join(files)} | tar -x --no-same-owner"
    lines = [
        f"## TASK-{number:03d}: {title}\n",
        "- Status: PENDING",
        f"- Depends on: {f'TASK-{number - 1:03d}' if number > 1 else 'none'}",
        f"- Output files: {', '.join(f'`{path}`' for path in files)}",
        f"- Test contracts:\n  - TC-{number:03d} (unit): `{test}`" if test else _UNTESTED,
        f"- Command: `{copies}`\n",
    ]
    return "\n".join(lines)


def release(place: Place, version: str) -> Path:
    """The unpacked source distribution, fetched when it is first asked for."""
    folder = place.root / "sdists"
    unpacked = folder / f"{TIDY}-{version}"
    if unpacked.exists():
        return unpacked
    folder.mkdir(exist_ok=True)
    wanted = ("--no-deps", "--no-binary", ":all:", "-d", str(folder), f"{TIDY}=={version}")
    words = (sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", *wanted)
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    with tarfile.open(folder / f"{TIDY}-{version}.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    return unpacked


def released(unpacked: Path) -> list[Path]:
    """What the author wrote of a distribution: without what packing added."""
    return [
        path
        for path in unpacked.rglob("*")
        if path.is_file()
        and "egg-info" not in str(path)
        and path.name not in ("PKG-INFO", ".gitignore")
    ]


def _begin(place: Place, folder: Path) -> None:
    (folder / ".gitignore").write_text(_IGNORED)
    place.must(folder, "git", "init", "-q", "-b", "main")
    place.must(folder, "git", "add", ".")
    place.must(folder, "git", "commit", "-q", "-m", "docs: the plan")


def _build(place: Place, folder: Path) -> None:
    for _ in range(3):  # a build that broke off goes on
        built = place.runner(folder, "run", "--trust", "--no-verify-at-end")
        if built.returncode == 0:
            return
    raise SystemExit(f"error: {folder} is not built\n{built.stdout}\n{built.stderr}")


def _more(place: Place, folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)
    place.must(folder, "git", "add", ".")
    place.must(folder, "git", "commit", "-q", "-m", "chore: the team's gates")


def files_of(place: Place, folder: Path) -> dict[str, str]:
    """The tracked files of a ground, by path."""
    listed = place.must(folder, "git", "ls-files", "-z").split("\0")
    return {path: (folder / path).read_text(encoding="utf-8") for path in listed if path}


def tasks_in(files: dict[str, str]) -> int:
    """How many tasks a plan has."""
    return files["TASK-GRAPH.md"].count("\n## TASK-")


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def default_place() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "runner-trust-bench"
