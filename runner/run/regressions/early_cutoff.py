"""Early cut-off: prove tasks again that are STALE only through their dependencies.

A task that was built anew and offers what it offered before leaves those behind it as they are:
their tests run on the new head, and they are DONE again by themselves. Nothing of this is kept
anywhere but in the journal, so a run that was killed in between goes on from there.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.contracts.entries import documents
from runner.journal.events import CUT_OFF, TaskApproved, TaskStaled
from runner.lazy_module import lazy_module
from runner.model import Status
from runner.plan.globs import is_glob, matches
from runner.repo.git import GitError
from runner.run.dependents import behind_whom
from runner.run.landing.own_lines import Landings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from runner.contracts import compatibility, document
    from runner.impact import reach
    from runner.impact.change import Changed
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.repo.read import Repository
    from runner.run.journal_writer import JournalWriter
else:
    compatibility = lazy_module("runner.contracts.compatibility")
    reach = lazy_module("runner.impact.reach")
    document = lazy_module("runner.contracts.document")


class TaskExports(Struct, dict=True):
    """Asks the commits: the history is read once for each head."""

    repository: Repository
    documents: frozenset[str]
    """The runner's own documents."""
    _paths: dict[str, frozenset[str]] = field(default_factory=dict)

    def compare(self, task: Task, user: TaskState) -> reach.CutOff:
        """Compare what a task exports on HEAD with the tree in which its user was DONE."""
        then = user.tree or user.commit
        if not then:
            return reach.CutOff(same=False, text="there is no commit to compare with")
        documents = _documents(task)
        try:
            changed = self._find_changed(self._all_paths(task, documents), then)
        except GitError:
            return reach.CutOff(same=False, text="the commit to compare with is missing")
        contracts = {
            one.path: compatibility.is_breaking(one.path, one.before, one.after)
            for one in changed
            if any(matches(glob, one.path) for glob in documents)
        }
        broken = [path for path, breaks in contracts.items() if breaks is not False]
        grown = [path for path, breaks in contracts.items() if breaks is False]
        for one in changed:
            if contracts.get(one.path):
                return reach.CutOff(same=False, text=f"contract {one.path} changed: {_break(one)}")
        found = reach.cut_off([one for one in changed if one.path not in grown], broken)
        if found.same and grown:
            return reach.CutOff(same=True, text=f"the contract {grown[0]} stays compatible")
        return found

    def _find_changed(self, paths: frozenset[str], then: str) -> list[Changed]:
        from runner.impact.change import Changed

        listed = sorted(paths - self.documents)
        if not listed:
            return []
        head = self.repository.head().commit
        old = self.repository.tree_entries(then, listed)
        new = self.repository.tree_entries(head, listed)
        found = []
        for path in listed:
            one, other = old.get(path), new.get(path)
            if one != other:
                before = self.repository.content(one.sha) if one else None
                after = self.repository.content(other.sha) if other else None
                found.append(Changed(path, before, after))
        return found

    def _all_paths(self, task: Task, documents: tuple[str, ...]) -> frozenset[str]:
        """Return every file that the task ever wrote, and its contracts."""
        found = {path for path in documents if not is_glob(path)}
        for commit in self._landings.of(task.id, self.repository.head().commit or ""):
            if commit not in self._paths:
                parent = self.repository.resolve(f"{commit}^")
                changes = self.repository.diff_trees(parent, commit)
                self._paths[commit] = frozenset(one.path for one in changes)
            found |= self._paths[commit]
        return frozenset(found)

    @cached_property
    def _landings(self) -> Landings:
        return Landings(self.repository)


def _documents(task: Task) -> tuple[str, ...]:
    """Return the contract documents of a task."""
    return tuple(path for contract in task.contracts for path in documents(contract))


def _break(change: Changed) -> str:
    """Return the first breaking change of a contract, or ""."""
    if change.before is None or change.after is None:
        return "it was removed"
    old = change.before
    kind = compatibility.kind_of(
        document.bundle_document(change.path, lambda path: old if path == change.path else b"{}")
    )
    found = [one for one in compatibility.compare(kind, old, change.after) if one.breaking]
    return f"{found[0].path} {found[0].text}".strip() if found else "incompatible with its users"


class StaleVerdict(Struct, frozen=True):
    """The verdict on a task that is STALE through its dependencies."""

    proves: bool
    """Whether it is only re-tested; else it waits for a person or for those others."""
    asks: tuple[str, ...] = ()
    """Tasks on which it would have to be rebuilt, if a person approves."""
    text: str = ""
    """Reason as text; empty if nothing is new."""


def waits_through(known: TaskState) -> bool:
    """Return whether a task is STALE only because of others, or not re-verified since."""
    return bool(known.via) and (
        known.status is Status.STALE or (known.status is Status.PENDING and bool(known.cut_off))
    )


def still_speaks(task: Task, state: RunState) -> bool:
    """Return whether a task is STALE only because of others that are all in the tree.

    Pure. Then its tests passed there and say something about a change, as those of a DONE one do.
    Where the work of one of these others was taken back, they say nothing.
    """
    known, seen = state.task(task.id), set()
    if known.spec is None or known.spec.what != task.spec.what or not waits_through(known):
        return False
    while known.done_at and known.id not in seen:
        seen.add(known.id)
        if not waits_through(known):
            return True
        known = state.task(known.via)
    return known.id in seen


def rebuilt_since(
    id_: str, before: Iterable[str], state: RunState, needed: Collection[str] = ()
) -> tuple[str, ...] | None:
    """Return the predecessors DONE after this task; None while one is not DONE.

    Pure. Who is STALE through the task itself does not count: they wait for it. What is `needed`
    (Depends on) cannot be.
    """
    found = []
    for one in before:
        known = state.task(one)
        if known.status is not Status.DONE:
            if one in needed or not _is_through(one, id_, state):
                return None
        # Texts that compare like times: RFC 3339 in UTC, always with six digits.
        elif known.done_at > state.task(id_).done_at:
            found.append(one)
    return tuple(found)


def _is_through(id_: str, other: str, state: RunState) -> bool:
    """Return whether a task's chain of STALE causes includes another task."""
    seen = set()
    while id_ and id_ not in seen:
        if id_ == other:
            return True
        seen.add(id_)
        known = state.task(id_)
        id_ = known.via if waits_through(known) else ""
    return False


def may_be_let_go(
    tasks: Mapping[str, Task], state: RunState, built: Iterable[str]
) -> dict[str, str]:
    """Return the STALE tasks that may stay unbuilt, each with the deciding task.

    Pure: `built` are those that the run would build. Whether these offer then what they did
    before is not known yet.
    """
    known = (state.task(id_) for id_ in tasks)
    waiting = [one.id for one in known if one.via and one.status is Status.STALE]
    behind = behind_whom(tasks.values(), waiting) if waiting else {}
    anew, more = set(built), True
    found: dict[str, str] = {}
    while more:
        more = False
        for id_ in waiting:
            if id_ not in anew and (through := _through(tasks[id_], behind[id_], state, anew)):
                found[id_] = through
                anew.add(id_)
                more = True
    return found


def _through(task: Task, before: Iterable[str], state: RunState, anew: Collection[str]) -> str:
    """Return the rebuilt predecessor that decides about a task, or an empty string."""
    known = state.task(task.id)
    if known.spec is None or known.spec.what != task.spec.what:
        return ""
    needed = (one for one in task.depends_on if one not in anew)
    if any(state.task(one).status is not Status.DONE for one in needed):
        return ""
    if known.via in anew:
        return known.via
    return next((one for one in before if one in anew), "")


class EarlyCutoff(Struct, dict=True):
    """Lets go what nothing has changed for; the coordinator's, as the journal is."""

    tasks: Mapping[str, Task]
    journal: JournalWriter
    repository: Repository
    documents: frozenset[str]
    """The runner's own documents, which no task exports."""
    built_anew: dict[str, str] = field(default_factory=dict)
    """Tasks that a person has rebuilt, with the reason: dependents build on them."""
    _before: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _behind: dict[str, list[str]] = field(default_factory=dict)

    def begin(self) -> None:
        """Find the STALE tasks at the start of a run, including those that a crash left waiting."""
        waiting = [id_ for id_ in self.tasks if waits_through(self.journal.state.task(id_))]
        self._before = behind_whom(self.tasks.values(), waiting) if waiting else {}
        for id_, before in self._before.items():
            known = self.journal.state.task(id_)
            for one in dict.fromkeys((*before, known.via)):
                self._behind.setdefault(one, []).append(id_)
            if known.status is Status.PENDING and known.tries:
                self._say(known, "its proof failed")
            else:
                self._judge(id_)

    def after(self, done: str) -> tuple[str, ...]:
        """Return the dependents decided by a DONE task: PENDING for a new proof, or STALE."""
        behind = [one for one in self._behind.get(done, ()) if self._is_stale(one)]
        return tuple(id_ for id_ in behind if self._judge(id_))

    def _is_stale(self, id_: str) -> bool:
        known = self.journal.state.task(id_)
        return known.status is Status.STALE and waits_through(known)

    def _judge(self, id_: str) -> bool:
        """Record the verdict on a task; True if there was one."""
        known, verdict = self.journal.state.task(id_), self._verdict(id_)
        if verdict.proves and known.status is Status.STALE:
            self._let_go(known, TaskApproved(by=CUT_OFF, note=verdict.text, reuse=True))
            return True
        reason = next((self.built_anew[one] for one in verdict.asks if one in self.built_anew), "")
        text = f"{verdict.text}; approve to rebuild this task" if verdict.asks else verdict.text
        if reason and known.status is Status.STALE:
            self.built_anew[id_] = reason
            self._let_go(known, TaskApproved(by="person", note=f"{reason}; {verdict.text}"))
            return True
        if not verdict.proves and (known.cut_off or text not in ("", known.note)):
            text = text or f"{known.via} is not DONE yet; this task depends on it"
            self._say(known, text, via=known.via)
            return True
        return not verdict.proves and self._waits_for_another(known)

    def _let_go(self, known: TaskState, event: TaskApproved) -> None:
        cause = self.journal.state.task(known.via).cause
        self.journal.note(
            event, task=known.id, attempt=known.last_attempt, cause=cause, durable=True
        )

    def _waits_for_another(self, known: TaskState) -> bool:
        """Record the STALE task to wait for once the named one is DONE; True if any."""
        state = self.journal.state
        if state.task(known.via).status is not Status.DONE or not self._is_stale(known.id):
            return False
        before = (one for one in self._before[known.id] if one != known.via)
        rest = next((one for one in before if state.task(one).status is Status.STALE), "")
        if not rest or _is_through(rest, known.id, state):
            return False
        self._say(known, f"{rest} is STALE; this task depends on it", via=rest)
        return True

    def _say(self, known: TaskState, text: str, *, via: str = "") -> None:
        mark_stale_again(self.journal, known, text, via=via)

    def _verdict(self, id_: str) -> StaleVerdict:
        state = self.journal.state
        known = state.task(id_)
        if known.spec is None or known.spec.what != self.tasks[id_].spec.what:
            return StaleVerdict(proves=False)  # it was edited itself, or nothing proved it
        # The task that made it STALE counts even if the plan no longer connects them.
        via = () if known.via in self._before[id_] or known.via not in self.tasks else (known.via,)
        anew = rebuilt_since(id_, (*self._before[id_], *via), state, self.tasks[id_].depends_on)
        if not anew:
            return StaleVerdict(proves=False)
        task, texts = self.tasks[id_], []
        is_built = bool(task.outputs or task.blocks or task.command)  # on what others offer
        for one in anew:
            offered = self._offerings.compare(self.tasks[one], known)
            how = "is DONE again" if offered.text == reach.UNTOUCHED else "was rebuilt"
            text = f"{one} {how} and {offered.text}"
            if is_built and not offered.same:
                return StaleVerdict(proves=False, asks=anew, text=text)
            texts.append(text)
        return StaleVerdict(proves=True, text="; ".join(texts))

    @cached_property
    def _offerings(self) -> TaskExports:
        return TaskExports(self.repository, self.documents)


def mark_stale_again(journal: JournalWriter, known: TaskState, text: str, *, via: str = "") -> None:
    """Mark a released task as STALE again; without `via` it waits only for a person."""
    note = f"{known.cut_off}, but {text}" if known.cut_off and not via else text
    event = TaskStaled(note=note, via=via)
    journal.note(event, task=known.id, attempt=known.last_attempt, durable=True)
