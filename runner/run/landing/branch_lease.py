"""The lease of a branch in the remote: one clone builds it at a time.

The lease is a ref of the remote (`repo/lease_text`) that only compare-and-swap moves. It is
renewed every fifth of its ttl, and with every landing in the very push that moves the branch: who
lost it cannot land, however long they slept. No two machines' clocks are compared: a lease is over
once its *same* value was seen unchanged for a whole ttl by the clock of whoever waits.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from threading import Event, RLock, Thread
from time import sleep
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.repo.lease_text import BOUND, LeaseHolder, read_lease, refs_of, write_lease
from runner.repo.objects import DURABLE
from runner.repo.remote import Move, PublishError, Remote, RemoteDownError, Swap
from runner.run.landing.lease_state import (
    LeaseMemory,
    find_standing,
    host_name,
    make_held_error,
    make_refused_error,
    make_unanswered_error,
    person_name,
)
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Self

    from runner.repo.head import Head
    from runner.repo.read import Repository
    from runner.repo.remote import Swapped
    from runner.run.landing.lease_state import LeaseState

_BEATS = 5
"""Renewals within one ttl."""
_ROUNDS = 3
"""How often a lease is read again if it moved while being taken."""
_PAUSE = 2.0
"""Maximum seconds between attempts while the remote is unreachable."""
_PATIENCE = 15.0
"""Total seconds for the release: enough on a busy machine, without waiting for a remote."""


class BranchLease(Struct, dict=True):
    """The lease of one branch of one remote; as a context it is held, renewed and given back.

    One thread at a time speaks with the remote: renewals wait for landings and the reverse.
    """

    repository: Repository
    name: str
    """Name of the remote."""
    branch: str
    environ: Mapping[str, str]
    memory: LeaseMemory
    """Lease memory of this clone."""
    seconds: float
    """The ttl in seconds."""
    run: str = ""
    doing: str = ""
    """Current work for the lease's text; sent with the next renewal."""
    taken_from: LeaseHolder | None = None
    """Previous holder, if the lease was taken over from somebody else."""
    trouble: str = ""
    """Why nothing more lands, as text; empty without a problem."""
    on_loss: Callable[[], object] = field(default=lambda: None)
    """Called once, from any thread, when another holder has the lease."""
    _stack: ExitStack = field(default_factory=ExitStack)
    _lock: RLock = field(default_factory=RLock)
    _over: Event = field(default_factory=Event)
    _until: float = 0.0
    """Time limit for releasing it, once the end has begun."""
    _ref: str = ""
    _value: str | None = None
    _mine: LeaseHolder = LeaseHolder()
    _tip: str | None = None
    """Commit of the remote's branch, as far as known."""
    _lost: LeaseHolder | None = None
    _sent: set[str] = field(default_factory=set)
    """Values that were pushed, perhaps without arriving."""

    # --- taking -------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Take the lease, and have it renewed until the end. Raises RunnerError, exit 6.

        Where the branch here is not the remote's, nothing is taken; what a crash left in the
        remote alone is brought here first.
        """
        with ExitStack() as stack:
            self._remote = stack.enter_context(Remote(self.repository, self.name, self.environ))
            self.take()
            # Callbacks run in reverse order: the renewing thread ends before the lease is released,
            # or it would treat the missing lease as lost.
            stack.callback(self._give_back)
            require_open(self._remote, self.repository, self.branch, self._tip, self.memory)
            beats = Thread(target=self._renew_until_over, name="lease", daemon=True)
            beats.start()
            stack.callback(self._end, beats)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def look(self) -> LeaseState:
        """Return the state of the lease. Raises RemoteDownError and RunnerError."""
        with Remote(self.repository, self.name, self.environ) as self._remote:
            return self._stand(self._remote.read(*refs_of(self.branch)))

    def _stand(self, seen: Mapping[str, str]) -> LeaseState:
        return find_standing(self._remote, self.branch, seen, self.memory, self.seconds)

    def take(self, reason: str = "") -> None:
        """Acquire the lease; with a reason, from its holder. Raises RunnerError, exit 6."""
        for _ in range(_ROUNDS):
            seen = self._remote.read(self._branch_ref, *refs_of(self.branch))
            there = self._stand(seen)
            if not (there.value is None or there.is_own or there.is_over or reason):
                raise make_held_error(self.name, self.branch, there, self.seconds)
            if not reason:
                self._require_tip(seen)
            if self._swap_in(there, seen, reason) and self._is_sole_holder(reason):
                return
        raise PublishError(
            f"the lease of {display(self.branch)} changed while this run was taking it",
            hint="another run is starting now: see `runner team lease`, then run again",
            code=ExitCode.CONFLICT,
        )

    def take_manually(self, reason: str) -> tuple[LeaseState, PublishError | None]:
        """Take the lease for this clone's next run from its holder.

        Return how it stood before, and what keeps that run from beginning.
        """
        before = self.look()
        with Remote(self.repository, self.name, self.environ) as self._remote:
            self.take(reason)
            try:
                self._require_tip(self._remote.read(self._branch_ref))
            except PublishError as error:
                return before, error
        return before, None

    def release_leftover_lease(self) -> None:
        """Release the lease of a killed run of this clone; no other is touched.

        Raises RunnerError where the remote is away.
        """
        with Remote(self.repository, self.name, self.environ) as self._remote:
            self._remote.seconds = min(self._remote.seconds, _PATIENCE)
            there = self._stand(self._remote.read(*refs_of(self.branch)))
            if there.is_own and there.value is not None:
                self._remote.swap(Move(there.ref, there.value, None))
            self.memory.keep_token("")

    def _swap_in(self, there: LeaseState, seen: Mapping[str, str], reason: str) -> bool:
        """Try to take the lease; return False if it has moved. Raises PublishError.

        Raises PublishError where the remote takes neither ref.
        """
        token = effects.new_id()
        now = effects.timestamp()
        self._mine = LeaseHolder(
            holder=person_name(self.environ),
            host=host_name(),
            run=self.run,
            token=token,
            since=now,
            renewed=now,
            seconds=self.seconds,
            doing=self.doing,
            reason=reason,
        )
        self.memory.keep_token(token)
        value = self._remote.write_commit(write_lease(self._mine))
        first, second = refs_of(self.branch)
        tries = [there.ref] if there.value else [first, second]
        others = [ref for ref in (first, second) if ref in seen and ref != there.ref]
        gone = [Move(ref, seen[ref], None) for ref in others]
        for ref in tries:
            came = self._remote.swap(Move(ref, there.value, value), *gone)
            if came.swap is Swap.DONE:
                self._ref, self._value = ref, value
                self.taken_from = there.lease if there.value and not there.is_own else None
                return True
            if came.swap is Swap.MOVED:
                return False
        raise make_refused_error(self.name, self.branch, came.output)

    def _is_sole_holder(self, reason: str) -> bool:
        """Return whether no lease exists in the other place; if one does, release this one."""
        other = next(ref for ref in refs_of(self.branch) if ref != self._ref)
        try:
            seen = self._remote.read(self._branch_ref, *refs_of(self.branch))
            alone = other not in seen
            if alone and not reason:
                self._require_tip(seen)
                self._tip = seen.get(self._branch_ref)
        except RunnerError:
            self._give_back()
            raise
        if not alone:
            self._give_back()
        return alone

    def _require_tip(self, seen: Mapping[str, str]) -> None:
        """Check that the local branch equals the remote's. Raises PublishError."""
        require_same(self.repository, self.name, self.branch, seen.get(self._branch_ref))

    @property
    def cut_off(self) -> str:
        """The commit that a crash left in the remote alone; empty where there is none."""
        head, tip = self.repository.find_head(), self._tip
        return tip if tip and tip != head.commit and is_cut_off(self.repository, head, tip) else ""

    # --- holding ------------------------------------------------------------------------

    @property
    def _branch_ref(self) -> str:
        return f"refs/heads/{self.branch}"

    def _renew_until_over(self) -> None:
        while not self._over.wait(self.seconds / _BEATS):
            with suppress(RunnerError, OSError):
                self.renew()

    def renew(self) -> bool:
        """Renew the lease; False if it is lost. Raises RemoteDownError."""
        with self._lock:
            if self._lost is None and not self._over.is_set():
                self._hear(self._remote.swap(self._next()))
            return self._lost is None

    def _next(self) -> Move:
        """Return the move of the lease to its next value."""
        mine = self._mine = self._mine._replace(
            renewed=effects.timestamp(), beat=self._mine.beat + 1, doing=self.doing
        )
        value = self._remote.write_commit(write_lease(mine))
        self._sent.add(value)
        return Move(self._ref, self._value, value)

    def _hear(self, came: Swapped) -> None:
        """Update the known state of the lease after a swap."""
        value = came.seen.get(self._ref)
        if value is not None and value in self._sent:
            self._value = value
            self._sent.clear()
        elif value != self._value:
            self._lose(value)

    def _lose(self, value: str | None) -> None:
        self._lost = LeaseHolder()
        if value is not None:
            with suppress(RunnerError):
                self._lost = read_lease(self._remote.read_message(self._ref, value, BOUND))
        whose = (
            f"{display(self.branch)} is being built {self._lost}"
            if value
            else (f"the lease of {display(self.branch)} no longer exists in {display(self.name)}")
        )
        why = f" ({display(self._lost.reason)})" if self._lost.reason else ""
        self.trouble = f"{whose}{why}: nothing more lands here; proven work is saved"
        self.on_loss()

    @property
    def holder(self) -> str:
        """Name of this clone's lease holder."""
        return self._mine.who

    @property
    def lost_to(self) -> LeaseHolder | None:
        """New holder of a lost lease, or None."""
        return self._lost

    def move(self, head: Head, commit: str) -> None:
        """Move the remote's branch from `head` to a commit that stands on it, with the lease.

        Raises PublishError where nothing moved, and nothing is to move here; RemoteDownError
        where that is not known: the next run looks first.
        """
        if self.trouble:
            raise self._make_trouble()
        if commit == self._tip:
            return  # a crash came between the push and the branch here
        with self._lock:
            if self._lost is not None:
                raise self._make_trouble()
            if head.commit != self._tip or head.ref != self._branch_ref:
                self._check_pushed(head)
            # On disk before the push: after a crash it names the commit being pushed, and only the
            # remote knows whether it arrived.
            self.repository.git.with_settings(DURABLE).run("update-ref", PUBLISHING, commit)
            came = self._swap_with_branch(commit)
            if came.seen.get(self._branch_ref) == commit:
                self._tip = commit
                return
        if not self.trouble:
            self.trouble = self._explain(came)
        raise self._make_trouble()

    def _swap_with_branch(self, commit: str) -> Swapped:
        """Push branch and lease together, retrying while the remote is away."""
        until = effects.monotonic() + self.seconds
        branch = Move(self._branch_ref, self._tip, commit, is_branch=True)
        while True:
            try:
                came = self._remote.swap(branch, self._next())
            except RemoteDownError as error:
                if effects.monotonic() > until:
                    raise make_unanswered_error(error) from error
                self._over.wait(min(_PAUSE, self.seconds / _BEATS))
                continue
            before = self._value
            self._hear(came)
            # an earlier push of ours had arrived without an answer: now this is known
            late = came.swap is Swap.MOVED and self._value != before
            if not (late and came.seen.get(self._branch_ref) == self._tip):
                return came

    def _check_pushed(self, head: Head) -> None:
        """Check that a person who committed here has pushed as well."""
        tip = self._remote.read(self._branch_ref).get(self._branch_ref)
        if tip != head.commit or head.ref != self._branch_ref:
            name, branch = display(self.name), display(self.branch)
            raise PublishError(
                f"{branch} here and in {name} have diverged, so nothing lands",
                hint=f"git pull --rebase {name} {branch}, push your commits, then run again",
                code=ExitCode.CONFLICT,
            )
        self._tip = tip

    def _explain(self, came: Swapped) -> str:
        name, branch = display(self.name), display(self.branch)
        if came.swap is Swap.MOVED:
            return (
                f"somebody pushed to {branch} of {name} during the run: git pull --rebase {name} "
                f"{branch}, then run again; proven work is saved"
            )
        self.memory.keep_open(self.branch, is_open=False)
        output = " ".join(display(came.output).split())
        return f"{name} rejected the push to {branch}: {output}; proven work is saved"

    # --- the end ------------------------------------------------------------------------

    def _end(self, beats: Thread) -> None:
        self._over.set()
        self._until = effects.monotonic() + _PATIENCE
        beats.join(_PATIENCE)

    def _give_back(self) -> None:
        """Release the lease if it is still held; if the remote is not reachable, it expires.

        What was pushed last may have arrived although its answer did not: where the lease is then
        counts, not where it was last known to be.
        """
        until, seconds = self._until or effects.monotonic() + _PATIENCE, self._remote.seconds
        is_free = self._value is not None and not self._lost
        if not (is_free and self._lock.acquire(timeout=max(until - effects.monotonic(), 0.0))):
            return
        try:
            while self._value is not None and (left := until - effects.monotonic()) > 0:
                self._remote.seconds = left
                try:
                    self._let_go(self._remote.swap(Move(self._ref, self._value, None)))
                except RunnerError:
                    sleep(min(_PAUSE, self.seconds / _BEATS))
        finally:
            self._value, self._remote.seconds = None, seconds
            self._lock.release()

    def _let_go(self, came: Swapped) -> None:
        """Update the state after a release; a late own value is released the next time."""
        value = came.seen.get(self._ref)
        if value is not None and value == self._value:  # it takes no such push: the lease lapses
            self._value = None
        elif value is not None and value in self._sent:
            self._value = value
        else:  # it is gone, or somebody else's
            self._value = None
            self.memory.keep_token("")

    # --- words --------------------------------------------------------------------------

    def _make_trouble(self) -> PublishError:
        return PublishError(self.trouble, hint="runner team lease", code=ExitCode.CONFLICT)


PUBLISHING = "refs/worktree/runner/publishing"
"""Last commit to be pushed: identifies what a crash left only in the remote."""


def require_same(repository: Repository, name: str, branch: str, tip: str | None) -> None:
    """Raise PublishError where the remote `name` has the branch elsewhere, or has it not."""
    head = repository.find_head()
    if tip is not None and (tip == head.commit or is_cut_off(repository, head, tip)):
        return
    if tip is None:
        raise make_missing_error(name, branch)
    branch, name = display(branch), display(name)
    if is_here(repository, tip) and repository.is_ancestor(tip, head.commit or ""):
        raise PublishError(
            f"{branch} has commits that {name} does not have: a landing would push them as well",
            hint=f"git push {name} {branch}, then run again",
            code=ExitCode.PERSON,
        )
    raise PublishError(
        f"{name} has commits of {branch} that are not here",
        hint=f"git pull --rebase {name} {branch}, then run again",
        code=ExitCode.CONFLICT,
    )


def make_missing_error(name: str, branch: str) -> PublishError:
    """Return the error for a branch that the remote does not have."""
    name, branch = display(name), display(branch)
    return PublishError(
        f"{name} has no branch {branch} yet",
        hint=f"git push {name} {branch}, then run again",
        code=ExitCode.PERSON,
    )


def is_here(repository: Repository, commit: str) -> bool:
    """Return whether this clone has a commit."""
    return repository.git.ask("cat-file", "-e", f"{commit}^{{commit}}").exit == 0


def is_cut_off(repository: Repository, head: Head, tip: str) -> bool:
    """Return whether the remote is one commit ahead that a crash kept from the local branch."""
    if repository.resolve(PUBLISHING) != tip:
        return False
    return repository.resolve(f"{tip}^") == head.commit


_DECLINED = ("declined", "protected")
"""Words of git's hooks and the forges for a rejection; other failures differ."""


def find_protection(remote: Remote, repository: Repository, branch: str, tip: str) -> str | None:
    """Return why the remote would reject a landing; empty if it accepts one, None if unknown.

    A protected branch answers only to a push. This one asks for the branch and for a ref below it,
    and git keeps no two refs of which one is a folder of the other. The push is atomic, so nothing
    moves; the answer has a reason for each ref.

    None where it does not say, or declines every push of such names: the first landing tells.
    """
    message = repository.git.ask("log", "-1", "--format=%B", tip).out.decode("utf-8", "replace")
    tree = repository.git.line("rev-parse", f"{tip}^{{tree}}")
    commit = remote.write_commit(message, tree=tree, parent=tip)
    ref = f"refs/heads/{branch}"
    below = f"{ref}/probe-{effects.new_id()}"
    refusals = remote.probe_refusal(commit, ref, below)
    if not any(word in refusals.get(ref, "") for word in _DECLINED):
        return "" if ref in refusals else None
    # A rule about all new refs also rejects the probe's own name: then nothing is known about the
    # branch.
    alone = remote.probe_refusal(commit, below)
    is_name = any(word in alone.get(below, "") for word in _DECLINED)
    return None if is_name else refusals[ref]


def require_open(
    remote: Remote, repository: Repository, branch: str, tip: str | None, memory: LeaseMemory
) -> None:
    """Raise PublishError, exit 2, where nothing could land; asked once, until one is refused."""
    if tip is None or memory.is_open(branch):
        return
    refusal = find_protection(remote, repository, branch, tip)
    if refusal:
        shown, name = display(branch), display(remote.name)
        raise PublishError(
            f"{name} does not accept pushes to {shown}: {display(refusal)}",
            hint="runner run --branch NAME, then open a pull request; or RUNNER_GIT_PUBLISH=none",
            code=ExitCode.USAGE,
        )
    if refusal is not None:
        memory.keep_open(branch, is_open=True)


class NameLease(BranchLease):
    """Held, renewed and given back as a branch's; nothing lands under it."""

    def _require_tip(self, seen: Mapping[str, str]) -> None:
        """Do nothing, since the checked-out branch does not matter here."""


def open_name_lease(
    repository: Repository,
    remote: str,
    name: str,
    seconds: float,
    environ: Mapping[str, str],
    memory: Path,
) -> NameLease:
    """Create the lease of a name in a remote; `memory` is its own folder."""
    return NameLease(repository, remote, name, environ, LeaseMemory(memory), seconds)
