"""Real projects to try impact on: fetched, unpacked and equipped when they are first needed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import venv
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Project:
    """A source distribution with tests; `sources` is a folder or a file in it, `tests` a folder."""

    name: str
    version: str
    sources: str
    tests: str
    needs: tuple[str, ...] = ()


PROJECTS = (
    Project("boltons", "25.0.0", "boltons", "tests"),
    Project("click", "8.1.8", "src/click", "tests"),
    Project("cachetools", "5.5.2", "src/cachetools", "tests"),
    Project("itsdangerous", "2.2.0", "src/itsdangerous", "tests", ("freezegun",)),
)
OTHERS = (
    Project("marshmallow", "3.26.1", "src/marshmallow", "tests", ("simplejson", "pytz")),
    Project("pluggy", "1.5.0", "src/pluggy", "testing"),
    Project("humanize", "4.12.3", "src/humanize", "tests", ("freezegun",)),
    Project("inflect", "7.5.0", "inflect", "tests"),
    Project("tomlkit", "0.13.2", "tomlkit", "tests", ("pyyaml",)),
    Project("tabulate", "0.9.0", "tabulate", "test", ("wcwidth", "numpy")),
    Project("parse", "1.20.2", "parse.py", "tests"),
    Project("wcwidth", "0.2.13", "wcwidth", "tests"),
)
"""Projects on which nothing was tuned: `--others`."""
_TOOLS = ("pytest<9", "coverage", "pytest-cov", "pytest-testmon", "setuptools")


@dataclass(frozen=True)
class Ground:
    """An unpacked project with an environment of its own."""

    project: Project
    root: Path
    python: Path

    def files(self) -> dict[str, bytes]:
        """The Python files of its sources."""
        place = self.root / self.project.sources
        found = [place] if place.is_file() else sorted(place.rglob("*.py"))
        return {one.relative_to(self.root).as_posix(): one.read_bytes() for one in found}

    def test_files(self) -> list[str]:
        """The files that hold tests."""
        found = sorted((self.root / self.project.tests).rglob("test_*.py"))
        return [one.relative_to(self.root).as_posix() for one in found]

    def run(
        self, *words: str, seconds: float, **more: str
    ) -> subprocess.CompletedProcess[str] | None:
        """Run the environment's Python in the project; None when it takes too long."""
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(self.root.parent), "LC_ALL": "C.UTF-8"}
        environ |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", **more}
        try:
            return subprocess.run(
                [self.python, *words], cwd=self.root, env=environ, timeout=seconds,
                capture_output=True, text=True, check=False, errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None


def prepared(project: Project, place: Path) -> Ground:
    """The project, ready to be tested in a folder that is kept."""
    folder = place / f"{project.name}-{project.version}"
    ground = Ground(project, folder / "src", folder / "venv" / "bin" / "python")
    if (folder / "ready").exists():
        return ground
    shutil.rmtree(folder, ignore_errors=True)  # what a call that was ended left half made
    folder.mkdir(parents=True)
    wanted = f"{project.name}=={project.version}"
    fetch = ("download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder), wanted)
    subprocess.run([sys.executable, "-m", "pip", *fetch], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    (top,) = (folder / "unpacked").iterdir()
    top.rename(ground.root)
    venv.create(folder / "venv", with_pip=True)
    install = ("-m", "pip", "install", "-q", *_TOOLS, *project.needs)
    subprocess.run([ground.python, *install], check=True)
    subprocess.run(
        [ground.python, "-m", "pip", "install", "-q", "-e", str(ground.root)], check=True
    )
    (folder / "ready").write_text("")
    return ground
