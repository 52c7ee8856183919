"""`runner init` and `runner demo`: write the starter plan, or build it in a new repository."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands import run
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.build import demo
else:
    demo = lazy_module("runner.app.build.demo")
_BEFORE = """\
A plan of four tasks. TASK-001 is a cart that adds up prices in euros. TASK-002 makes shipping free
from 100 euros on. TASK-003 counts parcels: its implementer sees one test, and two more are held
out, where it cannot read them. TASK-004 changes the prices to cents. TASK-002 and TASK-004 each
pass their own tests. Together they would make shipping free for everybody.

"""
_AFTER = """
What happened: the first attempt of TASK-003 passed the test that it saw, and failed a held-out one.
The second attempt saw two counts and the ID of the acceptance item, but no test, and passed.

TASK-004 passed its own tests. The runner knew that the tests of TASK-002 run the line it changes,
ran them too, and did not land the change. The branch still passes all its tests. The change is
saved on its own branch, and you decide which task is right:

  cd {folder}
  runner evidence TASK-003  what proved the parcels
  runner review             what needs your decision
  runner approve TASK-002   cents are right: rebuild shipping on them
  runner reject TASK-004 --reason "we count in euros"

Your own project: runner init, in a git repository.
"""


def execute_demo(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Build it and tell it. Raises RunnerError for a folder that is there already."""
    folder = _find_folder(given.folder)
    demo.begin_demo(folder, environ)
    print(_BEFORE, end="", flush=True)
    os.chdir(folder)
    alone = {**environ, "RUNNER_GIT_PUBLISH": "none"}  # it has no remote, whatever others have
    # sequentially, so that the output is always the same
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
        raise RunnerError("already exists", where=named, hint="runner demo OTHER-FOLDER")
    return folder


_AGENTS = """\
  - TASK-GRAPH.md is the plan: `runner validate` checks it, `runner status` shows its progress.
  - Never edit a status, artifacts/build/ or FILE_OWNERSHIP_MAP.md yourself.
  - `runner why ID` explains a blocked task, `runner impact` lists tests a change may affect.
"""


def execute_init(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Write what is missing. Raises RunnerError without git, or where there is a plan already."""
    del given
    for name, is_new in demo.init(Path.cwd(), environ).written.items():
        print(f"wrote {name}" if is_new else f"kept existing {name}")
    if not (Path.cwd() / "AGENTS.md").exists():
        print(f"\nfor coding agents, save this as AGENTS.md:\n\n{_AGENTS}", end="")
    print("\nnext: read TASK-GRAPH.md, commit it (git add -A && git commit), then: runner")
    return ExitCode.OK
