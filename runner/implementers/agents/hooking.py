"""The way back before a write: what a program is told so that it asks, and by which rules.

A hook is a comfort for the agent, which mends its mistake in the same turn. Nothing rests on it:
what the program writes by other ways, or in spite of it, passes the pipeline like all else.
"""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from runner.context.task_plan import files_of
from runner.implementers.agents.preset import Hooks
from runner.implementers.work import read_regular

if TYPE_CHECKING:
    from pathlib import Path

    from runner.implementers.agents.household import Household
    from runner.model import TaskPlan

FILE = "hook.json"
"""The rules, beside the program's HOME; its path is in `$RUNNER_HOOK` too."""
_SETTINGS = "hook-settings.json"
_SECONDS = 20
_WRITES = {
    Hooks.CLAUDE: "Write|Edit|MultiEdit|NotebookEdit",
    Hooks.CODEX: "Bash|apply_patch",
    Hooks.GEMINI: "write_file|replace",
}
_GEMINI_SETTINGS = ".gemini/settings.json"
_CODEX_HOOKS = ".codex/hooks.json"


@dataclass(frozen=True, slots=True)
class Rules:
    """By what a hook judges a write."""

    task: str
    outputs: tuple[str, ...]
    plan: tuple[str, ...] = ()
    """Files of the approved plan; none: all that the task names."""
    project: str = ""
    """The project's folder as the program sees it."""
    writes: bool = True
    """Whether the session may write at all."""

    @classmethod
    def read(cls, path: Path) -> Rules:
        """The rules that a file holds. Raises OSError or ValueError where it holds none."""
        row = json.loads(read_regular(path) or b"")
        if not isinstance(row, dict):
            raise ValueError("no rules")  # noqa: TRY004  one kind of error for the caller
        return cls(
            task=str(row["task"]),
            outputs=tuple(map(str, row["outputs"])),
            plan=tuple(map(str, row.get("plan", ()))),
            project=str(row.get("project", "")),
            writes=bool(row.get("writes", True)),
        )


def plan_files(plan: TaskPlan | None) -> tuple[str, ...]:
    """The files of an approved plan."""
    return files_of(plan) if plan else ()


def install(hooks: Hooks, household: Household, rules: Rules, path: Path, seen: str) -> None:
    """Lay out the rules, and the settings by which the program calls back.

    `seen` is the path of the rules as the program sees it.
    """
    household.put(path.name, json.dumps(asdict(rules)).encode())
    command = shlex.join((sys.executable, "-P", "-m", "runner", "hook", "--rules", seen))
    if hooks is Hooks.CLAUDE:
        household.put(_SETTINGS, json.dumps(_before_tool(hooks, command)).encode())
    elif hooks is Hooks.CODEX:
        household.furnish(_CODEX_HOOKS, json.dumps(_before_tool(hooks, command)).encode())
    elif hooks is Hooks.GEMINI:
        household.furnish(_GEMINI_SETTINGS, json.dumps(_gemini(household, command)).encode())


def arguments(hooks: Hooks, rules: str) -> tuple[str, ...]:
    """What the program is told on its command line; `rules` is that file's path as it sees it."""
    if hooks is Hooks.CODEX:  # the only hooks are those laid out here: the tree's are out of sight
        return ("--dangerously-bypass-hook-trust",)
    if hooks is Hooks.CLAUDE:
        return ("--settings", rules.removesuffix(FILE) + _SETTINGS)
    return ()


def _before_tool(hooks: Hooks, command: str) -> dict[str, object]:
    """Settings in the form of Claude Code, which Codex reads too."""
    hook = {"type": "command", "command": command, "timeout": _SECONDS}
    return {"hooks": {"PreToolUse": [{"matcher": _WRITES[hooks], "hooks": [hook]}]}}


def _gemini(household: Household, command: str) -> dict[str, object]:
    """The person's own settings, with hooks of ours alone."""
    try:
        found = json.loads((household.home / _GEMINI_SETTINGS).read_bytes())
    except (OSError, ValueError, RecursionError):
        found = {}
    settings: dict[str, object] = found if isinstance(found, dict) else {}
    hook = {"type": "command", "command": command, "timeout": _SECONDS * 1000, "name": "runner"}
    mine = {"BeforeTool": [{"matcher": _WRITES[Hooks.GEMINI], "hooks": [hook]}]}
    return {**settings, "hooks": mine}
