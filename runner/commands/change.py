"""`runner change`, `impact`, `ownership`: change a specification, show what it affects."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.output import ask_trust, confirm, say, with_flag
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.report.annotations import format_affected, impact_commands
from runner.run.selection import find_id
from runner.text.display import display
from runner.text.wording import finding_lines, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from runner.app.change import change_text, file_owners, impact_question, transaction
    from runner.app.change.impact_question import Impact
    from runner.app.prove import prove_tree
    from runner.app.prove.prove_tree import Reproven
else:
    prove_tree = lazy_module("runner.app.prove.prove_tree")
    change_text = lazy_module("runner.app.change.change_text")
    file_owners = lazy_module("runner.app.change.file_owners")
    transaction = lazy_module("runner.app.change.transaction")
    impact_question = lazy_module("runner.app.change.impact_question")

# --- asking for something new ---------------------------------------------------------


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


# --- whom a change reaches ------------------------------------------------------------


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


# --- shown ------------------------------------------------------------------------------


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


# --- who owns which files -------------------------------------------------------------


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
