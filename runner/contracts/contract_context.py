"""The context of one contract check: read the scratch tree, write to a folder of the sandbox."""

from __future__ import annotations

import json
import os
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.contracts.document import LARGEST
from runner.contracts.entries import Refused
from runner.lazy_module import lazy_module
from runner.process.tools import find_project_python
from runner.repo.tree_files import walk

if TYPE_CHECKING:
    import io
    import zipfile
    from collections.abc import Callable, Iterator, Mapping

    from runner.contracts.document import Json
    from runner.model import Finding
    from runner.plan import globs
    from runner.process.base import Place, Ran
else:
    globs = lazy_module("runner.plan.globs")
    io = lazy_module("io")
    zipfile = lazy_module("zipfile")

_INSIDE = Path(__file__).parent / "inside"
_PACKAGE = ("runner", "contracts", "inside")
_START = """import importlib, sys
importlib.import_module("runner.contracts.inside." + sys.argv.pop(1)).main()
"""
_LARGEST_REPORT = 4 * 1024 * 1024


class ContractResult(Struct, frozen=True):
    """The result of one contract check, before it becomes a proof."""

    ran: Ran | None = None
    """Result of the command; None if the documents alone decide."""
    findings: tuple[Finding, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    is_silent: bool = False
    """Whether the command wrote no report: then it proves nothing, whatever its exit code."""
    output: bytes = b""
    """What was examined when no command ran."""


class ContractContext(Struct, frozen=True):
    """The place of one contract's test: its files, its own folder, and how to run a line there."""

    check: str
    """ID of the check, used in findings."""
    folder: Path
    """Empty folder of the sandbox, with the same path inside and outside."""
    place: Place
    environment: Mapping[str, str]
    run: Callable[[str], Ran]
    """Runs a shell line in the sandbox of the check."""
    seconds: float
    """Timeout of the command."""
    examples: int = 100
    """Requests for each operation."""
    kept: Path | None = None
    """Folder in the user's cache."""

    def path(self, name: str) -> str:
        """Return the path of a file in this folder."""
        return str(self.folder / name)

    def write(self, name: str, document: object) -> str:
        """Write a JSON document to this folder and return its path."""
        return self.put(name, json.dumps(document).encode())

    def put(self, name: str, content: bytes) -> str:
        """Write a file to this folder and return its path."""
        effects.write_file(self.folder / name, content)
        return self.path(name)

    def read(self, name: str) -> Json:
        """Read a JSON document written by a script; return None if it is missing or invalid."""
        try:
            # The code under test may write here: a link would make us read any of the user's files,
            # a pipe would block us (open(2), fifo(7)).
            descriptor = os.open(self.folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                content = file.read(_LARGEST_REPORT + 1)
            value: Json = json.loads(content) if len(content) <= _LARGEST_REPORT else None
        except (OSError, ValueError, RecursionError):
            return None
        return value

    def ours(self, script: str, *arguments: str) -> str:
        """Return the shell command that runs a script on the runner's own Python."""
        scripts = self.put("scripts.zip", _zip_scripts())
        return shlex.join((sys.executable, "-I", scripts, script, *arguments))

    def theirs(self, python: str, script: str, *arguments: str) -> str:
        """Return the shell command that runs a script on the project's Python."""
        # Not isolated like the runner's own scripts: the code may come from PYTHONPATH or the
        # user's site packages, and `-I` removes both.
        source = self.put(f"{script}.py", (_INSIDE / f"{script}.py").read_bytes())
        return shlex.join((python, source, *arguments))

    @property
    def root(self) -> Path:
        """The project's folder in the scratch tree."""
        return self.place.tree / self.place.start

    def read_source(self, path: str) -> bytes:
        """Read a file of the scratch tree; raises Refused for a path outside, or no file."""
        target = Path(os.path.realpath(self.root / path))
        if not target.is_relative_to(os.path.realpath(self.place.tree)):
            hint = "a symbolic link points outside: put a copy in the repository"
            raise Refused(f"{path} is outside the repository", hint=hint, path=path)
        if not target.is_file():
            raise Refused(f"{path} does not exist", hint="create the file", path=path)
        with target.open("rb") as file:
            # One byte over the limit shows the parser that the file is too large.
            return file.read(LARGEST + 1)

    def match_files(self, glob: str) -> tuple[str, ...]:
        """Return the files of the scratch tree that a path or glob names, in order."""
        if not globs.is_glob(glob):
            return (glob,)
        found = sorted(_files(self.root, globs.literal_folder(glob)))
        return tuple(path for path in found if globs.matches(glob, path))

    @property
    def python(self) -> str:
        """The project's own Python: of its environment in the repository, else of PATH."""
        if found := find_project_python(self.place, self.environment):
            return str(found)
        hint = "create a virtual environment in .venv, or put python3 on PATH"
        raise Refused("no Python found to run the project's code", hint=hint)


@cache
def _zip_scripts() -> bytes:
    """Return the scripts as a zip file that Python can run."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr("__main__.py", _START)
        for depth in range(1, len(_PACKAGE) + 1):
            whole.writestr("/".join((*_PACKAGE[:depth], "__init__.py")), "")
        for source in sorted(_INSIDE.glob("[a-z]*.py")):
            whole.writestr("/".join((*_PACKAGE, source.name)), source.read_bytes())
    return content.getvalue()


def _files(root: Path, folder: str) -> Iterator[str]:
    for where, folders, names in walk(str(root / folder)):
        folders[:] = [name for name in folders if name not in (".git", "node_modules")]
        for name in names:
            yield (Path(where) / name).relative_to(root).as_posix()
