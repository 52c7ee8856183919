"""Tests of other tasks on a cluster: shared among workers that are free, and heard together.

As at home, where they run in every scratch tree that nobody needs. What only the coordinator can
keep is kept here: which of them failed for a change before.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.gates.regression import (
    KIND,
    Suspects,
    count_helpers,
    estimate_seconds,
    make_left_out,
    remember_failure,
)
from runner.model import Ending, Finding
from runner.run.executors.recheck import CHECK, redact_findings, redact_proofs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runner.gates.regression import Traced
    from runner.model import Outcome
    from runner.run.assignment import Assignment, WorkerContext
    from runner.run.executors.message import Answer, Others
    from runner.run.executors.remote_job import Lost

    Ask = Callable[[Suspects], Answer | tuple[Lost, ...]]
    """Takes some of them to a worker, and brings back what it says."""


def ask_workers(
    suspects: Suspects, site: WorkerContext, ask: Ask
) -> tuple[Answer | tuple[Lost, ...], ...]:
    """What workers say of all that is traced, asked at once where slots of the run are free."""
    from concurrent.futures import ThreadPoolExecutor

    with ExitStack() as claimed:
        helpers = 0
        while helpers < count_helpers(suspects) and claimed.enter_context(site.crew.lanes.claim()):
            helpers += 1
        first, *more = share_out(suspects, helpers + 1)
        if not more:
            return (ask(first),)
        with ThreadPoolExecutor(max_workers=len(more), thread_name_prefix="lane") as executor:
            beside = [executor.submit(ask, one) for one in more]
            return (ask(first), *(one.result() for one in beside))


def share_out(suspects: Suspects, shares: int) -> tuple[Suspects, ...]:
    """So many shares at most, each as long as the others; what fails soonest stays first in each.

    What uses scarce things, one of which two must not take at once, is all in the first one.
    """
    rows: list[list[Traced]] = [[] for _ in range(shares)]
    seconds = [0.0] * shares
    for one in suspects.traced:
        at = 0 if one.task.uses else seconds.index(min(seconds))
        rows[at].append(one)
        seconds[at] += estimate_seconds(one)
    filled = [tuple(row) for row in rows if row]
    notes = [suspects.notes, *((),) * len(filled)]
    return tuple(
        Suspects(row, suspects.enough, said) for row, said in zip(filled, notes, strict=False)
    )


def join_others(
    outcome: Outcome, said: tuple[Others, ...], suspects: Suspects, assignment: Assignment
) -> Outcome:
    """The outcome with the word of tests of other tasks, as far as they have all spoken."""
    known = tuple(
        value
        for pairs in (assignment.secrets, *(one.secrets for one in suspects.traced))
        for _, value in pairs
    )
    place = {one.check: number for number, one in enumerate(suspects.traced)}
    found = [one for other in said for one in redact_findings(other.findings, known)]
    findings = [one for one in found if one.check != KIND]  # what was left out is counted here
    findings.sort(key=lambda one: place.get(one.check, len(place)))
    proofs = [one for other in said for one in redact_proofs(other.proofs, known)]
    proofs.sort(key=lambda one: place.get(one.id, len(place)))
    bad = any(finding.refuses for finding in findings)
    heard = {proof.id for proof in proofs}
    unheard = [check for check in place if check not in heard]
    if unheard and not bad:
        message = f"the worker did not run {', '.join(unheard[:3])}"
        findings, bad = [*findings, Finding(check=CHECK, message=message)], True
    elif unheard:
        failed = {one.check for one in findings if one.refuses}
        findings.append(make_left_out(len(unheard), len(failed & place.keys())))
    return replace(
        outcome,
        ending=Ending.FAILED if bad else outcome.ending,
        proofs=(*outcome.proofs, *proofs),
        findings=(*outcome.findings, *findings),
        observed=(*outcome.observed, *(seen for other in said for seen in other.observed)),
    )


def remember_failures(outcome: Outcome, suspects: Suspects, kept: Path | None, shown: str) -> None:
    """Keep at home what failed, where the next change asks for the order."""
    failed = {one.check for one in outcome.findings if one.refuses}
    for traced in suspects.traced:
        if traced.check in failed:
            remember_failure(traced, kept, shown)
