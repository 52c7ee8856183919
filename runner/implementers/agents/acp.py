"""Agents that speak the Agent Client Protocol, by name: `build.implementer = "acp:gemini"`.

A name that is known brings its usual line, and what its login needs; `agent.acp_command` in the
person's own settings says another line, for a name of any kind.
"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from runner.implementers.agents.preset import ACP_COMMAND, PRESETS, Dialect, Preset, Sign
from runner.model import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "acp:"
_CLIENT = ("-P", "-m", "runner.implementers.agents.acp_client")
_LINES: Mapping[str, tuple[str, str]] = {
    "claude": ("claude-agent-acp", "npm install -g @zed-industries/claude-agent-acp"),
    "codex": ("codex-acp", "npm install -g @zed-industries/codex-acp"),
    "gemini": ("gemini --acp", "npm install -g @google/gemini-cli"),
    "opencode": ("opencode acp", "npm install -g opencode-ai"),
    "qwen": ("qwen --acp", "npm install -g @qwen-code/qwen-code"),
}
"""Command line of a known agent, and how to install it."""
_SIGNS = (
    Sign(r"authentication required|auth_required|not logged in", Failure.DETERMINISTIC,
         "log in with the agent itself, or pass its key with agent.env in your own settings"),
    Sign(r"did not start|exit 12[67]\b|of the protocol, the runner", Failure.DETERMINISTIC,
         'correct your own settings, such as agent.acp_command = "gemini --acp"'),
    Sign(r"refuses to go on|limit of (?:tokens|requests)", Failure.SEMANTIC,
         "make the task smaller, or describe it in more detail"),
)  # fmt: skip


def is_acp(name: str) -> bool:
    """Return whether an implementer's name is an Agent Client Protocol agent."""
    return name.casefold().startswith(PREFIX) and len(name) > len(PREFIX)


def line_of(name: str, line: str) -> str:
    """Return the agent's command line from the settings, else its default; may be empty."""
    return line or _LINES.get(name.casefold().removeprefix(PREFIX), ("", ""))[0]


def make_preset(name: str, line: str) -> Preset:
    """Return the preset of an ACP agent, with the login of the program of that name."""
    plain = name.casefold().removeprefix(PREFIX)
    own = PRESETS.get(plain)
    usual, install = _LINES.get(plain, ("", ""))
    return Preset(
        name=f"{PREFIX}{plain}",
        program=sys.executable,
        checked="version 1 of the protocol",
        install=install if line == usual and install else f"install {first_program(line)}",
        dialect=Dialect.ACP,
        plan=_CLIENT,
        execute=_CLIENT,
        model=(),
        variables=own.variables if own else (),
        files=own.files if own else (),
        logins=own.logins if own and line == usual else (),
        environment=(*(own.environment if own else ()), (ACP_COMMAND, line)),
        seeds=own.seeds if own else (),
        aside=own.aside if own else (),
        starts=first_program(line),
        signs=(*_SIGNS, *(own.signs if own else ())),
    )


def first_program(line: str) -> str:
    """Return the program at the start of a command line, after its variables."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    return next((word for word in words if "=" not in word.partition("/")[0]), "")
