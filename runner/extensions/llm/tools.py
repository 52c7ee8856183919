"""The list of all tools for a model: name, schema and function.

The tools of a model that read and write files, run a check, and tell a decision.

Those that read never follow a link, and show nothing private. A refused write is the tool's answer,
and the tree stays as it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct
from pydantic import ValidationError

from runner.config.permissions import FILE_TOOLS, evaluate_permission
from runner.config.shell_rules import Permit
from runner.context.skills import load_built_in_text
from runner.context.tree import LARGEST, is_private, read_text
from runner.errors import ExitCode, MachineError, RunnerError
from runner.extensions.llm import tool_context as schemas
from runner.extensions.llm.tool_context import (
    ToolContext,
    ToolRefusal,
    format_findings,
    normalize_path,
)
from runner.implementers.unified_diff import DoesNotApplyError, apply_patch
from runner.lazy_module import lazy_module
from runner.model import Action, Change, Decision, Finding, digest_of
from runner.plan.globs import matches
from runner.secrets.redact import redact
from runner.writes.paths import DEEPEST_PATH, check_path
from runner.writes.safe_io import mode_below, read_below, unlink_below, write_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    import re2

    from runner.extensions.llm.tool_context import (
        ListFiles,
        ModifyFile,
        ReadFile,
        RecordDecision,
        RunGate,
        SearchArguments,
        WriteFile,
    )
    from runner.implementers.base import Mode
else:
    re2 = lazy_module("re2")

_A = TypeVar("_A", bound=schemas.Arguments)
Given: TypeAlias = Mapping[str, object]
"""Arguments of a model's tool call: unchecked JSON."""
MOST_FILES = 500
MOST_HITS = 100
MOST_BYTES = 32 << 20
"""Bytes read for one search, all files together."""
_WIDEST = 240
_LEFT_OUT = frozenset(
    (
        *("__pycache__", ".venv", ".tox", ".nox", ".mypy_cache", ".ruff_cache"),
        *(".pytest_cache", ".hypothesis", "target", ".gradle", ".terraform"),
    )
)
_ONE_OF_ALL = 1 << 16
"""Files that are examined before a listing gives up."""


class BadArgumentsError(ValueError):
    """A call that the tool's schema does not let through; the message is for the model."""


class SessionTool(Protocol):
    """A tool that a session can call."""

    @property
    def name(self) -> str:
        """Name of the tool for the model."""

    @property
    def purpose(self) -> str:
        """The description for the model."""

    @property
    def schema(self) -> dict[str, object]:
        """JSON Schema of its arguments."""

    @property
    def once(self) -> bool:
        """Whether a repeated call is not done again, since it changes something."""

    def subject(self, given: Given) -> str:
        """Return the subject of a call for the permission rules."""

    def call(self, given: Given) -> str:
        """Call the tool. Raises BadArgumentsError."""


class Own(Struct, Generic[_A], frozen=True):
    """A tool of ours in one session."""

    context: ToolContext
    name: str
    purpose: str
    arguments: type[_A]
    work: Callable[[ToolContext, _A], str]
    about: str
    """Argument that is the tool's subject."""
    once: bool = False

    @property
    def schema(self) -> dict[str, object]:
        """JSON Schema of its arguments."""
        return self.arguments.model_json_schema()

    def subject(self, given: Given) -> str:
        """Return the path or name that a call is about."""
        value = given.get(self.about, "")
        value = value if isinstance(value, str) else ""
        return (normalize_path(value) or ".") if self.name in FILE_TOOLS else value

    def call(self, given: Given) -> str:
        """Validate the arguments against the schema, then call the tool."""
        try:
            asked = self.arguments.model_validate_json(json.dumps(given))
        except ValidationError as error:
            raise BadArgumentsError(_mistakes(error)) from error
        try:
            return self.work(self.context, asked)
        except MachineError:
            raise  # a full disk is nobody's fault
        except RunnerError as error:  # a link in the way
            if error.code is not ExitCode.CONFLICT:
                raise
            return ToolRefusal(f"refused: {error.message}")


def own_tools(context: ToolContext, mode: Mode) -> tuple[SessionTool, ...]:
    """Return the tools of a mode; only writing modes get tools that write."""
    return (*_readers(context), *_writers(context)) if mode.writes else _readers(context)


def _readers(context: ToolContext) -> tuple[SessionTool, ...]:
    return (
        Own(
            context,
            "list_files",
            "Lists files with their sizes.",
            schemas.ListFiles,
            list_files,
            "folder",
        ),
        Own(
            context,
            "read_file",
            "Reads a file, or some of its lines.",
            schemas.ReadFile,
            read_file,
            "path",
        ),
        Own(
            context,
            "search",
            "Finds lines by a regular expression.",
            schemas.SearchArguments,
            search,
            "folder",
        ),
    )


def _writers(context: ToolContext) -> tuple[SessionTool, ...]:
    return (
        Own(
            context,
            "write_file",
            "Writes a whole file. A refused write changes nothing and says why.",
            schemas.WriteFile,
            write_file,
            "path",
            once=True,
        ),
        Own(
            context,
            "modify_file",
            "Replaces a text that occurs exactly once in a file, or applies a unified diff to it.",
            schemas.ModifyFile,
            modify_file,
            "path",
            once=True,
        ),
        Own(
            context,
            "run_gate",
            "Runs one check of the task, by its name, on the files as they are.",
            schemas.RunGate,
            run_gate,
            "name",
        ),
        Own(
            context,
            "record_decision",
            "Records a choice that is not obvious, with its trade-off.",
            schemas.RecordDecision,
            record_decision,
            "title",
            once=True,
        ),
    )


def _mistakes(error: ValidationError) -> str:
    """Return the mistakes in the arguments without repeating their values."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    mistakes = (f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in found)
    return "; ".join(mistakes)


def list_files(context: ToolContext, asked: ListFiles) -> str:
    """List files with their sizes in order, up to the limit."""
    found = []
    for path, size in _files(context, asked.folder, "list_files"):
        if not asked.pattern or matches(asked.pattern, path):
            found.append(f"{path} ({size} bytes)")
        if len(found) > MOST_FILES:
            found[-1] = f"… more than {MOST_FILES} files: name a folder or a pattern"
            break
    return "\n".join(found) or "no matching files"


def read_file(context: ToolContext, asked: ReadFile) -> str:
    """Return a file's text or the requested lines, or a ToolRefusal."""
    if (skill := load_built_in_text(asked.path)) is not None:
        return skill
    path = normalize_path(asked.path)
    if why := _not_allowed(context, path):
        return ToolRefusal(why)
    text, why = read_text(context.project, path)
    if why:
        return ToolRefusal(f"not shown: {why}")
    if asked.first_line == 1 and asked.last_line is None:
        return text or "(the file is empty)"
    lines = text.splitlines(keepends=True)
    part = "".join(lines[asked.first_line - 1 : asked.last_line])
    return part or f"{path} has {len(lines)} lines"


def search(context: ToolContext, asked: SearchArguments) -> str:
    """Return the matching lines as `path:line: text`."""
    # RE2 takes time linear in the text, whatever the model's expression.
    options = re2.Options()
    options.case_sensitive = not asked.ignore_case
    options.log_errors = False
    try:
        expression = re2.compile(asked.pattern, options)
    except re2.error as error:
        return f"not a valid RE2 regular expression: {error}"
    hits: list[str] = []
    read = 0
    for path, size in _files(context, asked.folder, "search"):
        if size > LARGEST or _not_allowed(context, path):
            continue
        read += size
        text, _ = read_text(context.project, path)
        for number, line in enumerate(text.splitlines(), 1):
            if expression.search(line):
                hits.append(f"{path}:{number}: {line.strip()[:_WIDEST]}")
        if len(hits) > MOST_HITS or read > MOST_BYTES:
            return "\n".join([*hits[:MOST_HITS], "… more hits: search in a folder, or for less"])
    return "\n".join(hits) or "no matches"


def _not_allowed(context: ToolContext, path: str) -> str:
    """Return why the person's globs or rules forbid reading a file; empty if they allow it."""
    for allow in context.settings.read_allowed:
        if not any(matches(glob, path) for glob in allow):
            return f"not shown: agent.read_allow excludes {path}"
    if context.book.word("read_file", path).permit is not Permit.ALLOW:
        return f"not shown: the permission rules of the settings exclude {path}"
    return ""


def _files(context: ToolContext, folder: str, tool: str) -> Iterator[tuple[str, int]]:
    """Yield the visible plain files below a folder with their sizes."""
    inside = "" if folder in (".", "./") else normalize_path(folder)
    seen = _visible_permits(context, tool, inside)
    for number, (path, size) in enumerate(_walk_files(context, inside)):
        if number > _ONE_OF_ALL:
            return
        if not is_private(path) and context.book.word(tool, path).permit in seen:
            yield path, size


def _visible_permits(context: ToolContext, tool: str, inside: str) -> tuple[Permit, ...]:
    """Return the permits of visible files, including ASK if a person approved the whole call."""
    settings = context.settings
    permit = evaluate_permission(tool, inside, settings.permission, settings.floor.permission)
    return (Permit.ALLOW, Permit.ASK) if permit is Permit.ASK else (Permit.ALLOW,)


def _walk_files(context: ToolContext, inside: str) -> Iterator[tuple[str, int]]:
    """Yield every regular file below `inside` with its size; links are not followed."""
    for folder, folders, files, descriptor in os.fwalk(context.project, follow_symlinks=False):
        here = os.path.relpath(folder, context.project)
        base = "" if here == "." else f"{here}/"
        folders[:] = sorted(one for one in folders if _leads(f"{base}{one}", inside))
        if inside and not base.startswith(f"{inside}/"):
            continue
        for name in sorted(files):
            try:
                found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except FileNotFoundError:  # a server of the model's took it away meanwhile
                continue
            if found.st_mode & 0o170000 == 0o100000:  # noqa: PLR2004 - a plain file
                yield f"{base}{name}", found.st_size


def _leads(folder: str, inside: str) -> bool:
    """Return whether to enter a folder: it is on the way to `inside` or below it."""
    name = folder.rpartition("/")[2]
    if name in _LEFT_OUT or is_private(name) or folder.count("/") >= DEEPEST_PATH:
        return False
    return not inside or f"{inside}/".startswith(f"{folder}/") or folder.startswith(f"{inside}/")


_PLAIN, _EXECUTABLE = 0o100644, 0o100755


def write_file(context: ToolContext, asked: WriteFile) -> str:
    """Write a file whole."""
    content = asked.content.encode("utf-8", "surrogateescape")
    return _put(context, normalize_path(asked.path), content, executable=asked.executable)


def modify_file(context: ToolContext, asked: ModifyFile) -> str:
    """Change a file that is there, by an exact text or by a diff."""
    path = normalize_path(asked.path)
    if unsafe := _unsafe(path):
        return _refuse(format_findings((unsafe,)))
    try:
        before = read_below(context.project, path)
    except RunnerError as error:
        return _refuse(error.message)
    if asked.patch:
        if asked.old or asked.new:
            return _refuse("give either patch, or old and new")
        return _patch(context, path, before, asked.patch)
    if before is None:
        return _refuse(f"{path} does not exist: create it with write_file")
    return _replace(context, path, before, asked)


def _replace(context: ToolContext, path: str, before: bytes, asked: ModifyFile) -> str:
    old = asked.old.encode("utf-8", "surrogateescape")
    new = asked.new.encode("utf-8", "surrogateescape")
    count = before.count(old) if old else 0
    if count != 1:
        what = "is empty" if not old else f"occurs {count} times in {path}"
        return _refuse(f"old {what}; it must be a text that occurs there exactly once")
    return _put(context, path, before.replace(old, new))


def _patch(context: ToolContext, path: str, before: bytes | None, patch: str) -> str:
    try:
        after = apply_patch(before, patch.encode("utf-8", "surrogateescape"), path)
    except DoesNotApplyError as error:
        where = f" (line {error.line} of the file)" if error.line else ""
        return _refuse(f"the patch does not apply: {error.message}{where}")
    return _put(context, path, after)


def _put(
    context: ToolContext, path: str, content: bytes | None, *, executable: bool = False
) -> str:
    """Write or remove a file, if it may be; else why it may not."""
    findings: tuple[Finding, ...] = ()
    try:
        change = _change(context, path, content, executable=executable)
        findings = refusals(change, context)
        if any(finding.refuses for finding in findings):
            return _refuse(format_findings(findings))
        if content is None:
            unlink_below(context.project, path)
        else:
            write_below(context.project, path, content, change.mode, durable=False)
    except MachineError:
        raise  # a full disk is no fault of the model's
    except RunnerError as error:  # something else stands there
        if error.code is not ExitCode.CONFLICT:
            raise
        return _refuse(f"{path}: {error.message}")
    done = f"{change.action} of {path}: done"
    return f"{done}\n\n{format_findings(findings)}" if findings else done


def _change(context: ToolContext, path: str, content: bytes | None, *, executable: bool) -> Change:
    was = None if _unsafe(path) else mode_below(context.project, path)
    before = read_below(context.project, path) if was in (_PLAIN, _EXECUTABLE) else None
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


def refusals(change: Change, context: ToolContext) -> tuple[Finding, ...]:
    """Return the findings about a write before it is made, by checks and not by a prompt."""
    if unsafe := _unsafe(change.path):
        return (unsafe,)
    if outside := _outside_plan(change.path, context):
        return (outside,)
    return context.attempt.verdict(change)


def _unsafe(path: str) -> Finding | None:
    """Return the finding of a path that no task may write, or None."""
    finding = check_path(path, _PLAIN)
    return finding if finding is not None and finding.refuses else None


def _outside_plan(path: str, context: ToolContext) -> Finding | None:
    plan = context.attempt.plan
    if plan is None:
        return None
    files = {*plan.files, *(file for phase in plan.phases for file in phase.files)}
    if path in {normalize_path(file) for file in files}:
        return None
    hint = f"the plan allows {', '.join(sorted(files)) or 'no file'}"
    return Finding("scope", f"{path!a} is not a file of the approved plan", path=path, hint=hint)


def _refuse(why: str) -> str:
    return ToolRefusal(f"refused, nothing was written: {why}")


# --- check tools ----------------------------------------------------------------------


_MOST_DECISIONS = 50


def run_gate(context: ToolContext, asked: RunGate) -> str:
    """Run one check on the current files and return its result as text."""
    findings = context.attempt.run_gate(asked.name)
    if not any(finding.refuses for finding in findings):
        return "\n\n".join(filter(None, (f"{asked.name} passes", format_findings(findings))))
    return format_findings(findings)


def record_decision(context: ToolContext, asked: RecordDecision) -> str:
    """Record a decision for DECISIONS.md, once."""
    made = asked.noun()
    safe = Decision(
        *(
            redact(part, context.known_secrets)
            for part in (made.title, made.context, made.decision, made.tradeoff, made.pattern)
        )
    )
    if len(context.decisions) >= _MOST_DECISIONS:
        return f"not recorded: at most {_MOST_DECISIONS} decisions are kept"
    if safe not in context.decisions:
        context.decisions.append(safe)
    return "recorded"
