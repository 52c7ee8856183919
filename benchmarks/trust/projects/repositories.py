"""Public projects as they are at one commit: a folder for each, with the team's own additions."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from archive import cases_folder

if TYPE_CHECKING:
    from cases import Change, Project

HERE = Path(__file__).resolve().parent
APPLY = HERE.parent / "apply.py"
_IGNORED = (
    "\n__pycache__/\n*.pyc\n.pytest_cache/\n.hypothesis/\nnode_modules\ntarget/\n*.egg-info/\n"
)
_SETTINGS = "proof.default_gates = false\n"


PYTHON = (
    "pytest==9.1.0",
    "coverage",
    "hypothesis",
    "freezegun",
    "simplejson",
    "six",
    "attrs",
    "rpds-py",
    "more-itertools",
    "typeguard",
    "text-unidecode",
    "typing_extensions",
    "pytz",
    "cloudpickle",
    "pretend",
    "pytest-asyncio",
    "time-machine",
    "tomli_w",
    "face",
    "boltons",
    "pyyaml",
    "click",
)
"""What the Python projects' tests need, in an environment of their own."""


@dataclass(frozen=True)
class Place:
    """The folder that all is kept in, and the environment that every process gets."""

    root: Path
    repositories: Path
    """Folder with the bare repositories."""
    source: Path | None = None
    """Folder with another copy of the package: one that nobody edits meanwhile."""

    @property
    def environ(self) -> dict[str, str]:
        home = self.root / "home"
        return {
            "PATH": f"{self.root / 'venv' / 'bin'}:/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_STATE_HOME": str(home / "state"),
            "GIT_CONFIG_GLOBAL": str(home / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "CI": "true",
            "GOFLAGS": "-mod=mod",
            "GOTOOLCHAIN": "local",
            "PYTHONDONTWRITEBYTECODE": "1",
            "RUNNER_BUILD_ATTEMPTS": "1",
            **({"PYTHONPATH": str(self.source)} if self.source else {}),
        }

    def call(
        self, folder: Path, *words: str, seconds: float = 600, **more: str
    ) -> subprocess.CompletedProcess:
        return subprocess.run(
            words,
            cwd=folder,
            env={**self.environ, **more},
            capture_output=True,
            check=False,
            text=True,
            timeout=seconds,
            errors="replace",
            stdin=subprocess.DEVNULL,
        )

    def must(self, folder: Path, *words: str) -> str:
        done = self.call(folder, *words)
        if done.returncode:
            said = f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
            raise SystemExit(f"error: {' '.join(words)} in {folder}\n{said}")
        return done.stdout

    @property
    def program(self) -> tuple[str, ...]:
        return sys.executable, "-m", "runner"

    def bare(self, repository: str) -> Path:
        """Find the bare repository of `owner/name` by one of the usual names of its folder."""
        owner, _, name = repository.partition("/")
        for way in (
            f"{owner}+{name}/repo",
            f"{owner}/{name}.git",
            f"{owner}/{name}",
            f"{name}.git",
        ):
            if (self.repositories / way).is_dir():
                return self.repositories / way
        raise SystemExit(
            f"error: {repository} is not below {self.repositories}\n"
            f"hint: git clone --bare it to {self.repositories / owner / name}.git"
        )


def prepared(root: Path, repositories: Path, source: Path | None = None) -> Place:
    """The place, with a home of its own and what the projects' tests need."""
    place = Place(root, repositories, source)
    config = root / "home" / "config" / "runner"
    config.mkdir(parents=True, exist_ok=True)
    for name in ("edits", "grounds", "clones"):
        (root / name).mkdir(exist_ok=True)
    readable = ", ".join(f'"{path}"' for path in (HERE.parent, root / "edits", root / "venv"))
    (config / "runner.toml").write_text(f"sandbox.read = [{readable}]\n")
    (root / "home" / "gitconfig").write_text("[user]\nname = A\nemail = a@example.org\n")
    if not (root / "venv" / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(root / "venv")], check=True)
        pip = str(root / "venv" / "bin" / "pip")
        subprocess.run([pip, "install", "-q", *PYTHON], check=True)
        (root / "venv" / "ready").write_text("")
    return place


def packages(place: Place, name: str) -> Path:
    """The folder `node_modules` of a set of packages, installed when it is first asked for."""
    folder = place.root / "npm" / name
    if not (folder / "ready").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n')
        sets = json.loads(cases_folder("packages.json").read_text(encoding="utf-8"))
        words = ("npm", "install", "--silent", "--no-audit", "--no-fund", *sets[name])
        subprocess.run(words, cwd=folder, check=True)
        (folder / "ready").write_text("")
    return folder / "node_modules"


def texts_of(place: Place, repository: str, commit: str) -> dict[str, str]:
    """The text files of a commit, by path; what is no UTF-8 is left out."""
    bare = place.bare(repository)
    listed = place.must(place.root, "git", "-C", str(bare), "ls-tree", "-r", "-z", commit)
    found = {}
    wanted = []
    for line in listed.split("\0"):
        if line:
            about, _, path = line.partition("\t")
            mode, kind, name = about.split()
            if kind == "blob" and mode in ("100644", "100755"):
                wanted.append((path, name))
    ran = subprocess.run(
        ["git", "-C", str(bare), "cat-file", "--batch"],
        input="".join(f"{name}\n" for _, name in wanted).encode(),
        capture_output=True,
        check=True,
        env=place.environ,
    )
    at = 0
    for path, _ in wanted:
        end = ran.stdout.index(b"\n", at)
        size = int(ran.stdout[at:end].split()[2])
        data = ran.stdout[end + 1 : end + 1 + size]
        at = end + size + 2
        try:
            found[path] = data.decode("utf-8")
        except UnicodeDecodeError:
            continue
    return found


def ground_texts(place: Place, project: Project) -> dict[str, str]:
    """The files that cases of a project start from."""
    files = texts_of(place, project.repository, project.commit)
    for path, old, new in project.edits:
        if files[path].count(old) != 1:
            raise SystemExit(f"error: {project.name}: {path} does not hold {old!r} once")
        files[path] = files[path].replace(old, new)
    files.update(project.more)
    return files


def before_of(place: Place, case: Change) -> dict[str, str]:
    """The files that a case starts from; for a commit of the project those of its parent."""
    if not case.commit:
        return ground_texts(place, case.project)
    return _commit_texts(place, case.project, f"{case.project.commit}^")


def after_of(place: Place, case: Change) -> dict[str, str]:
    """The files of the commit that a case repeats."""
    return _commit_texts(place, case.project, case.project.commit)


def _commit_texts(place: Place, project: Project, commit: str) -> dict[str, str]:
    files = texts_of(place, project.repository, commit)
    if project.name == "humanize" and "src/humanize/_version.py" not in files:
        files["src/humanize/_version.py"] = '__version__ = "0"\n'
    return files


def repository(place: Place, folder: Path, files: dict[str, str], section: str) -> None:
    """A git repository of these files, with a plan of one task, in one commit."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
        if text.startswith("#!"):
            target.chmod(0o755)
    (folder / "TASK-GRAPH.md").write_text(f"# Plan\n\n{section}")
    (folder / "runner.toml").write_text(_SETTINGS)
    ignored = files.get(".gitignore", "")
    (folder / ".gitignore").write_text(ignored + _IGNORED)
    place.must(folder, "git", "init", "-q", "-b", "main")
    place.must(folder, "git", "add", "-A", "-f", ".")
    place.must(folder, "git", "commit", "-q", "-m", "docs: a task is planned")


def with_packages(place: Place, folder: Path, name: str) -> None:
    """Hard links to the installed packages: a copy that costs nothing."""
    if name:
        place.must(place.root, "cp", "-al", str(packages(place, name)), str(folder))


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def edits_file(place: Place, name: str, edits: dict[str, str | None]) -> Path:
    """What the implementer of a case reads."""
    file = place.root / "edits" / f"{name}.json"
    file.write_text(json.dumps(edits, indent=1), encoding="utf-8")
    return file


def default_place() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "runner-trust-projects"
