"""Public projects as they are at one commit: a folder for each, with the team's own additions."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
APPLY = HERE.parent / "apply.py"
_IGNORED = (
    "\n__pycache__/\n*.pyc\n.pytest_cache/\n.hypothesis/\nnode_modules\ntarget/\n*.egg-info/\n"
)
_SETTINGS = "default_gates = false\n"


@dataclass(frozen=True)
class Project:
    """A public repository at one commit."""

    name: str
    repository: str
    """`owner/name`."""
    commit: str
    more: dict[str, str] = field(default_factory=dict)
    """Files that the team adds: all of our own making."""
    edits: tuple[tuple[str, str, str], ...] = ()
    """`(path, old, new)`: what must be said so that its tests run here."""
    packages: str = ""
    """The set of npm packages that its tests need: a key of `PACKAGES`."""


PACKAGES = {
    "tape": ("tape@5.9.0", "yocto-queue@1.2.1"),
    "vitest": (
        "vitest@4.0.17",
        "@vitest/coverage-v8@4.0.17",
        "typescript@5.9.3",
        "@types/node@25.0.8",
        "expect-type@1.3.0",
    ),
    "defu": (
        "vitest@4.1.2",
        "@vitest/coverage-v8@4.1.2",
        "typescript@6.0.2",
        "expect-type@1.3.0",
        "@types/node@25.5.0",
    ),
    "mocha": ("mocha@9.2.0",),
    "picomatch": ("mocha@10.4.0", "fill-range@7.1.1"),
    "nth": (
        "vitest@4.0.17",
        "@vitest/coverage-v8@4.0.17",
        "typescript@5.9.3",
        "@types/node@25.0.8",
        "boolbase@2.0.0",
        "esbuild@0.28.2",
    ),
    "cookie": (
        "vitest@4.1.2",
        "@vitest/coverage-v8@4.1.2",
        "typescript@6.0.2",
        "@types/node@25.5.0",
        "esbuild@0.28.2",
    ),
    "jest": (
        "jest@27.5.1",
        "babel-jest@27.5.1",
        "@babel/core@7.29.13",
        "@babel/preset-env@7.29.14",
        "esbuild@0.28.2",
    ),
    "ms": (
        "jest@30.0.5",
        "ts-jest@29.4.0",
        "ts-node@10.9.2",
        "@jest/globals@30.0.5",
        "typescript@5.8.3",
        "@types/node@24.1.0",
        "esbuild@0.28.2",
    ),
    "ava": (
        "ava@6.4.1",
        "in-range@3.0.0",
        "random-int@3.0.0",
        "time-span@5.1.0",
        "yocto-queue@1.2.1",
    ),
    "hookable": (
        "vitest@4.1.4",
        "@vitest/coverage-v8@4.1.4",
        "typescript@6.0.2",
        "@types/node@25.6.0",
        "expect-type@1.3.0",
        "esbuild@0.28.2",
    ),
    "borderless": (
        "vitest@4.1.4",
        "@vitest/coverage-v8@4.1.4",
        "typescript@6.0.2",
        "@types/node@25.6.0",
        "@borderless/ts-scripts@0.15.0",
    ),
    "vitest3": (
        "vitest@3.2.4",
        "@vitest/coverage-v8@3.2.4",
        "typescript@5.9.3",
        "@types/node@25.0.8",
    ),
    "qs": (
        "tape@5.10.2",
        "es-define-property@1.0.1",
        "side-channel@1.1.1",
        "es-value-fixtures@1.7.1",
        "for-each@0.3.5",
        "has-bigints@1.1.0",
        "has-override-mistake@1.0.1",
        "has-property-descriptors@1.0.2",
        "has-proto@1.2.0",
        "has-symbols@1.1.0",
        "iconv-lite@0.5.2",
        "mock-property@1.1.2",
        "object-inspect@1.13.4",
        "qs-iconv@1.0.4",
        "safer-buffer@2.1.2",
    ),
}
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
            "RUNNER_ATTEMPTS": "1",
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
        """The bare repository of `owner/name`: in whichever of the usual ways its folder is called."""
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
    (config / "runner.toml").write_text(f"sandbox_read = [{readable}]\n")
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
        words = ("npm", "install", "--silent", "--no-audit", "--no-fund", *PACKAGES[name])
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
