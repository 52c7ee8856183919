"""Find content outside of every task that looks like part of one: headings, file blocks."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.model import Severity
from runner.plan import fields as styles
from runner.plan.body import block_of, fences
from runner.plan.field_names import MATTERS, parse_name
from runner.plan.markdown import Kind, Node
from runner.plan.near_misses import severity_of
from runner.plan.source import Problem, text_of
from runner.plan.status import read_status
from runner.plan.task_ids import LONGEST_TITLE, TaskHeading, heading_of, nearly_named
from runner.plan.values import Complaint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from runner.plan.near_misses import NearMiss
    from runner.plan.source import Source


class SectionContext(NamedTuple):
    """The section that nodes are of: what is read of it, by the lines where it begins."""

    source: Source
    prefixes: tuple[str, ...]
    tasks: Collection[int]
    """Lines of task headings."""
    covered: Collection[int]
    """Lines that belong to a task."""


def find_lost(nodes: Sequence[Node], around: SectionContext) -> Iterator[NearMiss]:
    """Yield headings that resemble tasks, and other chapters with file blocks."""
    starts = [at for at, node in enumerate(nodes) if node.kind is Kind.HEADING]
    if before := nodes[: starts[0] if starts else None]:
        yield from _blocks(before, around)
    for at, stop in pairwise([*starts, len(nodes)]):
        node, below = nodes[at], nodes[at + 1 : stop]
        if node.start in around.tasks:
            continue
        near_miss = _report_heading(node, below, around)
        if near_miss is not None:
            yield near_miss
        elif node.start not in around.covered:
            yield from _blocks(below, around)


def _report_heading(node: Node, below: Sequence[Node], around: SectionContext) -> NearMiss | None:
    source = around.source
    heading = heading_of(node.text, around.prefixes)
    is_outside = node.start not in around.covered
    has_lost = is_outside and has_fields(below, source, of_a_task=True)
    if heading and heading.certain:
        severity = Severity.ERROR if has_lost else Severity.WARNING
        return _no_task(node, heading, source), severity
    if near := nearly_named(node.text, around.prefixes):
        is_struck = node.text.startswith("~~")
        is_lost = has_fields(below, source) and not is_struck
        severity = Severity.ERROR if is_lost else Severity.WARNING
        return _named_otherwise(node, near, source), severity
    if has_lost:
        return _fields_below(node, heading, source), Severity.ERROR
    if is_outside and heading and _has_scattered_fields(below, source):
        return _fields_below(node, heading, source), Severity.ERROR
    if is_outside and heading and next(_asked(below, source), None):
        return _blocks_below(node, heading, source), Severity.ERROR
    return None


def _blocks(nodes: Sequence[Node], around: SectionContext) -> Iterator[NearMiss]:
    """Yield a problem for the first block in a chapter without a task."""
    fence = next(_asked(nodes, around.source), None)
    if fence is not None and fence.start not in around.covered:
        width = len(around.source.lines[fence.start].strip())
        column = max(around.source.lines[fence.start].find("`"), 0)
        message = "this block is outside any task and is ignored"
        hint = "add a task heading above it: ## TASK-001: Title, with an unused number"
        yield Complaint(message, hint, fence.start, column, max(1, width)), Severity.WARNING


def _asked(nodes: Sequence[Node], source: Source) -> Iterator[Node]:
    return (one for one in fences(nodes) if block_of(one, source) is not None)


class PreviousSection(NamedTuple):
    """The task, or the reported heading, before a section without a task."""

    number: int
    level: int

    @property
    def id(self) -> str:
        """Task id of this number."""
        return f"TASK-{self.number:03d}"

    @classmethod
    def of(cls, id_: str, level: int) -> PreviousSection:
        """Create the value for a section after a task."""
        digits = _LAST_DIGITS.search(id_)
        return cls(int(digits[0]) if digits else 0, level)

    def next(self) -> PreviousSection:
        """Return the value for the section after that."""
        return self._replace(number=self.number + 1)


def find_left_out(
    data: bytes, start: int, line: int, path: str, behind: PreviousSection
) -> Problem | None:
    """Return a warning for a section whose heading resembles the tasks before it, or None.

    Its heading goes on with their numbers (`3. README`), or calls itself a task or a step, and
    nothing follows that would report it for what it holds.
    """
    raw = text_of(data[start : _end_of_line(data, start)])
    match = _SIBLING.match(raw)
    if match is None or len(match["level"]) != behind.level:
        return None
    text = match["text"]
    heading = heading_of(text)
    if text[0].isdigit() and heading is not None and not heading.certain:
        if heading.id != behind.next().id:
            return None
        message = "numbered heading is not a task (no fields)"
        title = heading.title
    elif title := _of_a_task(text):
        message = "this heading looks like a task, but is not read as one"
    else:
        return None
    hint = f"write {match['level']} {behind.next().id}: {_short(title)}"
    at = match.start("text") + 1
    return Problem(message, path, line, at, hint, Severity.WARNING, raw, max(1, len(text)))


def _end_of_line(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return len(data) if end < 0 else end


def _of_a_task(text: str) -> str:
    """Return the title of a heading such as `Task Two: Words` or `Step 2 - Words`."""
    match = _CALLED_TASK.match(text)
    return match["title"] if match else ""


_LAST_DIGITS = regex(r"\d+\Z")
_SIBLING = regex(r" {0,3}(?P<level>#{2,6})[ \t]+(?P<text>\S.*?)[ \t]*(?:#+[ \t]*)?\r?\Z")
_CALLED_TASK = regex(
    r"(?:task|step)(?:\s+\w+)?\s*(?::|\s[-\u2013\u2014]\s)\s*(?P<title>\S.*)", re.IGNORECASE
)


def has_fields(below: Sequence[Node], source: Source, *, of_a_task: bool = False) -> bool:
    """Return whether fields directly follow a heading; see `of_a_task`."""
    node = next((one for one in below if one.kind not in (Kind.HTML, Kind.RULE)), None)
    reads = {
        Kind.LIST: styles.from_list,
        Kind.PARAGRAPH: styles.from_paragraph,
        Kind.TABLE: styles.from_table,
    }
    read = reads.get(node.kind) if node else None
    taken = read(node, source, at_top=True) if read and node else None
    keys = {field.key for field in taken.fields} - {""} if taken else set()
    is_task = len(keys) > 1 and not keys.isdisjoint(("status", *MATTERS))
    return is_task if of_a_task else bool(keys)


def _has_scattered_fields(below: Sequence[Node], source: Source) -> bool:
    """Return whether lines below a heading are fields that only tasks have.

    Below prose, behind a tab, or gone on from the item above them. In a list that only explains
    the fields the values are sentences.
    """
    inside = {line for one in fences(below) for line in range(one.start, one.end)}
    keys, is_meant = set(), False
    for node in below:
        for number in range(node.start, node.end):
            text = "" if number in inside else _LEAD.sub("", source.lines[number], count=1)
            named = parse_name(text.rstrip()) if ":" in text else None
            if named and named.key:
                keys.add(named.key)
                is_meant = is_meant or _is_certain(named.key, text[named.value :])
    return len(keys) > 1 and is_meant


def _is_certain(key: str, value: str) -> bool:
    if key == "status":
        return read_status(value.strip()) is not None
    return bool(value.strip()) and severity_of(key, value, ()) is Severity.ERROR


_LEAD = regex(r"\s*(?:(?:[-*+]|\d+[.)])\s+)?(?:\[[ xX]?\]\s+)?")


def _no_task(node: Node, heading: TaskHeading, source: Source) -> Complaint:
    if node.level == 1:
        message = f"a level-1 heading cannot be a task, though it names {heading.id}"
        return _about(node, source, message, "write it with ## to make it a task")
    message = f"{heading.id} is not a task here: no separator follows the id"
    hint = f"write {'#' * node.level} {heading.id}: {heading.title}"
    return _about(node, source, message, hint)


def _named_otherwise(node: Node, near: str, source: Source) -> Complaint:
    message = "this heading looks like a task, but is not read as one"
    return _about(node, source, message, f"write {'#' * max(2, node.level)} {near}")


def _fields_below(node: Node, heading: TaskHeading | None, source: Source) -> Complaint:
    """Return the complaint about task fields below a heading without a task ID."""
    message = "task fields without a task ID in the heading"
    id_match = _ID_IN_TEXT.search(node.text)
    rest = node.text[: id_match.start()] + node.text[id_match.end() :] if id_match else node.text
    title = _short(_TASK_WORD.sub("", rest).strip(" -:")) or "Title"
    id_ = f"TASK-{id_match[1].zfill(3)}" if id_match else "TASK-001"
    hint = f"write {'#' * max(2, node.level)} {id_}: {title}"
    hint += "" if id_match else ", with an unused number"
    if heading:
        hint = _as_named(node, heading)
    return _about(node, source, message, hint)


def _blocks_below(node: Node, heading: TaskHeading, source: Source) -> Complaint:
    """Return a problem for file blocks under a numbered heading without fields."""
    message = "task blocks without a task ID in the heading"
    return _about(node, source, message, _as_named(node, heading))


def _as_named(node: Node, heading: TaskHeading) -> str:
    if not node.text[:1].isdigit():  # LETTERS-digits may be anything: a Status says that it is one
        return f"add - Status: PENDING below it to make {heading.id} a task"
    title = _short(heading.title) or "Title"
    return f"write {'#' * max(2, node.level)} {heading.id}: {title}"


def _about(node: Node, source: Source, message: str, hint: str) -> Complaint:
    column = max(source.lines[node.start].find(node.text[:1]), 0)
    return Complaint(message, hint, node.start, column, max(1, len(node.text)))


def _short(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else f"{title[:LONGEST_TITLE]}…"


_ID_IN_TEXT = regex(r"[(\[]?\b(?:task|step)[\s_#-]*(\d{1,6})\b(?![.\w])[)\]]?", re.IGNORECASE)
_TASK_WORD = regex(r"^(?:task|step|todo)\s*[:\u2013—]\s*", re.IGNORECASE)
