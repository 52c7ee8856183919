"""Hooks that make an agent program ask before it writes: arguments and rules.

With a hook, an agent can correct a mistake in the same turn. Security does not depend on it: all
writes pass the pipeline, also those that the hook did not see.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.config.permissions import WRITE_TOOLS, Rulebook, format_subject, names_shell
from runner.config.shell_rules import SHELL, Permission, PermissionAnswer, Permit
from runner.context.task_plan import files_of
from runner.implementers.agents.preset import Hooks
from runner.implementers.command import read_regular
from runner.model.codec import encode_json

if TYPE_CHECKING:
    from pathlib import Path

    from runner.implementers.agents.home import AgentHome
    from runner.implementers.base import ImplementerContext
    from runner.model import TaskPlan

FILE = "hook.json"
"""Rules file next to the program's HOME; `$RUNNER_HOOK` also has its path."""
_ASKED = "hook-asked.jsonl"
_MOST_ASKED = 1 << 16
_MOST_QUESTIONS = 20
_SETTINGS = "hook-settings.json"
_SECONDS = 20
_WRITES = {
    Hooks.CLAUDE: "Write|Edit|MultiEdit|NotebookEdit",
    Hooks.CODEX: "Bash|apply_patch",
    Hooks.GEMINI: "write_file|replace",
}
_COMMANDS = {Hooks.CLAUDE: "Bash", Hooks.CODEX: "Bash", Hooks.GEMINI: "run_shell_command"}
"""Shell tools of the programs, which call the hook if a rule is about commands."""
_GEMINI_SETTINGS = ".gemini/settings.json"
_CODEX_HOOKS = ".codex/hooks.json"


class Rules(Struct, frozen=True):
    """The rules by which a hook judges a write."""

    task: str
    outputs: tuple[str, ...]
    plan: tuple[str, ...] = ()
    """Files of the approved plan; empty: all that the task names."""
    project: str = ""
    """The project's folder as the program sees it."""
    writes: bool = True
    """Whether the session may write at all."""
    permission: tuple[Permission, ...] = ()
    permission_floor: tuple[Permission, ...] = ()
    answers: tuple[PermissionAnswer, ...] = ()
    reviewed: bool = False
    """Whether a person sees the writes before they land."""

    @classmethod
    def read(cls, path: Path) -> Rules:
        """Read rules from a file. Raises OSError or ValueError if it is invalid."""
        row = json.loads(read_regular(path) or b"")
        if not isinstance(row, dict):
            raise ValueError("no rules")  # noqa: TRY004  one kind of error for the caller
        return cls(
            task=str(row["task"]),
            outputs=tuple(map(str, row["outputs"])),
            plan=tuple(map(str, row.get("plan", ()))),
            project=str(row.get("project", "")),
            writes=bool(row.get("writes", True)),
            permission=tuple(map(_rule, row.get("permission", ()))),
            permission_floor=tuple(map(_rule, row.get("permission_floor", ()))),
            answers=tuple(PermissionAnswer(**answer) for answer in row.get("answers", ())),
            reviewed=bool(row.get("reviewed", False)),
        )

    @property
    def book(self) -> Rulebook:
        """Rulebook of the permission rules."""
        return Rulebook(self.permission, self.permission_floor, self.answers)


def _rule(row: dict[str, str]) -> Permission:
    return Permission(row["tool"], row["pattern"], Permit(row["action"]))


def save_question(path: Path, tool: str, subject: str) -> None:
    """Save a question for the person next to the rules, where the session finds it."""
    kept = path.with_name(_ASKED)
    effects.step("append", kept)
    with contextlib.suppress(OSError), kept.open("a", encoding="utf-8") as file:
        file.write(json.dumps([tool, subject]) + "\n")


def ask_about_blocked(context: ImplementerContext, path: Path) -> None:
    """Ask a person about the calls that the hook of a session blocked, if a rule requires it.

    The program could have written the file itself: what it says is held to the rules again.
    """
    book = Rulebook(context.permission, context.permission_floor, context.answers)
    kept = read_regular(path.with_name(_ASKED)) or b""
    for line in list(dict.fromkeys(kept[:_MOST_ASKED].splitlines()))[:_MOST_QUESTIONS]:
        try:
            tool, subject = map(str, json.loads(line))
        except (ValueError, TypeError, RecursionError):
            continue
        word = book.word(tool, subject)
        asks = tool == SHELL or (tool in WRITE_TOOLS and not context.reviewed)
        if asks and word.permit is Permit.ASK:
            context.ask(tool, format_subject(tool, subject, context.known_secrets), str(word))


def plan_files(plan: TaskPlan | None) -> tuple[str, ...]:
    """Return the files of an approved plan."""
    return files_of(plan) if plan else ()


def install(hooks: Hooks, household: AgentHome, rules: Rules, path: Path, seen: str) -> None:
    """Lay out the rules, and the settings by which the program calls back.

    `seen` is the path of the rules as the program sees it.
    """
    household.put(path.name, encode_json(rules))
    # -P: the hook starts in the task's tree, from which Python would otherwise import `runner` or
    # `json.py`.
    command = shlex.join((sys.executable, "-P", "-m", "runner", "hook", "--rules", seen))
    if hooks is Hooks.CLAUDE:
        household.put(_SETTINGS, json.dumps(_before_tool(hooks, command, rules)).encode())
    elif hooks is Hooks.CODEX:
        household.furnish(_CODEX_HOOKS, json.dumps(_before_tool(hooks, command, rules)).encode())
    elif hooks is Hooks.GEMINI:
        household.furnish(_GEMINI_SETTINGS, json.dumps(_gemini(household, command, rules)).encode())


def arguments(hooks: Hooks, rules: str) -> tuple[str, ...]:
    """Return the program's arguments; `rules` is that file's path as it sees it."""
    if hooks is Hooks.CODEX:  # the only hooks are those laid out here: the tree's are out of sight
        return ("--dangerously-bypass-hook-trust",)
    if hooks is Hooks.CLAUDE:
        return ("--settings", rules.removesuffix(FILE) + _SETTINGS)
    return ()


def _matcher(hooks: Hooks, rules: Rules) -> str:
    """Return the matcher for the hook: writing tools, and the shell if a rule applies to it."""
    names = _WRITES[hooks].split("|")
    if names_shell((*rules.permission, *rules.permission_floor)):
        names.append(_COMMANDS[hooks])
    return "|".join(dict.fromkeys(names))


def _before_tool(hooks: Hooks, command: str, rules: Rules) -> dict[str, object]:
    """Return hook settings in Claude Code's format, which Codex reads too."""
    hook = {"type": "command", "command": command, "timeout": _SECONDS}
    return {"hooks": {"PreToolUse": [{"matcher": _matcher(hooks, rules), "hooks": [hook]}]}}


def _gemini(household: AgentHome, command: str, rules: Rules) -> dict[str, object]:
    """Return the user's Gemini settings with their hooks replaced by the runner's."""
    try:
        found = json.loads((household.home / _GEMINI_SETTINGS).read_bytes())
    except (OSError, ValueError, RecursionError):
        found = {}
    settings: dict[str, object] = found if isinstance(found, dict) else {}
    # Gemini takes a hook's timeout in milliseconds, Claude Code and Codex in seconds.
    hook = {"type": "command", "command": command, "timeout": _SECONDS * 1000, "name": "runner"}
    mine = {"BeforeTool": [{"matcher": _matcher(Hooks.GEMINI, rules), "hooks": [hook]}]}
    return {**settings, "hooks": mine}
