"""The statuses in TASK-GRAPH.md: written seldom, losslessly, and never over a person's save."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.journal.events import StatusesPublished
from runner.model import Status, digest_of
from runner.model.grades import is_grade
from runner.plan.edit import edit_statuses, find_spans
from runner.plan.status import read_status
from runner.run.landing.time_quota import TimeQuota

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


class StatusWriter:
    """Publishes what the journal says of each task into the plan."""

    def __init__(
        self, path: Path, prefixes: tuple[str, ...], known: Mapping[bytes, Spans] | None = None
    ) -> None:
        """`known` says where the statuses stand in a text that was read before."""
        self._path = path
        self._prefixes = prefixes
        self._known: dict[bytes, Spans] = dict(known or {})
        self._ours = next(iter(self._known), None)
        self._pending: dict[str, tuple[Status, str]] = {}
        self._share = TimeQuota(SHARE_OF_RUN_TIME)

    def say(self, id_: str, status: Status, note: str = "") -> None:
        """Have this status written with the next publication."""
        self._pending[id_] = (status, note)

    def is_ours(self, text: bytes) -> bool:
        """Whether a text is the one that was read first, with nothing but our statuses in it."""
        return text == self._ours

    def due(self, *, now: bool) -> bool:
        """Whether there is something to write, and the time it takes is worth it, or `now` is."""
        return bool(self._pending) and (now or self._share.affordable)

    def publish(self, journal_it: Callable[[StatusesPublished], object], *, head: str) -> None:
        """Write what is new.

        The file is written before the journal says so: a crash between the two leaves a status that
        equals the journal's own picture, which nobody takes for a person's hand.
        """
        with self._share.spend():
            plan = self._write()
            published = {id_: status for id_, (status, _) in self._pending.items()}
            journal_it(StatusesPublished(statuses=published, head=head, plan=plan))
            self._pending.clear()

    def edit(self, text: bytes, statuses: Mapping[str, tuple[Status, str]]) -> bytes:
        """A text of the plan with these statuses; tasks that it does not have are left out.

        What says the same already stays as a person wrote it (`DONE ✅`). A text that was seen
        before is not parsed again.
        """
        spans = self._known.get(text)
        if spans is None:
            spans = find_spans(text, self._prefixes)
        there = {
            id_: said
            for id_, said in statuses.items()
            if id_ in spans and not _says(text, spans[id_], *said)
        }
        made = edit_statuses(text, there, spans)
        self._known[made.data] = made.spans
        while len(self._known) > _REMEMBERED:
            # the first stays: it is what HEAD most likely holds, and is edited again at the end
            del self._known[next(islice(self._known, 1, None))]
        return made.data

    def _write(self) -> Digest:
        """Edit and replace; when a person saved in between, their text is edited."""
        for _ in range(TRIES):
            old = self._read()
            new = self.edit(old, self._pending)
            if new == old:
                return digest_of(old)
            mode = _mode(self._path)
            if effects.write_file(self._path, new, mode=mode, expected=old):
                self._ours = new if old == self._ours else self._ours
                return digest_of(new)
        raise RunnerError(
            f"{self._path.name} is being saved over and over by another program",
            where=str(self._path),
            hint="stop what saves it, then run again; the journal is whole",
            code=ExitCode.CONFLICT,
        )

    def _read(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            raise RunnerError(
                f"{self._path.name} is gone",
                where=str(self._path),
                hint="bring it back, then run again; the journal is whole",
                code=ExitCode.CONFLICT,
            ) from None


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:  # gone since it was read: nothing will be replaced
        return 0o644


def _says(text: bytes, span: StatusSpan, status: Status, note: str) -> bool:
    """Whether a plan says this status of a task already; one that says nothing says PENDING."""
    if span.before:
        return status is Status.PENDING
    there = read_status(text[span.start : span.end].decode("utf-8", "replace"))
    if there is None or there[0] is not status:
        return False
    return note == there[1] or (not note and not is_grade(there[1]))
