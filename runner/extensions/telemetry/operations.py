"""The command that sends events to receivers."""

from __future__ import annotations

from runner.operations.row import Operation, flag, option

ROWS = (
    Operation(
        "team events",
        "events of a team's builds; with --deliver sent to your receivers",
        "runner.extensions.telemetry.events_command:execute",
        (
            option(
                "--after", "[JOURNAL:]SEQ", "only newer ones; again for each journal", times="again"
            ),
            flag("--follow", "go on as events come", "-f"),
            flag("--team", "with --deliver and --doors: of the team's store, not of this folder"),
            option("--build", "ID", "of one build in it", default=""),
            option("--store", "URL", "another store, or its path", default=""),
            flag("--deliver", "tell the receivers of your settings; --follow"),
            flag("--doors", "those receivers, and how far each one is"),
            option("--beside", "", "", kind=int, default=0, shown=False),
            flag("--json", "a JSON object a line"),
        ),
        output="doors",
        effects="writes sends",
        role="operator",
        examples="""\
Each event is named by its journal and its number there; after a break, go on with both.

examples:
  runner team events --follow --json             of all builds of the team's store
  runner team events --build 3f2 --after JOURNAL:12 --json
  runner team events --deliver --follow   this folder's, to the receivers of your settings
  runner team events --doors                     how far each of them is
""",
    ),
)

LOG_FLAGS = (flag("--events", "an event a line, named by its journal and its number there"),)
