"""Export a run's files to the artifact store after the run, once, in the background.

In two steps, each of which may be killed anywhere. First all that may leave the machine is laid
beside, looked through, in the user's cache folder: from then on its bytes do not change. Then each
file is stored where nothing of that name is, and journaled; `metadata.json`, with the
digests of all, is last, so that what it names is there. Where it was stopped, the journal says.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from runner import __version__, effects
from runner.app.artifacts.artifact_store import open_store
from runner.app.artifacts.run_artifacts import collect_artifacts, read_story
from runner.errors import ExitCode, RunnerError
from runner.journal.log import Journal
from runner.journal.records import read_journal
from runner.journal.session_events import ArtifactStored
from runner.lazy_module import lazy_module
from runner.report.documents import document
from runner.secrets.declared_values import find_held
from runner.secrets.redact import redact
from runner.secrets.scan import scan_content
from runner.text.display import display
from runner.text.wording import plural
from runner.writes.paths import is_control
from runner.writes.safe_io import read_below, write_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.app.artifacts.artifact_store import ArtifactStore
    from runner.app.artifacts.run_artifacts import Artifact, RunStory
    from runner.process import own_command
    from runner.project import Project
else:
    own_command = lazy_module("runner.process.own_command")

METADATA = "metadata.json"
_FOLDER = "artifacts"
_TROUBLE = "trouble.txt"
_LOCK = "store.lock"
_CURSOR = frozenset({"run.started", "run.finished", "ship.declared", "artifact.stored"})


class RefusedFile(Struct, frozen=True):
    """A file that does not leave the machine, and why; no value is in it."""

    path: str
    why: str


class Exported(Struct):
    """The result of one export to the store."""

    store: str
    stored: int = 0
    bytes: int = 0
    refused: list[RefusedFile] = field(default_factory=list)
    standing: list[str] = field(default_factory=list)
    """Objects that exist with different bytes; they are not replaced."""
    runs: list[str] = field(default_factory=list)
    """Runs that are now completely stored."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing stood in the way."""
        return not self.standing


class ExportMark(Struct, frozen=True):
    """The export position of the current store, by the journal."""

    ended: tuple[str, ...]
    """Finished runs and ships, oldest first."""
    stored: dict[str, dict[str, ArtifactStored]]
    """Stored artifacts by run and path."""

    @property
    def waiting(self) -> tuple[str, ...]:
        """Runs of which something is still to be stored.

        It begins with the first that was ever begun here, or with the last one that ended.
        """
        begun = [at for at, run in enumerate(self.ended) if run in self.stored]
        first = min(begun, default=len(self.ended) - 1)
        return tuple(
            run for run in self.ended[max(first, 0) :] if METADATA not in self.stored.get(run, {})
        )


def read_cursor(project: Project) -> ExportMark:
    """Return how far the journal records the export to the artifact store."""
    name = store_name(project)
    ended: dict[str, None] = {}
    stored: dict[str, dict[str, ArtifactStored]] = {}
    open_run = ""
    for record in read_journal(project.journal_path, wanted=_CURSOR):
        event = record.event
        if isinstance(event, ArtifactStored):
            if event.store == name:
                stored.setdefault(record.run, {})[event.path] = event
        elif record.type == "run.started":
            if open_run:  # it was killed, and recorded no end
                ended.setdefault(open_run)
            open_run = record.run
        elif record.type in ("run.finished", "ship.declared"):
            ended.setdefault(record.run)
            open_run = ""
    return ExportMark(tuple(ended), stored)


def store_name(project: Project) -> str:
    """Return the store's redacted name for the journal."""
    return redact(project.settings.artifacts.store)


def begin_export(project: Project) -> str:
    """Start a detached process that stores the artifacts of finished runs.

    Returns a message for the person; empty where no store is set.
    """
    if not project.settings.artifacts.store:
        return ""
    trouble = read_trouble(project)
    try:
        flags = ["--task-graph", project.plan_path]
        words = ("team", "artifacts", "push", "--quiet", *flags)
        # The exported run has released its lock, or will before this process checks.
        own_command.OwnCommand(words, project.root, project.environ, stays=True).forget()
    except OSError as error:
        return f"note: artifacts not stored: {error.strerror}; retry: runner team artifacts push"
    where = display(store_name(project))
    if trouble:
        return f"note: retrying to store artifacts of earlier runs; last error: {display(trouble)}"
    return f"storing artifacts in {where} in the background: runner team artifacts list"


def read_trouble(project: Project) -> str:
    """Return why the last export did not complete; empty if it did."""
    try:
        return (_folder(project) / _TROUBLE).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def export_artifacts(project: Project, say: Callable[[str], None]) -> Exported:
    """Store whatever waits. Raises RunnerError: no store is set, or it is away; kept for later."""
    name = project.settings.artifacts.store
    if not name:
        raise RunnerError(
            "no artifact store is set",
            hint='set [artifacts] store = "s3://BUCKET/PREFIX", or a folder, in your own settings',
        )
    with _only_one(project):
        try:
            store = open_store(name, project.root, project.environ)
            done = _export(project, store, say)
        except RunnerError as error:
            _keep_trouble(project, f"{error.message} ({error.where})")
            raise
        other = ", ".join(done.standing)
        _keep_trouble(project, f"the store has different content for {other}" if other else "")
    return done


def _export(project: Project, store: ArtifactStore, say: Callable[[str], None]) -> Exported:
    done = Exported(store_name(project))
    cursor = read_cursor(project)
    for run in cursor.waiting:
        say(f"storing the files of run {run} in {display(done.store)}")
        known = cursor.stored.get(run, {})
        folder = _stage(project, read_story(project.journal_path, run), known, done)
        _store_run(project, store, run, folder, cursor, done)
    return done


# --- laying beside --------------------------------------------------------------------


def _stage(
    project: Project, story: RunStory, known: Mapping[str, ArtifactStored], done: Exported
) -> Path:
    """Return the folder with all files to export, and create it if it does not exist.

    Where it was swept away, what is `known` to be stored has the bytes that it was stored with.
    """
    folder = _folder(project) / story.run
    if folder.is_dir():
        return folder
    beside = folder.with_name(f".{story.run}.new")
    shutil.rmtree(beside, ignore_errors=True)  # of one that was killed
    effects.make_folder(beside, mode=0o700)
    files: list[dict[str, object]] = []
    refused: list[RefusedFile] = []
    secrets = _load_declared(project)
    for one in collect_artifacts(project, story):
        if there := known.get(one.path):
            files.append({"path": one.path, "sha256": there.sha256, "bytes": there.bytes})
            continue
        why = _why_refused(one, secrets)
        if why:
            refused.append(RefusedFile(redact(one.path), why))
            continue
        path = beside / one.path
        effects.make_folder(path.parent)
        effects.write_file(path, one.content, durable=False)
        digest = sha256(one.content).hexdigest()
        files.append({"path": one.path, "sha256": digest, "bytes": len(one.content)})
    done.refused += refused
    effects.write_file(beside / METADATA, _metadata(project, story, files, refused))
    # Rename in one step: a folder with this name is complete and no longer changes.
    os.replace(beside, folder)
    return folder


def _why_refused(one: Artifact, secrets: Sequence[tuple[str, str]]) -> str:
    """Return why a file is not exported (too large, or contains a secret); empty if it may be."""
    if one.too_large:
        return "too large"
    # Scanners can't read packed files, so each file inside is scanned.
    for name, content in one.parts or ((one.path, one.content),):
        for found in scan_content(content, name):
            if found.refuses:
                line = f" (line {found.line})" if found.line else ""
                return redact(f"{found.message}{line}")
        for secret, at in find_held(content, b"", secrets):
            return f"it contains the value of the secret {secret} (line {at})"
    return ""


def _load_declared(project: Project) -> tuple[tuple[str, str], ...]:
    """Return names and values of all secrets of the plan's tasks that are set on this machine."""
    tasks = project.plan(project.plan_bytes).tasks
    found: dict[str, str] = {}
    for task in tasks:
        found |= project.settings.secrets_for(task, project.environ)
    return tuple(found.items())


def _metadata(
    project: Project, story: RunStory, files: list[dict[str, object]], refused: list[RefusedFile]
) -> bytes:
    started, finished, shipped = story.started, story.finished, story.shipped
    text = document(
        "artifacts",
        project=project.name,
        run=story.run,
        producer=f"runner/{__version__}",
        branch=started.branch if started else "",
        base=started.head if started else "",
        head=finished.head if finished else shipped.commit if shipped else "",
        tag=shipped.tag if shipped else "",
        exit=finished.exit if finished else None,
        began=story.records[0].time if story.records else "",
        ended=story.records[-1].time if story.records else "",
        tasks=sorted({task for task, _ in story.attempts}),
        files=files,
        refused=refused,
    )
    return redact(text).encode()


# --- storing --------------------------------------------------------------------------


def _store_run(
    project: Project,
    store: ArtifactStore,
    run: str,
    folder: Path,
    cursor: ExportMark,
    done: Exported,
) -> None:
    known = cursor.stored.get(run, {})
    standing: list[str] = []
    with Journal.open(project.journal_path, run=run) as journal:
        for path in _in_order(folder):
            content = (folder / path).read_bytes()
            digest = sha256(content).hexdigest()
            # If the object exists with other bytes, the metadata would not match it.
            if path in known or (path == METADATA and standing):
                continue
            key = f"{key_of_run(project, run)}/{path}"
            if not store.put_new(key, content) and not _is_same(store, key, digest):
                standing.append(key)
                continue
            stored = ArtifactStored(path, digest, len(content), done.store)
            # A line lost in a power cut is written again, because stored objects are compared
            # (`_is_same`); only the last line marks the run complete.
            journal.append(stored, durable=path == METADATA)
            done.stored += 1
            done.bytes += len(content)
    done.standing += standing
    if not standing:
        done.runs.append(run)
        shutil.rmtree(folder, ignore_errors=True)


def _is_same(store: ArtifactStore, key: str, digest: str) -> bool:
    """Return whether the stored object has this digest, so an interrupted upload was complete."""
    there = store.get(key)
    return there is not None and sha256(there).hexdigest() == digest


def _in_order(folder: Path) -> list[str]:
    """Return all files of a run, with the metadata file last."""
    files = (path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix() for path in files}
    return [*sorted(names - {METADATA}), METADATA]


def key_of_run(project: Project, run: str) -> str:
    """Return the readable and unique key of a run's files in the store."""
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in project.name)
    return f"{name.strip('-')[:40] or 'project'}/{run}"


# --- where it is kept meanwhile -------------------------------------------------------


def _folder(project: Project) -> Path:
    return project.cache / _FOLDER


def list_laid_out(project: Project, run: str) -> tuple[str, ...]:
    """Return the exported files of a run, with the metadata file last."""
    folder = _folder(project) / run
    return tuple(_in_order(folder)) if folder.is_dir() else ()


def _keep_trouble(project: Project, text: str) -> None:
    file = _folder(project) / _TROUBLE
    if text:
        effects.write_file(file, redact(text).encode(), durable=False)
    else:
        effects.unlink(file)


@contextmanager
def _only_one(project: Project) -> Iterator[None]:
    """Hold the project's export lock. Raises RunnerError if another process holds it."""
    folder = _folder(project)
    effects.make_folder(folder, mode=0o700)
    with effects.try_lock(folder / _LOCK) as is_ours:
        if not is_ours:
            raise RunnerError(
                "another process is storing artifacts of this project",
                hint="`runner team artifacts list` shows its progress",
            )
        yield


def summarise(done: Exported) -> str:
    """Return a one-line summary of the export."""
    text = f"{plural(done.stored, 'file')} of {plural(len(done.runs), 'run')} stored"
    if done.refused:
        text += f"; {plural(len(done.refused), 'file')} not stored"
    return text


class Listed(Struct, frozen=True):
    """One file of a run."""

    run: str
    path: str
    state: str
    """`stored`, `waits`, or `refused`."""
    sha256: str = ""
    bytes: int = 0
    why: str = ""


class _Metadata(NamedTuple):
    """The content of a run's `metadata.json`."""

    files: dict[str, tuple[str, int]]
    """Digest and size by path."""
    refused: dict[str, str]


class Fetched(Struct, frozen=True):
    """A fetched artifact, and its path."""

    run: str
    folder: Path
    paths: tuple[str, ...]
    bytes: int


def list_artifacts(project: Project, run: str = "", *, remote: bool = False) -> tuple[Listed, ...]:
    """Return the artifacts of a run or of all runs, oldest first. Raises RunnerError.

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
    there = read_below(to, path)
    if there is not None and there != content:
        raise RunnerError(
            "a different file already exists",
            where=str(to / path),
            hint="choose another folder: --to FOLDER",
            code=ExitCode.CONFLICT,
        )
    write_below(to, path, content, 0o644, durable=False)
    return len(content)


def _find_run(project: Project, store: ArtifactStore, typed: str) -> str:
    """Return the run whose ID starts with `typed`, by default the latest one."""
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
    # Run IDs sort by time.
    return found[-1]


def _read_metadata(project: Project, store: ArtifactStore, run: str) -> _Metadata | None:
    """Read the stored metadata of a run; None if it is missing or invalid."""
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
