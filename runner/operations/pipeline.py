"""`pipeline …`: the single steps of the write pipeline, for scripts."""

from __future__ import annotations

from runner.operations.row import FORMS, JSON, SANDBOXES, Operation, flag, option, word

ROWS = (
    Operation("pipeline", "run single steps of the write pipeline"),
    Operation(
        "pipeline commit-by-task",
        "commit the writes in the write log, one commit per task",
        "history:execute_commit_by_task",
        (
            option("--task", "ID", "only this task's commit", default=""),
            flag("--dry-run", "show the commits; commit nothing", "-n"),
            JSON,
        ),
        output="commit-by-task",
        effects="writes",
        role="operator",
        examples="""\
examples:
  runner pipeline commit-by-task                  one commit for each task with logged writes
  runner pipeline commit-by-task --dry-run        show which commits it would make
  runner pipeline commit-by-task --task TASK-003  only that task; exit 6 if others come first
""",
    ),
    Operation(
        "pipeline check-coverage",
        "measure how many of a task's lines its tests run",
        "gate:execute_check_coverage",
        (
            option("--task", "ID", "the task to measure", needed=True),
            option("--threshold", "PERCENT", "required coverage (default: from the plan)"),
            flag("--again", "run the test contracts even if the journal has a result"),
            flag("--trust", "run this repository's commands without asking"),
            JSON,
        ),
        output="check-coverage",
        effects="runs",
        role="operator",
        examples="""\
If the tree did not change since the last measurement, the coverage comes from the journal. If it
did, the task's test contracts run in a scratch tree with the current files.

exit code: 0 the threshold is reached, or there is nothing to measure; 1 it is not reached, or a
test failed; 2 wrong usage

examples:
  runner pipeline check-coverage --task TASK-003
  runner pipeline check-coverage --threshold 70 --task TASK-003 --json
""",
    ),
    Operation(
        "pipeline parallel",
        "run one command for several tasks in parallel, each in its own tree",
        "file_checks:execute_parallel",
        (
            option("--tasks", "IDS", "task IDs, separated by commas", "-tasks", default=""),
            option("--cmd", "COMMAND", "the command, run by /bin/sh -c", "-cmd", default=""),
            option("--task-graph", "PATH", "use this plan instead of TASK-GRAPH.md", "-task-graph"),
            flag("--split", "run tasks that may write the same file one by one", "-split"),
            option("--jobs", "N", "parallel tasks (default: cores)", "-j", "-jobs", kind=int),
            option("--sandbox", "", "sandbox for the command", "-sandbox", choices=SANDBOXES),
            flag("--json", "one JSON document", "-json"),
        ),
        output="parallel",
        effects="runs",
        role="operator",
        examples="""\
The command runs once for each task, in the sandbox, in a scratch tree of HEAD. Its writes are
discarded, and it does not see uncommitted changes. Each run gets its own RUNNER_TASK, RUNNER_SLOT,
RUNNER_PORT_BASE and TMPDIR, the network that its task asks for, and the secrets that its task
requires. Two tasks that may write the same file, by their Output files or FILE_OWNERSHIP_MAP.md,
are refused (exit 2); with --split they run one after the other. Tasks that need the same scarce
resource never run at the same time.

exit code: 0 if it passed for all tasks, 1 if it failed for one

examples:
  runner pipeline parallel --tasks TASK-001,TASK-002 --cmd "pnpm test"
  python scripts/parallel_runner.py -tasks TASK-001,TASK-002 -cmd "pnpm test" \\
      -task-graph artifacts/build/TASK-GRAPH.md
""",
    ),
    Operation(
        "pipeline secret-scan",
        "find likely secrets in files",
        "file_checks:execute_secret_scan",
        (word("files", "FILE", "a file; - is standard input", "*"), *FORMS),
        output="secret-scan",
        examples="""\
exit code: 0 no finding blocks, 1 a finding blocks, 2 a file could not be read

examples:
  runner pipeline secret-scan src/app.py .env
  git show HEAD:src/app.py | runner pipeline secret-scan -
  runner pipeline secret-scan --json src/app.py
  runner pipeline secret-scan --sarif findings.sarif src/app.py
""",
    ),
    Operation(
        "pipeline secrets allow",
        "allow a value that the secret scan reports",
        "file_checks:allow_secret",
        (
            word("place", "FILE:LINE", "where the scan found it", "?"),
            option("--value-from", "FILE", "the value itself; - is standard input"),
            option("--reason", "TEXT", "why it is not a secret", default=""),
            option("--expires", "DATE", "last day, as 2027-01-31", default=""),
        ),
        effects="writes",
        role="reviewer",
        examples="""\
The entry is a salted digest with a reason and your name, in secrets-allowed.toml, which no
task may write. Commit it, so every clone's scan allows the same values.

examples:
  runner pipeline secrets allow tests/test_api.py:12 --reason "key of the vendor's documentation"
  runner pipeline secrets allow app.py:12:9 --reason "a public key" --expires 2027-01-31
  pass show sample | runner pipeline secrets allow --value-from - --reason "sample of the tutorial"
""",
    ),
    Operation(
        "pipeline secrets list",
        "list allowed values and when they expire",
        "file_checks:list_allowed",
        (JSON,),
        output="secrets",
        examples="""\
examples:
  runner pipeline secrets list
""",
    ),
    Operation(
        "pipeline secrets log",
        "show which task had which leased secret, and when",
        "file_checks:show_secret_uses",
        (JSON,),
        output="secret-uses",
        examples="""\
examples:
  runner pipeline secrets log               which task had which of your [secret.NAME]
""",
    ),
    Operation(
        "pipeline staged-write stage",
        "propose a file's new content",
        "write_pipeline:stage_write",
        (
            option("--task", "ID", "the task it is for", needed=True),
            option("--file", "PATH", "the file to write", needed=True),
            option("--content", "FILE", "its new content; - is standard input", needed=True),
        ),
        effects="writes",
        role="operator",
        examples="""\
exit code: 0 applied, 1 refused or rejected, 3 waits for you, 6 the file changed meanwhile

examples:
  runner pipeline staged-write stage --task TASK-003 --file src/app.py --content proposed.txt
""",
    ),
    Operation(
        "pipeline staged-write list",
        "list the staged writes that wait",
        "write_pipeline:list_staged",
        (
            option("--task", "ID", "only writes of this task", default=""),
            flag("--all", "also list decided and landed writes"),
            JSON,
        ),
        output="staged-writes",
        examples="""\
examples:
  runner pipeline staged-write list
""",
    ),
    Operation(
        "pipeline staged-write show",
        "show one proposal as a diff",
        "write_pipeline:show_staged",
        (word("id", "ID", "the ID from `list`: eight letters and digits"), JSON),
        output="staged-write",
        examples="""\
examples:
  runner pipeline staged-write show 1a2b3c4d
""",
    ),
    Operation(
        "pipeline staged-write apply",
        "write one proposal exactly as it was staged",
        "write_pipeline:apply_staged",
        (word("id", "ID", "the ID from `list`: eight letters and digits"),),
        effects="writes",
        role="reviewer",
        examples="""\
exit code: 0 applied, 1 refused or rejected, 3 waits for you, 6 the file changed meanwhile

examples:
  runner pipeline staged-write apply 1a2b3c4d
""",
    ),
    Operation(
        "pipeline staged-write edit",
        "edit one proposal in $EDITOR",
        "write_pipeline:edit_staged",
        (word("id", "ID", "the ID from `list`: eight letters and digits"),),
        effects="writes",
        role="reviewer",
        examples="""\
examples:
  runner pipeline staged-write edit 1a2b3c4d
""",
    ),
    Operation(
        "pipeline staged-write reject",
        "reject one proposal, with a reason",
        "write_pipeline:reject_staged",
        (
            option("--reason", "TEXT", "the reason, which the next attempt reads", default=""),
            word("id", "ID", "the ID from `list`: eight letters and digits"),
        ),
        effects="writes",
        role="reviewer",
        examples="""\
examples:
  runner pipeline staged-write reject 1a2b3c4d --reason "keep the old name of the function"
""",
    ),
    Operation(
        "pipeline sast-scan",
        "run static analysis on files; never blocks",
        "file_checks:scan_code",
        (
            word("files", "FILE", "a file of the project", "*"),
            option("--task", "ID", "the task it was written for", default=""),
            *FORMS,
        ),
        output="sast",
        effects="writes runs",
        role="operator",
        examples="""\
Static analysis informs and never blocks. The exit code is 0 whatever it finds, even if a file
cannot be read. It is 1 if OUT.sarif cannot be written, and 2 only for wrong options.

examples:
  runner pipeline sast-scan src/app.py --task TASK-003
  runner pipeline sast-scan src/app.py --task TASK-003 --sarif findings.sarif
""",
    ),
    Operation(
        "pipeline sast-log",
        "list all findings of static analysis",
        "file_checks:show_code_findings",
        (option("--task", "ID", "only findings of this task", default=""), *FORMS),
        output="sast",
        examples="""\
examples:
  runner pipeline sast-log --task TASK-003
  runner pipeline sast-log --sarif findings.sarif
""",
    ),
    Operation(
        "pipeline write-log record",
        "record the current content of a file as a write",
        "history:record_write",
        (
            option("--task", "ID", "ID of its task", needed=True),
            option("--file", "PATH", "the file that was written", needed=True),
        ),
        effects="writes",
        role="operator",
        examples="""\
examples:
  runner pipeline write-log record --task TASK-003 --file src/app.py
""",
    ),
    Operation(
        "pipeline write-log show",
        "show what was written, and its outcome",
        "history:show_writes",
        (option("--task", "ID", "only writes of this task", default=""), JSON),
        output="write-log",
        examples="""\
examples:
  runner pipeline write-log show --task TASK-003
  runner pipeline write-log show --json
""",
    ),
)
