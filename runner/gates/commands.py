"""Gates as checks: the project's commands and the task's own.

A task that changes what a gate runs is proven by the gate as it was, too.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.config.default_gates import is_declared, nothing_to_check
from runner.gates import base_result, script_targets
from runner.gates.base import NOT_RUN, Check, Proved, make_proof
from runner.gates.base_result import earlier
from runner.gates.check_run import (
    flaky_result,
    make_flaky,
    may_be_chance,
    reuse_result,
    standing_key,
    try_check,
    try_or_stand,
)
from runner.gates.junit import TestOutcome
from runner.gates.unneeded_gates import explain_unopened, find_same_contract, keep_unopened
from runner.lazy_pattern import regex
from runner.model import Finding, Verdict
from runner.model.work import UNREAD, WAITS_FOR_BATCH
from runner.plan.shell.exit_status import bypass_of
from runner.plan.shell.programs import program_of, without_bypass
from runner.plan.shell.selection import runs_whole_suite
from runner.plan.shell.shell_commands import shell_operator, swallows_failure
from runner.process.limits import Limits, apply_bounds
from runner.secrets.redact import redact
from runner.text.foreign_documents import parse_json, parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.gates.base_result import BaseResult
    from runner.gates.check_run import CheckRun
    from runner.model import Change, GateSpec, Task


_NAMES = regex(
    r"(?:\A|/)(?:Makefile|makefile|GNUmakefile|justfile|Justfile|Taskfile\.ya?ml|noxfile\.py|tox\.ini"
    r"|pytest\.ini|setup\.cfg|conftest\.py|mypy\.ini|\.mypy\.ini|\.?ruff\.toml|\.flake8|\.pylintrc"
    r"|tsconfig[^/]*\.json|\.eslintrc[^/]*|\.eslintignore|\.c8rc[^/]*|\.nycrc[^/]*|\.mocharc[^/]*"
    r"|(?:vite|vitest|jest|eslint|babel|playwright|karma)\.config\.[cm]?[jt]s"
    r"|\.pre-commit-config\.yaml|\.golangci\.ya?ml|\.?clippy\.toml|\.coveragerc|package\.json|pyproject\.toml)\Z"
)
FILES = "{files}"
"""Placeholder in a gate's command: the files that the task wrote."""
_SHOWN = 20
_STARTERS = {
    "makefile": regex(r"\b(?:g?make)\b"),
    "gnumakefile": regex(r"\b(?:g?make)\b"),
    "justfile": regex(r"\bjust\b"),
    ".pre-commit-config.yaml": regex(r"\bpre-commit\b"),
    "noxfile.py": regex(r"\bnox\b"),
    "tox.ini": regex(r"\btox\b|\bpytest\b|\bflake8\b"),
    "package.json": regex(r"\b(?:np[mx]|yarn|pnpm|pnpx|bunx?|node|vitest|jest|eslint)\b"),
}
"""Files that only these programs read."""
_IDLE_WORDS = """
name version description keywords homepage bugs license author contributors funding files main
browser bin repository dependencies devDependencies peerDependencies optionalDependencies
bundledDependencies exports types private publishConfig overrides
"""
_IDLE = frozenset(_IDLE_WORDS.split())
"""Keys of package.json that don't affect what a command runs."""


def old_gate_findings(trial: CheckRun, context: GateContext) -> tuple[Finding, ...]:
    """Return why a passing gate does not count: in its former version it would have failed.

    Nor does one that runs fewer tests than it would have. Where it failed on the tree before as
    well, there is nothing to hold the change against.
    """
    check = trial.check
    if check.kind != "gate":
        return ()
    started = _started_files(check, context)
    changed = tuple(
        one for one in context.changes if _changes_gate_inputs(one, check, started, context)
    )
    added = tuple(one for one in context.changes if trial.results and _is_new(one, context))
    return (*_explain_changed(changed, trial, context), *_explain_added(added, trial, context))


def _explain_added(
    added: tuple[Change, ...], trial: CheckRun, context: GateContext
) -> tuple[Finding, ...]:
    """Return findings on tests that a new configuration file excludes."""
    if not added:
        return ()
    kept = tuple(one for one in context.changes if one not in added)
    return _find_left_out(earlier(trial.check, context, kept), added, trial)


def _find_left_out(
    with_old: BaseResult | None, changed: tuple[Change, ...], trial: CheckRun
) -> tuple[Finding, ...]:
    """Return findings on tests that pass without a change but no longer run with it."""
    if with_old is None or trial.results is None:
        return ()
    skipped = TestOutcome.SKIPPED
    runs = {test.id for test in trial.results.tests if test.outcome is not skipped}
    passed = [name for name, _ in with_old.passing]
    gone = [name for name in passed if name not in runs]
    if not gone or len(runs) >= len(passed):  # as many under names that are made anew each time
        return ()
    many = "1 test no longer runs" if len(gone) == 1 else f"{len(gone)} tests no longer run"
    paths = ", ".join(one.path for one in changed)
    return (
        Finding(
            check=trial.check.id,
            message=f"{many} since the task changed {paths}",
            path=changed[0].path,
            hint="keep every existing test running",
            detail="\n".join(gone[:_SHOWN]),
        ),
    )


def _explain_changed(
    changed: tuple[Change, ...], trial: CheckRun, context: GateContext
) -> tuple[Finding, ...]:
    check = trial.check
    if not changed:
        return ()
    kept = tuple(one for one in context.changes if one not in changed)
    with_old = earlier(check, context, kept)
    if with_old is None or with_old.passed:
        return _find_left_out(with_old, changed, trial)
    before = earlier(check, context, ()) if kept else None
    if before is None or not before.passed:
        return ()
    paths = ", ".join(one.path for one in changed)
    return (
        Finding(
            check=check.id,
            message=f"the gate passes only because the task changed {paths}",
            path=changed[0].path,
            hint="make the gate pass without this change, or move the change to a separate task",
            detail=with_old.end,
        ),
    )


def _is_new(change: Change, context: GateContext) -> bool:
    return bool(_NAMES.search(change.path)) and context.before(change.path) is None


def _started_files(check: Check, context: GateContext) -> frozenset[str]:
    """Return the files that define what a gate runs: its script and those that it starts.

    Of test files that a script starts it is asked test by test what became of them.
    """
    own = script_targets.find_started_files(check.command, lambda _: None)
    behind = script_targets.find_started_files(check.command, context.before)
    return own | {path for path in behind if not context.is_test(path)}


def _changes_gate_inputs(
    change: Change, check: Check, started: frozenset[str], context: GateContext
) -> bool:
    """Return whether a change alters an existing file that defines what this gate runs."""
    if change.path in started:
        return context.before(change.path) is not None
    name = change.path.rpartition("/")[2]
    starter = _STARTERS.get(name.casefold())
    if not _NAMES.search(change.path) or (starter and not starter.search(check.command)):
        return False
    before = context.before(change.path)
    if before is None:
        return False
    part = _PARTS.get(name)
    if part is None or change.content is None:
        return True
    return part(before) != part(change.content)


def _scripts(content: bytes) -> object:
    """Return the parts of package.json that tools use; the bytes if it cannot be parsed."""
    try:
        table = parse_json(content)
    except ValueError:
        return content
    if not isinstance(table, dict):
        return content
    return {key: value for key, value in table.items() if key not in _IDLE}


def _tools(content: bytes) -> object:
    """Return the tool tables of pyproject.toml; the raw bytes if it is invalid."""
    try:
        # Only the table for non-packaging tools (PEP 518): a new version or dependency changes no
        # gate.
        return parse_toml(content.decode(), bounded=False).get("tool")
    except ValueError:
        return content


_PARTS: dict[str, Callable[[bytes], object]] = {"package.json": _scripts, "pyproject.toml": _tools}


_SHELL = "sh:"
_READS = {
    "ruff": regex(r"\.(?:pyi?|ipynb)\Z|(?:\A|/)(?:pyproject|\.?ruff)\.toml\Z|gitignore\Z"),
    "mypy": regex(r"\.pyi?\Z|\.toml\Z|(?:\A|/)(?:\.?mypy\.ini|setup\.cfg|py\.typed)\Z"),
    "go": regex(r"\.(?:go|s|c|h|cc|cpp|mod|sum|work|tmpl|gohtml|json)\Z|/testdata/|embed"),
}
"""Files that the programs of default gates read; unknown for other gates."""


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """Return the project's gates for the task's type and its own, which win by name.

    A milestone runs nothing: it is what it depends on.
    """
    if task.is_milestone:
        return ()
    own = {gate.name for gate in task.gates}
    projects = (gate for gate in settings.gates_for(task.type) if gate.name not in own)
    return tuple(make_gate_check(gate, task, settings) for gate in (*projects, *task.gates))


def make_gate_check(gate: GateSpec, task: Task, settings: Settings) -> Check:
    """Return the check that runs a gate within the limits of a task."""
    hard = gate.seconds or task.timeout or settings.seconds_for(gate)
    return Check(
        id=f"gate:{gate.name}",
        kind="gate",
        command=gate.command.removeprefix(_SHELL).strip(),
        network=settings.network_for(gate.network),
        limits=apply_bounds(
            Limits(soft=hard, idle=hard, hard=hard, queue=hard), settings, task.uses
        ),
    )


def prove(check: Check, context: GateContext) -> Proved:
    """Run one gate, against the tree before where it fails.

    A task that changes what the gate runs must pass it as it was, too.
    """
    if bypass := bypass_of(check.command):
        return make_refused_proof(check, f"skips checks (`{bypass}`)", without_bypass(bypass, "it"))
    if why := _why_not(check, context):
        hint = f"write the gate as a shell command, `sh: {redact(check.command)}`, or "
        return make_refused_proof(check, why, f"{hint}split it into several gates")
    if why := explain_unopened(check, context) or _explain_skip(check, context):
        return make_skipped_proof(check, why)
    paths = [change.path for change in context.changes if change.content is not None]
    if FILES in check.command and not paths:
        return make_skipped_proof(check, "the task wrote no file to check")
    # A file name that looks like an option must not become one.
    named = shlex.join(f"./{path}" if path.startswith("-") else path for path in paths)
    check = replace(check, command=check.command.replace(FILES, named))
    same = find_same_contract(check, context)
    trial = reuse_result(check, same, context) if same else None
    if trial is None and _waits_for_batch(check, context):
        return Proved(make_proof(check, Verdict.SKIPPED, WAITS_FOR_BATCH))
    trial = trial or try_or_stand(check, context)
    keep_unopened(trial, context)
    if _nothing_to_check(trial, context):
        note = "nothing to check"
        skipped = replace(trial.proof, verdict=Verdict.SKIPPED, note=note)
        return Proved(skipped, trial.notes())
    if not trial.passed:
        return _evaluate_failure(trial, context)
    refusals = old_gate_findings(trial, context)
    changed = () if refusals else script_targets.find_changed(check, context)
    own = check.id in {f"gate:{gate.name}" for gate in context.task.gates}
    lenient = script_targets.find_lenient(check, context) if own else ()
    return Proved(trial.proof, (*refusals, *changed, *lenient, *trial.notes()))


def _evaluate_failure(trial: CheckRun, context: GateContext) -> Proved:
    """Compare a failed gate with the base; tests that refuse the change must fail twice."""
    proved = base_result.evaluate_failure(trial, context)
    refuses = any(one.refuses for one in proved.findings)
    if not (refuses and trial.failing and may_be_chance(trial)) or context.cancelled.is_set():
        return proved
    again = try_check(replace(trial.check, id=f"{trial.check.id}-again"), context)
    if again.passed:
        return flaky_result(trial, again)
    named = replace(again, check=trial.check, proof=replace(again.proof, id=trial.proof.id))
    excused = base_result.evaluate_failure(named, context)
    if any(one.refuses for one in excused.findings):
        return proved
    still = {test.id for test in again.failing}
    passed = [test.id for test in trial.failing if test.id not in still]
    flaky = make_flaky(trial.check.id, passed)
    return replace(excused, findings=(*excused.findings, flaky))


def _explain_skip(check: Check, context: GateContext) -> str:
    """Return why a detected gate need not run for a change; empty if it must.

    Never where it is all that proves the task, and never for a task that changes nothing.
    """
    task, settings = context.task, context.settings
    proven = task.test_contracts or task.contracts or task.gates
    if not (proven and context.changes and is_declared(task, settings, check.id, check.command)):
        return ""
    if context.refused:
        return "the task's own checks failed"
    paths = [change.path for change in context.changes]
    if any(map(context.is_test, paths)):
        return ""
    reads = _READS.get(program_of(check.command.split()).name)
    if reads is not None and not any(map(reads.search, paths)):
        return "none of the files that the gate reads changed"
    return ""


def _waits_for_batch(check: Check, context: GateContext) -> bool:
    """Return whether a gate runs later, on the merged tree of all tasks that land together.

    Only a whole test suite of the project. A result that could not stand for other tasks, and a
    change of what the suite runs, wait for nobody.
    """
    key = standing_key(check, context)
    if key is None or context.memory is None or context.memory.find(key) or not context.changes:
        return False
    if context.refused or not _is_suite_of_project(check, context):
        return False
    started = _started_files(check, context)
    for one in context.changes:
        if _is_new(one, context) or _changes_gate_inputs(one, check, started, context):
            return False
    return context.may_wait()


def _is_suite_of_project(check: Check, context: GateContext) -> bool:
    """Return whether a gate is a whole test suite of the project, the same for all tasks."""
    task, own = context.task, {gate.name for gate in context.task.gates}
    gates = (gate for gate in context.settings.gates_for(task.type) if gate.name not in own)
    plain = {f"gate:{gate.name}" for gate in gates if FILES not in gate.command}
    return check.id in plain and runs_whole_suite(check.command)


def make_skipped_proof(check: Check, why: str) -> Proved:
    """Return the result of a skipped gate, with the reason in its proof."""
    return Proved(make_proof(check, Verdict.SKIPPED, f"{UNREAD}{why}"))


def _nothing_to_check(trial: CheckRun, context: GateContext) -> bool:
    """Return whether a default gate failed only because it found no files to check."""
    # Only with complete output: the end of a longer one could look just like "nothing to check".
    ran, check = trial.ran, trial.check
    whole = ran.tail if ran.size == len(ran.tail.encode()) else ""
    task, settings = context.task, context.settings
    return not trial.passed and nothing_to_check(
        task, settings, check.id, check.command, ran.exit, whole
    )


def _why_not(check: Check, context: GateContext) -> str:
    """Return how a gate could ignore a failure, unless it is declared as a shell line."""
    specs = (*context.settings.gates_for(context.task.type), *context.task.gates)
    written = {f"gate:{gate.name}": gate.command for gate in specs}
    if check.kind != "gate" or written.get(check.id, "").startswith(_SHELL):
        return ""
    if operator := shell_operator(check.command):
        return f"joins commands with `{operator}`"
    word = swallows_failure(check.command)
    return f"ignores failures (`{word}`)" if word else ""


def make_refused_proof(check: Check, why: str, hint: str) -> Proved:
    """Return a failed result for a check that did not run because it would be misleading."""
    finding = Finding(check=check.id, message=f"`{redact(check.command)}` {why}", hint=hint)
    return Proved(make_proof(check, Verdict.FAIL, "not run", code=NOT_RUN), (finding,))
