"""`runner change`, `undo`, `replay`, `blame`, `impact`: change built work, and show its effects.

Replay and undo go back by a new commit, and replay proves what landed again.
"""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner import effects
from runner.app.write.workplace import Workplace, display_path
from runner.commands.output import ask_trust, confirm, say, with_flag
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.report.annotations import format_affected, impact_commands
from runner.report.documents import document
from runner.run.selection import find_id
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import finding_lines, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from runner.app.change import (
        change_text,
        commit_writes,
        file_owners,
        impact_question,
        rebuild,
        transaction,
    )
    from runner.app.change.impact_question import Impact
    from runner.app.change.rebuild import RebuiltStep
    from runner.app.prove import prove_tree
    from runner.app.prove.prove_tree import Reproven
    from runner.app.write import staged_states
    from runner.history import blame
    from runner.report import table
    from runner.text import wording
    from runner.writes import log
    from runner.writes.log import LoggedWrite
else:
    rebuild = lazy_module("runner.app.change.rebuild")
    log = lazy_module("runner.writes.log")
    staged_states = lazy_module("runner.app.write.staged_states")
    table = lazy_module("runner.report.table")
    wording = lazy_module("runner.text.wording")
    change_text = lazy_module("runner.app.change.change_text")
    commit_writes = lazy_module("runner.app.change.commit_writes")
    file_owners = lazy_module("runner.app.change.file_owners")
    transaction = lazy_module("runner.app.change.transaction")
    blame = lazy_module("runner.history.blame")
    prove_tree = lazy_module("runner.app.prove.prove_tree")
    change_text = lazy_module("runner.app.change.change_text")
    file_owners = lazy_module("runner.app.change.file_owners")
    transaction = lazy_module("runner.app.change.transaction")
    impact_question = lazy_module("runner.app.change.impact_question")


def execute_change(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Preview the change, ask for confirmation and record it; refused while a run is active."""
    project = Project.open(Path.cwd(), environ)
    ids, text = _parse_words(project, given.words)
    seen = transaction.change(project, transaction.ChangeRequest(ids, text, dry_run=True))
    talk = sys.stderr if given.json else sys.stdout
    if not (given.json and (given.dry_run or given.yes)):
        print("\n".join(change_text.change_preview(seen.change)), file=talk)
    if given.dry_run:
        say(seen, change_text.change_lines, change_text.change_document, as_json=given.json)
        return ExitCode.OK
    again = project.without_secrets(with_flag(given, "--yes"))
    meant = False
    try:
        meant = confirm("record this change?", environ, yes=given.yes, again=again)
    finally:
        if given.json and not meant:
            sys.stdout.write(change_text.change_document(seen))
    if not meant:
        print("nothing was recorded", file=talk)
        return ExitCode.PERSON
    done = transaction.change(project, transaction.ChangeRequest(ids, text))
    say(done, change_text.change_lines, change_text.change_document, as_json=given.json)
    return ExitCode.OK


def _parse_words(project: Project, words: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Split words into the leading task IDs and the following text."""
    known = [task.id for task in project.outline().tasks]
    ids = [find_id(words[0], known)]
    rest = list(words[1:])
    while len(rest) > 1:
        try:
            ids.append(find_id(rest[0], known))
        except RunnerError:  # the text begins here
            break
        rest.pop(0)
    return tuple(dict.fromkeys(ids)), " ".join(rest)


_CONTRACT = "contract:"
"""ID prefix of an entry under Contracts."""


def execute_impact(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the impact. Raises RunnerError for an unknown path, revision or task."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    request = impact_question.ImpactRequest(
        paths=tuple(impact_question.inside(project, typed) for typed in given.paths),
        since=given.since,
        task=given.task or "",
        dependents=given.changed_dependents or "",
        conservative=given.conservative,
        everyone=given.all,
    )
    impact_question.require_one(request)
    if given.run:
        again = with_flag(given, "--trust")
        ask_trust(project, project.plan(project.plan_bytes), trusted=given.trust, again=again)
    found = impact_question.find_impact(project, request)
    if not given.json:
        _show(found, github=given.format == "github")
    ran: tuple[Reproven, ...] = ()
    if given.run:
        ran = prove_tree.reprove(project, found.answer.affected, _print_result)
    if given.json:
        print(impact_question.impact_document(found, ran), end="")
    return ExitCode.FAILED if any(one.failed for one in ran) else ExitCode.OK


def _show(found: Impact, *, github: bool) -> None:
    if github:
        print("".join(f"{line}\n" for line in impact_commands(found.answer)), end="")
        return
    answer = found.answer
    for one in answer.affected:
        print("\n".join(format_affected(one)))
    names = [name for one in answer.affected for name in one.contracts]
    contracts = sum(name.startswith(_CONTRACT) for name in names)
    tasks, tests = plural(len(answer.affected), "task"), len(names) - contracts
    counts = f"{tasks} and {plural(tests, 'test contract')}"
    if contracts:
        counts = f"{tasks}, {plural(tests, 'test contract')} and {plural(contracts, 'contract')}"
    files = plural(len(found.changes), "changed file")
    for note in found.notes:
        print(f"note: {display(note)}", file=sys.stderr)
    for doubt in answer.doubts:
        print(f"not decided: {display(doubt.text)}", file=sys.stderr)
    if answer.doubts:
        print("hint: --conservative counts undecided changes as affected", file=sys.stderr)
    print(f"{files}: {counts} may be affected", file=sys.stderr)


def _print_result(ran: Reproven) -> None:
    """Print the result of a test as soon as it ends; its output only if it failed."""
    print(
        f"{display(ran.task)}  {display(ran.contract)}  {ran.ending}", file=sys.stderr, flush=True
    )
    for finding in ran.findings if ran.ending != "passed" else ():
        print("\n".join(f"  {line}" for line in finding_lines(finding)), file=sys.stderr)


def execute_ownership(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Run `ownership`. Raises RunnerError for a path outside the project, or a bad map."""
    if given.write and given.verb != "propose":
        raise RunnerError("--write needs `propose`", hint="runner plan ownership propose --write")
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    paths = [impact_question.inside(project, typed) for typed in given.paths]
    if given.verb == "show":
        say(
            file_owners.find_owners(project, paths),
            file_owners.owner_lines,
            file_owners.owner_document,
            as_json=given.json,
        )
    elif given.verb == "check":
        found = file_owners.check_map(project, paths)
        say(found, file_owners.fault_lines, file_owners.fault_document, as_json=given.json)
        _remark(file_owners.fault_remarks(found), as_json=given.json)
        return ExitCode.FAILED if found.faults else ExitCode.OK
    else:
        rows = file_owners.propose_rows(project, paths, write=given.write)
        form = partial(file_owners.row_document, written=given.write)
        say(rows, file_owners.row_lines, form, as_json=given.json)
        _remark(file_owners.row_remarks(rows, written=given.write), as_json=given.json)
    return ExitCode.OK


def _remark(remarks: Iterable[str], *, as_json: bool) -> None:
    """Print remarks to standard error."""
    for line in () if as_json else remarks:
        print(line, file=sys.stderr)


_EVERY = 2.0
"""Seconds between two progress lines."""


def execute_replay(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Restore or verify a task. Raises RunnerError: exit 6 with the list on a conflict."""
    if given.verify:
        return _verify(given, environ)
    project = Project.open(Path.cwd(), environ)
    if len(given.ids) != 1 or given.all:
        raise RunnerError("name one task to restore", hint="runner replay TASK-005")
    seen = transaction.replay(project, transaction.ReplayRequest(given.ids[0], dry_run=True))
    if seen.replay.nothing or given.dry_run:
        say(seen, change_text.replay_lines, change_text.replay_document, as_json=given.json)
        return ExitCode.OK
    if not given.yes and not given.json:
        print("\n".join(change_text.replay_preview(seen.replay)))
    if not confirm("restore this state?", environ, yes=given.yes, again=with_flag(given, "--yes")):
        print("nothing was changed", file=sys.stderr if given.json else sys.stdout)
        return ExitCode.PERSON
    done = transaction.replay(
        project, transaction.ReplayRequest(seen.task, head=seen.replay.back.head)
    )
    say(done, change_text.replay_lines, change_text.replay_document, as_json=given.json)
    return ExitCode.OK


def _verify(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Rebuild all that landed, or some tasks; exit 1 at the first divergence."""
    if bool(given.ids) == given.all:
        raise RunnerError("name tasks, or use --all", hint="runner replay --verify --all")
    flags = {"sandbox": "none"} if given.no_sandbox else {}
    project = Project.open(Path.cwd(), environ, flags)
    steps = rebuild.find_landed(project, given.ids)
    again = with_flag(given, "--trust")
    ask_trust(project, project.plan(project.plan_bytes), trusted=given.trust, again=again)
    found = rebuild.rebuild(project, steps, _Progress(len(steps)))
    lines = partial(change_text.rebuild_lines, steps=len(steps))
    form = partial(change_text.rebuild_document, steps=len(steps))
    say(found, lines, form, as_json=given.json)
    return ExitCode.FAILED if found[-1].divergence else ExitCode.OK


class _Progress:
    """A line on standard error now and then, where it takes long."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._last = effects.monotonic()

    def __call__(self, one: RebuiltStep) -> None:
        self._done += 1
        if effects.monotonic() - self._last >= _EVERY:
            self._last = effects.monotonic()
            print(f"{self._done}/{self._total} {display(one.step.task)}", file=sys.stderr)


def execute_undo(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Undo it. Raises RunnerError: exit 6, with the list, where somebody built on it."""
    project = Project.open(Path.cwd(), environ)
    request = transaction.UndoRequest(given.id, given.reason, given.dry_run, given.force)
    if not given.yes or given.dry_run:
        seen = transaction.undo(project, replace(request, dry_run=True))
        if given.dry_run:
            say(seen, change_text.undo_lines, change_text.undo_document, as_json=given.json)
            return ExitCode.OK
        transaction.require_no_importers(seen, force=given.force)
        if not given.json:
            print("\n".join(change_text.undo_preview(seen)))
        words = [seen.back.tasks[0], *(["--force"] if given.force else []), "--yes"]
        if given.reason:
            words[1:1] = ["--reason", given.reason]
        if not confirm(
            "undo this task?", environ, yes=False, again=shlex.join(["runner", "undo", *words])
        ):
            print("nothing was changed", file=sys.stderr if given.json else sys.stdout)
            return ExitCode.PERSON
    done = transaction.undo(project, request)
    say(done, change_text.undo_lines, change_text.undo_document, as_json=given.json)
    return ExitCode.OK


def execute_blame(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Ask git and the commits' trailers; the journal is not needed."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    path, line = file_owners.find_place(project, Path.cwd(), given.place)
    found = file_owners.blame(project, file_owners.BlameRequest(path, line))
    if given.json:
        print(document("blame", path=path, line=line or None, lines=found), end="")
    else:
        shown = (
            blame.blame_lines(found)
            if not line
            else (row for one in found for row in blame.stretch_lines(one))
        )
        print(redact("\n".join(shown)) if found else f"{display(path)} is empty")
    return ExitCode.OK


def execute_commit_by_task(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Commit what the write log has and HEAD has not; everything else stays as it is."""
    project = Project.open(Path.cwd(), environ)
    found = commit_writes.commit_by_task(
        project, commit_writes.CommitRequest(given.task, given.dry_run)
    )
    say(found, change_text.commit_lines, change_text.commit_document, as_json=given.json)
    return ExitCode.OK


_SHORT_DIGEST = 12


def record_write(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Record the current state of a file as a write. Raises RunnerError for a missing file."""
    change = staged_states.record_write(Workplace.of(Path.cwd(), environ), given.task, given.file)
    print(f"recorded: {change.action} {display_path(change.path)}", file=sys.stderr)
    return ExitCode.OK


def show_writes(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show what was written, and what became of it."""
    workplace = Workplace.of(Path.cwd(), environ)
    task = workplace.task(given.task)[0] if given.task else ""
    history = log.WriteLog(workplace.root).show(task)
    if given.json:
        writes = [staged_states.describe_write(one) for one in history.writes]
        sys.stdout.write(document("write-log", writes=writes, damaged=history.damaged))
    elif history.writes:
        head = ("Time", "Task", "Attempt", "Action", "File", "Bytes", "Review", "Outcome")
        sys.stdout.write(table.table(head, map(_log_row, history.writes)))
    else:
        print("no writes are recorded", file=sys.stderr)
    for line in history.damaged:
        print(
            f"runner: {log.WRITE_LOG}:{line}: invalid line skipped",
            file=sys.stderr,
        )
    return ExitCode.OK


def _log_row(one: LoggedWrite) -> tuple[str, ...]:
    fate = one.fate.value if one.fate else "open"
    outcome = f"{fate} {one.commit[:_SHORT_DIGEST]}".rstrip()
    return (
        wording.moment(one.time),
        one.task,
        str(one.attempt),
        one.action,
        display_path(one.path),
        str(one.bytes),
        one.review,
        outcome,
    )
