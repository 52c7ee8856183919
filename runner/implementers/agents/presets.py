"""The agent programs that are known: a few lines of data each, as their own help tells it."""

from __future__ import annotations

from runner.implementers.agents.preset import (
    BRIEF,
    DOLLARS,
    FILE,
    HOME,
    MODEL,
    Dialect,
    Handing,
    Hooks,
    Preset,
    Sign,
)
from runner.model import Failure

_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy")
_AWS = ("AWS_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_SESSION = ("AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK")
_GOOGLE = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_GENAI_USE_VERTEXAI")
_OPEN = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
_KEYS = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY")
_DOTENV = (".env", ".env.local", ".env.development", ".env.production")
"""What many a program reads in the folder it starts in; a clone's word is no configuration."""
_MORE_KEYS = ("GROQ_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY")

CLAUDE = Preset(
    name="claude",
    program="claude",
    checked="2.1.197",
    install="npm install -g @anthropic-ai/claude-code",
    dialect=Dialect.CLAUDE,
    # Settings of the project may hold hooks, which are commands: only the person's are read.
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
    # A sandbox within a sandbox does not start; where there is none, it has one of its own.
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
"""Every preset by the name a plan calls it."""
