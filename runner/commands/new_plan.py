"""`runner init`, `demo`, `import`, `sync`: get a plan from the starter or from another tool.

`sync` marks proven tasks in the other tool's files.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.commands import run
from runner.commands.output import open_console
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.plan.foreign.tasks import Form
from runner.project import Project
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import join_few, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.build import demo
    from runner.app.draft import drafted_imports
    from runner.app.inspect import repository_analysis
    from runner.app.write import import_tasks
    from runner.app.write.import_tasks import ImportRequest
    from runner.commands import review
else:
    review = lazy_module("runner.commands.review")
    drafted_imports = lazy_module("runner.app.draft.drafted_imports")
    import_tasks = lazy_module("runner.app.write.import_tasks")
    repository_analysis = lazy_module("runner.app.inspect.repository_analysis")
    demo = lazy_module("runner.app.build.demo")


def execute_import(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Import or mark; exit 6 where a file was saved meanwhile."""
    flags = {"task_graph": given.task_graph}
    if "source" in given:
        project = Project.open(Path.cwd(), environ, flags, plan_needed=False)
        return _import(given, project)
    return _sync(given, Project.open(Path.cwd(), environ, flags))


def _import(given: argparse.Namespace, project: Project) -> ExitCode:
    stdin = sys.stdin.read() if given.source == "-" else ""
    form = Form(given.form) if given.form else None
    request = import_tasks.ImportRequest(
        given.source, form, given.test, given.accept_done, given.dry_run, stdin
    )
    if given.draft:
        return _draft(given, project, request)
    asks = not (given.test or given.json or given.dry_run or given.source == "-")
    if asks and sys.stdin.isatty() and sys.stderr.isatty():
        seen = import_tasks.import_tasks(project, replace(request, dry_run=True))
        if seen.without_proof:
            request = replace(request, test=_ask_test(project, len(seen.without_proof)))
    done = import_tasks.import_tasks(project, request)
    if given.json:
        print(
            import_tasks.import_document(done, wrote=not given.dry_run and bool(done.added)), end=""
        )
        return ExitCode.OK
    if given.dry_run:
        print("\n".join(display(line) for line in done.text.splitlines()))
    print("\n".join(import_tasks.import_lines(done, is_dry=given.dry_run)))
    return ExitCode.OK


def _draft(given: argparse.Namespace, project: Project, request: ImportRequest) -> ExitCode:
    """Draft the missing parts of an imported list; import it directly if nothing is missing."""
    if given.accept_done or given.dry_run:
        flag = "--accept-done" if given.accept_done else "--dry-run"
        raise RunnerError(
            f"{flag} cannot be combined with --draft, which writes nothing yet",
            hint="runner review shows the draft; once it is approved: runner waive ID --reason …",
        )
    with open_console(project, is_quiet=given.json) as (observer, asker):
        came = drafted_imports.draft_import(project, request, observer, asker, trusted=given.trust)
    if came.drafted is not None:
        if not given.json:
            print("\n".join(import_tasks.read_lines(came.read)))
        return review.print_drafted(project, came.drafted, as_json=given.json)
    done = import_tasks.import_tasks(project, request)
    if given.json:
        print(import_tasks.import_document(done, wrote=bool(done.added)), end="")
    else:
        print("\n".join(import_tasks.import_lines(done, is_dry=False)))
    return ExitCode.OK


def _ask_test(project: Project, count: int) -> str:
    """Prompt for the command that tests the imported tasks; return an empty string for none."""
    found = repository_analysis.analyse(project).test_command
    known = f" (type `=` to use `{display(found)}`, which runs its tests)" if found else ""
    print(
        f"{plural(count, 'task')} with files but no proof: which command tests them?{known}\n"
        "a command, or Enter for none: ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    typed = sys.stdin.readline().strip()
    return found if typed == "=" else typed


def _sync(given: argparse.Namespace, project: Project) -> ExitCode:
    before = import_tasks.look(project)
    if not given.json:
        print("\n".join(import_tasks.drift_lines(before)))
    done = before if given.dry_run else import_tasks.sync(project, uncheck=given.uncheck)
    if given.json:
        drifts, marked, unmarked = list(done.drifts), list(done.marked), list(done.unmarked)
        print(document("sync", drifts=drifts, marked=marked, unmarked=unmarked), end="")
    elif not given.dry_run and done.files:
        lines = [f"marked as done: {join_few(done.marked)}"] if done.marked else []
        lines += [f"marked as not done: {join_few(done.unmarked)}"] if done.unmarked else []
        print("\n".join(lines or ["nothing was written"]))
    return ExitCode.OK


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
