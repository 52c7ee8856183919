"""Check drafted sections as part of their plan, without writing or running anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.inspect.missing_references import find_unmade
from runner.app.inspect.unready_tasks import unready
from runner.model import Status
from runner.model.grades import is_document
from runner.plan.checks import check_plan
from runner.plan.document import read_plan
from runner.plan.drafted_sections import DraftReading, Remark
from runner.plan.graph import TaskGraph
from runner.plan.source import line_end_of
from runner.plan.spans import Spans
from runner.process.tools import which
from runner.project import Reading
from runner.repo.head import PLANS
from runner.writes.paths import check_path, is_forbidden

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.plan.source import Problem
    from runner.project import Project

_FILE_MODE = 0o100644
_NOT_THEIRS = ("has no implementer", "which is not on PATH")
"""Warnings that no draft can fix: a person sees them."""
_CONTRACTS = "and has no contracts"


class Target(Struct, frozen=True):
    """A plan that sections are for, as it is now."""

    path: str
    """Path relative to the project."""
    data: bytes

    @classmethod
    def of(cls, project: Project, path: str = "") -> Target:
        """Return the project's plan, or the file at `path`; its data is empty if it is missing."""
        there = (one for one in PLANS if (project.root / one).is_file())
        path = path or project.settings.build.task_graph or next(there, PLANS[0])
        file = project.root / path
        return cls(path, file.read_bytes() if file.is_file() else b"")

    def with_text(self, text: str, name: str) -> bytes:
        """Return the plan's bytes with the text appended, in the plan's line endings."""
        end = line_end_of(self.data).decode()
        between = "\n" if self.data.endswith(b"\n") else "\n\n"
        return self.data + ((between if self.data else f"# {name}\n\n") + text).replace(
            "\n", end
        ).encode("utf-8", "replace")


class DraftCheck(Struct, frozen=True):
    """The result of checking a draft."""

    mistakes: tuple[Remark, ...] = ()
    notes: tuple[str, ...] = ()


def check_sections(
    project: Project, target: Target, reading: DraftReading, text: str
) -> DraftCheck:
    """Return the problems that `validate` finds only with the sections in the plan.

    `text` are the sections as they would stand there; `reading` has the lines of the answer.
    """
    # Compare lines too: sections are appended, so no existing line moves.
    before = {(one.message, one.line) for one in _problems(project, target.path, target.data)}
    found = _problems(project, target.path, target.with_text(text, project.root.name))
    return _judge(reading, [one for one in found if (one.message, one.line) not in before])


def find_new_problems(
    project: Project, target: Target, reading: DraftReading, before: str, after: str
) -> DraftCheck:
    """Return the problems that `validate` finds with the sections `after` but not with `before`.

    Compares messages alone, since lines move where a section grows.
    """
    name = project.root.name
    known = {one.message for one in _problems(project, target.path, target.with_text(before, name))}
    new = _problems(project, target.path, target.with_text(after, name))
    return _judge(reading, [one for one in new if one.message not in known])


def _judge(reading: DraftReading, found: Sequence[Problem]) -> DraftCheck:
    not_theirs = [one for one in found if any(words in one.message for words in _NOT_THEIRS)]
    mistakes = [_remark(one, reading) for one in found if one not in not_theirs]
    mistakes += _places(reading)
    unique = {(one.line, one.text): one for one in mistakes}
    return DraftCheck(
        tuple(sorted(unique.values(), key=lambda one: one.line)),
        tuple(dict.fromkeys(one.message for one in not_theirs)),
    )


def find_errors(
    project: Project, target: Target, reading: DraftReading, text: str
) -> tuple[Remark, ...]:
    """Return the errors that keep the plan with these sections from being built."""
    whole = target.with_text(text, project.root.name)
    found = _problems(project, target.path, whole)
    return tuple(_remark(one, reading) for one in found if one.is_error)


def _problems(project: Project, path: str, data: bytes) -> tuple[Problem, ...]:
    """Return all problems that `validate` finds in this plan data."""
    if not data:
        return ()
    root = (project.root / path).parent if path not in PLANS else project.root
    prefixes = project.settings.build.id_prefixes
    plan, places = read_plan(data, path, prefixes=prefixes), Spans(data, path)
    found = check_plan(
        plan.tasks,
        places=places,
        found=lambda name: which(name, project.environ) is not None,
        exists=lambda one: (root / one).exists(),
        strict_contracts=project.settings.proof.strict_contracts,
    )
    problems = (*plan.problems, *found)
    if any(one.is_error for one in problems):
        return problems
    reading = Reading(data, plan, TaskGraph.of(plan.tasks), problems)
    unmade = find_unmade(root if root.is_dir() else project.root, data, path, plan.tasks)
    return (*problems, *unmade, *unready(reading, project.settings))


def _remark(problem: Problem, reading: DraftReading) -> Remark:
    """Return a problem as a remark at the matching line of the draft answer."""
    source = problem.source_line[problem.column - 1 :][: problem.width]
    named = [id_ for id_ in reading.places if id_ in problem.message]
    line = _line(reading, named[0], problem, source) if named else 1
    if not named:
        heading = (id_ for id_ in reading.places if source and id_ in problem.source_line)
        line = reading.line_of(next(heading, ""), source)
    hint = problem.hint
    if _CONTRACTS in problem.message or "contracts:" in hint:
        hint = "omit its Type: only a person may add contracts"
    return Remark(line, problem.message, hint)


def _line(reading: DraftReading, id_: str, problem: Problem, source: str) -> int:
    """Return the line that equals the problem's source line, else the first that contains it."""
    whole = reading.line_of(id_, problem.source_line.strip())
    return whole if whole != reading.line_of(id_) else reading.line_of(id_, source)


def _places(reading: DraftReading) -> Iterator[Remark]:
    for section in reading.sections:
        if section.status is not Status.PENDING:
            yield Remark(
                reading.line_of(section.id),
                f"{section.id} is {section.status}: a draft must be PENDING",
            )
        lacks = "output files" if not section.outputs else "test contracts"
        documents = section.outputs and all(map(is_document, section.outputs))
        if not (section.proofs or section.is_milestone or documents):
            message = f"{section.id} has no {lacks}: nothing would prove it"
            yield Remark(reading.line_of(section.id), message, "add Test contracts with a command")
        for path in section.outputs:
            plain = path.rstrip("/*")
            against = check_path(plain, _FILE_MODE) if plain else None
            at = reading.line_of(section.id, path)
            if against is not None and against.refuses:
                yield Remark(at, against.message, against.hint)
            elif is_forbidden(path):
                yield Remark(at, f"no task may write {path!a}", "remove it")
