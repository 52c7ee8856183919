"""Find every error in the plan and the files next to it at once, without running anything.

`validate` and the start of a run also report what a run would block or leave unproven.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.build.discovered_gates import apply_default_gates
from runner.app.inspect.unready_tasks import UNPROVEN, Verdicts, find_untested, unready
from runner.config.stack import detect_stack
from runner.context import skills, tree
from runner.errors import ExitCode
from runner.held_out.part import needs_author
from runner.implementers.registry import IMPLEMENTERS, agent_of, choose, knows, list_names
from runner.journal.snapshot import pause_collections
from runner.lazy_module import lazy_module
from runner.model import BlockKind, Finding, Severity, Status
from runner.plan import task_types
from runner.plan.ownership import OwnershipMap
from runner.plan.patterns import PatternIndex
from runner.plan.shell.shell_commands import executables
from runner.plan.source import Problem, refusal, render
from runner.plan.spans import Spans
from runner.process.environments import TEST_PROGRAMS, explain_lent_program, find_lent_program
from runner.project import PATTERNS
from runner.repo import read
from runner.repo.head import OWNERSHIP_MAP, PLANS
from runner.run.preflight import find_unseen_script
from runner.run.proof_sufficiency import PROOF_HINT
from runner.run.resource_locks import capacities, too_much_of
from runner.text.wording import did_you_mean, join_few, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.app.inspect import missing_references, test_frameworks
    from runner.app.observer import Observer
    from runner.config.settings import Settings
    from runner.implementers import unified_diff
    from runner.model import GateSpec, Task, TestContract
    from runner.plan import foreign
    from runner.project import Project, Reading
else:
    foreign = lazy_module("runner.plan.foreign")
    missing_references = lazy_module("runner.app.inspect.missing_references")
    test_frameworks = lazy_module("runner.app.inspect.test_frameworks")
    unified_diff = lazy_module("runner.implementers.unified_diff")


class Validation(Struct, frozen=True):
    """The problems of a plan, its place, and the files next to it."""

    plan: str
    """Path of TASK-GRAPH.md, relative to the project."""
    tasks: int
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> int:
        """Number of errors, without warnings."""
        return sum(problem.is_error for problem in self.problems)

    @property
    def code(self) -> ExitCode:
        """2 where anything is a mistake."""
        return ExitCode.USAGE if self.errors else ExitCode.OK


def validate(project: Project, *, strict: bool = False) -> Validation:
    """Read all of it; with `strict` what a run would only block is a mistake."""
    with pause_collections():
        apply_default_gates(project)
        reading = project.check()
        problems = find_all_problems(project, reading, strict=strict)
    return Validation(project.plan_path, len(reading.plan.tasks), problems)


def find_all_problems(
    project: Project, reading: Reading, *, strict: bool = False
) -> tuple[Problem, ...]:
    """Return the problems of the plan, of what it needs from the tree, and of nearby files."""
    return (
        *find_problems(reading, project.settings, strict=strict),
        *find_lent_programs(project, reading),
        *_find_unseen_scripts(project, reading),
        *_find_untestable_authors(project, reading),
        *find_unmade_parts(project, reading),
        *find_nearby_problems(project),
        *_of_another_tool(reading),
    )


def check_sound(project: Project) -> Reading:
    """Return the plan if it can run. Raises RunnerError with all that `validate` finds."""
    reading = project.check()
    if any(problem.stops_all for problem in reading.problems):
        found = find_all_problems(project, reading)
        raise refusal([problem for problem in found if problem.is_error], "nothing has run")
    return reading


def find_problems(
    reading: Reading, settings: Settings, verdicts: Verdicts | None = None, *, strict: bool = False
) -> tuple[Problem, ...]:
    """Return all problems in the plan itself, without looking at other files."""
    return (
        *reading.problems,
        *_find_unknown_implementers(reading),
        *_find_malformed_diffs(reading),
        *_find_idle_models(reading, settings),
        *unready(reading, settings, verdicts, strict=strict),
        *_too_much_used(reading, settings),
    )


def find_unmade_parts(project: Project, reading: Reading) -> tuple[Problem, ...]:
    """Return the parts that no task makes; empty if the plan has errors, which may hide fields."""
    if any(problem.is_error for problem in reading.problems):
        return ()
    return missing_references.find_unmade(
        project.root, reading.data, reading.plan.path, reading.plan.tasks
    )


def _find_untestable_authors(project: Project, reading: Reading) -> Iterator[Problem]:
    """Yield an error for each task whose author's tests no command runs.

    A task that depends on open ones is let be: they may bring what runs them.
    """
    states = {task.id: task.status for task in reading.plan.tasks}
    named = [
        task
        for task in _list_open(reading)
        if needs_author(task) and all(states.get(one) is Status.DONE for one in task.depends_on)
    ]
    if not named:
        return
    with read.Repository.open(project.root) as repository:
        head = repository.head().commit or ""
        files = tree.Tree.of(repository, head, project.settings)
        if test_frameworks.find_by_file(files, detect_stack(project.root)) is not None:
            return
    places = Spans(reading.data, reading.plan.path)
    for task in named:
        at = places.find(task, "test_author", task.test_author)
        yield places.problem(
            at,
            f"{task.id} has a Test author, but {test_frameworks.NO_COMMAND}",
            "add a test tool to the project, such as pytest in pyproject.toml, or remove the field",
        )


def _of_another_tool(reading: Reading) -> Iterator[Problem]:
    """Yield an error if the file has no tasks and is in the format of another tool."""
    if reading.plan.tasks:
        return
    form = foreign.find_form(reading.data.decode("utf-8", "replace"))
    if form is not None:
        path = reading.plan.path
        into = "to the end of the file" if path in PLANS else f"to {PLANS[0]}"
        hint = f"`runner import {path}` adds its tasks {into}; or write ## TASK-001: Title"
        yield Problem(f"this is not a plan, but a file in the {form} format", path, 1, 1, hint)


def read_sound_plan(project: Project, observer: Observer) -> Reading:
    """Load the plan with the repository's default gates. Raises RunnerError if it cannot run."""
    apply_default_gates(project)
    for note in project.loaded.notes:
        observer.say(f"note: {note}")
    reading = check_sound(project)
    for mistake in (problem for problem in reading.problems if problem.is_error):
        observer.say(render(mistake))  # of a task that is BLOCKED when its turn comes
    idle = tuple(_find_idle_models(reading, project.settings))
    if warnings := len(idle) + sum(not problem.is_error for problem in reading.problems):
        observer.say(f"the plan has {plural(warnings, 'warning')}: runner validate")
    blocking = (  # before anybody is asked to trust the rest
        *_find_unknown_implementers(reading),
        *_find_malformed_diffs(reading),
        *find_lent_programs(project, reading),
    )
    for mistake in blocking:
        observer.say(render(mistake))
    for problem in unready(reading, project.settings):
        observer.say(f"{problem.path}:{problem.line}: {problem.message}\n  hint: {problem.hint}")
    if untested := find_untested(reading, project.settings):
        observer.say(f"{join_few(untested)} {UNPROVEN}\n  hint: {PROOF_HINT}")
    return reading


def _find_unknown_implementers(reading: Reading) -> Iterator[Problem]:
    """Yield an error for each task with an unknown implementer, which a run would block."""
    places = Spans(reading.data, reading.plan.path)
    for task in reading.plan.tasks:
        name = task.implementer
        if name and not knows(name):
            at = places.find(task, "implementer", name)
            hint = did_you_mean(name, IMPLEMENTERS) or f"one of {list_names()}"
            message = f'unknown implementer "{name}"'
            yield places.problem(at, message, hint)


def _find_malformed_diffs(reading: Reading) -> Iterator[Problem]:
    """Yield an error for each diff block of an open task that fits no file."""
    places = Spans(reading.data, reading.plan.path)
    for task in _list_open(reading):
        written = task.blocks if task.implementer in ("", "blocks") else ()
        for block in (one for one in written if one.kind is BlockKind.PATCH):
            try:
                unified_diff.read_patch(block.text.encode("utf-8", "surrogateescape"), block.path)
            except unified_diff.DoesNotApplyError as error:
                at = places.at_line(block.line + error.patch_line)
                yield places.problem(at, f"{task.id}: {error.message}", unified_diff.REMEDY)


def _list_open(reading: Reading) -> list[Task]:
    return [task for task in reading.plan.tasks if task.status is not Status.DONE]


def _find_idle_models(reading: Reading, settings: Settings) -> Iterator[Problem]:
    """Yield a warning for each task that names a model but is not built by an agent."""
    places = Spans(reading.data, reading.plan.path)
    for task in reading.plan.tasks:
        if not task.model or agent_of(task, settings) or not knows(task.implementer or "blocks"):
            continue
        chosen = choose(task, settings)
        if isinstance(chosen, Finding):
            continue  # nobody builds it: that is reported elsewhere
        at = places.find(task, "model", task.model)
        yield places.problem(
            at,
            f"{task.id} names a model, but {chosen.name} builds it and uses no model",
            "remove the field, or name an agent: - Implementer: claude",
            Severity.WARNING,
        )


def _find_unseen_scripts(project: Project, reading: Reading) -> Iterator[Problem]:
    """Yield an error for each open task whose command starts a script missing in scratch trees."""
    places = Spans(reading.data, reading.plan.path)
    for task in _list_open(reading):
        if why := find_unseen_script(task, project.settings, project.root):
            message, _, hint = why.partition(": ")
            at = places.at_line(task.line, task.id)
            yield places.problem(at, f"{task.id}: {message}", hint)


def find_lent_programs(project: Project, reading: Reading) -> Iterator[Problem]:
    """Yield an error for each proof of an open task that would run a test tool of the runner."""
    # Cluster machines have their own programs, which are not visible from here.
    if ":" in project.settings.cluster.executor:
        return
    places = Spans(reading.data, reading.plan.path)
    lent: dict[str, str] = {}
    for task in _list_open(reading):
        proofs: tuple[TestContract | GateSpec, ...] = (*task.test_contracts, *task.gates)
        for one in proofs:
            names = [name for name in executables(one.command) if name in TEST_PROGRAMS]
            for name in names[:1]:
                if name not in lent:
                    needs = detect_stack(project.root).dependencies
                    lent[name] = find_lent_program(names, project.environ, project.root, needs)
                if not lent[name]:
                    continue
                at = places.at_line(one.line, name)
                message, hint = explain_lent_program(name, project.root)
                yield places.problem(at, f"{task.id}: {message}", hint)


def find_nearby_problems(
    project: Project, texts: Mapping[str, bytes] | None = None
) -> Iterator[Problem]:
    """Yield the problems of ownership map, pattern index and skills, with their places.

    `texts` are files by their path that are being edited: their text counts, not what is written.
    """
    owners = _text_of(project, OWNERSHIP_MAP, texts)
    if owners is not None:
        prefixes = project.settings.build.id_prefixes
        yield from OwnershipMap.read(
            owners,
            OWNERSHIP_MAP,
            prefixes,
            lambda path: os.path.isfile(project.root / path),  # noqa: PTH113 - Path raises for long names
        ).problems
    index = _text_of(project, PATTERNS, texts)
    if index is not None:
        for pattern in PatternIndex.read(index).patterns:
            if pattern.file and not (project.root / pattern.file).is_file():
                yield _no_file(index, pattern.id, pattern.file)
    yield from _bad_skills(project)


def _text_of(project: Project, path: str, texts: Mapping[str, bytes] | None) -> bytes | None:
    if texts and path in texts:
        return texts[path]
    file = project.root / path
    return file.read_bytes() if file.is_file() else None


def _bad_skills(project: Project) -> Iterator[Problem]:
    """Yield a warning for each invalid skill in the last commit."""
    commit, settings = project.head().commit, project.settings
    folders = settings.skills.folders if settings.skills.auto_discover else ()
    if not commit or not any((project.root / one).is_dir() for one in folders):
        return
    with read.Repository.open(project.root) as repository:
        files = tree.Tree.of(repository, commit, project.settings)
        for one in skills.skills_of(files, project.settings, task_types.WorkType()).warnings:
            lines = files.text(one.path)[0].splitlines()
            source = lines[one.line - 1] if one.line <= len(lines) else ""
            place = (one.path, one.line, 1)
            yield Problem(one.message, *place, one.hint, one.severity, source, max(len(source), 1))


def _no_file(data: bytes, id_: str, file: str) -> Problem:
    """Return a warning at the row that names a missing file."""
    lines = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").splitlines()
    at = next((n for n, line in enumerate(lines) if file in line), 0)
    line = lines[at] if lines else ""
    return Problem(
        f'{id_} is in "{file}", which does not exist',
        PATTERNS,
        at + 1,
        line.find(file) + 1 or 1,
        "create the file, or remove the row",
        Severity.WARNING,
        line,
        len(file),
    )


def _too_much_used(reading: Reading, settings: Settings) -> Iterator[Problem]:
    """Yield an error for each task that uses more than the `[resources]` settings provide."""
    if not settings.resources:
        return
    capacity = capacities(settings.resources)
    places = Spans(reading.data, reading.plan.path)
    for task in reading.plan.tasks:
        if over := too_much_of(task, capacity):
            name, why = over
            at = places.find(task, "uses", name)
            hint = f"use less, or set {name} = … in [resources] of the settings"
            yield places.problem(at, f"{task.id} {why}", hint)
