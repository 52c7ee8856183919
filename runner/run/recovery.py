"""Recover at the start of a run: finish interrupted work, read plan, journal and git."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.journal.events import (
    StatusesPublished,
    TaskApproved,
    TaskDone,
    TaskReopened,
)
from runner.lazy_module import lazy_module
from runner.model import Reason, Spec, Status
from runner.plan.globs import is_glob
from runner.run import waivers
from runner.run.dependents import fields_since
from runner.run.landing import (
    drafts,
)
from runner.run.landing.lander import complete_landing
from runner.run.landing.own_lines import entries_of
from runner.run.limits.failure_policy import may_be_met
from runner.run.outdated_plan import OlderText, find_reverts, is_undone, make_take_back_test
from runner.run.proof.unverified_bytes import filter_truthful_messages, find_landed_changes
from runner.run.reconcile import Facts, LandedTask, Presence, behind, own_readings
from runner.run.review import after_refusal, is_open, refusals, rejection
from runner.writes.safe_io import in_the_way

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from runner.journal import evidence
    from runner.journal.session_events import TaskWaived
    from runner.journal.state import RunState
    from runner.journal.task_state import HeldWork, TaskState
    from runner.model import Change, Task
    from runner.model.task import PlannedTask
    from runner.repo.landed_commits import LandedCommit
    from runner.repo.read import Repository
    from runner.repo.trees import TreeChange
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing.lander import Lander
    from runner.run.outdated_plan import PlanFile
else:
    evidence = lazy_module("runner.journal.evidence")


def recover(lander: Lander, journal: JournalWriter) -> str:
    """Finish a landing that a crash interrupted, before anything else; gives a line to show."""
    record = journal.state.landing
    if record is None:
        return ""
    landed = complete_landing(lander, record)
    if landed is None:
        return f"{record.task} had not landed when the last run ended: running it again"
    known = journal.state.task(record.task)
    if known.tried is not None:
        journal.note(
            TaskDone(
                spec=known.tried,
                commit=landed.commit,
                tree=landed.tree,
                proofs=known.passed.proofs if known.passed else (),
                patterns=known.patterns,
                note=_format_kept(landed.late),
                unproven=known.passed.unproven if known.passed else "",
            ),
            task=record.task,
            attempt=record.attempt,
            durable=True,
        )
    return f"{record.task} had landed when the last run ended: finished as {landed.commit[:12]}"


def finish_landed(journal: JournalWriter) -> None:
    """Record tasks as DONE whose commit is on the branch but whose DONE a crash prevented."""
    for id_, known in tuple(journal.state.tasks.items()):
        # The records come in the order landing, landed, done, each durable before the next:
        # IN-PROGRESS with a landing means a crash between the last two, and the tree needs no
        # change.
        if known.landed is not None and known.status is Status.IN_PROGRESS and known.tried:
            journal.note(
                TaskDone(
                    spec=known.tried,
                    commit=known.landed.commit,
                    tree=known.landed.tree,
                    proofs=known.passed.proofs if known.passed else (),
                    patterns=known.patterns,
                    note=_format_kept(known.landed.late),
                    unproven=known.passed.unproven if known.passed else "",
                ),
                task=id_,
                attempt=known.landed.attempt,
                durable=True,
            )


def _format_kept(late: tuple[str, ...]) -> str:
    return f"kept your version of {', '.join(late)}" if late else ""


def take_in(
    repository: Repository, journal: JournalWriter, tasks: Iterable[PlannedTask], plan: PlanFile
) -> tuple[Facts, frozenset[str]]:
    """Read file, journal and git together, and note it; what git says, and `reconcile`'s answer."""
    facts = gather_facts(repository, journal.state, tasks, plan)
    return facts, reconcile(tasks, journal, facts)


def reconcile(tasks: Iterable[PlannedTask], journal: JournalWriter, facts: Facts) -> frozenset[str]:
    """Record the plan's changes as events, and return the tasks that are only proven again.

    What the file says of these tasks is noted too: only a difference from that is the next hand.
    """
    tasks = tuple(tasks)
    prove_first, heard = set(), set()
    # Both before anything is recorded: `behind` compares with the journal's state, which each
    # record changes.
    read = tuple(own_readings(tasks, journal.state, facts))
    reach = tuple(behind(tasks, journal.state, read))
    records: dict[str, str] = {}
    for id_, attempt, event in read:
        records[id_] = journal.note(event, task=id_, attempt=attempt).id
        heard.add(id_)
        if isinstance(event, TaskReopened) and event.by == "proof":
            prove_first.add(id_)
    for one in reach:
        cause = records.get(one.via, "")
        records[one.task] = journal.note(
            one.event, task=one.task, attempt=one.attempt, cause=cause
        ).id
        heard.add(one.task)
    statuses = {task.id: task.status for task in tasks if task.id in heard}
    known = journal.state
    if any(known.task(id_).published is not status for id_, status in statuses.items()):
        journal.note(StatusesPublished(statuses, known.published_head, known.published_plan))
    return frozenset(prove_first)


def gather_facts(
    repository: Repository, state: RunState, tasks: Iterable[PlannedTask], plan: PlanFile
) -> Facts:
    """Collect the facts from git, with its history only if the journal lacks this head."""
    tasks = tuple(tasks)
    head = repository.head().commit
    last = state.last_landing_head
    fresh = not last and not state.published_plan  # it may have begun, and recorded nothing yet
    # without record commits the committed text always lags: then it is older only as a whole
    manual = repository.head().beneath is not None
    older = OlderText(
        repository,
        plan,
        state.published_head,
        state.ended_head,
        taken_back=make_take_back_test(tasks, state),
        heard_alone=lambda id_: manual or state.task(id_).status is not Status.DONE,
        only_retries=lambda task: _only_retries(task.status, state.task(task.id)),
    )

    def fields_of(task: PlannedTask, proven: Spec) -> tuple[str, ...]:
        return fields_since(repository, plan, task, proven.what, state.task(task.id).commit)

    here = Facts(descends=True, landed={}, fields_of=fields_of, is_older=older.holds)
    if head is None:
        return here
    # If nothing has landed yet, every head follows all landings.
    done = [task for task in tasks if task.status is Status.DONE]
    if not fresh and (not last or last == head or _reaches(repository, head, last)):
        since = _last_seen(repository, state, head)
        return replace(
            here,
            landed=_landed_elsewhere(repository, state, head, since, tasks),
            waivers=_read_new_waivers(repository, state, head, since, done),
        )
    wanted = {task.id for task in tasks if task.status in (Status.DONE, Status.IN_PROGRESS)}
    behind = {task.id for task in tasks} - wanted  # the plan may be older than what has landed
    planned = repository.commit_that_added(head, plan.path) if behind else ""
    made_since = _any_since(repository, head, planned, behind)
    if not wanted and not made_since:
        return replace(here, descends=fresh)
    gone = find_reverts(repository, head)
    by_id = {task.id: task for task in tasks}
    landed = dict(_landings(repository, head, wanted, by_id, gone)) if wanted else {}
    if made_since:
        landed |= _landings(repository, head, behind, by_id, gone, since=planned)
    return replace(
        here,
        descends=False,
        landed=landed,
        gone=frozenset(gone) - landed.keys(),
        presence=Rewritten(repository, head, last).presence,
        waivers=waivers.read_waivers(
            repository,
            (head,),
            done,
            lambda id_: landed[id_].commit if id_ in landed else state.task(id_).commit,
        ),
    )


def _last_seen(repository: Repository, state: RunState, head: str) -> str:
    """Return the newest ancestor of `head` that this journal knows, by default `head`."""
    seen = (one for one in (state.ended_head, state.last_landing_head) if one)
    return next((one for one in seen if one == head or _reaches(repository, head, one)), head)


def _landed_elsewhere(
    repository: Repository,
    state: RunState,
    head: str,
    since: str,
    tasks: Sequence[PlannedTask],
) -> Mapping[str, LandedTask]:
    """Return what other clones have landed since, with their commits as evidence."""
    if since == head or repository.head().beneath is not None:
        return {}
    planned = {task.id: task for task in tasks}
    if not any(one.task in planned for one in repository.log_trailers(head, since=since)):
        return {}
    gone = find_reverts(repository, head)
    landed = _landings(repository, head, set(planned), planned, gone, since=since)
    return {id_: one for id_, one in landed.items() if _is_news(one, state.task(id_))}


def _is_news(landed: LandedTask, known: TaskState) -> bool:
    """Return whether a landing is from elsewhere and new to this journal."""
    if landed.spec is None:
        return False
    if known.status is Status.DONE and known.spec == landed.spec and not landed.commit:
        return False  # a check, made once more
    own = (known.commit, known.landed.commit if known.landed else "")
    return not landed.commit or landed.commit not in own


def _read_new_waivers(
    repository: Repository, state: RunState, head: str, since: str, done: Sequence[PlannedTask]
) -> Mapping[str, TaskWaived]:
    """Return the waivers in other clones' commits since the last run here."""
    if not done or since == head:
        return {}
    tips = (head, f"^{since}")
    return waivers.read_waivers(repository, tips, done, lambda id_: state.task(id_).commit)


def _only_retries(status: Status, known: TaskState) -> bool:
    """Return whether a PENDING status retries a BLOCKED task without held work."""
    return status is Status.PENDING and known.status is Status.BLOCKED and known.held is None


def _any_since(repository: Repository, head: str, since: str, ids: set[str]) -> bool:
    """Return whether any of these tasks landed after the plan's first commit."""
    if since in ("", head):
        return False
    found = repository.log_trailers(head, since=since)
    return any(one.task in ids and not one.checked for one in found)


def put_back(tasks: Iterable[PlannedTask], state: RunState, facts: Facts) -> tuple[str, ...]:
    """Return tasks whose status in the file is that of an older text, not the current one."""
    known = ((task, state.task(task.id)) for task in tasks)
    return tuple(
        task.id
        for task, there in known
        if task.status not in (there.status, there.published) and facts.is_older(task, "")
    )


def _reaches(repository: Repository, head: str, commit: str) -> bool:
    return repository.resolve(commit) is not None and repository.is_ancestor(commit, head)


def _landings(
    repository: Repository,
    head: str,
    wanted: set[str],
    planned: Mapping[str, PlannedTask],
    gone: Mapping[str, tuple[str, ...]],
    *,
    since: str | None = None,
) -> Mapping[str, LandedTask]:
    """Return the newest landing of each wanted task below `head`, unless it was undone."""
    found: dict[str, LandedTask] = {}
    wanted = set(wanted)
    for commit in repository.log_trailers(head, since=since):
        if commit.task in wanted and commit.task not in found:
            if is_undone(repository, gone, commit.task, commit.commit):
                wanted.discard(commit.task)  # whatever landed before that is gone too
                continue
            spec = (
                Spec(commit.spec_what, commit.spec_proof)
                if commit.spec_what and commit.spec_proof
                else None
            )
            # A record commit covers a task without bytes of its own: it can't be reverted, and has
            # no files to compare.
            sha = "" if commit.checked else commit.commit
            # A record of checks only counts unmodified: it has no bytes of its own.
            is_own = not commit.checked or filter_truthful_messages(repository, (commit.commit,))
            if _is_left_out(repository, commit, planned[commit.task]):
                continue
            proofs = evidence.read_proofs(commit.trailers)
            unproven = evidence.parse_unproven(commit.trailers.get("Grade", ()))
            found[commit.task] = LandedTask(
                *(sha, commit.attempt, spec, proofs, unproven, bool(is_own))
            )
        if len(found) == len(wanted):
            break
    return found


def _is_left_out(repository: Repository, landed: LandedCommit, task: PlannedTask) -> bool:
    """Return whether a squash tells of a landing that was taken back before it was made.

    Its bytes are not there, and the plan does not say that the task is DONE.
    """
    if not landed.squashed or landed.checked or task.status is Status.DONE:
        return False
    entries = entries_of(repository, (landed.commit,)).get(landed.commit, ())
    return not find_landed_changes(repository, entries, landed.trailers, task)


def resumable(
    repository: Repository, state: RunState, tasks: Iterable[Task]
) -> Mapping[str, tuple[Change, ...]]:
    """Return held work that fits the current specification of its task."""
    found = {}
    for task in tasks:
        known = state.task(task.id)
        if known.held is None or not _is_of(known.held, task):
            continue
        changes = drafts.load_held_changes(repository, known.held)
        if changes is not None:
            found[task.id] = changes
    return found


def _is_of(held: HeldWork, task: Task) -> bool:
    """Return whether held work is for the task's current text; author tests may be new."""
    same = held.spec is not None and held.spec.what == task.spec.what
    return held.spec == task.spec or (same and held.kind == Reason.TEST_AUTHOR)


def reopen(
    tasks: Iterable[Task],
    journal: JournalWriter,
    named: frozenset[str],
    missing: Callable[[Task], object],
    is_given: Callable[[TaskState], bool],
) -> None:
    """Reopen BLOCKED tasks that a person named, or that lacked what is available now."""
    for task in tasks:
        known = journal.state.task(task.id)
        if known.status is not Status.BLOCKED or (known.held and _is_of(known.held, task)):
            continue
        if task.id in named:
            # Durable here, but not below: a person's answer is on disk before any action; our own
            # conclusions can be repeated by the next run.
            note = "named on the command line"
            journal.note(TaskApproved(by="person", note=note), task=task.id, durable=True)
        elif (may_be_met(known) and not missing(task)) or is_given(known):
            note = "what it needed is now available"
            journal.note(TaskApproved(by="runner", note=note), task=task.id)


def release_held(
    held: dict[str, tuple[Change, ...]], journal: JournalWriter, root: Path, *, terminal: bool
) -> None:
    """Release held work that nothing holds any more, so that it can land."""
    for id_, changes in tuple(held.items()):
        if _refuse_held(id_, changes, journal):
            del held[id_]
            continue
        known = journal.state.task(id_)
        if known.held is None or known.status is not Status.BLOCKED:
            continue
        if known.held.kind == "review":
            events = [journal.state.review(id_, one.path, one.before, one.after) for one in changes]
            # On a terminal the run prompts for it; elsewhere every question must be answered first.
            ready = terminal or (all(events) and not is_open(journal.state, id_, changes))
        else:
            ready = not in_the_way(root, changes)
        if ready:
            journal.note(TaskApproved(by="runner", note="it can land now"), task=id_)


def _refuse_held(id_: str, changes: tuple[Change, ...], journal: JournalWriter) -> bool:
    """Apply a person's rejection of held work; the next attempt reads the reason."""
    findings = tuple(rejection(one) for one in refusals(journal.state, id_, changes))
    if not findings:
        return False
    attempt = journal.state.task(id_).last_attempt
    for event in after_refusal(journal.state.task(id_), findings, "rejected: retrying"):
        journal.note(event, task=id_, attempt=attempt, durable=isinstance(event, TaskApproved))
    return True


# --- where history was rewritten --------------------------------------------------------


class Rewritten(Struct, dict=True):
    """Asks git about one head; nothing before the first question."""

    repository: Repository
    head: str
    last: str
    """Last landing that the journal knows: for files of several tasks it has all of them."""

    def presence(self, commit: str, outputs: Sequence[str]) -> Presence:
        """Return how much of a task's work exists; for a missing commit its Output files decide."""
        if self.repository.resolve(commit) is None:
            return self._by_name([path for path in outputs if not is_glob(path)])
        wrote = self.repository.diff_trees(self.repository.resolve(f"{commit}^"), commit)
        moved = [one for one in wrote if self._has_moved(one)]
        if not moved:
            return Presence.STANDS
        now = self._now([one.path for one in moved])
        edited = all(self._was_there(one, now.get(one.path, "")) for one in moved)
        return Presence.EDITED if edited else Presence.GONE

    def _by_name(self, paths: Sequence[str]) -> Presence:
        there = bool(paths) and len(self._now(paths)) == len(paths)
        return Presence.EDITED if there else Presence.GONE

    def _has_moved(self, wrote: TreeChange) -> bool:
        """Return whether the head has other bytes of a file than the last landing wrote."""
        if self._since_last is not None:
            return wrote.path in self._since_last
        return self._now([wrote.path]).get(wrote.path, "") != _new(wrote)

    def _was_there(self, wrote: TreeChange, now: str) -> bool:
        """Return whether the head's history contained these bytes and changed them later."""
        # Content from before the task means reverted: nothing continued from the task's bytes.
        if not now or not _new(wrote) or now == wrote.old_sha:
            return False
        path = self.repository.prefix.whole(wrote.path)
        # The last commit that added or removed these bytes (git-log(1), --find-object).
        words = ("log", "-1", "--format=%H", f"--find-object={wrote.new_sha}")
        return bool(self.repository.git.run(*words, "--end-of-options", self.head, "--", path))

    def _now(self, paths: Iterable[str]) -> Mapping[str, str]:
        found = self.repository.tree_entries(self.head, list(paths))
        return {path: entry.sha for path, entry in found.items()}

    @cached_property
    def _since_last(self) -> frozenset[str] | None:
        """The paths that differ from the last landing; None where that is gone."""
        if not self.last or self.repository.resolve(self.last) is None:
            return None
        return frozenset(one.path for one in self.repository.diff_trees(self.last, self.head))


def _new(wrote: TreeChange) -> str:
    """Return the object that a commit wrote; empty for a deletion."""
    return wrote.new_sha if wrote.new_mode else ""
