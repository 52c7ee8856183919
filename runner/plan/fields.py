"""Parse the fields of a task's section in three styles: list, lines, table."""

from __future__ import annotations

from enum import Enum
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.plan import field_names
from runner.plan.markdown import Kind, ListItem, Node
from runner.plan.markdown_text import TableCell, cells, plain
from runner.plan.source import Run, Source
from runner.plan.status import read_status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_CHECKBOX = regex(r"\[[ xX]?\]\s+")
# A backslash at the end of a line is a line break, not text (CommonMark 0.31, 6.7).
_HARD_BREAK = regex(r"\\$")
_COLUMNS = 2


class Style(Enum):
    """The style of a written field."""

    LIST = "list"
    LINE = "line"
    TABLE = "table"


class Value(NamedTuple):
    """One text of a field: what follows the colon, or one nested item."""

    runs: tuple[Run, ...]

    @property
    def text(self) -> str:
        """The text on one line."""
        if len(self.runs) == 1:
            return self.runs[0].text
        return " ".join(run.text for run in self.runs)


class PlanField(NamedTuple):
    """A field as written; `start` and `end` are line and column of its first value."""

    key: str
    """Key of the field; empty for an unknown one."""
    name: Run
    values: tuple[Value, ...]
    style: Style
    start: tuple[int, int]
    end: tuple[int, int]


class Taken(NamedTuple):
    """The fields of a block, and its lines of prose, each with its line number."""

    fields: tuple[PlanField, ...]
    prose: tuple[tuple[int, str], ...] = ()


def with_items(field: PlanField, values: tuple[Value, ...]) -> PlanField:
    """Return a field with the items of the list below it as values."""
    if not values:
        return field
    first, last = values[0].runs[0], values[0].runs[-1]
    return field._replace(values=values, start=(first.line, first.column), end=_end(last))


def from_list(node: Node, source: Source, *, at_top: bool) -> Taken | None:
    """Return the fields of a bullet list, or None if the list is prose.

    Right under the heading (`at_top`) one known name makes it a list of fields; below prose
    all its items must be known, or one of them be the Status.
    """
    read = [part for item in node.items for part in _item_fields(item, source)]
    fields = [field for field, _ in read]
    if not _is_fields(fields, at_top=at_top):
        return None
    prose = tuple((line, source.lines[line]) for _, lines in read for line in lines)
    return Taken(tuple(field for field in fields if field), prose)


def _is_fields(fields: Sequence[PlanField | None], *, at_top: bool) -> bool:
    present = [field for field in fields if field]
    if not present:
        return False
    if any(field.key == "status" for field in present):
        return True
    if not at_top:
        return all(field and field.key for field in fields)
    return len(present) == len(fields) or any(
        field.key or field_names.is_mistyped(field.name.text) for field in present
    )


def _item_fields(
    item: ListItem, source: Source
) -> Iterator[tuple[PlanField | None, Iterable[int]]]:
    """Yield the field an item holds with those of its lines that are prose, then the fields below.

    A line without indentation still belongs to the item's paragraph (CommonMark 0.31, 5.2). Where
    such a line is a field itself, the item ends before it: a pasted item takes no other field in.
    """
    if not item.children or item.children[0].kind is not Kind.PARAGRAPH:
        yield None, range(item.start, item.end)
        return
    runs = runs_of(item.children[0], source)
    below = [_lazy_field(run, source, runs[0].column) for run in runs]
    ends = next((at for at, field in enumerate(below) if field), len(runs))
    yield _item_field(item, runs[:ends], source)
    for field, run in zip(below[ends:], runs[ends:], strict=True):
        yield field, () if field else (run.line,)


def _lazy_field(run: Run, source: Source, column: int) -> PlanField | None:
    """Return a known field on a line left of its item's text, or None."""
    if run.column >= column:
        return None
    row = cells(run.text) if run.text.startswith("|") else []
    if len(row) == _COLUMNS:
        row = cells(source.lines[run.line])
        field = _row_field(run.line, row[0], row[1])
        return field if field.key else None
    name = field_names.parse_name(run.text)
    return _field(name, [run], (), Style.LINE) if name and name.key else None


def _item_field(
    item: ListItem, runs: list[Run], source: Source
) -> tuple[PlanField | None, Iterable[int]]:
    """Return the field of a list item or None, and the item's prose lines."""
    everything = range(item.start, runs[-1].line + 1)
    first, *rest = runs
    nested = tuple(items_of(item.children[1:], source)) if len(item.children) > 1 else ()
    name = field_names.parse_name(first.text)
    if name is None:
        key = field_names.key_of(plain(first.text)) if nested and not rest else ""
        if not key:
            return None, everything
        name = field_names.FieldName(first.text, key, 0, len(first.text), marked=False)
    if name.key != "status":
        return _field(name, [first, *rest], nested, Style.LIST), ()
    note = _continuation_lines(first, name, rest)
    left = [run.line for run in rest[len(note) :]]
    return _field(name, [first, *note], nested, Style.LIST), left


def plain_field(head: Run, below: Iterable[Run]) -> PlanField | None:
    """Return the field of a one-line item with one-line items below it, or None."""
    name = field_names.parse_name(head.text)
    if name is None:
        return None
    return _field(name, [head], tuple(Value((_unboxed(run),)) for run in below), Style.LIST)


def _continuation_lines(first: Run, name: field_names.FieldName, rest: list[Run]) -> list[Run]:
    """Return the indented lines that continue a status note."""
    read = read_status(first.text[name.value :])
    if read is None or not read[1]:
        return []
    return list(takewhile(lambda run: run.column >= first.column, rest))


def _field(
    name: field_names.FieldName, runs: Sequence[Run], nested: tuple[Value, ...], style: Style
) -> PlanField:
    first, *rest = runs
    value = first.part(name.value, len(first.text))
    if name.key == "status" and not rest:
        value = value._replace(text=_without_comment(value.text))
    own = tuple(run for run in (value, *rest) if run.text) if rest or not value.text else (value,)
    values = ((Value(own),) if own else ()) + nested
    last = values[0].runs[-1] if values else value
    begin = values[0].runs[0] if values else value
    return PlanField(
        name.key,
        Run(name.name, first.line, first.column + name.start),
        values,
        style,
        (begin.line, begin.column),
        (last.line, last.column + len(last.text)),
    )


def _without_comment(text: str) -> str:
    """Return a line without a comment at its end."""
    last = text.rfind("-->")
    if last < 0 or text[last + 3 :].strip():
        return text
    # A comment ends at the first `-->` after its `<!--`: none is between the two.
    before = max(text.rfind("-->", 0, last + 2) - 3, 0)
    start = text.find("<!--", before, last)
    return text if start < 0 else text[:start].rstrip()


def items_of(nodes: Iterable[Node], source: Source) -> Iterable[Value]:
    """Yield the items of nested lists, outermost first, without checkboxes."""
    for node in nodes:
        if node.kind in (Kind.FENCE, Kind.CODE) and node.text.strip():
            yield Value((Run(node.text.strip("\n"), node.start + (node.kind is Kind.FENCE), 0),))
        for item in node.items:
            if item.children and item.children[0].kind is Kind.PARAGRAPH:
                first, *rest = runs_of(item.children[0], source)
                yield Value((_unboxed(first), *rest))
                yield from items_of(item.children[1:], source)
            else:
                yield from items_of(item.children, source)


def _unboxed(run: Run) -> Run:
    return run.part(box_end(run.text), len(run.text))


def box_end(text: str) -> int:
    """Return the start of an item's text after its checkbox, if any."""
    box = _CHECKBOX.match(text)
    return box.end() if box else 0


def runs_of(node: Node, source: Source) -> list[Run]:
    """Return the lines of a paragraph without enclosing markup."""
    if node.end - node.start == 1 and "\n" not in node.text:
        return [_find_run(node.text.strip(), source.lines[node.start], node.start)]
    texts = node.text.split("\n")
    if len(texts) != node.end - node.start:
        return [source.run(line) for line in range(node.start, node.end)]
    return [
        _find_run(text.strip(), source.lines[node.start + at], node.start + at)
        for at, text in enumerate(texts)
    ]


def _find_run(text: str, raw: str, line: int) -> Run:
    """Return a text with its line and column; the end of the line is tried first."""
    stripped = raw.rstrip()
    at = len(stripped) - len(text) if stripped.endswith(text) else max(raw.find(text), 0)
    return Run(text, line, at)


def from_paragraph(node: Node, source: Source, *, at_top: bool) -> Taken | None:
    """Return the fields in a paragraph, or None if it is only prose.

    A bold known name makes a line a field wherever it stands, a plain one right under the heading
    where the paragraph begins with one. A value that is empty or ends in a comma goes on.
    """
    if not any(":" in line for line in source.lines[node.start : node.end]):
        return None  # prose, as most paragraphs are: every field has a colon
    runs = [_without_break(source.run(line)) for line in range(node.start, node.end)]
    heads = [field_names.parse_name(run.text) for run in runs]
    plain_ok = at_top and bool(heads[0] and heads[0].key)
    known = any(head and head.key and (head.marked or plain_ok) for head in heads)
    fields: list[PlanField] = []
    prose: list[tuple[int, str]] = []
    for run, head in zip(runs, heads, strict=True):
        if head and _begins_field(head, plain_ok=plain_ok, known=known):
            fields.append(_field(head, [run], (), Style.LINE))
        elif fields and not prose and _goes_on(fields[-1]):
            fields[-1] = _longer(fields[-1], run)
        else:
            prose.append((run.line, source.lines[run.line]))
    return Taken(tuple(fields), tuple(prose)) if fields else None


def _begins_field(head: field_names.FieldName, *, plain_ok: bool, known: bool) -> bool:
    if head.key:
        return head.marked or plain_ok
    return head.marked and (known or field_names.is_mistyped(head.name))


def _without_break(run: Run) -> Run:
    text = _HARD_BREAK.sub("", run.text).rstrip()
    return run._replace(text=text)


def _goes_on(field: PlanField) -> bool:
    if field.key in ("status", ""):
        return False
    return not field.values or field.values[-1].text.endswith(",")


def _longer(field: PlanField, run: Run) -> PlanField:
    if not field.values:
        return field._replace(values=(Value((run,)),), start=(run.line, run.column), end=_end(run))
    return field._replace(values=(Value((*field.values[0].runs, run)),), end=_end(run))


def _end(run: Run) -> tuple[int, int]:
    return run.line, run.column + len(run.text)


def from_table(node: Node, source: Source, *, at_top: bool) -> Taken | None:
    """Return the fields of a two-column table, or None if it has none."""
    rows = [(line, cells(source.lines[line])) for line in node.rows]
    if len(rows[0][1]) != _COLUMNS:
        return None
    read = [_row_field(line, row[0], row[1]) for line, row in rows if len(row) >= _COLUMNS]
    head, body = read[0], read[1:]
    fields = [field for field in ((head, *body) if head.key else body) if field.name.text]
    known = [bool(field.key) for field in fields]
    has_status = any(field.key == "status" for field in fields)
    if not any(known) or not (at_top or all(known) or has_status):
        return None
    return Taken(tuple(fields))


def _row_field(line: int, name: TableCell, value: TableCell) -> PlanField:
    written = plain(name.text).rstrip(": ")
    key = field_names.key_of(written)
    run = Run(value.raw if key == "status" else value.text, line, value.start)
    return PlanField(
        key,
        Run(written, line, name.start),
        (Value((run,)),) if value.raw else (),
        Style.TABLE,
        (line, value.start),
        (line, value.end),
    )
