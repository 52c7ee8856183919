"""`runner hold-out`: keep tests where the implementer cannot read them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.text.display import display
from runner.text.wording import finding_lines, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from runner.app.answer import waiting_document
    from runner.app.write import hold_out
    from runner.app.write.hold_out import HeldOutState
    from runner.report import documents
else:
    documents = lazy_module("runner.report.documents")
    waiting_document = lazy_module("runner.app.answer.waiting_document")
    hold_out = lazy_module("runner.app.write.hold_out")


def execute_hold_out(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Move, list, check, show or drop held-out files."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    if given.show:
        return _show(project, given.show)
    if given.list or given.check or not given.task:
        return _list(project, given)
    if given.drop:
        return _drop(project, given)
    asked = hold_out.HoldOut(
        task=given.task,
        files=tuple(given.files),
        contract=given.contract,
        replace=given.replace,
        source=Path(given.source).expanduser().absolute() if given.source else None,
        copy=given.copy,
    )
    if not (asked.files or asked.source):
        raise RunnerError("no files given", hint=f"runner hold-out {display(given.task)} FILE")
    done = hold_out.hold_out(project, asked, environ)
    if given.json:
        names = {"files": list(done.moved), "contracts": list(done.contracts)}
        sys.stdout.write(documents.document("held-out", task=done.task, **names))
        return ExitCode.OK
    for remark in done.remarks:
        print("\n".join(finding_lines(remark)), file=sys.stderr)
    what = "copied" if done.kept else "moved"
    print(f"{done.task}: {plural(len(done.moved), 'file')} {what} to the store of held-out tests")
    print(f"the plan lists them for {', '.join(done.contracts)}; commit it, then run `runner`")
    return ExitCode.OK


def _list(project: Project, given: argparse.Namespace) -> ExitCode:
    found = hold_out.list_held_out(project, given.task)
    missing = [one for one in found if not one.is_ready]
    if given.json:
        sys.stdout.write(documents.document("held-out", files=list(found)))
    else:
        print("\n".join(_lines(found)) or "no tests are held out")
        for one in missing:
            print(f"hint: runner hold-out {one.task} {display(one.path)} --from FOLDER")
    return ExitCode.FAILED if given.check and missing else ExitCode.OK


def _lines(found: Sequence[HeldOutState]) -> list[str]:
    once = {True: ", once in git", False: ""}
    return [
        f"{one.task}  {display(one.path)}  {one.digest[:19]}  {one.state}{once[one.once_in_git]}"
        for one in found
    ]


def _show(project: Project, typed: str) -> ExitCode:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RunnerError(
            "held-out files can be shown only on a terminal",
            hint="run the command in your own terminal",
            code=ExitCode.PERSON,
        )
    task, contents = hold_out.read_held_out(project, typed)
    for path, content in contents.items():
        print(f"--- {task} {display(path)}")
        for line in content.decode("utf-8", "replace").splitlines():
            print(display(line))
    for line in waiting_document.format_failures(project, task):
        print(line)
    if not contents:
        print(f"{task} has no held-out files in the store")
    return ExitCode.OK


def _drop(project: Project, given: argparse.Namespace) -> ExitCode:
    if not given.files:
        raise RunnerError("no files given", hint=f"runner hold-out {given.task} FILE --drop")
    kept = hold_out.drop_held_out(project, given.task, given.files, given.reason)
    print(f"{plural(len(given.files), 'file')} dropped; a copy is in {display(str(kept))}")
    return ExitCode.OK
