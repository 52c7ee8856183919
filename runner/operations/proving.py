"""Operations that prove again and declare finished."""

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
        "what a task's DONE rests on; exit 1 for none",
        "one_task:execute_evidence",
        (
            word("id", "ID|FILE", "the task: TASK-003, or 3; with --check a statement's file"),
            flag("--check", "check a statement of a proof against this repository; - is input"),
            flag("--run", "with --check: prove the same again, on HEAD"),
            *PROOF,
            flag("--verbose", "commits and digests in full", "-v"),
            choice(
                "--format",
                ("text", "json", "in-toto"),
                "in-toto: a statement of its proof that others can check, as its commit tells it",
                default="text",
            ),
        ),
        output="evidence",
        effects="runs",
        tools=(
            Tool(
                "evidence",
                "What a task's DONE rests on: the tests and checks that the runner ran itself.",
                (TASK._replace(name="task", needed=True),),
            ),
        ),
        examples="""\
examples:
  runner evidence TASK-003
  runner evidence 3 -v              with commits, trees and digests in full
  runner evidence 3 --json
  runner evidence 3 --format in-toto > proof.json   for whoever has a clone, and not your word
  runner evidence --check proof.json                its shape, its digests, what its commit says
  runner evidence --check proof.json --run          then its proof again, on HEAD
""",
    ),
    Operation(
        "hold-out",
        "keep tests where their task's implementer cannot read them",
        "hold_out:execute_hold_out",
        (
            word("task", "TASK", "the task: TASK-003, or 3", "?", default=""),
            word("files", "FILE", "test files, relative to the project", "*"),
            option("--contract", "COMMAND", "the command that runs them", default=""),
            flag("--list", "every held-out file and its state"),
            flag("--check", "whether every file is in the store"),
            option("--show", "TASK", "the bytes, on a terminal only", default=""),
            flag("--replace", "new bytes for files that are held out"),
            flag("--drop", "take files out of plan and store"),
            option("--reason", "TEXT", "why they are dropped", default=""),
            option("--from", "FOLDER", "take the files from there", default="", name="source"),
            flag("--copy", "leave the originals; files that git has, too"),
            flag("--json", "one JSON document; never bytes of a file"),
            PLAN,
        ),
        output="held-out",
        effects="writes",
        role="reviewer",
        examples="""\
examples:
  runner hold-out TASK-003 tests/test_acceptance.py
                            into the store, and into the plan; the original goes
  runner hold-out TASK-003 tests/test_acceptance.py \\
    --contract "python -m pytest -q tests/test_acceptance.py"
  runner hold-out TASK-003 tests/test_acceptance.py --replace     mended tests
  runner hold-out TASK-003 tests/test_acceptance.py --drop --reason "asks too much"
  runner hold-out TASK-003 --from ~/tests     a fresh clone: the files of its plan
  runner hold-out --list
  runner hold-out --check                     exit 1 where a file is missing
  runner hold-out --show TASK-003             the files, on a terminal only
""",
    ),
    Operation(
        "verify",
        "prove a task again, or with --all everything, on HEAD as it is",
        "verify:execute_verify",
        (
            word("id", "ID", "the task: TASK-003, or 3", "?", default=""),
            flag("--all", "everything that is DONE, and the project's coverage"),
            flag("--changed", "as --all, but only what later work may change"),
            *PROOF,
        ),
        output="verify",
        effects="writes runs",
        role="operator",
        examples="""\
examples:
  runner verify TASK-003   its tests, contracts, gates and coverage, against its evidence
  runner verify --all      every check of everything that is DONE, each command once
  runner verify --changed  the same without what nothing landed since can change
""",
    ),
    Operation(
        "gate",
        "what a pull request may break, run on it as it is when merged",
        "gate:execute_gate",
        (
            option("--base", "REV", "what it is to be merged into", default=""),
            option("--head", "REV", "the pull request (default: HEAD)", default="HEAD"),
            option("--tests", "COMMAND", "what runs all tests; a plan does not count", default=""),
            option("--map", "FILE", "what tests ran on the base (default: in your cache)"),
            flag("--record", "make that map, on the base's own commit"),
            flag("--all", "run everything, whatever the change is"),
            option("--moved-from", "REV", "where the base was: rerun where they meet", default=""),
            option(
                "--comment",
                "FILE",
                "write the answer as Markdown for a comment on the pull request",
            ),
            option("--junit", "FILE", "write a JUnit report"),
            option("--sarif", "FILE", "write what breaks as SARIF 2.1.0"),
            *PROOF,
        ),
        output="gate",
        effects="runs",
        role="operator",
        examples="""\
with a plan: the tasks and contracts that the pull request may break; without one: the tests that
reach what it changes by imports, or were seen to run it (--record), or all of them, with a reason
exit: 0 nothing breaks, 1 something does, 2 settings, 3 a person has to (a conflict, trust)

examples:
  runner gate                              HEAD into the branch that CI names, else origin's
  runner gate --base origin/main --json
  runner gate --record                     on the base: what each file of tests runs
  runner gate --comment gate.md            what a comment on the pull request would say
  runner gate --head pr-12 --moved-from abc1234    only where the base's move meets its tests
""",
    ),
    Operation(
        "ship",
        "verify everything, declare SHIP and tag the commit",
        "verify:execute_ship",
        (
            option("--tag", "NAME", "the tag (default: runner-ship-<date>)", default=""),
            flag("--unproven", "ship tasks that are DONE and unproven, too"),
            flag(
                "--strict",
                "code needs tests or a contract; tests must notice a stub and small changes",
            ),
            choice(
                "--assurance",
                ("tests", "independent"),
                "the grade of every task; tests asks for no more than a proof",
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
  runner ship --pr          then pushes the branch and opens one pull request, with gh
  runner run --reopen       afterwards, to go on with the plan
""",
    ),
    Operation(
        "shell",
        "a command, or a shell, where a task's proof ran",
        "task_shell:execute",
        (
            word("id", "TASK", "the task: TASK-003, or 3"),
            option(
                "--draft",
                "",
                "the work of the last attempt that did not pass",
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
                "the commit that the last attempt began on",
                kind=bool,
                const="base",
                either="tree",
                name="tree",
            ),
            flag("--held-out", "with the held-out files, on a terminal only"),
            TRUST,
            choice("--sandbox", SANDBOXES, "what encloses it (default: as in a run)"),
            option("--no-sandbox", "", "enclose nothing", kind=bool, const="none", name="sandbox"),
            PLAN,
            Field("command", "a line for the shell, or a program", metavar="COMMAND", times="--"),
        ),
        effects="runs",
        role="operator",
        shown=True,
        examples="""\
The command runs in the same tree, sandbox, environment and folder as the task's last proof. Its
exit code is that of the command. What it writes is thrown away.

The tree is the proposal that waits for you, else the draft of an attempt that did not pass, else
HEAD. --draft, --proposal and --base choose another one. One word after -- is a line for the shell,
or the id of a check (TC-001, gate:lint); several are a program with its arguments. Without a
command a shell opens.

examples:
  runner shell TASK-003                          a shell where the proof of TASK-003 ran
  runner shell TASK-003 -- 'pytest -q | tail'    one command there
  runner shell TASK-003 --base -- TC-001         a test contract on the tree before the task
  runner shell TASK-003 --held-out               with the tests that its implementer cannot read
""",
    ),
)
