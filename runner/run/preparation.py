"""Prepare an attempt: missing requirements, the implementer, and the full assignment."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.config.paths import Places
from runner.config.stack import detect_stack
from runner.context.brief import Brief, Parts, compose_brief, open_since
from runner.context.gather import surroundings_at
from runner.context.patterns import PatternSearch, match_patterns
from runner.gates.mutation.red_first import wants_red_first
from runner.held_out.part import AuthorTests, list_visible, needs_author, split_task
from runner.held_out.store import NOT_WRITTEN, repair_hint
from runner.implementers.base import Allowance, Mode
from runner.implementers.registry import choose, next_model
from runner.journal.events import ModeSwitched
from runner.model import Ending, Finding, Reason, ReviewMode
from runner.model.words import HELD_OUT_MISSING as MISSING
from runner.plan.task_types import classify
from runner.run.limits.failure_policy import count_worked
from runner.run.permission_prompts import answers_of, without_private
from runner.run.planned.phases import Step, files_of_plan, format_plan, plan_of
from runner.run.preflight import find_lacking
from runner.run.proof_sufficiency import stands_on_words
from runner.run.review import WHOLE_RUN, mode_for
from runner.run.reviewers import diff_of, find_no_auto, without_reviewer
from runner.run.worker_assignment import Assignment, RecordedWork
from runner.text.wording import join_few
from runner.writes.pipeline import WriteRules
from runner.writes.project_compile import CompileCommand

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.context.gather import GatheredContext
    from runner.context.patterns import MatchedPattern
    from runner.held_out.part import HeldOutPart
    from runner.held_out.store import HeldOutStore
    from runner.implementers.base import Implementer
    from runner.journal.task_state import TaskState
    from runner.model import Change, Outcome, Task
    from runner.plan.patterns import PatternIndex
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing.drafts import Adopted
    from runner.run.limits.budget import RunBudget
    from runner.run.planned.task_plans import TaskPlans
    from runner.secrets.allowlist import AllowList


_UNREAD = ("blocks", "check")
"""Implementers that ignore the brief's text."""
_NO_PROGRAMS = ("model",)
"""Implementers without an environment in which variables could name files."""


class Preparation(Struct, dict=True):
    """Makes assignments; asks the journal and the plan, never the implementer."""

    root: Path
    settings: Settings
    journal: JournalWriter
    patterns: PatternIndex
    plan_title: str
    plan_path: str
    environ: Mapping[str, str]
    base: Callable[[], str]
    """Returns the commit on which work currently starts."""
    allowed: AllowList | None = None
    """False positives of the secret scan that a person allowed, read once at the start."""
    tasks: Mapping[str, Task] = field(default_factory=dict)
    """All tasks of the plan by ID."""
    prove_first: frozenset[str] = frozenset()
    """Tasks with only an edited proof: tested as they are before any implementation."""
    terminal: bool = False
    """Whether a person can be prompted now."""
    edits: dict[str, tuple[Change, ...]] = field(default_factory=dict)
    """A person's edits of a proposal: the base of the task's next attempt."""
    applied: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """IDs of the patterns in each task's brief."""
    released: set[str] = field(default_factory=set)
    """Tasks whose held work continues: its ref is removed once it has landed."""
    held: dict[str, tuple[Change, ...]] = field(default_factory=dict)
    """Proven work of earlier runs that may land now, each tried once."""
    held_on: str = ""
    """Commit to which held work was moved when the run began."""
    carry: Callable[[str], tuple[Change, ...] | None] | None = None
    """Moves a task's held work to the current branch; None if others changed it."""
    regressive: dict[str, tuple[Change, ...]] = field(default_factory=dict)
    """Held changes that break other tasks: once approved, they land together."""
    switch: set[str] = field(default_factory=set)
    """Tasks whose review a person at the terminal delegated in this run, or `WHOLE_RUN`."""
    adopted: dict[str, Adopted] = field(default_factory=dict)
    """Branches that a person finished: proven and landed as they are, without implementer."""
    purse: RunBudget | None = None
    """Usage of the run so far and all remaining budgets; None without budgets."""
    recorded: Callable[[Task, str], RecordedWork] | None = None
    """Accepted bytes of earlier landings that fit a task on a base; for `run --reuse`."""
    plans: TaskPlans | None = None
    """Next step of tasks that are planned first; None without planning or execution."""
    held_out: HeldOutStore | None = None
    """Store of held-out files; None if the plan has none."""
    has_file: Callable[[str, str], bool] = lambda _commit, _path: False
    """Whether a commit has a path: an existing held-out file has landed."""
    former: Callable[[str], str] | None = None
    """Returns a commit's diff: the earlier work of a task that is rebuilt."""
    _given: dict[str, tuple[Change, ...]] = field(default_factory=dict)
    """Held work that is tried in this run."""
    _chosen: dict[str, tuple[Task, Implementer | Finding]] = field(default_factory=dict)
    """Implementer of each task, read many times in every attempt."""
    _reused: set[str] = field(default_factory=set)
    _drafts: dict[str, str] = field(default_factory=dict)
    _held_out_paths: frozenset[str] | None = None
    _modes: dict[str, str] = field(default_factory=dict)
    """Last mode of each task: `plan`, `build` or `phase`."""
    _searches: dict[str, PatternSearch] = field(default_factory=dict)

    @cached_property
    def _stack(self) -> frozenset[str]:
        return detect_stack(self.root).words

    def find_missing(self, task: Task) -> tuple[Reason, str] | None:
        """Return the missing requirement of a task as a reason code and a note, or None."""
        builds = not self.journal.state.task(task.id).reuse
        unable = find_lacking(task, self.settings, self.environ, self.root, implements=builds)
        # If everything must be proven, it may not be based on unproven work.
        why = stands_on_words(task, self.tasks, self.journal.state, self.settings)
        return (
            unable
            or ((Reason.PROOF, why) if why else None)
            or self._find_missing_files(task, builds=builds)
            or self._check_reviewable(task)
            or self._check_budget(task)
        )

    def _find_missing_files(self, task: Task, *, builds: bool) -> tuple[Reason, str] | None:
        """Return why held-out tests are not available: unwritten, missing or changed, or None."""
        if builds and needs_author(task):
            return Reason.TEST_AUTHOR, NOT_WRITTEN
        base = self.base()
        _, part = self._split(task, base)
        visible = (one for one in list_visible(task) if not self.has_file(base, one.path))
        lacking = replace(task, held_out_files=(*part.files, *visible))
        missing = self.held_out.find_missing(lacking) if self.held_out else lacking.held_out_files
        if not missing:
            return None
        names = join_few([one.path for one in missing])
        verb = "is" if len(missing) == 1 else "are"
        what = f"held-out {names} {verb} not on this machine"
        return Reason.HELD_OUT, f"{what}: {repair_hint(task.id, missing)}"

    def require_held_out(self, task: Task, outcome: Outcome) -> Outcome:
        """Return the outcome, blocked unless every held-out contract ran."""
        if outcome.ending is not Ending.PASSED or not task.held_out_contracts:
            return outcome
        carried = {change.path for change in outcome.changes}
        _, part = split_task(
            task, lambda path: path in carried or self.has_file(outcome.base, path)
        )
        ran = {one.id for one in outcome.proofs if one.held_out}
        lacking = [one.id for one in part.contracts if one.id not in ran]
        if not lacking:
            return outcome
        message = f"held-out {join_few(lacking)} did not run, so the task cannot land"
        found = Finding(
            MISSING, message, hint=f"runner hold-out --check; then: runner retry {task.id}"
        )
        return replace(
            outcome,
            ending=Ending.BLOCKED,
            reason=Reason.HELD_OUT,
            findings=(*outcome.findings, found),
        )

    def has_survivors(self, task: Task, outcome: Outcome) -> bool:
        """Return whether surviving mutants go to the test author; at most once."""
        if self.held_out is None or self.journal.state.task(task.id).mutants_returned:
            return False
        return bool(self.held_out.read_survivors(task.id, outcome.tree))

    def _split(self, task: Task, base: str) -> tuple[Task, HeldOutPart]:
        """Split the task into its visible and its held-out part on a base."""
        return split_task(task, lambda path: self.has_file(base, path))

    def _read_visible(self, task: Task, base: str) -> AuthorTests:
        if self.held_out is None:
            return AuthorTests()
        return self.held_out.read_visible(task, lambda path: self.has_file(base, path))

    def _list_held_out(self) -> frozenset[str]:
        """Return all held-out files of the plan that have not landed."""
        if self._held_out_paths is None:
            found = (file.path for task in self.tasks.values() for file in task.held_out_files)
            self._held_out_paths = frozenset(found)
        base = self.base() if self._held_out_paths else ""
        return frozenset(one for one in self._held_out_paths if not self.has_file(base, one))

    def _check_reviewable(self, task: Task) -> tuple[Reason, str] | None:
        """Return why nobody could review it, before anybody is paid for it."""
        why = without_reviewer(self.review_mode(task), self.settings, self._worker(task))
        return (Reason.TOOL, why) if why else None

    def _check_budget(self, task: Task) -> tuple[Reason, str] | None:
        """Return the exhausted budget of a task, or None; proofs alone need no budget."""
        if self.purse is None or task.id in self.held or task.id in self.adopted:
            return None
        used = self.purse.find_exhausted(task, self.journal.state.task(task.id))
        return (Reason.BUDGET, f"used {used}") if used else None

    def implementer(self, task: Task) -> Implementer | Finding:
        """Return the implementer of a task, or a finding if there is none."""
        known = self._chosen.get(task.id)
        if known is None or known[0] is not task:
            known = self._chosen[task.id] = (task, choose(task, self.settings))
        return known[1]

    def review_mode(self, task: Task) -> ReviewMode:
        """Return the review mode of the task's writes."""
        asked = self.is_asked(task) and not self.switch.isdisjoint((task.id, WHOLE_RUN))
        if asked and not self.why_not_auto(task):
            return ReviewMode.AUTO
        return mode_for(task, self._worker(task), self.settings, terminal=self.terminal)

    def is_asked(self, task: Task) -> bool:
        """Return whether a person approves the task's writes, with waivers of this run applied."""
        mode = mode_for(task, self._worker(task), self.settings, terminal=self.terminal)
        return mode is ReviewMode.PROMPT

    def why_not_auto(self, task: Task) -> str:
        """Return why a person cannot delegate its reviews; empty if they can."""
        return find_no_auto(task, self.settings, self._worker(task))

    def _worker(self, task: Task) -> Implementer | None:
        chosen = self.implementer(task)
        return None if isinstance(chosen, Finding) else chosen

    def assignment(self, task: Task) -> Assignment:
        """Create the assignment for the next attempt at a task."""
        attempt = self.journal.state.task(task.id).last_attempt + 1
        if (own := self.adopted.get(task.id)) is not None:
            return self.make_carried(task, own.changes, self.base(), attempt)
        held = self.held.pop(task.id, None)
        if held is not None and self.carry is not None and self.base() != self.held_on:
            held = self.carry(task.id)
            attempt = self.journal.state.task(task.id).last_attempt + 1
        if held is not None:
            self._given[task.id] = held
            self.released.add(task.id)
            return self.make_carried(task, held, self.base(), attempt)
        known = self.journal.state.task(task.id)
        if (task.id in self.prove_first or known.reuse) and not known.attempts_in_row:
            return self.make_carried(task, (), self.base(), attempt)
        if (again := self._find_recorded(task)).changes:
            carried = self.make_carried(task, again.changes, self.base(), attempt)
            return replace(carried, rows=again.rows)
        if named := next_model(task, self.settings, count_worked(known.tries)):
            task = replace(task, model=named)
        chosen = self.implementer(task)
        implementer = None if isinstance(chosen, Finding) else chosen
        base = self.base()
        step = self.plans.step(task, base) if self.plans else Step()
        number = -(known.plan_sessions + 1) if step.mode is Mode.PLAN else attempt
        named, new = getattr(implementer, "name", ""), known.spec is None
        shown, held_out = self._split(task, base)
        return Assignment(
            task=shown,
            held_out=held_out,
            author_tests=AuthorTests()
            if step.mode is Mode.PLAN
            else self._read_visible(task, base),
            attempt=number,
            base=base,
            brief=self._brief_for(chosen, shown, abs(number), step),
            implementer=implementer,
            author=named,
            left=self.purse.allowance(task, known) if self.purse else Allowance(),
            mode=step.mode,
            plan=step.plan,
            phase=step.phase,
            reviewed=self._is_seen(task),
            by_person=self.is_by_person(task),
            revised=_is_revised(task, self.journal.state.task(task.id)),
            red_first=wants_red_first(shown, self.settings, named, is_new_work=new),
            again=_was_tried(known),
            carried=() if step.mode is Mode.PLAN else self.edits.get(task.id, step.carried),
            review=step.review or self.review_mode(task),
            rules=self.write_rules(task, number, files_of_plan(step.plan)),
            secrets=tuple(self.settings.secrets_for(task, self.environ).items()),
        )

    def find_mode_switch(self, assignment: Assignment) -> ModeSwitched | None:
        """Return the event of a task's mode switch, such as from planning to building, or None."""
        mode, id_ = assignment.kind, assignment.task.id
        if mode == "prove":  # nobody works on it
            return None
        before = self._modes.get(id_, "plan" if assignment.plan and mode != "plan" else mode)
        self._modes[id_] = mode
        return ModeSwitched(mode) if mode != before else None

    def retry_held(self, task: Task) -> None:
        """Schedule held work that a failed attempt tried for another try instead of a rebuild."""
        if task.id in self._given and self.journal.state.task(task.id).held is not None:
            self.held[task.id] = self._given[task.id]

    def forget_landed(self, task: Task) -> None:
        """Delete what was saved of a task's phases."""
        if self.plans is not None:
            self.plans.forget_landed(task)

    def _is_seen(self, task: Task) -> bool:
        """Return whether a person wrote the task's work in plan blocks, or reviews it."""
        chosen = self.implementer(task)
        written = not isinstance(chosen, Finding) and chosen.name in _UNREAD
        return written or self.review_mode(task) is ReviewMode.PROMPT

    def is_by_person(self, task: Task) -> bool:
        """Return whether a person wrote the task's work, in the plan or on a branch."""
        chosen = self.implementer(task)
        written = not isinstance(chosen, Finding) and chosen.name in _UNREAD
        return written or task.id in self.adopted

    def _find_recorded(self, task: Task) -> RecordedWork:
        """Return earlier landed work that fits now, tried only once."""
        if self.recorded is None or task.id in self._reused:
            return RecordedWork()
        self._reused.add(task.id)
        return self.recorded(task, self.base())

    def make_carried(
        self, task: Task, changes: tuple[Change, ...], base: str, attempt: int
    ) -> Assignment:
        """Return an assignment to prove existing changes on `base` without an implementer."""
        # A replay, or `--reuse`: the files landed with these changes.
        landed = frozenset(one.path for one in changes) & {one.path for one in task.held_out_files}
        shown, held_out = split_task(task, lambda path: path in landed or self.has_file(base, path))
        rules = self.write_rules(task, attempt)
        if landed:
            outputs = (*rules.outputs, *sorted(landed))
            rules = replace(rules, outputs=outputs, held_out=rules.held_out - landed)
        known, author = self.journal.state.task(task.id), self._author(task)
        asks = bool(changes) and task.id not in self.adopted
        new = known.spec is None
        return Assignment(
            task=shown,
            held_out=held_out,
            author_tests=self._read_visible(task, base),
            attempt=attempt,
            base=base,
            brief=self._brief_for(None, shown, attempt),
            implementer=None,
            author=author,
            carried=changes,
            # As for the attempt that made them: a person's answer refers to this question.
            red_first=asks and wants_red_first(shown, self.settings, author, is_new_work=new),
            again=_was_tried(known),
            review=self.review_mode(task),
            reviewed=self._is_seen(task),
            by_person=self.is_by_person(task),
            revised=_is_revised(task, known),
            rules=rules,
            secrets=tuple(self.settings.secrets_for(task, self.environ).items()),
        )

    def _author(self, task: Task) -> str:
        """Return the author of existing work; empty if a person finished it."""
        return "" if task.id in self.adopted else getattr(self.implementer(task), "name", "")

    def _brief_for(
        self,
        implementer: Implementer | Finding | None,
        task: Task,
        attempt: int,
        step: Step | None = None,
    ) -> Brief:
        """Return the brief, without its text if the implementer does not read it."""
        if isinstance(implementer, Finding) or getattr(implementer, "name", "check") in _UNREAD:
            return self._make_unread_brief(task, attempt)
        return self.brief(task, attempt, step)

    def _make_unread_brief(self, task: Task, attempt: int) -> Brief:
        """Return a brief without text, for the journal only."""
        patterns, kind = self._match_patterns(task), str(classify(task))
        searched = self._describe_search(task)
        return Brief(task, attempt, (), patterns, "", "", kind=kind, searched=searched)

    def _describe_search(self, task: Task) -> tuple[str, ...]:
        """Return the pattern search of a task as text."""
        return self._search(task).describe(self.patterns)

    def _search(self, task: Task) -> PatternSearch:
        if task.id not in self._searches:
            self._searches[task.id] = PatternSearch.of(self.patterns, task, self._stack)
        return self._searches[task.id]

    def _match_patterns(self, task: Task) -> tuple[MatchedPattern, ...]:
        """Return the patterns that match a task, and record their IDs."""
        patterns = match_patterns(self.root, self.patterns, self._search(task))
        self.applied[task.id] = tuple(pattern.id for pattern in patterns)
        return patterns

    def brief(self, task: Task, attempt: int, step: Step | None = None) -> Brief:
        """Return the brief for the task's implementer; by default of what a run would do next."""
        known = self.journal.state.task(task.id)
        patterns = self._match_patterns(task)
        parts = Parts(
            task,
            attempt,
            findings=without_private(known.findings),
            patterns=patterns,
            previous=self._drafts.get(task.id, ""),
            former=self.former(known.commit) if self.former and known.commit else "",
            plan_title=self.plan_title,
            dependencies=tuple((id_, self._title(id_)) for id_ in task.depends_on),
            gates=self.settings.gates_for(task.type),
            coverage=self.settings.proof.coverage,
            around=self._surroundings(task, patterns, step),
            plan=format_plan(self.journal.state, task, step),
            since=open_since(known.tries),
            searched=self._describe_search(task),
            has_variables=getattr(self.implementer(task), "name", "") not in _NO_PROGRAMS,
        )
        return compose_brief(
            parts,
            tokens=self.settings.agent.context_tokens,
            known_secrets=tuple(self.settings.secrets_for(task, self.environ).values()),
            failed=len(known.tries),
        )

    def _title(self, id_: str) -> str:
        return self.tasks[id_].title if id_ in self.tasks else ""

    def forget(self, task: Task) -> None:
        """Forget the last proposal, so that the next attempt starts over."""
        self._drafts.pop(task.id, None)

    def _surroundings(
        self, task: Task, patterns: tuple[MatchedPattern, ...], step: Step | None
    ) -> GatheredContext:
        """Gather tests, files, skills and decisions from the attempt's base commit."""
        planned = plan_of(self.journal.state, task)
        approved = planned.plan if planned is not None and planned.approved else None
        return surroundings_at(
            self.root,
            self.base(),
            task,
            self.settings,
            patterns=patterns,
            plan=step.plan if step is not None else approved,
            cache=Places.of(self.environ).repository_cache(self.root),
        )

    def remember(self, outcome: Outcome, before: Callable[[str], bytes | None]) -> None:
        """Save the proposal of a failed attempt for the next one."""
        if not outcome.changes:  # a broken connection: what was there before is still to be mended
            return
        parts = [part for change in outcome.changes for part in diff_of(change, before)]
        self._drafts[outcome.task] = "".join(parts)

    def write_rules(
        self, task: Task, attempt: int, planned: tuple[str, ...] | None = None
    ) -> WriteRules:
        """Return the rules for the writes of an attempt."""
        given = tuple(path for path, _ in self._read_visible(task, self.base()).files)
        return WriteRules(
            run=self.journal.run,
            task=task.id,
            attempt=attempt,
            outputs=(*task.outputs, *given),
            planned=None if planned is None else (*planned, *given),
            plan=self.plan_path,
            permission=self.settings.permission,
            permission_floor=self.settings.floor.permission,
            answers=answers_of(self.journal.state, task),
            reviewed=self.review_mode(task) is ReviewMode.PROMPT,
            allowed=self.allowed,
            compile_commands=tuple(CompileCommand(*one) for one in self.settings.compile),
            held_out=self._list_held_out().difference(given),
        )


def _is_revised(task: Task, known: TaskState) -> bool:
    """Return whether the task's request changed after it landed."""
    edited = known.spec is not None and known.spec.what != task.spec.what
    return edited or "change" in known.changed


def _was_tried(known: TaskState) -> bool:
    """Return whether a task may have landed before."""
    return known.spec is not None or known.last_attempt > 0
