"""Commands that run files of tests that no contract runs.

Each takes the files, the content of one of them, and the task's own commands.
"""

from __future__ import annotations

import re
import shlex


def make_python_command(paths: tuple[str, ...], text: bytes, known: str) -> str:
    """A command that runs these files of tests, by the Python that the task's own commands name."""
    named = " ".join(map(shlex.quote, paths))
    python = next(iter(re.findall(r"\S*python[\d.]*(?= -m )", known)), "python3")
    if b"unittest" in text and b"pytest" not in text and "pytest" not in known:
        return f"{python} -m unittest -v {named}"
    return f"{python} -m pytest -q {named}"


def make_script_command(paths: tuple[str, ...], text: bytes, known: str) -> str:
    """A command that runs these files of tests; only where Node itself runs them."""
    del known
    if paths[0].endswith((".js", ".mjs", ".cjs")) and b"node:test" in text:
        return f"node --test {' '.join(map(shlex.quote, paths))}"
    return ""


def make_go_command(paths: tuple[str, ...], text: bytes, known: str) -> str:
    """A command that runs the packages of these files of tests."""
    del text, known
    # With `./`, as a bare path is one of an import (go help packages); and no files, as one that
    # is named alone is compiled without those beside it.
    folders = sorted({f"./{path.rpartition('/')[0]}".rstrip("/") for path in paths})
    return f"go test -v {' '.join(map(shlex.quote, folders))}"
