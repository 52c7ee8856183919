"""The one label that says where an issue is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.bridge.status_comment import Stage

if TYPE_CHECKING:
    from runner.bridge.forge import Forge, Issue


def show_stage(forge: Forge, issue: Issue, stage: Stage) -> Issue:
    """Put its label on and take the others off, none where it has ended; the issue as it is then.

    The new one comes first: a kill between leaves two, and the next look mends that.
    """
    if stage is not Stage.ENDED and stage not in issue.labels:
        forge.add_label(issue.number, stage)
    others = {one.value for one in Stage} & issue.labels - {stage}
    for one in sorted(others):
        forge.remove_label(issue.number, one)
    shown = frozenset({stage.value} - {""})
    return replace(issue, labels=issue.labels - others | shown)
