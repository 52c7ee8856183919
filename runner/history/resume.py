"""What a crash cut off from a change, an undo or a replay is finished at the next start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.history import back, change

if TYPE_CHECKING:
    from runner.history.change import Desk
    from runner.run.landing.lander import Lander
    from runner.run.unfinished import Unfinished


def resume(lander: Lander, desk: Desk, story: Unfinished) -> None:
    """Finish them in the order in which they began; doing it twice equals once."""
    for record in story.changes:
        change.complete(desk, record)
    if story.moving is not None:
        back.finish(lander, story.moving)
