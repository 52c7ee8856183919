"""The store of a plan's held-out files, outside of every work tree, and how a job slot uses it.

    <state>/held-out/<store id>/<plan>/<TASK>/          the files, by their paths in the project
    <state>/held-out/<store id>/<plan>/records/TASK.json  what is known of them, see `FileRecord`
    <state>/held-out/<store id>/<plan>/results/<TASK>/  output of held-out proofs

A person's setting `proof.held_out_dir` takes the place of `<state>/held-out/<store id>`. The id is
a random number in the git common directory: a folder that moves and other worktrees keep it. Before
a file is stored, git is asked for its content: the implementer's tree borrows git's objects.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.errors import RunnerError
from runner.held_out.part import AuthorTests, list_visible
from runner.model import digest_of
from runner.process.mounts import inner_environment
from runner.writes.safe_io import read_below, unlink_below, write_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from typing import Self

    from runner.model import Digest, HeldOutFile, Task
    from runner.process.base import Place, Sandbox
    from runner.repo.read import Repository


ID_FILE = "runner-held-out"
"""Name of the file with the store ID in the git common directory."""
_ID = re.compile(r"[0-9a-f]{32}")
_PRIVATE = 0o700
_MODE = 0o100600
_RECORDS, _RESULTS, _DROPPED = "records", "results", "dropped"
_SURVIVORS, _REFUSAL = "survivors", "author/refusal"
"""Files in a task's results: mutants that its tests do not detect, and why a draft was refused."""


class MissingFilesError(RunnerError):
    """A held-out file is not in the store with the digest of the plan."""


class StoredFile(NamedTuple):
    """A file that the plan lists, and what the store holds in its place."""

    path: str
    digest: Digest
    """Digest in the plan."""
    found: Digest | None
    """Digest of the stored bytes; None if there are none."""

    @property
    def is_present(self) -> bool:
        """Whether the store has exactly the bytes that the plan names."""
        return self.found == self.digest


class FileRecord(NamedTuple):
    """The store's record of a file, without its content."""

    once_in_git: bool = False
    """Whether its bytes were ever in the repository: such a file is not independent."""
    held_before: tuple[str, ...] = ()
    """IDs of tests that passed on the base before the task was built."""
    items: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Acceptance IDs with the test IDs that a separate author names for them."""


class HeldOutStore(Struct, frozen=True):
    """The store of one plan. It exists as soon as the first file is put into it."""

    base: Path | None
    """Folder of this repository's store; None while the repository has no store ID."""
    plan_path: str
    """Path of the plan in the repository."""

    @classmethod
    def open(
        cls, top: Path, common_dir: Path, plan_path: str, held_out_dir: Path | None = None
    ) -> Self:
        """Return the store of a plan without creating anything.

        `top` is `Places.held_out`, `common_dir` the git common directory. Raises RunnerError where
        the file of the store id is damaged.
        """
        if held_out_dir is not None:
            return cls(held_out_dir, plan_path)
        id_ = read_store_id(common_dir)
        return cls(top / id_ if id_ else None, plan_path)

    @property
    def folder(self) -> Path | None:
        """The folder of this plan's files."""
        digest = digest_of(os.fsencode(self.plan_path)).removeprefix("sha256:")
        return self.base / digest[:32] if self.base else None

    def folder_of(self, task_id: str) -> Path | None:
        """Return the folder of a task's files; it need not exist."""
        return self.folder / task_id if self.folder else None

    def results_of(self, task_id: str) -> Path | None:
        """Return the folder for output of a task's held-out proofs; it need not exist."""
        return self.folder / _RESULTS / task_id if self.folder else None

    def read_failures(self, task_id: str) -> tuple[tuple[str, str], ...]:
        """Return id and message of each test that failed in the task's last held-out proof."""
        folder = self.results_of(task_id)
        files = sorted(folder.glob("*.json")) if folder and folder.is_dir() else ()
        rows = (row for file in files for row in json.loads(file.read_bytes()))
        return tuple(
            (row["test"], row["message"]) for row in rows if row["outcome"] in ("failed", "error")
        )

    def read_survivors(self, task_id: str, tree: Digest) -> str:
        """Return the mutants of a proposal that no test notices; empty for none."""
        first, _, text = self._read_result(task_id, _SURVIVORS).partition("\n")
        return text if first == tree else ""

    def read_refusal(self, task_id: str) -> str:
        """Return why the last draft of a task's tests was refused; empty if unknown."""
        return self._read_result(task_id, _REFUSAL)

    def _read_result(self, task_id: str, name: str) -> str:
        folder = self.results_of(task_id)
        content = read_below(folder, name) if folder and folder.is_dir() else None
        return (content or b"").decode("utf-8", "replace")

    # --- reading ----------------------------------------------------------------------

    def find(self, task: Task) -> tuple[StoredFile, ...]:
        """Return every file that the plan lists for a task, with what the store has of it."""
        return tuple(
            StoredFile(one.path, one.digest, self.digest_of(task.id, one.path))
            for one in task.held_out_files
        )

    def find_missing(self, task: Task) -> tuple[StoredFile, ...]:
        """Return the listed files that are not in the store with their digests."""
        return tuple(one for one in self.find(task) if not one.is_present)

    def digest_of(self, task_id: str, path: str) -> Digest | None:
        """Return the digest of a stored file's raw bytes; None where there is none."""
        content = self.read(task_id, path)
        return None if content is None else digest_of(content)

    def read(self, task_id: str, path: str) -> bytes | None:
        """Return the bytes of a stored file; None where there is none. Never follows links."""
        folder = self.folder_of(task_id)
        return read_below(folder, path) if folder and folder.is_dir() else None

    def read_all(self, task: Task) -> dict[str, bytes]:
        """Return the bytes of all listed files by path.

        Raises MissingFilesError unless each has exactly the digest in the plan.
        """
        found: dict[str, bytes] = {}
        for one in task.held_out_files:
            content = self.read(task.id, one.path)
            if content is None or digest_of(content) != one.digest:
                raise MissingFilesError(
                    f"held-out file {one.path} of {task.id} is not on this machine",
                    hint=repair_hint(task.id, (one,)),
                )
            found[one.path] = content
        return found

    def record_of(self, task_id: str, path: str) -> FileRecord:
        """Return what is known of a file; a damaged or missing record counts as once in git."""
        row = self._records(task_id).get(path)
        if not isinstance(row, dict):
            return FileRecord(once_in_git=True)
        items = tuple((item, tuple(tests)) for item, tests in row.get("items", ()))
        before = tuple(row.get("held_before", ()))
        return FileRecord(bool(row.get("once_in_git", True)), before, items)

    def read_visible(self, task: Task, has_landed: Callable[[str], bool]) -> AuthorTests:
        """Return the stored visible tests of a task's author.

        A file that has landed is an ordinary test.
        """
        own = tuple(one for one in list_visible(task) if not has_landed(one.path))
        there = (one.path for one in self.find(replace(task, held_out_files=own)) if one.is_present)
        files = tuple((path, self.read(task.id, path) or b"") for path in there)
        items = (row for path, _ in files for row in self.record_of(task.id, path).items)
        return AuthorTests(files, tuple(items))

    def _records(self, task_id: str) -> dict[str, object]:
        found = self._read_json(f"{task_id}.json")
        return found if isinstance(found, dict) else {}

    def was_enclosed(self, task_id: str, digests: list[str]) -> bool:
        """Return whether all attempts since these files are held out could not read them."""
        return self._attempts(task_id) == {"digests": digests, "enclosed": True}

    def _attempts(self, task_id: str) -> object:
        return self._read_json(f"{task_id}.attempts.json")

    def _read_json(self, name: str) -> object:
        if self.folder is None or not self.folder.is_dir():
            return None
        content = read_below(self.folder, f"{_RECORDS}/{name}")
        try:
            return json.loads(content) if content else None
        except ValueError:
            return None

    # --- writing ----------------------------------------------------------------------

    def put(self, task_id: str, path: str, content: bytes, record: FileRecord) -> None:
        """Store a file durably and read it back; raise RunnerError where the disk refuses.

        The old file is untouched after an error.
        """
        folder = self._make(task_id)
        write_below(folder, path, content, _MODE)
        if self.read(task_id, path) != content:
            raise RunnerError(
                f"the store lost {path} of {task_id} after writing it",
                where=str(folder),
                hint="check the disk that holds this folder; nothing else was changed",
            )
        self._write_records(task_id, self._records(task_id) | {path: record._asdict()})

    def keep_survivors(self, task_id: str, tree: Digest, survivors: Iterable[str]) -> None:
        """Store the mutants of a proposal that no test notices, for the author of the tests."""
        if text := "\n".join(survivors):
            self._keep_result(task_id, _SURVIVORS, f"{tree}\n{text}\n")

    def keep_refusal(self, task_id: str, why: Iterable[str]) -> None:
        """Store why a draft of a task's tests was refused: it may quote the draft."""
        self._keep_result(task_id, _REFUSAL, "\n".join(why))

    def _keep_result(self, task_id: str, name: str, text: str) -> None:
        if (folder := self.results_of(task_id)) is not None:
            effects.make_folder(folder, mode=_PRIVATE)
            write_below(folder, name, text.encode("utf-8", "replace"), _MODE)

    def drop_survivors(self, task_id: str) -> None:
        """Remove the stored mutants: their author gets them once."""
        folder = self.results_of(task_id)
        if folder is not None and folder.is_dir():
            unlink_below(folder, _SURVIVORS)

    def note_attempt(self, task_id: str, digests: list[str], *, enclosed: bool) -> None:
        """Record whether an attempt was unable to read the held-out files.

        One that could counts as long as the files stay the same.
        """
        could = {"digests": digests, "enclosed": False}
        if self.folder is None or self._attempts(task_id) == could:
            return
        effects.make_folder(self.folder / _RECORDS, mode=_PRIVATE)
        content = json.dumps(could | {"enclosed": enclosed}).encode() + b"\n"
        write_below(self.folder, f"{_RECORDS}/{task_id}.attempts.json", content, _MODE)

    def drop(self, task_id: str, path: str) -> bool:
        """Remove a file from the store; return whether there was one."""
        folder = self.folder_of(task_id)
        if folder is None or not folder.is_dir():
            return False
        was_there = unlink_below(folder, path)
        records = self._records(task_id)
        if records.pop(path, None) is not None:
            self._write_records(task_id, records)
        return was_there

    def keep_dropped(self, task_id: str, paths: Iterable[str], reason: str) -> Path:
        """Copy files that a person drops to a folder of their own, with the reason; return it."""
        name = effects.timestamp().replace(":", "")
        folder = self._make(f"{_DROPPED}/{task_id}/{name}")
        for path in paths:
            if (content := self.read(task_id, path)) is not None:
                write_below(folder, path, content, _MODE)
        write_below(folder, "REASON", reason.encode("utf-8", "replace") + b"\n", _MODE)
        return folder

    def _make(self, name: str) -> Path:
        if self.base is None or self.folder is None:
            raise RunnerError(
                "this repository has no store of held-out files", hint="runner hold-out --help"
            )
        for folder in (self.base.parent, self.base, self.folder, self.folder / name):
            effects.make_folder(folder, mode=_PRIVATE)
        return self.folder / name

    def _write_records(self, task_id: str, records: dict[str, object]) -> None:
        assert self.folder is not None  # a file was put or dropped there
        effects.make_folder(self.folder / _RECORDS, mode=_PRIVATE)
        content = json.dumps(records, indent=1, sort_keys=True).encode() + b"\n"
        write_below(self.folder, f"{_RECORDS}/{task_id}.json", content, _MODE)


# --- store id ---------------------------------------------------------------------------


def read_store_id(common_dir: Path) -> str:
    """Return the store id of a repository; empty where it has none yet."""
    content = read_below(common_dir, ID_FILE)
    if content is None:
        return ""
    found = content.decode("ascii", "replace").strip()
    if not _ID.fullmatch(found):
        raise RunnerError(
            "the ID of the store of held-out files is damaged",
            where=str(common_dir / ID_FILE),
            hint="remove this file, then put the files back: runner hold-out TASK --from FOLDER",
        )
    return found


def make_store_id(common_dir: Path) -> str:
    """Return the store id of a repository; create a random one where it has none."""
    if found := read_store_id(common_dir):
        return found
    id_ = effects.random_bytes(16).hex()
    made = effects.write_file(common_dir / ID_FILE, f"{id_}\n".encode(), mode=0o600, expected=b"")
    return id_ if made else read_store_id(common_dir)


NOT_WRITTEN = (
    "its tests are not written yet: the test author writes them once its dependencies are DONE"
)

# --- words ------------------------------------------------------------------------------


def repair_hint(task_id: str, files: Iterable[HeldOutFile | StoredFile]) -> str:
    """Return the command that puts missing files into the store."""
    names = " ".join(one.path for one in files)
    return f"runner hold-out {task_id} {names} --from FOLDER, where FOLDER has the files"


_WORKSPACES = "workspaces"
_CACHES = ("npm_config_cache", "PRE_COMMIT_HOME", "XDG_CACHE_HOME")
"""Variables that name a folder which later commands would read."""


class HeldOutFolders(NamedTuple):
    """The folders of one plan's held-out files, and of their test runs."""

    store: HeldOutStore
    workspaces: Path
    """Folder for temporary copies of trees, which every sandbox masks."""

    @classmethod
    def of(cls, top: Path, common_dir: Path, plan_path: str, chosen: Path | None) -> Self:
        """Return the folders of a plan; `chosen` is the person's setting `proof.held_out_dir`."""
        store = HeldOutStore.open(top, common_dir, plan_path, chosen)
        return cls(store, top / _WORKSPACES)


class HeldOutSite(Struct, frozen=True):
    """The store of held-out files, and the environment of commands that run with them."""

    store: HeldOutStore
    workspaces: Path
    environment_at: Callable[[Place], Mapping[str, str]]
    """Returns the variables of commands that run in a place."""
    passed_on_base: dict[tuple[str, ...], bool] = field(default_factory=dict)
    """Known results of contracts on a base, shared by all attempts of a run."""

    def environment(self, place: Place, sandbox: Sandbox) -> dict[str, str]:
        """Return the variables of a held-out run: HOME and temporary folder are its own."""
        environ = dict(self.environment_at(place))
        if sandbox.encloses:  # it makes both
            return environ
        private = inner_environment(environ, place.box)
        return {name: value for name, value in private.items() if name not in _CACHES}

    def find_named(self, task: Task) -> dict[str, tuple[str, ...]]:
        """Return by test id the acceptance ids that a separate author names for it."""
        records = (self.store.record_of(task.id, one.path) for one in task.held_out_files)
        found: dict[str, tuple[str, ...]] = {}
        for item, tests in (row for record in records for row in record.items):
            for test in tests:
                found[test] = (*found.get(test, ()), item)
        return found


class BlobPlace(NamedTuple):
    """The places where git has a blob, and how to remove it; empty where nothing safe does."""

    where: str
    cleaning: str = ""


def find_blob(repository: Repository, path: str, content: bytes) -> BlobPlace | None:
    """Return where the repository or its alternates have a file's bytes; None for nowhere.

    Nothing is fetched from a remote: the git of this program fetches nowhere unasked.
    """
    git = repository.git
    blob = git.run("hash-object", "--no-filters", "--stdin", stdin=content).decode().strip()
    if git.ask("cat-file", "-e", blob).exit:
        return None
    name = shlex.quote(path)
    if f" {blob} ".encode() in git.run("ls-files", "--stage"):
        return BlobPlace("staged", f"git rm --cached -f {name} && git prune --expire=now")
    for stash in git.ask("stash", "list", "--format=%gd %H").out.decode().splitlines():
        entry, _, commit = stash.partition(" ")
        parents = git.run("rev-list", "--parents", "-n", "1", commit).decode().split()
        trees = (git.run("ls-tree", "-r", one) for one in dict.fromkeys(parents))
        if any(f" {blob}\t".encode() in tree for tree in trees):
            return BlobPlace(f"in {entry}", f"git stash drop {entry} && git prune --expire=now")
    found = git.ask("log", "--all", "-1", "--format=%h", f"--find-object={blob}").out.decode()
    if found.strip():
        return BlobPlace(f"in commit {found.strip()}")
    return BlobPlace("as an unreferenced object", "git prune --expire=now")
