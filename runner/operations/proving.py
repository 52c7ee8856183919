"""Operations that prove again and ship."""

from __future__ import annotations

from runner.operations.row import (
    PLAN,
    PROOF,
    SANDBOXES,
    TASK,
    TRUST,
    Field,
    Operation,
    Tool,
    choice,
    flag,
    option,
    word,
)

ROWS = (
    Operation(
        "evidence",
        "show the evidence that a task is DONE; exit 1 if there is none",
        "one_task:execute_evidence",
        (
            word("id", "ID|FILE", "task ID, such as TASK-003 or 3; with --check a file"),
            flag("--check", "check a proof statement against this repository; - reads stdin"),
            flag("--run", "with --check: run the proof again, on HEAD"),
            *PROOF,
            flag("--verbose", "show commits and digests in full", "-v"),
            choice(
                "--format",
                ("text", "json", "in-toto"),
                "in-toto: a proof statement from the task's commit, for others to check",
                default="text",
            ),
        ),
        output="evidence",
        effects="runs",
        tools=(
            Tool(
                "evidence",
                "Show the evidence that a task is DONE: tests and checks that the runner ran.",
                (TASK._replace(name="task", needed=True),),
            ),
        ),
        examples="""\
examples:
  runner evidence TASK-003
  runner evidence 3 -v              with commits, trees and digests in full
  runner evidence 3 --json
  runner evidence 3 --format in-toto > proof.json   for anybody with a clone to check
  runner evidence --check proof.json                check its format, digests and commit
  runner evidence --check proof.json --run          also run its proof again, on HEAD
""",
    ),
    Operation(
        "hold-out",
        "store tests where the task's implementer cannot read them",
        "hold_out:execute_hold_out",
        (
            word("task", "TASK", "task ID, such as TASK-003 or 3", "?", default=""),
            word("files", "FILE", "test files, relative to the project", "*"),
            option("--contract", "COMMAND", "the command that runs the files", default=""),
            flag("--list", "list every held-out file and its state"),
            flag("--check", "check that every file is in the store"),
            option("--show", "TASK", "show the files, on a terminal only", default=""),
            flag("--replace", "replace files that are already held out"),
            flag("--drop", "remove files from plan and store"),
            option("--reason", "TEXT", "with --drop: why you remove the files", default=""),
            option("--from", "FOLDER", "take files from this folder", default="", name="source"),
            flag("--copy", "keep the originals; also accept files that were in git"),
            flag("--json", "one JSON document, without content of files"),
            PLAN,
        ),
        output="held-out",
        effects="writes",
        role="reviewer",
        examples="""\
examples:
  runner hold-out TASK-003 tests/test_acceptance.py
                            move it into the store and list it in the plan
  runner hold-out TASK-003 tests/test_acceptance.py \\
    --contract "python -m pytest -q tests/test_acceptance.py"
  runner hold-out TASK-003 tests/test_acceptance.py --replace     corrected tests
  runner hold-out TASK-003 tests/test_acceptance.py --drop --reason "asks too much"
  runner hold-out TASK-003 --from ~/tests     in a fresh clone: fill the store
  runner hold-out --list
  runner hold-out --check                     exit 1 if a file is missing
  runner hold-out --show TASK-003             show the files, on a terminal only
""",
    ),
    Operation(
        "verify",
        "re-test a task, or with --all everything, on the current HEAD",
        "verify:execute_verify",
        (
            word("id", "ID", "task ID, such as TASK-003 or 3", "?", default=""),
            flag("--all", "every DONE task, and the project's coverage"),
            flag("--changed", "like --all, but only what later work may affect"),
            *PROOF,
        ),
        output="verify",
        effects="writes runs",
        role="operator",
        examples="""\
examples:
  runner verify TASK-003   run its tests, contracts, gates and coverage; compare with its evidence
  runner verify --all      run every check of all DONE tasks, each command once
  runner verify --changed  skip what no later landing can affect
""",
    ),
    Operation(
        "gate",
        "test what a pull request may break, on its merge result",
        "gate:execute_gate",
        (
            option("--base", "REV", "the revision to merge into", default=""),
            option("--head", "REV", "the commit to test (default: HEAD)", default="HEAD"),
            option("--tests", "COMMAND", "run all tests by this, without the plan", default=""),
            option("--map", "FILE", "test map: what each test runs (default: in your cache)"),
            flag("--record", "run all tests of the checked-out base and write the test map"),
            flag("--all", "run everything, whatever changed"),
            option(
                "--moved-from",
                "REV",
                "the base of an earlier check: rerun only if later changes of the base matter",
                default="",
            ),
            option(
                "--comment",
                "FILE",
                "write the result as Markdown for a pull-request comment",
            ),
            option("--junit", "FILE", "write a JUnit report"),
            option("--sarif", "FILE", "write what breaks as SARIF 2.1.0"),
            *PROOF,
        ),
        output="gate",
        effects="runs",
        role="operator",
        examples="""\
With a plan, it tests the tasks and contracts that the pull request may break. Without one, it runs
tests that import the changed files or ran them before (--record), or all tests with a reason.
exit code: 0 nothing breaks, 1 something does, 2 wrong settings, 3 needs you (a conflict, trust)

examples:
  runner gate                              merge HEAD into the branch that CI names, else origin's
  runner gate --base origin/main --json
  runner gate --record                     on the base: record what each test file runs
  runner gate --comment gate.md            write the text of a pull-request comment
  runner gate --head pr-12 --moved-from abc1234    rerun only if tests overlap with the base's
""",
    ),
    Operation(
        "ship",
        "verify everything, declare SHIP and tag the commit",
        "verify:execute_ship",
        (
            option("--tag", "NAME", "the tag (default: runner-ship-<date>)", default=""),
            flag("--unproven", "also ship tasks that are DONE but unproven"),
            flag(
                "--strict",
                "refuse code whose tests also pass on stubs or mutants of it",
            ),
            choice(
                "--assurance",
                ("tests", "independent"),
                "the grade that every task needs: tests (any proof) or independent",
            ),
            flag("--pr", "push the branch and open a pull request, with gh"),
            *PROOF,
        ),
        output="ship",
        effects="writes runs sends",
        role="operator",
        examples="""\
examples:
  runner ship               verify --all, then the tag runner-ship-2026-11-21
  runner ship --tag v1.0.0
  runner ship --pr          then push the branch and open one pull request, with gh
  runner run --reopen       continue with the plan afterwards
""",
    ),
    Operation(
        "shell",
        "open a shell, or run a command, where a task's proof ran",
        "one_task:execute_shell",
        (
            word("id", "TASK", "task ID, such as TASK-003 or 3"),
            option(
                "--draft",
                "",
                "the work of the last attempt that failed",
                kind=bool,
                const="draft",
                either="tree",
                name="tree",
            ),
            option(
                "--proposal",
                "",
                "the work that waits for review",
                kind=bool,
                const="proposal",
                either="tree",
                name="tree",
            ),
            option(
                "--base",
                "",
                "the commit that the last attempt started from",
                kind=bool,
                const="base",
                either="tree",
                name="tree",
            ),
            flag("--held-out", "include the held-out files, on a terminal only"),
            TRUST,
            choice("--sandbox", SANDBOXES, "sandbox for the command (default: as in a run)"),
            option("--no-sandbox", "", "use no sandbox", kind=bool, const="none", name="sandbox"),
            PLAN,
            Field("command", "a shell command line, or a program", metavar="COMMAND", times="--"),
        ),
        effects="runs",
        role="operator",
        shown=True,
        examples="""\
The command runs in the same tree, sandbox, environment and folder as the task's last proof. Its
exit code is that of the command. Its writes are discarded.

The tree is the proposal that waits for you, else the draft of an attempt that failed, else HEAD.
--draft, --proposal and --base choose another tree. One word after -- is a shell command line, or
the ID of a check (TC-001, gate:lint). Several words are a program with its arguments. Without a
command a shell opens.

examples:
  runner shell TASK-003                          open a shell where the proof of TASK-003 ran
  runner shell TASK-003 -- 'pytest -q | tail'    run one command there
  runner shell TASK-003 --base -- TC-001         run a test contract on the tree before the task
  runner shell TASK-003 --held-out               include the tests that its implementer cannot read
""",
    ),
)
