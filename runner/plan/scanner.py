"""Scan plainly written sections line by line, as bytes, for the outline.

Such a section is prose below a heading, or a task: a list of known fields with usual values, then
prose or fences. It holds no mistake, and a few regular expressions read its status, dependencies
and outputs. Anything else (nested headings, setext, HTML, tables, quotes, other list marks, an
unknown field, a doubtful value) is left to the reader of sections. That reader alone decides what a
plan means: a property test holds the two equal.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.model import Status
from runner.model.codec import new_tuple
from runner.plan.field_names import key_of
from runner.plan.markdown_text import plain
from runner.plan.status import ODD_VALUE, StatusSpan, read_status
from runner.plan.task_ids import LONGEST_TITLE, heading_of, nearly_named, title_marks

if TYPE_CHECKING:
    import re

# Possessive repeats throughout: time stays linear for any input.
_TEXT = rb"[^\x00-\x1f\x7f]"
_HEAD = regex(
    rb"(?P<level>#{2,6}) (?P<id>TASK-\d{3,}+): (?P<title>[A-Za-z0-9\x80-\xff]%s*+)\n++" % _TEXT
)
_FIELD = regex(
    rb"- ([A-Za-z][A-Za-z ]*+): ?(%s*+)(?:\n|\Z)((?:  - %s++(?:\n|\Z))*+)" % (_TEXT, _TEXT)
)
_NAME = rb"[\w/\x80-\xff-]*+(?:[ \t]++[\w/\x80-\xff-]++){0,3}+[ \t]*+:"
# A sentence about dependencies, and a path alone on its line, may have more meaning
# (`near_misses`): such a section goes to the full parser.
_NEEDS = (
    rb"(?i:epends on|ependent on|epending on|eeds|equires|fter|locked by)[: ]++(?i:T)[\w-]*+[ ]?+\d"
)
_ALONE = rb"[\w/-]*+\.[A-Za-z][\w./-]*+:?+(?:\n|\Z)"
_PROSE = rb"[A-Za-z](?!%s|%s|%s)[^\x00-\x1f\x7f|]*+(?:\n|\Z)" % (_NAME, _NEEDS, _ALONE)
"""A line that starts no other block and no field, and is not only a path."""
_FILE = (
    rb"(?!delete )[A-Za-z0-9_+-]++ file="
    rb"(?![^\n]*(?:\.\.|\.git))[A-Za-z0-9_][A-Za-z0-9_./-]{0,254}+\n"
)
_EXAMPLE = rb"(?!ya?ml)[A-Za-z0-9_+-]*+\n(?![ \t]*+[#/<%;\"'-])"
_OPENED = rb"(?P<mark>`{3,}+)(?:%s)"
# A closing fence may be indented, and longer than the opening one (CommonMark 0.31, 4.5): a line
# that only looks like one goes to the real parser.
_TO_ITS_END = rb"(?:(?! *+(?P=mark))[^\n]*+\n)*+(?P=mark)`*+(?:\n|\Z)"
_FENCE = _OPENED % (_FILE + rb"|" + _EXAMPLE) + _TO_ITS_END
_FENCE_OF_NO_TASK = _OPENED % _EXAMPLE + _TO_ITS_END
"""Files without a task are reported (`lost_tasks`)."""
_BODY = regex(
    rb"\n++(?![ \t0-9-])"  # else the list of fields goes on
    rb"(?:\n"
    rb"|(?:%s)++(?=\n|#|\Z)"
    rb"|(?<=\n\n)(?:(?:- %s)++|(?:\d{1,9}\. %s)++)(?:\n++(?![ \t0-9-])|(?=#)|\Z)"
    rb"|(?<=\n\n)%s)*+" % (_PROSE, _PROSE, _PROSE, _FENCE)
)
_CHAPTER = regex(
    rb"(?P<level>#{1,6}) (?P<text>[A-Za-z]%s*+)(?:\n|\Z)"
    rb"(?:\n"
    rb"|(?:%s)++(?=\n|#|\Z)"
    rb"|(?<=\n\n)(?:- %s)++(?:\n++(?![ \t0-9-])|(?=#)|\Z)"
    rb"|(?<=\n\n)%s)*+(?=#{1,6} |\Z)" % (_TEXT, _PROSE, _PROSE, _FENCE_OF_NO_TASK)
)
_NEXT = regex(rb"(#{1,6}) (TASK-\d{3,}+: )?")
_WORDS = rb"[A-Za-z][A-Za-z0-9 ,./_+-]*"
_CODE = rb"`(?! *+`)[^`\x00-\x1f\x7f]++`"
_PATH = rb"[A-Za-z0-9_][A-Za-z0-9_./*-]*+"
_PATHS = rb"`%s`(?:, `%s`)*+" % (_PATH, _PATH)
_ONE_PATH = regex(rb"`(%s)`" % _PATH)
_NEEDED = rb"none|None|TASK-\d{3,}+(?:, TASK-\d{3,}+)*+"
_CRITERION = rb"(?:\[[ xX]\] )?+(?:[A-Za-z]|`(?!`)%s)%s*+" % (_TEXT, _TEXT)
_TEST = rb"(?:TC-\d++(?: \((?:unit|integration|e2e)\))?+: )?+" + _CODE
_NONE = (b"", b"none", b"None")


def _single(value: bytes) -> re.Pattern[bytes]:
    return regex(rb"(?:%s)\n" % value)


def _entries(entry: bytes) -> re.Pattern[bytes]:
    """Return a pattern for a field with one entry on its line or several below it."""
    return regex(rb"(?:%s)?\n(?:  - (?:%s)(?:\n|\Z))*" % (entry, entry))


_FORMS = {
    "status": _single(rb".+"),
    "type": _single(rb"[A-Za-z]+"),
    "depends_on": _single(_NEEDED),
    "outputs": _entries(_PATHS),
    "inputs": _entries(_PATHS),
    "acceptance": _entries(_CRITERION),
    "test_contracts": _entries(_TEST),
    "contracts": _entries(
        rb"(?:openapi|schema): `[^`\s;,]+`(?: (?:= ?|app=)`[^`\s;,]+`)?|command: " + _CODE
    ),
    "gates": _entries(rb"[A-Za-z][\w-]*: " + _CODE),
    "coverage": _single(rb"100%|\d\d?%?"),
    "implementer": _single(_WORDS),
    "command": _single(_CODE),
    "keywords": _single(_WORDS),
    "priority": _single(rb"critical|high|medium|low|lowest"),
    "model": _single(rb"[A-Za-z0-9][\w./:-]*"),
    "source": _single(rb"[\w./-]+:\d+"),
    "stack": _single(_WORDS),
    "patterns": _single(_WORDS),
    "network": _single(rb"yes|no|loopback|registries"),
    "requires": _single(rb"(?:tool|secret) [\w-]+(?:, (?:tool|secret) [\w-]+)*"),
    "red_first": _single(rb"yes|no"),
    "review": _single(rb"prompt|auto|off"),
    "timeout": _single(rb"[1-9]\d{0,3}+ (?:seconds?|minutes?|hours?)"),
    "changes_tests": _entries(_PATHS),
    "no_proof": _single(b"none \xe2\x80\x94 [A-Za-z][^\n]*"),
}
"""Forms of each field that are certainly valid."""
_ITEMS = rb"(?:- %s:(?P<%s>\n(?:  - (?:%s)\n)++))?+"
# Markup, a sign that may close a heading, and a final bracket, which may contain a status or
# dependencies (`title_marks`), are checked individually.
_BARE_TITLE = rb"[A-Za-z0-9](?: ?[^\x00-\x20\x7f-\xff*_~`\\\[\]<&#])*+(?<!\))"
_USUAL = regex(
    rb"(?P<fields>(?P<head>(#{2,6}) (TASK-\d{3,}+): (%s)\n++)(?=- )" % _BARE_TITLE
    + rb"(?:- Status: (?P<status>[A-Za-z]%s*+)\n)?+" % _TEXT
    + rb"(?:- Type: (?P<type>[A-Za-z]++)\n)?+"
    + rb"(?:- Depends on: (?P<depends_on>%s)\n)?+" % _NEEDED
    + rb"(?:- Output files: (?P<outputs>%s)\n)?+" % _PATHS
    + _ITEMS % (b"Acceptance", b"acceptance", _CRITERION)
    + _ITEMS % (b"Test contracts", b"test_contracts", _TEST)
    + rb")\n*+(?P<next>\Z|(?=#{2,6} TASK-\d{3,}+: ))?+"
)
"""A task whose fields stand in the order that most are written in, each by its first name.

Whatever it matches has the forms above: it is the same as asking for each field, but quicker.
"""
_USUAL_KEYS = ("status", "type", "depends_on", "outputs", "acceptance", "test_contracts")


class PlainTask(NamedTuple):
    """A task; `value` are the bytes of its status in the file, or the place of a missing one."""

    id: str
    title: str
    status: Status
    note: str
    type: str
    depends_on: tuple[str, ...]
    outputs: tuple[str, ...]
    value: StatusSpan


class ScannedSection(NamedTuple):
    """A section up to byte `end`: one task, or a chapter that may have the plan's title."""

    end: int
    lines: int
    level: int
    title: str
    task: PlainTask | None


def may_scan(data: bytes) -> bool:
    """Return whether a file can contain plain sections: UTF-8 with LF line ends."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    # A lone CR and CR LF also end lines (CommonMark 0.31, 2.1): the expressions here only handle
    # LF.
    return b"\r" not in data


class TaskLines(NamedTuple):
    """A plain task as its lines: the parts that nothing has made values of yet."""

    id: str
    title: str
    level: int
    fields: dict[str, bytes]
    """By key, in order: text after the colon, LF, and the items below."""
    value: StatusSpan | None
    """Bytes of the status; None if none is written."""
    first: int
    """Byte of the first field, after the empty lines below the heading."""
    below: int
    """First byte of prose and fences."""
    end: int


def scan(data: bytes, start: int, prefixes: tuple[str, ...] = ()) -> ScannedSection | None:
    """Scan the section at a byte offset; return None if it is not certainly plain."""
    usual = _USUAL.match(data, start)
    scanned = None if usual is None else _scan_usual(data, usual)
    if scanned is not None:
        return scanned
    head = _HEAD.match(data, start)
    if head is None:
        return _scan_chapter(data, start, prefixes)
    lines = _lines_behind(data, head)
    if lines is None:
        return None
    fields = lines.fields
    value = lines.value
    status = _status(data[value.start : value.end]) if value else _PENDING
    outputs = paths_in(fields.get("outputs", b""))
    if status is None or outputs is None or paths_in(fields.get("inputs", b"")) is None:
        return None
    kind, needs = (fields.get(key, b"\n")[:-1] for key in ("type", "depends_on"))
    span = value or _before_fields(lines.first)
    named = (lines.id, lines.title, *status)
    task = PlainTask(*named, _kind(kind), needs_in(needs), outputs, span)
    return ScannedSection(lines.end, _lines(data, start, lines.end), lines.level, "", task)


def _scan_usual(data: bytes, usual: re.Match[bytes]) -> ScannedSection | None:
    """Return the section of a usual task; None if it needs the slower scan."""
    _, _, marks, id_, title, status_text, kind, needs, outputs, _, _, following = usual.groups()
    start, end = usual.span()
    if following is None:
        found = _end(data, usual.end("fields"), len(marks))
        if found is None:
            return None
        end = found
    status = _PENDING if status_text is None else _status(status_text)
    paths = () if outputs is None else paths_in(outputs)
    if status is None or paths is None or len(title) > LONGEST_TITLE:
        return None
    if not _is_printable(data[start:end]):
        return None
    if status_text is None:
        span = _before_fields(usual.end("head"))
    else:
        span = new_tuple(StatusSpan, (*usual.span("status"), "", ""))
    named = (id_.decode(), title.decode(), *status)
    task = new_tuple(PlainTask, (*named, _kind(kind), needs_in(needs), paths, span))
    return new_tuple(ScannedSection, (end, _lines(data, start, end), len(marks), "", task))


_PENDING = (Status.PENDING, "")


def _before_fields(first: int) -> StatusSpan:
    """Return the span for a missing status: a new item before the first field."""
    return StatusSpan(first, first, "- Status: ", "\n")


def task_lines(data: bytes, start: int) -> TaskLines | None:
    """Return the lines of the task at a byte offset; None if they are not certainly plain."""
    head = _HEAD.match(data, start)
    return None if head is None else _lines_behind(data, head)


def _lines_behind(data: bytes, head: re.Match[bytes]) -> TaskLines | None:
    start, at = head.span()
    marks, id_, written = head.groups()
    level = len(marks)
    fields: dict[str, bytes] = {}
    value: StatusSpan | None = None
    while match := _FIELD.match(data, at):
        name, first, below = match.groups()
        key = _key_of(name)
        form = _FORMS.get(key)
        whole = b"%b\n%b" % (first, below)
        if form is None or key in fields or whole == b"\n" or not form.fullmatch(whole):
            return None
        fields[key] = whole
        if key == "status":
            value = StatusSpan(*match.span(2))
        at = match.end()
    end = _end(data, at, level)
    if end is None or not fields or not _is_printable(data[start:end]):
        return None
    title = _title(written)
    if title is None or any(title_marks(title)):
        return None
    return TaskLines(id_.decode(), title, level, fields, value, head.end(), at, end)


def lines_of_plain(data: bytes, start: int) -> tuple[dict[str, bytes], int, int]:
    """Return field values of a scanned task, and where the fields start and end.

    Nothing is asked of their form again, which is most of what `task_lines` costs. Raises
    ValueError for a section that cannot have been scanned.
    """
    usual = _USUAL.match(data, start)
    if usual is not None and (usual["next"] is not None or data[usual.end("fields")] != _DASH):
        captured = zip(_USUAL_KEYS, usual.group(*_USUAL_KEYS), strict=True)
        fields = {
            key: value if value[:1] == b"\n" else value + b"\n"
            for key, value in captured
            if value is not None
        }
        return fields, usual.end("head"), usual.end("fields")
    head = _HEAD.match(data, start)
    if head is None:
        raise ValueError("no plain task begins there")
    at = first = head.end()
    fields = {}
    while (match := _FIELD.match(data, at)) is not None:
        name, value, below = match.groups()
        fields[_key_of(name)] = b"%b\n%b" % (value, below)
        at = match.end()
    return fields, first, at


def _scan_chapter(data: bytes, start: int, prefixes: tuple[str, ...]) -> ScannedSection | None:
    """Scan a heading that is no task, with its prose up to the next heading; None if unclear."""
    match = _CHAPTER.match(data, start)
    if match is None:
        return None
    end = match.end()
    title = _title(match["text"])
    if title is None or not _is_printable(data[start:end]):
        return None
    text = match["text"].decode()
    if heading_of(text, prefixes) is not None or nearly_named(text, prefixes):
        return None
    title = title if len(match["level"]) == 1 else ""
    return ScannedSection(end, _lines(data, start, end), 0, title, None)


def _lines(data: bytes, start: int, end: int) -> int:
    return data.count(b"\n", start, end) + (data[end - 1] != _LF)


_LF, _DASH = ord("\n"), ord("-")


@lru_cache(maxsize=256)
def _key_of(name: bytes) -> str:
    return key_of(name.decode())


def _end(data: bytes, at: int, level: int) -> int | None:
    """Return the end of a section whose fields end at a byte; None for unknown content below."""
    if body := _BODY.match(data, at):
        at = body.end()
    if at == len(data):
        return at
    following = _NEXT.match(data, at)
    # A deeper heading without a task belongs to this section's body, which then is not plain.
    if following is None or not (following[2] or len(following[1]) <= level):
        return None
    return at


def _is_printable(section: bytes) -> bool:
    if section.isascii():
        return True
    return section.decode().replace("\n", "").replace("\t", "").isprintable()


def _title(raw: bytes) -> str | None:
    title = raw.decode()
    # Trailing signs close a heading only after a blank, else they are text (CommonMark 0.31, 4.2).
    if len(title) > LONGEST_TITLE or title.rstrip().endswith("#"):
        return None
    return " ".join(plain(title.strip()).split())


@lru_cache(maxsize=256)
def _status(raw: bytes) -> tuple[Status, str] | None:
    return None if ODD_VALUE.search(raw) else read_status(raw.decode())


@lru_cache(maxsize=256)
def _kind(value: bytes | None) -> str:
    return "" if value is None or value in _NONE else value.decode().casefold()


def needs_in(value: bytes | None) -> tuple[str, ...]:
    """Return the IDs in a plain `Depends on` value."""
    if value is None or value in _NONE:
        return ()
    return tuple(dict.fromkeys(value.decode().split(", ")))


def paths_in(value: bytes) -> tuple[str, ...] | None:
    """Return the paths of a field; None if one needs the parser."""
    if not value:
        return ()
    found = tuple(dict.fromkeys(_ONE_PATH.findall(value)))
    if b".." in value or b".git" in value.lower() or not _ANY.isdisjoint(map(bytes.lower, found)):
        return None
    return None if max(map(len, found)) > _SHORT else tuple(map(bytes.decode, found))


_ANY = frozenset((b"any", b"anything"))
_SHORT = 255
"""Bytes of a path that is certainly short enough."""
