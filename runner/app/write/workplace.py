"""Where single files are worked on, a project or just a folder; and the files that were named."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
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

    from runner.app.answer import between_runs
    from runner.model import Finding, Task
    from runner.project import Project
    from runner.secrets.allowlist import AllowList
else:
    between_runs = lazy_module("runner.app.answer.between_runs")

STANDARD_INPUT = "-"
LARGEST = 256 << 20
"""Bytes of one file; what is larger is no text that anybody wrote."""


def no_progress(doing: str) -> AbstractContextManager[None]:
    """Says nothing of what is being done, however long it takes."""
    del doing
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Workplace:
    """The folder that paths are relative to, and what is known there."""

    root: Path
    environ: Mapping[str, str]
    in_git: bool

    @classmethod
    def of(cls, start: Path, environ: Mapping[str, str]) -> Workplace:
        """The project that holds `start`; without a plan its repository, without one the folder."""
        folders = find_git(start)
        if folders is None:
            return cls(_nearest_with_plan(start), environ, in_git=False)
        try:
            return cls(find_project(start), environ, in_git=True)
        except RunnerError:
            return cls(folders.top, environ, in_git=True)

    def path_of(self, typed: str) -> str:
        """A path as it is recorded: relative to the root, with `/`.

        Raises RunnerError for one that leads outside.
        """
        path = Path(typed)
        if path.is_absolute():
            # A shell may stand in a folder by another name than git's, through a link. The last
            # part is not followed: a link is itself what was named.
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
        """The path of a file wherever it lies: relative to the root where that is possible."""
        real = Path(os.path.realpath(file))
        root = Path(os.path.realpath(self.root))
        return real.relative_to(root).as_posix() if real.is_relative_to(root) else str(file)

    def plan_path(self) -> str:
        """The plan's file, relative to the root; the usual name where there is none."""
        return next((path for path in PLANS if (self.root / path).is_file()), PLANS[0])

    def task(self, typed: str) -> tuple[str, Task | None]:
        """The id that is meant, and the plan's task where there is a plan.

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
        """The project with its settings; only in a git repository."""
        from runner.project import Project

        return Project.open(self.root, self.environ, plan_needed=False)

    @contextmanager
    def answer_at_once(self) -> Iterator[None]:
        """Have the plan say how a run's task stands once its proposal is answered."""
        if not (self.in_git and (self.root / self.plan_path()).is_file()):
            yield
            return
        with (
            read.Repository.open(self.root) as repository,
            between_runs.answer_at_once(self.project(), repository),
        ):
            yield

    def load_allow_list(self) -> AllowList | None:
        """What a person allowed here; None where there is no such file.

        Raises RunnerError where it cannot be read: what it would let through is not known.
        """
        content = safe_io.read_beneath(self.root, allowlist.FILE_NAME)
        if content is None:
            return None
        return allowlist.read_allow_list(content, effects.now().date())

    def find_secrets(self, content: bytes, path: str) -> tuple[Finding, ...]:
        """What looks like a secret in a person's edit: it must reach no git object either."""
        found = scan.scan_content(content, path, allowed=self.load_allow_list())
        return tuple(finding for finding in found if finding.refuses)


def journal_path(root: Path) -> Path:
    """Where the journal of a workplace is, or will be."""
    return root / "artifacts" / "build" / "journal.jsonl"


def display_path(path: str) -> str:
    """A path fit to be shown: a key in a file's name is blotted out."""
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


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be looked at, fit to be shown."""

    path: str
    message: str
    hint: str


def read_named(name: str, read_input: Callable[[int], bytes]) -> bytes | Unreadable:
    """The bytes of a file; for `-` at most so many of those that `read_input` gives."""
    try:
        if name == STANDARD_INPUT:
            return _check_size(read_input(LARGEST + 1), name)
        mode = os.stat(name).st_mode  # noqa: PTH116 - a name may hold what a Path cannot
        # A pipe is what a shell gives for `<(command)` (bash(1), Process Substitution).
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            return _no_file(name, mode)
        # One byte more tells a larger one, also of a pipe, which has no size.
        with open(name, "rb") as file:  # noqa: PTH123 - likewise
            return _check_size(file.read(LARGEST + 1), name)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or "invalid file name"
        return Unreadable(
            display_path(name), f"cannot be read: {reason}", "check the name and permissions"
        )


def require_named(name: str, read_input: Callable[[int], bytes]) -> bytes:
    """The bytes of a file. Raises RunnerError where there are none."""
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


@dataclass(frozen=True, slots=True)
class EditableText:
    """A file's bytes as a text field can hold them, and how they become bytes again."""

    text: str
    digest: str
    ending: str
    """`\\n` or `\\r\\n`: of every line."""

    @classmethod
    def of(cls, data: bytes) -> EditableText | None:
        """The text; None where a text field would change what nobody touched."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return None
        ending = "\r\n" if data.count(b"\r\n") == data.count(b"\n") and b"\r" in data else "\n"
        plain = text.replace(ending, "\n")
        # A form sends every line end as CR LF (HTML, "constructing the entry list"): a lone CR
        # would come back as another one.
        if "\r" in plain or "\0" in plain or "\ufeff" in plain:
            return None
        return cls(plain, digest_of(data), ending)

    def encode(self, edited: str) -> bytes:
        """What a person left in the field, in the line ends of the file."""
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
