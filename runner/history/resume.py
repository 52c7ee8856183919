"""What a crash cut off from a change, an undo or a replay is finished at the next start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.history import change, revert

if TYPE_CHECKING:
    from runner.history.change import ChangeContext
    from runner.run.landing.lander import Lander
    from runner.run.unfinished_runs import UnfinishedRuns


def resume(lander: Lander, desk: ChangeContext, story: UnfinishedRuns) -> None:
    """Finish them in the order in which they began; doing it twice equals once."""
    for record in story.changes:
        change.complete(desk, record)
    if story.moving is not None:
        revert.finish(lander, story.moving)
