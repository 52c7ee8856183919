"""Assemble the engine of a run from a session and a valid plan.

`git.publish_at = "end"`: what a run does with the remote once everything else of it is over.

What moved there meanwhile is taken in, and proven with what was built, before the one push.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.app.build.edited_done_tasks import answer_edits, report_older, restore, take_in_answers
from runner.app.build.forecast import Outlook
from runner.app.build.prepare_tasks import load_allow_list, task_plans
from runner.app.prove.prove_again import prove_before, verify_at_end
from runner.errors import ExitCode, RunnerError, worst
from runner.held_out.workspace import sweep_workspaces
from runner.history.commit_log import Records
from runner.lazy_module import lazy_module
from runner.model import Status, digest_of
from runner.plan.edit import spans_of
from runner.process.sandbox import sandbox_of
from runner.repo.head import OWNERSHIP_MAP
from runner.run import recovery
from runner.run.choose_executor import INLINE, find_executor, make_workers
from runner.run.engine import Engine
from runner.run.interruption import Cancellations, Interruption
from runner.run.journal_writer import begin
from runner.run.landing.moved_branch import PlanConflict, carry_held
from runner.run.landing.status_writer import PlanDocument, StatusWriter, find_differing, statuses_of
from runner.run.limits.budget import RunBudget, limit_run, reopen_raised
from runner.run.outcome_recorder import OutcomeRecorder
from runner.run.outcomes import OutcomeHandler
from runner.run.permission_prompts import PermissionPrompts
from runner.run.preflight import is_obstacle_gone
from runner.run.preparation import Preparation
from runner.run.regressions import regression
from runner.run.regressions.early_cutoff import EarlyCutoff
from runner.run.regressions.proof_reuse import ProofReuse
from runner.run.regressions.trace import Tracer
from runner.run.resource_locks import Agents, ResourceLocks, capacities, load_owned_paths
from runner.run.review import ChangeReview
from runner.run.selection import find_id, select_ids
from runner.run.worker_setup import WorkerSetup
from runner.run.worktree_include import record_included
from runner.text.display import display
from runner.writes.log import WriteLog
from runner.writes.safe_io import read_below
from runner.writes.sast import SastPool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runner.app.build.session import Session
    from runner.app.observer import Observer
    from runner.app.prove.prove_again import FindUntouched, Wakes
    from runner.journal.task_state import HeldWork
    from runner.model import Change, Task
    from runner.project import Reading
    from runner.run.choose_executor import Opened
    from runner.run.landing import publish_at_end
    from runner.run.landing.drafts import Adopted
    from runner.run.landing.publish_at_end import EndLease
    from runner.run.review import Asker
    from runner.run.selection import Selection
    from runner.run.workers import WorkerPool
else:
    publish_at_end = lazy_module("runner.run.landing.publish_at_end")


class Options(Struct, frozen=True):
    """A person's options for this run."""

    fail_fast: bool = False
    inline: bool = False
    """One job in the coordinator's own thread: slower but easier to debug."""
    review_insisted: bool = False
    """Whether the user's own settings turn review off; then control files land unreviewed too."""
    plan_only: bool = False
    """Whether tasks are only planned, not executed."""
    reuse: bool = False
    """Whether recorded bytes land again if they fit, without calling an implementer."""
    rebuild: bool = False
    """Whether a person requests a rebuild of edited tasks, without a prompt."""
    adopted: Mapping[str, Adopted] = field(default_factory=dict)
    """Branches that a person finished, by the task that lands them."""


def run_engine(
    session: Session,
    reading: Reading,
    selection: Selection,
    options: Options,
    observer: Observer,
    asker: Asker | None = None,
) -> ExitCode:
    """Build what is selected; the exit code is also in the journal.

    Where a person interrupts, the books are kept and that is the code. Raises RunnerError for an
    unknown id.
    """
    interruption = Interruption(observer.announce)
    building = _Building(session, reading, selection, options, observer, asker, interruption)
    try:
        return building.run()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


class _Building(Struct, dict=True):
    """One call of `run_engine`: each part is made once, when it is first needed."""

    session: Session
    reading: Reading
    selection: Selection
    options: Options
    observer: Observer
    asker: Asker | None
    interruption: Interruption
    _held_before: dict[str, HeldWork] = field(default_factory=dict)
    """Held work of tasks, from before this run read anything."""
    _built_anew: dict[str, str] = field(default_factory=dict)
    """Tasks that a person has rebuilt in this run, with their reason."""

    def run(self) -> ExitCode:
        """Reconcile with the journal, run the engine and finish; the next run resumes a kill."""
        ids = tuple(task.id for task in self.reading.plan.tasks)
        chosen = select_ids(self.selection, self.reading.graph, ids)
        broken_off = self.session.journal.state.run_open
        _ = self._cluster  # where nobody answers, nothing has begun yet
        self._begin()
        _ = self.board  # it is the last to ask for the text
        self.reading.drop_text()
        self.interruption.insist()
        self.session.on_close(self.interruption.relent)
        with self.interruption.listen():
            try:
                engine = self._engine(chosen, self._reconcile(chosen))
                began = effects.monotonic()
                codes, took = engine.run(), effects.monotonic() - began
                # First: without the branch the whole tree is not proven, and that may take long.
                codes |= self.session.confirm_lease(self.observer.say)
                if note := self._outlook.compare_estimate(self.session.journal.state, took):
                    self.observer.say(note)
                if not self.options.plan_only:
                    codes = codes or self._verify_at_end(engine, owed=broken_off)
                code = worst(set(codes))
            except KeyboardInterrupt:
                self._write_closing_record(ids, ExitCode.INTERRUPTED)
                raise
            return self._write_closing_record(ids, code)

    def _verify_at_end(self, engine: Engine, *, owed: bool) -> frozenset[ExitCode]:
        """Prove the combined state once all tasks are DONE, and return the exit codes."""
        engine.workers.close()  # its scratch trees are used again
        return prove_at_end(
            self.session,
            self.reading.plan.tasks,
            self.board,
            say=self.observer.say,
            wakes=self.interruption.wakes,
            find_untouched=self._tracer.find_untouched,
            owed=owed,
        )

    def _write_closing_record(self, ids: tuple[str, ...], code: ExitCode) -> ExitCode:
        if self._at_home():
            take_in_answers(self.session, self.board)
            restore(self.session, self.board)
        statuses = partial(statuses_of, self.reading.plan.tasks, self.session.journal)
        document = PlanDocument(self.session.project.plan_path, statuses, self.board.edit)
        push = None if self.options.plan_only else partial(publish, self.session, self.observer.say)
        return self.session.write_closing_record(document, ids, code, push)

    def _begin(self) -> None:
        settings, branch = self.session.project.settings, self.session.branch
        chosen = (settings.build.jobs, settings.review.mode, settings.sandbox.kind)
        begin(
            self.session.journal,
            head=branch.commit or "",
            branch=branch.shown,
            plan=digest_of(self.reading.data),
            settings=dict(zip(("jobs", "review", "sandbox"), map(str, chosen), strict=True)),
            included=self._list_included(),
        )

    def _list_included(self) -> tuple[str, ...]:
        """Return the ignored files that this run copies; save their digest on this machine."""
        files, session = self._workshop.included, self.session
        run = session.journal.run
        return record_included(files, run, session.project.places.state) if files else ()

    def _reconcile(self, chosen: frozenset[str]) -> frozenset[str]:
        """Read file, journal and git together; gives the tasks that are only proven again."""
        session, tasks = self.session, self.reading.plan.tasks
        states = session.journal.state.tasks.values()
        self._held_before = {one.id: one.held for one in states if one.held}
        facts, prove_first = session.take_in(tasks)
        self._tidy_held_out()
        report_older(session, tasks, facts, self.observer.say)
        ask = self.interruption.wrap_asker(self.asker).choose if self.asker else None
        say, anew = self.observer.say, self.options.rebuild
        self._built_anew = answer_edits(session, tasks, ask, say, rebuild=anew)
        prove_before(
            *(session, self.reading, chosen, self._named, self.board),
            say=self.observer.say,
            wakes=self.interruption.wakes,
        )
        return prove_first

    def _tidy_held_out(self) -> None:
        """Remove what a killed run left of held-out files: copies, and files that have landed."""
        session = self.session
        if session.held_out is None:
            return
        sweep_workspaces(session.held_out.workspaces)
        for task in self.reading.plan.tasks:
            if task.held_out_files and session.journal.state.task(task.id).status is Status.DONE:
                session.drop_landed(task)

    @cached_property
    def _tasks(self) -> Mapping[str, Task]:
        """The plan's tasks by id: one map for all who ask for them."""
        planned, session = self.reading.plan.tasks, self.session
        return session.by_id if planned is session.tasks else {one.id: one for one in planned}

    @cached_property
    def _named(self) -> frozenset[str]:
        """Ids of the single tasks that were given on the command line."""
        typed = (*self.selection.ids, *self.selection.only)
        return frozenset(find_id(one, self.reading.graph.ids) for one in typed)

    def _engine(self, chosen: frozenset[str], prove_first: frozenset[str]) -> Engine:
        session, plan = self.session, self.reading.plan
        root, settings = session.project.root, session.project.settings
        preparation = self._preparation(prove_first)
        asker = self.interruption.wrap_asker(self.asker) if self.asker else None
        only, here = self.options.plan_only, session.repository
        preparation.plans = task_plans(preparation, here, asker, only=only)
        named = self._named
        within = named if only and named else chosen  # who names one task to plan means no other
        may_go_on = [task for task in plan.tasks if task.id in within]
        is_given = partial(is_obstacle_gone, settings=settings, root=root)
        recovery.reopen(may_go_on, session.journal, named, preparation.find_missing, is_given)
        reopen_raised(may_go_on, session.journal, settings)
        preparation.plans.release(plan.tasks)
        PermissionPrompts(session.journal, asker).release(plan.tasks)
        own, anew = session.own_documents, self._built_anew
        cutting_off = EarlyCutoff(self._tasks, session.journal, session.repository, own, anew)
        cutting_off.begin()
        for id_, row in find_differing(plan.tasks, session.journal).items():
            self.board.say(id_, *row)
        self._outlook = Outlook.of(session.project, self.reading, chosen, session.journal.state)
        workers, settlement = self._make_workers(), self._settlement(preparation)
        settlement.cancelled = workers.ended
        return Engine(
            tasks=self._tasks,
            selected=chosen,
            weight=self._outlook.weigh(session.journal.state),
            journal=session.journal,
            board=self.board,
            workers=workers,
            claims=ResourceLocks(
                capacities(settings.resources),
                load_owned_paths(root, settings.build.id_prefixes),
                Agents.of(settings),
            ),
            preparation=preparation,
            settlement=settlement,
            scans=session.scans,
            head=lambda: session.head().commit or "",
            at_home=lambda: session.head().ref == session.branch.ref,
            graph=self.reading.graph,
            cutting_off=cutting_off,
            edited=self._describe_edit,
            fail_fast=self.options.fail_fast,
            run_until=limit_run(settings, session.began),
            upkeep=(session.ownership.keep_up, session.scans.collect),
        )

    def _preparation(self, prove_first: frozenset[str]) -> Preparation:
        session, plan = self.session, self.reading.plan
        held = dict(recovery.resumable(session.repository, session.journal.state, plan.tasks))
        kept, began_on = dict(held), session.head().commit or ""
        carry_held(held, session.repository, session.journal)

        def carry(id_: str) -> tuple[Change, ...] | None:
            one = {id_: kept[id_]}
            carry_held(one, session.repository, session.journal)
            return one.get(id_)

        regressive = regression.set_apart(held, session.journal, session.let_go)
        terminal, settings = self.asker is not None, session.project.settings
        recovery.release_held(held, session.journal, session.project.root, terminal=terminal)
        return Preparation(
            root=session.project.root,
            settings=settings,
            journal=session.journal,
            patterns=session.patterns,
            plan_title=plan.title,
            plan_path=session.project.plan_path,
            environ=session.project.environ,
            base=lambda: session.head().commit or "",
            allowed=load_allow_list(session.project.root),
            tasks=self._tasks,
            prove_first=prove_first,
            terminal=terminal,
            held=held,
            held_on=began_on,
            carry=carry,
            regressive=regressive,
            adopted=dict(self.options.adopted),
            purse=RunBudget.at(session.journal, settings, self._tasks, self.observer.say),
            recorded=self._records.find if self.options.reuse else None,
            held_out=session.held_out.store if session.held_out else None,
            has_file=session.repository.has_file,
            former=self._records.diff,
        )

    @cached_property
    def _records(self) -> Records:
        """Earlier commits of tasks."""
        return Records(self.session.repository, self.session.own_documents)

    def _settlement(self, preparation: Preparation) -> OutcomeHandler:
        session = self.session
        asker = self.interruption.wrap_asker(self.asker) if self.asker else None
        settlement = OutcomeHandler(
            journal=session.journal,
            lander=session.lander,
            preparation=preparation,
            settings=session.project.settings,
            books=OutcomeRecorder(
                journal=session.journal,
                repository=session.repository,
                staging=session.staging,
                write_log=WriteLog(session.project.root),
                next_decision=session.decisions.next_number,
                applied=preparation.applied,
                held_before=self._held_before,
                decided=session.decided,
                observe=self._tracer.observe,
                drop_held_out=session.drop_landed,
            ),
            review=ChangeReview(session.journal, asker, insisted=self.options.review_insisted),
            edited=self._describe_edit,
            say=self.observer.say,
            standing=ProofReuse(self._tracer.why_not_standing, self._tracer.why_not_contracts),
        )
        if session.lease is not None:
            session.lease.on_loss = settlement.halt
        return settlement

    def _make_workers(self) -> WorkerPool:
        session, settings = self.session, self.session.project.settings
        inline = self.options.inline or settings.cluster.executor == INLINE
        workers = make_workers(
            self._cluster, settings.build.jobs, self._workshop.site, inline=inline
        )
        workers.tracer = self._tracer.trace
        session.lander.outdated = self._tracer.is_outdated
        self.interruption.wakes(workers.interrupt)
        session.on_close(workers.close)
        cancellations = Cancellations(session.project.cache, workers.cancel_task)
        session.on_close(cancellations.close)
        cancellations.listen()
        return workers

    @cached_property
    def _workshop(self) -> WorkerSetup:
        """Factory of the worker slots of this run."""
        session, settings = self.session, self.session.project.settings
        sast = SastPool()
        session.on_close(sast.close)
        sandbox = sandbox_of(settings, session.project.environ)
        if session.held_out is not None and not sandbox.encloses:
            self.observer.say("note: held-out files are not hidden: there is no sandbox")
        return WorkerSetup(
            root=session.project.root,
            repository=session.repository,
            cache=session.project.cache,
            settings=settings,
            sandbox=sandbox,
            environ=session.project.environ,
            say=self.observer.progress,
            sast=sast,
            held_out=session.held_out,
        )

    @cached_property
    def _cluster(self) -> Opened | None:
        """The cluster that the person's settings name, if they do."""
        session, project = self.session, self.session.project
        kind = find_executor(project.settings)
        if kind is None:
            return None
        opened = kind.open_cluster(
            project.loaded, session.repository, project.environ, self.observer.say
        )
        session.on_close(opened.executor.shutdown)
        return opened

    @cached_property
    def _tracer(self) -> Tracer:
        """Tracer that finds the tests a change may break."""
        session = self.session
        return Tracer(
            repository=session.repository,
            cache=session.project.cache,
            tasks=self._tasks,
            journal=session.journal,
            settings=session.project.settings,
            owners=lambda: read_below(session.project.root, OWNERSHIP_MAP),
            say=self.observer.say,
            environ=session.project.environ,
        )

    @cached_property
    def _meanwhile(self) -> PlanConflict:
        """Monitor of edits to the plan during the run."""
        project = self.session.project
        path, note = project.root / project.plan_path, self.session.journal.note
        return PlanConflict(path, self.board.is_ours, project.plan, note)

    def _describe_edit(self, task: Task) -> str:
        """Describe how a person edited a task during the run; empty on another branch."""
        how = self._meanwhile.describe_edit(task)
        return how if how and self._at_home() else ""

    def _at_home(self) -> bool:
        return self.session.repository.head().ref == self.session.branch.ref

    @cached_property
    def board(self) -> StatusWriter:
        """Writer of statuses into the plan; it knows their positions in the text just read."""
        project, reading = self.session.project, self.reading
        known = {reading.data: spans_of(reading.plan, reading.graph.places)}
        return StatusWriter(
            project.root / project.plan_path, project.settings.build.id_prefixes, known
        )


def prove_at_end(
    session: Session,
    tasks: Sequence[Task],
    board: StatusWriter,
    *,
    say: Callable[[str], None],
    wakes: Wakes,
    find_untouched: FindUntouched,
    owed: bool,
) -> frozenset[ExitCode]:
    """Prove together what was accepted one by one, on the remote's tip where that is published."""
    lease, is_merged = _find_end(session), False
    if lease is not None:
        codes, is_merged = _take_in(session, lease, say)
        if codes:
            return codes
    return verify_at_end(
        session,
        tasks,
        board,
        say=say,
        wakes=wakes,
        find_untouched=find_untouched,
        owed=owed,
        merged=is_merged,
    )


def _find_end(session: Session) -> EndLease | None:
    """Return the session's lease if it publishes with a single push at the end, else None."""
    lease = session.lease
    return lease if lease is not None and isinstance(lease, publish_at_end.EndLease) else None


def _take_in(
    session: Session, lease: EndLease, say: Callable[[str], object]
) -> tuple[frozenset[ExitCode], bool]:
    """Merge what moved in the remote; the codes that then hold, and whether all is proven anew."""
    repository = session.repository
    plan = session.project.root / session.project.plan_path
    # A merge may bring a different plan: results of this build don't apply to it.
    before = plan.read_bytes()
    try:
        tip = lease.look_again()
        if publish_at_end.join(repository, lease.name, lease.branch, tip):
            merged = f"has new commits, merged up to {tip[:12]}; everything is re-tested"
            say(f"{display(lease.name)} {merged}")
        is_merged = publish_at_end.has_merges(repository, tip)
    except RunnerError as error:
        say(f"note: {error.message}; nothing was published. hint: {error.hint}")
        return frozenset({error.code}), False
    if plan.read_bytes() != before:
        say(f"note: the plan in {display(lease.name)} has changed: run again to build it")
        return frozenset({ExitCode.CONFLICT}), False
    return frozenset(), is_merged


def publish(session: Session, say: Callable[[str], object], code: ExitCode) -> ExitCode:
    """Push what was built, where all of it was; the exit code that then holds."""
    lease = _find_end(session)
    if lease is None:
        return code
    here = session.repository.find_head()
    if here.ref != session.branch.ref:
        return code  # a person went elsewhere meanwhile
    if code is not ExitCode.OK:
        say(f"note: nothing was published: finished work stays on {here.branch}")
        return code
    try:
        # Remote first: until it moves, a kill leaves nothing that looks published.
        lease.publish(here.commit or "")
    except RunnerError as error:
        say(f"note: {error.message}; finished work is on {here.branch}. hint: {error.hint}")
        return ExitCode.CONFLICT
    whose = f"{display(lease.branch)} of {display(lease.name)}"
    say(f"published: {whose} is at {(here.commit or '')[:12]}")
    if why := publish_at_end.return_to_branch(session.repository):
        say(f"note: {why}")
    return code
