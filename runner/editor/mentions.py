"""Find mentions of tasks, files and patterns: goto, references, rename, folding, outline.

Fenced blocks are left out: they are files of the tasks, not words about them.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from runner.editor.open_plan import TextPosition, TextSpan, span_on
from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.model import Status
from runner.plan.globs import LONGEST_PATH
from runner.plan.patterns import pattern_id
from runner.plan.task_ids import task_id
from runner.project import PATTERNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.app.inspect.view import View
    from runner.editor.open_plan import OpenPlan, SourceText
    from runner.model import Task
    from runner.repo import read
else:
    read = lazy_module("runner.repo.read")

# --- mentions -------------------------------------------------------------------------


_ID = re.compile(
    r"(?<![\w/.\-])(?:TASK[ _-]*\d+|T-?\d+|[A-Za-z][A-Za-z0-9_]{0,60}[ _-]?\d{1,20})"
    r"(?![\w/])(?!-\w)(?!\.\w)",
    re.IGNORECASE,
)
"""Bounded: in a word of a hundred thousand digits each position would be tried."""
_PATTERN = re.compile(r"(?<![\w/.\-])PATTERN[-_ ]?\d+(?![\w/-])(?!\.\w)", re.IGNORECASE)
_PATH = re.compile(r"[\w@+~\[\](){}.-]*(?:/[\w@+~\[\](){}.-]+)+|[\w@+-][\w@+.-]*\.\w+|\.\w[\w.-]*")
_RUN = re.compile(r"[\w@+~\[\](){}./-]+")
_CODE = re.compile(r"`([^`]+)`")
_FENCE = re.compile(r"[ \t]*(?:[-*+>][ \t]+)*(?P<mark>`{3,}|~{3,})(?P<info>.*)")


class Mention(NamedTuple):
    """A name in a file; `path` is that of the file it stands in."""

    kind: str
    """`task`, `file` or `pattern`."""
    name: str
    """ID in its normal form, or the path."""
    path: str
    span: TextSpan


class SpanEdit(NamedTuple):
    """A text in place of a span."""

    path: str
    span: TextSpan
    text: str


def outside_fences(text: SourceText) -> Iterator[tuple[int, str]]:
    """Yield the lines outside fenced code blocks with their 0-based numbers."""
    mark = ""
    for number, line in enumerate(text.lines()):
        fence = _FENCE.match(line)
        if mark:
            if fence and fence["mark"].startswith(mark) and not fence["info"].strip():
                mark = ""
            continue
        if fence and ("`" not in fence["info"] or fence["mark"][0] == "~"):
            mark = fence["mark"]
            continue
        yield number, line


def tasks_named(text: SourceText, path: str, plan: OpenPlan) -> Iterator[Mention]:
    """Yield every mention of a plan's task in a text, in any spelling."""
    ids = {task.id for task in plan.tasks}
    for number, line in outside_fences(text):
        for match in _ID.finditer(line):
            found = task_id(match[0], plan.prefixes)
            if found in ids:
                yield Mention("task", str(found), path, span_on(number, *match.span()))


def mention_at(plan: OpenPlan, path: str, place: TextPosition) -> Mention | None:
    """Return the task, pattern or file at a position, or None."""
    text = plan.text_of(path)
    line = text.line(place.line)
    ids = {task.id for task in plan.tasks}
    for pattern, kind in ((_PATTERN, "pattern"), (_ID, "task")):
        for match in pattern.finditer(line):
            span = span_on(place.line, *match.span())
            named = pattern_id(match[0]) if kind == "pattern" else task_id(match[0], plan.prefixes)
            if span.holds(place) and named and (kind == "pattern" or named in ids):
                return Mention(kind, named, path, span)
    return _path_at(plan, path, place, line)


def _path_at(plan: OpenPlan, path: str, place: TextPosition, line: str) -> Mention | None:
    """Return the path at a position if the file exists or a task creates it, else None."""
    spans = [(match[1], *match.span(1)) for match in _CODE.finditer(line)]
    words = [(match[0], *match.span()) for match in _find_paths(line)]
    for word, start, end in (*spans, *words):
        span = span_on(place.line, start, end)
        name = word.removeprefix("./")
        if span.holds(place) and (plan.file(name) or makers(plan, name)):
            return Mention("file", name, path, span)
    return None


def _find_paths(line: str) -> Iterator[re.Match[str]]:
    """Yield possible paths in each run of path characters that is not too long."""
    for run in _RUN.finditer(line):
        if run.end() - run.start() <= LONGEST_PATH:
            yield from _PATH.finditer(line, *run.span())


def makers(plan: OpenPlan, path: str) -> tuple[Task, ...]:
    """Return the tasks that list a path in their outputs, in plan order."""
    return tuple(task for task in plan.tasks if path in task.outputs)


# --- to where it is defined -----------------------------------------------------------


def find_definition(plan: OpenPlan, mention: Mention) -> tuple[Mention, ...]:
    """Return the definitions of a name: a task's heading, a file, or a pattern's file and row."""
    if mention.kind == "task":
        task = next(one for one in plan.tasks if one.id == mention.name)
        return (heading_of_task(plan, task),)
    if mention.kind == "pattern":
        return tuple(_find_pattern(plan, mention.name))
    if plan.file(mention.name):
        return (Mention("file", mention.name, mention.name, span_on(0, 0, 0)),)
    return tuple(heading_of_task(plan, task) for task in makers(plan, mention.name)[:1])


def heading_of_task(plan: OpenPlan, task: Task) -> Mention:
    """Return the heading of a task as a mention."""
    line = plan.text.line(task.line - 1)
    start = len(line) - len(line.lstrip("# \t\ufeff"))
    return Mention("task", task.id, plan.path, span_on(task.line - 1, start, len(line.rstrip())))


def _find_pattern(plan: OpenPlan, name: str) -> Iterator[Mention]:
    known = next((one for one in plan.patterns().patterns if one.id == name), None)
    if known is None:
        return
    if known.file and plan.file(known.file):
        yield Mention("file", known.file, known.file, span_on(0, 0, 0))
        return
    for number, line in outside_fences(plan.text_of(PATTERNS)):
        for match in _PATTERN.finditer(line):
            if pattern_id(match[0]) == name:
                yield Mention("pattern", name, PATTERNS, span_on(number, *match.span()))
                return


# --- from where it is named -----------------------------------------------------------


def find_references(plan: OpenPlan, mention: Mention, beside: tuple[str, ...]) -> list[Mention]:
    """Return every mention of this name in the plan and related files."""
    found: list[Mention] = []
    for path in (plan.path, *beside):
        text = plan.text_of(path)
        if mention.kind == "task":
            found += [one for one in tasks_named(text, path, plan) if one.name == mention.name]
        elif mention.kind == "pattern":
            found += _all_of(text, path, mention, _PATTERN)
        else:
            found += _all_of(text, path, mention, re.compile(_whole_path(mention.name)))
    return found


def _whole_path(path: str) -> str:
    return rf"(?<![\w/.-])(?:\./)?{re.escape(path)}(?![\w/-])(?!\.\w)"


def _all_of(
    text: SourceText, path: str, mention: Mention, pattern: re.Pattern[str]
) -> Iterator[Mention]:
    for number, line in outside_fences(text):
        for match in pattern.finditer(line):
            if mention.kind == "file" or pattern_id(match[0]) == mention.name:
                yield mention._replace(path=path, span=span_on(number, *match.span()))


# --- another id -----------------------------------------------------------------------


def rename_task(
    plan: OpenPlan, mention: Mention, new: str, view: View | None, beside: tuple[str, ...]
) -> list[SpanEdit]:
    """Return the edits that rename a task in all documents. Raises RunnerError.

    Raises RunnerError for a task that was begun or has a commit, and for an id that is taken, was
    ever used, or is none: an id stands for the same task for ever.
    """
    old = mention.name
    require_renamable(plan, mention, view)
    id_ = task_id(new, plan.prefixes)
    if id_ is None:
        raise RunnerError(f'"{new}" is not a valid task ID', hint="use one such as TASK-012")
    if id_ == old:
        return []
    taken = next((task for task in plan.tasks if task.id == id_), None)
    if taken is not None:
        raise RunnerError(f"{id_} is already used on line {taken.line}", hint=_FRESH)
    if _is_known(plan, id_, view):
        raise RunnerError(f"{id_} was used by an earlier task", hint=_FRESH)
    found = find_references(plan, mention, beside)
    return [SpanEdit(one.path, one.span, id_) for one in found]


_FRESH = "IDs are never reused: choose one that no task ever had"


def require_renamable(plan: OpenPlan, mention: Mention, view: View | None) -> None:
    """Raise RunnerError for all that commits, evidence or the journal may know by its name."""
    if mention.kind != "task":
        raise RunnerError("only a task ID can be renamed here", hint="put the cursor on a task ID")
    if view is None and plan.project.journal_path.exists():
        raise RunnerError("the journal cannot be read, so no ID can change", hint="runner status")
    if _is_known(plan, mention.name, view):
        raise RunnerError(f"{mention.name} was started or built: its ID cannot change", hint=_BUILT)


_BUILT = "commits and the journal use this ID; write a new task instead"


def _is_known(plan: OpenPlan, id_: str, view: View | None) -> bool:
    """Return whether the journal or a commit contains work of this task ID."""
    known = None if view is None else view.state.task(id_)
    if known is not None and (
        known.status is not Status.PENDING or known.commit or known.last_attempt or known.spec
    ):
        return True
    with read.Repository.open(plan.root) as repository:
        head = repository.head().commit
        return any(one.task == id_ for one in (repository.log_trailers(head) if head else ()))


# --- structure ------------------------------------------------------------------------


_LEVELS = 6
_HEADING = re.compile(r"\ufeff?(?P<level>#{1,6})[ \t]+(?P<text>.*?)[ \t]*#*[ \t]*$")


class Heading(NamedTuple):
    """A heading and what stands below it, up to the next one of its level or a higher one."""

    name: str
    detail: str
    is_task: bool
    level: int
    span: TextSpan
    line: TextSpan
    """Line of the heading."""
    inside: tuple[Heading, ...] = ()


class Fold(NamedTuple):
    """Lines that can be folded into the first one."""

    first: int
    last: int


def outline(plan: OpenPlan, text: SourceText, *, is_plan: bool) -> tuple[Heading, ...]:
    """Return the headings of a text as a tree; task headings include their status."""
    flat = _headings(text, {task.line - 1: task for task in plan.tasks} if is_plan else {})
    return _nested(flat)


def _headings(text: SourceText, tasks: dict[int, Task]) -> list[Heading]:
    found = [
        (number, len(match["level"]), match["text"])
        for number, line in outside_fences(text)
        if (match := _HEADING.match(line))
    ]
    made = []
    behind = [text.line_count] * (_LEVELS + 1)
    """For each level, line of the next heading that ends it, computed from the end."""
    for number, level, name in reversed(found):
        last = behind[level] - 1
        behind[level:] = [number] * len(behind[level:])
        task = tasks.get(number)
        shown = f"{task.id}: {task.title}" if task else name
        detail = str(task.status) if task else ""
        end = TextPosition(last, len(text.line(last)))
        line = TextSpan(TextPosition(number, 0), TextPosition(number, len(text.line(number))))
        whole = TextSpan(line.start, end)
        made.append(Heading(shown or "…", detail, task is not None, level, whole, line))
    return made[::-1]


def _nested(flat: list[Heading]) -> tuple[Heading, ...]:
    """Nest each heading below the previous one of a higher level."""
    top: list[Heading] = []
    at = 0
    while at < len(flat):
        behind = at + 1
        while behind < len(flat) and flat[behind].level > flat[at].level:
            behind += 1
        top.append(flat[at]._replace(inside=_nested(flat[at + 1 : behind])))
        at = behind
    return tuple(top)


def folds(text: SourceText) -> Iterator[Fold]:
    """Yield sections and fenced blocks as folds; blank lines after a section are left out."""
    for heading in _headings(text, {}):
        last = heading.span.end.line
        while last > heading.span.start.line and not text.line(last).strip():
            last -= 1
        if last > heading.span.start.line:
            yield Fold(heading.span.start.line, last)
    outside = [-1, *(number for number, _ in outside_fences(text)), text.line_count]
    for before, after in pairwise(outside):
        if after - before > 2:  # noqa: PLR2004 - both marks of a fence, so one can be folded
            yield Fold(before + 1, after - 1)
