"""Probes in a Go test file: which of its checks are come to.

A check is the condition below which a test is made to fail, or the call of a library that asserts.
A statement in front of it writes down a key. What stands below no condition is a place that is not
to be reached.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.languages.base import ELSEWHERE, PROBE_LOADED, PROBE_OUT, Probe, Probed
from runner.languages.c_like_lexer import (
    find_closing,
    line_of,
    mask_literals,
    squeeze_code,
    statement_end,
)
from runner.languages.go import LITERALS

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGE = re.compile(r"^package[ \t]+\w+", re.MULTILINE)
_TESTING = re.compile(r"\b(\w+)\s+(?:\*testing\.[TBF]|testing\.TB)\b")
_FAILS = r"\b(?:{})\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\s*\("
_ASSERTS = re.compile(
    r"(?<![\w.])(?:assert|require|qt|is)\.(?!New\b|FailNow\b|Fail\b)[A-Z]\w*\s*\("
)
_EMPTY_TYPES = re.compile(r"\b(?:interface|struct)\s*\{\s*\}")
_GOES_ON = re.compile(r"(?:[-+*/%&|^<>=!,.:;({\[]|&\^|:=|\b(?:func|else|if|for|switch|go|defer))\Z")
_CONTROL = re.compile(r"(?:if|switch|select)\b")
_HEAD = re.compile(r"(?:if|for|switch|select|else)\b")
"""What goes on to its brace, semicolons or not."""
_LOOP = re.compile(r"for\b")
_CLAUSE = re.compile(r"\s*(?:case\b[^\n]*?|default\s*):(?!=)")
_FUNC = re.compile(r"\bfunc\b[^{}]*\Z")
_NAMED = re.compile(r"^func\s+(?:\([^)]*\)\s*)?(\w+)", re.MULTILINE)
_SKIPS = re.compile(r"\b\w+\.(?:Skip|SkipNow|Skipf)\s*\(")
_LONGEST = 400

_HELPER = """
var {name}_seen {name}_sync.Map

func {name}(key string) {{
	if _, known := {name}_seen.LoadOrStore(key, true); known {{
		return
	}}
	flags := {name}_os.O_APPEND | {name}_os.O_CREATE | {name}_os.O_WRONLY
	file, err := {name}_os.OpenFile({name}_os.Getenv("{out}"), flags, 0o644)
	if err != nil {{
		return
	}}
	file.WriteString(key + "\\n")
	file.Close()
}}

func init() {{
	{name}("{loaded}")
}}
"""


class _Block(NamedTuple):
    """What stands between two braces."""

    start: int
    end: int
    kind: str
    """`if`, `loop`, `func`, or anything else."""
    statement: int
    """Where the statement begins that the block belongs to."""


def put_probes(path: str, source: str, number: str) -> Probed | None:
    """The file with a probe at each check; None where it has none, or no package."""
    del path
    mask = mask_literals(source, LITERALS)
    mask = _EMPTY_TYPES.sub(lambda match: match[0].replace("{", " ").replace("}", " "), mask)
    package = _PACKAGE.search(mask)
    if package is None:
        return None
    name = f"runnerProbe{number}"
    blocks = [*_blocks(mask)]
    found: list[Probe] = []
    put: dict[int, str] = {}
    for at in _claims(mask):
        probe, place = _probe(source, mask, blocks, at, f"{number}.{len(found)}")
        if probe is not None:
            found.append(probe)
            put[place] = put.get(place, "") + f'{name}("{probe.key}"); '
    if not found:
        return None
    # On the package's own line, which Go allows behind a semicolon: every line keeps its number.
    put[package.end()] = f'; import {name}_os "os"; import {name}_sync "sync"'
    text = source
    for place in sorted(put, reverse=True):
        text = text[:place] + put[place] + text[place:]
    helper = _HELPER.format(name=name, out=PROBE_OUT, loaded=f"{number}.{PROBE_LOADED}")
    return Probed(text + helper, tuple(found))


def _claims(mask: str) -> list[int]:
    names = {"t", *_TESTING.findall(mask)}
    fails = re.compile(_FAILS.format("|".join(sorted(names))))
    return sorted(one.start() for find in (fails, _ASSERTS) for one in find.finditer(mask))


def _probe(
    source: str, mask: str, blocks: list[_Block], at: int, key: str
) -> tuple[Probe | None, int]:
    """The probe of a check and its place; no probe of what is not to be reached, or not here."""
    around = [one for one in blocks if one.start < at < one.end]
    last = max((n for n, one in enumerate(around) if one.kind == "func"), default=-1)
    if last < 0:
        return None, 0
    top = around[0]
    named = _NAMED.match(mask, top.statement)
    if named and named[1].startswith("Benchmark"):  # runs where -bench asks for it alone
        return None, 0
    inside = [one for one in around[last + 1 :] if one.kind == "if"]
    heads = [source[one.statement : one.start] for one in around if one.kind == "if"]
    asserts = bool(_ASSERTS.match(mask, at))
    if not (inside or asserts) or any(map(ELSEWHERE.search, heads)):
        return None, 0
    if _SKIPS.search(mask, top.start, top.end):
        return None, 0
    place = _statement_at(mask, around[-1], at) if asserts else inside[-1].statement
    if asserts and mask[place:at].strip() not in ("", "return") and not _CONTROL.match(mask, place):
        return None, 0
    line = line_of(source, place)
    code = source[place : min(statement_end(mask, at), place + _LONGEST)]
    return Probe(
        key=key,
        line=line,
        code=squeeze_code(code, LITERALS),
        test=named[1] if named and named[1].startswith(("Test", "Fuzz")) else "",
        function=(f"{top.start}", around[last].start),
        nested=len(inside) > (0 if asserts else 1),
    ), place


def _statement_at(mask: str, block: _Block, at: int) -> int:
    """Where the statement begins in a block that a place belongs to."""
    return max((one for one in _statements(mask, block.start, at + 1) if one <= at), default=at)


def _statements(mask: str, start: int, end: int) -> Iterator[int]:
    """Where the statements begin of the block that opens at `start`."""
    at, fresh, head = start + 1, True, False
    while at < end:
        clause = _CLAUSE.match(mask, at) if fresh else None
        if clause:
            at = clause.end()
            continue
        letter = mask[at]
        if letter == "\n":
            fresh = fresh or not _GOES_ON.search(mask[max(start, at - 60) : at].rstrip())
        elif letter == ";":
            fresh = fresh or not head
        elif not letter.isspace():
            if fresh:
                yield at
            if fresh or letter == "e":
                head = head or bool(_HEAD.match(mask, at))
            fresh = False
            if letter in "([{":
                head = head and letter != "{"
                at = min(find_closing(mask, at), end)
        at += 1


def _blocks(mask: str) -> Iterator[_Block]:
    """Every block of a file, the outer before the inner."""
    yield from _inside(mask, -1, len(mask))


def _inside(mask: str, start: int, end: int) -> Iterator[_Block]:
    begins = [*_statements(mask, start, end)]
    for number, begin in enumerate(begins):
        stop = begins[number + 1] if number + 1 < len(begins) else end
        yield from _of_statement(mask, begin, stop)


def _of_statement(mask: str, begin: int, stop: int) -> Iterator[_Block]:
    """The blocks of one statement, those in brackets too."""
    at, since, depth = begin, begin, 0
    while at < stop:
        if mask[at] in "([":
            depth += 1
        elif mask[at] in ")]":
            depth -= 1
        elif mask[at] == "{":
            close = find_closing(mask, at)
            kind = _kind(mask, begin, since, at, depth)
            yield _Block(at, close, kind, begin)
            if kind == "data":
                yield from _of_statement(mask, at + 1, close)
            else:
                yield from _inside(mask, at, close)
            at = since = close
        at += 1


def _kind(mask: str, begin: int, since: int, at: int, depth: int) -> str:
    if _FUNC.search(mask, since, at):
        return "func"
    if depth == 0 and _CONTROL.match(mask, begin):
        return "if"
    if depth == 0 and _LOOP.match(mask, begin):
        return "loop"
    return "block" if begin == at else "data"
