"""Copies of files for analysers of other languages, away from any scratch tree.

A scan may take long after its task's slot has gone to another task. So the changed files, and
what a tool needs of their surroundings, are copied into a folder of their own; the tools run on
it in the sandbox that all commands run in.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from itertools import count
from threading import Event
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.errors import RunnerError
from runner.languages.registry import is_written_in
from runner.model import digest_of
from runner.process.base import Command, Place
from runner.process.limits import Limits
from runner.process.platform import is_there
from runner.process.supervise import run
from runner.process.tools import is_on_path
from runner.writes.safe_io import read_below, write_below
from runner.writes.sast_report import SastReport, make_unscanned
from runner.writes.scanners import (
    SCANNERS,
    findings_of,
    folder_of,
    select_advised,
    select_scanners,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.model import Change, Digest
    from runner.process.base import Ran, Sandbox
    from runner.writes.scanners import Scanner

SECONDS = 120.0
"""Timeout of one tool."""
_MOST_BESIDE = 500
"""Maximum files copied because they are next to a changed one."""
_SERIAL = count()


class ScanWorkspace(Struct, frozen=True):
    """The workspace in which other tools scan an attempt's changed files."""

    folder: Path
    """Folder of the copies; not accessible to commands of tasks."""
    tree: Path
    """Project with the changes, read only while `specimen` copies."""
    base: Callable[[str], bytes | None]
    """Returns the bytes of a path before the changes: a repository's rules come from there."""
    place: Place
    """Place of the repository: its visible path, and what is shared with it."""
    sandbox: Sandbox
    environment: Mapping[str, str]
    interrupted: Callable[[], bool] = lambda: False
    """Whether a person wants the run to end now: then tools are not waited for."""
    seconds: float = SECONDS

    def specimen(self, changes: Sequence[Change]) -> ScanCopy | None:
        """Copy the files that installed tools scan; None if no tool applies.

        Takes as long as copying does. What cannot be copied is left out.
        """
        contents = {one.path: one.content for one in changes if one.content is not None}
        tools = tuple(tool for tool in select_scanners(tuple(contents)) if not self.lacks(tool))
        if not tools:
            return None
        sweep(self.folder)
        top = self.folder / f"{os.getpid()}-{next(_SERIAL)}"
        project = top / "tree" / self.place.start
        for tool in tools:
            for path in tool.select_paths(contents):
                self._copy(project, path, contents[path])
            for path, content in self._surroundings(tool, contents):
                if path not in contents:
                    self._copy(project, path, content)
        # A sandbox with its own mounts shows them in place; without one they need a link.
        if not self.sandbox.contains:
            self._link_shares(top / "tree")
        digests = {path: digest_of(content) for path, content in contents.items()}
        return ScanCopy(self, top, tools, digests)

    def program(self, tool: Scanner) -> str | None:
        """Return the tool's program in the project's packages or on PATH, or None."""
        own = self._shown / "node_modules" / ".bin" / tool.program
        if tool.packages and own.exists():
            return str(own)
        return tool.argv[0] if is_on_path(tool.program, self.environment) else None

    def lacks(self, tool: Scanner) -> str:
        """Return why a tool cannot scan here; empty if it can."""
        if self.program(tool) is None:
            return f"{tool.program} is not installed"
        for name in tool.packages:
            if not (self._shown / "node_modules" / name).is_dir():
                return f"{name} is not installed in the project"
        if tool.rules and self._rules(tool) is None:
            return f"the rules file {tool.rules[0]} is missing"
        return ""

    def find_unread(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield what to install for each kind of code that no installed tool reads."""
        lacks = {tool.tool: bool(self.lacks(tool)) for tool in SCANNERS}
        unread: dict[tuple[Scanner, ...], dict[str, None]] = {}
        for path in paths:
            tools = select_scanners((path,))
            if (
                tools
                and all(lacks[tool.tool] for tool in tools)
                and not is_written_in(path, "python")
            ):
                ending = next(one for one in tools[-1].endings if path.endswith(one))
                unread.setdefault(select_advised((path,)), {})[ending] = None
        for tools, endings in unread.items():
            wanted = ", or ".join(tool.needs for tool in tools)
            yield f"no scanner for {', '.join(endings)} is installed: install {wanted}"

    @property
    def _shown(self) -> Path:
        return self.place.shown / self.place.start

    def _rules(self, tool: Scanner) -> bytes | None:
        found = (self._read(self.base, path) for path in tool.rules)
        return next((content for content in found if content is not None), None)

    def _surroundings(
        self, tool: Scanner, contents: Mapping[str, bytes]
    ) -> Iterator[tuple[str, bytes]]:
        """Yield the context files that a tool needs for the analysed files."""
        name, text = tool.own_file
        if name:
            yield name, text.encode() or self._rules(tool) or b""
        folders = {folder_of(path) for path in tool.select_paths(contents)}
        folders |= {
            found for one in folders if (found := home_of(self.tree, tool, one)) is not None
        }
        paths = (path for folder in sorted(folders) for path in self._beside(tool, folder))
        for _, path in zip(range(_MOST_BESIDE), paths, strict=False):
            content = self._read(lambda one: read_below(self.tree, one), path)
            if content is not None:
                yield path, content

    def _beside(self, tool: Scanner, folder: str) -> Iterator[str]:
        if not tool.beside:
            return
        try:
            names = sorted(os.listdir(self.tree / folder))  # noqa: PTH208 - names, not paths
        except OSError:
            return  # a folder that this change itself makes or takes away
        for name in names:
            if any(fnmatchcase(name, glob) for glob in tool.beside):
                yield f"{folder}/{name}" if folder else name

    def _read(self, reading: Callable[[str], bytes | None], path: str) -> bytes | None:
        try:
            return reading(path)
        except RunnerError:  # a link, a pipe: nothing that a scan has to follow
            return None

    def _copy(self, project: Path, path: str, content: bytes) -> None:
        project.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_below(project, path, content, 0o100644, durable=False)

    def _link_shares(self, tree: Path) -> None:
        for share in self.place.shares:
            link = tree / share
            if not link.exists() and link.parent.is_dir():
                link.symlink_to(self.place.shown / share)


class ScanCopy(Struct, frozen=True):
    """The copies of one attempt, and the tools that are to look at them."""

    laboratory: ScanWorkspace
    top: Path
    tools: tuple[Scanner, ...]
    digests: Mapping[str, Digest] = field(default_factory=dict)

    def examine(self, closing: Callable[[], bool] = lambda: False) -> SastReport:
        """Run the tools one by one, then remove the copies.

        They are ended once a person interrupts, or when `closing` says so.
        """
        report = SastReport()
        ended = _Ended((self.laboratory.interrupted, closing))
        try:
            for tool in self.tools:
                for folder, paths in self._jobs(tool).items():
                    report = report.join(self._scan(tool, folder, paths, ended))
        except (OSError, RunnerError) as error:
            report = report.join(not_scanned(error))
        finally:
            _remove(self.top)
        return report

    def _jobs(self, tool: Scanner) -> dict[str, tuple[str, ...]]:
        """Return the folders in which a tool runs, each with its changed files."""
        paths = tool.select_paths(self.digests)
        if not tool.manifest:
            return {"": paths}
        project = self.top / "tree" / self.laboratory.place.start
        homes: dict[str, tuple[str, ...]] = {}
        for path in paths:
            home = home_of(project, tool, folder_of(path))
            if home is not None:
                homes[home] = (*homes.get(home, ()), path)
        return homes

    def _scan(self, tool: Scanner, folder: str, paths: tuple[str, ...], ended: Event) -> SastReport:
        program = self.laboratory.program(tool)
        if program is None:
            return SastReport()  # it was there a moment ago
        ran = self._run((program, *tool.argv[1:], *(paths if tool.by_file else ())), folder, ended)
        if ran.ended in ("hard", "idle", "cancelled"):
            words = "was interrupted" if ran.ended == "cancelled" else "took too long"
            note = make_unscanned(paths[0], f"{tool.tool} {words}", tool=tool.tool)
            return SastReport(notes=(note,))
        return findings_of(tool, ran, folder, {path: self.digests[path] for path in paths})

    def _run(self, argv: tuple[str, ...], folder: str, ended: Event) -> Ran:
        lab = self.laboratory
        box = self.top / "box"
        box.mkdir(exist_ok=True)
        place = Place(
            tree=self.top / "tree",
            shown=lab.place.shown,
            box=box,
            shares=lab.place.shares,
            start=lab.place.start,
        )
        command = Command(
            argv,
            place,
            lab.environment,
            limits=Limits(soft=0, idle=0, hard=lab.seconds),
            log=self.top / "output.log",
            folder=folder,
        )
        return run(command, lab.sandbox, cancelled=ended)


class _Ended(Event):
    """Set as soon as one of these says so."""

    def __init__(self, reasons: tuple[Callable[[], bool], ...]) -> None:
        super().__init__()
        self._reasons = reasons

    def is_set(self) -> bool:
        """Return whether one of the reasons to stop applies."""
        # The code that reads the command's output checks this several times a second
        # (`process/supervise`), so nothing has to set it.
        return any(reason() for reason in self._reasons)


def not_scanned(error: OSError | RunnerError) -> SastReport:
    """Return a report that the scan was skipped, since an error of copying must not stop a task."""
    why = error.strerror if isinstance(error, OSError) else error.message
    note = make_unscanned("", f"scanners of other languages did not run: {why}", tool="sast")
    return SastReport(notes=(note,))


def home_of(tree: Path, tool: Scanner, folder: str) -> str | None:
    """Return the nearest parent folder with the tool's manifest, or None."""
    while tool.manifest:
        if (tree / folder / tool.manifest).is_file():
            return folder
        if not folder:
            break
        folder = folder_of(folder)
    return None


def sweep(folder: Path) -> None:
    """Remove the copies of processes that are no more."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names, not paths
    except OSError:
        return
    for name in names:
        owner = name.partition("-")[0]
        # If the number was reused (numbers restart at pid_max, proc(5)), these copies stay for a
        # later sweep: deleting too late costs space, too early a scan.
        if owner.isdecimal() and not is_there(int(owner)):
            _remove(folder / name)


def _remove(top: Path) -> None:
    effects.step("unlink", top)
    try:
        effects.remove_tree(top)
    except OSError:
        return  # the next scan of this slot tries again
