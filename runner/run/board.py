"""The statuses in TASK-GRAPH.md: written seldom, losslessly, and never over a person's save."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.journal.events import StatusesPublished
from runner.model import Status, digest_of
from runner.plan.edit import edit_statuses, find_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from runner.model import Digest
    from runner.plan.status import StatusSpan

    Spans: TypeAlias = Mapping[str, StatusSpan]

SHARE_OF_RUN_TIME = 0.05
"""The most of a run's time that writing statuses may take."""
_REMEMBERED = 4
"""Texts of the plan whose spans are kept: the committed one, the one on disk, and their edits."""
TRIES = 20
"""How often a save by a person just before our own may make us begin again."""


class Board:
    """Publishes what the journal says of each task into the plan."""

    def __init__(
        self, path: Path, prefixes: tuple[str, ...], known: Mapping[bytes, Spans] | None = None
    ) -> None:
        """`known` says where the statuses stand in a text that was read before."""
        self._path = path
        self._prefixes = prefixes
        self._known: dict[bytes, Spans] = dict(known or {})
        self._pending: dict[str, tuple[Status, str]] = {}
        self._spent = 0.0
        self._began = effects.monotonic()

    def say(self, id_: str, status: Status, note: str = "") -> None:
        """Have this status written with the next publication."""
        self._pending[id_] = (status, note)

    def publish(
        self, journal_it: Callable[[StatusesPublished], object], *, head: str, now: bool
    ) -> None:
        """Write what is new, at once or when the time it takes is worth it.

        The file is written before the journal says so: a crash between the two leaves a status that
        equals the journal's own picture, which nobody takes for a person's hand.
        """
        if not self._pending or not (now or self._affordable()):
            return
        began = effects.monotonic()
        plan = self._write()
        published = {id_: status for id_, (status, _) in self._pending.items()}
        journal_it(StatusesPublished(statuses=published, head=head, plan=plan))
        self._pending.clear()
        self._spent += effects.monotonic() - began

    def _affordable(self) -> bool:
        return self._spent <= SHARE_OF_RUN_TIME * (effects.monotonic() - self._began)

    def edited(self, text: bytes, statuses: Mapping[str, tuple[Status, str]]) -> bytes:
        """A text of the plan with these statuses; tasks that it does not have are left out.

        A text that was seen before is not parsed again.
        """
        spans = self._known.get(text)
        if spans is None:
            spans = find_spans(text, self._prefixes)
        there = {id_: said for id_, said in statuses.items() if id_ in spans}
        made = edit_statuses(text, there, spans)
        self._known[made.data] = made.spans
        while len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
        return made.data

    def _write(self) -> Digest:
        """Edit and replace; when a person saved in between, their text is edited."""
        for _ in range(TRIES):
            old = self._path.read_bytes()
            new = self.edited(old, self._pending)
            if new == old:
                return digest_of(old)
            mode = self._path.stat().st_mode & 0o777
            if self._path.read_bytes() == old:
                effects.write_file(self._path, new, mode=mode)
                return digest_of(new)
        raise RunnerError(
            f"{self._path.name} is being saved over and over by another program",
            where=str(self._path),
            hint="stop what saves it, then run again; the journal is whole",
            code=ExitCode.CONFLICT,
        )
