"""What leaves the house: events to doors of a person's choice, traces and figures; never in a run.

The journal is the outbox. Everything here is read from it after the fact, by processes of their
own, so that a receiver that is slow, away or lying can neither slow nor break a build.
"""
