"""Lists of work outside the tasks of a plan: nothing is made of their items.

The rule is in docs/guides/plan.md. It is narrow on purpose: a list that may be prose is left alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.model import Severity
from runner.plan.diagnostic import Problem
from runner.plan.field_names import parse_name
from runner.plan.inline import plain
from runner.plan.lost_tasks import PreviousSection
from runner.plan.markdown import Kind, pieces
from runner.plan.near_misses import find_listed
from runner.text.wording import join_few

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.plan.markdown import ListItem, Node
    from runner.plan.sections import Section
    from runner.plan.source import Source

_MAYBE = regex(rb"^ {0,3}(?:\d{1,9}[.)]|[-*+][ \t]+\[ \])[ \t]+\S", re.MULTILINE)
_ITEM = regex(r"\s*(?:\d{1,9}[.)]|[-*+])[ \t]+(?:\[(?P<box>[ xX])\][ \t]+)?(?P<text>\S.*)")
_LONGEST = 80
_WORDS = range(2, 13)
_LABEL_WORDS = 3
_SENTENCE = regex(r"[.!?:;,\u2026]$|[.!?;:]\s|\]\(|https?://")
"""How a sentence looks, or a table of contents."""
_WORK = regex(r"(?i)\b(?:tasks?|to-?do|to do|steps?|plan|work|backlog|next|later|remaining)\b")
_CONDITIONS = regex(r"(?i)\b(?:accept\w*|criteri\w*|done|checklist)\b")


class UnwrittenTasks(NamedTuple):
    """Items below one heading that look like tasks; `line` of the first counts from 1."""

    titles: tuple[str, ...]
    line: int
    text: str
    """The line of the first item."""


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
    """Whether a list has boxes, or is numbered, where a person lists work."""
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
    """The titles of the items that are not ticked; none where one of them may be prose."""
    read = [_ITEM.match(source.lines[item.start]) for item in node.items]
    open_ = [
        (item, plain(match["text"].strip()) if match else "")
        for item, match in zip(node.items, read, strict=True)
        if not (match and match["box"] in ("x", "X"))
    ]
    is_work = all(_is_title(title, item) for item, title in open_)
    return [title for _, title in open_] if is_work else ()


def _is_title(text: str, item: ListItem) -> bool:
    """Whether the first line of an item is a short phrase: no sentence, field, link or id."""
    first = next(iter(item.children), None)
    if first is None or first.kind is not Kind.PARAGRAPH or "\n" in first.text:
        return False
    is_phrase = len(text) <= _LONGEST and len(text.split()) in _WORDS
    if not is_phrase or _SENTENCE.search(first.text):
        return False
    return parse_name(text) is None and not any(find_listed(f"- {text}", has_tasks=True))
