"""What earlier proofs were seen to execute: kept a task, looked up by file."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from runner.impact.python_blocks import blocks_of, find_changed_blocks, ranges_of, runs, spans_in
from runner.impact.reasons import Proven
from runner.languages.registry import is_written_in
from runner.lazy_module import lazy_module
from runner.model import Observed, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from runner.impact import kept_results
    from runner.impact.change import Changed
    from runner.impact.python_blocks import CodeBlock
    from runner.impact.store import ImpactStore
    from runner.model import Digest
else:
    kept_results = lazy_module("runner.impact.kept_results")


_OTHERS = "regression:"
"""How a check of another task's test contract is named (`gates/regression`)."""


class KeptTrace(NamedTuple):
    """One kept row, with the task it belongs to."""

    task: str
    row: Observed


class Observations:
    """What is known of executions, in a store."""

    def __init__(self, store: ImpactStore) -> None:
        self._store = store

    def keep(self, task: str, rows: Iterable[Observed], contracts: Iterable[str] = ()) -> None:
        """Replace what is known of a task's proof, or only of the test contracts named.

        Rows of other tasks' test contracts, which were run on the task's change (a contract named
        `regression:TASK-004/TC-004`), replace what is known of those.
        """
        own: list[Observed] = []
        others: dict[tuple[str, str], list[Observed]] = {}
        for row in rows:
            if row.contract.startswith(_OTHERS):
                other, _, contract = row.contract.removeprefix(_OTHERS).partition("/")
                others.setdefault((other, contract), []).append(replace(row, contract=contract))
            else:
                own.append(row)
        self._keep(task, own, tuple(contracts))
        for (other, contract), some in others.items():
            self._keep(other, some, (contract,))

    def _keep(self, task: str, rows: Iterable[Observed], named: tuple[str, ...]) -> None:
        packed: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
        for row in rows:
            row_data = (row.test, row.digest, row.lines)
            packed.setdefault((row.path, row.contract), []).append(row_data)
        some = f" and contract in ({','.join('?' * len(named))})" if named else ""
        with self._store.change() as database:
            database.execute(f"delete from observed where task = ?{some}", (task, *named))  # noqa: S608 - question marks only
            database.executemany(
                "insert or replace into observed values(?, ?, ?, ?)",
                (
                    (path, task, contract, json.dumps(row_data, separators=(",", ":")))
                    for (path, contract), row_data in packed.items()
                ),
            )

    def forget(self, task: str) -> None:
        """Take a task's proof out: it is no longer known what it executes."""
        self.keep(task, ())

    def follow(
        self,
        changes: Sequence[Changed],
        content: Callable[[str], bytes | None] = lambda _: None,
    ) -> None:
        """Keep up with a landing: who did not run what it changed would run the same again.

        Such rows stand for the new bytes from now on. Rows that are reached stay as they are, and
        so are not current, until their test contract is proven again. `content` gives the bytes of
        a file before the landing.
        """
        edited = [one for one in changes if one.is_edited and is_written_in(one.path, "python")]
        befores = {one.path: one.before for one in changes}
        # All of them before a row moves: what is reached is asked of what ran before the landing,
        # in whatever file.
        unmoved = [(one, self._unreached(one, befores, content)) for one in edited]
        for change, rows in unmoved:
            moved = {seen: _move_row(seen.row, change) for seen in rows}
            groups = {(seen.task, seen.row.contract) for seen in rows}
            for task, contract in groups:
                every = (seen for seen in self.at(change.path) if _is_of(seen, task, contract))
                self._replace(task, contract, change.path, [moved.get(s, s.row) for s in every])

    def _unreached(
        self,
        change: Changed,
        befores: Mapping[str, bytes | None],
        content: Callable[[str], bytes | None],
    ) -> list[KeptTrace]:
        """The rows of a changed file that the change does not reach."""

        def before(path: str) -> bytes | None:
            return befores[path] if path in befores else content(path)

        rows = self.at(change.path)
        contracts = dict.fromkeys(Proven(seen.task, seen.row.contract) for seen in rows)
        sharers = kept_results.find_sharers(change, contracts, self.of, before)
        return [
            seen
            for seen in rows
            if hit(seen.row, change) is None
            and seen.row.test not in sharers.get(Proven(seen.task, seen.row.contract), ())
        ]

    def _replace(self, task: str, contract: str, path: str, rows: Iterable[Observed]) -> None:
        packed = json.dumps([(row.test, row.digest, row.lines) for row in rows])
        with self._store.change() as database:
            values = (path, task, contract, packed)
            database.execute("insert or replace into observed values(?, ?, ?, ?)", values)

    def at(self, path: str) -> tuple[KeptTrace, ...]:
        """Everything that was seen to execute a file."""
        found = self._store.ask("select task, contract, rows from observed where path = ?", path)
        return tuple(
            KeptTrace(task, row)
            for task, contract, rows in found
            for row in _unpack(contract, path, rows)
        )

    def looks_at(self, folder: str) -> bool:
        """Whether anything in a folder was ever seen to be executed; not in folders below it."""
        question = (
            "select 1 from observed where path > ? and path < ?"
            " and instr(substr(path, ?), '/') = 0 limit 1"
        )
        start = f"{folder}/" if folder else ""
        # In ASCII `0` follows `/`: all paths below the folder lie between the two, and the
        # primary key finds them without a scan.
        end = f"{folder}0" if folder else "\U0010ffff"
        return bool(self._store.ask(question, start, end, len(start) + 1))

    def of(self, task: str, contract: str) -> tuple[Observed, ...]:
        """Everything that one test contract was seen to execute."""
        question = "select path, rows from observed where task = ? and contract = ?"
        found = self._store.ask(question, task, contract)
        return tuple(row for path, rows in found for row in _unpack(contract, path, rows))

    def is_current(self, task: str, contract: str, holds: Callable[[str, Digest], bool]) -> bool:
        """Whether no file has changed that a test contract was seen to execute.

        `holds` says whether a path holds these bytes, before or after the change that is judged.
        One that was never observed is not current.
        """
        held = {(row.path, row.digest) for row in self.of(task, contract)}
        return bool(held) and all(holds(path, digest) for path, digest in held)


def _unpack(contract: str, path: str, rows: str) -> Iterable[Observed]:
    for test, digest, lines in json.loads(rows):
        yield Observed(contract, test, path, digest, lines)


def _is_of(seen: KeptTrace, task: str, contract: str) -> bool:
    return (seen.task, seen.row.contract) == (task, contract)


def _move_row(row: Observed, change: Changed) -> Observed:
    """A row that a change does not reach, about the bytes after it: the same blocks are run."""
    before, after = change.before or b"", change.after or b""
    old, new = blocks_of(before) or {}, blocks_of(after) or {}
    if row.digest != digest_of(before):
        return row
    spans = spans_in(row.lines) if row.lines else ()
    every = tuple(old.values())
    ran = (key for key, block in old.items() if block.first and runs(block, spans, every))
    lines = ranges_of(new[key].first for key in ran if key in new)
    return replace(row, digest=digest_of(after), lines=lines or ("1" if row.lines else ""))


# --- does a change reach what was executed? -----------------------------------------------


class Reach(NamedTuple):
    """How a change reaches an execution."""

    line: int
    """The first line of it, from 1, in the file that was executed; 0 for all of it."""
    whole: bool
    """Whether everything that imports the file is reached, not only who ran these lines."""


def hit(row: Observed, change: Changed) -> Reach | None:
    """How a change reaches what was executed; None when it does not.

    Precise to the block where the executed bytes are those before the change; else the whole file.
    """
    if change.before is None:
        return None
    whole = Reach(change.first_line, whole=True)
    if change.after is None or change.is_whole or not is_written_in(change.path, "python"):
        return whole
    ran, other = change.before, change.after
    if row.digest == digest_of(other):
        ran, other = other, ran  # it was proven after the change: the same holds the other way
    changed = find_changed_blocks(ran, other)
    if changed == ():
        return None
    if changed is None or not row.lines or row.digest != digest_of(ran):
        return whole
    return _first_run(row.lines, ran, changed, whole)


def _first_run(
    lines: str, before: bytes, changed: tuple[CodeBlock, ...], whole: Reach
) -> Reach | None:
    """The first changed block that was run; the module itself was, by whoever imported it."""
    try:
        spans = spans_in(lines)
    except ValueError:
        return whole
    every = tuple((blocks_of(before) or {}).values())
    ran = [block for block in changed if runs(block, spans, every)]
    if not ran:
        return None
    if any(block.first == 0 for block in ran):
        return whole
    at = whole.line
    here = any(block.first <= at <= block.last for block in ran)
    return Reach(at if here else min(block.first for block in ran), whole=False)
