"""Split the plan's file into sections whose tasks can be parsed alone."""

from __future__ import annotations

import hashlib
import re
import sys
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from msgspec import Struct

from runner.lazy_module import lazy_module
from runner.model import AcceptanceItem, Severity, Spec, Status, Task
from runner.plan import field_names, proofs, schema
from runner.plan.body import Body, read_body
from runner.plan.fields import PlanField, Style
from runner.plan.globs import literal_paths
from runner.plan.markdown import Cuts, Kind, Node, piece_at
from runner.plan.markdown_text import plain
from runner.plan.source import Problem, Run, Source, body_start
from runner.plan.status import StatusSpan
from runner.plan.task_ids import LONGEST_TITLE, TaskHeading, heading_of
from runner.plan.values import Complaint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.model import Block, Contract, GateSpec, HeldOutFile, TestContract
    from runner.plan import lost_tasks, near_misses
    from runner.plan.markdown import Piece
else:
    near_misses = lazy_module("runner.plan.near_misses")
    lost_tasks = lazy_module("runner.plan.lost_tasks")

_REASONS = ("no_proof", "no_contracts")
"""Reasons for a task without a proof or without contracts."""
_PROVE = frozenset(
    ("test_contracts", "held_out_files", "contracts", "gates", "coverage", *_REASONS)
)
"""Fields that define how a task is proven."""
Part: TypeAlias = "str | float | tuple[Part, ...] | None"


class PlanCommand(Struct, frozen=True):
    """A `!change` or `!replay` line that a person wrote into a task's section."""

    task: str
    kind: str
    text: str
    line: int


class Section(Struct, frozen=True):
    """A part of the file with the tasks in it; bytes from `start` to `end`."""

    start: int
    end: int
    first_line: int
    line_count: int
    level: int
    """Level of the task still open at the end, which owns deeper headings; or 0."""
    title: str
    tasks: tuple[Task, ...]
    spans: tuple[StatusSpan, ...]
    problems: tuple[Problem, ...]
    written: tuple[PlanCommand, ...]


def read_sections(data: bytes, path: str, prefixes: tuple[str, ...]) -> Iterator[Section]:
    """Yield all sections of a file in order."""
    reader = SectionReader(path, prefixes, Cuts(data))
    offset, line = body_start(data), 1
    ahead: Piece | None = None
    while offset < len(data):
        section, ahead = section_at(data, offset, line, reader, ahead)
        yield section
        offset, line = section.end, line + section.line_count


class SectionReader(NamedTuple):
    """The context for reading a section."""

    path: str
    prefixes: tuple[str, ...]
    cuts: Cuts


def section_at(
    data: bytes, start: int, first_line: int, reader: SectionReader, ahead: Piece | None = None
) -> tuple[Section, Piece | None]:
    """Parse the section at byte `start`; also return the next piece if it was read."""
    found = [ahead or piece_at(data, start, first_line, reader.cuts)]
    lines = found[0].source.line_count
    level = _open_level(found[0], 0, reader.prefixes)
    following: Piece | None = None
    while level and found[-1].end < len(data):
        following = piece_at(data, found[-1].end, first_line + lines, reader.cuts)
        if _begins_section(following, level, reader.prefixes):
            break
        found.append(following)
        lines += following.source.line_count
        level = _open_level(following, level, reader.prefixes)
        following = None
    return _section(data, found, level, reader), following


def _open_level(piece: Piece, level: int, prefixes: tuple[str, ...]) -> int:
    """Return the level of the open task after a piece; `level` is the one before it."""
    for index, node in enumerate(piece.nodes):
        if node.kind is Kind.HEADING:
            if task_heading(piece.nodes, index, piece.source, prefixes):
                level = node.level
            elif node.level <= level:
                level = 0
    return level


def _begins_section(piece: Piece, level: int, prefixes: tuple[str, ...]) -> bool:
    if not piece.nodes or piece.nodes[0].kind is not Kind.HEADING:
        return False
    shallow = piece.nodes[0].level <= level
    return shallow or task_heading(piece.nodes, 0, piece.source, prefixes) is not None


def task_heading(
    nodes: Sequence[Node], index: int, source: Source, prefixes: tuple[str, ...]
) -> TaskHeading | None:
    """Return the task heading at `index`, or None if it is no task.

    An id that is none for certain needs a Status item before the next heading; a number alone,
    and an id without a separator, need fields right below them.
    """
    node = nodes[index]
    heading = heading_of(node.text, prefixes) if node.level > 1 else None
    if heading is None or (heading.certain and heading.separated):
        return heading
    below = nodes[index + 1 : _next_heading(nodes, index + 1)]
    is_numbered = node.text[:1].isdigit()
    is_task = (is_numbered or heading.certain) and lost_tasks.has_fields(below, source)
    if not is_task and not is_numbered:
        is_task = any(field.key == "status" for field in read_body(below, source).fields)
    return heading if is_task else None


def _next_heading(nodes: Sequence[Node], index: int) -> int:
    while index < len(nodes) and nodes[index].kind is not Kind.HEADING:
        index += 1
    return index


def _section(data: bytes, found: Sequence[Piece], level: int, reader: SectionReader) -> Section:
    first = found[0].source
    end = found[-1].end
    source = (
        first if len(found) == 1 else Source(data[first.start : end], first.start, first.first_line)
    )
    nodes = _join_pieces(found)
    maker = _Maker(source, reader)
    for index, heading, stop in _task_ranges(nodes, source, reader.prefixes):
        maker.add_task(nodes[index], heading, nodes[index + 1 : stop])
    maker.add_notes(nodes)
    return Section(
        start=source.start,
        end=end,
        first_line=source.first_line,
        line_count=source.line_count,
        level=level,
        title=maker.title,
        tasks=tuple(maker.tasks),
        spans=tuple(maker.spans),
        problems=tuple(maker.problems),
        written=tuple(maker.written),
    )


def _join_pieces(found: Sequence[Piece]) -> tuple[Node, ...]:
    if len(found) == 1:
        return found[0].nodes
    first_line = found[0].source.first_line
    return tuple(
        node.move(piece.source.first_line - first_line) for piece in found for node in piece.nodes
    )


def _task_ranges(
    nodes: Sequence[Node], source: Source, prefixes: tuple[str, ...]
) -> Iterator[tuple[int, TaskHeading, int]]:
    """Yield every task's heading index, the heading, and the index after its last block."""
    begun: tuple[int, TaskHeading] | None = None
    for index, node in enumerate(nodes):
        if node.kind is not Kind.HEADING:
            continue
        heading = task_heading(nodes, index, source, prefixes)
        if begun and (heading or node.level <= nodes[begun[0]].level):
            yield *begun, index
            begun = None
        if heading:
            begun = (index, heading)
    if begun:
        yield *begun, len(nodes)


class _Maker:
    """Collects what a section holds, task by task."""

    def __init__(self, source: Source, reader: SectionReader) -> None:
        self.source = source
        self.reader = reader
        self.title = ""
        self.tasks: list[Task] = []
        self.spans: list[StatusSpan] = []
        self.problems: list[Problem] = []
        self.written: list[PlanCommand] = []
        self._covered: set[int] = set()
        """First lines of the blocks of tasks."""

    def add_task(self, node: Node, heading: TaskHeading, below: Sequence[Node]) -> None:
        body = read_body(below, self.source)
        fields = self._fields_by_key(body)
        around = schema.Surroundings(self.reader.prefixes, self.source.first_line)
        read = schema.validate(fields, around)
        for complaint in (*body.complaints, *read.complaints):
            self._complain(complaint)
        for near_miss in near_misses.find_near_misses(below, body, self.source):
            self._complain(*near_miss)
        column = max(self.source.lines[node.start].find(node.text[:1]), 0)
        head = Run(node.text, node.start, column)
        for near_miss in near_misses.find_title_marks(heading.title, head, fields.keys()):
            self._complain(*near_miss)
        self._covered.update(one.start for one in (node, *below))
        values = dict(read.values)
        if "contracts" in values:
            values["no_contracts"] = proofs.no_contracts(fields["contracts"])
        line = node.start + self.source.first_line
        if len(heading.title) > LONGEST_TITLE:
            self._complain(_long_title(node, heading), Severity.WARNING)
        title = " ".join(plain(heading.title).split())
        self.tasks.append(make_task(heading.id, title, line, body, values))
        self.spans.append(status_span(node, below, body, self.source))
        self.written.extend(
            PlanCommand(
                heading.id, directive.kind, directive.text, directive.line + self.source.first_line
            )
            for directive in body.directives
        )

    def _fields_by_key(self, body: Body) -> Mapping[str, PlanField]:
        """Return the known fields by key; repeated lists are joined, other repeats are errors."""
        known: dict[str, PlanField] = {}
        for field in body.fields:
            if not field.key:
                self._complain_unknown(field, {one.key for one in body.fields})
            elif field.key not in known:
                known[field.key] = field
            elif field.key in _LISTS:
                first = known[field.key]
                known[field.key] = first._replace(values=first.values + field.values)
            else:
                self._complain(
                    _about(
                        field,
                        f"{field_names.FIELDS[field.key][0]} is given twice",
                        "keep one of them",
                    )
                )
        return known

    def _complain_unknown(self, field: PlanField, given: set[str]) -> None:
        near = field_names.suggest_name(field.name.text)
        hint = f'did you mean "{near}"?' if near else "remove it: the runner ignores this field"
        complaint = _about(field, f'unknown field "{field.name.text}"', hint)
        self._complain(complaint, near_misses.unknown_severity(field, given))

    def add_notes(self, nodes: Sequence[Node]) -> None:
        """Add the title, and notes on headings and blocks that look like tasks but are none."""
        tasks = {task.line - self.source.first_line for task in self.tasks}
        headings = [one for one in nodes if one.kind is Kind.HEADING and one.start not in tasks]
        for node in headings:
            if node.level == 1 and not self.title:
                self.title = _short(" ".join(plain(node.text[:_MARKED]).split()))
        if headings or len(self._covered) < len(nodes):
            around = lost_tasks.SectionContext(
                self.source, self.reader.prefixes, tasks, self._covered
            )
            for near_miss in lost_tasks.find_lost(nodes, around):
                self._complain(*near_miss)

    def _complain(self, complaint: Complaint, severity: Severity = Severity.ERROR) -> None:
        self.problems.append(problem_of(complaint, self.source, self.reader.path, severity))


def problem_of(complaint: Complaint, source: Source, path: str, severity: Severity) -> Problem:
    """Convert a complaint to a problem with its place in the file."""
    return Problem(
        complaint.message,
        path,
        source.first_line + complaint.line,
        complaint.column + 1,
        complaint.hint,
        severity,
        source.lines[complaint.line],
        complaint.width,
    )


def _about(field: PlanField, message: str, hint: str) -> Complaint:
    return Complaint(message, hint, field.name.line, field.name.column, len(field.name.text))


def _long_title(node: Node, heading: TaskHeading) -> Complaint:
    message = f"the title of {heading.id} has {len(heading.title):,} characters"
    hint = f"move the rest into the section; only the first {LONGEST_TITLE} are shown"
    return Complaint(message, hint, node.start, 0, 1)


def _short(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else f"{title[:LONGEST_TITLE]}…"


_MARKED = 8 * LONGEST_TITLE
_LISTS = frozenset(
    {
        "depends_on",
        "outputs",
        "inputs",
        "acceptance",
        "changes_tests",
        "test_contracts",
        "held_out_files",
        "contracts",
        "gates",
        "keywords",
        "stack",
        "patterns",
        "requires",
        "uses",
    }
)


def _literal(values: Mapping[str, object], body: Body) -> tuple[str, ...]:
    if not (values.get("outputs") or values.get("inputs")):
        return ()
    return literal_paths(values, {block.path for block in body.blocks}.__contains__)


def make_task(id_: str, title: str, line: int, body: Body, values: Mapping[str, object]) -> Task:
    """Create a task from its section's body and typed values."""
    status = cast("tuple[Status, str]", values.get("status", (Status.PENDING, "")))
    others = {key: value for key, value in values.items() if key != "status" and value is not None}
    if needs := cast("tuple[str, ...]", others.get("depends_on")):
        others["depends_on"] = tuple(map(sys.intern, needs))
    return Task(
        id=sys.intern(id_),
        title=_short(title),
        line=line,
        spec=spec_of(title, values, body.prose_texts, body.examples, body.blocks),
        status=status[0],
        note=status[1],
        prose="\n\n".join(body.prose),
        blocks=tuple(body.blocks),
        changes=tuple(body.changes),
        literal=_literal(others, body),
        **others,  # type: ignore[arg-type]  # the schema holds the types of its keys
    )


def spec_of(
    title: str,
    values: Mapping[str, object],
    prose: Iterable[str],
    fences: Iterable[str],
    blocks: Iterable[Block],
) -> Spec:
    """Compute both digests of a task.

    `prose` is without fields, comments, rules and change quotes; white space does not count.
    `fences` are the fenced examples in it, `blocks` what is written: both byte for byte.
    """
    what: Part = (
        _collapse_spaces(title),
        tuple(_collapse_spaces(text) for text in prose if text.strip()),
        tuple(fences),
        tuple((block.kind.value, block.path, block.text) for block in blocks),
        # Without IDs: naming an item does not change the specification.
        tuple(_collapse_spaces(_without_id(text)) for text in _texts(values, "acceptance")),
        tuple(sorted(_texts(values, "outputs"))),
        tuple(sorted(_texts(values, "depends_on"))),
        str(values.get("implementer", "")),
        str(values.get("command", "")),
        # only if given: work built before this field existed stays valid
        *([tuple(sorted(named))] if (named := _texts(values, "changes_tests")) else []),
    )
    proof = _unproven() if _PROVE.isdisjoint(values) else _digest(_proof(values))
    return Spec.of_bytes(_digest(what) + proof)


@cache
def _unproven() -> bytes:
    """Return the proof digest of a task without proof fields; cached for speed."""
    return _digest(_proof({}))


def _proof(values: Mapping[str, object]) -> Part:
    tests: tuple[TestContract, ...] = values.get("test_contracts", ())  # type: ignore[assignment]  # the schema holds the types of its keys
    contracts: tuple[Contract, ...] = values.get("contracts", ())  # type: ignore[assignment]  # the same
    gates: tuple[GateSpec, ...] = values.get("gates", ())  # type: ignore[assignment]  # the same
    coverage: float | None = values.get("coverage")  # type: ignore[assignment]  # the same
    # only if given: proofs from before these fields existed stay valid
    without = tuple((key, str(values[key])) for key in _REASONS if values.get(key))
    held: tuple[HeldOutFile, ...] = values.get("held_out_files", ())  # type: ignore[assignment]  # the same
    return (
        tuple((test.id, test.level.value, test.command, *_marks(test)) for test in tests),
        tuple((contract.kind, contract.value) for contract in contracts),
        tuple((gate.name, gate.command, gate.network.value, gate.seconds) for gate in gates),
        coverage,
        *without,
        *([tuple(sorted((one.path, one.digest) for one in held))] if held else []),
    )


def _marks(test: TestContract) -> Iterator[str]:
    if test.fails:
        yield "fails"
    if test.held_out:
        yield "held out"


def _without_id(text: str) -> str:
    return AcceptanceItem.parse(text).text


def _texts(values: Mapping[str, object], key: str) -> tuple[str, ...]:
    found = values.get(key)
    return tuple(map(str, found)) if found and isinstance(found, tuple) else ()


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


def _digest(part: Part) -> bytes:
    """Return the digest of nested values; `repr` keeps the borders between them."""
    return hashlib.sha256(repr(part).encode("utf-8", "replace")).digest()


def status_span(heading: Node, below: Sequence[Node], body: Body, source: Source) -> StatusSpan:
    """Return the span of the task's status, or where to insert it.

    A missing one goes before the first field, in the style of that field; without fields it makes
    a list right under the heading.
    """
    existing = next((field for field in body.fields if field.key == "status"), None)
    if existing:
        return _value_span(existing, source)
    if body.holders:
        first = body.fields[0]
        match first.style:
            case Style.TABLE:
                return _new_row(body.holders[0], source)
            case Style.LIST:
                return _new_item(body.holders[0], source)
            case Style.LINE:
                return _new_line(first, source)
    return _new_list(heading, below, source)


def _value_span(field: PlanField, source: Source) -> StatusSpan:
    start, end = source.byte(*field.start), source.byte(*field.end)
    line, column = field.start
    needs_blank = start == end and source.lines[line][column - 1 : column] not in (" ", "\t")
    return StatusSpan(start, end, " " if needs_blank else "")


def _at_line(source: Source, line: int, before: str, after: str) -> StatusSpan:
    """Return a span that inserts a line before `line`."""
    at = source.byte(line, 0)
    return StatusSpan(at, at, before, after + "\n")


def _new_item(node: Node, source: Source) -> StatusSpan:
    line = node.items[0].start
    raw = source.lines[line]
    lead = raw[: len(raw) - len(raw.lstrip())]
    marker = re.match(r"(?:[-*+]|\d+[.)])[ \t]+", raw.lstrip())
    return _at_line(source, line, f"{lead}{marker[0] if marker else '- '}Status: ", "")


def _new_line(field: PlanField, source: Source) -> StatusSpan:
    line = field.name.line
    raw = source.lines[line]
    lead = raw[: len(raw) - len(raw.lstrip())]
    bare = raw.lstrip()
    mark = bare[: bare.index(field.name.text[0])]
    behind = bare[len(mark) + len(field.name.text) :]
    name = f"{mark}Status{mark}:" if mark and behind.startswith(mark) else f"{mark}Status:{mark}"
    # Two blanks or a backslash keep a paragraph's lines apart in rendered form (CommonMark 0.31,
    # 6.7).
    ending = raw[len(raw.rstrip(" \t\\")) :] or ("" if not mark else "  ")
    return _at_line(source, line, f"{lead}{name} ", ending)


def _new_row(node: Node, source: Source) -> StatusSpan:
    raw = source.lines[node.start]
    lead = raw[: len(raw) - len(raw.lstrip())]
    open_pipe, close_pipe = raw.strip().startswith("|"), raw.strip().endswith("|")
    before = f"{lead}{'| ' if open_pipe else ''}Status | "
    after = " |" if close_pipe else ""
    # After the head and its delimiter row: a row above them would be the head (GFM, 4.10 Tables).
    line = node.start + 2
    if line >= len(source.lines):
        return _at_end(source, before, after)
    return _at_line(source, line, before, after)


def _at_end(source: Source, before: str, after: str) -> StatusSpan:
    """Return the span of a new last line in a source without a final line end."""
    last = len(source.lines) - 1
    at = source.byte(last, len(source.lines[last]))
    return StatusSpan(at, at, "\n" + before, after)


def _new_list(heading: Node, below: Sequence[Node], source: Source) -> StatusSpan:
    name = _marker(heading, below, source)
    if heading.end >= len(source.lines):
        return _at_end(source, "\n" + name, "")
    at = source.byte(heading.end, 0)
    blank_follows = heading.end >= source.line_count or not source.lines[heading.end].strip(" \t")
    return StatusSpan(at, at, "\n" + name, "\n" if blank_follows else "\n\n")


def _marker(heading: Node, below: Sequence[Node], source: Source) -> str:
    """Return the start of a new list that does not absorb the following text."""
    follows = next((line for line in source.lines[heading.end :] if line.strip(" \t")), "")
    # After a list, indented text would join its item (CommonMark 0.31, 5.2); a paragraph absorbs
    # none.
    if follows.startswith((" ", "\t")):
        return "**Status:** "
    # With the same mark the two lists would merge; another mark starts a new list (CommonMark 0.31,
    # 5.3).
    dashes = bool(below) and below[0].kind is Kind.LIST and below[0].markup == "-"
    return "* Status: " if dashes else "- Status: "
