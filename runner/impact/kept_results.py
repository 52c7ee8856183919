"""Tests that are given what changed code computed for another test, and so did not run it again.

A memoised function, a shared fixture and a name of the module that is filled once all keep what
the first test that asks for it made. Who asks later was never seen to run the code behind it. So
of a change in such code count, beside those that ran it, all tests that mention what keeps it.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from runner.impact.mentions import ANY, SPELLED, last_name
from runner.impact.python_blocks import find_changed_blocks, runs, spans_in
from runner.impact.units import Does, parts_of
from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.impact.change import Changed
    from runner.impact.python_blocks import Function, Key
    from runner.impact.reasons import Proven
    from runner.impact.units import Code, Parts
    from runner.model import Observed

_KEEPS = regex(r"cache|memo|singleton|once\Z", re.IGNORECASE)
"""Names of decorators that keep a result, Python's own and those of others."""
_FILLS = frozenset({"append", "add", "update", "setdefault", "extend", "insert", "appendleft"})
_NEVER_NAMED = regex(r"__(?!init__|new__|call__)\w+__\Z")
"""Functions that are called without a name, as by an operator."""


@dataclass(frozen=True, slots=True)
class _Keeper:
    """A function whose result outlives the test that asked for it."""

    key: Key
    names: frozenset[str]
    """What code mentions that gets the result."""


def find_sharers(
    change: Changed,
    contracts: Iterable[Proven],
    observed: Callable[[str, str], Sequence[Observed]],
    content: Callable[[str], bytes | None],
) -> Mapping[Proven, frozenset[str]]:
    """By contract, the tests that may be given what another test made the changed code compute.

    `observed` gives what a contract was seen to run, `content` the bytes of a file before the
    change.
    """
    if not change.is_edited or not change.path.endswith(".py"):
        return {}
    changed = find_changed_blocks(change.before or b"", change.after or b"")
    bodies = {block.first for block in changed or () if block.first}
    before = parts_of(change.before or b"")
    if not bodies or before is None:
        return {}
    keys = {code.key for code in before.codes if code.block.first in bodies}

    def read(path: str) -> Parts | None:
        data = change.before if path == change.path else content(path)
        return parts_of(data) if data is not None and path.endswith(".py") else None

    return {one: _sharers(change.path, keys, observed(*one), read) for one in contracts}


def _sharers(
    path: str, changed: set[Key], rows: Sequence[Observed], read: Callable[[str], Parts | None]
) -> frozenset[str]:
    found = ((name, read(name)) for name in {row.path for row in rows})
    files = {name: parts for name, parts in found if parts is not None}
    lasting = _lasting_classes(files.values())
    keepers = {name: _keepers(parts, lasting) for name, parts in files.items()}
    if path not in files or not any(keepers.values()):
        return frozenset()
    coming = _names_coming_to(changed, files.values())
    ran = [(row, _codes_run(row, files[row.path])) for row in rows if row.path in files]
    makers = {
        row.test for row, codes in ran if row.path == path and changed & {one.key for one in codes}
    }
    names: set[str] = set()
    for row, codes in ran:
        if row.test in makers:
            made = {code.key for code in codes}
            for keeper in keepers[row.path]:
                if keeper.key in made and (coming is None or _last(keeper.key) in coming):
                    names |= keeper.names
    if not names:
        return frozenset()
    names |= {ANY, SPELLED}
    return frozenset(
        row.test
        for row, codes in ran
        if any(names & (code.mentions.names | code.mentions.attributes) for code in codes)
    )


def _codes_run(row: Observed, parts: Parts) -> list[Code]:
    """The functions that a test ran in one file; all, where it is not said."""
    try:
        spans = spans_in(row.lines)
    except ValueError:
        spans = ()
    blocks = [code.block for code in parts.codes]
    return [code for code in parts.codes if not spans or runs(code.block, spans, blocks)]


def _names_coming_to(changed: set[Key], files: Iterable[Parts]) -> set[str] | None:
    """The names of all functions that may come to call a changed one; None for any function."""
    names: set[str] = set()
    for qualified, _ in changed:
        if _NEVER_NAMED.search(qualified):
            return None
        names.update(qualified.split("."))
    codes = [code for parts in files for code in parts.codes]
    while True:
        more = {
            part
            for code in codes
            if names & (code.mentions.names | code.mentions.attributes | code.mentions.texts)
            for part in code.key[0].split(".")
        }
        if more <= names:
            return names
        names |= more


def _last(key: Key) -> str:
    return key[0].rpartition(".")[2]


# --- what keeps a result ------------------------------------------------------------------


def _lasting_classes(files: Iterable[Parts]) -> frozenset[str]:
    """Classes of which an object may be made on import, and so outlive every test."""
    files = tuple(files)
    made = {
        name
        for parts in files
        for unit in parts.units
        if unit.does in (Does.BIND, Does.OTHER)
        for name in (*unit.mentions.names, *unit.mentions.attributes)
    }
    units = (unit for parts in files for unit in parts.units)
    return frozenset(made & {unit.binds[0] for unit in units if unit.does is Does.CLASS})


def _keepers(parts: Parts, lasting: frozenset[str]) -> tuple[_Keeper, ...]:
    shared = {name for unit in parts.units if not unit.scope for name in unit.binds}
    found = []
    for unit in parts.units:
        node = unit.node
        if unit.does is not Does.FUNCTION or id(node) not in parts.keys:
            continue
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        filled = set(_filled(node, shared))
        if lasting & {*unit.scope}:
            filled |= set(_filled_once(node))
        if filled or any(map(_is_keeping, node.decorator_list)):
            found.append(_Keeper(parts.keys[id(node)], frozenset({node.name, *filled})))
    return tuple(found)


def _is_keeping(decorator: ast.expr) -> bool:
    """Whether it keeps a result, or makes a fixture that several tests share."""
    if _KEEPS.search(last_name(decorator) or ""):
        return True
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else ()
    return any(one.arg == "scope" for one in keywords)


def _filled(function: Function, shared: set[str]) -> Iterator[str]:
    """The names outside of a function in which it leaves something."""
    own = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    told: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Global):
            told.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
    yield from told
    outside = (shared - own) | told
    for node in ast.walk(function):
        match node:
            case ast.Subscript(ast.Name(name), _, ast.Store()) if name in outside:
                yield name
            case ast.Attribute(ast.Name(name), attribute, ast.Store()) if name in outside:
                yield attribute
            case ast.Call(ast.Attribute(ast.Name(name), method)) if (
                name in outside and method in _FILLS
            ):
                yield name
    yield from _filled_of(function, "cls")


def _filled_once(function: Function) -> Iterator[str]:
    """The attributes of an object that a method fills, and looks at whether they are filled."""
    read = {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    if function.name != "__init__":
        yield from (name for name in _filled_of(function, "self") if name in read)


def _filled_of(function: Function, owner: str) -> Iterator[str]:
    """The attributes of a class or an object in which something is left."""
    for node in ast.walk(function):
        match node:
            case ast.Attribute(ast.Name(name), attribute, ast.Store()) if name == owner:
                yield attribute
            case ast.Subscript(ast.Attribute(ast.Name(name), attribute), _, ast.Store()) if (
                name == owner
            ):
                yield attribute
            case ast.Call(ast.Attribute(ast.Attribute(ast.Name(name), attribute), method)) if (
                name == owner and method in _FILLS
            ):
                yield attribute
