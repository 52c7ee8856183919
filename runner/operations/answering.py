"""Operations by which a person answers, asks for changes and goes back."""

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

ITEM = Field("item", "the id of what waits: TASK-003, DRAFT-1", needed=True)
SEEN = Field("seen", "the digest that came with it: only that is answered", needed=True)
MET = Field("met", "acceptance items that a person checked: A1, or all", times="*")

ROWS = (
    Operation(
        "review",
        "everything that waits for you, numbered",
        "review:execute_review",
        (word("what", "ID", "task, draft, or number", "*"), JSON),
        output="review",
        shown=True,
        api=(
            Api(
                "listReview",
                "GET /builds/{build}/review",
                (),
                "what waits, as `review --json`, risk first",
            ),
        ),
        examples="""\
examples:
  runner review             what waits for you, numbered
  runner review TASK-003    what that task wants to change, as a diff
""",
    ),
    Operation(
        "retry",
        "have a blocked task tried again, now",
        "approval:execute_answer",
        (
            word("what", "ID", "task, draft, or number in `runner review`", "*"),
            option("--reason", "", "what the next attempt is to know", default=""),
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
                "have a task tried again",
            ),
        ),
        examples="""\
examples:
  runner retry TASK-003     a blocked task is tried again, now
  runner retry 3 --reason "use the helper in words.py"
                            the next attempt reads that first
""",
    ),
    Operation(
        "approve",
        "let what waits for review go on",
        "approval:execute_answer",
        (
            word("what", "ID", "task, draft, or number in `runner review`", "*"),
            flag("--all", "everything that waits"),
            flag("--reuse", "of a STALE task: prove what is there again, nobody implements"),
            option("--reason", "", "why held-out tests that failed are let pass", default=""),
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
                "let what waits go on, exactly as it was shown",
            ),
        ),
        examples="""\
examples:
  runner approve TASK-003   its writes land, or it runs again, with the next `runner`
  runner approve 1          the first of `runner review`
  runner approve TASK-005 --reuse
                            what it built before is only proven again
  runner approve TASK-004   of one that a held change breaks: it is built anew on that change
  runner approve 1 --met all
                            you checked each acceptance item: the grade says so
  runner approve DRAFT-1    the tasks of a draft are written into the plan
  runner approve --all      everything
""",
    ),
    Operation(
        "reject",
        "refuse what waits for review, with a reason",
        "approval:execute_answer",
        (
            word("what", "ID", "task, draft, or number in `runner review`", "*"),
            option("--reason", "", "what the next attempt is to do better", default=""),
        ),
        effects="writes",
        role="reviewer",
        api=(
            Api(
                "reject",
                "POST /builds/{build}/reject",
                (ITEM, SEEN, "reason!"),
                "refuse what waits",
            ),
        ),
        examples="""\
example:
  runner reject TASK-003 --reason "keep the old name of the function"
                            of a STALE task: what was built stands, it is DONE again
  runner reject TASK-009 --reason "bookings may touch"
                            of a held change: what it breaks is DONE again, it is tried again
  runner reject DRAFT-1 --reason "one task for each format"
                            of a draft: the wish is drafted anew
""",
    ),
    Operation(
        "edit",
        "change what waits for review in your editor",
        "approval:execute_answer",
        (word("what", "ID", "task, draft, or number in `runner review`", "*"),),
        effects="writes",
        role="reviewer",
        api=(
            Api(
                "edit",
                "POST /builds/{build}/edit",
                (ITEM, SEEN),
                "put texts in the place of what waits: fields named `file:PATH`",
            ),
        ),
        examples="""\
example:
  runner edit TASK-003      its proposed files in your editor; the next `runner` proves them
  runner edit DRAFT-1       the sections of a draft: any field may be added
""",
    ),
    Operation(
        "change",
        "ask something new of tasks: preview, then STALE until approved",
        "change:execute_change",
        (
            word("words", "ID … TEXT", "tasks, then what changes", "+"),
            flag("--yes", "record it without asking"),
            flag("--dry-run", "only say what it would do", "-n"),
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
                    Field("text", "what changes", needed=True),
                    Field("confirmed", "record it", kind=bool),
                ),
                "ask something new of tasks; without `confirmed` it only says what that would do",
            ),
        ),
        examples="""\
examples:
  runner change TASK-005 "sessions expire after 30 minutes"
                            what that makes STALE, then asks; runner '!change' is the same
  runner change TASK-005 TASK-006 "all times in UTC" --yes
  a line `!change all times in UTC` in the task's section is taken by the next run
""",
    ),
    Operation(
        "cancel",
        "end one task's attempt in a run that is going on; keep its work",
        "approval:execute_cancel",
        (TASK,),
        effects="writes",
        role="operator",
        api=(
            Api(
                "cancel",
                "POST /builds/{build}/cancel",
                ("task=id!",),
                "end one attempt; its work is kept",
            ),
        ),
        examples="""\
What the attempt has written so far is kept on a branch draft/TASK-…, without what the secret scan
or the path rules refuse. The task is BLOCKED until `runner approve` lets it begin anew; the run
goes on with the others.

examples:
  runner cancel TASK-003
""",
    ),
    Operation(
        "adopt",
        "land a branch that you finished, through pipeline, review and gates",
        "decisions:execute_adopt",
        (
            TASK,
            word("branch", "BRANCH", "default: the task's draft", "?", default=""),
            flag("--yes", "approve what a review would ask about"),
            TRUST,
            flag("--allow-dirty", "adopt beside uncommitted changes"),
            choice("--review", REVIEWS, "who approves writes"),
            SANDBOX,
            JSON,
            PLAN,
        ),
        output="adopt",
        effects="writes runs",
        role="operator",
        examples="""\
What the branch changes since it left this one is carried here, checked as everybody's work is, and
lands as the task's one commit, with the trailer Review: adopted. Nobody is called to work on it:
where it does not pass, the branch stays as it is and the findings are shown.

examples:
  runner adopt TASK-003                 the draft that the last attempt left
  runner adopt TASK-003 fix/bookings    a branch of your own
exit code: 0 it has landed, 1 it does not pass, 3 it waits for a review, 6 the branches collide
""",
    ),
    Operation(
        "replay",
        "the code as it was when a task had landed; --verify proves it all",
        "history:execute_replay",
        (
            word("ids", "ID", "the task to go back to", "*"),
            flag("--yes", "do it without asking"),
            DRY_RUN,
            JSON,
            flag("--verify", "prove what landed again, in a scratch tree"),
            flag("--all", "with --verify: every task"),
            flag("--trust", "with --verify: run its commands"),
            flag("--no-sandbox", "with --verify: enclose nothing"),
        ),
        output="replay",
        effects="writes runs",
        role="operator",
        examples="""\
examples:
  runner replay TASK-005            back to the code right after TASK-005; asks first
  runner replay TASK-005 --yes      the same without asking; then: runner run --reuse
  runner replay --verify --all      build all that landed again, from its recorded bytes
  runner replay --verify TASK-003   that task alone
""",
    ),
    Operation(
        "undo",
        "take one task back by a new commit",
        "history:execute_undo",
        (
            word("id", "ID", "the task: TASK-009, or 9"),
            option("--reason", "TEXT", "why, in a few words", default=""),
            flag("--dry-run", "say what would be done", "-n"),
            flag("--yes", "do not ask"),
            flag("--force", "though other files import its own"),
            JSON,
        ),
        output="undo",
        effects="writes",
        role="operator",
        examples="""\
examples:
  runner undo TASK-009                      asks, then reverts it by a commit; the task is PENDING
  runner undo TASK-009 --yes                without the question, as a script needs it
  runner undo TASK-009 --reason "too slow"  and why, for the plan and the commit
  runner undo TASK-009 -n                   what would change, and do nothing
""",
    ),
    Operation(
        "waive",
        "take a task as DONE without a proof, for a reason",
        "decisions:execute_waive",
        (TASK, option("--reason", "TEXT", "why it needs no proof", needed=True), PLAN),
        effects="writes",
        role="reviewer",
        examples="""\
examples:
  runner waive TASK-003 --reason "tried by hand on the printer"
  runner waive 3 --reason "a picture: looked at"

It ends by itself when the task's files change, or what the plan asks of it.
""",
    ),
)
