"""Python that people wrote: the standard library and installed packages, a fixed sample of each."""

from __future__ import annotations

import hashlib
import sysconfig
from pathlib import Path

_TESTS = {"test", "tests", "testing", "idlelib", "site-packages", "lib2to3", "__pycache__"}


def standard_library(lines: int) -> tuple[Path, list[Path]]:
    """The folder, and files with so many lines in all; its tests, which hold real keys, are out."""
    return _sample(Path(sysconfig.get_path("stdlib")), _TESTS, lines)


def installed_packages(lines: int) -> tuple[Path, list[Path]]:
    """The folder, and files of installed packages with so many lines in all."""
    return _sample(Path(sysconfig.get_path("purelib")), _TESTS - {"site-packages"}, lines)


def _sample(root: Path, without: set[str], lines: int) -> tuple[Path, list[Path]]:
    """Chosen by the digest of their names, so that each run of the benchmark has the same."""
    files = [
        path for path in root.rglob("*.py") if not without & set(path.relative_to(root).parts[:-1])
    ]
    files.sort(key=lambda path: hashlib.sha256(str(path.relative_to(root)).encode()).digest())
    chosen, count = [], 0
    for path in files:
        if count >= lines:
            break
        chosen.append(path)
        count += path.read_bytes().count(b"\n")
    return root, chosen
