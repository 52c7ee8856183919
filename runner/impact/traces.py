"""Store the files and functions that earlier proofs executed, by task, indexed by file.

Tests that get a value which changed code computed for another test.

A memoised function, a shared fixture and a name of a module that is filled once keep what the
first test made. A later test gets the value and does not run the code behind it. So a change of
such code reaches all tests that mention what keeps the value.
"""

from __future__ import annotations

import ast
import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from runner.impact import python_blocks
from runner.impact.python_blocks import blocks_of, find_changed_blocks, ranges_of, runs, spans_in
from runner.impact.reasons import Proven
from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex
from runner.model import Observed, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.impact.change import Changed
    from runner.impact.python_blocks import CodeBlock, Function, Key
    from runner.impact.store import ImpactStore
    from runner.model import Digest

_OTHERS = "regression:"
"""Check name prefix of another task's test contract (`gates/regression`)."""
_KEEPS = regex(r"cache|memo|singleton|once\Z", re.IGNORECASE)
"""Names of decorators that cache a result."""
_FILLS = frozenset({"append", "add", "update", "setdefault", "extend", "insert", "appendleft"})
_WORD = regex(r"'([^\W\d]\w*)'")
"""A name or a text in a dumped syntax tree."""
_ANY_NAME = frozenset({"getattr", "vars", "globals", "__dict__", "attrgetter", "methodcaller"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


class StoredTrace(NamedTuple):
    """One kept row, with the task it belongs to."""

    task: str
    row: Observed


class Observations:
    """The known executions, in a store."""

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
        """Remove the executions of a task."""
        self.keep(task, ())

    def follow(
        self,
        changes: Sequence[Changed],
        content: Callable[[str], bytes | None] = lambda _: None,
    ) -> None:
        """Carry rows over to a landed change whose code they did not execute.

        Such rows stand for the new bytes from now on. Rows that are reached stay as they are, and
        so are not current, until their test contract is proven again. `content` gives the bytes of
        a file before the landing.
        """
        edited = [one for one in changes if one.is_edited and is_written_in(one.path, "python")]
        befores = {one.path: one.before for one in changes}
        # Check all before a row moves: reachability uses the executions before the landing, in all
        # files.
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
    ) -> list[StoredTrace]:
        """Return the recorded rows of a changed file that the change does not affect."""

        def before(path: str) -> bytes | None:
            return befores[path] if path in befores else content(path)

        rows = self.at(change.path)
        contracts = dict.fromkeys(Proven(seen.task, seen.row.contract) for seen in rows)
        sharers = find_sharers(change, contracts, self.of, before)
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

    def at(self, path: str) -> tuple[StoredTrace, ...]:
        """Return all recorded executions of a file."""
        found = self._store.ask("select task, contract, rows from observed where path = ?", path)
        return tuple(
            StoredTrace(task, row)
            for task, contract, rows in found
            for row in _unpack(contract, path, rows)
        )

    def was_executed_in(self, folder: str) -> bool:
        """Return whether any execution in a folder was recorded; subfolders do not count."""
        question = (
            "select 1 from observed where path > ? and path < ?"
            " and instr(substr(path, ?), '/') = 0 limit 1"
        )
        start = f"{folder}/" if folder else ""
        # In ASCII `0` follows `/`: all paths below the folder are between the two, and the primary
        # key finds them without a scan.
        end = f"{folder}0" if folder else "\U0010ffff"
        return bool(self._store.ask(question, start, end, len(start) + 1))

    def of(self, task: str, contract: str) -> tuple[Observed, ...]:
        """Return all recorded executions by one test contract."""
        question = "select path, rows from observed where task = ? and contract = ?"
        found = self._store.ask(question, task, contract)
        return tuple(row for path, rows in found for row in _unpack(contract, path, rows))

    def is_current(self, task: str, contract: str, holds: Callable[[str, Digest], bool]) -> bool:
        """Return whether all files that a test contract executed are unchanged.

        `holds` says whether a path holds these bytes, before or after the change that is judged.
        One that was never observed is not current.
        """
        held = {(row.path, row.digest) for row in self.of(task, contract)}
        return bool(held) and all(holds(path, digest) for path, digest in held)


def _unpack(contract: str, path: str, rows: str) -> Iterable[Observed]:
    for test, digest, lines in json.loads(rows):
        yield Observed(contract, test, path, digest, lines)


def _is_of(seen: StoredTrace, task: str, contract: str) -> bool:
    return (seen.task, seen.row.contract) == (task, contract)


def _move_row(row: Observed, change: Changed) -> Observed:
    """Return a row for the new bytes of a file, after a change that does not affect it."""
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
    """The way in which a change reaches an execution."""

    line: int
    """Its first line, from 1, in the executed file; 0 for all of it."""
    whole: bool
    """Whether all importers of the file are reached, not only code that ran these lines."""


def hit(row: Observed, change: Changed) -> Reach | None:
    """Return how a change affects executed code; None if it does not.

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
    """Return the first changed block that ran, or None; a module block counts as the whole."""
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


class _File(NamedTuple):
    """A Python file as the tests ran it."""

    blocks: dict[Key, CodeBlock]
    words: dict[Key, frozenset[str]]
    """Names and one-word texts in each function."""
    functions: dict[Key, Function]
    made: frozenset[str]
    """Names in its module-level statements: objects of such classes outlive a test."""


def find_sharers(
    change: Changed,
    contracts: Iterable[Proven],
    observed: Callable[[str, str], Sequence[Observed]],
    content: Callable[[str], bytes | None],
) -> Mapping[Proven, frozenset[str]]:
    """Return by contract the tests that may get what another test made the changed code compute.

    `observed` gives what a contract was seen to run, `content` a file before the change.
    """
    if not change.is_edited or not is_written_in(change.path, "python"):
        return {}
    blocks = blocks_of(change.before or b"") or {}
    changed = python_blocks.find_changed_blocks(change.before or b"", change.after or b"") or ()
    keys = {key for key, block in blocks.items() if block.first and block in changed}

    def read(path: str) -> _File | None:
        data = change.before if path == change.path else content(path)
        return _read_file(data) if data is not None and is_written_in(path, "python") else None

    every = contracts if keys else ()
    return {one: _find_sharers(change.path, keys, observed(*one), read) for one in every}


def _find_sharers(
    path: str, changed: set[Key], rows: Sequence[Observed], read: Callable[[str], _File | None]
) -> frozenset[str]:
    files = {name: file for name in {row.path for row in rows} if (file := read(name))}
    ran = [(row, _find_run(row, files[row.path])) for row in rows if row.path in files]
    makers = {row.test for row, keys in ran if row.path == path and keys & changed}
    made = frozenset().union(*(file.made for file in files.values()))
    run = {(row.path, key) for row, keys in ran if row.test in makers for key in keys}
    kept = (_find_kept(key, files[name].functions[key], made) for name, key in run)
    names: set[str] = set().union(*kept)
    if "" in names:
        return frozenset(row.test for row in rows)
    names |= _ANY_NAME if names else set()
    return frozenset(
        row.test for row, keys in ran if any(names & files[row.path].words[key] for key in keys)
    )


@lru_cache(maxsize=256)
def _read_file(content: bytes) -> _File | None:
    blocks, tree = blocks_of(content), python_blocks.parse_python(content)
    if blocks is None or tree is None:
        return None
    bodies = {key: block for key, block in blocks.items() if block.first}
    words = {key: frozenset(_WORD.findall(block.text)) for key, block in bodies.items()}
    loose = (one for one in tree.body if not isinstance(one, _DEFINITIONS))
    made = frozenset(word for one in loose for word in _WORD.findall(ast.dump(one)))
    return _File(bodies, words, dict(python_blocks.list_functions(tree)), made)


def _find_run(row: Observed, file: _File) -> set[Key]:
    """Return the functions that a test ran in a file; all, where the lines are not known."""
    try:
        spans = python_blocks.spans_in(row.lines)
    except ValueError:
        spans = ()
    blocks, every, runs = file.blocks.items(), (*file.blocks.values(),), python_blocks.runs
    return {key for key, one in blocks if not spans or runs(one, spans, every)}


def _find_kept(key: Key, function: Function, made: frozenset[str]) -> set[str]:
    """Return the names by which code gets what a function keeps; "" for a shared fixture."""
    calls = [one for one in function.decorator_list if isinstance(one, ast.Call)]
    if any(keyword.arg == "scope" for one in calls for keyword in one.keywords):
        return {""}
    found = set(_find_filled(function, lasts=bool(made & {*key[0].split(".")[:-1]})))
    marks = (getattr(one, "func", one) for one in function.decorator_list)
    keeps = any(_KEEPS.search(ast.unparse(mark)) for mark in marks)
    return {function.name, *found} if found or keeps else set()


def _find_filled(function: Function, *, lasts: bool) -> Iterator[str]:
    """Return names outside of a function in which it leaves something."""
    nodes = tuple(ast.walk(function))
    declared = {name for one in nodes if isinstance(one, ast.Global) for name in one.names}
    own = {one.arg for one in nodes if isinstance(one, ast.arg)} - {"cls"}
    own |= {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    own -= declared | ({"self"} if lasts and function.name != "__init__" else set())
    yield from declared
    for node in nodes:
        match node:
            case ast.Subscript(value, _, ast.Store()):
                root, *names = _find_chain(value)
            case ast.Attribute(_, _, ast.Store()):
                root, *names = _find_chain(node)
            case ast.Call(ast.Attribute(value, method)) if method in _FILLS:
                root, *names = _find_chain(value)
            case _:
                continue
        if root and root not in own:
            yield from names if root in ("self", "cls") else (root, *names)


def _find_chain(node: ast.expr) -> list[str]:
    """Return `a`, `b` and `c` of `a.b[0].c`; the first is empty where no name begins it."""
    names: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        names += [node.attr] if isinstance(node, ast.Attribute) else []
        node = node.value
    return [node.id if isinstance(node, ast.Name) else "", *names]
