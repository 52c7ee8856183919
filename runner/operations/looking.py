"""Operations that read: status, tasks, journal, settings, machine."""

from __future__ import annotations

from runner.operations.row import (
    JSON,
    PLAN,
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

AFTER = option(
    "--after",
    "SEQ",
    "only what follows this number, the oldest first; 0: from the beginning",
    kind=int,
    least=0,
)

ROWS = (
    Operation(
        "status",
        "every task with its status, and what is next",
        "status:execute",
        (
            JSON,
            PLAN,
            flag("--list", "one task a line", either="form"),
            flag("--next", "only tasks that can start now, in the order of a run", either="form"),
            flag("--watch", "draw again at every change", either="form"),
            flag("--costs", "what the proofs took, by kind", either="form"),
            option("--status", "STATUS", "with --list: only tasks of this status"),
        ),
        output="status",
        shown=True,
        api=(
            Api(
                "getStatus",
                "GET /builds/{build}",
                (),
                "every task with its status, as `status --json`",
            ),
        ),
        tools=(
            Tool(
                "status",
                "Every task of the plan with its status (PENDING, IN-PROGRESS, DONE, BLOCKED,"
                " STALE), what its DONE is worth (proven, unproven, waived), what is ready, and"
                " whether a run is going on. Ask for one status alone where the plan is long.",
                ("status",),
            ),
            Tool(
                "next",
                "The tasks that could start now, in the order of a run.",
                words=("status", "--next"),
            ),
        ),
        examples="""\
examples:
  runner status           the table of tasks, and what to type next
  runner status --watch   the same, drawn anew whenever something changes
  runner status --json    the same for a program
  runner status --costs   what the proofs took so far, by kind, and what was saved
  runner status --list --status blocked
                          the blocked tasks, one a line
  runner status --next    tasks that can start now
""",
    ),
    Operation(
        "show",
        "one task: its plan, attempts, evidence and findings",
        "one_task:execute_show",
        (
            TASK,
            JSON,
            PLAN,
            flag("--verbose", "commits and digests in full", "-v"),
            flag("--brief", "the exact brief for an implementer of the task"),
            flag("--parts", "with --brief: only the tokens of each part"),
        ),
        output="task",
        shown=True,
        api=(
            Api(
                "getTask",
                "GET /builds/{build}/tasks/{task}",
                (),
                "one task whole, as `show --json`",
            ),
        ),
        tools=(
            Tool(
                "show",
                "One task whole: what the plan asks, its attempts and findings, its evidence.",
                ("task=id!",),
            ),
            Tool(
                "brief",
                "The brief for an implementer of this task: read it before you write its files.",
                ("task=id!",),
                ("show", "--brief"),
            ),
        ),
        examples="""\
examples:
  runner show TASK-003
  runner show 3 -v        with commits, trees and digests in full
  runner show 3 --json
  runner show 3 --brief           the brief; what its parts cost on standard error
  runner show 3 --brief --parts   only what its parts cost, in tokens
""",
    ),
    Operation(
        "why",
        "why a task would run, waits or is blocked",
        "one_task:execute_why",
        (word("id", "ID", "the task: TASK-003, or 3", "?"), JSON, PLAN),
        output="why",
        shown=True,
        api=(
            Api(
                "explainTask",
                "GET /builds/{build}/tasks/{task}/why",
                (),
                "why it stands so, as `why --json`",
            ),
        ),
        tools=(
            Tool(
                "why",
                "Why a task would run, waits, is blocked, stale or done, with what to do about it;"
                " without a task, everything that does not go on by itself.",
                ("task=id",),
            ),
        ),
        examples="""\
examples:
  runner why TASK-003
  runner why 3 --json
  runner why                everything that does not go on by itself
""",
    ),
    Operation(
        "doctor",
        "what this machine offers, and what is missing",
        "look:execute_doctor",
        (
            JSON,
            flag("--remote", "also ask the remote of `publish`"),
            flag("--repository", "what this repository is, read from its commit"),
            PLAN,
        ),
        output="doctor",
        shown=True,
        examples="""\
examples:
  runner doctor            exit 0, or 3 where something that is needed is missing
  runner doctor --remote   also whether the remote can be published to (`publish`)
  runner doctor --repository
                           stack, builds, tests, gates, packages, owners, imports, hot files
  runner doctor --json
""",
    ),
    Operation(
        "blame",
        "the task, attempt, review and proof behind a line",
        "history:execute_blame",
        (word("place", "FILE[:LINE]", "a file that git knows"), JSON),
        output="blame",
        examples="""\
examples:
  runner blame src/booking/models.py      whose the lines of a file are
  runner blame src/booking/models.py:41   all that is known of one line
""",
    ),
    Operation(
        "log",
        "what happened, from the journal",
        "log:execute_log",
        (
            flag("--follow", "go on as events come", "-f"),
            option("--task", "ID", "only what is about this task", default=""),
            option(
                "--after",
                "[JOURNAL:]SEQ",
                "only newer records; with --events again for each journal",
                times="again",
            ),
            option("--first", "N", "only the oldest N of them", kind=int, either="first"),
            option("--last", "N", "only the newest N of them", kind=int, either="first"),
            option(
                "--limit",
                "N",
                "at most N: the newest, or with --after those that follow",
                kind=int,
                either="first",
                least=1,
                most=1000,
            ),
            flag("--json", "records as the journal has them"),
        ),
        output="log",
        tools=(
            Tool(
                "log",
                "What happened, from the journal, the newest last: the newest records, or with"
                " `after` those that follow a `seq`. To follow it, give the last `seq` that you"
                " received as `after`, until nothing comes.",
                ("task", AFTER, "limit"),
                ("log", "--limit=100"),
            ),
        ),
        examples="""\
examples:
  runner log --task TASK-003
  runner log --follow              until Ctrl-C
  runner log --after 120 --first 50
                                   the 50 records that follow number 120
  runner log --json                one document; with --follow one JSON object a line
  runner log --events --after JOURNAL:120 --follow --json
                                   for a program: after a break, go on with both names
""",
    ),
    Operation(
        "stats",
        "builds, failures, waits, costs and proofs, counted",
        "log:execute_stats",
        (
            option("--since", "AGE", "only the last 30d, 12h, …", default=""),
            flag("--time", "the seconds of each run and task"),
            JSON,
        ),
        output="stats",
        examples="""\
examples:
  runner stats                      since the journal began
  runner stats --since 30d          the last thirty days; also 90m, 12h, 2w
  runner stats --json               the same for a program
  runner stats --time               where the seconds went, by run and task
  runner stats --team               a team's builds by state, and what is left of its budget
""",
    ),
    Operation(
        "settings",
        "every setting, its value and where it came from",
        "look:execute_settings",
        (JSON,),
        output="settings",
        examples="""\
examples:
  runner settings
  RUNNER_JOBS=2 runner settings --json
""",
    ),
    Operation(
        "impact",
        "which tasks and tests a change may affect, and why",
        "change:execute_impact",
        (
            word("paths", "PATH", "a file or folder", "*"),
            option("--since", "REV", "what differs from this revision"),
            option("--task", "ID", "what this task changed when it landed"),
            choice(
                "--changed-dependents",
                ("transitive", "direct", "none"),
                "how far the change is followed (default: as the settings say)",
            ),
            flag("--conservative", "count whatever cannot be decided as affected"),
            flag("--run", "run what is found; 1 if something fails"),
            TRUST,
            flag("--all", "ask about tasks that are not DONE too"),
            flag("--json", "one JSON document", either="form"),
            choice(
                "--format", ("text", "github"), "github: annotations", default="text", either="form"
            ),
            PLAN,
        ),
        output="impact",
        effects="runs",
        role="operator",
        tools=(
            Tool(
                "impact",
                "Which tasks and tests a change of files may affect, and why; without paths, what"
                " differs from HEAD. Runs nothing.",
                ("paths", "since", "task"),
            ),
        ),
        examples="""\
without a path: what differs from HEAD, staged or not
exit: 0, however many tasks are affected; with --run 1 when one of the tests fails

examples:
  runner impact
  runner impact src/booking/models.py
  runner impact --since main --format github
  runner impact --run              on HEAD with what is not committed, in a scratch tree
  runner impact --task TASK-003 --json
""",
    ),
    Operation(
        "help completion",
        "what completes commands, flags and ids in your shell",
        "completion:execute",
        (word("shell", "SHELL", "bash, zsh or fish"),),
        examples="""\
examples:
  source <(runner help completion bash)                  in ~/.bashrc
  source <(runner help completion zsh)                   in ~/.zshrc, after compinit
  runner help completion fish > ~/.config/fish/completions/runner.fish
""",
    ),
    Operation(
        "help",
        "this list; --all for every command",
        "help:execute",
        (
            word("command", "COMMAND", "everything about this one; or blocked, or exit", "?"),
            word("code", "CODE", "a reason of BLOCKED, an exit code", "?"),
            flag("--all", "every command and every option of run"),
        ),
        examples="""\
examples:
  runner help --all
  runner help run            everything about one command
  runner help blocked        every reason of BLOCKED, and what to do
  runner help blocked proof  one of them
  runner help exit 3         what an exit code means, and what to do
""",
    ),
)
