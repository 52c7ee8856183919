"""What the walk found as findings, and what it says of bandit's: told better, or of no harm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.writes.sast_report import Issue
from runner.writes.taint.expressions import TooLong
from runner.writes.taint.rules import BANDIT, SAYS
from runner.writes.taint.walk import walk

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Sequence

    from runner.writes.taint.abstract_values import Place, Report

TOOL = "taint"
_WITHOUT_SOURCE = frozenset(("weakhash", "weakrand", "securecookie"))


def rank_issues(
    tree: ast.Module, found: Sequence[Issue], tick: Callable[[], None]
) -> tuple[Issue, ...]:
    """What bandit found and what the walk found, together.

    Where both speak of one line, the walk's stands, since it says from where the value came. Where
    constants alone reach a sink, bandit's is left out; where checked values do, it is kept as low.
    """
    try:
        report = walk(tree, tick)
    except (TooLong, RecursionError):  # what was found so far would look like all
        return tuple(found)
    own = [_issue(place) for _, place in sorted(report.found.items(), key=_line)]
    return (*(kept for one in found if (kept := _keep_issue(one, report)) is not None), *own)


def _line(item: tuple[tuple[str, int], Place]) -> tuple[int, str]:
    (kind, line), _ = item
    return line, kind


def _keep_issue(issue: Issue, report: Report) -> Issue | None:
    """One of bandit's findings as it is told; None where the walk's own says it better."""
    kind = BANDIT.get(issue.rule, "")
    place = kind, issue.line
    if place in report.found:
        return None
    if place in report.checked:
        message = f"{issue.message} (what comes here was checked or disarmed)"
        return replace(issue, severity="low", confidence="low", message=message)
    return None if place in report.constant else issue


def _issue(place: Place) -> Issue:
    weakness, words, severity = SAYS[place.kind]
    return Issue(
        rule=f"{TOOL}-{place.kind}",
        line=place.line,
        column=place.column,
        severity="low" if place.weak else severity,
        confidence="medium" if place.kind in _WITHOUT_SOURCE else "high",
        message=f"{weakness}: {words} {place.source}"
        if place.kind not in _WITHOUT_SOURCE
        else f"{weakness}: {words} ({place.source})",
        tool=TOOL,
    )
