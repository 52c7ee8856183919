"""Parse checklists in Markdown: spec-kit, Kiro, OpenSpec, and plain ones.

Their order is what they say of dependencies: an item follows the one before it, a group the whole
group before it. spec-kit's `[P]` frees items of one phase from each other.
Sources: the templates that spec-kit and OpenSpec install, Kiro's documentation of its specs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.plan.foreign.tasks import (
    DoneMark,
    ForeignPlan,
    ForeignState,
    ForeignTask,
    Form,
    paths_in,
    title_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ITEM = re.compile(
    r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+\[(?P<mark>[ xX~/>-]?)\](?P<optional>\*)?[ \t]+"
    r"(?P<text>\S.*)"
)
_BULLET = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?P<text>\S.*)")
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})[ \t]+(?P<text>.*\S)")
_FENCE = re.compile(r"[ \t]*(?P<mark>`{3,}|~{3,})")
_KEYS = {
    Form.SPEC_KIT: re.compile(r"(?:\*\*)?(?P<key>T\d+[a-z]?)(?:\*\*)?[:.]?\s+"),
    Form.KIRO: re.compile(r"(?P<key>\d+(?:\.\d+)*)[.)]?\s+"),
    Form.OPENSPEC: re.compile(r"(?P<key>\d+(?:\.\d+)*)[.)]?\s+"),
}
_LABEL = re.compile(r"\[(?P<label>P|US\d+|[A-Z]{1,4}\d+)\]\s*")
_REQUIREMENTS = re.compile(r"[_*]*Requirements?:\s*(?P<text>.+?)[_*]*$", re.IGNORECASE)
_T = r"T\d+[a-z]?"
_LIST = rf"{_T}(?:\s*(?:,|and|&|-|–|to|through)\s*{_T})*"  # noqa: RUF001  # people write both dashes
_NEEDS = re.compile(
    rf"(?P<after>{_LIST})[^\w\n]*\s(?:depends? on|requires?|needs?|after|is blocked by|blocked by)"
    rf"[^\w\n]*\s(?P<before>{_LIST})",
    re.IGNORECASE,
)
_FIRST = re.compile(
    rf"(?P<before>{_LIST})[^\w\n]*\s?(?:before|blocks?|must complete before|->|→|precedes?)"
    rf"[^\w\n]*\s?(?P<after>{_LIST})",
    re.IGNORECASE,
)
_INLINE = re.compile(
    rf"\(?\b(?:depends? on|needs|requires|after):?\s+(?P<before>{_LIST})\)?", re.IGNORECASE
)
_DEPENDENCIES = re.compile(r"dependenc|execution order|parallel", re.IGNORECASE)
_RANGE = re.compile(r"(T)(\d{1,9})\s*(?:-|–|to|through)\s*T(\d{1,9})(?!\d)")  # noqa: RUF001  # the same
_MOST = 5_000
"""Maximum tasks of one range: more is a typo."""


class _Line(Struct):
    """One item with a box."""

    indent: int
    text: str
    line: int
    mark: DoneMark
    state: ForeignState
    group: int
    """Number of the heading above it."""
    is_optional: bool
    details: list[str] = field(default_factory=list)
    children: list[_Line] = field(default_factory=list)


def read_checklist(text: str, form: Form) -> ForeignPlan:
    """Parse a checklist into tasks, in linear time."""
    lines, left, sayings = _scan(text)
    keyed = _Keys(form)
    tasks = list(_in_order(lines, keyed))
    for number, sentence in sayings:
        if not _parse_dependency_text(sentence, tasks):
            left.append((number, sentence))
    return ForeignPlan(form, tuple(tasks), tuple(left))


def _scan(text: str) -> tuple[list[_Line], list[tuple[int, str]], list[tuple[int, str]]]:
    """Return top-level items with their children, remaining lines, and dependency lines."""
    top: list[_Line] = []
    stack: list[_Line] = []
    left: list[tuple[int, str]] = []
    sayings: list[tuple[int, str]] = []
    group = position = 0
    fence = ""
    tells = is_comment = False
    for number, raw in enumerate(text.split("\n"), 1):
        line, begin = raw.rstrip("\r"), position
        position += len(raw) + 1
        if fenced := _FENCE.match(line):
            mark = fenced["mark"]
            fence = "" if fence and mark.startswith(fence) else fence or mark
            continue
        was_comment = is_comment
        is_comment = not fence and _ends_within_comment(line, began_within=was_comment)
        if fence or was_comment or is_comment:
            continue
        if heading := _HEADING.match(line):
            tells = bool(_DEPENDENCIES.search(heading["text"]))
            group, stack = group + 1, []
        elif found := _ITEM.match(line):
            _add_item(_line_of(found, number, begin, group), top, stack)
        elif line.strip() and stack and line[0] in " \t":
            bullet = _BULLET.match(line)
            _owner(stack, _width(line)).details.append(bullet["text"] if bullet else line.strip())
        elif line.strip() and tells:
            sayings.append((number, line.strip()))
    return top, left, sayings


def _ends_within_comment(line: str, *, began_within: bool) -> bool:
    """Return whether a comment continues after this line (CommonMark 4.6)."""
    if began_within or line.lstrip().startswith("<!--"):
        return "-->" not in line
    return False


def _line_of(found: re.Match[str], number: int, begin: int, group: int) -> _Line:
    marked = found["mark"]
    at = begin + found.start("mark")
    state = ForeignState.DONE if marked in ("x", "X") else ForeignState.OPEN
    mark = DoneMark(at, at + len(marked), "x", " ")
    indent, text = _width(found["indent"]), found["text"].strip()
    return _Line(indent, text, number, mark, state, group, bool(found["optional"]))


def _width(text: str) -> int:
    # A tab extends to the next multiple of four (CommonMark 0.31, 2.2).
    expanded = text.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def _add_item(item: _Line, top: list[_Line], stack: list[_Line]) -> None:
    while stack and stack[-1].indent >= item.indent:
        stack.pop()
    (stack[-1].children if stack else top).append(item)
    stack.append(item)


def _owner(stack: Sequence[_Line], indent: int) -> _Line:
    return next((one for one in reversed(stack) if one.indent < indent), stack[0])


class _Keys:
    """Takes the name of an item from before its text."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self._pattern = _KEYS.get(form)
        self._taken: set[str] = set()

    def take(self, item: _Line) -> tuple[str, str, frozenset[str]]:
        """Return the key, the remaining text and the labels (`P`, `US1`) of an item."""
        key, text = "", item.text
        if self._pattern and (found := self._pattern.match(text)):
            key, text = found["key"], text[found.end() :]
        labels = set()
        while self.form is Form.SPEC_KIT and (label := _LABEL.match(text)):
            labels.add(label["label"])
            text = text[label.end() :]
        if not key or key in self._taken:
            key = f"line {item.line}"
        self._taken.add(key)
        return key, text, frozenset(labels)

    def is_named(self, item: _Line) -> bool:
        """Return whether a nested item has a number and so is a separate task."""
        return bool(self._pattern and self._pattern.match(item.text))


def _in_order(lines: Sequence[_Line], keys: _Keys) -> Iterator[ForeignTask]:
    """Yield every task with its dependencies."""
    order = _Order()
    for item in lines:
        order.enter(item.group)
        named = [one for one in item.children if keys.is_named(one)]
        if not named:
            yield _task(item, keys, order)
            continue
        own, text, labels = keys.take(item)
        below = [_task(child, keys, order) for child in named]
        yield from below
        needs = tuple(one.key for one in below)
        group = _make(item, own, text, labels, needs)
        order.follow(own, frees=False)
        yield replace(group, is_group=True, acceptance=tuple(_criteria_of(item)))


def _task(item: _Line, keys: _Keys, order: _Order) -> ForeignTask:
    key, text, labels = keys.take(item)
    needs = order.follow(key, frees="P" in labels)
    task = _make(item, key, text, labels, needs)
    criteria = [*_criteria_of(item), *(_below(item))]
    return replace(task, acceptance=tuple(dict.fromkeys(criteria)))


def _make(
    item: _Line, key: str, text: str, labels: frozenset[str], needs: tuple[str, ...]
) -> ForeignTask:
    inline = _INLINE.search(text)
    named = tuple(_names(inline["before"])) if inline else ()
    words = (text[: inline.start()] + text[inline.end() :]).strip() if inline else text
    details = "\n".join(item.details)
    return ForeignTask(
        key,
        title_of(words) or key,
        item.line,
        item.state,
        item.mark,
        needs=tuple(dict.fromkeys((*needs, *(one for one in named if one != key)))),
        paths=paths_in(f"{text}\n{details}"),
        keywords=(*sorted(labels - {"P"}), *(["optional"] if item.is_optional else [])),
    )


def _criteria_of(item: _Line) -> Iterator[str]:
    for detail in item.details:
        required = _REQUIREMENTS.match(detail)
        yield f"Requirements: {required['text']}" if required else " ".join(detail.split())


def _below(item: _Line) -> Iterator[str]:
    """Yield the texts of all nested items, outermost first."""
    front = list(reversed(item.children))
    while front:
        child = front.pop()
        yield " ".join(child.text.split())
        yield from _criteria_of(child)
        front += reversed(child.children)


class _Order:
    """The predecessor of an item: the one before it, or the last ordered one if it is free."""

    def __init__(self) -> None:
        self._before: tuple[str, ...] = ()
        self._free: list[str] = []
        self._group = -1

    def enter(self, group: int) -> None:
        """Switch to a group; a new group follows all items of the last one."""
        if group != self._group:
            self._close()
            self._group = group

    def follow(self, key: str, *, frees: bool) -> tuple[str, ...]:
        """Return the dependencies of `key`."""
        if frees:
            self._free.append(key)
            return self._before
        self._close()
        needs, self._before = self._before, (key,)
        return needs

    def _close(self) -> None:
        if self._free:
            self._before, self._free = tuple(self._free), []


def _parse_dependency_text(sentence: str, tasks: list[ForeignTask]) -> bool:
    """Add what a line tells of dependencies; False where it tells nothing that is understood."""
    found = _NEEDS.search(sentence) or _FIRST.search(sentence)
    if found is None:
        return not re.search(_T, sentence)
    place = {task.key: at for at, task in enumerate(tasks)}
    before = [one for one in _names(found["before"]) if one in place]
    for key in _names(found["after"]):
        if key in place:
            task = tasks[place[key]]
            # Only earlier tasks: contradictory statements would form a cycle.
            more = (one for one in before if one != key and place[one] < place[key])
            tasks[place[key]] = replace(task, needs=tuple(dict.fromkeys((*task.needs, *more))))
    return True


def _names(text: str) -> Iterator[str]:
    """Yield the task names in `T001, T003-T005`."""
    for part in re.split(r",|\band\b|&", text):
        if found := _RANGE.search(part):
            first, last = int(found[2]), int(found[3])
            digits = len(found[2])
            yield from (f"T{n:0{digits}}" for n in range(first, min(last, first + _MOST) + 1))
        elif found := re.search(_T, part):
            yield found[0]
