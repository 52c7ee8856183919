"""Operations without a command, for the page, its API and assistants."""

from __future__ import annotations

from runner.operations.row import Api, Field, Operation, Tool

LONGEST_WAIT = 600
"""Maximum seconds of one `wait` call."""
LIMIT = Field("limit", "the maximum number of records", kind=int, least=1, most=1000)
NUMBER = Field("after", "only records after this number", kind=int, least=0)
_PLACE = Field("after", "only records after these places: JOURNAL:SEQ, comma-separated")

ROWS = (
    Operation(
        "wait",
        "wait for the active run",
        fields=(
            Field(
                "seconds",
                "how many seconds to wait at most (default: 60)",
                kind=int,
                least=1,
                most=LONGEST_WAIT,
            ),
        ),
        tools=(
            Tool(
                "wait",
                "Wait until the active run has ended, and return how: `exit` 0 all tasks are DONE,"
                " 1 a task failed, 3 the user must answer, 4 the run stopped at a regression.",
                ("seconds",),
                ("status",),
            ),
        ),
    ),
    Operation(
        "builds",
        "list every build that is served",
        output="builds",
        api=(Api("listBuilds", "GET /builds"),),
    ),
    Operation(
        "events of all",
        "records of all builds",
        output="events",
        api=(
            Api(
                "followEvents",
                "GET /events",
                (_PLACE, LIMIT),
                "records of all builds; text/event-stream keeps streaming. The id of a record"
                " is its position among the records of all builds",
                streams=True,
            ),
        ),
    ),
    Operation(
        "events of one",
        "records of one build",
        output="log",
        api=(
            Api(
                "listEvents",
                "GET /builds/{build}/events",
                (NUMBER, LIMIT),
                "records after number `after`, as `log --json`; text/event-stream keeps streaming",
                streams=True,
            ),
        ),
    ),
    Operation(
        "text of the plan",
        "the plan's text with its mistakes, as `validate --json`",
        output="plan",
        api=(Api("getPlan", "GET /builds/{build}/plan"),),
    ),
    Operation(
        "save the plan",
        "save the plan's text",
        effects="writes",
        role="operator",
        fields=(
            Field("text", "the full text", needed=True),
            Field("seen", "the digest of the text that was edited", needed=True),
        ),
        api=(Api("plan", "POST /builds/{build}/plan", ("text", "seen")),),
    ),
    Operation(
        "stop",
        "stop the run, like Ctrl-C",
        effects="writes",
        role="operator",
        api=(Api("stop", "POST /builds/{build}/stop"),),
    ),
)
