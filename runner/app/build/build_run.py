"""One run with something to do: from the question of trust to what is said at its end."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from runner.app.build.after_run import notify, open_draft_requests
from runner.app.build.engine_setup import Options, run_engine
from runner.app.build.plan_directives import apply_directives
from runner.app.build.run_summary import summary_of
from runner.app.build.saved_file import SavedProposal, make_adopted
from runner.app.build.session import Session
from runner.app.build.suitability import limits_of, require_meant, require_suitable
from runner.app.build.trust_question import require_trust
from runner.app.build.types import BuildResult
from runner.journal.tree_events import ShipReopened
from runner.report.eta import Work
from runner.run.selection import select_ids

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.app.build.types import BuildRequest
    from runner.app.observer import Observer
    from runner.errors import ExitCode
    from runner.journal.state import RunState
    from runner.project import Project, Reading
    from runner.run.review import Asker

_NEW_OBJECTS = 20_000
"""Between two looks for garbage; Python's own 700 cost a sixth of a run's time."""


def run_build(
    project: Project,
    reading: Reading,
    request: BuildRequest,
    observer: Observer,
    asker: Asker | None,
    at_end: Callable[[BuildResult], None],
    *,
    shipped: str,
) -> BuildResult:
    """Build in a session of its own; `shipped` is the tag of the ship that this reopens."""
    _collect_garbage()
    require_trust(project, reading.plan, trusted=request.trusted, asker=asker)
    about = select_ids(request.chosen, reading.graph, reading.graph.ids)
    with Session(project, reading.plan.tasks, (observer.hear,)) as session:
        if session.recovered:
            observer.say(session.recovered)
        if shipped:
            session.ledger.note(ShipReopened(by="person"), durable=True)
        notices = require_suitable(
            session.repository, session.own_documents, allow_dirty=request.allow_dirty
        )
        limits = limits_of(project, reading.plan, terminal=asker is not None)
        for notice in (*notices, *limits):
            observer.say(f"note: {notice}")
        reading = apply_directives(session, reading, observer.say)
        require_meant(session, set(reading.graph.ids), yes=request.removed_meant, asker=asker)
        past = session.ledger.state
        observer.expect(lambda: _make_work(project, reading, about, past))
        options = _make_options(session, request)
        code = run_engine(session, reading, request.chosen, options, observer, asker)
        observer.close()
        open_draft_requests(session, observer.say)
        result = _make_result(session, reading, about, code)
        at_end(result)
    notify(session, result.summary, observer.say)
    return result


def _collect_garbage() -> None:
    """Collect cycles from now on, but seldom, and never walk the plan: a run makes few of them.

    Only where the program began without collecting any, for a quick start.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(_NEW_OBJECTS)
        gc.enable()


def _make_options(session: Session, request: BuildRequest) -> Options:
    saved = request.saved
    return Options(
        fail_fast=request.fail_fast,
        review_insisted=_is_review_off_by_person(session.project),
        reuse=request.reuse,
        adopted=make_adopted(saved, session) if isinstance(saved, SavedProposal) else {},
    )


def _is_review_off_by_person(project: Project) -> bool:
    """Whether the person's own settings, not the repository's, turned review off."""
    source = project.loaded.sources.get("review", "default")
    return source != "default" and not source.startswith(("runner.toml", "pyproject.toml"))


def _make_work(project: Project, reading: Reading, about: frozenset[str], state: RunState) -> Work:
    """What the run is about and how long it took before, to count and to estimate by."""
    graph = reading.graph
    return Work(
        needs={id_: graph.dependencies(id_) for id_ in graph.order() if id_ in about},
        seconds={id_: past for id_ in about if (past := state.task(id_).typical_seconds)},
        jobs=project.settings.jobs,
    )


def _make_result(
    session: Session, reading: Reading, about: frozenset[str], code: ExitCode
) -> BuildResult:
    return BuildResult(
        code=code,
        summary=summary_of(session, reading.plan, code),
        usage=session.manifest.usage,
        reading=reading,
        tasks=tuple(task for task in reading.plan.tasks if task.id in about),
        state=session.ledger.state,
        seconds=session.elapsed,
    )
