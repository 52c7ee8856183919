"""Operations that build, and what a project begins with and leaves behind."""

from __future__ import annotations

from runner.operations.row import (
    JSON,
    PLAN,
    REVIEWS,
    SANDBOX,
    TRUST,
    Api,
    Operation,
    Tool,
    choice,
    flag,
    option,
    word,
)

ROWS = (
    Operation(
        "run",
        "build the plan: every ready task, until all are DONE (the default)",
        "run:execute",
        (
            word("ids", "ID", "these, with what they depend on", "*", group="which tasks"),
            option("--only", "ID", "this one alone", times="again", group="which tasks"),
            option(
                "--from",
                "ID",
                "this and all that follows",
                default="",
                group="which tasks",
                name="start",
            ),
            option("--until", "ID", "up to and with this one", default="", group="which tasks"),
            flag("--with-dependents", "and what depends on them", group="which tasks"),
            option(
                "--jobs", "N", "tasks at once (default: cores)", "-j", kind=int, least=1, most=256
            ),
            flag("--dry-run", "say what would happen; run nothing", "-n"),
            flag("--reuse", "land recorded bytes again where nothing changed"),
            flag("--rebuild", "build anew what was edited since it was DONE"),
            flag("--reopen", "go on after a ship"),
            flag("--no-verify-at-end", "do not prove all of it together"),
            flag("--draft-pr", "a draft pull request for what did not pass"),
            flag("--fail-fast", "start nothing new after a failure"),
            flag("--allow-dirty", "build on HEAD beside uncommitted changes"),
            flag(
                "--yes",
                "confirm: DONE tasks gone from the plan, a !replay line, and in CI --rebuild",
            ),
            TRUST,
            choice("--review", REVIEWS, "who approves writes"),
            choice("--plan-review", REVIEWS, "who approves a task's own plan"),
            SANDBOX,
            flag("--no-sandbox", "the same as --sandbox none"),
            option(
                "--executor",
                "WHERE",
                "inline, threads, dask (workers on this machine), or dask:ADDRESS of a cluster",
            ),
            flag("--insecure-cluster", "a cluster on a network without TLS"),
            option("--branch", "NAME", "on this branch, made at HEAD where it is new", default=""),
            PLAN,
            flag(
                "--with-implementer",
                "with --dry-run: let the implementer of one task work, show all, land nothing",
            ),
            option("--plan-out", "FILE", "save what would happen; run nothing"),
            option("--apply", "FILE", "do what a saved file says; exit 6 if anything has moved"),
            flag("--watch", "run again whenever the plan is saved"),
            flag("--serve", "with a page beside it, as runner serve has it"),
            choice(
                "--changed-dependents",
                ("direct", "transitive"),
                "how far a change is traced to the tests of other tasks (default: transitive)",
                group="what a change may break",
            ),
            flag(
                "--conservative",
                "what cannot be decided counts as affected",
                group="what a change may break",
            ),
            choice(
                "--regression",
                ("repair", "halt"),
                "what breaks another task goes back to the implementer first, or halts at once",
                group="what a change may break",
            ),
            flag(
                "--strict",
                "reject on pre-existing failures as well",
                group="what a change may break",
            ),
            choice(
                "--output",
                ("interleaved", "grouped", "quiet"),
                "lines as they come with what commands print, lines by task with whole logs, or"
                " only the summary (default: a live view on a terminal, else lines as they come)",
                group="output",
            ),
            flag("--quiet", "only the summary: --output quiet", "-q", group="output"),
            flag("--verbose", "also what commands print", "-v", group="output"),
            flag("--json", "the summary as one JSON document", group="output"),
            option("--junit", "FILE", "write a JUnit report, a test case a task", group="output"),
            option("--sarif", "FILE", "write the findings as SARIF 2.1.0", group="output"),
        ),
        output="run",
        effects="writes runs sends",
        role="operator",
        shown=True,
        api=(
            Api(
                "run",
                "POST /builds/{build}/run",
                ("tasks=ids",),
                "begin a build, which trusts nothing that nobody trusted",
            ),
        ),
        tools=(
            Tool(
                "run",
                "Begin to build the plan, or these tasks with what they depend on, and answer at"
                " once; then `wait`. Commands that nobody has trusted are not run: a person types"
                " `runner` once. What waits for a review goes on waiting for a person. With"
                " `dry_run`, what would happen.",
                ("tasks=ids", "jobs", "dry_run"),
                effects="writes runs",
            ),
        ),
        examples="""\
examples:
  runner                      build everything that is ready
  runner run TASK-003         that task, and what it depends on
  runner run --from TASK-003  that task and all that follows from it
  runner -n                   say what would happen, and run nothing
  runner --plan-out plan.json, then: runner run --apply plan.json
                              do exactly what you looked at, or refuse with exit 6
  runner run TASK-003 -n --with-implementer --plan-out try.json
                              let it be built, look at all of it, land nothing; then:
  runner run --apply try.json land exactly these bytes, or refuse with exit 6
  runner run --watch          build at every save of TASK-GRAPH.md
""",
    ),
    Operation(
        "demo",
        "see it catch something, in seconds and offline",
        "demo:execute_demo",
        (word("folder", "FOLDER", "where it is built; made anew", "?"),),
        effects="writes runs",
        role="operator",
        shown=True,
        examples="""\
examples:
  runner demo               in a new folder of the system's temporary ones
  runner demo try-it        in this one, which must not be there yet
""",
    ),
    Operation(
        "init",
        "write a small working plan into this folder",
        "demo:execute_init",
        effects="writes",
        role="operator",
        shown=True,
        examples="""\
examples:
  mkdir hello && cd hello && git init && runner init
  runner                          then builds it
""",
    ),
    Operation(
        "prune",
        "take away old logs, drafts and slots that nothing needs",
        "leftovers:execute_prune",
        (
            option("--older-than", "AGE", "such as 90d, 12w or 36h", needed=True),
            flag("--dry-run", "only say what would go"),
            JSON,
        ),
        output="prune",
        effects="writes",
        role="operator",
        examples="""\
What goes: logs of attempts at tasks that are DONE, draft branches that are merged or whose task is
over, scratch trees that nobody used, and objects that workers of a cluster kept. What stays: the
logs that evidence names, everything of an open task, what is still to be stored as an artifact,
branches that are checked out or have commits of yours.

examples:
  runner prune --older-than 90d --dry-run
  runner prune --older-than 12w
""",
    ),
)
