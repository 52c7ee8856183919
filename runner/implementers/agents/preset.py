"""Describe agent programs as data; classify failures by a shared table and their own phrases.

Agents that speak the Agent Client Protocol have names such as `acp:gemini`. A known name brings its
usual command line; `agent.acp_command` in the person's own settings names another one.
"""

from __future__ import annotations

import re
import shlex
import sys
import time
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.lazy_pattern import regex
from runner.model import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LOGIN = "log in with the program itself, or set its key in your environment"
_MODEL = "choose another model: [model] in your settings"
_MONEY = "check your account at the provider"
_OPTION = "update the program, or set agent.command in your own settings"
LONGEST_WAIT = 24 * 3600.0
_UNITS = {"m": 60.0, "h": 3600.0}


class Sign(Struct, frozen=True):
    """Words that tell of a failure."""

    words: str
    """Regular expression; case-insensitive."""
    failure: Failure
    hint: str = ""


class KnownFailure(Struct, frozen=True):
    """A failure that was recognised by its words."""

    failure: Failure
    hint: str = ""
    retry_after: float = 0.0
    """Seconds; 0 if the message names none."""


SIGNS = (
    # Money and permissions first: their messages also contain the others' numbers.
    Sign(
        r"insufficient_quota|credit balance|billing|payment required|\b402\b|exceeded your current"
        r" quota",
        Failure.DETERMINISTIC,
        _MONEY,
    ),
    Sign(
        r"not logged in|/login\b|please (?:log|sign) in|invalid (?:x-)?api.?key|incorrect api key"
        r"|api.?key (?:not (?:valid|found)|is missing|required)|no api key|missing (?:api )?key"
        r"|authentication.?(?:error|failed)|unauthori[sz]ed|\b401\b|permission_error|forbidden"
        r"|\b403\b|token (?:has )?(?:been )?(?:expired|revoked)|invalid auth|no auth|"
        r"check your api key|set an auth method",
        Failure.DETERMINISTIC,
        _LOGIN,
    ),
    Sign(
        r"rate.?limit|\b429\b|too many requests|overloaded|\b529\b|usage limit|resource_exhausted"
        r"|capacity|quota",
        Failure.TRANSIENT,
    ),
    Sign(
        r"\b50[0234]\b|internal server error|bad gateway|service unavailable|gateway time",
        Failure.TRANSIENT,
    ),
    Sign(
        r"econn(?:refused|reset|aborted)|etimedout|enotfound|eai_again|epipe|connection (?:error"
        r"|refused|reset|closed|timed)|could not connect|cannot connect|unable to connect"
        r"|failed to connect|network error|fetch failed|socket hang up|stream (?:error"
        r"|disconnected|closed)|timed.?out|dns|error sending request|reconnecting",
        Failure.TRANSIENT,
    ),
    Sign(
        r"model.{0,80}(?:not (?:found|supported|exist|available)|does not exist|is not supported)"
        r"|unknown model|no such model|not_found_error|\b404\b",
        Failure.DETERMINISTIC,
        _MODEL,
    ),
    Sign(
        r"unknown (?:option|argument)|unexpected argument|unrecognized argument|invalid (?:value"
        r"|choice) for|invalid_request_error|error: unknown",
        Failure.DETERMINISTIC,
        _OPTION,
    ),
)
"""In this order: the first match counts."""
_AFTER = (
    regex(r"retry[-_ ]?(?:after|delay)\"?\s*[:=]?\s*\"?(\d{1,6}(?:\.\d{1,9})?)\s*(ms|[smh])?"),
    regex(r"(?:try again|retry|reset(?:s)?)\s+in\s+(\d{1,6}(?:\.\d{1,9})?)\s*(ms|[smh])?"),
)
_AT = regex(r"limit reached\|(\d{10})\b")
"""A time as seconds since the epoch."""


def classify_failure(text: str, signs: Iterable[Sign] = ()) -> KnownFailure | None:
    """Classify a failure by its text, own `signs` first; None if it is unknown."""
    lowered = text.lower()
    for sign in (*signs, *SIGNS):
        if re.search(sign.words, lowered):
            wait = _wait(lowered) if sign.failure is Failure.TRANSIENT else 0.0
            return KnownFailure(sign.failure, sign.hint, wait)
    return None


def _wait(text: str) -> float:
    """Return the number of seconds to wait that a message states."""
    for shape in _AFTER:
        if found := shape.search(text):
            amount, unit = float(found[1]), found[2] or "s"
            seconds = amount / 1000 if unit == "ms" else amount * _UNITS.get(unit, 1.0)
            return min(seconds, LONGEST_WAIT)
    if found := _AT.search(text):
        return min(max(0.0, int(found[1]) - time.time()), LONGEST_WAIT)
    return 0.0


ACP_COMMAND = "RUNNER_ACP_COMMAND"
"""Variable that names the command for our client of the Agent Client Protocol."""
MODEL, BRIEF, HOME, FILE, DOLLARS = "{model}", "{brief}", "{home}", "{file}", "{dollars}"
"""What stands in arguments for the model's name, the brief's file, the folder of its HOME, a file
of the project, and what may be spent."""


class Handing(StrEnum):
    """The way in which a program receives the brief."""

    STDIN = "stdin"
    FILE = "file"
    """The arguments contain its path as `{brief}`."""


class Dialect(StrEnum):
    """The format of a program's output; see `output_parsers`."""

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"
    OPENCODE = "opencode"
    AIDER = "aider"
    ACP = "acp"
    """Output of our own client of the Agent Client Protocol."""


class Hooks(StrEnum):
    """In whose way a program calls back before a write; see `hooks`."""

    NONE = ""
    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"


class Preset(Struct, frozen=True):
    """One agent program: without prompts, in a fresh session."""

    name: str
    program: str
    checked: str
    """Version that was tested."""
    install: str
    """How to install it."""
    dialect: Dialect
    plan: tuple[str, ...]
    """Arguments of plan mode, in which no tool can write; review uses the same."""
    execute: tuple[str, ...]
    enclosed: tuple[str, ...] = ()
    """Additional arguments in our sandbox, such as to turn off its own."""
    plan_open: tuple[str, ...] = ()
    """Additional arguments of plan mode if the user turned the sandbox off."""
    execute_open: tuple[str, ...] = ()
    """The same for execute mode."""
    model: tuple[str, ...] = ("--model", MODEL)
    """Arguments that name the model, if one is set."""
    shown: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Arguments for each existing file: for one it may write, for one it reads."""
    dollars: tuple[str, ...] = ()
    """Arguments that limit the cost if a budget does: it is often known only at the end."""
    last: tuple[str, ...] = ()
    """Arguments after all others."""
    handing: Handing = Handing.STDIN
    variables: tuple[str, ...] = ()
    """Environment variables that its login or its provider needs."""
    files: tuple[str, ...] = ()
    """Files below HOME that its login needs; it gets copies."""
    logins: tuple[str, ...] = ()
    """Variables and files below HOME, of which one must exist; empty: unknown."""
    environment: tuple[tuple[str, str], ...] = ()
    """Environment variables that are always set for it."""
    seeds: tuple[tuple[str, str, str], ...] = ()
    """Variable, path below HOME, content: a file it needs if this variable is the login."""
    starts: str = ""
    """Agent that `program`, which is then ours, starts itself."""
    hooks: Hooks = Hooks.NONE
    aside: tuple[str, ...] = ()
    """Names in the tree's first folder that would configure it: a clone's word. They are put out
    of its sight while it works."""
    litter: tuple[str, ...] = ()
    """Its own files that it leaves in the tree."""
    signs: tuple[Sign, ...] = ()
    """Its failure messages, in addition to the common ones."""


class Models(Struct, frozen=True):
    """The models of the four kinds of sessions; empty for the program's own default."""

    plan: str = ""
    execute: str = ""
    review: str = ""
    draft: str = ""


_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy")
_AWS = ("AWS_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_SESSION = ("AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK")
_GOOGLE = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_GENAI_USE_VERTEXAI")
_OPEN = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
_KEYS = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY")
_DOTENV = (".env", ".env.local", ".env.development", ".env.production")
"""Files that many programs read in their start folder; a clone's must not configure them."""
_MORE_KEYS = ("GROQ_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY")

CLAUDE = Preset(
    name="claude",
    program="claude",
    checked="2.1.197",
    install="npm install -g @anthropic-ai/claude-code",
    dialect=Dialect.CLAUDE,
    # Project settings may contain hooks, which are commands: read only the user's.
    plan=(
        *("-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence"),
        *("--setting-sources", "user", "--strict-mcp-config", "--permission-mode", "plan"),
        *("--tools", "Read,Glob,Grep"),
    ),
    execute=(
        *("-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence"),
        *("--setting-sources", "user", "--strict-mcp-config", "--permission-mode", "acceptEdits"),
        *("--tools", "Bash,Edit,Glob,Grep,NotebookEdit,Read,Write,TodoWrite"),
        *("--allowedTools", "Bash,Edit,Glob,Grep,NotebookEdit,Read,Write"),
    ),
    variables=(
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
        *("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"),
        *(*_AWS, *_SESSION, "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID", *_PROXIES),
    ),
    files=(".claude/.credentials.json",),
    logins=(
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
        *("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"),
        ".claude/.credentials.json",
    ),
    environment=(
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ),
    dollars=("--max-budget-usd", DOLLARS),
    hooks=Hooks.CLAUDE,
    aside=_DOTENV,
    signs=(Sign(r"claude ai usage limit|hit your limit", Failure.TRANSIENT),),
)

_CODEX = (
    *("exec", "--json", "--ephemeral", "--ignore-rules", "--skip-git-repo-check"),
    *("--color", "never", "-c", 'approval_policy="never"'),
)

CODEX = Preset(
    name="codex",
    program="codex",
    checked="0.169.0",
    install="npm install -g @openai/codex",
    dialect=Dialect.CODEX,
    plan=_CODEX,
    execute=_CODEX,
    # A sandbox inside a sandbox fails to start; without ours it uses its own.
    enclosed=("--dangerously-bypass-approvals-and-sandbox",),
    plan_open=("--sandbox", "read-only"),
    execute_open=("--sandbox", "workspace-write"),
    last=("-",),
    variables=("CODEX_API_KEY", *_OPEN, *_PROXIES),
    files=(".codex/auth.json", ".codex/config.toml"),
    logins=("CODEX_API_KEY", *_OPEN, ".codex/auth.json", ".codex/config.toml"),
    hooks=Hooks.CODEX,
    aside=(".codex", *_DOTENV),
    signs=(Sign(r"hit your usage limit", Failure.TRANSIENT),),
)

GEMINI = Preset(
    name="gemini",
    program="gemini",
    checked="0.61.0",
    install="npm install -g @google/gemini-cli",
    dialect=Dialect.GEMINI,
    plan=("--output-format", "stream-json", "--approval-mode", "plan", "--skip-trust"),
    execute=("--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"),
    variables=(
        *("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", *_GOOGLE, *_PROXIES),
    ),
    files=(
        *(".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/settings.json"),
        ".gemini/installation_id",
    ),
    logins=(
        *("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", *_GOOGLE),
        ".gemini/oauth_creds.json",
    ),
    seeds=(
        (
            "GEMINI_API_KEY",
            ".gemini/settings.json",
            '{"security": {"auth": {"selectedType": "gemini-api-key"}}}',
        ),
    ),
    hooks=Hooks.GEMINI,
    aside=(".gemini", *_DOTENV),
    signs=(Sign(r"not running in a trusted directory", Failure.DETERMINISTIC),),
)

OPENCODE = Preset(
    name="opencode",
    program="opencode",
    checked="1.18.33",
    install="npm install -g opencode-ai",
    dialect=Dialect.OPENCODE,
    plan=("run", "--format", "json", "--pure", "--agent", "plan", "--title", "task"),
    execute=("run", "--format", "json", "--pure", "--auto", "--title", "task"),
    variables=("OPENCODE_API_KEY", *_OPEN, *_KEYS, *_MORE_KEYS, *_AWS, *_SESSION, *_PROXIES),
    files=(
        *(".local/share/opencode/auth.json", ".config/opencode/opencode.json"),
        ".config/opencode/opencode.jsonc",
    ),
    environment=(
        ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_SHARE", "1"),
    ),
    aside=("opencode.json", "opencode.jsonc", ".opencode", *_DOTENV),
)

_QUIET = (
    *("--no-check-update", "--no-show-release-notes", "--analytics-disable", "--no-pretty"),
    *("--no-stream", "--no-show-model-warnings", "--no-detect-urls", "--no-gitignore"),
    *("--no-auto-commits", "--no-dirty-commits", "--no-auto-lint", "--no-auto-test"),
    *("--no-suggest-shell-commands", "--yes-always", "--map-tokens", "0"),
    *("--chat-history-file", f"{HOME}/chat.md", "--input-history-file", f"{HOME}/input"),
    *("--message-file", BRIEF),
)

AIDER = Preset(
    name="aider",
    program="aider",
    checked="0.86.2",
    install="pipx install aider-chat",
    dialect=Dialect.AIDER,
    plan=("--chat-mode", "ask", "--dry-run", "--no-git", *_QUIET),
    execute=_QUIET,
    shown=(("--file", FILE), ("--read", FILE)),
    handing=Handing.FILE,
    model=("--model", MODEL),
    variables=("OPENAI_API_BASE", *_OPEN, *_KEYS, *_MORE_KEYS, *_AWS, *_SESSION, *_PROXIES),
    files=(".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json"),
    aside=(
        *(".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json"),
        *_DOTENV,
    ),
    litter=(".aider.tags.cache.v4", ".aider.chat.history.md", ".aider.input.history"),
)

PRESETS = {preset.name: preset for preset in (CLAUDE, CODEX, GEMINI, OPENCODE, AIDER)}
"""All presets by the name used in a plan."""


ACP_PREFIX = "acp:"
_ACP_CLIENT = ("-P", "-m", "runner.implementers.agents.acp_client")
_ACP_LINES: Mapping[str, tuple[str, str]] = {
    "claude": ("claude-agent-acp", "npm install -g @zed-industries/claude-agent-acp"),
    "codex": ("codex-acp", "npm install -g @zed-industries/codex-acp"),
    "gemini": ("gemini --acp", "npm install -g @google/gemini-cli"),
    "opencode": ("opencode acp", "npm install -g opencode-ai"),
    "qwen": ("qwen --acp", "npm install -g @qwen-code/qwen-code"),
}
"""Command line of a known agent, and how to install it."""
_ACP_SIGNS = (
    Sign(r"authentication required|auth_required|not logged in", Failure.DETERMINISTIC,
         "log in with the agent itself, or pass its key with agent.env in your own settings"),
    Sign(r"did not start|exit 12[67]\b|of the protocol, the runner", Failure.DETERMINISTIC,
         'correct your own settings, such as agent.acp_command = "gemini --acp"'),
    Sign(r"refuses to go on|limit of (?:tokens|requests)", Failure.SEMANTIC,
         "make the task smaller, or describe it in more detail"),
)  # fmt: skip


def is_acp(name: str) -> bool:
    """Return whether an implementer's name is an Agent Client Protocol agent."""
    return name.casefold().startswith(ACP_PREFIX) and len(name) > len(ACP_PREFIX)


def acp_line(name: str, line: str) -> str:
    """Return the agent's command line from the settings, else its default; may be empty."""
    return line or _ACP_LINES.get(name.casefold().removeprefix(ACP_PREFIX), ("", ""))[0]


def make_acp_preset(name: str, line: str) -> Preset:
    """Return the preset of an ACP agent, with the login of the program of that name."""
    plain = name.casefold().removeprefix(ACP_PREFIX)
    own = PRESETS.get(plain)
    usual, install = _ACP_LINES.get(plain, ("", ""))
    return Preset(
        name=f"{ACP_PREFIX}{plain}",
        program=sys.executable,
        checked="version 1 of the protocol",
        install=install if line == usual and install else f"install {first_program(line)}",
        dialect=Dialect.ACP,
        plan=_ACP_CLIENT,
        execute=_ACP_CLIENT,
        model=(),
        variables=own.variables if own else (),
        files=own.files if own else (),
        logins=own.logins if own and line == usual else (),
        environment=(*(own.environment if own else ()), (ACP_COMMAND, line)),
        seeds=own.seeds if own else (),
        aside=own.aside if own else (),
        starts=first_program(line),
        signs=(*_ACP_SIGNS, *(own.signs if own else ())),
    )


def first_program(line: str) -> str:
    """Return the program at the start of a command line, after its variables."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    return next((word for word in words if "=" not in word.partition("/")[0]), "")
