"""Report text that is almost a field, file or task, with the correct form.

Nothing that a person wrote for the runner is dropped in silence. A field that says what a task
waits for, may write or is proven by is a mistake where it is not read; any other is a warning.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.model import Severity, Status
from runner.plan.body import block_of, fences, suggest_fence
from runner.plan.field_names import FIELDS, MATTERS, is_mistyped, key_of, nearly_key, parse_name
from runner.plan.markdown import Kind, Node
from runner.plan.markdown_text import EMPTY_WORDS, cells, is_inside, plain, spans, words
from runner.plan.proofs import is_bare_command
from runner.plan.source import Run
from runner.plan.status import read_status
from runner.plan.task_ids import WAITS_FOR, ids_of_sentence, task_id, title_marks
from runner.plan.values import NUMBER, REMARK, Complaint, complain_at, locate_values
from runner.text.display import code_span
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from runner.plan.body import Body
    from runner.plan.fields import PlanField
    from runner.plan.markdown_text import ListValue
    from runner.plan.source import Source

    NearMiss = tuple[Complaint, Severity]

_LEAD = regex(r"\s*(?:(?:[-*+]|\d+[.)])\s+)?(?:\[[ xX]?\]\s+)?")
_WITHOUT_COLON = regex(
    r"(?:\*\*|__)?(?P<name>Status|Depends on|Depends|Dependencies|Needs|Output files|Outputs|Files"
    r"|Writes|Test contracts|Tests)(?:\*\*|__)?\s*(?:=>?|->?|\u2013|—|\s)\s*(?P<value>\S.*)",
    re.IGNORECASE,
)
_PATH = regex(r"(?:\./)?[\w@.*+-]+(?:/[\w@.*+-]*)+|[\w@*+-]+(?:\.[A-Za-z]\w{0,7})+")
_WRITE_AS_ITEM = "write it as - {}: … in the list right under the task's heading"
_BESIDE = regex(
    r"(?:(?<!\s)\s+)?[|;,\u00b7\u2022/]\s*(?:\*\*|__)?(?P<name>[^\W\d_][\w -]{0,30}?)"
    r"(?:\*\*|__)?:(?:\*\*|__)?(?=\s)"
)
"""A name after a separator of fields on one line."""
_TELL = frozenset(("acceptance", "test_contracts", "contracts", "gates", "command", "no_proof"))
"""Fields that may contain arbitrary sentences and commands."""
_HOLD_NAMES = frozenset(("contracts", "gates"))
"""Fields whose items have names."""
_TEXTS = frozenset((Kind.PARAGRAPH, Kind.LIST, Kind.CODE, Kind.TABLE, Kind.QUOTE))
_IS_CODE = "indented lines are code in Markdown"
_GAP = regex(r"[\s,;]+")
_AND = frozenset(("and", "&", "+"))
_QUOTE = regex(r" {0,3}> ?")
_CHANGE = regex(r"\s*CHANGE-\d+")
_SENTENCE = regex(rf"{WAITS_FOR}\.?", re.IGNORECASE)
"""A sentence that only states what a task waits for."""
_AS_DATA = frozenset(("yaml", "yml"))


def find_near_misses(below: Sequence[Node], body: Body, source: Source) -> Iterator[NearMiss]:
    """Yield everything below a task's heading that resembles a field or a file block."""
    given = {field.key for field in body.fields}
    for field in body.fields:
        yield from _indented(field, given, source)
        yield from _beside(field, given)
        yield from _with_blanks(field)
    taken = {run.line for field in body.fields for value in field.values for run in value.runs}
    taken |= {field.name.line for field in body.fields}
    outputs = {part.text for one in body.fields if one.key == "outputs" for part in _parts(one)}
    held = {node.start for node in body.holders}
    heads = {node.start for node in below if node.start in held}
    heads = heads or {node.start for node in below[:1]}
    for at, node in enumerate(below):
        if node.kind is Kind.HEADING:
            yield from _as_heading(node, below[at + 1 : at + 2], source, given)
        if node.kind in _TEXTS:
            found = [*_lines(node, source, taken, given, in_head=node.start in heads)]
            yield from _of_block(found, node, source)
        label = below[at - 1] if at else None
        text = label.text if label and label.kind in _LABELS else ""
        if label and label.kind is Kind.PARAGRAPH:
            text = source.lines[label.end - 1]
        for fence in fences([node]):
            if block_of(fence, source) is not None or fence.start in taken:
                continue
            if suggestion := suggest_fence(fence, source, text if fence is node else "", outputs):
                yield _almost_a_file(fence, suggestion, source), Severity.WARNING
            elif not given:
                yield from _as_data(fence, given)


_LABELS = frozenset((Kind.PARAGRAPH, Kind.HEADING))
"""Blocks that may name the file in the fence below them."""


def _parts(field: PlanField) -> Iterator[ListValue]:
    for value in field.values:
        yield from words(value.text)


def _as_data(fence: Node, given: Collection[str]) -> Iterator[NearMiss]:
    """Yield fields in a YAML block that the task does not have elsewhere."""
    if fence.info.casefold() not in _AS_DATA:
        return
    found: list[tuple[str, Run, str]] = []
    for at, line in enumerate(fence.text.split("\n")):
        named = parse_name(line)
        if named and named.key:
            run = Run(line.rstrip(), fence.start + 1 + at, 0)
            found.append((named.key, run, line[named.value :]))
    keys = {key for key, _, _ in found}
    if len(keys) == 1 or keys.isdisjoint(("status", *MATTERS)):
        return
    for key, run, value in found:
        yield _tell(
            key, run, value.strip("[] "), given, _IN_FENCE, _WRITE_AS_ITEM.format(FIELDS[key][0])
        )


_IN_FENCE = "a code block is only an example"


def find_title_marks(title: str, at: Run, given: Collection[str]) -> Iterator[NearMiss]:
    """Yield a problem for a status or dependency in a task's title."""
    marks = title_marks(title)
    if marks.status and not ("status" not in given and marks.status == Status.PENDING):
        hint = f"write - Status: {marks.status} in the list right under the heading"
        message = "a status in a title is ignored"
        yield Complaint(message, hint, *at[1:], len(at.text)), Severity.WARNING
    if marks.needs:
        needs = ", ".join(marks.needs)
        hint = f"write - Depends on: {needs} in the list right under the heading"
        severity = severity_of("depends_on", needs, given)
        yield Complaint("dependencies in titles are ignored", hint, *at[1:], len(at.text)), severity


def severity_of(key: str, value: str, given: Collection[str]) -> Severity:
    """Return the severity of an unread value: an error if it matters and is not given elsewhere."""
    is_mistake = key in MATTERS and key not in given and _is_meant(key, value)
    return Severity.ERROR if is_mistake else Severity.WARNING


def unknown_severity(field: PlanField, given: Collection[str]) -> Severity:
    """Return the severity for an unknown field that resembles a known one."""
    key, name = nearly_key(field.name.text), field.name.text
    value = field.values[0].text if field.values else ""
    if key in MATTERS and key not in given and is_mistyped(name):
        return Severity.ERROR
    return severity_of(key, value, given)


def _is_meant(key: str, value: str) -> bool:
    """Return whether a value has the form of its field and is not a sentence."""
    if not value.strip() or plain(value).casefold() in EMPTY_WORDS:
        return not value.strip()
    parts = words(value)
    if key == "depends_on":
        return all(NUMBER.fullmatch(one.text) or task_id(plain(one.text)) for one in parts)
    if key == "outputs":
        return all(one.code or _PATH.fullmatch(one.text) for one in parts)
    return any(one.code for one in parts) or is_bare_command(value)


def _tell(key: str, run: Run, value: str, given: Collection[str], why: str, hint: str) -> NearMiss:
    name = FIELDS[key][0]
    complaint = Complaint(f"`{name}` ignored: {why}", hint, *run[1:], len(run.text))
    return complaint, severity_of(key, value, given)


def _of_block(found: Sequence[NearMiss], node: Node, source: Source) -> Iterator[NearMiss]:
    if found and node.kind is Kind.CODE:
        yield _too_far_right(found, _IS_CODE, source, node.end - 1)
    else:
        yield from found


def _indented(field: PlanField, given: Collection[str], source: Source) -> Iterator[NearMiss]:
    """Yield fields indented below another field, which are read as part of its value."""
    if field.key in _HOLD_NAMES:
        return
    runs = [run for value in field.values for run in value.runs if run.line > field.name.line]
    read = [(run, named) for run in runs if (named := parse_name(run.text)) and named.key]
    found = [_tell(one.key, run, run.text[one.value :], given, "", "") for run, one in read]
    if found:
        yield _too_far_right(found, f"it is part of {field.name.text}", source, runs[-1].line)


def _too_far_right(found: Sequence[NearMiss], why: str, source: Source, last: int) -> NearMiss:
    """Return one problem for fields that an indentation hides, up to the `last` line.

    All its lines have to move by as much, so that the items of a field stay below it.
    """
    first = found[0][0]
    line = source.lines[first.line]
    lead = line[: len(line) - len(line.lstrip())]
    kind = "tab" if lead.startswith("\t") else "space"
    much = kind if len(lead) == 1 else plural(len(lead), kind)
    more = f" and of the next {plural(last - first.line, 'line')}" if last > first.line else ""
    message = f"{first.message.partition(': ')[0]}: {why}"
    hint = f"remove the first {much} of this line{more}"
    is_error = any(severity is Severity.ERROR for _, severity in found)
    severity = Severity.ERROR if is_error else Severity.WARNING
    return first._replace(message=message, hint=hint), severity


def _with_blanks(field: PlanField) -> Iterator[NearMiss]:
    """Report paths that are not separated by commas."""
    if field.key not in ("outputs", "inputs"):
        return
    severity = Severity.ERROR if field.key == "outputs" else Severity.WARNING
    for word in (one for one in locate_values(field) if not one.code):
        path = REMARK.sub("", word.text)
        parts = [part for part in path.split() if part not in _AND]
        if len(parts) > 1 and (severity is Severity.ERROR or all(map(_PATH.fullmatch, parts))):
            hint = f"write {', '.join(map(code_span, parts))}; or as one path: {code_span(path)}"
            yield complain_at(word, f'"{path}" is read as one path', hint), severity
    for run in (run for value in field.values for run in value.runs if "`" in run.text):
        read = [word.text for word in words(run.text)]
        rest = "".join(" " if span.code else span.text for span in spans(run.text))
        lost = [one for one in _GAP.split(rest) if one and one not in (*_AND, *read)]
        if lost and all(map(_PATH.fullmatch, lost)):
            message = f'"{lost[0]}" is read as a remark on {code_span(read[0])}, not as a path'
            hint = f"write {', '.join(map(code_span, (*read, *lost)))}"
            yield Complaint(message, hint, *run[1:], len(run.text)), severity


def _beside(field: PlanField, given: Collection[str]) -> Iterator[NearMiss]:
    """Yield fields on the line of another field: `Type: data | Depends on: none`."""
    run = field.values[0].runs[0] if field.values else None
    if run is None or not field.key or field.key in _TELL:
        return
    if field.key == "status" and read_status(run.text):
        return  # a note may say anything
    code = [(span.start, span.end) for span in spans(run.text) if span.code]
    for match in _BESIDE.finditer(run.text):
        key = key_of(match["name"])
        if key and not is_inside(code, match.start()):
            name = run.part(match.start("name"), match.end())
            value = _BESIDE.split(run.text[match.end() :], maxsplit=1)[0]
            hint = f"put it on its own line: - {FIELDS[key][0]}: …"
            why = f"it is on the line of `{field.name.text}`"
            yield _tell(key, name, value, given, why, hint)


def _as_heading(
    node: Node, below: Sequence[Node], source: Source, given: Collection[str]
) -> Iterator[NearMiss]:
    """Yield a problem for a subheading with the name of a field."""
    key = key_of(plain(node.text[:100]).rstrip(": "))
    if not key or key in given:
        return
    value = ""
    if below and below[0].kind in (Kind.LIST, Kind.PARAGRAPH, Kind.FENCE):
        first = source.lines[below[0].start + (below[0].kind is Kind.FENCE)]
        value = _LEAD.sub("", first, count=1)
    run = Run(node.text, node.start, max(source.lines[node.start].find(node.text[:1]), 0))
    hint = f"write - {FIELDS[key][0]}: … in the list right under the task's heading"
    yield _tell(key, run, value or "a chapter", given, "a heading is not a field", hint)


def _lines(
    node: Node, source: Source, taken: Collection[int], given: Collection[str], *, in_head: bool
) -> Iterator[NearMiss]:
    inside = {line for one in fences([node]) for line in range(one.start, one.end)}
    for number in range(node.start, node.end):
        raw = source.lines[number]
        if node.kind is Kind.QUOTE:
            raw = _QUOTE.sub("", raw)
            if _CHANGE.match(raw):
                return  # what a change says, up to the end of its quote
        if number in taken or number in inside or not raw.strip():
            continue
        if ":" not in raw and (value := _find_waits(raw)):
            yield _sentence(raw, number, source, value, given)
            continue
        if number > node.start and (value := _definition(raw)):
            yield from _defined(source.lines[number - 1], number - 1, value, given)
            continue
        if not (in_head or ":" in raw or node.kind is Kind.TABLE):
            continue  # prose, as most lines are
        lead = _LEAD.match(raw)
        text = raw[lead.end() if lead else 0 :].rstrip()
        run = Run(text, number, len(raw.rstrip()) - len(text))
        if node.kind is Kind.TABLE:
            text = _as_line(raw)
        is_item = bool(lead and lead[0].strip()) or node.kind in (Kind.CODE, Kind.TABLE)
        yield from _line(text, run, given, _WRITE_AS_ITEM, is_item=is_item, in_head=in_head)


def _find_waits(raw: str) -> str:
    """Return the IDs in a line such as `Depends on TASK-001.`; else empty."""
    waits = _SENTENCE.fullmatch(raw.strip())
    return ", ".join(ids_of_sentence(waits["ids"])) if waits else ""


def _definition(raw: str) -> str:
    """Return the value of a definition list line, `: value` (Pandoc), or ""."""
    mark, _, value = raw.strip().partition(" ")
    return value.strip() if mark == ":" else ""


def _defined(term: str, number: int, value: str, given: Collection[str]) -> Iterator[NearMiss]:
    key = key_of(plain(term[:100]).strip())
    if key:
        run = Run(term.strip(), number, len(term) - len(term.lstrip()))
        why, hint = (
            "a definition list is not a list of fields",
            f"write - {FIELDS[key][0]}: {value}",
        )
        yield _tell(key, run, value, given, why, hint)


def _sentence(raw: str, number: int, source: Source, ids: str, given: Collection[str]) -> NearMiss:
    text = raw.strip()
    run = Run(text, number, len(source.lines[number].rstrip()) - len(text))
    hint = f"write - Depends on: {ids} in the list right under the task's heading"
    return _tell("depends_on", run, ids, given, "a sentence is not a field", hint)


def _as_line(raw: str) -> str:
    row = cells(raw)
    return f"{plain(row[0].text)}: {row[1].text}" if len(row) == 2 else ""  # noqa: PLR2004 # a name and a value


def _line(
    text: str, run: Run, given: Collection[str], hint: str, *, is_item: bool, in_head: bool
) -> Iterator[NearMiss]:
    named = parse_name(text)
    if named is not None:
        value = text[named.value :]
        key = named.key or (nearly_key(named.name) if is_item or named.marked else "")
        if key and (named.key or _is_meant(key, value)) and (named.marked or is_item or value):
            yield _tell(
                key,
                run,
                value,
                given,
                "fields are list items under the task's heading",
                hint.format(FIELDS[key][0]),
            )
        return
    bare = _WITHOUT_COLON.fullmatch(text) if in_head and is_item else None
    if bare is None:
        return
    key = key_of(bare["name"])
    meant = read_status(bare["value"]) if key == "status" else _is_meant(key, bare["value"])
    if meant:
        yield _tell(
            key,
            run,
            bare["value"],
            given,
            "the colon is missing",
            f"write - {FIELDS[key][0]}: {bare['value']}",
        )


def _almost_a_file(fence: Node, suggestion: str, source: Source) -> Complaint:
    width = len(source.lines[fence.start].strip())
    column = len(source.lines[fence.start]) - len(source.lines[fence.start].lstrip())
    message = "this code block will not be written to a file"
    return Complaint(message, f"to write it to a file: {suggestion}", fence.start, column, width)


_ITEM = r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[(?P<mark>[ xX])\][ \t]+)?|\|[ \t]*"
_REST = r"(?:\*\*|__|`|\[)*(?P<id>(?:TASK|Task)[-_ ]?\d+|T\d{2,})(?![\w.])(?P<rest>.*)"
_OTHER_HEADING = r"={1,6}[ \t]+|h[1-6]\.[ \t]+|(?:<\w+>[ \t]*)+"
"""Start of a heading, summary or item in AsciiDoc, Textile and HTML."""
_BOLD = r"(?=(?:\*\*|__)[^*_]+(?:\*\*|__):?[ \t]*$)"
_LISTED = regex(rf"^[ \t]*(?:{_ITEM}|{_OTHER_HEADING}|{_BOLD}){_REST}", re.MULTILINE)
"""An ID at the start of a list item, check box, table row or bold line."""
_NAMED = regex(rf"^[ \t]*(?:{_ITEM}|{_OTHER_HEADING})?{_REST}", re.MULTILINE)
"""An ID at the start of any line, for files without tasks."""


class ListedTask(NamedTuple):
    """A line that begins with the id of a task, and is no heading."""

    id: str
    written: str
    title: str
    mark: str | None
    """Content of its box; None without one."""
    line: int
    is_entry: bool
    """Whether it is an entry of a list, a table or a title, not the start of a sentence."""


def find_listed(text: str, *, has_tasks: bool) -> Iterator[ListedTask]:
    """Yield tasks listed at the start of lines outside fences."""
    pattern = _LISTED if has_tasks else _NAMED
    if not pattern.search(text):
        return
    fence = ""
    for number, line in enumerate(text.split("\n"), start=1):
        bare = line.strip()
        if bare.startswith(fence or ("```", "~~~")):
            fence = "" if fence else bare[:3]
        found = None if fence else pattern.match(line)
        if found is None:
            continue
        is_row = found["mark"] is not None or line.lstrip().startswith("|")
        is_entry = found["rest"].lstrip("*_`]").startswith((":", " -", " \u2013", " —"))
        title, id_ = _title_of(found["rest"]) or "Title", task_id(found["id"]) or ""
        yield ListedTask(id_, found["id"], title, found["mark"], number, is_row or is_entry)


def _title_of(rest: str) -> str:
    """Return the title after a listed id, without markup and other table cells."""
    bare = re.sub(r"</?\w+>", "", rest).lstrip(" *_`]:|-\u2013—").partition("|")[0]
    return plain(bare.rstrip(" *_:|-\u2013—"))
