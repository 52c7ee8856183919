"""Operations that build, start a project or clean up after runs."""

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
        "build every ready task until all are DONE (the default command)",
        "run:execute",
        (
            word("ids", "ID", "these tasks and their dependencies", "*", group="which tasks"),
            option("--only", "ID", "only this task", times="again", group="which tasks"),
            option(
                "--from",
                "ID",
                "this task and its dependents",
                default="",
                group="which tasks",
                name="start",
            ),
            option("--until", "ID", "up to this task, inclusive", default="", group="which tasks"),
            flag("--with-dependents", "also their dependents", group="which tasks"),
            option(
                "--jobs", "N", "parallel tasks (default: cores)", "-j", kind=int, least=1, most=256
            ),
            flag("--dry-run", "show what would happen; run nothing", "-n"),
            flag("--reuse", "land recorded work again instead of building, where it still applies"),
            flag("--rebuild", "rebuild tasks that were edited since they were DONE"),
            flag("--reopen", "allow runs again after runner ship"),
            flag("--no-verify-at-end", "skip the final re-test of all tasks together"),
            flag("--draft-pr", "open draft pull requests for work that did not pass"),
            flag("--fail-fast", "start no new task after a failure"),
            flag("--allow-dirty", "build on HEAD despite uncommitted changes"),
            flag(
                "--yes",
                "confirm removed DONE tasks, !replay lines, --rebuild in CI",
            ),
            TRUST,
            choice("--review", REVIEWS, "who reviews changes"),
            choice("--plan-review", REVIEWS, "who approves a task's own plan"),
            SANDBOX,
            flag("--no-sandbox", "the same as --sandbox none"),
            option(
                "--executor",
                "WHERE",
                "inline, threads, dask (workers on this machine), or dask:ADDRESS of a cluster",
            ),
            flag("--insecure-cluster", "allow a cluster without TLS on a network"),
            option("--branch", "NAME", "build on this branch; create it if new", default=""),
            PLAN,
            flag(
                "--with-implementer",
                "with --dry-run: run one task's implementer, show its work, land nothing",
            ),
            option("--plan-out", "FILE", "save what would happen; run nothing"),
            option("--apply", "FILE", "run what --plan-out saved; exit 6 if anything changed"),
            flag("--watch", "run again whenever the plan is saved"),
            flag("--serve", "also serve the page, like runner serve"),
            choice(
                "--changed-dependents",
                ("direct", "transitive"),
                "how far to trace a change to the tests of other tasks (default: transitive)",
                group="what a change may break",
            ),
            flag(
                "--conservative",
                "if the analysis cannot decide, count a test as affected",
                group="what a change may break",
            ),
            choice(
                "--regression",
                ("repair", "halt"),
                "if a change breaks another task: let the implementer repair it first, or halt",
                group="what a change may break",
            ),
            flag(
                "--strict",
                "also reject a change for failures that the base already has",
                group="what a change may break",
            ),
            choice(
                "--output",
                ("interleaved", "grouped", "quiet"),
                "print lines and command output as they come, group lines and full logs by task, or"
                " print only the summary (default: a live view on a terminal, else lines)",
                group="output",
            ),
            flag("--quiet", "only the summary: --output quiet", "-q", group="output"),
            flag("--verbose", "also print command output", "-v", group="output"),
            flag("--json", "the summary as one JSON document", group="output"),
            option("--junit", "FILE", "a JUnit report, one test case per task", group="output"),
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
                "start a build; untrusted commands do not run",
            ),
        ),
        tools=(
            Tool(
                "run",
                "Start to build the plan, or these tasks with their dependencies, and return at"
                " once; then call `wait`. Untrusted commands do not run: first the user must type"
                " `runner` once. Reviews keep waiting for the user. With `dry_run`, only show what"
                " would happen.",
                ("tasks=ids", "jobs", "dry_run"),
                effects="writes runs",
            ),
        ),
        examples="""\
examples:
  runner                      build everything that is ready
  runner run TASK-003         that task and its dependencies
  runner run --from TASK-003  that task and its dependents
  runner -n                   show what would happen; run nothing
  runner --plan-out plan.json, then: runner run --apply plan.json
                              do exactly what you checked, or refuse with exit 6
  runner run TASK-003 -n --with-implementer --plan-out try.json
                              build it, show the work, land nothing; then:
  runner run --apply try.json land exactly this work, or refuse with exit 6
  runner run --watch          build at every save of TASK-GRAPH.md
""",
    ),
    Operation(
        "demo",
        "watch a demo build catch mistakes, in seconds and offline",
        "new_plan:execute_demo",
        (word("folder", "FOLDER", "new folder for the demo", "?"),),
        effects="writes runs",
        role="operator",
        shown=True,
        examples="""\
examples:
  runner demo               build in a new temporary folder
  runner demo try-it        build in try-it, which must not exist yet
""",
    ),
    Operation(
        "init",
        "write a small working plan into this folder",
        "new_plan:execute_init",
        effects="writes",
        role="operator",
        shown=True,
        examples="""\
examples:
  mkdir hello && cd hello && git init && runner init
  runner                          build it
""",
    ),
    Operation(
        "prune",
        "delete old logs, drafts and work folders that nothing needs",
        "artifacts:execute_prune",
        (
            option("--older-than", "AGE", "such as 90d, 12w or 36h", needed=True),
            flag("--dry-run", "only list what would be deleted"),
            JSON,
        ),
        output="prune",
        effects="writes",
        role="operator",
        examples="""\
It deletes logs of DONE tasks, draft branches that are merged or whose task has ended, unused
scratch trees, and objects that cluster workers cached. It keeps logs that evidence names,
everything of an open task, artifacts not stored yet, checked-out branches, and branches with
commits of yours.

examples:
  runner prune --older-than 90d --dry-run
  runner prune --older-than 12w
""",
    ),
)
