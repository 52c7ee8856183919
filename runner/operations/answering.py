"""Operations for a person's answers: approve, request changes, undo."""

from __future__ import annotations

from runner.operations.row import (
    DRY_RUN,
    JSON,
    PLAN,
    REVIEWS,
    SANDBOX,
    TASK,
    TRUST,
    Api,
    Field,
    Operation,
    choice,
    flag,
    option,
    word,
)

ITEM = Field("item", "ID of the pending item: TASK-003, DRAFT-1", needed=True)
SEEN = Field("seen", "digest shown with the item; refused if the item has changed", needed=True)
MET = Field("met", "acceptance items that you checked: A1, or all", times="*")

ROWS = (
    Operation(
        "review",
        "list everything that waits for you, numbered",
        "review:execute_review",
        (word("what", "ID", "task ID, draft ID, or number", "*"), JSON),
        output="review",
        shown=True,
        api=(
            Api(
                "listReview",
                "GET /builds/{build}/review",
                (),
                "pending items, highest risk first, as `review --json`",
            ),
        ),
        examples="""\
examples:
  runner review             list what waits for you, numbered
  runner review TASK-003    show the changes of that task as a diff
""",
    ),
    Operation(
        "retry",
        "retry a blocked task now",
        "decisions:execute_answer",
        (
            word("what", "ID", "task ID, draft ID, or number in `runner review`", "*"),
            option("--reason", "", "information for the next attempt", default=""),
        ),
        output="run",
        effects="writes runs",
        role="operator",
        shown=True,
        api=(
            Api(
                "retry",
                "POST /builds/{build}/retry",
                (TASK._replace(name="task", needed=True), "reason"),
                "retry a task",
            ),
        ),
        examples="""\
examples:
  runner retry TASK-003     retry a blocked task now
  runner retry 3 --reason "use the helper in words.py"
                            the next attempt reads this reason first
""",
    ),
    Operation(
        "approve",
        "approve what waits for review",
        "decisions:execute_answer",
        (
            word("what", "ID", "task ID, draft ID, or number in `runner review`", "*"),
            flag("--all", "approve everything that waits"),
            flag("--reuse", "for a STALE task: re-test the existing code, do not rebuild"),
            option("--reason", "", "why you accept failed held-out tests", default=""),
            option(
                "--met",
                "ITEMS",
                "acceptance items that you checked yourself, such as A1,A2, or all",
                default="",
            ),
        ),
        effects="writes",
        role="reviewer",
        api=(
            Api(
                "approve",
                "POST /builds/{build}/approve",
                (ITEM, SEEN, "reuse", "reason", MET),
                "approve a pending item exactly as it was shown",
            ),
        ),
        examples="""\
examples:
  runner approve TASK-003   the next `runner` lands its writes, or runs it again
  runner approve 1          the first item of `runner review`
  runner approve TASK-005 --reuse
                            only re-test what the task built before
  runner approve TASK-004   if a held change breaks this task: rebuild it on that change
  runner approve 1 --met all
                            you checked each acceptance item; the grade records it
  runner approve DRAFT-1    write the tasks of a draft into the plan
  runner approve --all      approve everything
""",
    ),
    Operation(
        "reject",
        "reject what waits for review, with a reason",
        "decisions:execute_answer",
        (
            word("what", "ID", "task ID, draft ID, or number in `runner review`", "*"),
            option("--reason", "", "what the next attempt should do better", default=""),
        ),
        effects="writes",
        role="reviewer",
        api=(
            Api(
                "reject",
                "POST /builds/{build}/reject",
                (ITEM, SEEN, "reason!"),
                "reject a pending item",
            ),
        ),
        examples="""\
example:
  runner reject TASK-003 --reason "keep the old name of the function"
                            for a STALE task: keep its code; the task is DONE again
  runner reject TASK-009 --reason "bookings may touch"
                            for a held change: retry it; the tasks that it breaks are DONE again
  runner reject DRAFT-1 --reason "one task for each format"
                            for a draft: draft the request again
""",
    ),
    Operation(
        "edit",
        "edit what waits for review in your editor",
        "decisions:execute_answer",
        (word("what", "ID", "task ID, draft ID, or number in `runner review`", "*"),),
        effects="writes",
        role="reviewer",
        api=(
            Api(
                "edit",
                "POST /builds/{build}/edit",
                (ITEM, SEEN),
                "replace the texts of a pending item; fields are named `file:PATH`",
            ),
        ),
        examples="""\
example:
  runner edit TASK-003      edit its proposed files; the next `runner` tests them
  runner edit DRAFT-1       edit the sections of a draft; you may add any field
""",
    ),
    Operation(
        "change",
        "request a change of tasks: preview, then STALE until approved",
        "history:execute_change",
        (
            word("words", "ID … TEXT", "task IDs, then the change in words", "+"),
            flag("--yes", "record it without asking"),
            flag("--dry-run", "only show what would change", "-n"),
            JSON,
        ),
        output="change",
        effects="writes",
        role="operator",
        api=(
            Api(
                "change",
                "POST /builds/{build}/change",
                (
                    TASK._replace(name="tasks", times="+", needed=True),
                    Field("text", "the change in words", needed=True),
                    Field("confirmed", "record the change", kind=bool),
                ),
                "request a change of tasks; without `confirmed` only preview it",
            ),
        ),
        examples="""\
examples:
  runner change TASK-005 "sessions expire after 30 minutes"
                            preview the STALE tasks, then ask; same as runner '!change'
  runner change TASK-005 TASK-006 "all times in UTC" --yes
  the next run also applies a line `!change all times in UTC` in the task's section
""",
    ),
    Operation(
        "cancel",
        "stop one task's attempt in the active run; keep its work",
        "decisions:execute_cancel",
        (TASK,),
        effects="writes",
        role="operator",
        api=(
            Api(
                "cancel",
                "POST /builds/{build}/cancel",
                ("task=id!",),
                "stop one attempt; keep its work",
            ),
        ),
        examples="""\
The files of the attempt are saved on a branch draft/TASK-…, except those that the secret scan or
the path rules refuse. The task is BLOCKED until `runner approve` lets it start again. The run
continues with the other tasks.

examples:
  runner cancel TASK-003
""",
    ),
    Operation(
        "adopt",
        "land your finished branch through pipeline, review and gates",
        "decisions:execute_adopt",
        (
            TASK,
            word("branch", "BRANCH", "your branch (default: the task's draft)", "?", default=""),
            flag("--yes", "approve without showing a review"),
            TRUST,
            flag("--allow-dirty", "adopt despite uncommitted changes"),
            choice("--review", REVIEWS, "who reviews changes"),
            SANDBOX,
            JSON,
            PLAN,
        ),
        output="adopt",
        effects="writes runs",
        role="operator",
        examples="""\
The runner takes the changes of the branch since it diverged from this one, and checks them like
any other work. They land as one commit of the task with the trailer Review: adopted. No implementer
runs. If the checks fail, the branch stays unchanged and the findings are shown.

examples:
  runner adopt TASK-003                 the draft of the last attempt
  runner adopt TASK-003 fix/bookings    a branch of your own
exit code: 0 landed, 1 checks failed, 3 waits for a review, 6 the branches conflict
""",
    ),
    Operation(
        "replay",
        "restore the code as of one task's landing; --verify re-tests it",
        "history:execute_replay",
        (
            word("ids", "ID", "the task to go back to", "*"),
            flag("--yes", "do not ask for confirmation"),
            DRY_RUN,
            JSON,
            flag("--verify", "rebuild and re-test what landed, in a scratch tree"),
            flag("--all", "with --verify: every task"),
            flag("--trust", "with --verify: run the commands of tasks"),
            flag("--no-sandbox", "with --verify: run without a sandbox"),
        ),
        output="replay",
        effects="writes runs",
        role="operator",
        examples="""\
examples:
  runner replay TASK-005            restore the code right after TASK-005; asks first
  runner replay TASK-005 --yes      the same without asking; then: runner run --reuse
  runner replay --verify --all      rebuild everything that landed from its recorded files
  runner replay --verify TASK-003   only that task
""",
    ),
    Operation(
        "undo",
        "revert one task with a new commit",
        "history:execute_undo",
        (
            word("id", "ID", "task ID, such as TASK-009 or 9"),
            option("--reason", "TEXT", "a short reason", default=""),
            flag("--dry-run", "only show what would be done", "-n"),
            flag("--yes", "do not ask for confirmation"),
            flag("--force", "undo even if other files import its files"),
            JSON,
        ),
        output="undo",
        effects="writes",
        role="operator",
        examples="""\
examples:
  runner undo TASK-009                      ask, then revert it with a commit; it becomes PENDING
  runner undo TASK-009 --yes                do not ask; for scripts
  runner undo TASK-009 --reason "too slow"  record a reason in the plan and the commit
  runner undo TASK-009 -n                   only show what would change
""",
    ),
    Operation(
        "waive",
        "accept a task as DONE without a proof, with a reason",
        "decisions:execute_waive",
        (TASK, option("--reason", "TEXT", "why it needs no proof", needed=True), PLAN),
        effects="writes",
        role="reviewer",
        examples="""\
examples:
  runner waive TASK-003 --reason "tested manually on the printer"
  runner waive 3 --reason "a picture: I looked at it"

The waiver ends when the task's files or its requirements in the plan change.
""",
    ),
)
