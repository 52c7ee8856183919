"""A task that changes what a gate runs is proven by the gate as it was, too.

The gate runs a second time on the proposal with the old bytes of the files that say what it runs:
scripts of package.json, Makefile, test configuration, tool tables of pyproject.toml.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

from runner.gates.base_result import earlier
from runner.gates.junit import TestOutcome
from runner.model import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.gates.base import Check, GateContext
    from runner.gates.base_result import BaseResult
    from runner.gates.check_run import CheckRun
    from runner.model import Change

_NAMES = re.compile(
    r"(?:\A|/)(?:Makefile|makefile|GNUmakefile|justfile|Justfile|Taskfile\.ya?ml|noxfile\.py|tox\.ini"
    r"|pytest\.ini|setup\.cfg|conftest\.py|mypy\.ini|\.mypy\.ini|\.?ruff\.toml|\.flake8|\.pylintrc"
    r"|tsconfig[^/]*\.json|\.eslintrc[^/]*|\.eslintignore|\.c8rc[^/]*|\.nycrc[^/]*|\.mocharc[^/]*"
    r"|(?:vite|vitest|jest|eslint|babel|playwright|karma)\.config\.[cm]?[jt]s"
    r"|\.golangci\.ya?ml|\.?clippy\.toml|\.coveragerc|package\.json|pyproject\.toml)\Z"
)
_SHOWN = 20
_INTERPRETER = re.compile(r"(?:\S*/)?(?:sh|bash|dash|zsh|python[\d.]*|node|ruby|perl)")
_STARTERS = {
    "makefile": re.compile(r"\b(?:g?make)\b"),
    "gnumakefile": re.compile(r"\b(?:g?make)\b"),
    "justfile": re.compile(r"\bjust\b"),
    "noxfile.py": re.compile(r"\bnox\b"),
    "tox.ini": re.compile(r"\btox\b|\bpytest\b|\bflake8\b"),
    "package.json": re.compile(r"\b(?:np[mx]|yarn|pnpm|pnpx|bunx?|node|vitest|jest|eslint)\b"),
}
"""Files that only these programs read."""
_IDLE_WORDS = """
name version description keywords homepage bugs license author contributors funding files main
browser bin repository dependencies devDependencies peerDependencies optionalDependencies
bundledDependencies exports types private publishConfig overrides
"""
_IDLE = frozenset(_IDLE_WORDS.split())
"""Keys of package.json that say nothing about what a command runs."""


def findings(trial: CheckRun, bench: GateContext) -> tuple[Finding, ...]:
    """Why a gate that passes does not count: as it was before the task, it would have failed.

    Nor does one that runs fewer tests than it would have. Where it failed on the tree before as
    well, there is nothing to hold the change against.
    """
    check = trial.check
    if check.kind != "gate":
        return ()
    changed = tuple(one for one in bench.changes if _says_what_runs(one, check, bench))
    added = tuple(one for one in bench.changes if trial.results and _is_new(one, bench))
    return (*_explain_changed(changed, trial, bench), *_explain_added(added, trial, bench))


def _explain_added(
    added: tuple[Change, ...], trial: CheckRun, bench: GateContext
) -> tuple[Finding, ...]:
    """Tests that a new file of configuration leaves out; without it, others may fail."""
    if not added:
        return ()
    kept = tuple(one for one in bench.changes if one not in added)
    return _find_left_out(earlier(trial.check, bench, kept), added, trial)


def _find_left_out(
    with_old: BaseResult | None, changed: tuple[Change, ...], trial: CheckRun
) -> tuple[Finding, ...]:
    """The tests of the proposal that would pass, and that do not run since a change."""
    if with_old is None or trial.results is None:
        return ()
    skipped = TestOutcome.SKIPPED
    runs = {test.id for test in trial.results.tests if test.outcome is not skipped}
    passed = [name for name, _ in with_old.passing]
    gone = [name for name in passed if name not in runs]
    if not gone or len(runs) >= len(passed):  # as many under names that are made anew each time
        return ()
    many = "1 test runs" if len(gone) == 1 else f"{len(gone)} tests run"
    paths = ", ".join(one.path for one in changed)
    return (
        Finding(
            check=trial.check.id,
            message=f"{many} no more since the task changed {paths}",
            path=changed[0].path,
            hint="let every test run that is there",
            detail="\n".join(gone[:_SHOWN]),
        ),
    )


def _explain_changed(
    changed: tuple[Change, ...], trial: CheckRun, bench: GateContext
) -> tuple[Finding, ...]:
    check = trial.check
    if not changed:
        return ()
    kept = tuple(one for one in bench.changes if one not in changed)
    with_old = earlier(check, bench, kept)
    if with_old is None or with_old.passed:
        return _find_left_out(with_old, changed, trial)
    before = earlier(check, bench, ()) if kept else None
    if before is None or not before.passed:
        return ()
    paths = ", ".join(one.path for one in changed)
    return (
        Finding(
            check=check.id,
            message=f"it passes only since the task changed {paths}",
            path=changed[0].path,
            hint="let it pass as it was before too, or change what it runs in a task of its own",
            detail=with_old.end,
        ),
    )


def _is_new(change: Change, bench: GateContext) -> bool:
    return bool(_NAMES.search(change.path)) and bench.before(change.path) is None


def _says_what_runs(change: Change, check: Check, bench: GateContext) -> bool:
    """Whether a change alters a file of the base that this gate may read to know what to run."""
    if _is_run(change.path, check.command):
        return bench.before(change.path) is not None
    name = change.path.rpartition("/")[2]
    starter = _STARTERS.get(name.casefold())
    if not _NAMES.search(change.path) or (starter and not starter.search(check.command)):
        return False
    before = bench.before(change.path)
    if before is None:
        return False
    part = _PARTS.get(name)
    if part is None or change.content is None:
        return True
    return part(before) != part(change.content)


def _is_run(path: str, command: str) -> bool:
    """Whether a command starts this very file, by itself or through an interpreter."""
    words = command.split()
    first = 1 if words and _INTERPRETER.fullmatch(words[0]) else 0
    return len(words) > first and words[first].removeprefix("./") == path


def _scripts(content: bytes) -> object:
    """What package.json says to the tools; the bytes where it cannot be read."""
    try:
        table = json.loads(content)
    except ValueError:
        return content
    if not isinstance(table, dict):
        return content
    return {key: value for key, value in table.items() if key not in _IDLE}


def _tools(content: bytes) -> object:
    """The tool tables of pyproject.toml; the bytes where it cannot be read."""
    try:
        return tomllib.loads(content.decode()).get("tool")
    except ValueError:
        return content


_PARTS: dict[str, Callable[[bytes], object]] = {"package.json": _scripts, "pyproject.toml": _tools}
