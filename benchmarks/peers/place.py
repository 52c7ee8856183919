"""The throw-away folder: ours as a person installs it, the peers, and a home of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PEERS = ("doit", "ninja", "go-task-bin")
SNAKEMAKE_SECONDS = 90
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Place:
    """Where all is, and the environment that every measured process gets."""

    root: Path

    @property
    def python(self) -> Path:
        """The interpreter that has our package, byte-compiled, and no editable install."""
        return self.root / "ours" / "bin" / "python"

    @property
    def runner(self) -> str:
        return str(self.root / "ours" / "bin" / "runner")

    @property
    def cache(self) -> Path:
        return self.root / "home" / "cache"

    @property
    def environ(self) -> dict[str, str]:
        home = self.root / "home"
        return {
            "PATH": f"{self.root}/peers/bin:{self.root}/ours/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_CACHE_HOME": str(self.cache),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_DATA_HOME": str(home / "data"),
            "GIT_CONFIG_GLOBAL": str(home / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
        }

    def forget(self) -> None:
        """As if the runner had never seen any plan."""
        shutil.rmtree(self.cache, ignore_errors=True)

    def call(self, words: tuple[str, ...], folder: Path, bound: float = DAY) -> bytes:
        """Run a command; raises CalledProcessError, and TimeoutExpired behind `bound` seconds."""
        return subprocess.run(
            words, cwd=folder, env=self.environ, capture_output=True, check=True, timeout=bound
        ).stdout

    def has(self, program: str) -> bool:
        return shutil.which(program, path=self.environ["PATH"]) is not None


def prepare(root: Path, *, snakemake: bool) -> Place:
    """Make what is missing below `root`; with the network's help, from PyPI."""
    place = Place(root)
    (root / "home").mkdir(parents=True, exist_ok=True)
    (root / "home" / "gitconfig").write_text("[user]\nname = A\nemail = a@example.org\n")
    _install_ours(root)
    _install_peers(root, snakemake=snakemake)
    return place


def _install_ours(root: Path) -> None:
    """A copy of the package as it is now: another hand may change it while this measures."""
    copy = root / "source"
    if not (root / "ours").exists():
        _venv(root / "ours")
    shutil.rmtree(copy, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "runner", copy / "runner", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, copy / name)
    lock = REPOSITORY / "requirements.lock"
    pip(root / "ours", "-c", str(lock), "--force-reinstall", "--no-deps", str(copy))
    pip(root / "ours", "-c", str(lock), str(copy))
    subprocess.run(
        [root / "ours" / "bin" / "python", "-m", "compileall", "-q", root / "ours" / "lib"],
        check=False,  # some packages ship templates that are no Python
        stdout=subprocess.DEVNULL,
    )


def _install_peers(root: Path, *, snakemake: bool) -> None:
    folder = root / "peers"
    if not folder.exists():
        _venv(folder)
        pip(folder, *PEERS)
    if snakemake and not (folder / "bin" / "snakemake").exists():
        try:
            pip(folder, "snakemake", bound=SNAKEMAKE_SECONDS)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            print(f"(snakemake was not installed within {SNAKEMAKE_SECONDS} s: left out)")


def _venv(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)


def pip(folder: Path, *what: str, bound: float = 600) -> None:
    """Install into the environment `folder`; raises CalledProcessError and TimeoutExpired."""
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    words = (folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check")
    subprocess.run((*words, *what), check=True, timeout=bound, env=environ, stderr=subprocess.PIPE)
