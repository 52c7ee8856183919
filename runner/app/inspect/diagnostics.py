"""The checks of `runner doctor`: machine, repository, plan and the runner's own files."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from runner.app.build.discovered_gates import apply_default_gates
from runner.app.build.preconditions import find_unheld_bounds
from runner.app.inspect.diagnostic import Diagnostic, State, make_missing_sign
from runner.app.inspect.requirements import plan_signs
from runner.config.paths import expand_home
from runner.config.stack import detect_stack
from runner.config.trust import Trust
from runner.errors import RunnerError
from runner.journal.lock import RunLock
from runner.journal.records import read_journal
from runner.lazy_module import lazy_module
from runner.process.cgroups import our_grounds
from runner.process.sandbox import explain_opening, landlock_gaps, sandbox_of
from runner.process.tools import capture, which
from runner.project import BUILD, CHANGES, CHECKPOINT, DECISIONS, IGNORE, PATTERNS, Project
from runner.repo.head import OWNERSHIP_MAP, PLANS
from runner.repo.read import Repository
from runner.repo.tree_files import walk
from runner.run.choose_executor import find_executor
from runner.text.wording import join_few, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.app.inspect import take_lease
else:
    take_lease = lazy_module("runner.app.inspect.take_lease")


_SECONDS = 10.0
_KILO = 1024


def examine(
    start: Path, environ: Mapping[str, str], task_graph: str | None, *, remote: bool = False
) -> Iterator[Diagnostic]:
    """Yield all diagnostics, the machine's first; a failed check is a diagnostic, too.

    With `remote` the one that is published to is asked, too: refs are made there for a moment.
    """
    yield from _machine(start, environ)
    if which("git", environ) is None:
        return  # all else would be asked of it
    try:
        project = Project.open(start, environ, {"task_graph": task_graph}, plan_needed=False)
    except RunnerError as error:
        yield make_missing_sign("repository", error)
        return
    apply_default_gates(project)
    yield from _sandbox(project)
    yield from _executor(project)
    yield from _reviewer(project, environ)
    yield from _repository(project)
    yield from plan_signs(project)
    yield from _own_files(project)
    if remote:
        yield from take_lease.examine_remote(project)


# --- the machine ----------------------------------------------------------------------


def _machine(start: Path, environ: Mapping[str, str]) -> Iterator[Diagnostic]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Diagnostic("python", State.OK, f"{version} ({sys.executable})")
    git = which("git", environ)
    if git is None:
        yield Diagnostic("git", State.MISSING, "not on PATH", "apt-get install git")
        return
    code, output = capture([str(git), "--version"], start, environ, _SECONDS)
    words = output.decode("utf-8", "replace").removeprefix("git version ").strip()
    yield Diagnostic("git", State.MISSING if code else State.OK, words)


def _sandbox(project: Project) -> Iterator[Diagnostic]:
    settings = project.settings
    read = tuple(map(expand_home, settings.sandbox.read))
    try:
        found = sandbox_of(settings, project.environ)
    except RunnerError as error:
        yield make_missing_sign("sandbox", error)
        return
    if found.encloses:
        over = f", because {found.reason}" if found.reason else ""
        yield Diagnostic("sandbox", State.OK, f"{found.name}{over}")
        hint = "" if found.contains else explain_opening()
        yield from (Diagnostic("sandbox", State.NOTE, gap, hint) for gap in found.gaps)
    else:
        text = f"none, so commands run with all your permissions: {found.reason}"
        if settings.sandbox.kind == "none":
            yield Diagnostic("sandbox", State.NOTE, text)
        else:
            yield Diagnostic("sandbox", State.NOTE, text, explain_opening())
            gaps = (f"landlock would not enforce: {gap}" for gap in landlock_gaps(read))
            yield from (Diagnostic("sandbox", State.NOTE, gap) for gap in gaps)
    yield _limits()
    yield from (Diagnostic("limits", State.NOTE, one) for one in find_unheld_bounds(project))


def _executor(project: Project) -> Iterator[Diagnostic]:
    """Yield a diagnostic of the executor, unless attempts run in threads of the run itself."""
    if project.settings.cluster.executor == "threads":
        return
    try:
        kind = find_executor(project.settings)
        settings = project.settings
        described = kind.describe_cluster(settings) if kind else settings.cluster.executor
        yield Diagnostic("executor", State.OK, described)
    except RunnerError as error:
        yield make_missing_sign("executor", error)


def _reviewer(project: Project, environ: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield a diagnostic on the review command's program, without running it."""
    line = project.settings.review.command
    try:
        words = shlex.split(line)
    except ValueError:
        words = [line]
    name = next((word for word in words if "=" not in word), "")
    if not name:
        return
    found = which(name, environ)
    if found is None:
        hint = "set its absolute path in your own settings"
        state = State.MISSING if "/" in name else State.NOTE  # the shell has words of its own
        yield Diagnostic("review.command", state, f"program not found: {name}", hint)
        return
    text = f"{name} ({found}); it runs sandboxed, in the task's tree"
    hint = "" if project.settings.sandbox.read else "to let it read other folders: sandbox.read"
    yield Diagnostic("review.command", State.OK, text, hint)


def _limits() -> Diagnostic:
    """Return which limits apply to all processes of a command together, and which to each alone."""
    held = our_grounds().held
    together = {"pids": "processes", "memory": "memory"}
    words = [word for name, word in together.items() if name in held]
    if {"pids", "memory"} <= held:
        return Diagnostic("limits", State.OK, f"{join_few(words)} per command, by cgroup")
    lacking = "memory per process only" if "memory" not in held else ""
    if "pids" not in held:
        root = "no process limit for root" if os.geteuid() == 0 else "processes by RLIMIT_NPROC"
        lacking = f"{lacking}, {root}" if lacking else root
    by_group = f"{join_few(words)} per command, by cgroup; " if words else ""
    return Diagnostic("limits", State.NOTE, f"{by_group}{lacking}")


# --- the repository -------------------------------------------------------------------


def _repository(project: Project) -> Iterator[Diagnostic]:
    yield Diagnostic("repository", State.OK, str(project.root))
    try:
        with Repository.open(project.root) as repository:
            facts = repository.state()
            who = repository.identity()
    except RunnerError as error:
        yield make_missing_sign("git state", error)
        return
    yield Diagnostic("branch", State.OK, facts.head.shown if facts.head.commit else "no commit yet")
    if facts.ongoing:
        hint = f"git {facts.ongoing} --continue, or --abort"
        yield Diagnostic("git state", State.MISSING, f"a {facts.ongoing} is in progress", hint)
    own = _own_documents(project)
    dirty = [file.path for file in facts.dirty if file.path not in own]
    untracked = [path for path in facts.untracked if path not in own]
    carried = {
        "HEAD is detached: commits land on no branch": facts.head.detached,
        f"submodules are not checked out: {join_few(facts.submodules)}": bool(facts.submodules),
        "tasks see Git LFS files as pointers": facts.lfs,
        "line endings are converted on checkout": facts.autocrlf,
        "the checkout is sparse: tasks see the whole tree": facts.sparse,
        "the clone is shallow: older landings are missing": facts.shallow,
        f"{plural(len(dirty), 'file')} with uncommitted changes": bool(dirty),
        f"{plural(len(untracked), 'untracked file')} that tasks can't see": bool(untracked),
        f"git user.name is not set: commits are made as {who.name}": who.invented,
    }
    for text, holds in carried.items():
        if holds:
            yield Diagnostic("git state", State.NOTE, text)
    yield from _stack(project)
    yield _trust(project)


def _own_documents(project: Project) -> frozenset[str]:
    """Return the files that the runner itself writes; their changes are ignored."""
    named = project.settings.build.task_graph
    return frozenset(
        (*PLANS, named, OWNERSHIP_MAP, PATTERNS, CHECKPOINT, DECISIONS, CHANGES, IGNORE)
    )


def _stack(project: Project) -> Iterator[Diagnostic]:
    stack = detect_stack(project.root)
    manager = f" ({stack.package_manager})" if stack.package_manager else ""
    yield Diagnostic("stack", State.OK, (", ".join(stack.names) or "none declared") + manager)
    yield from _default_gates(project)
    for note in (*stack.notes, *project.loaded.notes):
        yield Diagnostic("settings", State.NOTE, note)


def _default_gates(project: Project) -> Iterator[Diagnostic]:
    """Yield the default gates, which the repository declares and no setting replaces."""
    settings = project.settings
    every = (("", settings.gates), *settings.gates_by_type)
    for kind, gates in every:
        for gate in gates:
            if gate.origin:
                only = f", {kind} tasks only" if kind else ""
                text = f"{gate.command} ({gate.origin}{only})"
                yield Diagnostic(f"default gate {gate.name}", State.OK, text)


def _trust(project: Project) -> Diagnostic:
    if Trust(project.places.state).is_given(project.root):
        return Diagnostic("trust", State.OK, "given")
    text = "not given yet: the first run shows the plan's commands and asks"
    return Diagnostic("trust", State.NOTE, text, "runner run --dry-run")


# --- the runner's own files -----------------------------------------------------------


def _own_files(project: Project) -> Iterator[Diagnostic]:
    yield _journal(project)
    holder = RunLock(project.root / BUILD).holder()
    yield Diagnostic("run", State.OK, f"active: {holder}" if holder else "none active")
    for name, folder in (("cache", project.cache), ("state", project.places.state)):
        yield Diagnostic(f"{name} folder", State.OK, f"{folder} ({_size(_bytes_in(folder))})")


def _journal(project: Project) -> Diagnostic:
    """Read the whole journal with all checksums and return the diagnostic."""
    path = project.journal_path
    if not path.exists():
        return Diagnostic("journal", State.OK, "none yet")
    try:
        count = sum(1 for _ in read_journal(path, wanted=()))
    except RunnerError as error:
        return make_missing_sign("journal", error)
    return Diagnostic(
        "journal", State.OK, f"{plural(count, 'record')}, {_size(path.stat().st_size)}, intact"
    )


def _bytes_in(folder: Path) -> int:
    total = 0
    for at, _, names in walk(str(folder)):
        for name in names:
            try:
                total += os.lstat(os.path.join(at, name)).st_size  # noqa: PTH118 - a hot path
            except OSError:
                continue  # gone meanwhile
    return total


def _size(number: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if number < _KILO:
            return f"{number:.0f} {unit}"
        number /= _KILO
    return f"{number:.1f} GiB"
