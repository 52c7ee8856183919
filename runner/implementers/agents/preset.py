"""What there is to know of an agent program, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.implementers.agents.agent_failures import Sign

MODEL, BRIEF, HOME, FILE, DOLLARS = "{model}", "{brief}", "{home}", "{file}", "{dollars}"
"""What stands in arguments for the model's name, the brief's file, the folder of its HOME, a file
of the project, and what may be spent."""


class Handing(StrEnum):
    """How a program is handed the brief."""

    STDIN = "stdin"
    FILE = "file"
    """Its path stands in the arguments as `{brief}`."""


class Dialect(StrEnum):
    """How a program's output is read; see `output_parsers`."""

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"
    OPENCODE = "opencode"
    AIDER = "aider"


class Hooks(StrEnum):
    """In whose way a program calls back before a write; see `hooks`."""

    NONE = ""
    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"


@dataclass(frozen=True, slots=True)
class Preset:
    """One agent program: without prompts, in a fresh session."""

    name: str
    program: str
    checked: str
    """The version that was tried."""
    install: str
    """How a person gets it."""
    dialect: Dialect
    plan: tuple[str, ...]
    """Arguments of plan mode, in which it has no tool that writes; review is the same."""
    execute: tuple[str, ...]
    enclosed: tuple[str, ...] = ()
    """More arguments in a sandbox of ours, such as that it needs none of its own."""
    plan_open: tuple[str, ...] = ()
    """More arguments of plan mode where the person said that there be no sandbox."""
    execute_open: tuple[str, ...] = ()
    """The same to write."""
    model: tuple[str, ...] = ("--model", MODEL)
    """Arguments that name the model, where one is set."""
    shown: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Arguments for each file that is there: one of those it may write, one of those it reads."""
    dollars: tuple[str, ...] = ()
    """Arguments that bound the cost, where a budget does: it is often told at the end alone."""
    last: tuple[str, ...] = ()
    """Arguments behind all others."""
    handing: Handing = Handing.STDIN
    variables: tuple[str, ...] = ()
    """Environment variables that its login or its provider needs."""
    files: tuple[str, ...] = ()
    """Files below HOME that its login needs; it gets copies."""
    environment: tuple[tuple[str, str], ...] = ()
    """What is set for it in any case."""
    seeds: tuple[tuple[str, str, str], ...] = ()
    """Variable, path below HOME, content: a file it needs where this variable is the login."""
    hooks: Hooks = Hooks.NONE
    aside: tuple[str, ...] = ()
    """Names in the tree's first folder that would configure it: a clone's word. They are put out
    of its sight while it works."""
    litter: tuple[str, ...] = ()
    """What it leaves in the tree of its own."""
    signs: tuple[Sign, ...] = ()
    """How it says that it failed, beside what all say."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models of the three kinds of sessions; empty for the program's own default."""

    plan: str = ""
    execute: str = ""
    review: str = ""
