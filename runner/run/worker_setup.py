"""Set up job slots: scratch tree, command place, sandbox, and allowed requests."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.gates import shim
from runner.gates.proof_cache import ProofMemory
from runner.held_out.store import HeldOutSite
from runner.process.base import Place, command_environment, git_identity
from runner.process.environments import IN_REPOSITORY, find_shared_folders, with_own_tools
from runner.process.package_links import find_layouts
from runner.process.process_tree import count_visits, end_marked, own_prefix
from runner.repo.proposal_bounds import ProposalBounds
from runner.repo.scratch import Pool, Scratch, Submodules
from runner.run.landing.own_lines import Landings
from runner.run.worker_assignment import WorkerContext
from runner.run.worktree_include import copy_included, match_included

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.held_out.store import HeldOutFolders
    from runner.process.base import Sandbox
    from runner.repo.read import Repository
    from runner.repo.scratch import Slot
    from runner.run.secret_leases import SecretLeases
    from runner.run.worker_assignment import Assignment
    from runner.run.workers import WorkerPool
    from runner.writes.sast import SastPool


_SMALL = 1 << 14
_MANY = 1 << 9
_MOST_FOLDERS = 20_000
"""Maximum folders of a repository searched for installed dependencies."""
LOGS = "artifacts/build/logs"


class WorkerSetup(Struct, dict=True):
    """Makes the site of a slot when it is first used; slots are kept for the next run."""

    root: Path
    repository: Repository
    cache: Path
    settings: Settings
    sandbox: Sandbox
    environ: Mapping[str, str]
    say: Callable[[str, str], None]
    """Prints a line of progress of a task: (task, line)."""
    sast: SastPool | None = None
    held_out: HeldOutFolders | None = None
    """Location of this plan's held-out files."""
    _shares: tuple[str, ...] | None = None
    _memory: ProofMemory = field(default_factory=ProofMemory)
    _blobs: dict[tuple[str, str], bytes | None] = field(default_factory=dict)
    """Cache of small files in commits: a script is read for every check that runs it."""
    _passed_on_base: dict[tuple[str, ...], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        matches = match_included(self.repository, self.settings)
        self.included = copy_included(self.repository, matches, self.cache)
        self._pool = Pool(self.cache)
        self._landings = Landings(self.repository)
        self._leases = self._make_leases()
        environment = command_environment(self.environ, pass_env=self.settings.sandbox.pass_env)
        self._environment = with_own_tools(environment, self.root, may_use=self._may_use)

    def _make_leases(self) -> SecretLeases | None:
        if not self.settings.secret:
            return None
        from runner.run.secret_leases import SecretLeases

        return SecretLeases(self.settings, self.environ, self.root)

    def _may_use(self, folder: str) -> bool:
        """Check whether programs in a folder may run: those in the commit only inside a sandbox."""
        if self.sandbox.encloses:
            return True
        head = self.repository.head().commit
        return not (head and self.repository.tree_entries(head, [folder]))

    def _find_shares(self) -> tuple[str, ...]:
        """Find the installed dependencies once, when work begins: a run without any looks at none.

        Those in the project's own folder come first: the first Python is the project's.
        """
        if self._shares is None:
            head, start = self.repository.head().commit, self.repository.prefix.value.rstrip("/")
            folders = {"", start}
            if head:
                folders |= self.repository.objects().list_folders(head, _MOST_FOLDERS)
            found = find_shared_folders(self.repository.folders.top, folders)
            self._shares = tuple(sorted(found, key=lambda path: path.rpartition("/")[0] != start))
        return self._shares

    def site(self, number: int, workers: WorkerPool) -> WorkerContext:
        """Take a free slot, end processes of an earlier run, and return its context."""
        slot = self._pool.take()
        # Only with the slot's lock: processes in it now belong to a killed run.
        end_former_owner(slot.folder / "owner")
        shares = self._find_shares()
        scratch = Scratch.open(slot.folder, self.repository.lender(), shares=shares)
        scratch.share(self.repository.trees, self.repository.content)
        scratch.bounds = ProposalBounds.of(self.settings)
        scratch.include(self.included)
        scratch.stopped = LastLook(workers, number)
        scratch.count_visits = partial(count_visits, scratch.tree_folder)
        box = slot.folder / "box"
        effects.make_folder(box / "tmp")
        place = Place(
            tree=scratch.tree_folder,
            shown=self.repository.folders.top,
            box=box,
            objects=self.repository.folders.objects,
            shares=shares,
            start=self.repository.prefix.value,
            beside=self.included.mark if self.included else "",
        )
        submodules = Submodules(slot.folder, self.repository.folders)
        return WorkerContext(
            scratch=scratch,
            place=place,
            sandbox=self.sandbox,
            settings=self.settings,
            logs=self.root / LOGS,
            logs_shown=LOGS,
            workers=workers,
            show=self.say,
            release=partial(_give_back, scratch, submodules, slot),
            before=self._before,
            base_environment=self._make_environment(place, scratch.lender.who),
            kept=self.cache,
            memory=self._memory,
            sast=self.sast,
            submodules=submodules,
            included=self.included,
            leases=self._leases,
            former=self._former,
            held_out=self._held_out_site(scratch.lender.who),
            number=number,
            has_company=workers.has_company,
        )

    def _held_out_site(self, who: tuple[str, str]) -> HeldOutSite | None:
        if self.held_out is None:
            return None
        known, environment = self._passed_on_base, partial(self._make_environment, who=who)
        return HeldOutSite(self.held_out.store, self.held_out.workspaces, environment, known)

    def _make_environment(self, place: Place, who: tuple[str, str]) -> dict[str, str]:
        """Return the variables for a slot's commands; tests commit as `who`."""
        # A sandbox hides the user's git configuration. Without one it applies.
        hidden = self.sandbox.encloses or self.repository.identity().invented
        # bubblewrap shows the command's own /tmp instead
        environment = {
            **(git_identity(*who) if hidden else {}),
            **self._environment,
            "TMPDIR": str(place.box / "tmp"),
        }
        if any(share.endswith(IN_REPOSITORY) for share in place.shares):
            # `uv run` would install the scratch tree into the user's own environment.
            environment.setdefault("UV_NO_SYNC", "1")
        if self.sandbox.contains:
            return environment
        programs = {
            f"{place.shown}/{share}/.bin": f"{place.links}/{share}/.bin"
            for share in find_layouts(place)
        }
        folders = environment["PATH"].split(os.pathsep)
        path = os.pathsep.join(programs.get(folder, folder) for folder in folders)
        redirected = shim.redirect_environment(place, self.sandbox, environment)
        return {**environment, "PATH": path, **redirected}

    def _former(self, assignment: Assignment) -> Mapping[str, bytes | None]:
        """Return the file content apart from the task's earlier work, if it landed before."""
        task = assignment.task
        measured = task.test_contracts and task.writes_anything and not assignment.stands
        if not (assignment.again and assignment.base and measured):
            return {}
        return self._landings.work(task.id, assignment.base).within(task.outputs).others

    def _before(self, base: str, path: str) -> bytes | None:
        if not base:
            return None
        key = base, path
        if key in self._blobs:
            return self._blobs[key]
        blob = self.repository.blob(base, path)
        if len(blob or b"") <= _SMALL and len(self._blobs) < _MANY:
            self._blobs[key] = blob
        return blob


def _give_back(scratch: Scratch, submodules: Submodules, slot: Slot) -> None:
    submodules.close()
    scratch.close()
    slot.release()


def end_former_owner(note: Path) -> None:
    """Kill the processes of a killed run in this slot, and record the slot as ours."""
    try:
        former = note.read_text("utf-8").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        former = ""
    # End them before overwriting their name: after a kill in between the next run still knows which
    # to end.
    if former and former != own_prefix():
        end_marked(former)
    if former != own_prefix():
        # no fsync: after a power failure no processes are left
        effects.write_file(note, own_prefix().encode(), durable=False)


_WITH_THE_RUN = 1.0
"""Seconds at the end of the run: with a command's own end well within five."""
_ALONE = 10.0
"""Where one task ends and the run goes on: its work is kept, on a busy machine, too. Less than
`cancel` waits."""


class LastLook(Struct):
    """Tells that it is over a while after the end of a slot's work was asked for.

    Until then what was written is looked through, so that a draft can be kept.
    """

    workers: WorkerPool
    number: int
    _seen: float | None = None

    def __call__(self) -> bool:
        """Return whether running work must be abandoned now."""
        if not self.workers.ends(self.number).is_set():
            self._seen = None
            return False
        now = effects.monotonic()
        self._seen = now if self._seen is None else self._seen
        seconds = _WITH_THE_RUN if self.workers.cancelled.is_set() else _ALONE
        return now - self._seen > seconds
