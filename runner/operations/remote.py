"""Operations without a command: what only the page, its API and assistants ask for."""

from __future__ import annotations

from runner.operations.row import Api, Field, Operation, Tool

LONGEST_WAIT = 600
"""Seconds that one call of `wait` may take."""
LIMIT = Field("limit", "how many records at most", kind=int, least=1, most=1000)
NUMBER = Field("after", "only what follows this number", kind=int, least=0)
_PLACE = Field("after", "only what follows these places, as JOURNAL:SEQ with commas between")

ROWS = (
    Operation(
        "wait",
        "wait for the run that goes on",
        fields=(
            Field(
                "seconds",
                "how long to wait at most; 60 unless given",
                kind=int,
                least=1,
                most=LONGEST_WAIT,
            ),
        ),
        tools=(
            Tool(
                "wait",
                "Wait until the run that is going on has ended, and say how: `exit` 0 is DONE,"
                " 1 a task failed, 3 a person is asked, 4 something broke.",
                ("seconds",),
                ("status",),
            ),
        ),
    ),
    Operation(
        "builds",
        "every build that is served",
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
                "records of all builds; as text/event-stream it goes on. Each id says how far it is"
                " in all",
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
                "records behind `after`, as `log --json`; as text/event-stream it goes on",
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
            Field("text", "the whole text", needed=True),
            Field("seen", "the digest of the text that was edited", needed=True),
        ),
        api=(Api("plan", "POST /builds/{build}/plan", ("text", "seen")),),
    ),
    Operation(
        "stop",
        "end the run, as Ctrl-C does",
        effects="writes",
        role="operator",
        api=(Api("stop", "POST /builds/{build}/stop"),),
    ),
)
