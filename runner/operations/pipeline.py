"""`pipeline …`: the single steps of the write pipeline, for scripts."""

from __future__ import annotations

from runner.operations.row import FORMS, JSON, SANDBOXES, Operation, flag, option, word

ROWS = (
    Operation("pipeline", "single steps of the write pipeline, for scripts and people"),
    Operation(
        "pipeline commit-by-task",
        "commit what the write log has, one commit a task",
        "history:execute_commit_by_task",
        (
            option("--task", "ID", "only this task's commit", default=""),
            flag("--dry-run", "commit nothing", "-n"),
            JSON,
        ),
        output="commit-by-task",
        effects="writes",
        role="operator",
        examples="""\
examples:
  runner pipeline commit-by-task                  one commit for each task with logged writes
  runner pipeline commit-by-task --dry-run        which commits that would be
  runner pipeline commit-by-task --task TASK-003  that task's alone; exit 6 where others come first
""",
    ),
    Operation(
        "pipeline check-coverage",
        "how much of a task's lines its tests run",
        "gate:execute_check_coverage",
        (
            option("--task", "ID", "the task whose lines are meant", needed=True),
            option("--threshold", "PERCENT", "default: what the plan asks for"),
            flag("--again", "run the test contracts whatever the journal knows"),
            flag("--trust", "let this repository's commands run"),
            JSON,
        ),
        output="check-coverage",
        effects="runs",
        role="operator",
        examples="""\
The journal's coverage is shown where the tree is still the one that was measured; else the task's
test contracts run in a scratch tree with the files as they are now.

exit codes: 0 the threshold is reached, or there is nothing to measure; 1 it is not, or a test
failed; 2 wrong usage

examples:
  runner pipeline check-coverage --task TASK-003
  runner pipeline check-coverage --threshold 70 --task TASK-003 --json
""",
    ),
    Operation(
        "pipeline parallel",
        "one command for several tasks at once, each in its own tree",
        "parallel:execute",
        (
            option("--tasks", "IDS", "ids with commas between them", "-tasks", default=""),
            option("--cmd", "COMMAND", "what to run, by /bin/sh -c", "-cmd", default=""),
            option("--task-graph", "PATH", "another plan than TASK-GRAPH.md", "-task-graph"),
            flag("--split", "sequence tasks that may write one file", "-split"),
            option("--jobs", "N", "tasks at once (default: cores)", "-j", "-jobs", kind=int),
            option("--sandbox", "", "what encloses it", "-sandbox", choices=SANDBOXES),
            flag("--json", "one JSON document", "-json"),
        ),
        output="parallel",
        effects="runs",
        role="operator",
        examples="""\
The command runs once for each task, in the sandbox, in a scratch tree that shows HEAD: what it
writes is kept nowhere, and what is not committed is not seen. Each gets RUNNER_TASK, RUNNER_SLOT,
RUNNER_PORT_BASE and TMPDIR of its own, the network that its task asks for, and the secrets that
its task requires. Two tasks that may write one file, by their Output files or by
FILE_OWNERSHIP_MAP.md, are refused together (exit 2); with --split they run one after the other.
What two tasks use of one scarce thing keeps them apart in any case.

Exit code: 0 where it passed for all, 1 where it failed for one.

examples:
  runner pipeline parallel --tasks TASK-001,TASK-002 --cmd "pnpm test"
  python scripts/parallel_runner.py -tasks TASK-001,TASK-002 -cmd "pnpm test" \\
      -task-graph artifacts/build/TASK-GRAPH.md
""",
    ),
    Operation(
        "pipeline secret-scan",
        "what in these files looks like a secret",
        "file_checks:execute_secret_scan",
        (word("files", "FILE", "a file; - is standard input", "*"), *FORMS),
        output="secret-scan",
        examples="""\
exit: 0 nothing blocks, 1 something does, 2 a file could not be read

examples:
  runner pipeline secret-scan src/app.py .env
  git show HEAD:src/app.py | runner pipeline secret-scan -
  runner pipeline secret-scan --json src/app.py
  runner pipeline secret-scan --sarif findings.sarif src/app.py
""",
    ),
    Operation(
        "pipeline secrets allow",
        "let one value pass",
        "file_checks:allow_secret",
        (
            word("place", "FILE:LINE", "where the scan found it", "?"),
            option("--value-from", "FILE", "the value itself; - is standard input"),
            option("--reason", "TEXT", "why it is no secret", default=""),
            option("--expires", "DATE", "last day, as 2027-01-31", default=""),
        ),
        effects="writes",
        role="reviewer",
        examples="""\
The entry is a salted digest with a reason and your name, in secrets-allowed.toml, which no
task may write. Commit it, so that everybody's scan passes the same values.

examples:
  runner pipeline secrets allow tests/test_api.py:12 --reason "key of the vendor's documentation"
  runner pipeline secrets allow app.py:12:9 --reason "a public key" --expires 2027-01-31
  pass show sample | runner pipeline secrets allow --value-from - --reason "sample of the tutorial"
""",
    ),
    Operation(
        "pipeline secrets list",
        "what passes, and until when",
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
        "which task had which leased secret, from when to when",
        "file_checks:show_secret_uses",
        (JSON,),
        output="secret-uses",
        examples="""\
examples:
  runner pipeline secrets log               who had which of your [secret.NAME], and when
""",
    ),
    Operation(
        "pipeline staged-write stage",
        "propose a file's new content",
        "write_pipeline:stage_write",
        (
            option("--task", "ID", "the task it is for", needed=True),
            option("--file", "PATH", "the file to write", needed=True),
            option("--content", "FILE", "its new bytes; - is input", needed=True),
        ),
        effects="writes",
        role="operator",
        examples="""\
exit: 0 applied, 1 refused or rejected, 3 it waits for you, 6 the file changed meanwhile

examples:
  runner pipeline staged-write stage --task TASK-003 --file src/app.py --content proposed.txt
""",
    ),
    Operation(
        "pipeline staged-write list",
        "what waits",
        "write_pipeline:list_staged",
        (
            option("--task", "ID", "only what is of this task", default=""),
            flag("--all", "what is decided or landed, too"),
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
        "one proposal as a diff",
        "write_pipeline:show_staged",
        (word("id", "ID", "eight letters and digits, as `list` says"), JSON),
        output="staged-write",
        examples="""\
examples:
  runner pipeline staged-write show 1a2b3c4d
""",
    ),
    Operation(
        "pipeline staged-write apply",
        "write exactly these bytes",
        "write_pipeline:apply_staged",
        (word("id", "ID", "eight letters and digits, as `list` says"),),
        effects="writes",
        role="reviewer",
        examples="""\
exit: 0 applied, 1 refused or rejected, 3 it waits for you, 6 the file changed meanwhile

examples:
  runner pipeline staged-write apply 1a2b3c4d
""",
    ),
    Operation(
        "pipeline staged-write edit",
        "change the proposal in $EDITOR",
        "write_pipeline:edit_staged",
        (word("id", "ID", "eight letters and digits, as `list` says"),),
        effects="writes",
        role="reviewer",
        examples="""\
examples:
  runner pipeline staged-write edit 1a2b3c4d
""",
    ),
    Operation(
        "pipeline staged-write reject",
        "refuse it, with a reason",
        "write_pipeline:reject_staged",
        (
            option("--reason", "TEXT", "read by the next attempt", default=""),
            word("id", "ID", "eight letters and digits, as `list` says"),
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
        "static analysis of a file; never blocks",
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
Static analysis informs and never blocks: the exit code is 0 whatever it finds, and for a file
that cannot be read, too; 1 where OUT.sarif cannot be written, 2 only for wrong options.

examples:
  runner pipeline sast-scan src/app.py --task TASK-003
  runner pipeline sast-scan src/app.py --task TASK-003 --sarif findings.sarif
""",
    ),
    Operation(
        "pipeline sast-log",
        "every finding so far",
        "file_checks:show_code_findings",
        (option("--task", "ID", "only what is of this task", default=""), *FORMS),
        output="sast",
        examples="""\
examples:
  runner pipeline sast-log --task TASK-003
  runner pipeline sast-log --sarif findings.sarif
""",
    ),
    Operation(
        "pipeline write-log record",
        "note a write as it stands",
        "history:record_write",
        (
            option("--task", "ID", "the task it was for", needed=True),
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
        "what was written, and became of it",
        "history:show_writes",
        (option("--task", "ID", "only what is of this task", default=""), JSON),
        output="write-log",
        examples="""\
examples:
  runner pipeline write-log show --task TASK-003
  runner pipeline write-log show --json
""",
    ),
)
