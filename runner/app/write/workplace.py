"""The place of single-file commands: a project or a plain folder, and the named files."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.model import digest_of
from runner.plan import task_ids
from runner.repo import read
from runner.repo.head import PLANS, find_git, find_project
from runner.run import selection
from runner.secrets import allowlist, redact, scan
from runner.text.display import display
from runner.writes import safe_io

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from runner.app.answer import answer_between_runs
    from runner.model import Finding, Task
    from runner.project import Project
    from runner.secrets.allowlist import AllowList
else:
    answer_between_runs = lazy_module("runner.app.answer.answer_between_runs")

STANDARD_INPUT = "-"
LARGEST = 256 << 20
"""Maximum size of one file, in bytes; a larger one is not handwritten text."""


def no_progress(doing: str) -> AbstractContextManager[None]:
    """Ignore progress messages."""
    del doing
    return nullcontext()


class Workplace(Struct, frozen=True):
    """The folder that paths are relative to, and what is known there."""

    root: Path
    environ: Mapping[str, str]
    in_git: bool

    @classmethod
    def of(cls, start: Path, environ: Mapping[str, str]) -> Workplace:
        """Return the workplace of the project, repository or folder that contains `start`."""
        folders = find_git(start)
        if folders is None:
            return cls(_nearest_with_plan(start), environ, in_git=False)
        try:
            return cls(find_project(start), environ, in_git=True)
        except RunnerError:
            return cls(folders.top, environ, in_git=True)

    def path_of(self, typed: str) -> str:
        """Return a path relative to the root, with `/`, as the log records it.

        Raises RunnerError for one that leads outside.
        """
        path = Path(typed)
        if path.is_absolute():
            # A shell may reach the folder through a link, under another name than git's. The last
            # part is not resolved: a link itself can be named.
            real = Path(os.path.realpath(path.parent)) / path.name
            for root in (self.root, Path(os.path.realpath(self.root))):
                for candidate in (path, real):
                    if candidate.is_relative_to(root):
                        return candidate.relative_to(root).as_posix()
            raise RunnerError(
                "this file is outside the project",
                where=display_path(typed),
                hint=f"paths are relative to {self.root}",
            )
        return typed.removeprefix("./")

    def near(self, file: Path) -> str:
        """Return a file's path relative to the root, or unchanged if it is outside."""
        real = Path(os.path.realpath(file))
        root = Path(os.path.realpath(self.root))
        return real.relative_to(root).as_posix() if real.is_relative_to(root) else str(file)

    def plan_path(self) -> str:
        """Return the plan's path relative to the root, by default the usual name."""
        return next((path for path in PLANS if (self.root / path).is_file()), PLANS[0])

    def task(self, typed: str) -> tuple[str, Task | None]:
        """Return the task ID and, if there is a plan, its task. Raises RunnerError.

        Raises RunnerError for what is no id, and for an id that the plan does not know.
        """
        if (self.root / self.plan_path()).is_file() and self.in_git:
            found = self._find_task(typed)
            if found is not None:
                return found.id, found
        named = task_ids.task_id(typed) or (
            task_ids.task_id(f"TASK-{typed}") if typed.isdigit() else None
        )
        if named is None:
            raise RunnerError(
                f'"{_redact(typed)}" is not a valid task id', hint="write it as TASK-003"
            )
        return named, None

    def _find_task(self, typed: str) -> Task | None:
        project = self.project()
        tasks = {task.id: task for task in project.plan(project.plan_bytes).tasks}
        return tasks[selection.find_id(_redact(typed), tasks)] if tasks else None

    def project(self) -> Project:
        """Open the project with its settings; it needs a git repository."""
        from runner.project import Project

        return Project.open(self.root, self.environ, plan_needed=False)

    @contextmanager
    def answer_at_once(self) -> Iterator[None]:
        """Write the new task status to the plan after a proposal is answered in the block."""
        if not (self.in_git and (self.root / self.plan_path()).is_file()):
            yield
            return
        with (
            read.Repository.open(self.root) as repository,
            answer_between_runs.answer_at_once(self.project(), repository),
        ):
            yield

    def load_allow_list(self) -> AllowList | None:
        """Load the allow-list of secrets; None if there is no such file.

        Raises RunnerError where it cannot be read: what it would let through is not known.
        """
        content = safe_io.read_below(self.root, allowlist.FILE_NAME)
        if content is None:
            return None
        return allowlist.read_allow_list(content, effects.now().date())

    def find_secrets(self, content: bytes, path: str) -> tuple[Finding, ...]:
        """Return the secrets in a person's edit that must not reach a git object."""
        found = scan.scan_content(content, path, allowed=self.load_allow_list())
        return tuple(finding for finding in found if finding.refuses)


def journal_path(root: Path) -> Path:
    """Return the path of a workplace's journal, which need not exist."""
    return root / "artifacts" / "build" / "journal.jsonl"


def display_path(path: str) -> str:
    """Return a path for display with secrets redacted."""
    return display(_redact(path))


def _redact(text: str) -> str:
    return redact.redact(text)


def _nearest_with_plan(start: Path) -> Path:
    here = Path(os.path.realpath(start))
    for folder in (here, *here.parents):
        if any((folder / plan).is_file() for plan in PLANS):
            return folder
    return here


# --- files that a person named --------------------------------------------------------


class Unreadable(Struct, frozen=True):
    """A file that could not be looked at, fit to be shown."""

    path: str
    message: str
    hint: str


def read_named(name: str, read_input: Callable[[int], bytes]) -> bytes | Unreadable:
    """Read a file or, for `-`, the input up to the size limit."""
    try:
        if name == STANDARD_INPUT:
            return _check_size(read_input(LARGEST + 1), name)
        mode = os.stat(name).st_mode  # noqa: PTH116 - a name may hold what a Path cannot
        # A shell passes a pipe for `<(command)` (bash(1), Process Substitution).
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            return _no_file(name, mode)
        # One byte over the limit detects a larger file, even for a pipe without a size.
        with open(name, "rb") as file:  # noqa: PTH123 - likewise
            return _check_size(file.read(LARGEST + 1), name)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or "invalid file name"
        return Unreadable(
            display_path(name), f"cannot be read: {reason}", "check the name and permissions"
        )


def require_named(name: str, read_input: Callable[[int], bytes]) -> bytes:
    """Read a file or the input. Raises RunnerError if that fails."""
    content = read_named(name, read_input)
    if isinstance(content, Unreadable):
        raise RunnerError(content.message, where=content.path, hint=content.hint)
    return content


def _check_size(content: bytes, name: str) -> bytes | Unreadable:
    if len(content) <= LARGEST:
        return content
    return Unreadable(
        display_path(name), f"is larger than {LARGEST >> 20} MB", "name smaller text files"
    )


def _no_file(name: str, mode: int) -> Unreadable:
    if stat.S_ISDIR(mode):
        return Unreadable(display_path(name), "is a folder", "name its files: git ls-files FOLDER")
    return Unreadable(display_path(name), "is not a regular file", "name files, or - for stdin")


class EditableText(Struct, frozen=True):
    """A file's bytes as a text field can hold them, and how they become bytes again."""

    text: str
    digest: str
    ending: str
    """Line ending of every line: `\n` or `\r\n`."""

    @classmethod
    def of(cls, data: bytes) -> EditableText | None:
        """Return the data as editable text, or None if a text field would alter it."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return None
        ending = "\r\n" if data.count(b"\r\n") == data.count(b"\n") and b"\r" in data else "\n"
        plain = text.replace(ending, "\n")
        # A form sends every line end as CR LF (HTML, "constructing the entry list"): a lone CR
        # would return as a different one.
        if "\r" in plain or "\0" in plain or "\ufeff" in plain:
            return None
        return cls(plain, digest_of(data), ending)

    def encode(self, edited: str) -> bytes:
        """Encode the edited text with the line endings of the file."""
        return edited.replace("\r\n", "\n").replace("\n", self.ending).encode("utf-8", "replace")


def save_plan_text(project: Project, edited: str, seen: str) -> bytes:
    """Write the plan as a person left it. Raises RunnerError where it is not what they had `seen`.

    The file is looked at just before its rename: a status that a run wrote meanwhile is not lost.
    """
    path = project.root / project.plan_path
    before = project.plan_bytes
    known = EditableText.of(before)
    if known is None:
        hint = "edit it in your editor: a text field would change its content"
        raise RunnerError("this plan is not plain text", where=project.plan_path, hint=hint)
    data = known.encode(edited)
    mode = path.stat().st_mode & 0o777
    is_same = digest_of(before) == seen
    if not (is_same and effects.write_file(path, data, mode=mode, expected=before)):
        raise RunnerError(
            "the plan changed since you opened it",
            where=project.plan_path,
            hint="copy your edits into the current text",
            code=ExitCode.CONFLICT,
        )
    return data
