"""What an agent of the Agent Client Protocol asks for, held to the rules that its session has.

Writes and commands are judged by `runner hook`, as those of every other program are; the rest by
the permission rules alone.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.config.shell_rules import Permit
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.process.own_command import OwnCommand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.implementers.agents import hooks
else:
    hooks = lazy_module("runner.implementers.agents.hooks")

_WRITES = frozenset({"edit", "delete", "move"})
_SECONDS = 60.0
_TOOLS = {"read": "read_file", "search": "search"}
_PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path")
_CONTENT = frozenset({"content", "file_text", "old_string", "edits"})
_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class PermissionQuestion:
    """One question."""

    call: Mapping[str, Any]
    """The tool's call, with everything known of it."""
    folder: str
    rules: str


@dataclass(frozen=True, slots=True)
class PermissionReply:
    """What the agent is answered."""

    outcome: Mapping[str, str]
    event: Mapping[str, object]
    """For whoever follows the session: whether it may, and why not."""


def answer_permission(
    asked: PermissionQuestion, options: Sequence[Mapping[str, Any]]
) -> PermissionReply:
    """Choose one of the agent's options; none of them where no fitting one is offered."""
    why = _refuse(asked)
    # Once before always: who is answered for ever asks no more, and the rules are not heard
    # again.
    kinds = ("reject_once", "reject_always") if why else ("allow_once", "allow_always")
    for kind in kinds:
        for one in options:
            if one.get("kind") == kind and isinstance(one.get("optionId"), str):
                chosen = {"outcome": "selected", "optionId": one["optionId"]}
                return PermissionReply(chosen, {"allowed": not why, "why": why})
    return PermissionReply(
        {"outcome": "cancelled"}, {"allowed": False, "why": why or "it offered no matching answer"}
    )


def _refuse(asked: PermissionQuestion) -> str:
    """Why it may not; empty where it may."""
    kind = asked.call.get("kind")
    raw = asked.call.get("rawInput")
    command = raw.get("command") or raw.get("cmd") if isinstance(raw, dict) else None
    if kind == "execute" or command:
        line = command or asked.call.get("title") or ""
        return _hook(asked, "bash", {"command": line})
    writes = list(_writes(asked.call))
    if kind in _WRITES or writes:
        if not writes:
            return "it does not say which file it would write"
        return next(filter(None, (_hook(asked, "write", one) for one in writes)), "")
    return _by_rules(asked, str(kind or "other"))


def _writes(call: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """The writes of a call, as the hook takes them."""
    content = call.get("content")
    diffs = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    found = False
    for one in diffs:
        path, new, old = one.get("path"), one.get("newText"), one.get("oldText")
        if one.get("type") != "diff" or not isinstance(path, str) or not isinstance(new, str):
            continue
        found = True
        if isinstance(old, str) and old:
            yield {"file_path": path, "old_string": old, "new_string": new}
        else:
            yield {"file_path": path, "content": new}
    raw = call.get("rawInput")
    if not found and isinstance(raw, dict) and _CONTENT & raw.keys() and {*_PATHS} & raw.keys():
        found = True
        yield raw
    if found or call.get("kind") not in _WRITES:
        return
    for path in dict.fromkeys(_places(call)):
        if call["kind"] == "delete":
            patch = f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"
            yield {"input": patch}
        else:  # its content is not known: the path alone is judged
            yield {"notebook_path": path}


def _places(call: Mapping[str, Any]) -> Iterator[str]:
    places = call.get("locations")
    for one in places if isinstance(places, list) else []:
        if isinstance(one, dict) and isinstance(one.get("path"), str) and one["path"]:
            yield one["path"]
    raw = call.get("rawInput")
    fields = raw if isinstance(raw, dict) else {}
    yield from (one for name in _PATHS if isinstance(one := fields.get(name), str) and one)


def _hook(asked: PermissionQuestion, tool: str, arguments: Mapping[str, object]) -> str:
    """What `runner hook` says against a call; a hook that cannot answer refuses."""
    call = {"cwd": asked.folder, "tool_name": tool, "tool_input": arguments}
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(call).encode("utf-8", "replace"))
        file.seek(0)
        words = ("hook", "--rules", asked.rules)
        command = OwnCommand(words, Path(asked.folder), os.environ, stdin=file)
        try:
            code = command.wait(_SECONDS)
            if code == 0:
                return ""
            if code is None:
                command.end()
                return "the permission rules did not answer in time"
            return command.read(_LONGEST)[1].decode("utf-8", "replace").strip() or "refused"
        finally:
            command.forget()


def _by_rules(asked: PermissionQuestion, kind: str) -> str:
    """What the permission rules say of a call that neither writes nor runs a line of shell."""
    try:
        rules = hooks.Rules.read(Path(asked.rules))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "the permission rules cannot be read"
    if kind == "switch_mode" and not rules.writes:
        return "this session only reads"
    raw = asked.call.get("rawInput")
    tool = _TOOLS.get(kind, str(asked.call.get("title") or kind))
    inside = (
        os.path.relpath(one, asked.folder) if one.startswith("/") else one
        for one in _places(asked.call)
    )
    subjects = list(inside) if kind in _TOOLS else [json.dumps(raw, sort_keys=True)]
    for subject in subjects or [""]:
        word = rules.book.word(tool, subject)
        if word.permit is not Permit.ALLOW:
            return f"{word} does not allow it"
    return ""
