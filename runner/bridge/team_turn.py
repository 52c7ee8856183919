"""The bridge in a worker: what is drafted, built and proven for an issue has its turn in the queue.

Each issue has one build in the team's store, of its branch. It is claimed before the first command
and handed back when somebody else has to go on, so that the team's bounds, priorities and cancel
hold for it as for any other. Who may write to the forge is still decided by the bridge's lease.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.draft.draft_checks import Target
from runner.app.draft.drafting import require_drafter, require_drafter_trust
from runner.app.observer import Silent
from runner.bridge.bridge_round import EVERY, TRIGGER, Bridge, BridgeRequest
from runner.bridge.forge_http import ForgeHttp
from runner.bridge.github import DEFAULT_API, GitHub
from runner.bridge.issue_clone import IssueClone, read_token
from runner.bridge.issue_desk import EndedBuildError, TurnError
from runner.bridge.own_request import ENDED
from runner.errors import ExitCode, RunnerError
from runner.plan.document import read_plan
from runner.project import Project
from runner.repo.clone import ORIGIN
from runner.repo.push import address_of
from runner.repo.read import Repository
from runner.team.budget_share import FREE, Share
from runner.team.build_claim import (
    LostClaimError,
    claim_build,
    find_newest_build,
    finish_build,
    hand_back,
    note_mine,
)
from runner.team.build_queue import (
    ISSUE_TAG,
    TRACKER,
    Wanted,
    cancel_build,
    find_build,
    queue_build,
    retry_build,
)
from runner.team.heartbeat import Heartbeat
from runner.team.journal_copy import JournalCopy
from runner.team.repository_list import list_repositories
from runner.team.store_engine import StoreAwayError, UnfitValueError
from runner.team.team_budget import read_share
from runner.team.work_end import shorten
from runner.text.display import format_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.app.draft.draft_review import DraftVerdict
    from runner.bridge.builder import Ended
    from runner.journal.session_events import DraftProposed
    from runner.team.build_claim import Claimer
    from runner.team.build_queue import QueuedBuild
    from runner.team.repository_list import Registered
    from runner.team.store_engine import Store
    from runner.team.worker_round import TeamWorker

_DONE = frozenset({"a pull request waits for a review", "merged"})
_TICK = 1.0
"""Seconds between looks whether the worker is to end."""


@dataclass
class TeamTurn:
    """The claim of one issue's build, from its first command until somebody else has to go on."""

    store: Store
    repository: Registered
    me: Claimer
    beat: float
    """Seconds between words that the claim is still held."""
    branch: str
    place: str
    _mine: QueuedBuild | None = None
    _heart: Heartbeat | None = None
    _copy: JournalCopy | None = None
    _given: Share = FREE

    @property
    def is_over(self) -> bool:
        """Whether the team wants it ended, or gave it to somebody else."""
        heart = self._heart
        return heart is not None and (heart.is_lost or bool(heart.cancelled_by))

    def require_uncancelled(self) -> None:
        """Raises EndedBuildError where somebody ended it in the queue: that is told at once."""
        by = self._heart.cancelled_by if self._heart is not None else ""
        if by:
            raise EndedBuildError(by, "it was cancelled")

    @property
    def share(self) -> Share:
        """What this claim may cost, and did."""
        if self._copy is None:
            return self._given
        spent, is_whole = self._copy.dollars, self._copy.is_cost_known
        return replace(self._given, spent=spent, is_whole=is_whole)

    def take(self, clone: IssueClone) -> None:
        """Have it, for as long as it goes on.

        Raises TurnError while it is not to be had, EndedBuildError where the team ended it,
        StoreAwayError.
        """
        if self._mine is not None:
            return
        found = self._find() or self._queue()
        if found.state == "COMPLETED":
            retry_build(self.store, found, self._by, via=TRACKER)
        mine = self._require_wanted(found) and claim_build(self.store, self.me, build=found.id)
        if not mine:
            self._require_wanted(find_build(self.store, found.id))
            raise TurnError
        self._begin(mine, clone)

    def _require_wanted(self, found: QueuedBuild) -> bool:
        if found.state in ("CANCELLED", "FAILED"):
            raise EndedBuildError(
                found.cancelled_by, f"{found.short} is {found.state}: {found.note}"
            )
        return True

    def _begin(self, mine: QueuedBuild, clone: IssueClone) -> None:
        self._mine = mine
        self._heart = Heartbeat(
            self.store, mine, (self.beat, self.me.ttl), threading.Event()
        ).__enter__()
        self._given = read_share(self.store, mine)
        note_mine(self.store, mine, "clone.started", {"url": mine.url})
        note_mine(self.store, mine, "clone.completed", place=self.place)
        self._copy = JournalCopy(clone.journal, self.branch)
        self._copy.read_old()

    def copy(self) -> None:
        """Have the store say what the journal does; one that is away is told later."""
        if self._mine is None or self._copy is None:
            return
        with suppress(StoreAwayError, LostClaimError, UnfitValueError):
            while self._copy.step(self.store, self._mine, ()):
                pass

    def end(self, said: str, *, is_again: bool, head: str = "") -> None:
        """Let go of it; `said` is what the issue waits for, or how it ended.

        Where the store is away nothing is told: the claim runs out.
        """
        try:
            with suppress(StoreAwayError, LostClaimError):
                if self._mine is None:
                    self._end_waiting(said)
                else:
                    self._hand_on(self._mine, shorten(said), head, is_again=is_again)
        finally:
            if self._heart is not None:
                self._heart.__exit__()
            self._mine = self._heart = self._copy = None

    def _end_waiting(self, said: str) -> None:
        found = self._find() if said in ENDED else None
        if found is not None and found.state == "PENDING":
            with suppress(RunnerError):  # it ended a moment ago
                cancel_build(self.store, found, f"the bridge: {said}", via=TRACKER)

    def _hand_on(self, mine: QueuedBuild, said: str, head: str, *, is_again: bool) -> None:
        self.copy()
        by = self._heart.cancelled_by if self._heart is not None else ""
        told = (self.store, mine)
        if by:
            finish_build(*told, "CANCELLED", f"cancelled by {by}", "", self.share)
        elif said in _DONE:
            finish_build(*told, "COMPLETED", "", head, self.share)
        elif said in ENDED:
            finish_build(*told, "CANCELLED", said, "", self.share)
        else:
            waits = said.removeprefix("waits for ")
            hand_back(*told, said, self.share, waits="" if is_again else waits)

    def resume(self, by: str) -> None:
        """Have it be wanted again."""
        found = self._find()
        if found is not None and found.is_over:
            retry_build(self.store, found, by, via=TRACKER)

    @property
    def _by(self) -> str:
        return f"issue {self.branch.rpartition('/')[2].partition('-')[0]}"

    def _find(self) -> QueuedBuild | None:
        return find_newest_build(self.store, self.repository.name, self.branch, ISSUE_TAG)

    def _queue(self) -> QueuedBuild:
        asked = Wanted(
            self.repository, self._by, branch=self.branch, tags=(ISSUE_TAG,), via=TRACKER
        )
        return queue_build(self.store, asked)


@dataclass
class QueuedClone(IssueClone):
    """An issue's clone in which every command has its turn."""

    make_turn: Callable[[str, str], TeamTurn] | None = None
    """By branch and place."""
    _made: TeamTurn | None = None

    def __post_init__(self) -> None:
        """Its turn is taken with the first command."""
        self.on_progress = self._copy

    @property
    def _turn(self) -> TeamTurn:
        """Of its branch, which is known before there is a first command."""
        if self._made is None or self._made.branch != self.branch:
            assert self.make_turn is not None
            self._made = self.make_turn(self.branch, str(self.place))
        return self._made

    def _copy(self) -> None:
        self._turn.copy()

    @property
    def environ(self) -> dict[str, str]:
        """What our commands are told, with what they may take."""
        return self._turn.share.limit(super().environ, self.source.settings)

    def resume(self, by: str) -> None:
        """Have it be wanted again in the queue."""
        self._turn.resume(by)

    def end_turn(self, said: str, *, is_again: bool) -> None:
        """Hand it back; of an issue that has no branch yet there is nothing to."""
        if not self.branch:
            return
        head = ""
        # Here alone, and whatever is wrong here: a turn that is not ended is nobody's ever after.
        with suppress(RunnerError, OSError), Repository.open(self.place) as repository:
            head = repository.find_head().commit or ""
        self._turn.end(said, is_again=is_again, head=head)

    def review(self, draft: DraftProposed) -> DraftVerdict:
        """A session costs, too."""
        self._turn.take(self)
        return super().review(draft)

    def _go(self, *words: str) -> Ended:
        self._turn.take(self)
        ended = super()._go(*words)
        if ended.code == ExitCode.INTERRUPTED:
            self._turn.require_uncancelled()
        return ended

    def _is_wanted_no_more(self) -> bool:
        """The store's word is heard, too."""
        is_over = self._made is not None and self._made.is_over
        return is_over or super()._is_wanted_no_more()


# --- beside a worker ------------------------------------------------------------------


def open_bridge(worker: TeamWorker, name: str) -> Bridge:
    """A bridge of the clone that the worker was started in. Raises RunnerError without one."""
    environ, settings = worker.environ, worker.settings
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    require_drafter(project)
    target = Target.of(project)
    plan = read_plan(target.data, target.path, prefixes=project.settings.id_prefixes)
    require_drafter_trust(project, plan, None, trusted=True)
    registered = _find_registered(worker.store, project)
    api = environ.get("GITHUB_API_URL") or DEFAULT_API
    forge = GitHub(ForgeHttp(api, read_token(environ)), name)
    asked = BridgeRequest(TRIGGER, ORIGIN, project.settings.agents, EVERY)

    def make_turn(branch: str, place: str) -> TeamTurn:
        me = worker.me
        return TeamTurn(worker.store, registered, me, settings.worker_beat, branch, place)

    clone = partial(QueuedClone, make_turn=make_turn)
    nobody = Silent()  # type: ignore[abstract]  # its methods are those of the protocol: empty
    return Bridge(project, forge, asked, worker.tell, nobody, make_clone=clone)


def _find_registered(store: Store, project: Project) -> Registered:
    with Repository.open(project.root) as repository:
        address = address_of(repository, ORIGIN)
    for one in list_repositories(store):
        if _shorten(one.url) == _shorten(address):
            return one
    raise RunnerError(f"the team has no repository at {address}", hint=f"runner repo add {address}")


def _shorten(address: str) -> str:
    return address.rstrip("/").removesuffix(".git")


@contextmanager
def serve_beside(worker: TeamWorker, name: str) -> Iterator[None]:
    """Serve the bridge of a repository while the worker works.

    Where another one serves it, it is waited for. Raises RunnerError for what cannot begin.
    """
    beside = _Beside(worker, name, open_bridge(worker, name))
    thread = threading.Thread(target=beside.go, name="bridge")
    thread.start()
    try:
        yield
    finally:
        beside.wait_for(thread)


@dataclass
class _Beside:
    """The bridge of a worker, made anew where it ended before the worker does."""

    worker: TeamWorker
    name: str
    bridge: Bridge
    ended: threading.Event = field(default_factory=threading.Event)
    is_over: bool = False
    """Whether that bridge has served, and another one is made for the next time."""

    @property
    def is_once(self) -> bool:
        """Whether it is to make one round."""
        return self.worker.asked.once or self.worker.asked.until_idle

    def go(self) -> None:
        """Serve until the worker ends, whatever keeps one round or another from being made."""
        said = ""
        while True:
            told, pause = self._serve()
            if told and told != said:
                self.worker.tell(told)
            said = told or said
            if self.is_once or self.ended.wait(pause):
                return

    def _serve(self) -> tuple[str, float]:
        """Serve as long as nothing is in the way; what was, and seconds until the next try."""
        try:
            if self.is_over:
                self.bridge = open_bridge(self.worker, self.name)
            self.is_over = True
            self.bridge.serve(follow=not self.is_once)
        except RunnerError as error:
            held = error.code is ExitCode.CONFLICT
            pause = self.worker.settings.lease_seconds if held else EVERY
            return format_error(error).removeprefix("runner: "), pause
        except OSError as error:  # a full disk, say, which may have room again
            return f"the bridge of {self.name} is tried again: {error.strerror or error}", EVERY
        return "", EVERY

    def wait_for(self, thread: threading.Thread) -> None:
        """Have it end as the worker does: at once, or with its round."""
        if not self.is_once:
            self.ended.set()
        while thread.is_alive():
            if self.ended.is_set() or self.worker.over.is_set():
                self.bridge.over.set()
            thread.join(_TICK / 5)
