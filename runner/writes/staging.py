"""Staged writes that wait for a review, stored as bytes under `artifacts/build/staged/`.

`staged/<TASK>/<attempt>/index.json` lists them; each content stands beside it under its own
digest, so that no name on disk ever comes from a proposal.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.lazy_pattern import regex
from runner.model import Action, Change, Digest, digest_of
from runner.writes.safe_io import open_below, read_below, unlink_below, write_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

STAGED = "artifacts/build/staged"
_LOCK = f"{STAGED}/lock"
_DECIDED = f"{STAGED}/decided.json"
_KEPT = 50
"""Decided proposals that are kept."""
_PLAIN = regex(r"[A-Za-z][A-Za-z0-9_-]{0,99}")
_HEX = regex(r"sha256:[0-9a-f]{64}")
_VERSION = 1


class Staged(Struct, frozen=True):
    """One proposed write; its key is task, path, and the digests before and after."""

    task: str
    attempt: int
    path: str
    action: Action
    mode: int
    before: Digest | None
    after: Digest | None
    run: str
    time: str

    @property
    def id(self) -> str:
        """Eight hex digits a person can type, the same for the same proposal in any attempt."""
        key = json.dumps([self.task, self.path, self.before, self.after])
        return digest_of(key.encode()).removeprefix("sha256:")[:8]


class Staging(Struct, frozen=True):
    """The staged writes of one repository; safe with several writers."""

    root: Path

    def stage(
        self, changes: Sequence[Change], *, run: str, task: str, attempt: int
    ) -> tuple[Staged, ...]:
        """Save proposals durably, replacing earlier ones of the attempt for the same paths.

        Raises RunnerError when the disk refuses; the index then still lists what it listed.
        """
        fresh = tuple(_make_staged(change, run, task, attempt) for change in changes)
        folder = _folder(task, attempt)
        with self._lock():
            # Bytes first, then the list that names them, then unreferenced ones: a kill in between
            # leaves extra bytes, never a name without its bytes.
            for change in changes:
                if change.content is not None:
                    self._keep(folder, change.content)
            paths = {staged.path for staged in fresh}
            index = self._index(folder)
            kept = tuple(old for old in index if old.path not in paths)
            self._write_index(folder, kept + fresh)
            self._drop_bytes(folder, index, kept + fresh)
        return fresh

    def list(self, task: str = "") -> tuple[Staged, ...]:
        """Return all staged changes, or those of one task, by task, attempt and path."""
        base = self.root / STAGED
        indexes = sorted(base.glob("*/*/index.json")) if base.is_dir() else []
        listed = [
            staged
            for index in indexes
            for staged in self._index(index.parent.relative_to(self.root).as_posix())
            if task in {"", staged.task}
        ]
        return tuple(sorted(listed, key=lambda staged: (staged.task, staged.attempt, staged.path)))

    def find(self, wanted: str) -> Staged:
        """Return the newest staged write with this ID. Raises RunnerError."""
        found = [staged for staged in self.list() if staged.id == wanted]
        if not found:
            raise RunnerError(
                f"no staged write has the ID {wanted!a}",
                hint="list the IDs: runner pipeline staged-write list",
            )
        return found[-1]

    def read(self, staged: Staged) -> Change:
        """Read a proposal with its content. Raises RunnerError if it is gone or changed."""
        content = None
        if staged.after is not None:
            content = read_below(
                self.root, _blob(_folder(staged.task, staged.attempt), staged.after)
            )
            if content is None or digest_of(content) != staged.after:
                raise RunnerError(
                    f"the staged content {'is missing' if content is None else 'changed'}",
                    where=staged.path,
                    hint=f"reject {staged.id}, so that the next attempt proposes it again",
                    code=ExitCode.CONFLICT,
                )
        return Change(staged.path, staged.action, staged.mode, staged.before, staged.after, content)

    def remove(self, staged: Sequence[Staged]) -> None:
        """Remove proposals, and their bytes unless another proposal uses them."""
        with self._lock():
            for folder in sorted({_folder(one.task, one.attempt) for one in staged}):
                self._forget(folder, {one.path for one in staged if _folder_of(one) == folder})

    def remove_attempt(self, task: str, attempt: int) -> None:
        """Remove everything that one attempt staged."""
        folder = _folder(task, attempt)
        with self._lock():
            self._forget(folder, {staged.path for staged in self._index(folder)})

    def settle(self, staged: Staged, fate: str) -> None:
        """Remove a decided proposal, but keep a record of its fate."""
        with self._lock():
            # Order matters: after a kill in between, the proposal is still pending and is asked
            # again; in the reverse order its outcome would be unknown.
            self._remember(staged, fate)
            self._forget(_folder_of(staged), {staged.path})

    def remember(self, staged: Staged, fate: str) -> None:
        """Record the fate of a proposal that is no longer listed."""
        with self._lock():
            self._remember(staged, fate)

    def list_decided(self) -> tuple[tuple[Staged, str], ...]:
        """Return the last decided proposals with their results, the latest last."""
        content = read_below(self.root, _DECIDED)
        try:
            entries = json.loads(content)["decided"] if content else ()
            return tuple((_from_json(entry), str(entry["fate"])) for entry in entries)
        except (ValueError, KeyError, TypeError, RecursionError):
            return ()  # nothing rests on it

    def _remember(self, staged: Staged, fate: str) -> None:
        before = [(one, was) for one, was in self.list_decided() if one.id != staged.id]
        known = [*before, (staged, fate)][-_KEPT:]
        document = {"v": _VERSION, "decided": [{**asdict(one), "fate": was} for one, was in known]}
        content = json.dumps(document, indent=1).encode() + b"\n"
        write_below(self.root, _DECIDED, content, 0o100644)

    def _forget(self, folder: str, paths: set[str]) -> None:
        index = self._index(folder)
        kept = tuple(staged for staged in index if staged.path not in paths)
        if kept:
            self._write_index(folder, kept)
        else:
            unlink_below(self.root, f"{folder}/index.json")
        self._drop_bytes(folder, index, kept)

    def _drop_bytes(self, folder: str, old: tuple[Staged, ...], new: tuple[Staged, ...]) -> None:
        for digest in {one.after for one in old} - {one.after for one in new}:
            if digest is not None:
                unlink_below(self.root, _blob(folder, digest))

    def _keep(self, folder: str, content: bytes) -> None:
        blob = _blob(folder, digest_of(content))
        if read_below(self.root, blob) != content:
            write_below(self.root, blob, content, 0o100644)

    def _index(self, folder: str) -> tuple[Staged, ...]:
        content = read_below(self.root, f"{folder}/index.json")
        if content is None:
            return ()
        try:
            return tuple(_from_json(entry) for entry in json.loads(content)["staged"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RunnerError(
                "this list of staged writes is damaged",
                where=f"{folder}/index.json",
                hint="remove the folder; the next attempt proposes its writes again",
            ) from error

    def _write_index(self, folder: str, entries: tuple[Staged, ...]) -> None:
        document = {"v": _VERSION, "staged": [asdict(entry) for entry in entries]}
        content = json.dumps(document, indent=1).encode() + b"\n"
        write_below(self.root, f"{folder}/index.json", content, 0o100644)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        # The kernel releases it with the descriptor (flock(2)), however this process ends. Keep the
        # file: after its removal two processes could each lock a file of this name.
        descriptor = open_below(self.root, _LOCK, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _make_staged(change: Change, run: str, task: str, attempt: int) -> Staged:
    return Staged(
        task=task,
        attempt=attempt,
        path=change.path,
        action=change.action,
        mode=change.mode,
        before=change.before,
        after=None if change.content is None else digest_of(change.content),
        run=run,
        time=effects.timestamp(),
    )


def _from_json(entry: dict[str, object]) -> Staged:
    """Decode an entry of the index. Raises TypeError, ValueError or KeyError."""
    task, path, run, time = (entry[name] for name in ("task", "path", "run", "time"))
    attempt, mode = entry["attempt"], entry["mode"]
    before, after = entry["before"], entry["after"]
    if not (isinstance(task, str) and isinstance(path, str) and isinstance(run, str)):
        raise TypeError("task, path and run must be text")
    if not (isinstance(attempt, int) and isinstance(mode, int) and isinstance(time, str)):
        raise TypeError("attempt and mode must be numbers, time must be text")
    return Staged(
        task,
        attempt,
        path,
        Action(str(entry["action"])),
        mode,
        _digest(before),
        _digest(after),
        run,
        time,
    )


def _digest(value: object) -> Digest | None:
    if value is None or (isinstance(value, str) and _HEX.fullmatch(value)):
        return value
    raise ValueError("not a digest")


def _folder_of(staged: Staged) -> str:
    return _folder(staged.task, staged.attempt)


def _folder(task: str, attempt: int) -> str:
    # The ID comes from the plan: one with a slash or two dots must not choose the folder.
    name = (
        task
        if _PLAIN.fullmatch(task)
        else digest_of(task.encode("utf-8", "surrogatepass")).removeprefix("sha256:")
    )
    return f"{STAGED}/{name}/{int(attempt)}"


def _blob(folder: str, digest: Digest) -> str:
    return f"{folder}/{digest.removeprefix('sha256:')}"
