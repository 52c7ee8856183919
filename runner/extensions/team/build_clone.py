"""The clone in which a worker builds, on the build's own branch."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.app.answer import answers
from runner.app.answer.answers import Approve, Reject
from runner.app.answer.cancel_and_retry import retry
from runner.app.answer.waiting import list_waiting
from runner.app.answer.waiting_document import require_shown
from runner.app.draft.draft_answers import approve_draft
from runner.app.inspect.view import View
from runner.errors import ExitCode, RunnerError
from runner.extensions.team.build_queue import find_build
from runner.extensions.team.event_rows import is_copied
from runner.extensions.team.pending_work import describe_shown
from runner.journal.lock import RunLock
from runner.model import Status
from runner.process.own_command import end_orphan
from runner.project import Project, find_journal
from runner.repo.clone import (
    ORIGIN,
    catch_up,
    find_identity,
    find_last_use,
    login_variables,
    measure_folder,
    require_address,
    require_permitted,
    require_within,
    switch_branch,
)
from runner.repo.git import StoppedError
from runner.repo.read import Repository
from runner.repo.remote import Remote, RemoteDownError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from runner.extensions.team.build_queue import QueuedBuild
    from runner.extensions.team.pending_work import ShownWork
    from runner.extensions.team.store_engine import Store
    from runner.repo.clone import CloneCache

_CLONE = "repository"
_FRESH = "replacement"
_KEPT = "kept-"
"""Name prefix of an unusable clone with work that exists nowhere else."""
_GONE = ".gone"
"""Name suffix of a folder that is being deleted."""
_WISH = "wish.md"
_ID_LENGTH = 36
_ID = re.compile(rf"[0-9a-f-]{{{_ID_LENGTH}}}")
VIA = "queue"
"""Origin of a decision, as recorded in the clone's journal."""


def _name_folder(build: str) -> str:
    """Return the build ID as a folder name, or a digest of it if it is not a valid ID."""
    return build if _ID.fullmatch(build) else hashlib.sha256(build.encode()).hexdigest()[:32]


class BuildClone(Struct, dict=True):
    """One build's folder on this machine; nobody else works in it while it is entered."""

    build: QueuedBuild
    home: Path
    """Parent folder of all builds."""
    cache: CloneCache
    person: Mapping[str, str]
    """The worker's own environment."""
    permitted: tuple[str, ...] = ()
    """Which of its variables may be sent to which host, as `TOKEN@HOST`."""
    folders: tuple[str, ...] = ()
    """Folders that may contain local repositories."""
    stopped: Callable[[], bool] | None = None
    """Whether the clone is no longer needed; called while it is made."""
    kept: str = ""
    """New path of the unusable previous clone, if it has unpublished work."""

    def __post_init__(self) -> None:
        self.folder = self.home / _name_folder(self.build.id)
        self._lock = RunLock(self.folder)

    def open(self) -> None:
        """Lock the folder; if a stopped worker still uses it, take another one."""
        effects.make_folder(self.home, mode=0o700)
        try:
            self._lock.acquire()
            is_free = end_orphan(self.folder)
        except RunnerError:
            is_free = False
        if not is_free:
            self._lock.release()
            self.folder = self.home / f"{_name_folder(self.build.id)}-{self.build.token}"
            self._lock = RunLock(self.folder)
            self._lock.acquire()

    def close(self) -> None:
        """Release the folder."""
        self._lock.release()

    @property
    def place(self) -> Path:
        """The clone."""
        return self.folder / _CLONE

    @property
    def journal(self) -> Path:
        """Its journal, which is not there before something happened."""
        return find_journal(self.place, self.build.plan)

    @property
    def wish(self) -> Path:
        """The wish, as a file."""
        return self.folder / _WISH

    @property
    def environ(self) -> dict[str, str]:
        """Return the environment of our commands there. Raises RunnerError without the login."""
        require_permitted(self.build.url, self.build.credential, self.permitted)
        require_within(self.build.url, self.folders)
        variables = {
            **self.person,
            **login_variables(self.build.url, self.build.credential, self.person),
            "RUNNER_GIT_PUBLISH": ORIGIN,
            "RUNNER_GIT_PUBLISH_AT": "task",  # what is proven is seen, and lost with no machine
            "RUNNER_NOTIFY_ON": "",  # the worker tells of builds by itself
        }
        if self.build.plan:
            variables["RUNNER_BUILD_TASK_GRAPH"] = self.build.plan
        return variables

    # --- what it begins with ------------------------------------------------------------

    def prepare(self, save: Callable[[], None]) -> str:
        """Prepare the clone and return its commit; call `save` before a clone is replaced.

        One that cannot be used is replaced once another one is whole. Raises RunnerError with git's
        words, exit 6 where there is one from before, RemoteDownError, StoppedError, OSError where
        the disk resists, and what `save` does: what is here from before is still there then.
        """
        build = self.build
        if not self.place.is_dir():
            self._drop_replacement()  # whose worker was killed before it took its place
            self.kept = max(map(str, self.folder.glob(f"{_KEPT}*")), default="")
            self._clone_into(self.place)
        elif not self._is_usable():
            save()
            self._replace()
        if build.wish:
            effects.write_file(self.wish, build.wish.encode("utf-8", "replace"), mode=0o600)
        with Repository.open(self.place) as repository:
            return repository.find_head().commit or ""

    def _clone_into(self, place: Path) -> None:
        _remove_if_possible(self.folder.glob("new-*"))  # of one that was killed
        who = find_identity(self.person)
        url = require_address(self.build.url)
        self.cache.clone(url, self.build.base, place, who, self.environ, self.stopped)

    def _replace(self) -> None:
        """Replace this clone by another one, keeping what only the old one has."""
        fresh = self._drop_replacement()
        try:
            self._clone_into(fresh)
        except (StoppedError, RemoteDownError):
            raise
        except RunnerError as error:  # a full disk, say: what could not be used may be well again
            hint = f"the existing clone is unchanged; {error.hint}".rstrip("; ")
            raise RunnerError(
                error.message,
                where=error.where,
                detail=error.detail,
                hint=hint,
                code=ExitCode.CONFLICT,
            ) from error
        if self._has_more():
            self.kept = str(self.folder / f"{_KEPT}{self.build.token}")
            self.place.rename(self.kept)
        else:
            effects.remove_tree(self.place)
        fresh.rename(self.place)

    def _drop_replacement(self) -> Path:
        """Remove a replacement clone that a killed worker left, and return its path."""
        fresh = self.folder / _FRESH
        if fresh.exists():
            effects.remove_tree(fresh)
        return fresh

    def _has_more(self) -> bool:
        """Return whether the clone has work that its remote lacks; True if it is unreadable."""
        try:
            with Repository.open(self.place) as repository:
                return _has_own_work(repository, self.build, self.person)
        except (RunnerError, OSError):
            return True

    def _is_usable(self) -> bool:
        """Return whether the existing clone can be used. Raises RemoteDownError.

        Raises RemoteDownError: its branch may be as it has to be.
        """
        try:
            with Repository.open(self.place) as repository:
                if repository.find_head().ref != f"refs/heads/{self.build.branch}":
                    return True  # it was left before its branch was made
        except RunnerError:
            return False
        return self.catch_up()

    def switch_to_build_branch(self) -> str:
        """Switch to the build's branch, create it in the remote if needed, and return its commit.

        Raises RunnerError, exit 6 where the remote refuses it.
        """
        with Repository.open(self.place) as repository:
            switch_branch(repository, self.build.branch, self.build.base, self.environ)
            return repository.find_head().commit or ""

    def catch_up(self) -> bool:
        """Update to the remote's branch; False if that needs another clone.

        Raises RemoteDownError.
        """
        try:
            with Repository.open(self.place) as repository:
                return catch_up(repository, self.build.branch, self.environ)
        except RemoteDownError:
            raise
        except RunnerError:
            return False

    def require_branch(self) -> None:
        """Raise RunnerError, exit 6, where another branch is checked out than the build's.

        A command would land there: a clone that is new is on the branch that builds begin on.
        """
        with Repository.open(self.place) as repository:
            if repository.find_head().ref != f"refs/heads/{self.build.branch}":
                raise RunnerError(
                    f"the clone is not on {self.build.branch}",
                    where=str(self.place),
                    code=ExitCode.CONFLICT,
                )

    def find_tip(self) -> str:
        """Return the tip of the remote's branch. Raises RemoteDownError."""
        ref = f"refs/heads/{self.build.branch}"
        with (
            Repository.open(self.place) as repository,
            Remote(repository, ORIGIN, self.environ) as remote,
        ):
            return remote.read(ref).get(ref, "")

    def project(self) -> Project:
        """Open the project in the clone. Raises RunnerError for invalid settings."""
        return Project.open(self.place, self.environ, plan_needed=False)

    def list_tasks(self) -> tuple[str, ...]:
        """Return the task IDs to build. Raises RunnerError if there is no plan."""
        if self.build.tasks:
            return self.build.tasks
        return tuple(one.id for one in self.project().outline().tasks)

    def list_waiting(self) -> tuple[str, ...]:
        """Return the tasks that wait for a person's answer. Raises RunnerError."""
        project = self.project()
        with Repository.open(project.root) as repository:
            known = list_waiting(project, repository, project.state())
        return tuple(one.task for one in known if one.kind != "blocked" and not one.answered)

    def describe_shown(self) -> tuple[ShownWork, ...]:
        """Return the waiting items of the clone's project. Raises RunnerError."""
        return describe_shown(self.project())

    # --- answers ------------------------------------------------------------------------

    def take_answer(self, word: str, task: str, reason: str, by: str, seen: str = "") -> str:
        """Carry out a person's answer to what they were shown; return the result in words."""
        project, via = self.project(), f"{VIA} by {by}"
        try:
            match word:
                case "approve" if task.upper().startswith("DRAFT-"):
                    require_shown(project, task, seen)
                    approve_draft(project, task, by, via)
                    return f"{task} approved"
                case "approve":
                    asked = Approve((task,), via=via, seen=seen)
                    answers.approve(project, asked, lambda _: None)
                    return f"{task} approved"
                case "reject":
                    answers.reject(
                        project, Reject((task,), reason, via=via, seen=seen), lambda _: None
                    )
                    return f"{task} rejected"
                case _:
                    retry(project, (task,), reason, via=via)
                    return f"{task} will be retried"
        except RunnerError as error:
            return f"not applied: {error.message}"

    def retry_blocked(self) -> None:
        """Retry the BLOCKED tasks, after a person has requested the whole build again."""
        project = self.project()
        known = View.of(project).states if project.has_plan else {}  # none: its draft failed
        stuck = [one for one, state in known.items() if state.status is Status.BLOCKED]
        for one in stuck:
            self.take_answer("retry", one, "", self.build.by)


# --- what is old ----------------------------------------------------------------------


def trim_clones(store: Store, home: Path, most: float, environ: Mapping[str, str]) -> list[str]:
    """Remove clones of finished builds, oldest first, until the rest fits; return their names.

    One stays that has work which its remote has not, now or from before, a journal of which the
    store lacks a line, or somebody in it.
    """
    _remove_if_possible(home.glob(f"*{_GONE}"))  # of a worker that was killed meanwhile
    found = sorted((one for one in home.glob("*") if one.is_dir()), key=find_last_use)
    sizes = {one: measure_folder(one) for one in found}
    gone: list[str] = []
    for one in found:
        if sum(sizes.values()) > most and _put_aside(store, one, environ):
            _remove_if_possible([one.with_name(one.name + _GONE)])
            del sizes[one]
            gone.append(one.name)
    return gone


def _remove_if_possible(folders: Iterable[Path]) -> None:
    for one in tuple(folders):
        with suppress(OSError):
            effects.remove_tree(one)


def _put_aside(store: Store, folder: Path, environ: Mapping[str, str]) -> bool:
    """Rename a clone for removal if nothing is lost; False if it must stay or this is unclear.

    So whoever has the build again, while it is taken away, begins in a folder of their own.
    """
    if any(folder.glob(f"{_KEPT}*")):
        return False
    lock = RunLock(folder)
    try:
        build = find_build(store, folder.name[:_ID_LENGTH])
        lock.acquire()
    except RunnerError:
        return False
    try:
        may_go = build.is_over and _is_kept(store, build, folder / _CLONE, environ)
        if may_go:
            folder.rename(f"{folder}{_GONE}")
    except (RunnerError, OSError):
        return False
    else:
        return may_go
    finally:
        lock.release()


def _is_kept(store: Store, build: QueuedBuild, place: Path, environ: Mapping[str, str]) -> bool:
    """Return whether remote and store have everything in the clone."""
    try:
        journal = find_journal(place, build.plan).read_bytes()
    except FileNotFoundError:
        journal = b""
    if not is_copied(store, build.id, journal):
        return False
    with Repository.open(place) as repository:
        return not _has_own_work(repository, build, environ)


def _has_own_work(repository: Repository, build: QueuedBuild, environ: Mapping[str, str]) -> bool:
    """Return whether a clone has work that its remote lacks. Raises RunnerError."""
    ref = f"refs/heads/{build.branch}"
    variables = {**environ, **login_variables(build.url, build.credential, environ)}
    with Remote(repository, ORIGIN, variables) as remote:
        tip = remote.read(ref).get(ref, "")
    git = repository.git
    known = (f"--remotes={ORIGIN}", *filter(None, (tip,)))
    # Drafts, held changes and work in progress are also refs.
    more = git.line("rev-list", "--count", "--all", "HEAD", "--not", *known)
    return more != "0" or bool(git.line("status", "--porcelain"))
