"""The operation that sends events to receivers."""

from __future__ import annotations

from runner.operations.row import Operation, flag, option

ROWS = (
    Operation(
        "team events",
        "show events of a team's builds, or send them to your receivers (--deliver)",
        "runner.extensions.telemetry.events_command:execute",
        (
            option(
                "--after",
                "[JOURNAL:]SEQ",
                "only records after SEQ; once for each journal",
                times="again",
            ),
            flag("--follow", "keep waiting for new events", "-f"),
            flag("--team", "with --deliver or --doors: use the team's store, not this folder"),
            option("--build", "ID", "events of one build", default=""),
            option("--store", "URL", "another store (URL or path)", default=""),
            flag("--deliver", "send to the receivers in your settings; combine with --follow"),
            flag("--doors", "list the receivers, and what each has got so far"),
            option("--beside", "", "", kind=int, default=0, shown=False),
            flag("--json", "one JSON object per line"),
        ),
        output="doors",
        effects="writes sends",
        role="operator",
        examples="""\
Each event has a journal and a number in it; to continue after a break, pass both.

examples:
  runner team events --follow --json             all builds in the team's store
  runner team events --build 3f2 --after JOURNAL:12 --json
  runner team events --deliver --follow   this folder's, to the receivers of your settings
  runner team events --doors                     progress of each receiver
""",
    ),
)

LOG_FLAGS = (flag("--events", "one event per line, with its journal and number"),)
