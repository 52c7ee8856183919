"""Operations on the plan: validate, draw, import, draft, decide."""

from __future__ import annotations

from runner.operations.row import (
    JSON,
    PLAN,
    REVIEWS,
    TASK,
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
        "validate",
        "check the plan and report every mistake; runs nothing",
        "inspection:execute_validate",
        (JSON, flag("--strict", "also report tasks that a run would block"), PLAN),
        output="validation",
        tools=(
            Tool(
                "validate",
                "Report every mistake and warning of TASK-GRAPH.md, with its line and a fix."
                " Call this after each edit of the plan. Runs nothing.",
                ("strict",),
            ),
        ),
        examples="""\
examples:
  runner validate                            exit 0, or 2 with every mistake
  runner validate --task-graph plans/two.md
""",
    ),
    Operation(
        "draft",
        "draft tasks from a request; the draft waits for your review",
        "review:execute_draft",
        (
            word("wish", "REQUEST", "what you want, in words", "?", default=""),
            option("--file", "PATH", "a file with the request"),
            option("--issue", "N", "an issue of the repository, read with gh", kind=int),
            option(
                "--with",
                "N,N",
                "with --issue: numbers of related issues",
                default="",
                name="others",
            ),
            option("--new-plan", "PATH", "write a separate plan, named TASK-GRAPH.md", default=""),
            flag("--prove", "run the drafted test contracts on HEAD: they must fail"),
            flag("--trust", "run the drafting program and the tests of --prove without asking"),
            flag("--no-sandbox", "run the drafting program without a sandbox"),
            JSON,
            PLAN,
        ),
        output="draft",
        effects="writes runs",
        role="operator",
        api=(Api("draft", "POST /builds/{build}/draft", ("wish!",), "draft tasks from a request"),),
        examples="""\
examples:
  runner draft "customers export their bookings as CSV"
  runner draft --file request.md --new-plan plans/export/TASK-GRAPH.md
  runner draft --issue 42 --with 43,44       related issues as one draft, read with gh
  runner draft --prove "…"                   also check that its tests fail on HEAD

The agent or model of `[model] draft`, else the project's implementer, reads the repository and
writes the draft. It may set only a fixed list of fields.
exit code: 3 if the draft waits for your review, or no agent or model is available
""",
    ),
    Operation(
        "import",
        "import tasks from another tool's file into the plan",
        "new_plan:execute_import",
        (
            word("source", "PATH|URL|-", "a file, a folder, a URL, or `-` for standard input"),
            choice(
                "--from",
                ("spec-kit", "kiro", "openspec", "backlog", "task-master", "beads", "checklist"),
                "the format, if it cannot be detected",
                name="form",
            ),
            option("--test", "COMMAND", "the command that proves each task with files", default=""),
            flag("--draft", "draft files and proofs; the draft waits for you"),
            flag("--trust", "with --draft: run the drafting program without asking"),
            flag("--accept-done", "waive, in your name, tasks that are marked as done"),
            flag("--dry-run", "write nothing; show what would be written", "-n"),
            JSON,
            PLAN,
        ),
        output="import",
        effects="writes",
        role="operator",
        examples="""\
examples:
  runner import specs/001-export/tasks.md
  runner import .taskmaster/tasks/tasks.json --test "python -m pytest -q"
  runner import backlog -n              show what would be written
  runner import todo.md                 on a terminal it asks once which command proves the tasks
  runner import - --from checklist < todo.md
  runner import specs --draft           draft files and proofs; everything waits for review

Formats: spec-kit, Kiro, OpenSpec, Backlog.md, Task Master, beads and plain check lists.
It imports titles, dependencies, criteria, priorities and named files, but never commands.
""",
    ),
    Operation(
        "sync",
        "mark proven tasks in the files they were imported from",
        "new_plan:execute_import",
        (
            flag("--uncheck", "also remove the marks of tasks that are not proven"),
            flag("--dry-run", "write nothing; show what would be written", "-n"),
            JSON,
            PLAN,
        ),
        output="sync",
        effects="writes",
        role="operator",
        examples="""\
examples:
  runner sync -n         show the differences
  runner sync            mark proven tasks in the files they came from
""",
    ),
    Operation(
        "graph",
        "draw the graph as text or as a picture",
        "inspection:execute_graph",
        (
            choice(
                "--format",
                ("mermaid", "dot", "ascii", "svg"),
                "mermaid text, Graphviz dot, plain text, or a picture (default: plain text on a "
                "terminal, else mermaid)",
            ),
            JSON,
            PLAN,
        ),
        output="graph",
        examples="""\
examples:
  runner graph > graph.mmd         for mermaid.live, or a ```mermaid block
  runner graph                     draw it in the terminal
  runner graph --format svg > graph.svg
  runner graph --json              nodes and edges, for programs
""",
    ),
    Operation(
        "plan",
        "let an agent plan how to build a task; builds nothing",
        "one_task:execute_plan",
        (
            TASK,
            JSON,
            PLAN,
            flag("--again", "make a new plan even if there is one"),
            option("--reason", "", "what the new plan should do better", default=""),
            TRUST,
            choice("--plan-review", REVIEWS, "who approves the plan"),
            flag("--no-sandbox", "run the agent without a sandbox"),
            flag("--allow-dirty", "plan on HEAD despite uncommitted changes"),
        ),
        output="task-plan",
        effects="writes runs",
        role="operator",
        examples="""\
examples:
  runner plan TASK-003          make its plan, or show the existing one
  runner plan TASK-003 --again --reason "without a new module"
                                make another plan instead
exit code: 0 there is an approved plan, 3 it waits for you or no plan was accepted, 5 stopped by
  a budget or a loop
""",
    ),
    Operation(
        "plan decide",
        "write a decision into DECISIONS.md",
        "decisions:execute_decide",
        (
            word("title", "", "the choice in a few words"),
            option("--context", "TEXT", "why a choice was necessary", default=""),
            option("--decision", "TEXT", "what was chosen (default: the title)", default=""),
            option("--tradeoff", "TEXT", "what it costs and what it gains", default=""),
            option("--pattern", "TEXT", "name of the pattern that it may become", default=""),
            option("--task", "ID", "the task of the decision", default=""),
        ),
        effects="writes",
        role="reviewer",
        examples="""\
examples:
  runner plan decide "Optimistic locking" --task TASK-018 \\
    --context "Row locks deadlocked in the load test." \\
    --decision "Optimistic locking with at most 3 retries." \\
    --tradeoff "Some retries, against no deadlock."
""",
    ),
    Operation(
        "plan pattern",
        "list or search the pattern library, or accept a decision into it",
        "decisions:execute_pattern",
        (
            word(
                "verb",
                "",
                "list, search, accept",
                "?",
                choices=("list", "search", "accept"),
                default="list",
            ),
            word("words", "WORD", "words to search for, or a decision", "*"),
            JSON,
        ),
        output="patterns",
        effects="writes",
        role="reviewer",
        examples="""\
exit code: 0 success, 2 unknown decision, no candidate, or no index

examples:
  runner plan pattern list
  runner plan pattern search locking sqlalchemy
  runner plan pattern accept DECISION-007   write patterns/PATTERN-007.md and its index row
""",
    ),
    Operation(
        "plan ownership",
        "show, check or propose which tasks own which files",
        "history:execute_ownership",
        (
            word(
                "verb",
                "",
                "show owners (the default), check the map, or propose rows from git's history",
                "?",
                choices=("show", "check", "propose"),
                default="show",
            ),
            word("paths", "PATH", "only these files or folders", "*"),
            flag("--write", "write the proposed rows into the map"),
            JSON,
            PLAN,
        ),
        output="ownership",
        effects="writes",
        role="operator",
        examples="""\
exit code: 0 success, 1 `check` found problems, 2 wrong usage

examples:
  runner plan ownership show src/booking/models.py
  runner plan ownership check
  runner plan ownership propose --write
""",
    ),
)
