"""`team …`: resources that machines and people share."""

from __future__ import annotations

from runner.operations.row import JSON, PLAN, Operation, flag, option, word

ROWS = (
    Operation("team", "manage what machines and people share: leases, queues, stores, artifacts"),
    Operation(
        "team lease",
        "show which machine builds this branch; --take takes its lease",
        "decisions:execute_lease",
        (
            flag("--take", "take the lease from its holder, for the next run here"),
            option("--reason", "WHY", "why you take it; recorded", default=""),
            flag("--yes", "do not ask for confirmation"),
            JSON,
        ),
        output="lease",
        effects="reads writes sends",
        role="operator",
        examples="""\
With `git.publish = "origin"` in your own settings, a run holds the lease of its branch there.
Each landing updates the remote's branch first. Of two clones one builds; the other ends with
exit 6. A run takes over a lease that was not renewed for `git.lease_seconds`.

Use --take if the holder will not return sooner. The holder's next landing is refused, their proven
work stays on their machine, and they see your reason. The next run here uses the lease.

examples:
  runner team lease
  runner team lease --take --reason "the laptop is asleep"
""",
    ),
    Operation(
        "team artifacts list",
        "list stored and waiting artifacts",
        "artifacts:list_artifacts",
        (
            word("run", "RUN", "the start of the run's ID", "?", default=""),
            flag("--remote", "list the files of the store, not of the journal"),
            JSON,
            option("--store", "PLACE", "use this store instead of the configured one"),
            PLAN,
        ),
        output="artifact-list",
        examples="""\
With `[artifacts] store = "s3://BUCKET/PREFIX"`, or a folder, a separate process stores the results
of each run and ship when it ends: patches, analysis, logs and reports of the proofs, the journal,
and metadata.json with all digests. No run waits for it. Stored files are never overwritten. Files
that the secret scan refuses stay on this machine and are listed.

examples:
  runner team artifacts list
""",
    ),
    Operation(
        "team artifacts get",
        "fetch a run's files",
        "artifacts:fetch_artifacts",
        (
            word("run", "RUN", "the start of the run's ID (default: the last)", "?", default=""),
            word("paths", "PATH", "only these files (default: all)", "*"),
            option("--to", "FOLDER", "target folder (default: the run's ID)", default=""),
            JSON,
            option("--store", "PLACE", "use this store instead of the configured one"),
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
        "store waiting artifacts now",
        "artifacts:push_artifacts",
        (
            flag("--quiet", "print only errors"),
            JSON,
            option("--store", "PLACE", "use this store instead of the configured one"),
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
