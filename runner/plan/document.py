"""Parse a TASK-GRAPH.md into tasks and problems.

Lists of work outside the tasks of a plan: nothing is made of their items.

The rule is in docs/guides/plan.md. It is narrow on purpose: a list that may be prose is left alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from runner.lazy_pattern import regex
from runner.model import Severity
from runner.plan import lost_tasks
from runner.plan.field_names import parse_name
from runner.plan.globs import literal_paths
from runner.plan.lost_tasks import PreviousSection
from runner.plan.markdown import Cuts, Kind, pieces
from runner.plan.markdown_text import plain
from runner.plan.near_misses import find_listed
from runner.plan.sections import PlanCommand, Section, SectionReader, read_sections, section_at
from runner.plan.source import BOM, Problem, body_start
from runner.plan.status import StatusSpans
from runner.text.wording import join_few

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from runner.model import Block, Contract, GateSpec, Task, TestContract
    from runner.plan.markdown import ListItem, Node
    from runner.plan.source import Source

    Placed = TypeVar("Placed", Block, Contract, GateSpec, Problem, TestContract)


_MAYBE = regex(rb"^ {0,3}(?:\d{1,9}[.)]|[-*+][ \t]+\[ \])[ \t]+\S", re.MULTILINE)
_ITEM = regex(r"\s*(?:\d{1,9}[.)]|[-*+])[ \t]+(?:\[(?P<box>[ xX])\][ \t]+)?(?P<text>\S.*)")
_LONGEST = 80
_WORDS = range(2, 13)
_LABEL_WORDS = 3
_SENTENCE = regex(r"[.!?:;,\u2026]$|[.!?;:]\s|\]\(|https?://")
"""Signs of a sentence, or of a table of contents."""
_WORK = regex(r"(?i)\b(?:tasks?|to-?do|to do|steps?|plan|work|backlog|next|later|remaining)\b")
_CONDITIONS = regex(r"(?i)\b(?:accept\w*|criteri\w*|done|checklist)\b")
_BEGIN, _MIDDLE, _END = b"<<<<<<< ", b"=======", b">>>>>>> "
_FENCE = regex(rb" {0,3}(`{3,}|~{3,})")


_BACK = 2
_COMPARED = 4096
"""Bytes compared at once to find where two texts differ."""


class Plan(Struct, frozen=True):
    """Tasks in the order of the file; `problems` are about single places, not about the whole."""

    path: str
    title: str
    tasks: tuple[Task, ...]
    problems: tuple[Problem, ...]
    written_commands: tuple[PlanCommand, ...]
    spans: StatusSpans
    """Position of each task's status, in the order of `tasks`."""


def read_plan(data: bytes, path: str, *, prefixes: tuple[str, ...] = ()) -> Plan:
    """Parse the plan in the bytes of a TASK-GRAPH.md; `path` is for messages.

    Format: TASK-GRAPH.md in the project's FORMATS; Markdown as CommonMark 0.31 with GFM tables.
    """
    return plan_of(data, path, read_sections(data, path, prefixes))


def plan_of(data: bytes, path: str, sections: Iterable[Section]) -> Plan:
    """Combine sections into a plan."""
    title = ""
    tasks: list[Task] = []
    spans = StatusSpans()
    problems = list(_encoding(data, path))
    written: list[PlanCommand] = []
    behind: lost_tasks.PreviousSection | None = None
    left_out: dict[str, Problem] = {}
    lists: list[UnwrittenTasks] = []
    for section in sections:
        title = title or section.title
        if section.tasks:
            behind = lost_tasks.PreviousSection.of(section.tasks[-1].id, section.level)
        elif behind is not None and not section.problems:
            lost = lost_tasks.find_left_out(data, section.start, section.first_line, path, behind)
            if lost is not None:
                behind = behind.next()
                left_out[behind.id] = lost
        if not section.tasks:
            lists += find_unwritten(data, section)
        tasks += section.tasks
        spans.extend(section.spans)
        problems += section.problems
        written += section.written
    known = {task.id for task in tasks} if left_out or lists else set()
    problems += [lost for id_, lost in left_out.items() if id_ not in known]
    if tasks:
        problems += name_unwritten(lists, (*known, *left_out), path)
    else:
        problems.append(_no_task(data, path))
    problems.sort(key=lambda problem: (problem.line, problem.column))
    return Plan(path, title, tuple(tasks), tuple(problems), tuple(written), spans)


def with_literals(plan: Plan, is_file: Callable[[str], bool]) -> Plan:
    """Return the plan with paths that exist as files taken literally."""
    tasks = tuple(_literal_task(task, is_file) for task in plan.tasks)
    same = all(new is old for new, old in zip(tasks, plan.tasks, strict=True))
    return plan if same else replace(plan, tasks=tasks)


def _literal_task(task: Task, is_file: Callable[[str], bool]) -> Task:
    if not (task.outputs or task.inputs):
        return task
    found = literal_paths({"outputs": task.outputs, "inputs": task.inputs}, is_file)
    return replace(task, literal=(*task.literal, *found)) if found else task


def _encoding(data: bytes, path: str) -> tuple[Problem, ...]:
    """Return a problem for the first byte that is not UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        line = before.count(b"\n") + 1
        column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        message = "the file is not UTF-8 text"
        return (Problem(message, path, line, column, "save it as UTF-8"),)
    return ()


def _no_task(data: bytes, path: str) -> Problem:
    first = data.removeprefix(b"\xef\xbb\xbf").splitlines()[:1]
    return Problem(
        "the plan has no task",
        path,
        1,
        1,
        "add one with a heading such as ## TASK-001: Title; `runner init` writes an example",
        Severity.ERROR,
        first[0].decode("utf-8", "replace") if first else "",
    )


class UnwrittenTasks(NamedTuple):
    """Items below one heading that look like tasks; `line` of the first counts from 1."""

    titles: tuple[str, ...]
    line: int
    text: str
    """Line of the first item."""


def find_unwritten(data: bytes, section: Section) -> Iterator[UnwrittenTasks]:
    """Find the items that look like tasks in a section that has none."""
    if not _MAYBE.search(data, section.start, section.end):
        return
    piece = next(pieces(data[section.start : section.end]))
    found = [
        (node, title)
        for above, node in zip((None, *piece.nodes), piece.nodes, strict=False)
        if node.kind is Kind.LIST and _may_hold_work(node, above, piece.nodes[0], piece.source)
        for title in _read_titles(node, piece.source)
    ]
    if found:
        first = found[0][0].start
        titles = tuple(title for _, title in found)
        yield UnwrittenTasks(titles, section.first_line + first, piece.source.lines[first])


def name_unwritten(
    lists: Iterable[UnwrittenTasks], ids: Iterable[str], path: str
) -> Iterator[Problem]:
    """Warn of each list, with headings that would make tasks of its items."""
    number = max((PreviousSection.of(id_, 0).number for id_ in ids), default=0)
    behind = PreviousSection(number, 0)
    for one in lists:
        headings = []
        for title in one.titles:
            behind = behind.next()
            headings.append(f"## {behind.id}: {title}")
        many = len(one.titles)
        what = f"these {many} items look like tasks" if many > 1 else "this item looks like a task"
        message = f"{what}, but a task needs a heading with an id"
        hint = f"write each as a heading, with its fields below it: {join_few(headings)}"
        at = len(one.text) - len(one.text.lstrip()) + 1
        width = len(one.text.strip())
        yield Problem(message, path, one.line, at, hint, Severity.WARNING, one.text, width)


def _may_hold_work(node: Node, above: Node | None, first: Node, source: Source) -> bool:
    """Return whether a list with checkboxes or numbers may be a list of tasks."""
    label = first.text if first.kind is Kind.HEADING and first.level > 1 else ""
    if above is not None and above.kind is Kind.PARAGRAPH and above.text.endswith(":"):
        label = above.text
        if len(label.split()) > _LABEL_WORDS:
            return False
    if all(_has_box(item, source) for item in node.items):
        return not _CONDITIONS.search(label)
    is_numbered = source.lines[node.start].lstrip()[:1].isdigit()
    return is_numbered and (not label or bool(_WORK.search(label)))


def _has_box(item: ListItem, source: Source) -> bool:
    match = _ITEM.match(source.lines[item.start])
    return bool(match and match["box"])


def _read_titles(node: Node, source: Source) -> Sequence[str]:
    """Return the titles of unticked list items; empty if one of them may be prose."""
    read = [_ITEM.match(source.lines[item.start]) for item in node.items]
    open_ = [
        (item, plain(match["text"].strip()) if match else "")
        for item, match in zip(node.items, read, strict=True)
        if not (match and match["box"] in ("x", "X"))
    ]
    is_work = all(_is_title(title, item) for item, title in open_)
    return [title for _, title in open_] if is_work else ()


def _is_title(text: str, item: ListItem) -> bool:
    """Return whether an item is a short phrase: no sentence, field, link or task ID."""
    first = next(iter(item.children), None)
    if first is None or first.kind is not Kind.PARAGRAPH or "\n" in first.text:
        return False
    is_phrase = len(text) <= _LONGEST and len(text.split()) in _WORDS
    if not is_phrase or _SENTENCE.search(first.text):
        return False
    return parse_name(text) is None and not any(find_listed(f"- {text}", has_tasks=True))


def find_conflicts(data: bytes, *, unmerged: bool = False) -> tuple[tuple[int, int], ...]:
    """Return the first and last line of each conflict, counted from 1.

    The text of a code block may show markers. They count where git holds the file as `unmerged`.
    """
    if _BEGIN not in data:
        return ()
    found: list[tuple[int, int]] = []
    begin, middle, fence = 0, False, b""
    for number, line in enumerate(data.splitlines(), 1):
        if line.startswith(_BEGIN) and (unmerged or not fence):
            begin, middle = number, False
        elif begin and line == _MIDDLE:
            middle = True
        elif begin and middle and line.startswith(_END):
            found.append((begin, number))
            begin = 0
        elif match := _FENCE.match(line):
            mark = match[1]
            if not fence:
                fence = mark
            elif mark.startswith(fence):
                fence = b""
    return tuple(found)


def reread(
    data: bytes, path: str, prefixes: tuple[str, ...], old: bytes, sections: Sequence[Section]
) -> tuple[Section, ...]:
    """Return all sections of `data`, reusing unchanged `sections` of the `old` bytes."""
    head = common_start(old, data)
    if head == len(old) == len(data):
        return tuple(sections)
    # Adding or removing a byte order mark moves everything, and a single lone CR changes line
    # splitting in the whole file (`Cuts`).
    if head < len(BOM) or not sections or _has_lone_cr(old) != _has_lone_cr(data):
        return tuple(read_sections(data, path, prefixes))
    # If `aa` becomes `aaa`, prefix and suffix overlap: no byte may count twice.
    tail = min(common_end(old, data), min(len(old), len(data)) - head)
    first = max(bisect_left([one.end for one in sections], head) - _BACK, 0)
    return (*sections[:first], *_read_changed(data, (path, prefixes), old, tail, sections[first:]))


def _read_changed(
    data: bytes,
    named: tuple[str, tuple[str, ...]],
    old: bytes,
    tail: int,
    sections: Sequence[Section],
) -> Iterator[Section]:
    """Yield the sections from the first changed one; the last `tail` bytes are unchanged."""
    grown = len(data) - len(old)
    known = {
        one.start + grown: at for at, one in enumerate(sections) if one.start > len(old) - tail
    }
    reader = SectionReader(*named, Cuts(data))
    offset = sections[0].start if sections else body_start(data)
    line = sections[0].first_line if sections else 1
    ahead = None
    while offset < len(data):
        section, ahead = section_at(data, offset, line, reader, ahead)
        yield section
        offset, line = section.end, line + section.line_count
        if (at := known.get(offset)) is not None:
            by = line - sections[at].first_line
            yield from (_move(one, grown, by) for one in sections[at:])
            return


def _move(section: Section, grown: int, lines: int) -> Section:
    """Return a section moved by bytes and lines."""
    if not grown and not lines:
        return section
    return Section(
        section.start + grown,
        section.end + grown,
        section.first_line + lines,
        section.line_count,
        section.level,
        section.title,
        tuple([_move_task(task, lines) for task in section.tasks]) if lines else section.tasks,
        tuple([span.move(grown) for span in section.spans]) if grown else section.spans,
        _move_parts(section.problems, lines) if lines else section.problems,
        tuple([replace(one, line=one.line + lines) for one in section.written]),
    )


def _move_task(task: Task, by: int) -> Task:
    return replace(
        task,
        line=task.line + by,
        test_contracts=_move_parts(task.test_contracts, by),
        contracts=_move_parts(task.contracts, by),
        gates=_move_parts(task.gates, by),
        blocks=_move_parts(task.blocks, by),
    )


def _move_parts(parts: tuple[Placed, ...], by: int) -> tuple[Placed, ...]:
    return tuple([replace(one, line=one.line + by) for one in parts]) if parts else parts


def _has_lone_cr(data: bytes) -> bool:
    return data.count(b"\r") != data.count(b"\r\n")


def common_start(one: bytes, other: bytes) -> int:
    """Return the number of equal bytes at the start."""
    at, most = 0, min(len(one), len(other))
    while at < most and one[at : at + _COMPARED] == other[at : at + _COMPARED]:
        at += _COMPARED
    at = min(at, most)
    while at < most and one[at] == other[at]:
        at += 1
    return at


def common_end(one: bytes, other: bytes) -> int:
    """Return the number of equal bytes at the end."""
    at, most = 0, min(len(one), len(other))
    while at + _COMPARED <= most and (
        one[len(one) - at - _COMPARED : len(one) - at]
        == other[len(other) - at - _COMPARED : len(other) - at]
    ):
        at += _COMPARED
    while at < most and one[-at - 1] == other[-at - 1]:
        at += 1
    return at
