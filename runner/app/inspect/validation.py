"""Every mistake of the plan and of the files beside it at once; nothing is run.

What a run would only block, or leave unproven: told by `validate`, and before a run's work.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.build.discovered_gates import take_up_default_gates
from runner.app.inspect.unmade_parts import find_unmade
from runner.errors import ExitCode
from runner.implementers.registry import IMPLEMENTERS, choose
from runner.journal.snapshot import pause_collections
from runner.model import Finding, Reason, Severity, Status
from runner.model.grades import is_code, without_proof
from runner.model.words import ProvenBy
from runner.plan.body import suggest_by_info
from runner.plan.diagnostic import Problem, render
from runner.plan.foreign import find_form
from runner.plan.ownership import OwnershipMap
from runner.plan.patterns import PatternIndex
from runner.plan.source import text_of
from runner.plan.spans import Places
from runner.project import PATTERNS
from runner.repo.head import OWNERSHIP_MAP, PLANS
from runner.repo.read import Repository
from runner.run.proof_required import (
    PROOF_HINT,
    WISH,
    WISH_HINT,
    contracts_hint,
    contracts_message,
    lacks_contracts,
    strongest_possible,
    unprovable,
)
from runner.run.resource_locks import capacities, too_much_of
from runner.text.wording import did_you_mean, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.app.observer import Observer
    from runner.config.settings import Settings
    from runner.model import Task
    from runner.project import Project, Reading


@dataclass(frozen=True, slots=True)
class Validation:
    """What is wrong with a plan, where it stands, and what lies beside it."""

    plan: str
    """TASK-GRAPH.md, relative to the project."""
    tasks: int
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> int:
        """How many are mistakes: the others are warnings."""
        return sum(problem.is_error for problem in self.problems)

    @property
    def code(self) -> ExitCode:
        """2 where anything is a mistake."""
        return ExitCode.USAGE if self.errors else ExitCode.OK


def validate(project: Project, *, strict: bool = False) -> Validation:
    """Read all of it; with `strict` what a run would only block is a mistake."""
    with pause_collections():
        return _validate(project, strict=strict)


def _validate(project: Project, *, strict: bool) -> Validation:
    take_up_default_gates(project)
    reading = project.check()
    problems = (
        *reading.problems,
        *_find_unknown_implementers(reading),
        *unready(reading, project.settings, strict=strict),
        *_too_much_used(reading, project.settings),
        *_unmade(project, reading),
        *_beside(project),
        *_of_another_tool(project, reading),
    )
    return Validation(project.plan_path, len(reading.plan.tasks), problems)


def _unmade(project: Project, reading: Reading) -> tuple[Problem, ...]:
    """What nobody makes; nothing of a plan with mistakes, whose fields may be lost in them."""
    if any(problem.is_error for problem in reading.problems):
        return ()
    return find_unmade(project.root, reading.data, reading.plan.path, reading.plan.tasks)


def _of_another_tool(project: Project, reading: Reading) -> Iterator[Problem]:
    """An error where the file is one of another tool: it holds no task as it stands."""
    form = None if reading.plan.tasks else find_form(reading.data.decode("utf-8", "replace"))
    if form is not None:
        path = project.plan_path
        into = "behind it, as sections" if path in PLANS else f"into {PLANS[0]}"
        hint = f"runner import {path}: its tasks come {into}; or write ## TASK-001: Title"
        yield Problem(f"this reads as a file of the form {form}, and no plan", path, 1, 1, hint)


def read_sound_plan(project: Project, observer: Observer) -> Reading:
    """The plan, with the gates that the repository declares taken up.

    Raises RunnerError with all its mistakes together where it has any that stop everything.
    """
    take_up_default_gates(project)
    for note in project.loaded.notes:
        observer.say(f"note: {note}")
    reading = project.check_sound()
    for mistake in (problem for problem in reading.problems if problem.is_error):
        observer.say(render(mistake))  # of a task that is BLOCKED when its turn comes
    if warnings := sum(not problem.is_error for problem in reading.problems):
        observer.say(f"the plan has {plural(warnings, 'warning')}: runner validate")
    for unknown in _find_unknown_implementers(reading):  # before anybody is asked to trust the rest
        observer.say(render(unknown))
    for problem in unready(reading, project.settings):
        observer.say(f"{problem.path}:{problem.line}: {problem.message}\n  hint: {problem.hint}")
    return reading


def _find_unknown_implementers(reading: Reading) -> Iterator[Problem]:
    """An error for each task that names nobody there is: a run would only block it."""
    named = [task for task in reading.plan.tasks if task.implementer]
    if not named:
        return
    places = Places(reading.data, reading.plan.path)
    for task in named:
        name = task.implementer
        if name.casefold() not in IMPLEMENTERS:
            at = places.find(task, "implementer", name)
            hint = did_you_mean(name, IMPLEMENTERS) or f"one of {', '.join(IMPLEMENTERS)}"
            said = f'there is no implementer "{name}"'
            yield Problem(
                said,
                places.path,
                at.line,
                at.column,
                hint,
                source_line=at.source_line,
                width=at.width,
            )


def _beside(project: Project) -> Iterator[Problem]:
    """What is wrong with the ownership map, the pattern index and skills, where they are."""
    owners = project.root / OWNERSHIP_MAP
    if owners.is_file():
        prefixes = project.settings.id_prefixes
        yield from OwnershipMap.read(owners.read_bytes(), OWNERSHIP_MAP, prefixes).problems
    index = project.root / PATTERNS
    if index.is_file():
        for pattern in PatternIndex.read(index.read_bytes()).patterns:
            if pattern.file and not (project.root / pattern.file).is_file():
                yield _no_file(index.read_bytes(), pattern.id, pattern.file)
    yield from _bad_skills(project)


def _bad_skills(project: Project) -> Iterator[Problem]:
    """A warning for each skill of the last commit that no brief can list."""
    commit = project.head().commit
    if not commit or not any((project.root / one).is_dir() for one in _skill_folders(project)):
        return
    from runner.context.skills import skills_of
    from runner.context.tree import Tree
    from runner.plan.task_types import Kind

    with Repository.open(project.root) as repository:
        tree = Tree.of(repository, commit, project.settings)
        for one in skills_of(tree, project.settings, Kind()).warnings:
            lines = tree.text(one.path)[0].splitlines()
            said = lines[one.line - 1] if one.line <= len(lines) else ""
            place = (one.path, one.line, 1)
            yield Problem(one.message, *place, one.hint, one.severity, said, max(len(said), 1))


def _skill_folders(project: Project) -> tuple[str, ...]:
    settings = project.settings
    return settings.skills_folders if settings.skills_auto_discover else ()


def _no_file(data: bytes, id_: str, file: str) -> Problem:
    """A warning at the row that names a file which is not there."""
    lines = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").splitlines()
    at = next((n for n, line in enumerate(lines) if file in line), 0)
    line = lines[at] if lines else ""
    return Problem(
        f'{id_} is in "{file}", which is not there',
        PATTERNS,
        at + 1,
        line.find(file) + 1 or 1,
        "write the file, or take the row out",
        Severity.WARNING,
        line,
        len(file),
    )


def _too_much_used(reading: Reading, settings: Settings) -> Iterator[Problem]:
    """An error for each task that a run would only block, by `[resources]` of the settings."""
    if not settings.resources or not any(task.uses for task in reading.plan.tasks):
        return
    capacity = capacities(settings.resources)
    places = Places(reading.data, reading.plan.path)
    for task in reading.plan.tasks:
        over = too_much_of(task, capacity)
        if over is None:
            continue
        name, why = over
        at = places.find(task, "uses", name)
        hint = f"write less, or {name} = … in [resources] of the settings"
        place = (places.path, at.line, at.column, hint)
        yield Problem(f"{task.id} {why}", *place, source_line=at.source_line, width=at.width)


# --- plan warnings --------------------------------------------------------------------


_FENCE = re.compile(r"^\s*(?:```+|~~~+)\s*(?P<info>[^`\n]+?)\s*$")


def unready(reading: Reading, settings: Settings, *, strict: bool = False) -> Iterator[Problem]:
    """A warning for each open task that a run would block, or leave unproven, as it is written.

    With `strict` what would be blocked is a mistake. Of a plan with mistakes nothing is said: a
    field that cannot be read is no field that is lacking.
    """
    if any(problem.is_error for problem in reading.problems):
        return

    places, sections = Places(reading.data, reading.plan.path), _Sections(reading)
    blocked = Severity.ERROR if strict else Severity.WARNING
    for task in reading.plan.tasks:
        if task.status is Status.DONE or task.is_milestone:
            continue
        yield from _of_one(task, settings, places, sections, blocked)


def _of_one(
    task: Task, settings: Settings, places: Places, sections: _Sections, blocked: Severity
) -> Iterator[Problem]:
    chosen = choose(task, settings)
    if isinstance(chosen, Finding):
        if not task.implementer:  # an unknown name is told elsewhere
            hint = f"{_almost(sections, task)}{chosen.hint}"
            yield _problem(places, task, f"{task.id} has no implementer", hint, blocked)
        return
    lacks = unprovable(task, settings, chosen)
    if lacks is not None and lacks[0] is Reason.WISH:
        message = f"{task.id} will be BLOCKED (wish): {WISH}"
        yield _problem(places, task, message, WISH_HINT, blocked)
    elif lacks is not None and lacks_contracts(task, settings):
        message = f"{task.id} will be BLOCKED (proof): {contracts_message(task)}"
        yield _problem(places, task, message, contracts_hint(task), blocked)
    elif lacks is not None:
        message = f"{task.id} will be BLOCKED (proof): {lacks[1].partition(';')[0]}"
        yield _problem(places, task, message, PROOF_HINT, blocked)
    elif _stays_unproven(task, settings):
        message = f"{task.id} will be DONE — unproven: nothing proves it"
        yield _problem(places, task, message, PROOF_HINT, Severity.WARNING)


def _stays_unproven(task: Task, settings: Settings) -> bool:
    """Whether nothing proves what it writes, and nothing has said so: code without tests was."""
    if not task.writes_anything or without_proof(task.no_proof, task.outputs):
        return False
    told = not task.test_contracts and any(map(is_code, task.outputs))
    return not told and strongest_possible(task, settings) in (None, ProvenBy.STATIC)


def _problem(places: Places, task: Task, message: str, hint: str, severity: Severity) -> Problem:
    at = places.heading(task)
    return Problem(
        message,
        places.path,
        at.line,
        at.column,
        hint,
        severity,
        source_line=at.source_line,
        width=at.width,
    )


# --- a fence that was almost a file ---------------------------------------------------


class _Sections:
    """The lines of each task's section, taken apart once for all tasks."""

    def __init__(self, reading: Reading) -> None:
        self._lines = text_of(reading.data).split("\n")  # as the plan counts its lines
        self._starts = sorted(one.line for one in reading.plan.tasks)

    def of(self, task: Task) -> list[str]:
        """The lines below a task's heading, up to the next task's."""
        after = bisect_right(self._starts, task.line)
        end = self._starts[after] - 1 if after < len(self._starts) else len(self._lines)
        return self._lines[task.line : end]


def _almost(sections: _Sections, task: Task) -> str:
    """`line 12 is almost a file: write ```python file=src/a.py; else `, where there is one."""
    inside = ""
    for number, line in enumerate(sections.of(task), start=task.line + 1):
        fence = line.strip()[:3] if line.strip().startswith(("```", "~~~")) else ""
        if not fence:
            continue
        if inside:
            inside = "" if fence == inside else inside
            continue
        inside = fence
        if said := _suggest_fence(line, task):
            return f"line {number} is almost a file: write {said}; else "
    return ""


def _suggest_fence(line: str, task: Task) -> str:
    """How a fence is to begin that names a path in a way that nothing reads; else empty."""
    match = _FENCE.match(line)
    if match is None:
        return ""
    info = match["info"]
    if said := suggest_by_info(info):
        return said
    if len(task.outputs) != 1 or " " in info or "*" in task.outputs[0]:
        return ""  # else a plain fence in a task that writes one file
    return f"```{re.split(r'[:{]', info)[0]} file={task.outputs[0].removeprefix('./')}"
