"""Operations for other programs: browser, editor, assistant and agent, some without a command."""

from __future__ import annotations

from runner.operations.row import JSON, PLAN, Api, Field, Operation, Tool, flag, option

LONGEST_WAIT = 600
"""Maximum seconds of one `wait` call."""
LIMIT = Field("limit", "the maximum number of records", kind=int, least=1, most=1000)
NUMBER = Field("after", "only records after this number", kind=int, least=0)
_PLACE = Field("after", "only records after these places: JOURNAL:SEQ, comma-separated")

ROWS = (
    Operation(
        "version",
        "show the version",
        "programs:execute_version",
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
        "run the language server for editors: diagnostics, IDs, statuses",
        "programs:execute_lsp",
        (flag("--stdio", "use stdin and stdout, which is the default"),),
        examples="""\
examples:
  runner lsp                  started by an editor; docs/guides/page.md has the setup
""",
    ),
    Operation(
        "serve",
        "show the plan in your browser, and answer reviews there",
        "programs:execute_serve",
        (
            option("--port", "N", "the port (default: a free one)", kind=int, default=0),
            option("--also", "PATH", "also serve the project in this folder", times="again"),
            flag("--link", "print a new link to a running server"),
            flag("--metrics-token", "print the token for /metrics; make one if needed"),
            flag("--until-closed", "stop when standard input closes; for programs"),
            PLAN,
        ),
        effects="writes runs",
        role="operator",
        examples="""\
examples:
  runner serve                      prints a link; open it in a browser on this machine
  runner serve --also ../other      more builds on one page
  runner run --serve                build and serve the page
  runner serve --link               a new link to the running server; each link works once
  runner serve --metrics-token      the token that lets Prometheus read /metrics

It listens only on this machine. Builds started from the page continue when the server stops.

To serve a team's store (`runner team store`) to people with a token (`runner team people`):
  runner serve --team --port 4747
  runner serve --team --listen 0.0.0.0 --port 443 --name runner.example.org \\
      --tls-cert chain.pem --tls-key key.pem
  runner serve --team --port 4747 --name runner.example.org --behind-proxy 127.0.0.1
""",
    ),
    Operation(
        "mcp",
        "serve the plan to an assistant: Model Context Protocol on stdin",
        "programs:execute_mcp",
        (option("--folder", "PATH", "the project's folder (default: this one)"), PLAN),
        effects="writes runs",
        role="operator",
        examples="""\
examples:
  claude mcp add runner -- runner mcp
  codex mcp add runner -- runner mcp
  runner mcp --folder ../service        for a client that starts in another folder
""",
    ),
    Operation(
        "hook",
        "allow or refuse a write of an agent program, with the reason",
        "write_pipeline:execute_hook",
        (option("--rules", "FILE", "the rules file (default: $RUNNER_HOOK)"),),
        effects="writes runs",
        examples="""\
example for Claude Code, in .claude/settings.json; to apply a task's scope, set RUNNER_TASK:
  {"hooks": {"PreToolUse": [{"matcher": "Bash|Write|Edit|MultiEdit|NotebookEdit",
    "hooks": [{"type": "command", "command": "runner hook"}]}]}}

exit code: 0 the write is allowed, 2 it is refused, and standard error has the reason
""",
    ),
    Operation(
        "wait",
        "wait for the active run",
        fields=(
            Field(
                "seconds",
                "how many seconds to wait at most (default: 60)",
                kind=int,
                least=1,
                most=LONGEST_WAIT,
            ),
        ),
        tools=(
            Tool(
                "wait",
                "Wait until the active run has ended, and return how: `exit` 0 all tasks are DONE,"
                " 1 a task failed, 3 the user must answer, 4 the run stopped at a regression.",
                ("seconds",),
                ("status",),
            ),
        ),
    ),
    Operation(
        "builds",
        "list every build that is served",
        output="builds",
        api=(Api("listBuilds", "GET /builds"),),
    ),
    Operation(
        "events of all",
        "records of all builds",
        output="events",
        api=(
            Api(
                "followEvents",
                "GET /events",
                (_PLACE, LIMIT),
                "records of all builds; text/event-stream keeps streaming. The id of a record"
                " is its position among the records of all builds",
                streams=True,
            ),
        ),
    ),
    Operation(
        "events of one",
        "records of one build",
        output="log",
        api=(
            Api(
                "listEvents",
                "GET /builds/{build}/events",
                (NUMBER, LIMIT),
                "records after number `after`, as `log --json`; text/event-stream keeps streaming",
                streams=True,
            ),
        ),
    ),
    Operation(
        "text of the plan",
        "the plan's text, and its mistakes in the format of `validate --json`",
        output="plan",
        api=(Api("getPlan", "GET /builds/{build}/plan"),),
    ),
    Operation(
        "save the plan",
        "save the plan's text",
        effects="writes",
        role="operator",
        fields=(
            Field("text", "the full text", needed=True),
            Field("seen", "the digest of the text that was edited", needed=True),
        ),
        api=(Api("plan", "POST /builds/{build}/plan", ("text", "seen")),),
    ),
    Operation(
        "stop",
        "stop the run, like Ctrl-C",
        effects="writes",
        role="operator",
        api=(Api("stop", "POST /builds/{build}/stop"),),
    ),
)
