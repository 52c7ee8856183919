"""Where a contract is checked: files of the scratch tree to read, a folder of the box to write."""

from __future__ import annotations

import json
import os
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.gates.base import file_name
from runner.gates.contracts.document import LARGEST
from runner.gates.contracts.entries import Refused
from runner.gates.own_files import make_empty, own_folder
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.process.tools import find_project_python
from runner.repo.tree_files import walk

if TYPE_CHECKING:
    import io
    import zipfile
    from collections.abc import Callable, Iterator

    from runner.gates.base import Check, GateContext
    from runner.gates.contracts.document import Json
    from runner.plan import globs
else:
    globs = lazy_module("runner.plan.globs")
    io = lazy_module("io")
    zipfile = lazy_module("zipfile")

_INSIDE = Path(__file__).parent / "inside"
_PACKAGE = ("runner", "gates", "contracts", "inside")
_START = """import importlib, sys
importlib.import_module("runner.gates.contracts.inside." + sys.argv.pop(1)).main()
"""
_LARGEST_REPORT = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ContractContext:
    """One check's folder in the box, the same path inside the sandbox and outside."""

    folder: Path

    @classmethod
    def of(cls, check: Check, bench: GateContext) -> ContractContext:
        """An empty folder for this check; no link that a command left there is followed."""
        above = own_folder(bench.place.box, "contracts")
        return cls(make_empty(above / file_name(check.id)))

    def path(self, name: str) -> str:
        """A file of this folder."""
        return str(self.folder / name)

    def write(self, name: str, document: object) -> str:
        """Put a JSON document here; gives its path."""
        return self.put(name, json.dumps(document).encode())

    def put(self, name: str, content: bytes) -> str:
        """Put a file here; gives its path."""
        effects.write_file(self.folder / name, content)
        return self.path(name)

    def read(self, name: str) -> Json:
        """A JSON document that a script left here; None where there is none to believe."""
        try:
            # The code under test may write here: a link would have us read any file of the person,
            # a pipe would keep us waiting (open(2), fifo(7)).
            descriptor = os.open(self.folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                content = file.read(_LARGEST_REPORT + 1)
            value: Json = json.loads(content) if len(content) <= _LARGEST_REPORT else None
        except (OSError, ValueError, RecursionError):
            return None
        return value

    def ours(self, script: str, *arguments: str) -> str:
        """The shell text that runs one of the scripts on the runner's own Python."""
        scripts = self.put("scripts.zip", _zip_scripts())
        return shlex.join((sys.executable, "-I", scripts, script, *arguments))

    def theirs(self, python: str, script: str, *arguments: str) -> str:
        """The shell text that runs one of the scripts on the project's Python."""
        # Not isolated as ours are: the code may be found by PYTHONPATH, or lie with what the user
        # has installed, and `-I` takes both away.
        source = self.put(f"{script}.py", (_INSIDE / f"{script}.py").read_bytes())
        return shlex.join((python, source, *arguments))


@cache
def _zip_scripts() -> bytes:
    """The scripts as one file that Python runs: no cache beside it can be forged."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr("__main__.py", _START)
        for depth in range(1, len(_PACKAGE) + 1):
            whole.writestr("/".join((*_PACKAGE[:depth], "__init__.py")), "")
        for source in sorted(_INSIDE.glob("[a-z]*.py")):
            whole.writestr("/".join((*_PACKAGE, source.name)), source.read_bytes())
    return content.getvalue()


# --- the scratch tree -----------------------------------------------------------------


def root_of(bench: GateContext) -> Path:
    """The project's folder in the scratch tree."""
    return bench.place.tree / bench.place.start


def reader(bench: GateContext) -> Callable[[str], bytes]:
    """Reads files of the scratch tree; what lies outside, or is no file, raises Refused."""
    root = root_of(bench)

    def read(path: str) -> bytes:
        target = Path(os.path.realpath(root / path))
        if not target.is_relative_to(os.path.realpath(bench.place.tree)):
            hint = "a link leads out of it: put a copy into the repository"
            raise Refused(f"{path} lies outside the repository", hint=hint, path=path)
        if not target.is_file():
            raise Refused(f"{path} is not there", hint="write the file", path=path)
        with target.open("rb") as file:
            # One byte too many is enough for who parses it to see that it is too large.
            return file.read(LARGEST + 1)

    return read


def match_files(bench: GateContext, glob: str) -> tuple[str, ...]:
    """Files of the scratch tree that a path or glob names, in order."""
    if not globs.is_glob(glob):
        return (glob,)
    root = root_of(bench)
    return tuple(
        path
        for path in sorted(_files(root, globs.literal_folder(glob)))
        if globs.matches(glob, path)
    )


def _files(root: Path, folder: str) -> Iterator[str]:
    for where, folders, names in walk(str(root / folder)):
        folders[:] = [name for name in folders if name not in (".git", "node_modules")]
        for name in names:
            yield (Path(where) / name).relative_to(root).as_posix()


def project_python(bench: GateContext) -> str:
    """The project's own Python: of its environment in the repository, else the first on PATH."""
    if found := find_project_python(bench.place, bench.environment):
        return str(found)
    hint = "make a virtual environment in .venv, or put python3 on PATH"
    raise Refused("there is no Python to run the project's code", hint=hint)
