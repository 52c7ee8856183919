"""Answer an agent program's hook: whether the write pipeline accepts a write.

The journal is not opened, nothing is written but what a person is to be asked (beside the rules),
and nothing rests on it: whatever lands passes the pipeline again.
"""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.config.shell_rules import SHELL, Permit, command_of
from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.model import Action, Change, Finding, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner import effects
    from runner.config import permissions
    from runner.implementers.agents import hooks
    from runner.implementers.agents.hooks import Rules
    from runner.secrets import allowlist, find, scan
    from runner.secrets.allowlist import AllowList
    from runner.writes import compile_check, pipeline
else:
    allowlist = lazy_module("runner.secrets.allowlist")
    compile_check = lazy_module("runner.writes.compile_check")
    effects = lazy_module("runner.effects")
    find = lazy_module("runner.secrets.find")
    hooks = lazy_module("runner.implementers.agents.hooks")
    permissions = lazy_module("runner.config.permissions")
    pipeline = lazy_module("runner.writes.pipeline")
    scan = lazy_module("runner.secrets.scan")


_WHOLE = ("content", "file_text")
_NAMES = ("file_path", "notebook_path", "absolute_path", "path")
# The envelope of Codex's `apply_patch`, alone or in a shell command.
_PATCH = re.compile(
    r"^[ \t]*\*\*\* Begin Patch[^\n]*\n(.*?)^[ \t]*\*\*\* End Patch", re.MULTILINE | re.DOTALL
)
_FILE = re.compile(r"[ \t]*\*\*\* (Add|Update|Delete) File: (.+?)[ \t\r]*")
_MOVED = re.compile(r"[ \t]*\*\*\* Move to: (.+?)[ \t\r]*")


class Replacement(Struct, frozen=True):
    """Bytes that are replaced by others; empty ones stand for a file that is empty."""

    old: bytes
    new: bytes
    everywhere: bool = False


class Write(Struct, frozen=True):
    """The decision about one file."""

    path: Path
    """Path as the tool names it, possibly relative to its working folder."""
    whole: bytes | None = None
    edits: tuple[Replacement, ...] = ()
    removes: bool = False
    source: Path | None = None
    """Source of a move; None if the bytes are written directly."""

    def content(self, before: bytes) -> bytes | None:
        """Return the content after the write; edits that do not apply change nothing."""
        if self.removes:
            return None
        if self.whole is not None:
            return self.whole
        for edit in self.edits:
            count = -1 if edit.everywhere else 1
            before = before.replace(edit.old, edit.new, count) if edit.old else before or edit.new
        return before


def writes_of(arguments: Mapping[str, object]) -> Iterator[Write]:
    """Yield the writes in a tool's arguments; none for a call that writes no file."""
    path = next((one for name in _NAMES if isinstance(one := arguments.get(name), str) and one), "")
    if path:
        whole = next((arguments[name] for name in _WHOLE if name in arguments), None)
        edits = tuple(_edits(arguments))
        if isinstance(whole, str):
            yield Write(Path(path), whole=_bytes_to_write(whole))
        elif edits or "notebook_path" in arguments:  # else it reads
            yield Write(Path(path), edits=edits)
        return
    for name in ("command", "input", "patch", "cmd"):
        if isinstance(text := arguments.get(name), str):
            for patch in _PATCH.finditer(text):
                yield from _of_patch(patch[1].split("\n"))


def _edits(arguments: Mapping[str, object]) -> Iterator[Replacement]:
    many = arguments.get("edits")
    for row in many if isinstance(many, list) else [arguments]:
        if not isinstance(row, dict):
            continue
        old, new = row.get("old_string"), row.get("new_string")
        if isinstance(old, str) and isinstance(new, str):
            everywhere = bool(row.get("replace_all") or row.get("expected_replacements"))
            yield Replacement(_bytes_to_write(old), _bytes_to_write(new), everywhere)


def _bytes_to_write(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# --- patches --------------------------------------------------------------------------


class _Section(Struct):
    """One file of a patch."""

    kind: str
    path: str
    moved: str = ""
    lines: list[str] = field(default_factory=list)

    def writes(self) -> Iterator[Write]:
        here, there = Path(self.path), Path(self.moved or self.path)
        if self.kind == "Delete" or self.moved:
            yield Write(here, removes=True)
        if self.kind == "Add":
            added = (line[1:] for line in self.lines if line.startswith("+"))
            yield Write(here, whole=_join_lines(added))
        elif self.kind == "Update":
            source = here if self.moved else None
            yield Write(there, edits=tuple(self._hunks()), source=source)

    def _hunks(self) -> Iterator[Replacement]:
        hunk: list[str] = []
        for line in (*self.lines, "@@"):
            if not line.startswith("@@"):
                hunk.append(line or " ")
                continue
            old = _join_lines(one[1:] for one in hunk if one[0] in " -")
            new = _join_lines(one[1:] for one in hunk if one[0] in " +")
            if hunk:
                yield Replacement(old, new)
            hunk = []


def _join_lines(lines: Iterable[str]) -> bytes:
    return _bytes_to_write("".join(f"{line}\n" for line in lines))


def _of_patch(lines: Iterable[str]) -> Iterator[Write]:
    sections: list[_Section] = []
    for line in lines:
        if named := _FILE.fullmatch(line):
            sections.append(_Section(named[1], named[2]))
        elif sections and (moved := _MOVED.fullmatch(line)):
            sections[-1].moved = moved[1]
        elif sections:
            sections[-1].lines.append(line)
    for section in sections:
        if section.lines and not section.lines[-1]:
            section.lines.pop()  # what stands before the last line's end
        yield from section.writes()


_PLAIN, _EXECUTABLE = 0o100644, 0o100755
_READ_IT = "remove it and read it from the environment"
_NOT_NOW = Finding(
    "plan",
    "this session is read-only",
    hint="write your answer as text; another session edits the files",
)


class HookCall(Struct, frozen=True):
    """One call of a tool, as the program hands it over, and by what it is judged."""

    data: bytes
    """The call as JSON."""
    start: Path
    """Program's folder: without named rules, the scope comes from the plan of its project."""
    rules: str = ""
    """Rules file of a runner session; None: the plan's rules."""


class HookAnswer(Struct, frozen=True):
    """The reasons that block a call; empty where it is allowed."""

    command: Finding | None = None
    """Why its shell command is denied; the path is the command in displayable form."""
    findings: tuple[Finding, ...] = ()
    """Why its writes are denied."""

    @property
    def is_allowed(self) -> bool:
        """Whether the call may be made."""
        return self.command is None and not self.findings


def judge_call(call: HookCall, environ: Mapping[str, str]) -> HookAnswer:
    """Judge one call. Raises RunnerError, which keeps the write back too, where nobody can."""
    folder, tool, arguments = _read_call(call.data, environ)
    command = command_of(tool, arguments)
    writes = [replace(one, path=folder / _path(one.path)) for one in writes_of(arguments)]
    # Most calls only read: skip loading rules for them, since the agent waits for this process.
    if not (writes or command):
        return HookAnswer()
    rules = _load_rules(call, environ)
    if command and (refused := _refuse_command(command, rules, call.rules)) is not None:
        return HookAnswer(command=refused)
    found = tuple(finding for write in writes for finding in _findings(write, folder, rules))
    for finding in found:
        if call.rules and finding.check == permissions.CHECK:
            _keep_question(Path(call.rules), rules, finding.path)
    return HookAnswer(findings=found)


def _refuse_command(command: str, rules: Rules, named: str) -> Finding | None:
    """Return the finding of a shell command that the rules do not allow, or None."""
    finding = permissions.shell_finding(command, rules.book)
    if finding is None:
        return None
    if named and rules.book.word(SHELL, command).permit is Permit.ASK:
        hooks.save_question(Path(named), SHELL, command)
    return replace(finding, path=permissions.format_subject(SHELL, command))


def _keep_question(path: Path, rules: Rules, subject: str) -> None:
    """Save a question for the person next to the rules, where the session finds it."""
    tool = permissions.write_tool(is_new=_bytes(Path(rules.project or ".") / subject) is None)
    if rules.book.word(tool, subject).permit is Permit.ASK:
        hooks.save_question(path, tool, subject)


def _read_call(data: bytes, environ: Mapping[str, str]) -> tuple[Path, str, Mapping[str, object]]:
    """Parse a tool call into folder, tool name and arguments; missing parts are empty."""
    try:
        row = json.loads(data)
    except (ValueError, RecursionError) as error:
        hint = "agent programs call this command: see runner hook --help"
        raise RunnerError("standard input is not a tool call", hint=hint) from error
    fields = row if isinstance(row, dict) else {}
    folder, asked = fields.get("cwd"), fields.get("tool_input")
    where = folder if isinstance(folder, str) else environ.get("PWD", ".")
    tool = fields.get("tool_name")
    named = tool if isinstance(tool, str) else ""
    return _path(Path(where)), named, asked if isinstance(asked, dict) else {}


def _path(path: Path) -> Path:
    """Return the path. Raises RunnerError if no file system can contain it."""
    try:
        if b"\0" not in os.fsencode(path):
            return path
    except UnicodeEncodeError:
        pass
    raise RunnerError("invalid file name", where=ascii(str(path)))


def _load_rules(call: HookCall, environ: Mapping[str, str]) -> hooks.Rules:
    if not call.rules:
        return _rules_of_plan(call.start, environ)
    try:
        return hooks.Rules.read(Path(call.rules))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RunnerError("the hook's rules cannot be read", where=call.rules) from error


def _rules_of_plan(start: Path, environ: Mapping[str, str]) -> hooks.Rules:
    """Return the hook's rules: the outputs of the task in $RUNNER_TASK, else any file."""
    from runner.app.write.workplace import Workplace
    from runner.config.loading import load_settings

    workplace = Workplace.of(start, environ)
    named = environ.get("RUNNER_TASK", "")
    id_, task = workplace.task(named) if named else ("", None)
    outputs = task.outputs if task is not None else ("any",)
    settings = load_settings(workplace.root, environ, {}).settings
    return hooks.Rules(
        task=id_,
        outputs=outputs,
        project=str(workplace.root),
        permission=settings.permission,
        permission_floor=settings.floor.permission,
        reviewed=True,  # whoever started the program is there
    )


def _findings(write: Write, folder: Path, rules: Rules) -> Iterator[Finding]:
    """Yield the findings that reject the write; none for a file outside of the project."""
    project = Path(os.path.realpath(rules.project or "."))
    plain = Path(os.path.normpath(write.path))
    target = Path(os.path.realpath(plain.parent)) / plain.name
    if not target.is_relative_to(project):
        return
    if not rules.writes:
        yield _NOT_NOW
        return
    source = folder / write.source if write.source else target
    change = _change(write, target, source, target.relative_to(project).as_posix())
    for finding in _check_change(change, rules, project):
        if finding.refuses:
            yield finding


def _change(write: Write, target: Path, source: Path, path: str) -> Change:
    before = _bytes(target)
    after = write.content((before if source == target else _bytes(source)) or b"")
    is_program = before is not None and bool(target.stat().st_mode & stat.S_IXUSR)
    action = Action.CREATE if before is None else Action.MODIFY
    return Change(
        path=path,
        action=Action.DELETE if after is None else action,
        mode=0 if after is None else _EXECUTABLE if is_program else _PLAIN,
        before=None if before is None else digest_of(before),
        after=None if after is None else digest_of(after),
        content=after,
    )


def _check_change(change: Change, rules: Rules, project: Path) -> Iterator[Finding]:
    """Yield the findings of path rules, scope, secrets and compilation, as in the pipeline."""
    allowed, file = allowlist.AllowList(), project / allowlist.FILE_NAME
    if file.is_file():
        allowed = allowlist.read_allow_list(file.read_bytes(), effects.now().date())
    writes = pipeline.WriteRules(
        run="",
        task=rules.task,
        attempt=0,
        outputs=rules.plan or rules.outputs,
        permission=rules.permission,
        permission_floor=rules.permission_floor,
        answers=rules.answers,
        reviewed=rules.reviewed,
        allowed=allowed,
    )
    context = pipeline.WriteContext(tree=project, before=lambda path: _bytes(project / path))
    named = tuple(_keys(change, allowed))
    shown = replace(change, content=b"") if named else change
    admitted = pipeline.admit_writes((shown,), writes, context)
    yield from (*admitted.findings, *named)
    if (
        admitted.clean
        and not named
        # In this process only: a hook prompts for no trust and starts no compiler.
        and (mistake := compile_check.compile_file(change, None)) is not None
    ):
        yield mistake


def _keys(change: Change, allowed: AllowList) -> Iterator[Finding]:
    """Yield certain secrets first, which saves the slower second check."""
    text = find.utf8(change.content or b"")
    for secret in find.find(text):
        if not allowed.match(secret.value):
            line = text.count(b"\n", 0, secret.start) + 1
            message = f"secret found: {secret.shape.title}"
            yield Finding(scan.CHECK, message, path=change.path, line=line, hint=_READ_IT)


def _bytes(path: Path) -> bytes | None:
    """Return the content of a regular file; None for others, since reading a pipe could block."""
    try:
        return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None
    except OSError:
        return None
