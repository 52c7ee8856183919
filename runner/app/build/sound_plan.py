"""The plan that a run begins with: nothing is wrong in it, and what is doubtful has been said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.build.discovered_gates import take_up_default_gates
from runner.app.inspect.plan_warnings import unready
from runner.app.inspect.validation import find_unknown_implementers
from runner.errors import RunnerError
from runner.plan.diagnostic import render
from runner.text.wording import plural

if TYPE_CHECKING:
    from runner.app.observer import Observer
    from runner.project import Project, Reading


def read_sound_plan(project: Project, observer: Observer) -> Reading:
    """The plan, with the gates that the repository declares taken up.

    Raises RunnerError with all its mistakes together where it has any that stop everything.
    """
    take_up_default_gates(project)
    for note in project.loaded.notes:
        observer.say(f"note: {note}")
    reading = project.check()
    errors = [problem for problem in reading.problems if problem.stops_all]
    if errors:
        text = "\n\n".join(render(problem) for problem in errors)
        count = plural(len(errors), "mistake")
        raise RunnerError(f"the plan has {count}; nothing has run", detail=text)
    for mistake in (problem for problem in reading.problems if problem.is_error):
        observer.say(render(mistake))  # of a task that is BLOCKED when its turn comes
    if warnings := sum(not problem.is_error for problem in reading.problems):
        observer.say(f"the plan has {plural(warnings, 'warning')}: runner validate")
    for unknown in find_unknown_implementers(reading):  # before anybody is asked to trust the rest
        observer.say(render(unknown))
    for problem in unready(reading, project.settings):
        observer.say(f"{problem.path}:{problem.line}: {problem.message}\n  hint: {problem.hint}")
    return reading
