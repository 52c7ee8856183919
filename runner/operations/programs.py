"""Operations that other programs speak with: a browser, an editor, an assistant, an agent."""

from __future__ import annotations

from runner.operations.row import JSON, PLAN, Operation, flag, option

ROWS = (
    Operation(
        "version",
        "the version",
        "version:execute",
        (JSON,),
        output="version",
        examples="""\
examples:
  runner --version
  runner --version --json
""",
    ),
    Operation(
        "lsp",
        "the language server that editors start: mistakes, ids, statuses in place",
        "servers:execute_lsp",
        (flag("--stdio", "over stdin and stdout, as always"),),
        examples="""\
examples:
  runner lsp                  started by an editor; docs/guides/page.md has the lines to set it up
""",
    ),
    Operation(
        "serve",
        "the plan as a page: seen and answered in your browser",
        "serve:execute_serve",
        (
            option("--port", "N", "(default: a free one)", kind=int, default=0),
            option("--also", "PATH", "another project's folder, too", times="again"),
            flag("--link", "a new link to a running server"),
            flag("--metrics-token", "the token for /metrics, made if there is none"),
            flag("--until-closed", "end when standard input does: for programs"),
            PLAN,
        ),
        effects="writes runs",
        role="operator",
        examples="""\
examples:
  runner serve                      prints a link; open it in a browser on this machine
  runner serve --also ../other      more builds on one page
  runner run --serve                build, with the page beside it
  runner serve --link               a new link to the server that is running: each opens once
  runner serve --metrics-token      the token with which a Prometheus may read /metrics

It listens on this machine alone. Builds begun from it go on when it ends.

A team's store (`runner team store`), for people who sign in with a token (`runner team people`):
  runner serve --team --port 4747
  runner serve --team --listen 0.0.0.0 --port 443 --name runner.example.org \\
      --tls-cert chain.pem --tls-key key.pem
  runner serve --team --port 4747 --name runner.example.org --behind-proxy 127.0.0.1
""",
    ),
    Operation(
        "mcp",
        "the plan for an assistant: Model Context Protocol on stdin",
        "servers:execute_mcp",
        (option("--folder", "PATH", "the project, where it is not this folder"), PLAN),
        effects="writes runs",
        role="operator",
        examples="""\
examples:
  claude mcp add runner -- runner mcp
  codex mcp add runner -- runner mcp
  runner mcp --folder ../service        for a client that starts programs elsewhere
""",
    ),
    Operation(
        "hook",
        "called by an agent program before it writes: may it, and why not",
        "write_pipeline:execute_hook",
        (option("--rules", "FILE", "by what it judges; else $RUNNER_HOOK"),),
        effects="writes runs",
        examples="""\
example for Claude Code, in .claude/settings.json; for a task's scope, name it in RUNNER_TASK:
  {"hooks": {"PreToolUse": [{"matcher": "Bash|Write|Edit|MultiEdit|NotebookEdit",
    "hooks": [{"type": "command", "command": "runner hook"}]}]}}

exit: 0 the write may be made, 2 it may not, and standard error says why
""",
    ),
)
