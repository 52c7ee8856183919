"""The project of a command: its folder, settings and cached facts."""

from __future__ import annotations

import re
import shlex
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import force_setattr

from runner.config.loading import load_settings
from runner.config.paths import Places, expand_home
from runner.errors import RunnerError
from runner.journal.snapshot import load_state
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import digest_of
from runner.repo.head import (
    OWNERSHIP_MAP,
    PLANS,
    describe_ongoing,
    find_git,
    find_project,
    name_plan,
    read_head,
)
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Self

    from runner.config.settings import Loaded, Settings
    from runner.contracts import entries
    from runner.held_out import store
    from runner.implementers import registry as implementer_registry
    from runner.journal.state import RunState
    from runner.model import Digest, Status, Task
    from runner.plan import cache, checks, document, graph, ownership, spans
    from runner.plan.document import Plan
    from runner.plan.graph import TaskGraph
    from runner.plan.outline import Outline
    from runner.plan.source import Problem
    from runner.process import base, environments, platform, tools
    from runner.repo import read
    from runner.repo.head import Folders, Head
    from runner.run import outdated_plan
    from runner.secrets import redact
    from runner.writes import safe_io
else:
    base = lazy_module("runner.process.base")
    cache = lazy_module("runner.plan.cache")
    checks = lazy_module("runner.plan.checks")
    document = lazy_module("runner.plan.document")
    entries = lazy_module("runner.contracts.entries")
    environments = lazy_module("runner.process.environments")
    graph = lazy_module("runner.plan.graph")
    implementer_registry = lazy_module("runner.implementers.registry")
    outdated_plan = lazy_module("runner.run.outdated_plan")
    platform = lazy_module("runner.process.platform")
    ownership = lazy_module("runner.plan.ownership")
    read = lazy_module("runner.repo.read")
    redact = lazy_module("runner.secrets.redact")
    store = lazy_module("runner.held_out.store")
    safe_io = lazy_module("runner.writes.safe_io")
    spans = lazy_module("runner.plan.spans")
    tools = lazy_module("runner.process.tools")

BUILD = "artifacts/build"
JOURNAL = f"{BUILD}/journal.jsonl"
CHECKPOINT = f"{BUILD}/CHECKPOINT.md"
DECISIONS = f"{BUILD}/DECISIONS.md"
CHANGES = f"{BUILD}/CHANGES.md"
IGNORE = f"{BUILD}/.gitignore"
PATTERNS = "PATTERN_INDEX.md"

_CONTINUED = ("merge", "rebase", "cherry-pick", "revert")
"""Operations that git continues with `--continue`."""
_LARGE = 1_000_000
"""Bytes of a plan from which on the memory of its copies is released immediately."""


_ORIGIN = regex(
    r'^[ \t]*\[remote "origin"\][^\[]*?^[ \t]*url\s*=[^\n]*?(?P<name>[^\s/:"\\]+)/*"?\s*$',
    re.MULTILINE,
)
"""Last part of the address in a clone's configuration (git-config(1))."""


class Reading(Struct, frozen=True):
    """One reading of the plan: the very bytes, and all that was found in them."""

    data: bytes
    plan: Plan
    graph: TaskGraph
    problems: tuple[Problem, ...]

    def drop_text(self) -> None:
        """Drop the bytes of the plan to save memory."""
        force_setattr(self, "data", b"")  # frozen, but for this


class Project(Struct, dict=True):
    """Opened once per command; reads what is asked for, when it is asked for."""

    root: Path
    folders: Folders
    environ: Mapping[str, str]
    places: Places
    loaded: Loaded
    _outline: tuple[bytes, Outline] | None = None
    _plan: tuple[Digest, Plan] | None = None
    _state: tuple[tuple[int, ...] | None, RunState] | None = None

    @classmethod
    def open(
        cls,
        start: Path,
        environ: Mapping[str, str],
        flags: Mapping[str, object] | None = None,
        *,
        plan_needed: bool = True,
    ) -> Self:
        """Open the project that contains `start`. Raises RunnerError: no git, plan or settings."""
        flags = dict(flags or {})
        folders = find_git(start)
        if folders is None:
            raise RunnerError(
                "this folder is not in a git repository", where=str(start), hint="git init"
            )
        named = str(flags.get("task_graph") or name_plan(environ))
        if named:
            root = _project_of(start / named, folders)
            flags["task_graph"] = str((start / named).resolve().relative_to(root))
        elif plan_needed:
            root = _root_with_plan(start, folders, environ)
        else:
            root = _root_without_plan(start, folders)
        _require_one_line(root)
        places = Places.of(environ)
        loaded = load_settings(root, environ, flags, places.repository_cache(root))
        return cls(root, folders, environ, places, loaded)

    @property
    def settings(self) -> Settings:
        """Settings of this run."""
        return self.loaded.settings

    def open_repository(self) -> read.Repository:
        """Open the repository for commits of its own: they follow the settings."""
        repository = read.Repository.open(self.root)
        repository.sign_seconds = self.settings.git.sign_seconds
        repository.signs_off = self.settings.git.sign_off
        return repository

    @property
    def cache(self) -> Path:
        """The user's deletable folder for this repository."""
        return self.places.repository_cache(self.root)

    @cached_property
    def name(self) -> str:
        """Name of the project by its remote, whatever its local folder is called.

        The folder's name where there is no `origin`, and behind it for a project within.
        """
        try:
            text = (self.folders.common / "config").read_text("utf-8", "replace")
        except OSError:
            text = ""
        found = _ORIGIN.search(text)
        known = found["name"].removesuffix(".git") if found else ""
        if not known:
            return self.root.name
        return known if self.root == self.folders.top else f"{known}-{self.root.name}"

    @property
    def inside(self) -> str:
        """Its folder in the repository, as `app`; empty where it is the whole."""
        found = self.root.resolve().relative_to(self.folders.top.resolve()).as_posix()
        return "" if found == "." else found

    @cached_property
    def plan_path(self) -> str:
        """TASK-GRAPH.md, relative to the project."""
        named = self.settings.build.task_graph
        choices = (named,) if named else PLANS
        for path in choices:
            if (self.root / path).is_file():
                return path
        where = str(self.root / choices[0])
        raise RunnerError("TASK-GRAPH.md not found", where=where, hint="runner init")

    @property
    def has_plan(self) -> bool:
        """Whether there is one; the first may be a draft still."""
        try:
            return bool(self.plan_path)
        except RunnerError:
            return False

    @cached_property
    def held_out(self) -> store.HeldOutFolders:
        """Folders of the plan's held-out files; they need not exist."""
        named = self.settings.proof.held_out_dir
        path = f"{self.inside}/{self.plan_path}".lstrip("/")
        known = self.places.held_out, self.folders.common, path
        return store.HeldOutFolders.of(*known, expand_home(named) if named else None)

    @property
    def plan_bytes(self) -> bytes:
        """The plan's file as it is now."""
        try:
            path = self.root / self.plan_path
            if path.stat().st_size > _LARGE:
                platform.trim_memory()
            data = path.read_bytes()
        except OSError as error:
            raise RunnerError(
                f"the plan cannot be read: {error.strerror}", where=self.plan_path
            ) from error
        self._require_merged(data)
        return data

    def _require_merged(self, data: bytes) -> None:
        """Raise RunnerError for a plan in which a merge left conflicts to be resolved."""
        ongoing = describe_ongoing(read_head(self.root).git_dir)
        if not ongoing and b"<<<<<<< " not in data:
            return
        with read.Repository.open(self.root) as repository:
            unmerged = repository.is_unmerged(self.plan_path)
        lines = document.find_conflicts(data, unmerged=unmerged)
        if not lines and not unmerged:
            return
        spans = ", ".join(f"{begin}-{end}" for begin, end in lines)
        what = f"has conflict markers in lines {spans}" if lines else "is not merged yet"
        steps = [f"edit {self.plan_path} and remove the markers"] if lines else []
        if unmerged:
            goes_on = f" && git {ongoing} --continue" if ongoing in _CONTINUED else ""
            steps.append(f"git add {shlex.quote(self.plan_path)}{goes_on}")
        raise RunnerError(
            f"the plan {what}" + (f": a {ongoing} is in progress" if ongoing else ""),
            where=f"{self.plan_path}:{lines[0][0]}" if lines else self.plan_path,
            hint="; then: ".join(steps),
        )

    @property
    def journal_path(self) -> Path:
        """Path of the journal, which need not exist."""
        return self.root / JOURNAL

    def head(self) -> Head:
        """Return the current HEAD."""
        return read_head(self.root)

    def state(self) -> RunState:
        """Return the state of the journal; empty if it does not exist."""
        # Taken before reading: later appends change the mark and are read next time.
        mark = self._journal_mark()
        if self._state is None or mark is None or self._state[0] != mark:
            self._state = (mark, load_state(self.journal_path, self.cache))
        return self._state[1]

    def _journal_mark(self) -> tuple[int, ...] | None:
        """Return values that differ if the journal has grown or been replaced; None without one."""
        try:
            found = self.journal_path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def outline(self) -> Outline:
        """Return the plan's outline, cached if the plan is unchanged."""
        data = self.plan_bytes
        if self._outline is None or self._outline[0] != data:
            prefixes = self.settings.build.id_prefixes
            found = cache.load_outline(data, self.plan_path, self.cache, prefixes=prefixes)
            self._outline = (data, found)
        return self._outline[1]

    def drop_outline(self) -> None:
        """Drop the outline to save memory before the whole plan is read."""
        self._outline = None

    def statuses_in(self, data: bytes) -> dict[str, Status]:
        """Return the task statuses in another text of the plan, such as a committed one."""
        found: dict[str, Status] = {}
        named = (data, self.plan_path, self.cache, self.settings.build.id_prefixes)
        for task in cache.iterate_tasks(*named):
            found.setdefault(task.id, task.status)
        return found

    @property
    def plan_file(self) -> outdated_plan.PlanFile:
        """The plan as git is asked about it."""
        prefixes = self.settings.build.id_prefixes
        return outdated_plan.PlanFile(self.plan_path, self.statuses_in, prefixes)

    def plan(self, data: bytes) -> Plan:
        """Parse the plan in these bytes; problems are returned, not raised."""
        digest = digest_of(data)  # the text itself may be megabytes
        if self._plan is None or self._plan[0] != digest:
            prefixes = self.settings.build.id_prefixes
            found = cache.load_plan(data, self.plan_path, self.cache, prefixes=prefixes)
            self._plan = (digest, self.with_literals(found))
        return self._plan[1]

    def with_literals(self, plan: Plan) -> Plan:
        """Return the plan with paths of existing files taken literally."""
        return document.with_literals(plan, self._is_file)

    def _is_file(self, path: str) -> bool:
        """Return whether a glob-like path is a file in the tree, the map or HEAD."""
        if path not in self._files:
            self._files[path] = (self.root / path).is_file() or (
                # Characters that no framework's file names have: rather a glob than asking git.
                not set("*?") & set(path) and (path in self._map_rows or self._is_committed(path))
            )
        return self._files[path]

    def without_secrets(self, text: str) -> str:
        """Redact likely and declared secrets in a person's text.

        It is committed with the journal, and the next attempt reads it.
        """
        names = set(self.settings.sandbox.secrets or ())
        # Only such a plan can require one and must be parsed for it.
        if self.has_plan and b"secret" in self.plan_bytes.lower():
            for task in self.plan(self.plan_bytes).tasks:
                names.update(need.name for need in task.requires if need.kind == "secret")
        values = [self.environ[name] for name in sorted(names & self.environ.keys())]
        return redact.redact(text, values)

    @property
    def documents(self) -> frozenset[str]:
        """The runner's own documents: they are no part of what is proven, or goes back."""
        names = (OWNERSHIP_MAP, PATTERNS, CHECKPOINT, DECISIONS, CHANGES, IGNORE)
        return frozenset({self.plan_path, *names})

    @cached_property
    def _files(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _map_rows(self) -> frozenset[str]:
        data = safe_io.read_below(self.root, OWNERSHIP_MAP) or b""
        return frozenset(file for file, _ in ownership.OwnershipMap.read(data, OWNERSHIP_MAP).rows)

    def _is_committed(self, path: str) -> bool:
        commit = self.head().commit
        with read.Repository.open(self.root) as repository:
            return bool(commit) and path in repository.tree_entries(commit, [path])

    @cached_property
    def command_environment(self) -> Mapping[str, str]:
        """The environment of this project's commands, its own tools first on PATH."""
        return environments.with_own_tools(
            base.command_environment(self.environ), self.root, may_use=lambda _: True
        )

    def check(self) -> Reading:
        """Parse and check the plan; return it with its graph and all problems."""
        data = self.plan_bytes
        return self.check_text(data, self.plan(data))

    def check_text(self, data: bytes, plan: Plan) -> Reading:
        """Check a plan's text that may not be written yet; `plan` is the parsed text."""
        places = spans.Spans(data, plan.path)
        found = checks.check_plan(
            plan.tasks,
            places=places,
            found=lambda name: tools.which(name, self.command_environment) is not None,
            exists=lambda path: (self.root / path).exists(),
            strict_contracts=self.settings.proof.strict_contracts,
            is_agent=self._is_agent,
        )
        if any(task.contracts for task in plan.tasks):
            found = (*found, *entries.unreadable(plan.tasks, places))
        problems = sorted((*plan.problems, *found), key=lambda one: (one.line, one.column))
        return Reading(data, plan, graph.TaskGraph.of(plan.tasks), tuple(problems))

    def _is_agent(self, task: Task) -> bool:
        """Return whether an agent or a model implements a task."""
        settings = self.settings
        named = task.implementer or settings.build.implementer or settings.agent.command
        return bool(named and implementer_registry.agent_of(task, settings))


def _require_one_line(root: Path) -> None:
    """Raise RunnerError for a line break in the path (gitrepository-layout(5))."""
    if not {"\n", "\r"}.isdisjoint(str(root)):
        raise RunnerError(
            "the path of the repository contains a newline",
            where=display(str(root)),
            hint="rename the folder: git cannot store such a path in its own files",
        )


def _project_of(plan: Path, folders: Folders) -> Path:
    """Return the project folder of a named plan. Raises RunnerError."""
    plan = plan.resolve()
    if not plan.is_file():
        raise RunnerError("plan not found", where=str(plan), hint="runner init")
    if not plan.is_relative_to(folders.top):
        raise RunnerError("the plan is outside the repository", where=str(plan))
    return _folder_of(plan)


def _folder_of(plan: Path) -> Path:
    folder = plan.parent
    return folder.parent.parent if folder.parts[-2:] == ("artifacts", "build") else folder


def find_journal(clone: Path, plan: str) -> Path:
    """Return the journal path of a plan in a clone; an empty `plan` is at its top."""
    return (_folder_of(clone / plan) if plan else clone) / JOURNAL


def _root_with_plan(start: Path, folders: Folders, environ: Mapping[str, str]) -> Path:
    """Return the nearest folder with a plan, or the repository's top if settings name a plan."""
    try:
        return find_project(start)
    except RunnerError:
        if load_settings(folders.top, environ, {}, None).settings.build.task_graph:
            return folders.top
        raise


def _root_without_plan(start: Path, folders: Folders) -> Path:
    try:
        return find_project(start)
    except RunnerError:
        return folders.top
