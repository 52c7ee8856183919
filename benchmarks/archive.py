"""Unpack the archive of benchmark cases.

`cases.tar.xz` holds the cases of all benchmarks as files: `case.toml`, `task.md`, patches without
context lines, or whole trees. `cases.sha256` is its digest; an archive with another one is refused.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ARCHIVE = HERE / "cases.tar.xz"
Texts = dict[str, str]
Edits = dict[str, str | None]
"""Whole texts by path; None for a file that is deleted."""


def digest() -> str:
    """Return the SHA-256 of the archive; raises SystemExit where it is not the recorded one."""
    found = hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()
    wanted = ARCHIVE.with_name("cases.sha256").read_text(encoding="ascii").split()[0]
    if found != wanted:
        raise SystemExit(f"error: {ARCHIVE} has digest {found}, cases.sha256 has {wanted}")
    return found


def cases_folder(name: str) -> Path:
    """Return the folder of one kind of cases; unpacks the archive once for each digest."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "runner-benchmarks")
    place = cache / digest()
    if not place.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            with tarfile.open(ARCHIVE) as archive:
                archive.extractall(f"{fresh}/cases", filter="data")
            Path(fresh, "cases").rename(place)
    return place / name


def read_texts(folder: Path) -> Texts:
    """Read all files below a folder, by their relative paths."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes().decode() for file in files}


def patched(before: Texts, patch: bytes) -> Edits:
    """Apply a patch without context to texts; whole texts by path, None for a deleted file."""
    with tempfile.TemporaryDirectory() as place:
        listed = _git(place, patch, "apply", "--numstat", "-z")
        paths = [row.split("\t")[2] for row in listed.split("\0") if row]
        for path in paths:
            if path in before:
                target = Path(place, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(before[path].encode())
        _git(place, patch, "apply", "--unidiff-zero", "--whitespace=nowarn")
        return {path: _text(Path(place, path)) for path in sorted(paths)}


def _git(place: str, patch: bytes, *words: str) -> str:
    ran = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *words],
        cwd=place,
        input=patch,
        capture_output=True,
        check=False,
    )
    if ran.returncode:
        raise ValueError(ran.stderr.decode(errors="replace"))
    return ran.stdout.decode()


def _text(file: Path) -> str | None:
    return file.read_bytes().decode() if file.exists() else None
