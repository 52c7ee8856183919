"""The tools that write: a refused write is the tool's answer, and the tree stays as it was.

The tools that write nothing themselves: running a check, and telling a decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.implementers.llm.tool_context import (
    Refusal,
    ToolContext,
    format_findings,
    normalize_path,
)
from runner.implementers.unified_diff import DoesNotApplyError, apply_patch
from runner.model import Action, Change, Decision, Finding, digest_of
from runner.secrets.redact import redact
from runner.writes.paths import check_path
from runner.writes.safe_io import mode_beneath, read_beneath, unlink_beneath, write_beneath

if TYPE_CHECKING:
    from runner.implementers.llm.arguments import ModifyFile, RecordDecision, RunGate, WriteFile


_PLAIN, _EXECUTABLE = 0o100644, 0o100755


def write_file(desk: ToolContext, asked: WriteFile) -> str:
    """Write a file whole."""
    content = asked.content.encode("utf-8", "surrogateescape")
    return _put(desk, normalize_path(asked.path), content, executable=asked.executable)


def modify_file(desk: ToolContext, asked: ModifyFile) -> str:
    """Change a file that is there, by an exact text or by a diff."""
    path = normalize_path(asked.path)
    if unsafe := _unsafe(path):
        return _refuse(format_findings((unsafe,)))
    try:
        before = read_beneath(desk.project, path)
    except RunnerError as error:
        return _refuse(error.message)
    if asked.patch:
        if asked.old or asked.new:
            return _refuse("give either patch, or old and new")
        return _patch(desk, path, before, asked.patch)
    if before is None:
        return _refuse(f"there is no {path}: write it whole with write_file")
    return _replace(desk, path, before, asked)


def _replace(desk: ToolContext, path: str, before: bytes, asked: ModifyFile) -> str:
    old = asked.old.encode("utf-8", "surrogateescape")
    new = asked.new.encode("utf-8", "surrogateescape")
    count = before.count(old) if old else 0
    if count != 1:
        what = "is empty" if not old else f"stands {count} times in {path}"
        return _refuse(f"old {what}; it must be a text that stands there exactly once")
    return _put(desk, path, before.replace(old, new))


def _patch(desk: ToolContext, path: str, before: bytes | None, patch: str) -> str:
    try:
        after = apply_patch(before, patch.encode("utf-8", "surrogateescape"), path)
    except DoesNotApplyError as error:
        where = f" (line {error.line} of the file)" if error.line else ""
        return _refuse(f"the patch does not apply: {error.message}{where}")
    return _put(desk, path, after)


def _put(desk: ToolContext, path: str, content: bytes | None, *, executable: bool = False) -> str:
    """Write or remove a file, if it may be; else why it may not."""
    findings: tuple[Finding, ...] = ()
    try:
        change = _change(desk, path, content, executable=executable)
        findings = refusals(change, desk)
        if any(finding.refuses for finding in findings):
            return _refuse(format_findings(findings))
        if content is None:
            unlink_beneath(desk.project, path)
        else:
            write_beneath(desk.project, path, content, change.mode, durable=False)
    except RunnerError as error:
        # Something else stands there. A full disk is no fault of the model's, and goes on up.
        if error.code is not ExitCode.CONFLICT:
            raise
        return _refuse(f"{path}: {error.message}")
    said = f"{change.action} of {path}: done"
    return f"{said}\n\n{format_findings(findings)}" if findings else said


def _change(desk: ToolContext, path: str, content: bytes | None, *, executable: bool) -> Change:
    was = None if _unsafe(path) else mode_beneath(desk.project, path)
    before = read_beneath(desk.project, path) if was in (_PLAIN, _EXECUTABLE) else None
    mode = _EXECUTABLE if executable or was == _EXECUTABLE else _PLAIN
    action = Action.MODIFY if before is not None else Action.CREATE
    return Change(
        path=path,
        action=Action.DELETE if content is None else action,
        mode=0 if content is None else mode,
        before=None if before is None else digest_of(before),
        after=None if content is None else digest_of(content),
        content=content,
    )


def refusals(change: Change, desk: ToolContext) -> tuple[Finding, ...]:
    """Everything that is said of a write before it is made: by checks, not by a prompt."""
    if unsafe := _unsafe(change.path):
        return (unsafe,)
    if outside := _outside_plan(change.path, desk):
        return (outside,)
    return desk.bench.verdict(change)


def _unsafe(path: str) -> Finding | None:
    """Why no task may write such a path."""
    said = check_path(path, _PLAIN)
    return said if said is not None and said.refuses else None


def _outside_plan(path: str, desk: ToolContext) -> Finding | None:
    plan = desk.bench.plan
    if plan is None:
        return None
    files = {*plan.files, *(file for phase in plan.phases for file in phase.files)}
    if path in {normalize_path(file) for file in files}:
        return None
    hint = f"it allows {', '.join(sorted(files)) or 'no file'}"
    return Finding("scope", f"{path!a} is not a file of the approved plan", path=path, hint=hint)


def _refuse(why: str) -> str:
    return Refusal(f"refused, nothing was written: {why}")


# --- check tools ----------------------------------------------------------------------


_MOST_DECISIONS = 50


def run_gate(desk: ToolContext, asked: RunGate) -> str:
    """Whether one check passes on the files as they are."""
    findings = desk.bench.run_gate(asked.name)
    if not any(finding.refuses for finding in findings):
        return "\n\n".join(filter(None, (f"{asked.name} passes", format_findings(findings))))
    return format_findings(findings)


def record_decision(desk: ToolContext, asked: RecordDecision) -> str:
    """Keep a decision for DECISIONS.md, once."""
    made = asked.noun()
    safe = Decision(
        *(
            redact(part, desk.known_secrets)
            for part in (made.title, made.context, made.decision, made.tradeoff, made.pattern)
        )
    )
    if len(desk.decisions) >= _MOST_DECISIONS:
        return f"not recorded: more than {_MOST_DECISIONS} are no decisions"
    if safe not in desk.decisions:
        desk.decisions.append(safe)
    return "recorded"
