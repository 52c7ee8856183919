"""Tests that get a value which changed code computed for another test.

A memoised function, a shared fixture and a name of a module that is filled once keep what the
first test made. A later test gets the value and does not run the code behind it. So a change of
such code reaches all tests that mention what keeps the value.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from runner.impact import python_blocks
from runner.impact.python_blocks import blocks_of
from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.impact.change import Changed
    from runner.impact.python_blocks import CodeBlock, Function, Key
    from runner.impact.reasons import Proven
    from runner.model import Observed

_KEEPS = regex(r"cache|memo|singleton|once\Z", re.IGNORECASE)
"""Names of decorators that keep a result."""
_FILLS = frozenset({"append", "add", "update", "setdefault", "extend", "insert", "appendleft"})
_WORD = regex(r"'([^\W\d]\w*)'")
"""A name or a text in a dumped syntax tree."""
_ANY_NAME = frozenset({"getattr", "vars", "globals", "__dict__", "attrgetter", "methodcaller"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


class _File(NamedTuple):
    """A Python file as the tests ran it."""

    blocks: dict[Key, CodeBlock]
    words: dict[Key, frozenset[str]]
    """The names and one-word texts that each function mentions."""
    functions: dict[Key, Function]
    made: frozenset[str]
    """What its module-level statements mention: objects of such classes outlive a test."""


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
