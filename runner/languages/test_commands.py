"""Build commands that run test files which no test contract runs.

Each takes the files, the content of one of them, and the task's own commands.
"""

from __future__ import annotations

import re
import shlex


def make_python_command(paths: tuple[str, ...], text: bytes, known: str) -> str:
    """Return a command for these test files, with the Python of the known commands."""
    named = " ".join(map(shlex.quote, paths))
    python = next(iter(re.findall(r"\S*python[\d.]*(?= -m )", known)), "python3")
    if b"unittest" in text and b"pytest" not in text and "pytest" not in known:
        return f"{python} -m unittest -v {named}"
    return f"{python} -m pytest -q {named}"


def make_script_command(paths: tuple[str, ...], text: bytes, known: str) -> str:
    """Return a command for these test files if Node itself runs them, else ""."""
    del known
    if paths[0].endswith((".js", ".mjs", ".cjs")) and b"node:test" in text:
        return f"node --test {' '.join(map(shlex.quote, paths))}"
    return ""


def make_go_command(paths: tuple[str, ...], text: bytes, known: str) -> str:
    """Return a command for the packages of these test files."""
    del text, known
    # With `./`, because a bare path is an import path (go help packages); folders, because a single
    # named file is compiled without its neighbours.
    folders = sorted({f"./{path.rpartition('/')[0]}".rstrip("/") for path in paths})
    return f"go test -v {' '.join(map(shlex.quote, folders))}"
