"""What is stored of which run, and fetching it: every byte held against its digest."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from runner.app.artifacts.artifact_export import (
    METADATA,
    key_of_run,
    list_laid_out,
    read_cursor,
    store_name,
)
from runner.app.artifacts.artifact_store import open_store
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.text.display import display
from runner.writes.paths import is_control
from runner.writes.safe_io import read_beneath, write_beneath

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from runner.app.artifacts.artifact_store import ArtifactStore
    from runner.project import Project


@dataclass(frozen=True, slots=True)
class Listed:
    """One file of a run."""

    run: str
    path: str
    state: str
    """`stored`, `waits`, or `refused`."""
    sha256: str = ""
    bytes: int = 0
    why: str = ""


class _Metadata(NamedTuple):
    """What a run's `metadata.json` says."""

    files: dict[str, tuple[str, int]]
    """Digest and size by path."""
    refused: dict[str, str]


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was fetched, and where it lies."""

    run: str
    folder: Path
    paths: tuple[str, ...]
    bytes: int


def list_artifacts(project: Project, run: str = "", *, remote: bool = False) -> tuple[Listed, ...]:
    """Everything of a run, or of all, the oldest run first.

    By this clone's journal, or with `remote` as the store itself has it. Raises RunnerError.
    """
    if remote:
        return _list_store(project, run)
    if not project.settings.artifacts.store:
        return ()
    cursor = read_cursor(project)
    found: list[Listed] = []
    runs = dict.fromkeys((*cursor.stored, *cursor.waiting))
    for one in (id_ for id_ in runs if id_.startswith(run)):
        stored = cursor.stored.get(one, {})
        found += [
            Listed(one, path, "stored", kept.sha256, kept.bytes) for path, kept in stored.items()
        ]
        if one in cursor.waiting:
            laid = [path for path in list_laid_out(project, one) if path not in stored]
            found += [Listed(one, path, "waits") for path in laid or [METADATA]]
    return tuple(found)


def _list_store(project: Project, run: str) -> tuple[Listed, ...]:
    store = _open(project)
    runs: dict[str, list[str]] = {}
    for key in store.list_keys(key_of_run(project, "")):
        name, _, path = key.removeprefix(key_of_run(project, "")).partition("/")
        if path and name.startswith(run):
            runs.setdefault(name, []).append(path)
    found: list[Listed] = []
    for name, paths in runs.items():
        stored = _read_metadata(project, store, name) or _Metadata({}, {})
        found += [
            Listed(name, path, "stored", *stored.files.get(path, ("", 0))) for path in sorted(paths)
        ]
        found += [
            Listed(name, path, "refused", why=why) for path, why in sorted(stored.refused.items())
        ]
    return tuple(found)


def fetch_artifacts(project: Project, run: str, paths: Iterable[str], to: Path) -> Fetched:
    """Lay files of a run into a folder; all of them where none is named.

    A file that is there with other bytes stays. Raises RunnerError: no such run or file, other
    bytes than the run's `metadata.json` says.
    """
    store = _open(project)
    whole = _find_run(project, store, run)
    metadata = _read_metadata(project, store, whole)
    if metadata is None:
        raise RunnerError(
            "this run is not completely stored yet: its metadata.json is missing",
            where=display(whole),
            hint="on the machine that built it: runner team artifacts push",
        )
    known = metadata.files
    wanted = tuple(paths) or (*known, METADATA)
    missing = [path for path in wanted if path not in known and path != METADATA]
    if missing:
        refused = metadata.refused.get(missing[0], "")
        hint = f"it was not stored: {refused}" if refused else "runner team artifacts list --remote"
        raise RunnerError("file not found in this run", where=display(missing[0]), hint=hint)
    size = sum(_fetch(project, store, whole, path, known, to) for path in wanted)
    return Fetched(whole, to, wanted, size)


def _fetch(
    project: Project,
    store: ArtifactStore,
    run: str,
    path: str,
    known: Mapping[str, tuple[str, int]],
    to: Path,
) -> int:
    odd = path.startswith("/") or not set(path.split("/")).isdisjoint(("", ".", ".."))
    if odd or is_control(path):  # the store's own word: it may be fetched into a repository
        raise RunnerError("not a valid artifact path", where=display(path))
    content = store.get(f"{key_of_run(project, run)}/{path}")
    digest = known.get(path, ("", 0))[0]
    if content is None or (digest and sha256(content).hexdigest() != digest):
        what = "is missing from the store" if content is None else "does not match its digest"
        raise RunnerError(f"an artifact {what}", where=display(path), code=ExitCode.FAILED)
    to.mkdir(parents=True, exist_ok=True)
    there = read_beneath(to, path)
    if there is not None and there != content:
        raise RunnerError(
            "a different file already exists",
            where=str(to / path),
            hint="choose another folder: --to FOLDER",
            code=ExitCode.CONFLICT,
        )
    write_beneath(to, path, content, 0o644, durable=False)
    return len(content)


def _find_run(project: Project, store: ArtifactStore, typed: str) -> str:
    """The run that is meant, by the beginning of its id; the last one where nothing is typed."""
    prefix = key_of_run(project, "")
    keys = store.list_keys(prefix)
    runs = sorted({key.removeprefix(prefix).partition("/")[0] for key in keys})
    found = [one for one in runs if one.startswith(typed)]
    if not found:
        what = "run not found in the store" if typed else "nothing is stored yet"
        hint = "runner team artifacts list --remote"
        raise RunnerError(what, where=display(typed or store_name(project)), hint=hint)
    if typed and len(found) > 1:
        raise RunnerError("ambiguous run ID", where=typed, detail="\n".join(found))
    # Ids of runs are in the order of time.
    return found[-1]


def _read_metadata(project: Project, store: ArtifactStore, run: str) -> _Metadata | None:
    """None where it is not there (yet), or no such document."""
    content = store.get(f"{key_of_run(project, run)}/{METADATA}")
    try:
        fields = json.loads(content or b"")
        files = {
            str(one["path"]): (str(one["sha256"]), int(one["bytes"])) for one in fields["files"]
        }
        refused = {str(one["path"]): str(one["why"]) for one in fields["refused"]}
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    return _Metadata(files, refused)


def _open(project: Project) -> ArtifactStore:
    name = project.settings.artifacts.store
    if not name:
        raise RunnerError(
            "no artifact store is set",
            hint='set [artifacts] store = "s3://BUCKET/PREFIX", or a folder; or --store PLACE',
        )
    return open_store(name, project.root, project.environ)
