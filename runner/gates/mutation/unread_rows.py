"""Rows of new tests that nothing looks at: with other values in them every test passes.

A closure that sees the last value of a loop, a filter, a `break` and a comparison to which only
rows that hold come look the same from here. Told where another row of the same table is looked at:
where all rows of a table may change, tests state a property of whatever is given.
"""

from __future__ import annotations

import ast
import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.mutation.mutants import Mutant
from runner.gates.mutation.run_mutants import Ends, Executions, MutantRunner
from runner.languages.c_like_lexer import find_closing, mask_literals
from runner.languages.registry import read_code
from runner.lazy_pattern import regex
from runner.model import Finding
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.gates.base import GateContext
    from runner.model import Severity

_LITERAL = regex(
    r"(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|(?P<number>(?<![\w.])\d[\d_]*(?:\.\d+)?(?![\w.]))"
)
_TRUTH = regex(r"(?P<truth>(?<![\w.])(?:[Tt]rue|[Ff]alse)(?![\w]))")
_SAID = regex(f"{_LITERAL.pattern}|{_TRUTH.pattern}")
_REFUSED = regex(r"\b(?:\w*(?:Error|Exception|Warning)|err\w*|nil|None|null|undefined)\b")
"""What a row says that waits for a refusal: any other values may be refused as well."""
_LEAST = 2
"""Rows that a table has, and values that a row has."""
_LARGEST = 400_000
_MOST_TABLES = 3
_SHOWN = 60
_LOOKED = frozenset({Ends.NOTICED, Ends.CRASHED})


class _Row(NamedTuple):
    start: int
    """Where it stands in the bytes of the file."""
    end: int


def unread_rows(
    check: str, bench: GateContext, seconds: float, severity: Severity
) -> Iterator[Finding]:
    """A finding for each table of a new test of which a row is looked at and another is not."""
    ran = [one.id for one in bench.task.test_contracts if one.id in bench.ran]
    for change in bench.changes:
        content = change.content
        if content is None or len(content) > _LARGEST or not bench.is_test(change.path):
            continue
        whole = (("", ((1, content.count(b"\n") + 1),)),)
        executions = Executions({(one, change.path): whole for one in ran})
        laboratory = MutantRunner(bench, executions, seconds)
        former = bench.before(change.path) or b""
        tables = [one for one in tables_in(change.path, content) if _is_new(one, content, former)]
        for rows in tables[:_MOST_TABLES]:
            row = _unread(rows, change.path, content, laboratory)
            if row is not None:
                yield _finding(check, change.path, content, row, severity)
        seconds = max(0.0, seconds - laboratory.worked)


def _is_new(rows: Sequence[_Row], content: bytes, former: bytes) -> bool:
    return not any(content[one.start : one.end] in former for one in rows)


def _unread(
    rows: Sequence[_Row], path: str, content: bytes, laboratory: MutantRunner
) -> _Row | None:
    """The first of a table's rows that may say anything, while the last may not, or the reverse."""
    ends: dict[_Row, Ends] = {}
    # The last one first: a closure in a loop sees it alone (in Go before 1.22, `var` of scripts).
    for row in (rows[-1], rows[0], rows[len(rows) // 2]):
        if row in ends or laboratory.is_over:
            continue
        ends[row] = laboratory.run(other_row(row, path, content))
        if ends[row] is Ends.SURVIVED and _TRUTH.search(_bare(row, content)):
            # Another input may well come to the other truth: each part by itself, then.
            ends[row] = laboratory.run(other_row(row, path, content, truths_alone=True))
        looked = any(one in _LOOKED for one in ends.values())
        idle = [
            one
            for one, ended in ends.items()
            if ended is Ends.SURVIVED and not _REFUSED.search(_bare(one, content))
        ]
        if looked and idle:
            return idle[0]
    return None


def other_row(row: _Row, path: str, content: bytes, *, truths_alone: bool = False) -> Mutant:
    """The row with another value in each of its places; of two truths the other one."""
    text = content[row.start : row.end].decode("utf-8", "replace")

    # Each place by another one: a row whose answer is what it gives, `("ab", 9, "ab")`, would
    # hold as well otherwise.
    places = itertools.count()

    def change(match: re.Match[str]) -> str:
        if truths_alone and not match["truth"]:
            return match[0]
        return _another(match, next(places))

    other = _SAID.sub(change, text).encode()
    line = content.count(b"\n", 0, row.start) + 1
    return Mutant(path, "", "row", line, row.start, row.end, other)


def _bare(row: _Row, content: bytes) -> str:
    """The words of a row that stand in no text."""
    return _LITERAL.sub(" ", content[row.start : row.end].decode("utf-8", "replace"))


_SIGNS = "~_@&"
_OTHER_TRUTH = {"true": "false", "false": "true", "True": "False", "False": "True"}


def _another(match: re.Match[str], place: int) -> str:
    if match["truth"]:
        return _OTHER_TRUTH[match["truth"]]
    if match["number"]:
        return f"{match[0]}{(7 + place) % 10}"
    # Each by a sign of its own: `("*", "ready")` may well fit with the same one behind both.
    more = _SIGNS[place % len(_SIGNS)] * (1 + place // len(_SIGNS))
    return f"{match[0][:-1]}{more}{match[0][-1]}"


def _finding(check: str, path: str, content: bytes, row: _Row, severity: Severity) -> Finding:
    shown = " ".join(content[row.start : row.end].decode("utf-8", "replace").split())
    return Finding(
        check=check,
        message=f"no test looks at the row `{shown[:_SHOWN]}`: whatever it says, all of them pass",
        path=path,
        line=content.count(b"\n", 0, row.start) + 1,
        severity=severity,
        hint="have each row compared: a closure may see another one than it seems to",
    )


# --- the tables of a file -------------------------------------------------------------------


def tables_in(path: str, content: bytes) -> Iterator[tuple[_Row, ...]]:
    """The collections of rows that hold constants, outermost first."""
    code = read_code(path, content)
    if code is None:
        return
    text, literals = code
    if literals is None:
        found = _of_python(text)
    else:
        found = _in_bytes(text, _of_braces(mask_literals(text, literals)))
    for rows in found:
        shown = (content[one.start : one.end].decode("utf-8", "replace") for one in rows)
        able = all(len(_LITERAL.findall(one)) >= _LEAST for one in shown)
        if len(rows) >= _LEAST and able:
            yield rows


def _in_bytes(text: str, tables: Iterator[tuple[_Row, ...]]) -> Iterator[tuple[_Row, ...]]:
    """Places in letters as places in bytes."""
    if text.isascii():
        yield from tables
        return
    for rows in tables:
        yield tuple(
            _Row(len(text[: one.start].encode()), len(text[: one.end].encode())) for one in rows
        )


def _of_python(text: str) -> Iterator[tuple[_Row, ...]]:
    tree = python_tree(text)
    starts = [0]
    for line in text.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)

    def place(node: ast.expr) -> _Row:
        last = node.end_lineno or node.lineno
        return _Row(
            starts[node.lineno - 1] + node.col_offset, starts[last - 1] + (node.end_col_offset or 0)
        )

    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            rows = [one for one in node.elts if isinstance(one, ast.Tuple | ast.List | ast.Dict)]
            if len(rows) == len(node.elts):
                yield tuple(map(place, rows))


def _of_braces(mask: str) -> Iterator[tuple[_Row, ...]]:
    for match in re.finditer(r"[\[{]", mask):
        rows: list[_Row] = []
        at, last = match.end(), find_closing(mask, match.start())
        while at < last:
            letter = mask[at]
            if letter in "[{":
                end = find_closing(mask, at)
                rows.append(_Row(at, min(end, last) + 1))
                at = end + 1
            elif letter.isspace() or letter == ",":
                at += 1
            else:
                break
        if at >= last:
            yield tuple(rows)
