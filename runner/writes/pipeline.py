"""The five steps that every change passes before it can land.

What the pipeline is given to work with: the scratch tree, a way to run commands, a pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from runner.config.permissions import write_finding
from runner.lazy_module import lazy_module
from runner.model import Action, Finding
from runner.repo.git import StoppedError
from runner.secrets.redact import list_held_secrets, redact
from runner.writes.compile_check import compile_file
from runner.writes.paths import (
    check_path,
    find_wrong_outputs,
    in_scope,
    is_control,
    scope_finding,
    scope_line,
)
from runner.writes.project_compile import compile_projects
from runner.writes.sast import SastScan
from runner.writes.suppressions import marker_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from runner.config.shell_rules import Permission, PermissionAnswer
    from runner.model import Change
    from runner.process.base import RunCommand
    from runner.secrets import declared_values, scan
    from runner.secrets.allowlist import AllowList
    from runner.writes.analyser_copies import ScanWorkspace
    from runner.writes.project_compile import CompileCommand, OnBase
    from runner.writes.sast import SastPool
    from runner.writes.staging import Staged, Staging
else:
    declared_values = lazy_module("runner.secrets.declared_values")
    scan = lazy_module("runner.secrets.scan")


def _never() -> bool:
    return False


class WriteContext(Struct, frozen=True):
    """The context in which an attempt's changes are judged; None skips a step with a note."""

    tree: Path
    """Scratch tree, which already contains the changes."""
    before: Callable[[str], bytes | None]
    """Returns the bytes of a path in the base; None if it did not exist."""
    run_command: RunCommand | None = None
    python: Path | None = None
    """The project's own Python."""
    on_base: OnBase | None = None
    """While entered the tree is the base; None if earlier failures also count."""
    staging: Staging | None = None
    sast: SastPool | None = None
    stopped: Callable[[], bool] = _never
    """Whether the result is no longer needed; called between two files."""
    secrets: tuple[tuple[str, str], ...] = ()
    """Names and values of the task's secrets, which no file may contain."""
    laboratory: ScanWorkspace | None = None
    """Copies for analysers of other languages; without it only bandit runs."""


Step: TypeAlias = "Callable[[Change], tuple[Finding, ...]]"


class WriteRules(Struct, frozen=True):
    """The rules for one attempt's writes, read once from the person's settings."""

    run: str
    task: str
    attempt: int
    outputs: tuple[str, ...]
    planned: tuple[str, ...] | None = None
    """Files of the task's approved plan, which limit its writes; None: no plan."""
    plan: str = "TASK-GRAPH.md"
    """Path of the plan itself, which no task may write."""
    permission: tuple[Permission, ...] = ()
    """The user's rules about writes; the last match wins."""
    permission_floor: tuple[Permission, ...] = ()
    """Rules of the repository, which only tighten."""
    answers: tuple[PermissionAnswer, ...] = ()
    """A person's answers for this task if such a rule asks."""
    reviewed: bool = False
    """Whether a person reviews the writes: this satisfies a rule that asks."""
    allowed: AllowList | None = None
    """False positives of the secret scan that a person allowed."""
    compile_commands: tuple[CompileCommand, ...] = ()
    held_out: frozenset[str] = frozenset()
    """Paths of held-out files, which only land from the store."""


class Passed(Struct, frozen=True):
    """The findings of the steps; `changes` are those no step refused."""

    changes: tuple[Change, ...]
    findings: tuple[Finding, ...] = ()
    refused: frozenset[str] = frozenset()
    """Paths that a step rejected; those of the secret scan and path rules enter no draft."""
    tainted: frozenset[str] = frozenset()
    """Those of them rejected before staging: by path rules, scope or the secret scan."""
    staged: tuple[Staged, ...] = ()
    controls: tuple[str, ...] = ()
    """Control files among the changes, which a person must review."""
    sast: SastScan = field(default_factory=SastScan)

    @property
    def clean(self) -> bool:
        """Whether no step refused anything."""
        return not any(finding.refuses for finding in self.findings)


def admit_writes(changes: Sequence[Change], rules: WriteRules, context: WriteContext) -> Passed:
    """Check paths and secrets (steps one and two), which decide what a person may see."""
    steps: tuple[Step, ...] = (
        lambda change: tuple(map(_redact_path, _path_findings(change, rules, context))),
        lambda change: _secret_findings(change, rules, context),
    )
    findings, clean = _through(changes, steps, context.stopped)
    findings = _with_scope_line(findings, changes, rules, context)
    marks = [
        mark for change in clean for mark in marker_findings(change, context.before(change.path))
    ]
    refused = _paths(changes) - _paths(clean)
    return Passed(
        changes=clean,
        findings=(*findings, *marks),
        refused=refused,
        tainted=refused,
        staged=_stage(clean, rules, context),
        controls=tuple(change.path for change in clean if is_control(change.path)),
    )


def compile_writes(admitted: Passed, rules: WriteRules, context: WriteContext) -> Passed:
    """Compile admitted changes (steps three and four)."""
    findings, compiled = _through(
        admitted.changes,
        (lambda change: _compile_findings(change, context),),
        context.stopped,
    )
    # A project with a rejected file fails only for that: it is compiled once it is complete.
    whole = () if admitted.refused or len(compiled) < len(admitted.changes) else compiled
    found = (*findings, *_project_findings(whole, rules, context))
    blamed = frozenset(finding.path for finding in found if finding.refuses)
    refused = admitted.refused | (blamed & _paths(admitted.changes))
    passed = tuple(change for change in compiled if change.path not in refused)
    return Passed(
        changes=passed,
        findings=(*admitted.findings, *found),
        refused=refused,
        tainted=admitted.tainted,
        staged=admitted.staged,
        controls=admitted.controls,
        sast=context.sast.scan(passed, context.laboratory) if context.sast else SastScan(),
    )


def _with_scope_line(
    findings: tuple[Finding, ...],
    changes: Sequence[Change],
    rules: WriteRules,
    context: WriteContext,
) -> tuple[Finding, ...]:
    """Give all scope rejections one hint: the Output files line that allows these files."""
    proposed = _paths(changes)
    outside = [
        one.path
        for one in findings
        if one.check == "scope" and not in_scope(one.path, rules.outputs)
    ]
    # `any` includes no control file: then each proposed file is named.
    paths = (
        sorted(proposed) if any(map(is_control, outside)) and "any" in rules.outputs else outside
    )

    def exists(path: str) -> bool:
        return path in proposed or context.before(path) is not None

    wrong = find_wrong_outputs(rules.outputs, outside, exists)
    line = scope_line(paths, [one for one in rules.outputs if one not in wrong])
    hint = redact(line)
    return tuple(
        replace(one, hint=hint) if one.check == "scope" and one.path in outside else one
        for one in findings
    )


def _redact_path(finding: Finding) -> Finding:
    """Redact a finding on a path, because file names can contain secrets."""
    path, message, hint = map(redact, (finding.path, finding.message, finding.hint))
    return replace(finding, path=path, message=message, hint=hint)


def _through(
    changes: Sequence[Change], steps: Sequence[Step], stopped: Callable[[], bool]
) -> tuple[tuple[Finding, ...], tuple[Change, ...]]:
    """Run the steps on each change up to its first refusal; return findings and changes.

    Raises StoppedError where nobody wants the answer any more.
    """
    findings: list[Finding] = []
    passed: list[Change] = []
    for change in changes:
        if stopped():
            raise StoppedError
        for step in steps:
            reported = step(change)
            findings += reported
            if any(finding.refuses for finding in reported):
                break
        else:
            passed.append(change)
    return tuple(findings), tuple(passed)


def _path_findings(change: Change, rules: WriteRules, context: WriteContext) -> tuple[Finding, ...]:
    named = check_path(change.path, change.mode, kind=change.action.value)
    if named is not None and named.refuses:
        return (named,)
    if change.path in rules.held_out:
        message = f"{change.path!a} is a held-out file, which no implementer may write"
        hint = "do not write this path: the runner adds the file itself"
        return (Finding(check="paths", path=change.path, message=message, hint=hint),)
    settings = change.path == "pyproject.toml"
    scoped = scope_finding(
        change.path,
        rules.outputs,
        rules.task,
        plan=rules.plan,
        before=context.before(change.path) if settings else None,
        after=change.content if settings else None,
    )
    beyond = None if scoped else _beyond_the_plan(change.path, rules)
    ruled = _check_rules(change, rules)
    return tuple(finding for finding in (named, scoped, beyond, ruled) if finding is not None)


def _check_rules(change: Change, rules: WriteRules) -> Finding | None:
    """Refuse what the permission rules of the settings do not let be written."""
    if not (rules.permission or rules.permission_floor):
        return None

    return write_finding(
        change.path,
        rules.permission,
        rules.permission_floor,
        answers=rules.answers,
        is_new=change.action is Action.CREATE,
        reviewed=rules.reviewed,
    )


def _beyond_the_plan(path: str, rules: WriteRules) -> Finding | None:
    """Refuse what the task may write and its approved plan does not name."""
    if rules.planned is None or path in rules.planned:
        return None
    return Finding(
        check="plan",
        message=f"{path!a} is not in the approved plan of {rules.task}",
        path=path,
        hint=f"leave this file unchanged, or make a new plan: runner plan {rules.task} --again",
    )


def _secret_findings(
    change: Change, rules: WriteRules, context: WriteContext
) -> tuple[Finding, ...]:
    before = context.before(change.path)
    found = scan.scan_content(
        change.content or b"", change.path, allowed=rules.allowed, before=before
    )
    known = (*context.secrets, *list_held_secrets())
    return (*found, *_find_declared_secrets(change, context, known)) if known else found


def _find_declared_secrets(
    change: Change, context: WriteContext, known: tuple[tuple[str, str], ...]
) -> Iterator[Finding]:
    """Yield a finding if a file or its name contains a declared secret in any form."""
    content = change.path.encode("utf-8", "surrogateescape") + b"\n" + (change.content or b"")
    before = context.before(change.path) or b""
    for name, line in declared_values.find_held(content, before, known):
        yield Finding(
            check=scan.CHECK,
            message=f"the file contains the value of the declared secret {name}",
            path=redact(change.path, tuple(value for _, value in known)),
            # The name was scanned as a line before the content.
            line=max(line - 1, 1),
            hint=f"read the value from the environment variable {name} instead",
        )


def _stage(
    clean: tuple[Change, ...], rules: WriteRules, context: WriteContext
) -> tuple[Staged, ...]:
    if context.staging is None or not clean:
        return ()
    return context.staging.stage(clean, run=rules.run, task=rules.task, attempt=rules.attempt)


def _compile_findings(change: Change, context: WriteContext) -> tuple[Finding, ...]:
    found = compile_file(change, context.run_command, context.python)
    return () if found is None else (found,)


def _project_findings(
    compiled: tuple[Change, ...], rules: WriteRules, context: WriteContext
) -> tuple[Finding, ...]:
    if context.run_command is None or not compiled:
        return ()
    paths = [change.path for change in compiled]
    return compile_projects(
        context.tree, paths, rules.compile_commands, context.run_command, context.on_base
    )


def _paths(changes: Sequence[Change]) -> frozenset[str]:
    return frozenset(change.path for change in changes)
