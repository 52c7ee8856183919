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
    "only records after this number, oldest first; 0: from the beginning",
    kind=int,
    least=0,
)

ROWS = (
    Operation(
        "status",
        "show every task with its status, and what is next",
        "status:execute",
        (
            JSON,
            PLAN,
            flag("--list", "one task per line", either="form"),
            flag("--next", "only tasks that can start now, in run order", either="form"),
            flag("--watch", "redraw after every change", either="form"),
            flag("--costs", "time that proofs took, by kind", either="form"),
            option("--status", "STATUS", "with --list: only tasks with this status"),
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
                "List every task of the plan with its status (PENDING, IN-PROGRESS, DONE, BLOCKED,"
                " STALE), how its DONE is backed (proven, unproven, waived), which tasks are ready,"
                " and whether a run is active. If the plan is long, ask for one status.",
                ("status",),
            ),
            Tool(
                "next",
                "List the tasks that can start now, in run order.",
                words=("status", "--next"),
            ),
        ),
        examples="""\
examples:
  runner status           show all tasks, and what to type next
  runner status --watch   redraw it whenever something changes
  runner status --costs   time that proofs took so far, by kind, and time saved
  runner status --list --status blocked
                          list the blocked tasks, one per line
  runner status --next    list tasks that can start now
""",
    ),
    Operation(
        "show",
        "show one task: its plan, attempts, evidence and findings",
        "one_task:execute_show",
        (
            TASK,
            JSON,
            PLAN,
            flag("--verbose", "show commits and digests in full", "-v"),
            flag("--brief", "print the exact brief for an implementer of the task"),
            flag("--parts", "with --brief: print only the token count of each part"),
        ),
        output="task",
        shown=True,
        api=(
            Api(
                "getTask",
                "GET /builds/{build}/tasks/{task}",
                (),
                "one task in full, as `show --json`",
            ),
        ),
        tools=(
            Tool(
                "show",
                "Show one task: its requirements, attempts, findings and evidence.",
                ("task=id!",),
            ),
            Tool(
                "brief",
                "Print the brief for an implementer of a task. Read it before you write its files.",
                ("task=id!",),
                ("show", "--brief"),
            ),
        ),
        examples="""\
examples:
  runner show TASK-003
  runner show 3 -v        with commits, trees and digests in full
  runner show 3 --json
  runner show 3 --brief           the brief; token counts go to standard error
  runner show 3 --brief --parts   only the token count of each part
""",
    ),
    Operation(
        "why",
        "explain why a task would run, waits or is blocked",
        "one_task:execute_why",
        (word("id", "ID", "task ID, such as TASK-003 or 3", "?"), JSON, PLAN),
        output="why",
        shown=True,
        api=(
            Api(
                "explainTask",
                "GET /builds/{build}/tasks/{task}/why",
                (),
                "why a task has its status, as `why --json`",
            ),
        ),
        tools=(
            Tool(
                "why",
                "Explain why a task would run, waits, or is blocked, stale or done, and what to do."
                " Without a task, explain everything that cannot continue by itself.",
                ("task=id",),
            ),
        ),
        examples="""\
examples:
  runner why TASK-003
  runner why 3 --json
  runner why                everything that cannot continue by itself
""",
    ),
    Operation(
        "doctor",
        "check what this machine has, and what is missing",
        "inspection:execute_doctor",
        (
            JSON,
            flag("--remote", "also check the remote of `git.publish`"),
            flag("--repository", "describe this repository, as committed"),
            PLAN,
        ),
        output="doctor",
        shown=True,
        examples="""\
examples:
  runner doctor            exit 0, or 3 if something required is missing
  runner doctor --remote   also check that the runner can push to the remote (`git.publish`)
  runner doctor --repository
                           stack, builds, tests, gates, packages, owners, imports, hot files
  runner doctor --json
""",
    ),
    Operation(
        "blame",
        "show the task, attempt, review and proof of a line",
        "history:execute_blame",
        (word("place", "FILE[:LINE]", "a file that git tracks"), JSON),
        output="blame",
        examples="""\
examples:
  runner blame src/booking/models.py      the task of each line of a file
  runner blame src/booking/models.py:41   everything known about one line
""",
    ),
    Operation(
        "log",
        "show what happened, from the journal",
        "inspection:execute_log",
        (
            flag("--follow", "print new records as they come", "-f"),
            option("--task", "ID", "only records of this task", default=""),
            option(
                "--after",
                "[JOURNAL:]SEQ",
                "only records after SEQ; with --events, repeat it for each journal",
                times="again",
            ),
            option("--first", "N", "only the oldest N records", kind=int, either="first"),
            option("--last", "N", "only the newest N records", kind=int, either="first"),
            option(
                "--limit",
                "N",
                "at most N records: the newest, or with --after the next ones",
                kind=int,
                either="first",
                least=1,
                most=1000,
            ),
            flag("--json", "print records as they are in the journal"),
        ),
        output="log",
        tools=(
            Tool(
                "log",
                "Show records of the journal, the newest last: the latest ones, or those with a"
                " `seq` above `after`. To follow the journal, pass the last `seq` that you received"
                " as `after`, until you receive no record.",
                ("task", AFTER, "limit"),
                ("log", "--limit=100"),
            ),
        ),
        examples="""\
examples:
  runner log --task TASK-003
  runner log --follow              until Ctrl-C
  runner log --after 120 --first 50
                                   the 50 records after number 120
  runner log --json                one document; with --follow one JSON object per line
  runner log --events --after JOURNAL:120 --follow --json
                                   for programs: continue after this journal and number
""",
    ),
    Operation(
        "stats",
        "count builds, failures, waits, costs and proofs",
        "inspection:execute_stats",
        (
            option("--since", "AGE", "only this period: 30d, 12h, …", default=""),
            flag("--time", "the seconds that each run and task took"),
            JSON,
        ),
        output="stats",
        examples="""\
examples:
  runner stats                      since the journal began
  runner stats --since 30d          only the last thirty days; also 90m, 12h, 2w
  runner stats --time               the seconds that each run and task took
  runner stats --team               a team's builds by state, and its remaining budget
""",
    ),
    Operation(
        "settings",
        "show settings, their values and their sources",
        "inspection:execute_settings",
        (
            flag("--all", "list all settings"),
            flag("--from-repository", "show only what the repository's file sets"),
            JSON,
        ),
        output="settings",
        examples="""\
examples:
  runner settings                     what differs from the default
  runner settings --from-repository   only what the repository's file sets
  RUNNER_BUILD_JOBS=2 runner settings --json
""",
    ),
    Operation(
        "impact",
        "show which tasks and tests a change may affect, and why",
        "history:execute_impact",
        (
            word("paths", "PATH", "a file or folder", "*"),
            option("--since", "REV", "the files that differ from this revision"),
            option("--task", "ID", "the files that this task changed when it landed"),
            choice(
                "--changed-dependents",
                ("transitive", "direct", "none"),
                "how far to trace the change (default: from the settings)",
            ),
            flag("--conservative", "if the analysis cannot decide, count a test as affected"),
            flag("--run", "run the affected tests; exit 1 if one fails"),
            TRUST,
            flag("--all", "include tasks that are not DONE"),
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
                "Show which tasks and tests a change of files may affect, and why. Without paths,"
                " use the files that differ from HEAD. Runs nothing.",
                ("paths", "since", "task"),
            ),
        ),
        examples="""\
without a path: the files that differ from HEAD, staged or not
exit code: 0, however many tasks are affected; with --run 1 if a test fails

examples:
  runner impact
  runner impact src/booking/models.py
  runner impact --since main --format github
  runner impact --run              on HEAD with uncommitted changes, in a scratch tree
  runner impact --task TASK-003 --json
""",
    ),
    Operation(
        "help completion",
        "print the completion of commands, flags and IDs for your shell",
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
        "show this list; --all for every command",
        "help:execute",
        (
            word("command", "COMMAND", "the command to explain; or blocked, or exit", "?"),
            word("code", "CODE", "with blocked: the reason; with exit: the exit code", "?"),
            flag("--all", "show every command and every option of run"),
        ),
        examples="""\
examples:
  runner help --all
  runner help run            everything about one command
  runner help blocked        every reason for BLOCKED, and what to do
  runner help blocked proof  one reason
  runner help exit 3         what an exit code means, and what to do
""",
    ),
)
