"""Which task had which secret, from when to when, as the journal tells; never a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.operation_events import SecretLeased, SecretReturned
from runner.journal.read_journal import read_journal
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from runner.project import Project

_WANTED = frozenset({"secret.leased", "secret.returned"})


@dataclass(frozen=True, slots=True)
class SecretUse:
    """One secret, lent once."""

    name: str
    task: str
    attempt: int
    """0 where no attempt was under way, as in a proof by hand."""
    source: str
    since: str
    """RFC 3339 in UTC, as `until`."""
    until: str
    """When it was given back; where the runner was killed before, when its time was over."""
    returned: bool

    @property
    def span(self) -> tuple[str, str]:
        """From and until, for a person."""
        shown = [time[:19].replace("T", " ") for time in (self.since, self.until)]
        return shown[0], shown[1] if self.returned else f"{shown[1]} at the latest"


def list_secret_uses(project: Project) -> tuple[SecretUse, ...]:
    """Every lease, the oldest first. Raises RunnerError where the journal is damaged."""
    uses: list[SecretUse] = []
    open_ones: dict[tuple[str, int, str], int] = {}
    for record in read_journal(project.journal_path, wanted=_WANTED):
        event = record.event
        if isinstance(event, SecretLeased):
            where = (event.name, record.task, record.attempt)
            open_ones[record.task, record.attempt, event.name] = len(uses)
            uses.append(SecretUse(*where, event.source, record.time, event.until, returned=False))
        elif isinstance(event, SecretReturned):
            at = open_ones.pop((record.task, record.attempt, event.name), None)
            if at is not None:
                one = uses[at]
                where = (one.name, one.task, one.attempt)
                ended = SecretUse(*where, one.source, one.since, record.time, returned=True)
                uses[at] = ended
    return tuple(uses)
