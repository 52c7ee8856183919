"""Operations on the plan: check, draw, import, draft, decide."""

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
        "check the plan and say every mistake; runs nothing",
        "look:execute_validate",
        (JSON, flag("--strict", "what a run would only block is a mistake"), PLAN),
        output="validation",
        tools=(
            Tool(
                "validate",
                "Every mistake and warning of TASK-GRAPH.md, with its line and how to write it."
                " Ask after each edit of the plan. Runs nothing.",
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
        "a wish becomes tasks of the plan, which wait for your review",
        "review:execute_draft",
        (
            word("wish", "WISH", "what is wished for, in words", "?", default=""),
            option("--file", "PATH", "a file that says it"),
            option("--issue", "N", "an issue of the repository's forge, read by gh", kind=int),
            option("--with", "N,N", "issues that belong to it", default="", name="others"),
            option("--new-plan", "PATH", "a plan of its own, called TASK-GRAPH.md", default=""),
            flag("--prove", "run its test contracts on HEAD: they must fail there"),
            flag("--trust", "run who drafts, and what --prove runs, unasked"),
            flag("--no-sandbox", "run who drafts without a sandbox"),
            JSON,
            PLAN,
        ),
        output="draft",
        effects="writes runs",
        role="operator",
        api=(Api("draft", "POST /builds/{build}/draft", ("wish!",), "have a wish drafted"),),
        examples="""\
examples:
  runner draft "customers export their bookings as CSV"
  runner draft --file wish.md --new-plan plans/export/TASK-GRAPH.md
  runner draft --issue 42 --with 43,44       related issues as one draft, read by gh
  runner draft --prove "…"                   its test contracts must fail on HEAD

The agent or model of `[model] draft`, else the project's implementer, reads the repository and
answers; what it may set is a closed list. Exit 3: the draft waits, or nobody is there to draft.
""",
    ),
    Operation(
        "import",
        "take tasks of another tool's file into the plan",
        "foreign:execute",
        (
            word("source", "PATH|URL|-", "a file, a folder, an address, or `-`"),
            choice(
                "--from",
                ("spec-kit", "kiro", "openspec", "backlog", "task-master", "beads", "checklist"),
                "the form, where its shape tells not",
                name="form",
            ),
            option("--test", "COMMAND", "proves every task that names files", default=""),
            flag("--draft", "have files and proofs drafted; it waits for you"),
            flag("--trust", "with --draft: start who drafts unasked"),
            flag("--accept-done", "waive, by name, what is marked as done"),
            flag("--dry-run", "write nothing; say what would be written", "-n"),
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
  runner import backlog -n              what would be written, and nothing is
  runner import todo.md                 at a terminal it asks once what proves the tasks
  runner import - --from checklist < todo.md
  runner import specs --draft           who drafts names files and proofs; all of it waits

Read are: spec-kit, Kiro, OpenSpec, Backlog.md, Task Master, beads and plain check lists.
Titles, dependencies, criteria, priorities and files that are named come along; commands never.
""",
    ),
    Operation(
        "sync",
        "mark what is proven here in the files it was imported from",
        "foreign:execute",
        (
            flag("--uncheck", "take marks away that nothing here proves"),
            flag("--dry-run", "write nothing; say what would be written", "-n"),
            JSON,
            PLAN,
        ),
        output="sync",
        effects="writes",
        role="operator",
        examples="""\
examples:
  runner sync -n         what differs here and there
  runner sync            marks what is proven here, in the file that it came from
""",
    ),
    Operation(
        "graph",
        "the graph as text or as a picture",
        "look:execute_graph",
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
  runner graph                     drawn, in the terminal
  runner graph --format svg > graph.svg
  runner graph --json              nodes and edges for a program
""",
    ),
    Operation(
        "plan",
        "how an agent means to build a task; nothing is executed",
        "one_task:execute_plan",
        (
            TASK,
            JSON,
            PLAN,
            flag("--again", "plan again, though there is a plan"),
            option("--reason", "", "what the new plan is to do better", default=""),
            TRUST,
            choice("--plan-review", REVIEWS, "who approves the plan"),
            flag("--no-sandbox", "run the agent without a sandbox"),
            flag("--allow-dirty", "plan on HEAD beside uncommitted changes"),
        ),
        output="task-plan",
        effects="writes runs",
        role="operator",
        examples="""\
examples:
  runner plan TASK-003          make its plan, or show the one that is there
  runner plan TASK-003 --again --reason "without a new module"
                                another one instead
exit code: 0 there is an approved plan, 3 it waits for you or no plan did, 5 stopped by a budget
  or a loop
""",
    ),
    Operation(
        "plan decide",
        "write a decision into DECISIONS.md",
        "decisions:execute_decide",
        (
            word("title", "", "the choice in a few words"),
            option("--context", "TEXT", "what made a choice necessary", default=""),
            option("--decision", "TEXT", "what was chosen (the title)", default=""),
            option("--tradeoff", "TEXT", "what it costs, against what", default=""),
            option("--pattern", "TEXT", "a pattern it could become", default=""),
            option("--task", "ID", "the task it was made for", default=""),
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
        "the pattern library: list, search, accept a decision into it",
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
            word("words", "WORD", "words to search, or a decision", "*"),
            JSON,
        ),
        output="patterns",
        effects="writes",
        role="reviewer",
        examples="""\
exit: 0 well, 2 no such decision, no candidate, or no index

examples:
  runner plan pattern list
  runner plan pattern search locking sqlalchemy
  runner plan pattern accept DECISION-007   patterns/PATTERN-007.md, and its row of the index
""",
    ),
    Operation(
        "plan ownership",
        "which tasks own which files: shown, checked, proposed",
        "change:execute_ownership",
        (
            word(
                "verb",
                "",
                "show owners (the default), check the map, or propose rows from git's history",
                "?",
                choices=("show", "check", "propose"),
                default="show",
            ),
            word("paths", "PATH", "of these files or folders only", "*"),
            flag("--write", "write the proposed rows into the map"),
            JSON,
            PLAN,
        ),
        output="ownership",
        effects="writes",
        role="operator",
        examples="""\
exit: 0 well, 1 `check` found faults, 2 bad usage

examples:
  runner plan ownership show src/booking/models.py
  runner plan ownership check
  runner plan ownership propose --write
""",
    ),
)
