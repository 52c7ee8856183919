"""Telemetry: events to configured receivers, traces and metrics; never inside a run.

The journal is the outbox. Everything here is read from it after the fact, by processes of their
own, so that a receiver that is slow, away or lying can neither slow nor break a build.
"""
