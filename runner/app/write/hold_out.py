"""`runner hold-out`: move tests to where the implementer cannot read them."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from runner import effects
from runner.app.inspect.view import View
from runner.app.write import static_checks
from runner.app.write.workplace import Workplace
from runner.config.paths import expand_home
from runner.errors import ExitCode, RunnerError
from runner.held_out.part import list_visible
from runner.held_out.store import FileRecord, find_blob, make_store_id
from runner.model import Action, Change, Finding, HeldOutFile, Severity, Status, digest_of
from runner.plan.held_out import HeldOutLines, names_file, paths_in, write_held_out
from runner.repo.proposal_bounds import ProposalBounds
from runner.repo.read import Repository
from runner.run.selection import find_id
from runner.secrets.scan import scan_content
from runner.writes.paths import check_path
from runner.writes.safe_io import mode_below, read_below, unlink_below
from runner.writes.sast import scan_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.held_out.store import HeldOutStore
    from runner.model import Task
    from runner.project import Project

_PLAIN = 0o100644
_EMPTY_ALLOWED = "__init__.py"
_REMARK = Severity.WARNING


class HoldOut(Struct, frozen=True):
    """A request to hold tests out."""

    task: str
    files: tuple[str, ...]
    contract: str = ""
    """Command that becomes a held-out contract."""
    replace: bool = False
    source: Path | None = None
    """Folder of `--from`; None: take the files out of the work tree."""
    copy: bool = False
    """Whether the originals stay, which also allows files tracked by git."""


class HeldOutState(Struct, frozen=True):
    """One held-out file of the plan, without its bytes."""

    task: str
    path: str
    digest: str
    state: str
    """`in the store`, `missing`, `differs` or `landed`."""
    once_in_git: bool = False

    @property
    def is_ready(self) -> bool:
        """Whether a run can use it."""
        return self.state in ("in the store", "landed")


class HeldOutResult(NamedTuple):
    """The result of `hold-out`."""

    task: str
    moved: tuple[str, ...]
    contracts: tuple[str, ...]
    """IDs of the task's held-out contracts."""
    kept: bool
    """Whether the originals stay in place."""
    remarks: tuple[Finding, ...] = ()


# --- looking ----------------------------------------------------------------------------


def list_held_out(project: Project, only: str = "") -> tuple[HeldOutState, ...]:
    """Return every held-out file of the plan, or of one task, with its state."""
    store = project.held_out.store
    tasks = _read_tasks(project)
    wanted = find_id(only, list(tasks)) if only else ""
    with Repository.open(project.root) as repository:
        return tuple(
            one
            for task in tasks.values()
            if wanted in ("", task.id)
            for one in _states(store, task, repository)
        )


def _states(store: HeldOutStore, task: Task, repository: Repository) -> Iterator[HeldOutState]:
    head = repository.head().commit if task.status is Status.DONE else None
    for one in store.find(task):
        if head and repository.has_file(head, one.path):
            yield HeldOutState(task.id, one.path, one.digest, "landed")
        elif one.found is None:
            yield HeldOutState(task.id, one.path, one.digest, "missing")
        else:
            state = "in the store" if one.is_present else "differs"
            record = store.record_of(task.id, one.path)
            yield HeldOutState(task.id, one.path, one.digest, state, record.once_in_git)


def read_held_out(project: Project, typed: str) -> tuple[str, dict[str, bytes]]:
    """Return a task's id and the bytes of its stored files, for a person at a terminal."""
    store, tasks = project.held_out.store, _read_tasks(project)
    task = tasks[find_id(typed, list(tasks))]
    found = {one.path: store.read(task.id, one.path) for one in task.held_out_files}
    return task.id, {path: content for path, content in found.items() if content is not None}


def _read_tasks(project: Project) -> dict[str, Task]:
    return {task.id: task for task in project.plan(project.plan_bytes).tasks}


# --- moving -----------------------------------------------------------------------------


def hold_out(project: Project, asked: HoldOut, environ: Mapping[str, str]) -> HeldOutResult:
    """Copy the files into the store, write the plan's lines, remove the originals: in this order.

    Killed anywhere, the same command finishes; each file is in at least one place. Raises
    RunnerError, with a hint, before anything is changed.
    """
    with Repository.open(project.root) as repository:
        move = _Move(project, repository, asked, environ)
        return move.execute()


class _Move:
    """One call of `hold-out TASK FILE…`."""

    def __init__(
        self,
        project: Project,
        repository: Repository,
        asked: HoldOut,
        environ: Mapping[str, str],
    ) -> None:
        self.project, self.repository, self.asked = project, repository, asked
        self.workplace = Workplace.of(project.root, environ)
        self.before = project.plan_bytes
        self.tasks = _read_tasks(project)
        self.task = self.tasks[find_id(asked.task, list(self.tasks))]
        self.visible = {one.path for one in list_visible(self.task)}
        self.store = project.held_out.store
        self.remarks: list[Finding] = []

    def execute(self) -> HeldOutResult:
        """Check everything, then change it."""
        _require_outside_of_trees(self.project)
        self._require_quiet()
        paths = tuple(dict.fromkeys(self._path_of(typed) for typed in self.asked.files))
        paths = paths or tuple(one.path for one in self.task.held_out_files)
        if not paths:
            raise RunnerError(
                f"{self.task.id} lists no held-out files", hint="name the files: runner hold-out "
                f"{self.task.id} FILE"
            )  # fmt: skip
        contents = {path: self._read(path) for path in paths}
        once = {path: self._check(path, content) for path, content in contents.items()}
        self._require_digests(contents)
        edited = self._edit(contents)
        # From here on files change.
        if self.store.base is None:
            make_store_id(self.project.folders.common)
            self.project.__dict__.pop("held_out")  # it is read again, with the id
            self.store = self.project.held_out.store
        self._store_files(contents, once)
        write_plan(self.project, self.before, edited)
        if not self.asked.copy and self.asked.source is None:
            for path in paths:
                unlink_below(self.project.root, path)
                _remove_compiled(self.project.root, path)
        held = tuple(one.id for one in self._task_in(edited).held_out_contracts)
        kept = self.asked.copy or self.asked.source is not None
        return HeldOutResult(self.task.id, paths, held, kept, tuple(self.remarks))

    def _store_files(self, contents: Mapping[str, bytes], once: Mapping[str, bool]) -> None:
        """Store all files or none."""
        known = {path: self.store.read(self.task.id, path) for path in contents}
        records = {path: self.store.record_of(self.task.id, path) for path in contents}
        try:
            for path, content in contents.items():
                self.store.put(self.task.id, path, content, FileRecord(once_in_git=once[path]))
        except RunnerError:
            for path, content_before in known.items():
                if content_before is None:
                    self.store.drop(self.task.id, path)
                else:
                    self.store.put(self.task.id, path, content_before, records[path])
            raise

    # --- refusals ---------------------------------------------------------------------

    def _require_quiet(self) -> None:
        if self.task.status is Status.DONE and self.asked.source is None:
            raise RunnerError(
                f"{self.task.id} is DONE",
                hint="its tests can be held out only while it is not DONE; to build it again, "
                f"set its status to PENDING, or: runner undo {self.task.id}",
            )
        if ongoing := self.repository.state().ongoing:
            raise RunnerError(
                f"a {ongoing} is in progress",
                hint=f"finish it (git {ongoing} --continue) or abort it (--abort)",
            )
        view = View.of(self.project)
        if view.live is not None and view.states[self.task.id].status is Status.IN_PROGRESS:
            raise RunnerError(
                f"{self.task.id} is running now",
                hint=f"runner cancel {self.task.id}, or wait until it ends",
                code=ExitCode.CONFLICT,
            )

    def _path_of(self, typed: str) -> str:
        """Return the path of a given file, relative to the project."""
        return str(PurePosixPath(typed if self.asked.source else self.workplace.path_of(typed)))

    def _read(self, path: str) -> bytes:
        """Return the bytes of a file, or the store's if an earlier call was interrupted."""
        refusal = check_path(path, _PLAIN)
        if refusal is not None and refusal.refuses:
            raise RunnerError(refusal.message, where=path, hint=refusal.hint)
        if self.asked.source is not None:
            return self._read_from(self.asked.source, path)
        mode = mode_below(self.project.root, path)
        if mode is None:
            stored = self.store.read(self.task.id, path)
            listed = {one.path: one.digest for one in self.task.held_out_files}
            if stored is not None and listed.get(path) == digest_of(stored):
                return stored
            raise RunnerError("file not found", where=path, hint="write it first")
        if stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "a link"
            raise RunnerError(f"this is {what}", where=path, hint="name each file by itself")
        content = read_below(self.project.root, path) or b""
        self._require_size(path, len(content))
        return content

    def _read_from(self, folder: Path, path: str) -> bytes:
        for name in (path, PurePosixPath(path).name):
            if (folder / name).is_file():
                content = (folder / name).read_bytes()
                self._require_size(path, len(content))
                return content
        raise RunnerError(f"{path} not found in {folder}", hint="name its folder: --from FOLDER")

    def _require_size(self, path: str, size: int) -> None:
        if not size and PurePosixPath(path).name != _EMPTY_ALLOWED:
            raise RunnerError("this file is empty", where=path, hint="write its tests first")
        most = ProposalBounds.of(self.project.settings).file_size
        if size > most:
            hint = "hold out a smaller file, or raise limits.proposal_file_size"
            raise RunnerError(
                f"this file has {size} bytes, more than the limit of {most}", where=path, hint=hint
            )

    def _check(self, path: str, content: bytes) -> bool:
        """Refuse what may not enter; return whether the file was in git before."""
        self._require_free(path, content)
        change = Change(path, Action.CREATE, _PLAIN, None, digest_of(content), content)
        allowed = self.workplace.load_allow_list()
        found = (
            *scan_content(content, path, allowed=allowed),
            *static_checks.compile_single_file(change, self.workplace),
        )
        for one in found:
            if one.refuses:
                raise RunnerError(one.message, where=path, hint=one.hint, code=ExitCode.FAILED)
        self.remarks += found
        if path.endswith(".py"):
            # Findings are shown here, not stored: their history is in the work tree.
            self.remarks += (
                Finding("sast", f"{one.rule}: {one.message}", path, one.line, severity=_REMARK)
                for one in scan_file(content, path).findings
                if one.severity != "low"  # an assertion is one of these
            )
        if self.asked.copy or not content or path in self.visible:
            return self.asked.copy
        place = find_blob(self.repository, path, content)
        if place and self.task.status is not Status.DONE:
            clean = f"; to remove it: {place.cleaning}" if place.cleaning else ""
            raise RunnerError(
                f"git has this content ({place.where}), so an implementer can read it",
                where=path,
                hint=f"write new cases into a new file and hold that out{clean}; or use --copy: "
                "then the evidence says that the tests were once in git",
            )
        return place is not None

    def _require_free(self, path: str, content: bytes) -> None:
        for other in self.tasks.values():
            if other.id != self.task.id and any(o.path == path for o in other.held_out_files):
                hint = "write the tests of this task into a separate file"
                raise RunnerError(f"{other.id} already holds out this file", where=path, hint=hint)
        head = self.repository.head().commit
        is_tracked = bool(head) and path in self.repository.tree_entries(head, [path])
        if is_tracked and self.task.status is not Status.DONE:
            raise RunnerError(
                "git tracks this file, so an implementer can read it",
                where=path,
                hint="write new cases into a new file and hold that out",
            )
        known = {one.path: one.digest for one in self.task.held_out_files}.get(path)
        differs = known is not None and known != digest_of(content)
        if differs and not self.asked.replace:
            if self.asked.source is not None:
                raise RunnerError(
                    "this file differs from the digest in the plan",
                    where=path,
                    hint="use the file with that digest, or add --replace to use this one",
                )
            raise RunnerError(
                f"{self.task.id} already holds out this file with other content",
                where=path,
                hint=f"to replace it: runner hold-out {self.task.id} {path} --replace",
            )
        if self.asked.replace and known is None:
            hint = f"run without --replace: runner hold-out {self.task.id} {path}"
            raise RunnerError(f"{self.task.id} does not hold out this file", where=path, hint=hint)

    def _require_digests(self, contents: Mapping[str, bytes]) -> None:
        if self.task.status is not Status.DONE:
            return
        known = {one.path: one.digest for one in self.task.held_out_files}
        for path, content in contents.items():
            if known.get(path) != digest_of(content):
                hint = "for a DONE task, --from accepts only files whose digest is in the plan"
                raise RunnerError(f"{self.task.id} is DONE", where=path, hint=hint)

    # --- the plan ---------------------------------------------------------------------

    def _edit(self, contents: Mapping[str, bytes]) -> bytes:
        """Return the plan with the held-out files added. Raises RunnerError if it has mistakes."""
        files = {one.path: one.digest for one in self.task.held_out_files}
        files |= {path: digest_of(content) for path, content in contents.items()}
        stay = self.visible.issuperset(contents) and not self.asked.contract
        mark = set() if stay else self._find_contracts(contents)
        add = self._new_contract()
        held = {one.id for one in self.task.held_out_contracts} | mark | {id_ for id_, _ in add}
        if not (held or stay):
            first = next(iter(contents))
            raise RunnerError(
                f"{self.task.id} has no test contract for these files",
                hint=f'name the command that runs them: --contract "python -m pytest -q {first}"',
            )
        wanted = HeldOutLines(
            tuple(HeldOutFile(*one) for one in files.items()), frozenset(mark), add
        )
        edited = self.before
        if mark or add or wanted.files != self.task.held_out_files:
            prefixes = self.project.settings.build.id_prefixes
            edited = write_held_out(self.before, self.task.id, wanted, prefixes)
        _require_sound(self.project, edited)
        return edited

    def _find_contracts(self, contents: Mapping[str, bytes]) -> set[str]:
        """Return the IDs of the visible contracts that use only these files."""
        moved = {*contents, *(one.path for one in self.task.held_out_files)}
        mark = set()
        for test in self.task.test_contracts:
            named = set(paths_in(test.command))
            if test.held_out or not any(names_file(test.command, path) for path in moved):
                continue
            others = sorted(named - moved)
            if others or test.fails:
                self._refuse_mixed(test.id, test.command, moved)
            mark.add(test.id)
        return mark

    def _refuse_mixed(self, id_: str, command: str, moved: set[str]) -> None:
        words = command.split(" ")
        visible = " ".join(word for word in words if not set(paths_in(word)) & moved)
        held = " ".join(w for w in words if not paths_in(w) or set(paths_in(w)) & moved)
        raise RunnerError(
            f"{id_} also names files that stay visible",
            hint="split it into two contracts, then repeat the command:\n"
            f"  - {id_} (unit): `{visible}`\n  - {self._next_id()} (unit, held out): `{held}`",
        )

    def _new_contract(self) -> tuple[tuple[str, str], ...]:
        command = self.asked.contract.strip()
        if not command or any(one.command == command for one in self.task.held_out_contracts):
            return ()
        return ((self._next_id(), command),)

    def _next_id(self) -> str:
        ids = {one.id for task in self.tasks.values() for one in task.test_contracts}
        numbers = [int(id_[3:]) for id_ in ids if id_.startswith("TC-") and id_[3:].isdigit()]
        return f"TC-{max(numbers, default=0) + 1:03}"

    def _task_in(self, data: bytes) -> Task:
        tasks = self.project.plan(data).tasks
        return next(task for task in tasks if task.id == self.task.id)


def write_plan(project: Project, before: bytes, edited: bytes) -> None:
    """Replace the plan; raise RunnerError where somebody changed it meanwhile."""
    if edited == before:
        return
    path = project.root / project.plan_path
    mode = effects.mode_of(path)
    if not effects.write_file(path, edited, mode=mode, expected=before):
        raise RunnerError(
            "the plan changed during this command",
            where=project.plan_path,
            hint="repeat the command: the store has the files, the originals are untouched",
            code=ExitCode.CONFLICT,
        )


def _require_sound(project: Project, data: bytes) -> None:
    reading = project.check_text(data, project.plan(data))
    for problem in reading.problems:
        if problem.is_error:
            raise RunnerError(
                problem.message,
                where=f"{project.plan_path}:{problem.line}",
                hint=f"{problem.hint}; `runner validate` shows all errors",
            )


def _require_outside_of_trees(project: Project) -> None:
    """Raise RunnerError for a `proof.held_out_dir` that lies in the work tree, or holds it."""
    value = project.settings.proof.held_out_dir
    if not value:
        return
    folder = Path(os.path.realpath(expand_home(value)))
    top = Path(os.path.realpath(project.folders.top))
    if folder.is_relative_to(top) or top.is_relative_to(folder):
        raise RunnerError(
            "proof.held_out_dir is in the work tree, where an implementer can read it",
            where=value,
            hint="in your own settings, name a folder outside every work tree",
        )


def _remove_compiled(root: Path, path: str) -> None:
    """Remove compiled copies of a file and what pytest remembers of it."""
    pure = PurePosixPath(path)
    cache = root / pure.parent / "__pycache__"
    if cache.is_dir() and not cache.is_symlink():
        for file in cache.glob(f"{pure.stem}.*.pyc"):
            effects.unlink(file)
    remembered = root / ".pytest_cache" / "v" / "cache"
    if remembered.is_dir() and not (root / ".pytest_cache").is_symlink():
        for file in remembered.iterdir():
            if file.is_file() and path.encode() in file.read_bytes():
                effects.unlink(file)


# --- dropping ---------------------------------------------------------------------------


def drop_held_out(project: Project, typed: str, files: Sequence[str], reason: str) -> Path:
    """Remove files from plan and store; return the folder that keeps them for the person."""
    if not reason.strip():
        raise RunnerError("a drop needs a reason", hint='add --reason "…"')
    store, tasks = project.held_out.store, _read_tasks(project)
    task = tasks[find_id(typed, list(tasks))]
    known = {one.path: one for one in task.held_out_files}
    workplace = Workplace.of(project.root, project.environ)
    paths = [workplace.path_of(one) for one in files]
    for path in paths:
        if path not in known:
            hint = f"runner hold-out --list shows them: {', '.join(known) or 'none'}"
            raise RunnerError(f"{task.id} does not hold out this file", where=path, hint=hint)
    rest = tuple(one for path, one in known.items() if path not in paths)
    gone = frozenset(
        test.id
        for test in task.test_contracts
        if (test.held_out or list_visible(task))
        and not any(names_file(test.command, one.path) for one in rest)
        and ((test.held_out and not rest) or any(names_file(test.command, path) for path in paths))
    )
    before = project.plan_bytes
    prefixes = project.settings.build.id_prefixes
    edited = write_held_out(before, task.id, HeldOutLines(rest, drop=gone), prefixes)
    _require_sound(project, edited)
    kept = store.keep_dropped(task.id, paths, reason)
    write_plan(project, before, edited)
    for path in paths:
        store.drop(task.id, path)
    return kept
