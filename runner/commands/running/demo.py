"""`runner demo`: two tasks that are green alone and red together, built before your eyes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.running import run
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.build import new_project
else:
    new_project = lazy_module("runner.app.build.new_project")

EXAMPLES = """\
examples:
  runner demo               in a new folder of the system's temporary ones
  runner demo try-it        in this one, which must not be there yet
"""
_BEFORE = """\
A plan of three tasks: a cart that adds up prices in euros; shipping that is free from 100 euros
on; and, asked for on the same day, prices in cents. The second and the third each pass their own
tests. Together they would charge nobody for shipping.

"""
_AFTER = """
What happened: TASK-003 passed its own tests. They are not asked alone: the runner had seen that
the tests of TASK-002 run the line it changes, ran them too, and let nothing of it land. The branch
is as green as before, the work is kept on a branch of its own, and you say which one is right:

  cd {folder}
  runner review             what waits for you
  runner approve TASK-002   cents are right: shipping is built anew on them
  runner reject TASK-003 --reason "we count in euros"

Your own project: runner init, in a git repository.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner demo` takes."""
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="where it is built; made anew")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Build it and tell it. Raises RunnerError for a folder that is there already."""
    folder = _find_folder(given.folder)
    new_project.begin_demo(folder, environ)
    print(_BEFORE, end="", flush=True)
    os.chdir(folder)
    alone = {**environ, "RUNNER_PUBLISH": "none"}  # it has no remote, whatever your own projects do
    # one after the other, so that it is told the same every time
    code = run.run_words(("--jobs", "1", "--review", "off"), alone)
    if code is not ExitCode.REGRESSION:
        return code
    print(_AFTER.format(folder=display(str(folder))), end="")
    return ExitCode.OK


def _find_folder(named: str | None) -> Path:
    if named is None:
        return Path(tempfile.mkdtemp(prefix="runner-demo-")).resolve()
    folder = Path.cwd() / named
    if folder.exists() or folder.is_symlink():
        raise RunnerError("this is there already", where=named, hint="runner demo OTHER-FOLDER")
    return folder
