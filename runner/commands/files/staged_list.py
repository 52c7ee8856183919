"""The list of staged writes, as a table and as data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner.app.write.workplace import display_path
from runner.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.app.write.staged_states import Standing
    from runner.writes.staging import Staged

_HEAD = ("ID", "Task", "Action", "File", "Staged", "Standing")


def print_staged(
    known: Sequence[tuple[Staged, Standing]], *, everything: bool, as_json: bool
) -> ExitCode:
    """Print those that wait, or `everything`; how many are left out is said beside it."""
    from runner.report.documents import document
    from runner.report.table import table
    from runner.text.wording import moment, plural

    shown = [(one, standing) for one, standing in known if everything or standing.is_open]
    if as_json:
        staged = [{**as_data(one), "standing": standing} for one, standing in shown]
        sys.stdout.write(document("staged-writes", staged=staged))
        return ExitCode.OK
    if shown:
        rows = [
            (one.id, one.task, one.action.value, display_path(one.path), moment(one.time), standing)
            for one, standing in shown
        ]
        sys.stdout.write(table(_HEAD, rows))
    else:
        print("nothing waits for you", file=sys.stderr)
    if len(shown) < len(known):
        rest = plural(len(known) - len(shown), "staged write")
        print(f"{rest} no longer: runner staged-write list --all", file=sys.stderr)
    return ExitCode.OK


def as_data(staged: Staged) -> dict[str, object]:
    """One staged write for a JSON document."""
    return {
        "id": staged.id,
        "task": staged.task,
        "attempt": staged.attempt,
        "path": display_path(staged.path),
        "action": staged.action,
        "mode": f"{staged.mode:06o}",
        "before": staged.before,
        "after": staged.after,
        "time": staged.time,
    }
