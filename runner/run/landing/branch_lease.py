"""One clone at a time builds a branch: a lease in the remote, and the remote's branch moved first.

The lease is a ref of the remote (`repo/lease_text`) that only compare-and-swap moves. It is
renewed every fifth of its ttl, and with every landing in the very push that moves the branch: who
lost it cannot land, however long they slept. No two machines' clocks are compared: a lease is over
once its *same* value was seen unchanged for a whole ttl by the clock of whoever waits.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import field
from threading import Event, RLock, Thread
from time import sleep
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.repo.lease_text import BOUND, LeaseHolder, read_lease, refs_of, write_lease
from runner.repo.objects import DURABLE
from runner.repo.remote import Move, PublishError, Remote, RemoteAwayError, Swap
from runner.run.landing.lease_standing import (
    LeaseMemory,
    find_standing,
    host_name,
    make_held_error,
    make_refused_error,
    make_unanswered_error,
    person_name,
)
from runner.run.landing.protection import require_open
from runner.run.landing.remote_tip import PUBLISHING, is_cut_off, require_same
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from runner.repo.head import Head
    from runner.repo.read import Repository
    from runner.repo.remote import Swapped
    from runner.run.landing.lease_standing import LeaseState

_BEATS = 5
"""Renewals within a ttl."""
_ROUNDS = 3
"""How often a lease is looked at again that moved while it was to be taken."""
_PAUSE = 2.0
"""Seconds between tries while the remote is away, at most."""
_PATIENCE = 15.0
"""Seconds that the end may take in all: enough on a busy machine, and no remote is waited for."""


@dataclass(slots=True)
class BranchLease:
    """The lease of one branch of one remote; as a context it is held, renewed and given back.

    One thread at a time speaks with the remote: renewals wait for landings and the reverse.
    """

    repository: Repository
    name: str
    """The remote's."""
    branch: str
    environ: Mapping[str, str]
    memory: LeaseMemory
    """Of this clone."""
    seconds: float
    """The ttl."""
    run: str = ""
    doing: str = ""
    """What the lease says is being done; the next renewal tells it."""
    taken_from: LeaseHolder | None = field(default=None, init=False)
    """Who held it before, where it was taken over from somebody else."""
    trouble: str = field(default="", init=False)
    """Why nothing more lands, in words; empty while all is well."""
    on_loss: Callable[[], object] = field(default=lambda: None)
    """Called once, from any thread, when somebody else holds it."""
    _stack: ExitStack = field(default_factory=ExitStack, init=False)
    _lock: RLock = field(default_factory=RLock, init=False)
    _over: Event = field(default_factory=Event, init=False)
    _until: float = field(default=0.0, init=False)
    """When giving it back is given up, once it has begun to end."""
    _remote: Remote = field(init=False)
    _ref: str = field(default="", init=False)
    _value: str | None = field(default=None, init=False)
    _mine: LeaseHolder = field(default=LeaseHolder(), init=False)
    _tip: str | None = field(default=None, init=False)
    """Where the remote's branch is, as far as is known."""
    _lost: LeaseHolder | None = field(default=None, init=False)
    _sent: set[str] = field(default_factory=set, init=False)
    """Values that were pushed and of which it is not known yet whether they arrived."""

    # --- taking -------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Take the lease, and have it renewed until the end. Raises RunnerError, exit 6.

        Where the branch here is not the remote's, nothing is taken; what a crash left in the
        remote alone is brought here first.
        """
        with ExitStack() as stack:
            self._remote = stack.enter_context(Remote(self.repository, self.name, self.environ))
            self.take()
            # Callbacks run in reverse: the thread that renews has ended before the lease is given
            # back, or it would find it gone and take that for a loss.
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
        """How it stands. Raises RemoteAwayError, RunnerError for an address that is none."""
        with Remote(self.repository, self.name, self.environ) as self._remote:
            return self._stand(self._remote.read(*refs_of(self.branch)))

    def _stand(self, seen: Mapping[str, str]) -> LeaseState:
        return find_standing(self._remote, self.branch, seen, self.memory, self.seconds)

    def take(self, reason: str = "") -> None:
        """Take it; with a reason, from whoever holds it. Raises RunnerError, exit 6."""
        for _ in range(_ROUNDS):
            seen = self._remote.read(self._branch_ref, *refs_of(self.branch))
            there = self._stand(seen)
            if not (there.value is None or there.is_own or there.is_over or reason):
                raise make_held_error(self.name, self.branch, there, self.seconds)
            if not reason:
                self._require_tip(seen)
            if self._swap_in(there, seen, reason) and self._is_alone(reason):
                return
        raise PublishError(
            f"the lease of {display(self.branch)} changed while it was being taken",
            hint="another run is starting now: see `runner team lease`, then run again",
            code=ExitCode.CONFLICT,
        )

    def take_by_hand(self, reason: str) -> tuple[LeaseState, PublishError | None]:
        """Take it for this clone's next run, from whoever holds it.

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

    def give_back_left(self) -> None:
        """Give back what a run of this clone still holds that was killed; nothing else is touched.

        Raises RunnerError where the remote is away.
        """
        with Remote(self.repository, self.name, self.environ) as self._remote:
            self._remote.seconds = min(self._remote.seconds, _PATIENCE)
            there = self._stand(self._remote.read(*refs_of(self.branch)))
            if there.is_own and there.value is not None:
                self._remote.swap(Move(there.ref, there.value, None))
            self.memory.keep_token("")

    def _swap_in(self, there: LeaseState, seen: Mapping[str, str], reason: str) -> bool:
        """One try to take it as it was seen; False where it moved meanwhile.

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

    def _is_alone(self, reason: str) -> bool:
        """Whether nobody took it at the same moment in the other place; else it is given back."""
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
        """The branch here must be the remote's. Raises PublishError."""
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
        """Say that it is still held; False where it is not. Raises RemoteAwayError."""
        with self._lock:
            if self._lost is None and not self._over.is_set():
                self._hear(self._remote.swap(self._next()))
            return self._lost is None

    def _next(self) -> Move:
        """The lease's move to its next value, which is held from here on if it is made."""
        mine = self._mine = self._mine._replace(
            renewed=effects.timestamp(), beat=self._mine.beat + 1, doing=self.doing
        )
        value = self._remote.write_commit(write_lease(mine))
        self._sent.add(value)
        return Move(self._ref, self._value, value)

    def _hear(self, came: Swapped) -> None:
        """Take in where the lease is now."""
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
        """Who this clone's lease says that it is."""
        return self._mine.who

    @property
    def lost_to(self) -> LeaseHolder | None:
        """Who holds it now, where it was lost."""
        return self._lost

    def move(self, head: Head, commit: str) -> None:
        """Move the remote's branch from `head` to a commit that stands on it, with the lease.

        Raises PublishError where nothing moved, and nothing is to move here; RemoteAwayError
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
                self._look_at_tip(head)
            # On disk before the push: after a crash it says which commit was on its way, and the
            # remote alone says whether it arrived.
            self.repository.git.with_settings(DURABLE).run("update-ref", PUBLISHING, commit)
            came = self._swap_with_branch(commit)
            if came.seen.get(self._branch_ref) == commit:
                self._tip = commit
                return
        if not self.trouble:
            self.trouble = self._explain(came)
        raise self._make_trouble()

    def _swap_with_branch(self, commit: str) -> Swapped:
        """Both refs in one push, tried for a whole ttl while the remote is away."""
        until = effects.monotonic() + self.seconds
        branch = Move(self._branch_ref, self._tip, commit, is_branch=True)
        while True:
            try:
                came = self._remote.swap(branch, self._next())
            except RemoteAwayError as error:
                if effects.monotonic() > until:
                    raise make_unanswered_error(error) from error
                self._over.wait(min(_PAUSE, self.seconds / _BEATS))
                continue
            before = self._value
            self._hear(came)
            # an older value of ours had arrived without an answer: now it is known
            late = came.swap is Swap.MOVED and self._value != before
            if not (late and came.seen.get(self._branch_ref) == self._tip):
                return came

    def _look_at_tip(self, head: Head) -> None:
        """A person committed here meanwhile: fine once they have pushed it, too."""
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
        """Let it go, if it is still ours; a remote that is away sees it lapse.

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
        """Take in where it is now: a value of ours that came late is let go the next time."""
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
