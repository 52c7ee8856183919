"""`runner team bridge`: process a forge's issues in rounds, under the bridge's lease.

A file lists the issues for which nothing more can be done until they change: they cost no request.
It outlives the bridge, because a start with a thousand waiting issues would otherwise need more
requests than a forge answers in an hour. If the file is lost or damaged, the bridge reads those
issues again.
"""

from __future__ import annotations

import json
import re
import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import __version__, effects
from runner.app.forge_wake import find_bridge_folder, take_wake
from runner.commands.output import open_console, with_flag
from runner.errors import ExitCode, RunnerError, worst
from runner.extensions.bridge.comment_text import Stage, is_branch_of
from runner.extensions.bridge.forge import ForgeBusyError, ForgeError
from runner.extensions.bridge.forge_http import ForgeHttp
from runner.extensions.bridge.github import DEFAULT_API, GitHub
from runner.extensions.bridge.issue_clone import CLONE, IssueClone, find_journal, read_token
from runner.extensions.bridge.issue_state import BridgeStoppedError
from runner.extensions.bridge.issue_text import MIRROR
from runner.extensions.bridge.issue_work import AGAIN, IssueWork
from runner.extensions.bridge.rehearsal import Rehearsal, RehearsalHttp, RehearsedClone
from runner.journal.lock import RunLock
from runner.lazy_module import lazy_module
from runner.model import ReviewMode, digest_of
from runner.project import Project
from runner.repo.clone import BEGAN
from runner.repo.read import Repository
from runner.run.landing.branch_lease import open_name_lease
from runner.text.display import format_error
from runner.text.wording import read_number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

    from runner.app.draft import draft_checks, drafting
    from runner.app.observer import Observer
    from runner.extensions.bridge.forge import Issue
    from runner.plan import document
    from runner.repo import remote
    from runner.run.review import Asker
else:
    document = lazy_module("runner.plan.document")
    draft_checks = lazy_module("runner.app.draft.draft_checks")
    drafting = lazy_module("runner.app.draft.drafting")
    remote = lazy_module("runner.repo.remote")

_SHORTEST_POLL = 1
_PAGES = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._~-]+)*")
"""No character in it ends a Markdown link."""
_ADDRESS = re.compile(r"(?:https://|ssh://git@|git@)github\.com[/:]([^/\s]+/[^/\s]+?)(?:\.git)?/?")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Serve one repository. Raises RunnerError, exit 6 where another bridge does."""
    token = read_token(environ)
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    api = given.api or environ.get("GITHUB_API_URL") or DEFAULT_API
    name = given.repo or _find_repository(project, given.remote)
    asked = _read_request(given, project.settings.build.agents)
    if given.dry_run and given.follow:
        raise RunnerError("--dry-run covers one round only", hint="omit --follow")
    if given.dry_run:
        return _rehearse(project, api, token, name, asked)
    forge = GitHub(ForgeHttp(api, token), name)
    with open_console(project, is_quiet=True) as (observer, asker):
        _require_trust(project, given, asker)
        bridge = Bridge(project, forge, asked, lambda line: print(line, flush=True), observer)
        _end_with_signal(bridge.over)
        return bridge.serve(follow=given.follow)


def _read_request(given: argparse.Namespace, agents: int) -> BridgeRequest:
    if not _SHORTEST_POLL <= given.every <= threading.TIMEOUT_MAX:  # no number is not either
        raise RunnerError("must be at least 1 second", where="--every")
    artifacts = given.artifacts.rstrip("/")
    if artifacts and not _PAGES.fullmatch(artifacts):
        raise RunnerError(
            "not a valid http:// or https:// address",
            where="--artifacts",
            hint="--artifacts https://builds.example/runner",
        )
    label = given.label.casefold()  # as a forge's labels are read
    return BridgeRequest(label, given.remote, agents, given.every, given.sub_issues, artifacts)


def _rehearse(project: Project, api: str, token: str, name: str, asked: BridgeRequest) -> ExitCode:
    """Print one round and do nothing; this needs neither trust nor the lease."""

    def tell(line: str) -> None:
        print(line, flush=True)

    forge = Rehearsal(RehearsalHttp(api, token, tell=tell), name)
    forge.login = forge.find_login()
    with open_console(project, is_quiet=True) as (observer, _):
        return Bridge(project, forge, asked, tell, observer).rehearse()


def _require_trust(project: Project, given: argparse.Namespace, asker: Asker | None) -> None:
    """Ask once, here, for all that clones of this repository may run; exit 3 without a drafter."""
    drafting.require_drafter(project)
    target = draft_checks.Target.of(project)
    plan = document.read_plan(target.data, target.path, prefixes=project.settings.build.id_prefixes)
    again = with_flag(given, "--trust")
    drafting.require_drafter_trust(project, plan, asker, trusted=given.trust, again=again)


def _find_repository(project: Project, name: str) -> str:
    """Return the remote's repository on github.com. Raises RunnerError for another address."""
    with Repository.open(project.root) as repository:
        found = _ADDRESS.fullmatch(remote.address_of(repository, name))
    if found is None:
        raise RunnerError(f"{name} is not a repository on github.com", hint="--repo OWNER/NAME")
    return found[1]


def _end_with_signal(over: threading.Event) -> None:
    """Install a SIGTERM handler that stops the rounds cleanly and gives the lease back."""

    def end(_number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=over.set).start()  # its lock may be held where this comes between

    signal.signal(signal.SIGTERM, end)


LEASE = "runner-bridge"
"""Name of the lease: one bridge at a time serves a repository."""
_SEEN = "seen.json"
_HAS_REQUEST = frozenset({Stage.REVIEW, Stage.PERSON, Stage.PAUSED})
"""Where a word in a pull request is waited for: the issue itself does not tell of it. So is one
while another plan waits, once there was something to propose."""
_LISTENS, _SOONEST = 1.0, 5.0
"""Seconds between checks for news at the forge, and minimum seconds between rounds."""
_LARGEST = 8 << 20


class BridgeRequest(Struct, frozen=True):
    """The request to bridge a repository."""

    label: str
    remote: str
    agents: int
    """Issues that are worked on in parallel."""
    poll: float
    """Seconds between rounds, and between checks of an issue during its build."""
    has_mirrors: bool = False
    """Whether tasks are shown as sub-issues of their issue."""
    artifacts: str = ""
    """Public address of the artifact store."""


class Hold(Struct):
    """Proof that the bridge still holds its lease, by its own clock; thread-safe.

    A forge knows of no lease: a bridge that slept for longer than its ttl, or whose remote is away
    for that long, would write beside the one that took over.
    """

    seconds: float
    """The lease's ttl."""
    renew: Callable[[], bool]
    _known: float = field(default_factory=lambda: effects.monotonic())  # noqa: PLW0108 - a test has its own clock
    """Last time the lease was known to be held here."""

    def require(self) -> None:
        """Raise BridgeStoppedError if the lease is held by another or cannot be checked."""
        now = effects.monotonic()
        if now - self._known < self.seconds / 2:
            return
        try:
            is_ours = self.renew()
        except (RunnerError, OSError):
            is_ours = False
        if not is_ours:
            raise BridgeStoppedError
        self._known = now


class Bridge(Struct, dict=True):
    """One repository of a forge, served from one clone of it."""

    project: Project
    forge: GitHub
    asked: BridgeRequest
    tell: Callable[[str], None]
    observer: Observer
    over: threading.Event = field(default_factory=threading.Event)
    """When set, all work is ended and the lease is released."""
    make_clone: Callable[..., IssueClone] = IssueClone
    """Makes the clone in which an issue is built."""
    _works: dict[int, Future[str]] = field(default_factory=dict)
    _reported: dict[int, str] = field(default_factory=dict)
    _lost: Callable[[], str] = field(default=lambda: "")

    def __post_init__(self) -> None:
        """Include the options of each issue's work in the seen state."""
        asked, mode = self.asked, self.project.settings.plan_review_of(ReviewMode.PROMPT)
        options = (asked.label, asked.remote, asked.has_mirrors, asked.artifacts, mode)
        self._seen = SeenIssues(self.folder / _SEEN, " ".join(map(str, options)))

    def serve(self, *, follow: bool) -> ExitCode:
        """Serve until nothing is left to do, or with `follow` until it is ended.

        Raises RunnerError: exit 6 where another bridge serves it, or has taken the lease.
        """
        login, base = self.forge.find_login(), self.forge.find_default_branch()
        with Repository.open(self.project.root) as repository:
            lease = open_name_lease(
                repository,
                self.asked.remote,
                LEASE,
                self.project.settings.git.lease_seconds,
                self.project.environ,
                self.folder,
            )
            lease.doing = f"issues of {self.forge.name}"
            with self._bridge_lock(), lease:
                self._lost = lambda: lease.trouble
                hold = Hold(lease.seconds, lease.renew)
                self.forge.http.before_write = hold.require
                return self._run_round(login, base, follow=follow)

    @contextmanager
    def _bridge_lock(self) -> Iterator[None]:
        """Hold the lock that prevents a second bridge on this machine from using the folder."""
        lock = RunLock(self.folder)
        holder = lock.holder()
        if holder is not None:
            raise RunnerError(
                f"another bridge on this machine serves {self.forge.name}: {holder}",
                hint=f"stop it (`kill {holder.pid}`), then start this one",
                code=ExitCode.CONFLICT,
            )
        with lock:
            yield

    @property
    def folder(self) -> Path:
        """Folder in which this bridge keeps the clones of its issues."""
        return find_bridge_folder(self.project.places, self.forge.name)

    def rehearse(self) -> ExitCode:
        """Report what one round would do without doing it. Raises RunnerError."""
        login, base = self.forge.find_login(), self.forge.find_default_branch()
        codes = {ExitCode.OK}
        for number in self._list_new(login, base):
            tell = partial(self._tell_of, number)
            builder = RehearsedClone(*self._place_of(number), tell=tell)
            try:
                result = self._make_work(number, builder, login, base).advance()
            except RunnerError as error:
                result = format_error(error).removeprefix("runner: ")
                codes.add(error.code)
            if result not in AGAIN:
                tell(result)
        return worst(codes)

    def _tell_of(self, number: int, line: str) -> None:
        self.tell(f"#{number}: {line}")

    def _run_round(self, login: str, base: str, *, follow: bool) -> ExitCode:
        codes: set[ExitCode] = set()
        self._seen.load()
        with ThreadPoolExecutor(self.asked.agents, thread_name_prefix="issue") as pool:
            try:
                while self._may_go_on():
                    pause = self._begin(pool, login, base)
                    if not follow:
                        wait(self._works.values())
                        codes = self._settle()
                        break
                    self._rest(pause)
                    self._settle()
            finally:
                self.over.set()
                wait(self._works.values())
        self._settle()
        if self._lost():
            hint = "start it again to continue; `runner team lease` shows the active bridge"
            raise RunnerError(
                f"the bridge stopped: {self._lost()}", hint=hint, code=ExitCode.CONFLICT
            )
        return worst(codes)

    def _rest(self, pause: float) -> None:
        """Wait for the next round, or until the forge wakes the bridge, with a minimum pause."""
        until = effects.monotonic() + pause
        soonest = effects.monotonic() + min(pause, _SOONEST)
        while (left := until - effects.monotonic()) > 0:
            if self.over.wait(min(left, _LISTENS)):
                return
            if effects.monotonic() >= soonest and take_wake(self.folder):
                return

    def _may_go_on(self) -> bool:
        return not self.over.is_set() and not self._lost()

    def _begin(self, pool: ThreadPoolExecutor, login: str, base: str) -> float:
        """Start work on every issue with news, and return the seconds until the next round."""
        try:
            self.forge.forget_rights()
            found = self._list_new(login, base)
        except ForgeBusyError as busy:
            self.tell(f"{busy.message}; {busy.hint}")
            return busy.seconds
        except ForgeError as error:
            self.tell(f"{error.message}; retrying in {self.asked.poll:g} s")
            return self.asked.poll
        for number, seen in found.items():
            builder = self.make_clone(*self._place_of(number))
            work = self._make_work(number, builder, login, base)
            builder.is_stopped = work.is_halted
            # Note before the work starts: later changes by people differ from it and are news.
            self._seen.note(number, seen)
            self._works[number] = pool.submit(work.advance)
        return self.asked.poll

    def _list_new(self, login: str, base: str) -> dict[int, tuple[object, ...]]:
        """Return the issues that may have news, with the values that show it."""
        issues = {one.number: one for one in self.forge.list_issues(self.asked.label)}
        found = {
            number: self._look_at(one, login, base, has_parent=one.parent in issues)
            for number, one in issues.items()
        }
        for number, words in self._seen.words.items() - self._reported.items():
            if number in found and not self._seen.is_new(number, found[number]):
                self._report_once(number, words)
        for number in self._list_begun():  # closed, or without the label by now
            found.setdefault(number, ())
        return {
            number: seen
            for number, seen in found.items()
            if number not in self._works and (not seen or self._seen.is_new(number, seen))
        }

    def _look_at(
        self, issue: Issue, login: str, base: str, *, has_parent: bool
    ) -> tuple[object, ...]:
        """Return the values that show whether an issue has news; empty if the forge fails."""
        try:
            return (
                *(issue.updated, issue.blocked_by, issue.parts, has_parent),
                *self._fetch_part_times(issue),
                *self._fetch_request_state(issue, login, base),
                *self._stat_clone(issue.number),
            )
        except ForgeError as error:
            if error.is_of_all:
                raise
            return ()  # its own work meets the same, and tells it: others go on

    def _stat_clone(self, number: int) -> tuple[int, ...]:
        """Return size and time of the clone's journal, which change when a person works there."""
        try:
            journal = find_journal(self.folder / str(number), self.project.inside).stat()
        except OSError:
            return ()
        return (journal.st_size, journal.st_mtime_ns)

    def _fetch_part_times(self, issue: Issue) -> tuple[object, ...]:
        """Return the update times of an issue's parts, which the issue itself does not show."""
        below = self.forge.list_parts(issue.number) if issue.parts else ()
        return tuple((one.number, one.updated) for one in below if MIRROR not in one.labels)

    def _fetch_request_state(self, issue: Issue, login: str, base: str) -> tuple[object, ...]:
        """Return the state of the pull request and its comments and reviews."""
        # The build may have started elsewhere; without a clone here, check it anyway.
        folder = self.folder / str(issue.number)
        branch = read_branch(folder, issue.number)
        if not _HAS_REQUEST & issue.labels and not (branch and _has_commits(folder, branch)):
            return ()
        pull = self.forge.find_pull_request(branch, base, login) if branch else None
        if pull is None:
            return ()
        comments = tuple((one.id, one.updated) for one in self.forge.list_comments(pull.number))
        reviews = tuple(self.forge.list_reviews(pull.number))
        return (pull.head, pull.is_open, pull.is_merged, comments, reviews)

    def _list_begun(self) -> list[int]:
        """Return the issues that have a folder here; those of ended ones are renamed."""
        folders = self.folder.iterdir() if self.folder.is_dir() else ()
        return sorted(at for one in folders if (at := read_number(one.name)) >= 0)

    def _place_of(self, number: int) -> tuple[Project, str, Path, Observer]:
        return (self.project, self.asked.remote, self.folder / str(number), self.observer)

    def _make_work(self, number: int, builder: IssueClone, login: str, base: str) -> IssueWork:
        builder.branch = read_branch(builder.folder, number)
        return IssueWork(
            self.forge,
            builder,
            number,
            self.asked.label,
            base,
            login,
            mode=self.project.settings.plan_review_of(ReviewMode.PROMPT),
            has_mirrors=self.asked.has_mirrors,
            artifacts=self.asked.artifacts,
            may_go_on=self._may_go_on,
            poll=self.asked.poll,
        )

    def _settle(self) -> set[ExitCode]:
        """Report the results of finished works, and return their exit codes."""
        codes = set()
        for number, work in list(self._works.items()):
            if not work.done():
                continue
            del self._works[number]
            try:
                result, is_again = work.result(), False
            except RunnerError as error:
                result, is_again = format_error(error).removeprefix("runner: "), True
                codes.add(error.code)
            if is_again or result in AGAIN:
                self._seen.forget(number)
            elif (self.folder / str(number)).is_dir():  # whose label did not count may push by then
                self._seen.settle(number, result)
            self._report_once(number, result)
        return codes

    def _report_once(self, number: int, result: str) -> None:
        if self._reported.get(number) != result:
            self._reported[number] = result
            self._tell_of(number, result)


def read_branch(folder: Path, number: int) -> str:
    """Return the issue's branch that its clone has checked out; empty if there is none."""
    with suppress(OSError, UnicodeDecodeError):
        head = (folder / CLONE / ".git/HEAD").read_text(encoding="utf-8").strip()
        branch = head.removeprefix("ref: refs/heads/")
        return branch if is_branch_of(number, branch) else ""
    return ""


def _has_commits(folder: Path, branch: str) -> bool:
    """Return whether the clone's branch has new commits; True if the files cannot tell."""
    refs = [folder / CLONE / ".git" / one for one in (f"refs/heads/{branch}", BEGAN)]
    try:
        here, began = (one.read_text(encoding="utf-8").strip() for one in refs)
    except (OSError, UnicodeDecodeError):
        return True
    return here != began


class SeenIssues(Struct):
    """The digest of each issue's reportable state."""

    file: Path
    asked: str
    """Options of the bridge; a change makes it check every issue again."""
    _now: dict[int, str] = field(default_factory=dict)
    _kept: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Digest and text of issues stored on disk."""

    def load(self) -> None:
        """Load the state that the last bridge saved."""
        try:
            with self.file.open("rb") as opened:
                document = json.loads(opened.read(_LARGEST))
            if document["of"] != self._stamp:
                return
            for number, (digest, words) in document["issues"].items():
                if (at := read_number(number)) >= 0:
                    self._kept[at] = (str(digest), str(words))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._kept.clear()
        self._now = {number: digest for number, (digest, _) in self._kept.items()}

    @property
    def _stamp(self) -> str:
        return f"{__version__} {self.asked}"

    @property
    def words(self) -> dict[int, str]:
        """Return the last report of each waiting issue."""
        return {number: words for number, (_, words) in self._kept.items()}

    def is_new(self, number: int, news: object) -> bool:
        """Return whether an issue has changed since it was last seen."""
        return self._now.get(number) != _digest(news)

    def note(self, number: int, news: object) -> None:
        """Record the news of an issue in memory; on disk it stays new until it is settled."""
        self._now[number] = _digest(news)
        if self._kept.pop(number, None) is not None:
            self._save()

    def settle(self, number: int, words: str) -> None:
        """Record that nothing more can be done for an issue until there is news."""
        if number in self._now:
            self._kept[number] = (self._now[number], words)
            self._save()

    def forget(self, number: int) -> None:
        """Forget an issue, so that it is examined again without news."""
        self._now.pop(number, None)

    def _save(self) -> None:
        issues = {str(number): list(one) for number, one in sorted(self._kept.items())}
        body = json.dumps({"of": self._stamp, "issues": issues})
        effects.write_file(self.file, body.encode(), mode=0o600, durable=False)


def _digest(news: object) -> str:
    return digest_of(repr(news).encode("utf-8", "backslashreplace"))
