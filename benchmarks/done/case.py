"""What a case is: a git bundle, a task list, a scripted implementer, and what must be true."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from archive import read_texts

BRANCH = "main"
IGNORED = "__pycache__/\n*.pyc\nbuild/\n"
"""The `.gitignore` of every case; what lies below `build/` is in no commit."""
_WHEN = "2026-01-01T00:00:00+0000"
_AUTHOR = {
    "GIT_AUTHOR_NAME": "A person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_AUTHOR_DATE": _WHEN,
    "GIT_COMMITTER_NAME": "A person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
    "GIT_COMMITTER_DATE": _WHEN,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


@dataclass(frozen=True)
class Task:
    """One task as every tool is told it, and what the scripted implementer does.

    `edits` maps paths to the whole new text, None for a file that goes; `commands` are run by the
    implementer after it wrote; `says` is printed. It always ends with 0 and claims success.
    """

    name: str
    title: str
    outputs: tuple[str, ...]
    test: str
    edits: dict[str, str | None]
    after: tuple[str, ...] = ()
    prose: str = ""
    commands: tuple[tuple[str, ...], ...] = ()
    says: str = ""
    bad: bool = False
    """Whether its work must not become done."""
    truth: str = ""
    """Python that fails in a checkout where the work is not there or is wrong; no tool sees it."""


@dataclass(frozen=True)
class Case:
    """One repository, its tasks, and what an oracle asks; `kind` is `bad` or `good`."""

    board: str
    name: str
    family: str
    kind: str
    files: dict[str, str]
    tasks: tuple[Task, ...]
    half: str = "open"
    together: str = ""
    """Board B: the command that must pass on the branch where all tasks are done."""
    source: dict[str, str] = field(default_factory=dict)
    """Where the files came from, if not from a seed: name, version, digest of the archive."""
    secret: tuple[str, ...] = ()
    """Board D: parts that, joined, must be found nowhere. Never joined in a file of a case."""

    @property
    def digest(self) -> str:
        """SHA-256 of all the case is made of, the same on every machine."""
        text = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def read_cases(folder: Path) -> list[Case]:
    """Read all cases of a folder, each a folder with `case.toml`, `tree/` and `work-1/` …"""
    return [_read(one) for one in sorted(folder.iterdir()) if (one / "case.toml").exists()]


def _read(folder: Path) -> Case:
    about = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    tasks = [
        _read_task(dict(row), read_texts(folder / f"work-{number}"))
        for number, row in enumerate(about.pop("task"), 1)
    ]
    about["secret"] = tuple(about.get("secret", ()))
    return Case(files=read_texts(folder / "tree"), tasks=tuple(tasks), **about)


def _read_task(row: dict[str, Any], written: dict[str, str]) -> Task:
    gone = dict.fromkeys(row.pop("deleted", ()))
    fields: dict[str, Any] = {"outputs": (), "test": "", "edits": {**written, **gone}, **row}
    for name in ("outputs", "after"):
        fields[name] = tuple(fields.get(name, ()))
    fields["commands"] = tuple(tuple(words) for words in fields.get("commands", ()))
    return Task(**fields)


def of_all(cases: list[Case]) -> str:
    """SHA-256 over the digests of many cases: what is published of those held out."""
    return hashlib.sha256("\n".join(sorted(case.digest for case in cases)).encode()).hexdigest()


def git(folder: Path, *words: str, env: dict[str, str] | None = None) -> str:
    """What git prints in a folder; an error of git is one of the harness."""
    own = {**os.environ, **_AUTHOR, **(env or {})}
    safe = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
    ran = subprocess.run(
        ("git", *safe, *words), cwd=folder, env=own, capture_output=True, check=False
    )
    if ran.returncode:
        raise RuntimeError(f"git {words[0]} in {folder}: {ran.stderr.decode(errors='replace')}")
    return ran.stdout.decode(errors="replace")


def write(folder: Path, edits: dict[str, str | None]) -> None:
    """Put texts into a folder; None takes a file away."""
    for path, text in edits.items():
        target = folder / path
        if text is None:
            target.unlink(missing_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def bundle(case: Case, folder: Path) -> Path:
    """The case's repository as a git bundle in `folder`, made again by its bytes alone."""
    made = folder / "case.bundle"
    if made.exists():
        return made
    tree = folder / "tree"
    tree.mkdir(parents=True)
    write(tree, {".gitignore": IGNORED, **case.files})
    git(tree, "init", "-q", "-b", BRANCH)
    git(tree, "add", "-A", "-f")
    git(tree, "commit", "-q", "-m", "The project as it is")
    git(tree, "bundle", "create", "-q", str(made), "HEAD", BRANCH)
    return made
