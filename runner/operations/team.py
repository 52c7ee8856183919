"""`team …`: what machines and people share."""

from __future__ import annotations

from runner.operations.row import JSON, PLAN, Operation, flag, option, word

ROWS = (
    Operation("team", "what machines and people share: leases, queues, stores, artifacts"),
    Operation(
        "team lease",
        "who builds this branch, on any machine; --take takes it",
        "approval:execute_lease",
        (
            flag("--take", "take it for the next run here"),
            option("--reason", "WHY", "why it is taken; recorded", default=""),
            flag("--yes", "do not ask for confirmation"),
            JSON,
        ),
        output="lease",
        effects="reads writes sends",
        role="operator",
        examples="""\
With `publish = "origin"` in your own settings a run holds the lease of its branch in that remote,
and each landing moves the remote's branch first: of two clones one builds, the other ends with
exit 6. A lease that nobody renewed for `lease_seconds` is taken over by itself.

--take is for a holder that will not come back sooner: their next landing is refused, their proven
work is kept where they are, and they see your reason. The next run here goes on with it.

examples:
  runner team lease
  runner team lease --take --reason "the laptop is asleep"
""",
    ),
    Operation(
        "team artifacts list",
        "what is stored, and what waits",
        "leftovers:list_artifacts",
        (
            word("run", "RUN", "the beginning of its id", "?", default=""),
            flag("--remote", "ask the store, not the journal"),
            JSON,
            option("--store", "PLACE", "another store than the one that is set"),
            PLAN,
        ),
        output="artifact-list",
        examples="""\
With `[artifacts] store = "s3://BUCKET/PREFIX"`, or a folder, a process of its own stores what each
run and each ship left once it is over: patches, analysis, logs and reports of the proofs, the
journal, and metadata.json with all digests. No run waits for it. What is stored is never written
again; what the secret scan refuses stays here, and is listed.

examples:
  runner team artifacts list
""",
    ),
    Operation(
        "team artifacts get",
        "fetch a run's files",
        "leftovers:fetch_artifacts",
        (
            word("run", "RUN", "the beginning of its id; else the last", "?", default=""),
            word("paths", "PATH", "single files; else all", "*"),
            option("--to", "FOLDER", "where to (default: the run's id)", default=""),
            JSON,
            option("--store", "PLACE", "another store than the one that is set"),
            PLAN,
        ),
        output="artifacts",
        effects="writes",
        examples="""\
examples:
  runner team artifacts get --to kept
  runner team artifacts get 019a2 patches/final.patch --to kept
""",
    ),
    Operation(
        "team artifacts push",
        "store now what waits",
        "leftovers:push_artifacts",
        (
            flag("--quiet", "say nothing but what went wrong"),
            JSON,
            option("--store", "PLACE", "another store than the one that is set"),
            PLAN,
        ),
        output="artifacts-pushed",
        effects="sends",
        role="operator",
        examples="""\
examples:
  runner team artifacts push
""",
    ),
)
