"""Build the opened project, or return the dry run, or find that nothing is left to do.

The last is answered before what a run needs is imported: most runs of a day end there.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from runner.app.build.build_request import NothingToDo, Preview
from runner.app.build.done_before_run import all_done, find_missing, may_hold_commands, require_open
from runner.app.prove.verified_tree import (
    find_unverified_tasks,
    find_verification,
    format_unverified,
)
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.repo.head import UNPUBLISHED

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.app.build import build_branch, build_run, forecast, saved_proposal, test_author
    from runner.app.build.build_request import BuildRequest, BuildResult
    from runner.app.inspect import validation
    from runner.app.observer import Observer
    from runner.project import Project, Reading
    from runner.run import waivers
    from runner.run.review import Asker
else:
    waivers = lazy_module("runner.run.waivers")
    validation = lazy_module("runner.app.inspect.validation")
    forecast = lazy_module("runner.app.build.forecast")
    build_run = lazy_module("runner.app.build.build_run")
    saved_proposal = lazy_module("runner.app.build.saved_proposal")
    test_author = lazy_module("runner.app.build.test_author")
    build_branch = lazy_module("runner.app.build.build_branch")


def find_nothing_to_do(project: Project, request: BuildRequest) -> NothingToDo | None:
    """Return why a run would change nothing, or None; does not open the repository.

    But for a lease that a killed run left in the remote: that is given back then.
    """
    if request.saved or request.selection.named or request.reopen or request.always:
        return None
    if (project.head().branch or "").startswith(UNPUBLISHED) and project.settings.git.publish:
        return None  # what was built there is still to be pushed
    if not _is_all_done(project):
        return None
    tasks, state = project.outline().tasks, project.state()
    known = find_verification(project, state, project.head().commit or "")
    found = find_unverified_tasks(project, tasks, state)
    notes = (known.note, format_unverified(found) if found else "")
    left = build_branch.release_leftover_lease(project) if project.settings.git.publish else ""
    return NothingToDo(known.code, len(tasks), tuple(filter(None, (*notes, left))))


def build(
    project: Project,
    request: BuildRequest,
    observer: Observer,
    asker: Asker | None = None,
    at_end: Callable[[BuildResult], None] = lambda _result: None,
) -> BuildResult:
    """Build what is asked for. Raises RunnerError where that cannot begin.

    `at_end` is called once the books are closed, before the lock is given back and a person is
    notified that they are needed.
    """
    if request.rebuild:
        _require_person(project, meant=request.removed_meant)
    # A finished plan builds nothing, whatever the request: such a run reopens no ship.
    finished = _is_all_done(project) and not request.reopen
    project.drop_outline()  # of a long plan it is a third of what a run holds
    reading = validation.read_sound_plan(project, observer)
    if request.saved is not None:
        look = partial(forecast.foresee, project, reading, request.chosen)
        saved_proposal.require_unmoved(request.saved, project, reading, look)
    shipped = "" if finished else require_open(project, reopen=request.reopen)
    tried: frozenset[str] = frozenset()
    while True:
        due = _find_due_authors(project, reading, request, tried)
        if due:
            tried |= due
            test_author.write_missing_tests(project, reading, request, due, observer, asker)
            reading = validation.read_sound_plan(project, observer)
        result = build_run.run_build(
            project, reading, request, observer, asker, at_end, shipped=shipped
        )
        # Tests are written once all dependencies are DONE; then the task is built.
        reading, shipped = result.reading, ""
        over = result.code is ExitCode.INTERRUPTED
        if over or not _find_due_authors(project, reading, request, tried):
            return result
        reading = validation.read_sound_plan(project, observer)


def _find_due_authors(
    project: Project, reading: Reading, request: BuildRequest, tried: frozenset[str]
) -> frozenset[str]:
    """Return the selected tasks whose separate test author can start."""
    if not any(task.test_author for task in reading.plan.tasks):
        return frozenset()
    return test_author.find_due(project, reading, request, tried)


def _require_person(project: Project, *, meant: bool) -> None:
    """Raise RunnerError unless a person approves, or CI passed the confirming flag."""
    why = waivers.why_no_person(project.environ)
    if why is None or (why.ci and meant):
        return
    raise RunnerError(
        f"--rebuild needs a person: {why.text}",
        hint="in CI: runner --rebuild --yes" if why.ci else "ask a person to run it",
        code=ExitCode.PERSON,
    )


def preview(project: Project, request: BuildRequest, observer: Observer) -> Preview:
    """Return a preview of a run without running or writing anything. Raises RunnerError."""
    reading, selection = validation.read_sound_plan(project, observer), request.chosen
    seen = forecast.foresee(project, reading, selection)
    if request.saved is not None:
        saved_proposal.require_unmoved(request.saved, project, reading, lambda: seen)
    return Preview(reading, selection, seen)


def _is_all_done(project: Project) -> bool:
    """Return whether plan and journal agree that every task is DONE and nothing is missing."""
    state = project.state()
    if not all_done(project, state) or may_hold_commands(project.plan_bytes):
        return False
    return not find_missing(state, {task.id for task in project.outline().tasks})
